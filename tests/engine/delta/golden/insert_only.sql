-- Rows only came: groups are merged with the published ones, and DISTINCT adds what is not published yet.

-- title: count and sum, rows only come
-- changed: a+
SELECT k, count(*) AS n, count(v) AS nv, sum(v) AS sv FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT k AS `__trickle_k0`, count(*) AS `__trickle_g1`, count(v) AS `__trickle_g2`, sum(v) AS `__trickle_g3`, false AS __trickle_loses
FROM (
  SELECT * EXCEPT (__trickle_weight, __trickle_n)
  FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
  WHERE __trickle_weight > 0) AS a
GROUP BY k;
-- expect change
SELECT `k`, `n`, `nv`, `sv`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(g.`__trickle_k0` AS int), CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint), CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g2` END AS bigint), CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g3` END AS bigint), CAST(1 AS BIGINT), true, o.`k`, o.`n`, o.`nv`, o.`sv`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`k`, `n`, `nv`, `sv`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`
  WHERE o.__trickle_there IS NULL OR NOT (o.`k` <=> CAST(g.`__trickle_k0` AS int) AND o.`n` <=> CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AND o.`nv` <=> CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g2` END AS bigint) AND o.`sv` <=> CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g3` END AS bigint)))
WHERE __trickle_there;

-- title: merged, rows only come
-- changed: a+
SELECT k, count(*) AS n, sum(v) AS sv, min(v) AS lo, max(s) AS hi, count(v) AS nv FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT k AS `__trickle_k0`, count(*) AS `__trickle_g1`, sum(v) AS `__trickle_g2`, min(v) AS `__trickle_g3`, max(s) AS `__trickle_g4`, count(v) AS `__trickle_g5`, false AS __trickle_loses
FROM (
  SELECT * EXCEPT (__trickle_weight, __trickle_n)
  FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
  WHERE __trickle_weight > 0) AS a
GROUP BY k;
-- expect change
SELECT `k`, `n`, `sv`, `lo`, `hi`, `nv`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(g.`__trickle_k0` AS int), CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint), CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g2` END AS bigint), CAST(CASE WHEN o.`lo` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`lo` ELSE least(o.`lo`, g.`__trickle_g3`) END AS int), CAST(CASE WHEN o.`hi` IS NULL THEN g.`__trickle_g4` WHEN g.`__trickle_g4` IS NULL THEN o.`hi` ELSE greatest(o.`hi`, g.`__trickle_g4`) END AS string), CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g5` WHEN g.`__trickle_g5` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g5` END AS bigint), CAST(1 AS BIGINT), true, o.`k`, o.`n`, o.`sv`, o.`lo`, o.`hi`, o.`nv`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`k`, `n`, `sv`, `lo`, `hi`, `nv`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`
  WHERE o.__trickle_there IS NULL OR NOT (o.`k` <=> CAST(g.`__trickle_k0` AS int) AND o.`n` <=> CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AND o.`sv` <=> CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g2` END AS bigint) AND o.`lo` <=> CAST(CASE WHEN o.`lo` IS NULL THEN g.`__trickle_g3` WHEN g.`__trickle_g3` IS NULL THEN o.`lo` ELSE least(o.`lo`, g.`__trickle_g3`) END AS int) AND o.`hi` <=> CAST(CASE WHEN o.`hi` IS NULL THEN g.`__trickle_g4` WHEN g.`__trickle_g4` IS NULL THEN o.`hi` ELSE greatest(o.`hi`, g.`__trickle_g4`) END AS string) AND o.`nv` <=> CAST(CASE WHEN o.`nv` IS NULL THEN g.`__trickle_g5` WHEN g.`__trickle_g5` IS NULL THEN o.`nv` ELSE o.`nv` + g.`__trickle_g5` END AS bigint)))
WHERE __trickle_there;

-- title: merged over a join, rows only come
-- changed: a+, b+
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
  GROUP BY a.s)
GROUP BY `__trickle_k0`;
-- expect change
SELECT `s`, `sw`, `n`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(g.`__trickle_k0` AS string), CAST(CASE WHEN o.`sw` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sw` ELSE o.`sw` + g.`__trickle_g1` END AS decimal(20,2)), CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint), CAST(1 AS BIGINT), true, o.`s`, o.`sw`, o.`n`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`s`, `sw`, `n`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS o ON g.`__trickle_k0` <=> o.`s`
  WHERE o.__trickle_there IS NULL OR NOT (o.`s` <=> CAST(g.`__trickle_k0` AS string) AND o.`sw` <=> CAST(CASE WHEN o.`sw` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sw` ELSE o.`sw` + g.`__trickle_g1` END AS decimal(20,2)) AND o.`n` <=> CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint)))
WHERE __trickle_there;

-- title: merged over a left join, rows only come
-- changed: a+, b+
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

-- title: all rows, rows only come
-- changed: a+
SELECT count(*) AS n, sum(v) AS sv, max(s) AS ms FROM a;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT count(*) AS `__trickle_g0`, sum(v) AS `__trickle_g1`, max(s) AS `__trickle_g2`, false AS __trickle_loses
FROM (
  SELECT * EXCEPT (__trickle_weight, __trickle_n)
  FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
  WHERE __trickle_weight > 0) AS a
