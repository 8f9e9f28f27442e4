-- title: tablesample of rows
SELECT id FROM t TABLESAMPLE (10 ROWS);

-- title: tablesample of a percentage
SELECT id FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (42);

-- title: tablesample of a subquery
SELECT id FROM (SELECT id FROM t) TABLESAMPLE (5 PERCENT) AS s;

-- title: tablesample of a subquery with a bare alias
SELECT id FROM (SELECT id FROM t) TABLESAMPLE (5 PERCENT) s;

-- title: tablesample in a join
SELECT t.id FROM t JOIN u TABLESAMPLE (5 PERCENT) ON t.id = u.id;

-- title: tablesample behind an alias
SELECT a.id FROM t AS a TABLESAMPLE (BUCKET 1 OUT OF 4);

-- title: version as of
SELECT id FROM t VERSION AS OF 1;

-- title: timestamp as of
SELECT id FROM t TIMESTAMP AS OF '2026-01-01';

-- title: for system time as of
SELECT id FROM t FOR SYSTEM_TIME AS OF '2026-01-01';

-- title: identifier clause
SELECT id FROM IDENTIFIER('t');

-- title: parameter marker
SELECT id FROM t WHERE x = :limit;

-- title: question mark
SELECT id FROM t WHERE x = ?;

-- title: script transform
SELECT TRANSFORM (id, x) USING 'cat' AS (a, b) FROM t;

-- title: function of somebody else
SELECT my_udf(x) AS y FROM t;

-- title: insert from a query
INSERT INTO t SELECT id FROM u;

-- title: several inserts
FROM t INSERT INTO a SELECT id INSERT INTO b SELECT x;

-- title: sample through a hint
SELECT /*+ SAMPLE(0.1) */ id FROM t;

-- title: fetch first
SELECT id FROM t ORDER BY id FETCH FIRST 3 ROWS ONLY;
