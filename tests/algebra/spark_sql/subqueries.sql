-- title: correlated exists
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id);

-- title: correlated not exists
SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.id = t.id AND u.amount > t.y);

-- title: in a subquery
SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE amount > 10);

-- title: not in a subquery
SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE id IS NOT NULL);

-- title: tuple in a subquery
SELECT id FROM t WHERE (id, grp) IN (SELECT id, name FROM u);

-- title: correlated in
SELECT id FROM t WHERE x IN (SELECT src FROM edges WHERE edges.dst = t.id);

-- title: scalar subquery in a condition
SELECT id FROM t WHERE y > (SELECT avg(amount) FROM u);

-- title: correlated scalar subquery in a condition
SELECT id FROM t WHERE y > (SELECT max(u.amount) FROM u WHERE u.id = t.id);

-- title: scalar subquery in the columns
SELECT id, (SELECT count(*) FROM u WHERE u.id = t.id) AS n, (SELECT max(src) FROM edges) AS m FROM t;

-- title: exists under or
SELECT id FROM t WHERE x > 3 OR EXISTS (SELECT 1 FROM u WHERE u.id = t.id);

-- title: exists as a value
SELECT id, EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AS known FROM t;

-- title: in as a value under case
SELECT id, CASE WHEN id IN (SELECT id FROM u) THEN 'yes' ELSE 'no' END AS known FROM t;

-- title: subquery in a subquery
SELECT id FROM t WHERE id IN (SELECT id FROM u WHERE name IN (SELECT grp FROM t WHERE x > (SELECT min(src)
FROM edges)));

-- title: derived table in a derived table
SELECT a FROM (SELECT a FROM (SELECT x + 1 AS a FROM t) WHERE a > 1) q WHERE a < 9;

-- title: scalar subquery inside an aggregate
SELECT grp, sum(x - (SELECT min(src) FROM edges)) AS s FROM t GROUP BY grp;

-- title: scalar subquery in having and order
SELECT grp, sum(x) AS s FROM t GROUP BY grp HAVING sum(x) > (SELECT 1) ORDER BY (SELECT 1), grp LIMIT 3;

-- title: exists with an aggregate inside
SELECT id FROM t WHERE EXISTS (SELECT sum(amount) FROM u WHERE u.id = t.id HAVING sum(amount) > 3);

-- title: subquery in the condition of a join
SELECT t.id FROM t JOIN u ON t.id = u.id AND t.x IN (SELECT src FROM edges);

-- title: scalar subquery with a limit
SELECT id FROM t WHERE x = (SELECT src FROM edges ORDER BY dst LIMIT 1);

-- title: correlated exists with a set operation
SELECT id FROM t WHERE EXISTS (SELECT id FROM u WHERE u.id = t.id UNION ALL SELECT src FROM edges WHERE src = t.id);

-- title: subquery as an argument
SELECT coalesce((SELECT max(amount) FROM u), 0) + x AS n FROM t;

-- title: subquery in a struct and an array
SELECT named_struct('n', (SELECT count(*) FROM u)) AS s, array((SELECT 1), 2) AS a FROM t;

-- title: table subquery with column aliases
SELECT q.a, q.b FROM (SELECT id, x FROM t) AS q(a, b) WHERE q.a > 1;

-- title: subquery inside a window
SELECT id, sum(x + (SELECT max(src) FROM edges)) OVER (PARTITION BY grp) AS s FROM t;

-- title: in doubled parentheses
SELECT id FROM t WHERE x IN ((SELECT max(id) FROM u));

-- title: in a list with a subquery
SELECT id FROM t WHERE x IN (1, (SELECT max(id) FROM u));

-- title: in values
SELECT id FROM t WHERE x IN (VALUES 1, 2);

-- title: exists values
SELECT id FROM t WHERE EXISTS (VALUES 1);

-- title: subquery on both sides of in
SELECT id FROM t WHERE (SELECT max(id) FROM u) IN (SELECT src FROM edges);

-- title: subquery as a condition
SELECT id FROM t WHERE (SELECT true);

-- title: double negation
SELECT id FROM t WHERE NOT NOT EXISTS (SELECT 1 FROM u) AND NOT (id NOT IN (SELECT src FROM edges));

-- title: in under not and and
SELECT id FROM t WHERE NOT (id IN (SELECT id FROM u) AND x > 1);

-- title: in compared
SELECT id FROM t WHERE (id IN (SELECT id FROM u)) IS NOT NULL;

-- title: between two subqueries
SELECT id FROM t WHERE x BETWEEN (SELECT min(id) FROM u) AND (SELECT max(id) FROM u);

-- title: exists with a limit
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id LIMIT 1);

-- title: subquery in the condition of a left join
SELECT t.id FROM t LEFT JOIN u ON t.id = u.id AND t.x IN (SELECT src FROM edges);

-- title: subquery in the condition of a semi join
SELECT t.id FROM t LEFT SEMI JOIN u ON t.id = u.id AND t.id IN (SELECT src FROM edges);

-- title: subquery in a lateral view
SELECT id, c FROM nested LATERAL VIEW explode(array((SELECT max(id) FROM u))) e AS c;

-- title: subquery in a table function
SELECT * FROM explode(array((SELECT max(id) FROM u)));

-- title: subquery in sort by
SELECT id FROM t SORT BY (SELECT max(id) FROM u);

-- title: subquery in the order of a union
SELECT id FROM t UNION SELECT id FROM u ORDER BY (SELECT max(amount) FROM u) LIMIT 3;
