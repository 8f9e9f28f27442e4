-- How often each changed row is there now: Δ = f(n') - f(n), f(n) = 1 if n > 0.

-- title: distinct
-- changed: a
SELECT DISTINCT k, s FROM a;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS string) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, s, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, d.`__trickle_c2` AS `s`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS string) AS `__trickle_c2`
        FROM (
          SELECT k, s
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`, `__trickle_c2`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: distinct of a join
-- changed: a, b
SELECT DISTINCT a.s FROM a JOIN b ON a.k = b.k;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT a.s, __trickle_weight AS __trickle_weight
    FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
    UNION ALL
    SELECT a.s, __trickle_weight AS __trickle_weight
    FROM a_before AS a JOIN b_changes AS b ON a.k = b.k) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `s`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`
        FROM (
          SELECT a.s
          FROM a_after AS a JOIN b_after AS b ON a.k = b.k) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;
