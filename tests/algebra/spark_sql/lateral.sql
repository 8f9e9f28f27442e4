-- title: lateral subquery in a comma list
SELECT t.id, s.total FROM t, LATERAL (SELECT sum(u.amount) AS total FROM u WHERE u.id = t.id) s;

-- title: cross join lateral
SELECT t.id, s.name FROM t CROSS JOIN LATERAL (SELECT u.name FROM u WHERE u.id = t.id ORDER BY u.amount LIMIT 1) s;

-- title: left join lateral
SELECT t.id, s.name FROM t LEFT JOIN LATERAL (SELECT u.name FROM u WHERE u.id = t.id) s ON true;

-- title: inner join lateral with a condition
SELECT t.id, s.name FROM t JOIN LATERAL (SELECT u.name, u.amount FROM u WHERE u.id = t.id) s ON s.amount > t.y;

-- title: lateral table function
SELECT n.id, e.col FROM nested n, LATERAL explode(n.tags) e;

-- title: left join lateral table function
SELECT n.id, e.tag FROM nested n LEFT JOIN LATERAL explode(n.tags) AS e(tag) ON e.tag <> 'x';

-- title: lateral inline with column names
SELECT n.id, i.sku FROM nested n JOIN LATERAL inline(n.items) AS i(sku, qty) ON i.qty > 1;

-- title: two laterals where the second reads the first
SELECT t.id, b.twice
FROM t, LATERAL (SELECT t.x + 1 AS more) a, LATERAL (SELECT a.more * 2 AS twice) b;

-- title: lateral with a set operation inside
SELECT t.id, s.v FROM t, LATERAL (SELECT t.x AS v UNION ALL SELECT t.id AS v) s;

-- title: lateral with a window inside
SELECT t.id, s.r
FROM t, LATERAL (SELECT row_number() OVER (ORDER BY u.amount) AS r FROM u WHERE u.id = t.id) s;

-- title: columns that name earlier columns
SELECT x + 1 AS a, a * 2 AS b FROM t;

-- title: lateral behind range
SELECT r.n, s.m FROM range(10) AS r(n), LATERAL (SELECT n * 2 AS m) s;

-- title: left join lateral without a condition
SELECT * FROM t LEFT JOIN LATERAL (SELECT u.name FROM u WHERE u.id = t.id) AS l;

-- title: lateral then a plain join
SELECT t.id FROM t, LATERAL (SELECT t.x AS k) s JOIN edges ON s.k = edges.src;

-- title: table function without lateral in a comma list
SELECT t.id, e.col FROM t, explode(array(1, 2)) e;
