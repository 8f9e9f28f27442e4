-- The change of a CTE or derived table is computed once; what reads it has its states before and after too.

-- title: values
-- changed: a
SELECT a.k, n.name FROM a JOIN (VALUES (0, 'zero'), (1, 'one')) AS n(k, name) ON a.k = n.k;
-- expect change
SELECT a.k, n.name, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN (
  VALUES (0, 'zero'), (1, 'one')) AS n(k, name) ON a.k = n.k;

-- title: range
-- changed: a
-- engine: spark
SELECT r.id, a.s FROM range(3) AS r LEFT JOIN a ON a.k = r.id;

-- title: with
-- changed: a, b
WITH x AS (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT x.k, x.n, b.w FROM x JOIN b ON x.k = b.k;
-- expect x_after, a view: x after
SELECT k, count(*) AS n
FROM a_after AS a
GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect x_changes, computed once: the change of x
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect x_before, a view: x before
SELECT k, count(*) AS n
FROM a_before AS a
GROUP BY k;
-- expect change
SELECT x.k, x.n, b.w, __trickle_weight AS __trickle_weight
FROM x_changes AS x JOIN b_after AS b ON x.k = b.k
UNION ALL
SELECT x.k, x.n, b.w, __trickle_weight AS __trickle_weight
FROM x_before AS x JOIN b_changes AS b ON x.k = b.k;

-- title: with read twice
-- changed: a
WITH x AS (SELECT k, v FROM a WHERE v > 0) SELECT p.k, q.v FROM x AS p JOIN x AS q ON p.k = q.v;
-- expect x_after, a view: x after
SELECT k, v
FROM a_after AS a
WHERE v > 0;
-- expect x_changes, computed once: the change of x
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v > 0);
-- expect x_before, a view: x before
SELECT k, v
FROM a_before AS a
WHERE v > 0;
-- expect change
SELECT p.k, q.v, __trickle_weight AS __trickle_weight
FROM x_changes AS p JOIN x_after AS q ON p.k = q.v
UNION ALL
SELECT p.k, q.v, __trickle_weight AS __trickle_weight
FROM x_before AS p JOIN x_changes AS q ON p.k = q.v;

-- title: with of names
-- changed: a
WITH x(p, q) AS (SELECT k, v FROM a) SELECT p, sum(q) AS s FROM x GROUP BY p;
-- expect x_after, a view: x after
SELECT *
FROM (
  SELECT k, v
  FROM a_after AS a) AS __trickle_q(p, q);
-- expect x_changes, computed once: the change of x
SELECT *
FROM (
  SELECT k, v, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(p, q, __trickle_weight);
-- expect x_before, a view: x before
SELECT *
FROM (
  SELECT k, v
  FROM a_before AS a) AS __trickle_q(p, q);
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT p AS `__trickle_k0`, sum(q) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM x_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS x
  GROUP BY p
  UNION ALL
  SELECT DISTINCT p AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM x_changes AS x
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `p`, CAST(CASE WHEN o.`s` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`s` ELSE o.`s` + g.`__trickle_g1` END AS bigint) AS `s`
  FROM (
    SELECT *
    FROM gains_1
    WHERE NOT __trickle_loses) AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM (
        SELECT *
        FROM gains_1
        WHERE NOT __trickle_loses)
      WHERE `__trickle_k0` <=> __trickle_p.`p`)) AS o ON g.`__trickle_k0` <=> o.`p`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT p, sum(q) AS s
  FROM x_after AS x
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (p)))
  GROUP BY p)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`p`));

-- title: with over with
-- changed: a
WITH x AS (SELECT k FROM a), a AS (SELECT k FROM x WHERE k > 0) SELECT * FROM a UNION ALL SELECT * FROM x;
-- expect x_after, a view: x after
SELECT k
FROM a_after AS a;
-- expect x_changes, computed once: the change of x
SELECT k, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect x_before, a view: x before
SELECT k
FROM a_before AS a;
-- expect a_after_2, a view: a after
SELECT k
FROM x_after AS x
WHERE k > 0;
-- expect a_changes_2, computed once: the change of a
SELECT k, __trickle_weight AS __trickle_weight
FROM x_changes AS x
WHERE (k > 0);
-- expect a_before_2, a view: a before
SELECT k
FROM x_before AS x
WHERE k > 0;
-- expect change
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT * EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
  FROM a_changes_2 AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT * EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
  FROM x_changes AS x) AS __trickle_q(`__trickle_c1`, __trickle_weight);

-- title: with in a subquery
-- changed: a, b
SELECT s FROM a WHERE k IN (WITH x AS (SELECT k FROM b) SELECT k FROM x);
-- expect change
SELECT s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (
  WITH x AS (
    SELECT k
    FROM b_after AS b)
  SELECT k
  FROM x))
UNION ALL
SELECT s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  WITH x AS (
    SELECT k
    FROM b_after AS b)
  SELECT k
  FROM x))
UNION ALL
SELECT s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  WITH x AS (
    SELECT k
    FROM b_before AS b)
  SELECT k
  FROM x));

