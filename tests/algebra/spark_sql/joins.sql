-- title: inner join
SELECT t.id, u.name FROM t INNER JOIN u ON t.id = u.id;

-- title: left outer join
SELECT t.id, u.name FROM t LEFT OUTER JOIN u ON t.id = u.id AND u.amount > 1;

-- title: right join
SELECT t.id, u.name FROM t RIGHT JOIN u ON t.id = u.id;

-- title: full outer join
SELECT coalesce(t.id, u.id) AS id FROM t FULL OUTER JOIN u ON t.id = u.id;

-- title: left semi join
SELECT id FROM t LEFT SEMI JOIN u ON t.id = u.id;

-- title: semi join
SELECT id FROM t SEMI JOIN u USING (id);

-- title: left anti join
SELECT id FROM t LEFT ANTI JOIN u ON t.id = u.id;

-- title: anti join
SELECT id FROM t ANTI JOIN u ON t.id = u.id AND u.amount > t.y;

-- title: cross join
SELECT t.id, u.name FROM t CROSS JOIN u;

-- title: cross join with a condition
SELECT t.id, u.name FROM t CROSS JOIN u ON t.id = u.id;

-- title: join without a condition
SELECT t.id, u.name FROM t JOIN u;

-- title: comma join
SELECT t.id, u.name FROM t, u WHERE t.id = u.id;

-- title: natural join
SELECT id, name FROM t NATURAL JOIN u;

-- title: natural left join
SELECT id, name FROM t NATURAL LEFT JOIN u;

-- title: natural full join
SELECT id, name FROM t NATURAL FULL OUTER JOIN u;

-- title: join using several columns
SELECT * FROM t a JOIN t b USING (id, grp);

-- title: left join using
SELECT id, t.x, u.name FROM t LEFT JOIN u USING (id);

-- title: self join
SELECT a.id, b.id FROM t a JOIN t b ON a.x = b.id;

-- title: joins in parentheses
SELECT t.id FROM t LEFT JOIN (u JOIN edges ON u.id = edges.src) ON t.id = u.id;

-- title: chain of different joins
SELECT t.id, u.name, e.dst FROM t JOIN u ON t.id = u.id
LEFT JOIN edges e ON e.src = u.id RIGHT JOIN sales s ON s.year = t.x;

-- title: comma then join
SELECT t.id FROM t, u JOIN edges ON u.id = edges.src WHERE t.id = u.id;

-- title: join on inequality and null-safe equality
SELECT t.id FROM t JOIN u ON t.x <=> u.id AND t.y < u.amount;

-- title: join of subqueries
SELECT a.id FROM (SELECT id FROM t WHERE x > 1) a JOIN (SELECT id, max(amount) AS m FROM u
GROUP BY id) b ON a.id = b.id;

-- title: broadcast hint
SELECT /*+ BROADCAST(u) */ t.id FROM t JOIN u ON t.id = u.id;

-- title: several hints
SELECT /*+ MERGE(t, u), REPARTITION(3, id), COALESCE(2) */ t.id FROM t JOIN u ON t.id = u.id;

-- title: shuffle hash hint and a comment
SELECT /*+ SHUFFLE_HASH(u) */ /* not a hint */ t.id -- the key
FROM t JOIN u ON t.id = u.id;

-- title: from first
FROM t SELECT id, x WHERE x > 1;

-- title: from first with a join and groups
FROM t JOIN u ON t.id = u.id SELECT t.grp, sum(u.amount) AS total GROUP BY t.grp;

-- title: qualified names
SELECT a.id, a.x FROM t AS a WHERE a.x > 1;

-- title: case of names does not matter
SELECT T.ID, U.Name FROM T JOIN U ON t.Id = u.iD;

-- title: asof join
SELECT t.id FROM t ASOF JOIN u ON t.id = u.id;

-- title: natural right and inner joins
SELECT id FROM t NATURAL RIGHT JOIN u NATURAL INNER JOIN (SELECT src AS id FROM edges);

-- title: comma then right join
SELECT count(*) FROM t, u RIGHT JOIN edges ON u.id = edges.src;

-- title: join then comma
SELECT t.id FROM t LEFT JOIN u ON t.id = u.id, edges;

-- title: parentheses with an alias around a join
SELECT j.id FROM (t JOIN edges ON t.id = edges.src) AS j;

-- title: table with column names
SELECT a.c1 FROM u AS a(c1, c2, c3);

-- title: table with options
SELECT id FROM t WITH ('split-size' = '5');

-- title: hint in a subquery
SELECT /*+ BROADCAST(b) */ a.id FROM t a JOIN (SELECT /*+ REPARTITION(4) */ id FROM u) b ON a.id = b.id;

-- title: from first with several tables and a union
FROM t, u SELECT t.id UNION ALL SELECT id FROM u;
