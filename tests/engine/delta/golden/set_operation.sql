-- Changed rows are counted on both sides: Δ = f(l', r') - f(l, r).

-- title: union all
-- changed: a, b
SELECT k FROM a UNION ALL SELECT k FROM b;
-- expect change
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight);

-- title: union
-- changed: a, b
SELECT k FROM a UNION SELECT v FROM a UNION SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT v, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT *
    FROM (
      SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
      FROM changed_rows_1 AS d LEFT JOIN (
        SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
        FROM (
          SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT k
              FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
          UNION ALL
          SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT v
              FROM a_after AS a) AS __trickle_q(`__trickle_c1`))) AS n
        WHERE EXISTS (
          SELECT 1
          FROM changed_rows_1 AS d
          WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
        GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
    WHERE __trickle_weight <> 0) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a
          UNION
          SELECT v
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: union of types
-- changed: a, b
SELECT k FROM a UNION SELECT w FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS decimal(12,2)) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS decimal(12,2)) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT w, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS decimal(12,2)) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS decimal(12,2)) AS `__trickle_c1`
        FROM (
          SELECT w
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: intersect
-- changed: a, b
SELECT k FROM a INTERSECT SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: intersect all
-- changed: a, b
SELECT k FROM a INTERSECT ALL SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(least(coalesce(n.__trickle_l, 0L), coalesce(n.__trickle_r, 0L)) - least((coalesce(n.__trickle_l, 0L) - d.__trickle_l), (coalesce(n.__trickle_r, 0L) - d.__trickle_r)) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: except
-- changed: a, b
SELECT k FROM a EXCEPT SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) <= 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) <= 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: except all
-- changed: a, b
SELECT k FROM a EXCEPT ALL SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) - greatest((coalesce(n.__trickle_l, 0L) - d.__trickle_l) - (coalesce(n.__trickle_r, 0L) - d.__trickle_r), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: minus
-- changed: a, b
SELECT k FROM a MINUS SELECT k FROM b WHERE w > 0;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b
    WHERE (w > 0)) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) <= 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) <= 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b
          WHERE w > 0) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: sets in brackets
-- changed: a, b
SELECT k FROM a EXCEPT ALL (SELECT k FROM b UNION SELECT v FROM a);
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT v, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT *
    FROM (
      SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
      FROM changed_rows_1 AS d LEFT JOIN (
        SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
        FROM (
          SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT k
              FROM b_after AS b) AS __trickle_q(`__trickle_c1`))
          UNION ALL
          SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT v
              FROM a_after AS a) AS __trickle_q(`__trickle_c1`))) AS n
        WHERE EXISTS (
          SELECT 1
          FROM changed_rows_1 AS d
          WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
        GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
    WHERE __trickle_weight <> 0) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) - greatest((coalesce(n.__trickle_l, 0L) - d.__trickle_l) - (coalesce(n.__trickle_r, 0L) - d.__trickle_r), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b
          UNION
          SELECT v
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: set precedence
-- changed: a, b
SELECT k FROM a UNION ALL SELECT v FROM a INTERSECT SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT v, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT d.`__trickle_c1` AS `v`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
    FROM changed_rows_1 AS d LEFT JOIN (
      SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
      FROM (
        SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
        FROM (
          SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
          FROM (
            SELECT v
            FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
        UNION ALL
        SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
        FROM (
          SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
          FROM (
            SELECT k
            FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
      WHERE EXISTS (
        SELECT 1
        FROM changed_rows_1 AS d
        WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
      GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
  WHERE __trickle_weight <> 0) AS __trickle_q(`__trickle_c1`, __trickle_weight);

-- title: brackets in sets
-- changed: a, b
(SELECT k FROM a) EXCEPT (SELECT k FROM b) UNION (SELECT v FROM a);
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT *
    FROM (
      SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) <= 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) <= 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
      FROM changed_rows_1 AS d LEFT JOIN (
        SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
        FROM (
          SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT k
              FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
          UNION ALL
          SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
          FROM (
            SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
            FROM (
              SELECT k
              FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
        WHERE EXISTS (
          SELECT 1
          FROM changed_rows_1 AS d
          WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
        GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
    WHERE __trickle_weight <> 0) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT v, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM ((
          SELECT k
          FROM a_after AS a) EXCEPT (
          SELECT k
          FROM b_after AS b)) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT v
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: brackets and limit
-- changed: a, b
(SELECT k FROM a) UNION ALL (SELECT k FROM b) ORDER BY k LIMIT 3;
-- expect row_changes_1, computed once: the change of the rows below
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `k`) AS __trickle_rank
    FROM (
      SELECT `k`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_1) AS __trickle_d(`k`, __trickle_weight))
      GROUP BY `k`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM ((
  SELECT k
  FROM a_after AS a) UNION ALL (
  SELECT k
  FROM b_after AS b) ORDER BY k LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: except all, only a changed
-- changed: a
SELECT k FROM a EXCEPT ALL SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) - greatest((coalesce(n.__trickle_l, 0L) - d.__trickle_l) - (coalesce(n.__trickle_r, 0L) - d.__trickle_r), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: except all, only b changed
-- changed: b
SELECT k FROM a EXCEPT ALL SELECT k FROM b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) - greatest((coalesce(n.__trickle_l, 0L) - d.__trickle_l) - (coalesce(n.__trickle_r, 0L) - d.__trickle_r), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM a_after AS a) AS __trickle_q(`__trickle_c1`))
      UNION ALL
      SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
        FROM (
          SELECT k
          FROM b_after AS b) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: union all with values
-- changed: a
SELECT k FROM a UNION ALL VALUES (1), (2);
-- expect change
SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
FROM (
  SELECT k, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, __trickle_weight);

-- title: a column called window behind a set operation
-- changed: a
-- engine: spark
SELECT window, count(*) AS n FROM (SELECT k AS window FROM a UNION ALL SELECT v FROM a) GROUP BY window;