HAVING count(*) > 0;
-- expect change
SELECT `n`, `sv`, `ms`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g0` WHEN g.`__trickle_g0` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g0` END AS bigint), CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g1` END AS bigint), CAST(CASE WHEN o.`ms` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`ms` ELSE greatest(o.`ms`, g.`__trickle_g2`) END AS string), CAST(1 AS BIGINT), true, o.`n`, o.`sv`, o.`ms`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`n`, `sv`, `ms`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE true)) AS o ON true
  WHERE o.__trickle_there IS NULL OR NOT (o.`n` <=> CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g0` WHEN g.`__trickle_g0` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g0` END AS bigint) AND o.`sv` <=> CAST(CASE WHEN o.`sv` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`sv` ELSE o.`sv` + g.`__trickle_g1` END AS bigint) AND o.`ms` <=> CAST(CASE WHEN o.`ms` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`ms` ELSE greatest(o.`ms`, g.`__trickle_g2`) END AS string)))
WHERE __trickle_there;

-- title: distinct, rows only come
-- changed: a+
SELECT DISTINCT k, s FROM a;
-- expect new_rows_1, computed once: the distinct rows that came
SELECT DISTINCT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS string) AS `__trickle_c2`
FROM (
  SELECT k, s, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight);
-- expect change
SELECT /*+ BROADCAST(p) */ d.`__trickle_c1` AS `k`, d.`__trickle_c2` AS `s`, CAST(1 AS BIGINT) AS __trickle_weight
FROM new_rows_1 AS d LEFT ANTI JOIN (
  SELECT *
  FROM published AS p
  WHERE EXISTS (
    SELECT 1
    FROM new_rows_1 AS d
    WHERE d.`__trickle_c1` <=> p.`k` AND d.`__trickle_c2` <=> p.`s`)) AS p ON d.`__trickle_c1` <=> p.`k` AND d.`__trickle_c2` <=> p.`s`;

-- title: distinct of a join, rows only come
-- changed: a+, b+
SELECT DISTINCT a.s FROM a JOIN b ON a.k = b.k;
-- expect new_rows_1, computed once: the distinct rows that came
SELECT DISTINCT CAST(`__trickle_c1` AS string) AS `__trickle_c1`
FROM (
  SELECT a.s, __trickle_weight AS __trickle_weight
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  UNION ALL
  SELECT a.s, __trickle_weight AS __trickle_weight
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k) AS __trickle_q(`__trickle_c1`, __trickle_weight);
-- expect change
SELECT /*+ BROADCAST(p) */ d.`__trickle_c1` AS `s`, CAST(1 AS BIGINT) AS __trickle_weight
FROM new_rows_1 AS d LEFT ANTI JOIN (
  SELECT *
  FROM published AS p
  WHERE EXISTS (
    SELECT 1
    FROM new_rows_1 AS d
    WHERE d.`__trickle_c1` <=> p.`s`)) AS p ON d.`__trickle_c1` <=> p.`s`;

-- title: group by an expression, rows only come
-- changed: a+
SELECT upper(s) AS u, max(v) AS m FROM a GROUP BY upper(s);
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT upper(s) AS `__trickle_k0`, max(v) AS `__trickle_g1`, false AS __trickle_loses
FROM (
  SELECT * EXCEPT (__trickle_weight, __trickle_n)
  FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
  WHERE __trickle_weight > 0) AS a
GROUP BY upper(s);
-- expect change
SELECT `u`, `m`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(g.`__trickle_k0` AS string), CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE greatest(o.`m`, g.`__trickle_g1`) END AS int), CAST(1 AS BIGINT), true, o.`u`, o.`m`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`u`, `m`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE `__trickle_k0` <=> __trickle_p.`u`)) AS o ON g.`__trickle_k0` <=> o.`u`
  WHERE o.__trickle_there IS NULL OR NOT (o.`u` <=> CAST(g.`__trickle_k0` AS string) AND o.`m` <=> CAST(CASE WHEN o.`m` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`m` ELSE greatest(o.`m`, g.`__trickle_g1`) END AS int)))
WHERE __trickle_there;

-- title: merged with a filter, rows only come
-- changed: a+
SELECT k, count(*) FILTER (WHERE v > 0) AS n, bool_or(v > 1) AS b FROM a GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT k AS `__trickle_k0`, count(*) FILTER (WHERE v > 0) AS `__trickle_g1`, bool_or(v > 1) AS `__trickle_g2`, false AS __trickle_loses
FROM (
  SELECT * EXCEPT (__trickle_weight, __trickle_n)
  FROM a_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
  WHERE __trickle_weight > 0) AS a
GROUP BY k;
-- expect change
SELECT `k`, `n`, `b`, __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ stack(2, CAST(g.`__trickle_k0` AS int), CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint), CAST(CASE WHEN o.`b` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`b` ELSE o.`b` OR g.`__trickle_g2` END AS boolean), CAST(1 AS BIGINT), true, o.`k`, o.`n`, o.`b`, CAST(-1 AS BIGINT), o.__trickle_there) AS (`k`, `n`, `b`, __trickle_weight, __trickle_there)
  FROM gains_1 AS g LEFT JOIN (
    SELECT *, true AS __trickle_there
    FROM published AS __trickle_p
    WHERE EXISTS (
      SELECT 1
      FROM gains_1
      WHERE `__trickle_k0` <=> __trickle_p.`k`)) AS o ON g.`__trickle_k0` <=> o.`k`
  WHERE o.__trickle_there IS NULL OR NOT (o.`k` <=> CAST(g.`__trickle_k0` AS int) AND o.`n` <=> CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AND o.`b` <=> CAST(CASE WHEN o.`b` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`b` ELSE o.`b` OR g.`__trickle_g2` END AS boolean)))
WHERE __trickle_there;
