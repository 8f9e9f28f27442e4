-- Groups are recomputed for the keys of changed rows: Δ = γ(L' ⋉ K) - γ(L ⋉ K). What goes is read from the published rows.

-- title: count and sum
-- changed: a
SELECT k, count(*) AS n, count(v) AS nv, sum(v) AS sv FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, sum(`__trickle_g2`) AS `__trickle_g2`, sum(`__trickle_g3`) AS `__trickle_g3`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT k AS `__trickle_k0`, count(*) AS `__trickle_g1`, count(v) AS `__trickle_g2`, sum(v) AS `__trickle_g3`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY k
  UNION ALL
  SELECT DISTINCT k AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, NULL AS `__trickle_g3`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `k`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`, CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g2` END AS bigint) AS `nv`, CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g3` END AS bigint) AS `sv`
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
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n, count(v) AS nv, sum(v) AS sv
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: group by an expression
-- changed: a
SELECT upper(s) AS u, max(v) AS m FROM a GROUP BY upper(s);
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, max(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT upper(s) AS `__trickle_k0`, max(v) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY upper(s)
  UNION ALL
  SELECT DISTINCT upper(s) AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `u`, CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE greatest(o.`m`, g.`__trickle_g1`) END AS int) AS `m`
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
      WHERE `__trickle_k0` <=> __trickle_p.`u`)) AS o ON g.`__trickle_k0` <=> o.`u`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT upper(s) AS u, max(v) AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (upper(s))))
  GROUP BY upper(s))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`u`));

-- title: group by a position
-- changed: a
SELECT v % 2 AS odd, min(k) AS m FROM a GROUP BY 1;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, min(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT v % 2 AS `__trickle_k0`, min(k) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY v % 2
  UNION ALL
  SELECT DISTINCT v % 2 AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `odd`, CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE least(o.`m`, g.`__trickle_g1`) END AS int) AS `m`
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
      WHERE `__trickle_k0` <=> __trickle_p.`odd`)) AS o ON g.`__trickle_k0` <=> o.`odd`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT v % 2 AS odd, min(k) AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (v % 2)))
  GROUP BY 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`odd`));

-- title: group by an alias
-- changed: a
SELECT coalesce(s, '-') AS label, count(*) AS n FROM a GROUP BY label;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT coalesce(s, '-') AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY coalesce(s, '-')
  UNION ALL
  SELECT DISTINCT coalesce(s, '-') AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `label`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`label`)) AS o ON g.`__trickle_k0` <=> o.`label`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT coalesce(s, '-') AS label, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (coalesce(s, '-'))))
  GROUP BY label)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`label`));

-- title: group by all
-- changed: a
SELECT s, v, count(*) AS n FROM a GROUP BY ALL;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, `__trickle_k1`, sum(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT s AS `__trickle_k0`, v AS `__trickle_k1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY s, v
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`, v AS `__trickle_k1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(g.`__trickle_k1` AS int) AS `v`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s` AND `__trickle_k1` <=> __trickle_p.`v`)) AS o ON g.`__trickle_k0` <=> o.`s` AND g.`__trickle_k1` <=> o.`v`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, v, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (s) AND `__trickle_k1` <=> (v)))
  GROUP BY ALL)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s` AND `__trickle_k1` <=> __trickle_p.`v`));

