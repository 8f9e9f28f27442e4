-- title: one cte
WITH a AS (SELECT id FROM t) SELECT * FROM a;

-- title: cte with column names
WITH a(k, v) AS (SELECT id, x FROM t) SELECT k, v FROM a;

-- title: cte read twice
WITH a AS (SELECT id, x FROM t) SELECT l.id FROM a l JOIN a r ON l.x = r.id;

-- title: cte that reads an earlier one
WITH a AS (SELECT id FROM t), b AS (SELECT id FROM a WHERE id > 1) SELECT * FROM b UNION SELECT * FROM a;

-- title: cte with the name of a table
WITH u AS (SELECT id, grp AS name FROM t) SELECT name FROM u;

-- title: cte that nothing reads
WITH a AS (SELECT id FROM u) SELECT id FROM t;

-- title: nested ctes
WITH a AS (WITH b AS (SELECT id FROM t) SELECT id FROM b) SELECT id FROM a;

-- title: inner cte hides the outer one
WITH a AS (SELECT 1 AS n), b AS (WITH a AS (SELECT id AS n FROM t) SELECT n FROM a) SELECT * FROM a, b;

-- title: cte in a subquery of from
SELECT id FROM (WITH a AS (SELECT id FROM t) SELECT id FROM a) WHERE id > 1;

-- title: cte in a condition
SELECT id FROM t WHERE id IN (WITH a AS (SELECT id FROM u) SELECT id FROM a);

-- title: cte in a scalar subquery
SELECT (WITH a AS (SELECT max(id) AS m FROM u) SELECT m FROM a) AS m FROM t;

-- title: cte before a union
WITH a AS (SELECT id FROM t), b AS (SELECT id FROM u) SELECT id FROM a EXCEPT SELECT id FROM b;

-- title: cte inside parentheses of a union
(WITH a AS (SELECT id FROM t) SELECT id FROM a) UNION ALL SELECT id FROM u;

-- title: recursive numbers
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n;

-- title: recursive reachability
WITH RECURSIVE reach AS (
  SELECT src, dst FROM edges
  UNION ALL
  SELECT r.src, e.dst FROM reach r JOIN edges e ON r.dst = e.src
) SELECT DISTINCT src, dst FROM reach;

-- title: recursive cte with a deeper limit
WITH RECURSIVE n(i) MAX RECURSION LEVEL 200 AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT i FROM n;

-- title: recursive cte behind a plain one
WITH RECURSIVE roots AS (SELECT src FROM edges EXCEPT SELECT dst FROM edges),
  down(node, depth) AS (
    SELECT src, 0 FROM roots UNION ALL SELECT e.dst, depth + 1 FROM down d JOIN edges e ON e.src = d.node
  )
SELECT node, min(depth) AS depth FROM down GROUP BY node;

-- title: recursive cte with union
WITH RECURSIVE r AS (SELECT src AS n FROM edges UNION SELECT e.dst
FROM r JOIN edges e ON e.src = r.n) SELECT n FROM r;

-- title: recursive keyword without recursion
WITH RECURSIVE a AS (SELECT id FROM t) SELECT id FROM a;

-- title: recursive cte that reads itself twice
WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION ALL SELECT a.src, b.dst FROM r a JOIN r b ON a.dst = b.src)
SELECT * FROM r;

-- title: cte before parentheses
WITH a AS (SELECT id FROM t) (SELECT id FROM a);

-- title: cte on the right of a union
SELECT id FROM t UNION ALL (WITH a AS (SELECT id FROM u) SELECT id FROM a);

-- title: recursive cte with a limit
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n LIMIT 5;

-- title: recursive cte in a subquery
SELECT id FROM t WHERE x IN (
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n
);