-- title: derived
-- changed: a, b
SELECT x.k FROM (SELECT k, v FROM a WHERE v > 0) AS x LEFT JOIN b ON b.k = x.k WHERE b.k IS NULL;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v > 0);
-- expect change
SELECT x.k, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x LEFT JOIN b_after AS b ON b.k = x.k
WHERE (b.k IS NULL)
UNION ALL
SELECT x.k, __trickle_weight AS __trickle_weight
FROM (
  SELECT k, v
  FROM a_before AS a
  WHERE v > 0) AS x JOIN b_changes AS b ON b.k = x.k
WHERE (b.k IS NULL)
UNION ALL
SELECT x.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v
  FROM a_before AS a
  WHERE v > 0) AS x LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = x.k
WHERE (b.k IS NULL) AND (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE b.k = x.k)) AND (NOT EXISTS (
  SELECT 1
  FROM b_after AS b
  WHERE b.k = x.k))
UNION ALL
SELECT x.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v
  FROM a_before AS a
  WHERE v > 0) AS x LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = x.k
WHERE (b.k IS NULL) AND (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE b.k = x.k)) AND (NOT EXISTS (
  SELECT 1
  FROM b_before AS b
  WHERE b.k = x.k));

-- title: derived with names
-- changed: a, b
SELECT p, w FROM (SELECT k, v FROM a) AS x(p, q) JOIN b ON b.k = x.q;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect change
SELECT p, w, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM derived_changes_1 AS __trickle_q(p, q, __trickle_weight)) AS `x` JOIN b_after AS b ON b.k = x.q
UNION ALL
SELECT p, w, __trickle_weight AS __trickle_weight
FROM (
  SELECT k, v
  FROM a_before AS a) AS x(p, q) JOIN b_changes AS b ON b.k = x.q;

-- title: WITH inside a derived table, around a sum
-- changed: a, b
SELECT x.k, x.s, b.w FROM (WITH q AS (SELECT k, v FROM a) SELECT k, sum(v) AS s FROM q GROUP BY k) AS x JOIN b ON x.k = b.k;
-- expect q_after, a view: q after
SELECT k, v
FROM a_after AS a;
-- expect q_after_2, a view: q after
SELECT k, v
FROM a_after AS a;
-- expect q_changes, computed once: the change of q
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect q_before, a view: q before
SELECT k, v
FROM a_before AS a;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM q_changes AS q;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS s
  FROM q_after_2 AS q
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS s
  FROM q_before AS q
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect change
SELECT x.k, x.s, b.w, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x JOIN b_after AS b ON x.k = b.k
UNION ALL
SELECT x.k, x.s, b.w, __trickle_weight AS __trickle_weight
FROM (
  WITH q AS (
    SELECT k, v
    FROM a_before AS a)
  SELECT k, sum(v) AS s
  FROM q
  GROUP BY k) AS x JOIN b_changes AS b ON x.k = b.k;

-- title: a sum in a CTE of a CTE
-- changed: a
WITH o AS (WITH q(k, v) AS (SELECT k, v FROM a) SELECT k, sum(v) AS s FROM q GROUP BY k) SELECT o.k FROM o WHERE o.s > (SELECT sum(k) FROM o);
-- expect q_after, a view: q after
SELECT *
FROM (
  SELECT k, v
  FROM a_after AS a) AS __trickle_q(k, v);
-- expect o_after, a view: o after
WITH q(k, v) AS (
  SELECT k, v
  FROM a_after AS a)
SELECT k, sum(v) AS s
FROM q
GROUP BY k;
-- expect q_after_2, a view: q after
SELECT *
FROM (
  SELECT k, v
  FROM a_after AS a) AS __trickle_q(k, v);
-- expect q_changes, computed once: the change of q
SELECT *
FROM (
  SELECT k, v, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(k, v, __trickle_weight);
-- expect q_before, a view: q before
SELECT *
FROM (
  SELECT k, v
  FROM a_before AS a) AS __trickle_q(k, v);
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM q_changes AS q;
-- expect o_changes, computed once: the change of o
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS s
  FROM q_after_2 AS q
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS s
  FROM q_before AS q
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect o_before, a view: o before
WITH q(k, v) AS (
  SELECT k, v
  FROM a_before AS a)
SELECT k, sum(v) AS s
FROM q
GROUP BY k;
-- expect change
SELECT o.k, __trickle_weight AS __trickle_weight
FROM o_changes AS o
WHERE (o.s > (
  SELECT sum(k)
  FROM o_after AS o))
UNION ALL
SELECT o.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM o_before AS o
WHERE (o.s > (
  SELECT sum(k)
  FROM o_after AS o)) AND ((EXISTS (
  SELECT 1
  FROM o_changes AS o)))
UNION ALL
SELECT o.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM o_before AS o
WHERE (o.s > (
  SELECT sum(k)
  FROM o_before AS o)) AND ((EXISTS (
  SELECT 1
  FROM o_changes AS o)));