-- title: hidden keys
-- changed: a
SELECT count(*) AS n FROM a GROUP BY k, s;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`, s AS `__trickle_k1`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k) AND `__trickle_k1` <=> (s)))
  GROUP BY k, s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k) AND `__trickle_k1` <=> (s)))
  GROUP BY k, s);

-- title: key inside a column
-- changed: a
SELECT k + 1 AS k1, count(*) AS n FROM a GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k + 1 AS k1, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k + 1 AS k1, count(*) AS n
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);

-- title: having
-- changed: a
SELECT k, sum(v) AS sv FROM a GROUP BY k HAVING count(*) > 1;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS sv
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k
  HAVING count(*) > 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: having a subquery
-- changed: a, b
SELECT k, sum(v) AS sv FROM a GROUP BY k HAVING sum(v) > (SELECT min(k) FROM b);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) AS sv
  FROM a_after AS a
  GROUP BY k
  HAVING sum(v) > (
    SELECT min(k)
    FROM b_after AS b))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: distinct aggregate
-- changed: a
SELECT s, count(DISTINCT k) AS n, sum(DISTINCT v) AS sv FROM a GROUP BY s;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT s AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, count(DISTINCT k) AS n, sum(DISTINCT v) AS sv
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: filtered aggregate
-- changed: a
SELECT k, count(*) FILTER (WHERE v > 0) AS n FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT k AS `__trickle_k0`, count(*) FILTER (WHERE v > 0) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY k
  UNION ALL
  SELECT DISTINCT k AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `k`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) FILTER (WHERE v > 0) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: sum over a sum
-- changed: a
SELECT n, count(*) AS m FROM (SELECT k, count(*) AS n FROM a GROUP BY k) AS x GROUP BY n;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
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
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT n AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM derived_changes_1 LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS x
  GROUP BY n
  UNION ALL
  SELECT DISTINCT n AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM derived_changes_1 AS x
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS bigint) AS `n`, CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE o.`m` + g.`__trickle_g1` END AS bigint) AS `m`
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
      WHERE `__trickle_k0` <=> __trickle_p.`n`)) AS o ON g.`__trickle_k0` <=> o.`n`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT n, count(*) AS m
  FROM (
    SELECT k, count(*) AS n
    FROM a_after AS a
    GROUP BY k) AS x
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (n)))
  GROUP BY n)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`n`));

-- title: merged
-- changed: a
SELECT k, count(*) AS n, sum(v) AS sv, min(v) AS lo, max(s) AS hi, count(v) AS nv FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, sum(`__trickle_g2`) AS `__trickle_g2`, min(`__trickle_g3`) AS `__trickle_g3`, max(`__trickle_g4`) AS `__trickle_g4`, sum(`__trickle_g5`) AS `__trickle_g5`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT k AS `__trickle_k0`, count(*) AS `__trickle_g1`, sum(v) AS `__trickle_g2`, min(v) AS `__trickle_g3`, max(s) AS `__trickle_g4`, count(v) AS `__trickle_g5`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY k
  UNION ALL
  SELECT DISTINCT k AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, NULL AS `__trickle_g3`, NULL AS `__trickle_g4`, NULL AS `__trickle_g5`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `k`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`, CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g2` END AS bigint) AS `sv`, CAST(CASE WHEN o.`lo` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`lo` ELSE least(o.`lo`, g.`__trickle_g3`) END AS int) AS `lo`, CAST(CASE WHEN o.`hi` IS NULL THEN g.`__trickle_g4` WHEN g.`__trickle_g4` IS NULL THEN o.`hi` ELSE greatest(o.`hi`, g.`__trickle_g4`) END AS string) AS `hi`, CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g5` WHEN g.`__trickle_g5` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g5` END AS bigint) AS `nv`
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
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n, sum(v) AS sv, min(v) AS lo, max(s) AS hi, count(v) AS nv
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: merged with a filter
-- changed: a
SELECT k, count(*) FILTER (WHERE v > 0) AS n, bool_or(v > 1) AS b FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT k AS `__trickle_k0`, count(*) FILTER (WHERE v > 0) AS `__trickle_g1`, bool_or(v > 1) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  GROUP BY k
  UNION ALL
  SELECT DISTINCT k AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `k`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`, CAST(CASE WHEN o.`b` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`b` ELSE o.`b` OR g.`__trickle_g2` END AS boolean) AS `b`
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
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) FILTER (WHERE v > 0) AS n, bool_or(v > 1) AS b
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: merged over a join
-- changed: a, b
SELECT a.s, sum(b.w) AS sw, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.s;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, sum(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT a.s AS `__trickle_k0`, sum(b.w) AS `__trickle_g1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a JOIN b_after AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, sum(b.w) AS `__trickle_g1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM a_before AS a JOIN (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM b_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(CASE WHEN o.`sw` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sw` ELSE o.`sw` + g.`__trickle_g1` END AS decimal(20,2)) AS `sw`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.s, sum(b.w) AS sw, count(*) AS n
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (a.s)))
  GROUP BY a.s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: merged over a left join
-- changed: a, b
SELECT a.s, count(b.k) AS n, min(b.w) AS lo FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.s;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, min(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, min(b.w) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a LEFT JOIN b_after AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, min(b.w) AS `__trickle_g2`, false AS __trickle_loses
  FROM a_before AS a JOIN (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM b_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, min(b.w) AS `__trickle_g2`, false AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k))
  GROUP BY a.s
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (CAST(1 AS BIGINT) < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_before
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (CAST(-1 AS BIGINT) < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`, CAST(CASE WHEN o.`lo` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`lo` ELSE least(o.`lo`, g.`__trickle_g2`) END AS decimal(10,2)) AS `lo`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.s, count(b.k) AS n, min(b.w) AS lo
  FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (a.s)))
  GROUP BY a.s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: merged over not exists
-- changed: a, b
SELECT s, count(*) AS n FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY s;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT s AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM a_changes)) AS b
    WHERE b.k = a.k))
  GROUP BY s
  UNION ALL
  SELECT s AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM a_before AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k))))
  GROUP BY s
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM a_changes)) AS b
    WHERE b.k = a.k)) AND (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_before AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k)))) AND (CAST(1 AS BIGINT) < 0)
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_before AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_before
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k)))) AND (CAST(-1 AS BIGINT) < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, count(*) AS n
  FROM a_after AS a
  WHERE (NOT EXISTS (
    SELECT 1
    FROM b_after AS b
    WHERE b.k = a.k)) AND (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: merged over a derived table
-- changed: a, b
SELECT x.k, max(x.v) AS m FROM (SELECT k, v FROM a UNION ALL SELECT k, 7 FROM b) AS x GROUP BY x.k;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT CAST(`__trickle_c1` AS int) AS `k`, CAST(`__trickle_c2` AS int) AS `v`, __trickle_weight
FROM (
  SELECT k, v, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, CAST(`__trickle_c2` AS int) AS `v`, __trickle_weight
FROM (
  SELECT k, 7, __trickle_weight AS __trickle_weight
  FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight);
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, max(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT x.k AS `__trickle_k0`, max(x.v) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM derived_changes_1 LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS x
  GROUP BY x.k
  UNION ALL
  SELECT DISTINCT x.k AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM derived_changes_1 AS x
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `k`, CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE greatest(o.`m`, g.`__trickle_g1`) END AS int) AS `m`
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
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT x.k, max(x.v) AS m
  FROM (
    SELECT k, v
    FROM a_after AS a
    UNION ALL
    SELECT k, 7
    FROM b_after AS b) AS x
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (x.k)))
  GROUP BY x.k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: all rows
-- changed: a
SELECT count(*) AS n, sum(v) AS sv, max(s) AS ms FROM a;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT sum(`__trickle_g0`) AS `__trickle_g0`, sum(`__trickle_g1`) AS `__trickle_g1`, max(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT count(*) AS `__trickle_g0`, sum(v) AS `__trickle_g1`, max(s) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a
  HAVING count(*) > 0
  UNION ALL
  SELECT DISTINCT NULL AS `__trickle_g0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a
  WHERE (__trickle_weight < 0))
HAVING count(*) > 0;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g0` WHEN g.`__trickle_g0` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g0` END AS bigint) AS `n`, CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g1` END AS bigint) AS `sv`, CAST(CASE WHEN o.`ms` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`ms` ELSE greatest(o.`ms`, g.`__trickle_g2`) END AS string) AS `ms`
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
      WHERE true)) AS o ON true)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n, sum(v) AS sv, max(s) AS ms
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE true));

