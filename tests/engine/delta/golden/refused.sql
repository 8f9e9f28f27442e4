-- What would not come out exactly is computed in full, with this reason.

-- title: a star inside struct()
-- changed: a
-- engine: spark
SELECT k, to_json(struct(a.*)) AS j FROM a;
-- expect refused: a star inside a function is recomputed in full

-- title: a star inside hash()
-- changed: a
-- engine: spark
SELECT k, hash(k, *) AS h FROM a;
-- expect refused: a star inside a function is recomputed in full

-- title: a star inside hash() that decides which rows are counted
-- changed: a
-- engine: spark
SELECT k, count(*) AS n FROM a WHERE hash(*) % 2 = 0 GROUP BY k;
-- expect refused: a star inside a function is recomputed in full

-- title: NULL without a type
-- changed: a
-- engine: spark
SELECT DISTINCT k, NULL AS x FROM a;
-- expect refused: column 'x' is NULL without a type; write CAST(NULL AS …)

-- title: COLLATE
-- changed: a
-- engine: spark
SELECT DISTINCT s COLLATE UTF8_LCASE AS s FROM a;
-- expect refused: strings that are equal by a COLLATE are written in several ways

-- title: a column named like the other relation, RIGHT JOIN
-- changed: a, n
SELECT a.k, n.v FROM n RIGHT JOIN a ON n.v = a.v;
-- expect refused: a column has the name of another relation of the join

-- title: a column named like the other relation, FULL JOIN
-- changed: a, n
SELECT n.v FROM n FULL JOIN a ON n.a.k = a.k;
-- expect refused: a column has the name of another relation of the join

-- title: a name in ON that may be a function
-- changed: a, b
SELECT user, b.w FROM (SELECT k AS user FROM a) AS x RIGHT JOIN b ON user = b.k;
-- expect refused: a name in ON of a join may be that of a function

-- title: a sum of doubles inside a query
-- changed: a, f
SELECT k, (SELECT sum(d) FROM f WHERE f.k = a.k) AS d FROM a;
-- expect refused: sum() of floating-point numbers inside a query may come out otherwise each time

-- title: LIMIT inside a query
-- changed: a
SELECT k FROM (SELECT k FROM a ORDER BY v LIMIT 3) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: row_number() over ties
-- changed: a
SELECT v, row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM a;
-- expect refused: row_number() over rows that tie in its ORDER BY may come out otherwise each time, and the result does not show its keys

-- title: row_number() in a derived table
-- changed: a
SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS rn FROM a) AS x WHERE rn = 1;
-- expect refused: row_number() over rows that tie in its ORDER BY inside a query may come out otherwise each time

-- title: an average of totals of doubles over groups inside a query
-- changed: f
SELECT x.m FROM (SELECT k, avg(sum(d)) OVER () AS m FROM f GROUP BY k) AS x;
-- expect refused: sum() of floating-point numbers inside a query may come out otherwise each time

-- title: a sum of doubles in the ORDER BY of a named window
-- changed: f
SELECT x.k, x.r FROM (SELECT k, rank() OVER w AS r FROM f GROUP BY k WINDOW w AS (ORDER BY sum(d))) AS x;
-- expect refused: sum() of floating-point numbers inside a query may come out otherwise each time

-- title: LIMIT 0 of one row of aggregates, inside a query
-- changed: a
SELECT x.n FROM (SELECT count(*) AS n FROM a LIMIT 0) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: LIMIT of groups inside a query
-- changed: a
SELECT x.n FROM (SELECT count(*) AS n FROM a GROUP BY k LIMIT 3) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: LIMIT of rows made of one row of aggregates, inside a query
-- changed: a
-- engine: spark
SELECT x.e FROM (SELECT explode(array(min(v), max(v))) AS e FROM a LIMIT 1) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: LIMIT behind a word that only looks like an aggregate
-- changed: a
-- engine: spark
SELECT x.b FROM (SELECT s LIKE ANY ('a%', 'b%') AS b FROM a LIMIT 1) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: LIMIT of windows over all rows, inside a query
-- changed: a
SELECT x.n FROM (SELECT count(*) OVER () AS n FROM a LIMIT 1) AS x;
-- expect refused: LIMIT inside a query takes any of the rows that tie

-- title: PIVOT of joined rows, behind the condition of the join
-- changed: a
SELECT x, y FROM (SELECT k AS p, v, s FROM a) AS a JOIN b ON a.p = b.k PIVOT (sum(v) FOR s IN ('x', 'y'));
-- expect refused: PIVOT is recomputed in full

-- title: UNPIVOT of joined rows, behind the condition of the join
-- changed: a
SELECT p, e FROM (SELECT k AS p, v FROM a) AS a JOIN b ON a.p = b.k UNPIVOT (e FOR name IN (v, k));
-- expect refused: UNPIVOT is recomputed in full
