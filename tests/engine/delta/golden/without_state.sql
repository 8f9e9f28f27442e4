-- Queries for which no auxiliary state is kept, since it could say something else than the query.

-- title: MAX of arrays
-- changed: t
-- state: kept
SELECT g, max(array(v)) AS hi FROM t GROUP BY g;
-- expect no state

-- title: average of BIGINT, which may be beyond exact doubles
-- changed: t
-- state: kept
SELECT g, avg(b) AS m FROM t GROUP BY g;
-- expect no state

-- title: sum of 38 digits, ten of them behind the point
-- changed: t
-- state: kept
-- engine: spark
SELECT g, sum(CAST(v AS DECIMAL(38, 10))) AS s FROM t GROUP BY g;
-- expect no state

-- title: names inside to_json
-- changed: t
-- state: kept
SELECT g, to_json(struct(count(*), g)) AS j FROM t GROUP BY g;
-- expect no state

-- title: names inside to_json in HAVING
-- changed: t
-- state: kept
SELECT g, count(*) AS n FROM t GROUP BY g HAVING to_json(struct(g)) LIKE '%"g"%';
-- expect no state

-- title: a function of a key
-- changed: t
-- state: kept
SELECT upper(g) AS u, round(sum(v) / count(*), 3) AS r FROM t GROUP BY g;
-- expect no state

-- title: a key inside an expression
-- changed: t
-- state: kept
SELECT k, k + 1 AS k1, 2 * k + 1 AS x, count(*) AS n FROM t GROUP BY k, k + 1;
-- expect no state

-- title: a key inside HAVING
-- changed: t
-- state: kept
SELECT count(*) AS n, k + 1 AS k1 FROM t GROUP BY k, k + 1 HAVING 2 * k + 1 > 3;
-- expect no state

-- title: NOT of a key
-- changed: t
-- state: kept
SELECT NOT (k > 1) IS NULL AS x, count(*) AS n FROM t GROUP BY NOT (k > 1), k;
-- expect no state

-- title: a key subtracted
-- changed: t
-- state: kept
SELECT 10 - v - k AS x, count(*) AS n FROM t GROUP BY v - k, k, v;
-- expect no state

-- title: a key inside brackets
-- changed: t
-- state: kept
SELECT k, g, count(*) AS n, (k + 1) * 2 AS d FROM t GROUP BY k, g, k + 1;
-- expect no state

-- title: an item's alias that is also a column
-- changed: t
-- state: kept
SELECT t.k AS v, v + 1 AS q, count(*) AS n FROM t GROUP BY t.k, t.v;
-- expect no state

-- title: a field that would be taken for a column
-- changed: t
-- state: kept
SELECT k.g AS x, count(*) AS n FROM (SELECT named_struct('g', 1) AS k, g FROM t) AS k GROUP BY k, g;
-- expect no state

-- title: a key named like a function
-- changed: t
-- state: kept
SELECT user, concat(user, '!') AS x, count(*) AS n FROM (SELECT g AS user FROM t) GROUP BY user;
-- expect no state

-- title: a key named END
-- changed: t
-- state: kept
SELECT end, count(*) + end AS x FROM (SELECT k AS end FROM t) GROUP BY end;
-- expect no state

-- title: a key named DATE
-- changed: t
-- state: kept
SELECT date, coalesce(date, count(*)) AS x FROM (SELECT k AS date FROM t) GROUP BY date;
-- expect no state

-- title: HAVING by an alias
-- changed: t
-- state: kept
SELECT g, count(*) AS n FROM t GROUP BY g HAVING n > 1;
-- expect no state

-- title: a column that is also an alias
-- changed: t
-- state: kept
SELECT g, n + 1 AS x, count(*) AS n FROM (SELECT g, k AS n FROM t) GROUP BY g, n;
-- expect no state