-- title: all rows of a join
-- changed: a, b
SELECT sum(b.w) AS sw FROM a JOIN b ON a.k = b.k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT sum(`__trickle_g0`) AS `__trickle_g0`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT sum(b.w) AS `__trickle_g0`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a JOIN b_after AS b ON a.k = b.k
  HAVING count(*) > 0
  UNION ALL
  SELECT sum(b.w) AS `__trickle_g0`, false AS __trickle_loses
  FROM a_before AS a JOIN (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM b_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS b ON a.k = b.k
  HAVING count(*) > 0
  UNION ALL
  SELECT DISTINCT NULL AS `__trickle_g0`, true AS __trickle_loses
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT NULL AS `__trickle_g0`, true AS __trickle_loses
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (__trickle_weight < 0))
HAVING count(*) > 0;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(CASE WHEN o.`sw` IS NULL THEN g.`__trickle_g0` WHEN g.`__trickle_g0` IS NULL THEN o.`sw` ELSE o.`sw` + g.`__trickle_g0` END AS decimal(20,2)) AS `sw`
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
      WHERE true)) AS o ON true)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT sum(b.w) AS sw
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE true));

-- title: rollup
-- changed: a
SELECT k, s, count(*) AS n FROM a GROUP BY ROLLUP (k, s);
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, s, count(*) AS n
  FROM a_after AS a
  GROUP BY ROLLUP (k, s))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: cube
-- changed: a
-- engine: spark
SELECT k, s, sum(v) AS sv, grouping_id() AS g FROM a GROUP BY CUBE (k, s);

-- title: grouping sets
-- changed: a
SELECT k, s, count(*) AS n FROM a GROUP BY GROUPING SETS ((k), (s), ());
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, s, count(*) AS n
  FROM a_after AS a
  GROUP BY GROUPING SETS ((k), (s), ()))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: join and aggregate
-- changed: a, b
SELECT a.s, sum(b.w) AS sw, count(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.s;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, sum(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT a.s AS `__trickle_k0`, sum(b.w) AS `__trickle_g1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a JOIN b_after AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, sum(b.w) AS `__trickle_g1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM a_before AS a JOIN (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM b_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(CASE WHEN o.`sw` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sw` ELSE o.`sw` + g.`__trickle_g1` END AS decimal(20,2)) AS `sw`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.s, sum(b.w) AS sw, count(*) AS n
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (a.s)))
  GROUP BY a.s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: left join and aggregate
-- changed: a, b
SELECT a.s, count(b.k) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.s;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS a LEFT JOIN b_after AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, false AS __trickle_loses
  FROM a_before AS a JOIN (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM b_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS b ON a.k = b.k
  GROUP BY a.s
  UNION ALL
  SELECT a.s AS `__trickle_k0`, count(b.k) AS `__trickle_g1`, false AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k))
  GROUP BY a.s
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (__trickle_weight < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (CAST(1 AS BIGINT) < 0)
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE a.k = b.k)) AND (NOT EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_before
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (CAST(-1 AS BIGINT) < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `s`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.s, count(b.k) AS n
  FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (a.s)))
  GROUP BY a.s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: sum of doubles
-- changed: f
SELECT k, sum(d) AS s, avg(d) AS m FROM f GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM f_changes AS f;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(d) AS s, avg(d) AS m
  FROM f_after AS f
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: a key named like a function
-- changed: a
SELECT user, count(DISTINCT v) AS n FROM (SELECT s AS user, v FROM a) GROUP BY user;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT s AS user, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM derived_changes_1)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT user, count(DISTINCT v) AS n
  FROM (
    SELECT s AS user, v
    FROM a_after AS a)
  GROUP BY user)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: a key twice
-- changed: a
SELECT k, count(*) AS n FROM a GROUP BY k, k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`, k AS `__trickle_k1`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k) AND `__trickle_k1` <=> (k)))
  GROUP BY k, k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k` AND `__trickle_k1` <=> __trickle_p.`k`));

-- title: distinct aggregate over a join
-- changed: a, b
SELECT a.s, count(DISTINCT b.w) AS n FROM a JOIN b ON a.k = b.k GROUP BY a.s;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT *
FROM (
  SELECT DISTINCT a.s AS `__trickle_k0`
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  UNION ALL
  SELECT DISTINCT a.s AS `__trickle_k0`
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.s, count(DISTINCT b.w) AS n
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (a.s)))
  GROUP BY a.s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: distinct aggregate beside EXISTS
-- changed: a, b
SELECT s, count(DISTINCT v) AS n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY s;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT *
FROM (
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_changes AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM a_changes)) AS b
    WHERE b.k = a.k))
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k))))
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_before
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k)))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, count(DISTINCT v) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM b_after AS b
    WHERE b.k = a.k)) AND (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: hidden keys beside EXISTS
-- changed: a, b
SELECT count(*) AS n, max(v) AS m FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) GROUP BY s;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT *
FROM (
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_changes AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM a_changes)) AS b
    WHERE b.k = a.k))
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k))))
  UNION ALL
  SELECT DISTINCT s AS `__trickle_k0`
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT *
      FROM b_before
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE b.k = a.k)) AND ((EXISTS (
    SELECT 1
    FROM b_changes AS b
    WHERE (b.k = a.k)))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n, max(v) AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM b_after AS b
    WHERE b.k = a.k)) AND (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n, max(v) AS m
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM b_before AS b
    WHERE b.k = a.k)) AND (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s);

-- title: LIMIT of one row of aggregates takes nothing away
-- changed: a
-- state: kept
SELECT count(*) AS n, sum(v) AS s FROM a LIMIT 100;
-- expect state, kept beside the table
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0, count(v) AS __trickle_c1, CAST(coalesce(sum(CAST((v) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM a_after AS a;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(CAST(__trickle_x1 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM (
  SELECT 1 AS __trickle_x0, v AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
HAVING count(*) > 0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS s
  FROM (
    SELECT __trickle_n AS __trickle_i0, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS bigint) END AS __trickle_i1
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
        FROM (
          SELECT __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_2 AS d
              WHERE true))
          UNION ALL
          SELECT __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM gains_2)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE true));

-- title: ORDER BY and LIMIT of one row of aggregates, with HAVING
-- changed: a, b
SELECT count(*) AS n FROM a JOIN b ON a.k = b.k HAVING count(*) > 1 ORDER BY count(*) LIMIT 1;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  UNION ALL
  SELECT 1 AS one
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  HAVING count(*) > 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: LIMIT of one row of aggregates in derived tables and in WITH
-- changed: a
WITH most AS (SELECT max(v) AS v FROM a LIMIT 1)
SELECT x.n, y.s, most.v FROM (SELECT count(*) AS n FROM a LIMIT 5) AS x, (SELECT sum(v) AS s FROM a) AS y, most LIMIT 10;
-- expect most_after, a view: most after
SELECT max(v) AS v
FROM a_after AS a
LIMIT 1;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect most_changes, computed once: the change of most
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT max(v) AS v
  FROM a_after AS a)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT max(v) AS v
  FROM a_before AS a);
-- expect most_before, a view: most before
SELECT max(v) AS v
FROM a_before AS a
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT x.n, y.s, most.v
  FROM (
    SELECT count(*) AS n
    FROM a_after AS a
    LIMIT 5) AS x, (
    SELECT sum(v) AS s
    FROM a_after AS a) AS y, most_after AS most
  LIMIT 10)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: LIMIT of rows that are joined from one row each
-- changed: a, b
SELECT x.n, y.m FROM (SELECT count(*) AS n FROM a) AS x, (SELECT max(k) AS m FROM b) AS y LIMIT 10;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_after AS a)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_before AS a);
-- expect any_change_2, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM b_changes AS b)
LIMIT 1;
-- expect derived_changes_2, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT max(k) AS m
  FROM b_after AS b)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT max(k) AS m
  FROM b_before AS b);
-- expect change
SELECT x.n, y.m, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x, (
  SELECT max(k) AS m
  FROM b_after AS b) AS y
UNION ALL
SELECT x.n, y.m, __trickle_weight AS __trickle_weight
FROM (
  SELECT count(*) AS n
  FROM a_before AS a) AS x, derived_changes_2 AS y;
