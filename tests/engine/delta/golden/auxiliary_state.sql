-- Per group or row: counts and sums, kept beside the table. A change adds to them: γ(L + ΔL) = f(T + ΔT), without reading L.

-- title: count
-- changed: t
-- state: kept
SELECT g, count(*) AS n FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT g AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_2 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: sum, average and count
-- changed: t
-- state: kept
SELECT g, sum(v) AS s, avg(v) AS m, count(v) AS c FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(v) AS __trickle_c1, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s1, count(v) AS __trickle_c2
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, v AS __trickle_x1, v AS __trickle_x2, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s, __trickle_i2 AS m, __trickle_i3 AS c
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN IF(__trickle_c1 < 100000000, CAST(CAST(__trickle_s1 AS DECIMAL(20,2)) / CAST(__trickle_c1 AS DECIMAL(20,0)) AS double), raise_error('Kept lines: an average of too many rows')) END AS __trickle_i2, __trickle_c2 AS __trickle_i3
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c2) AS __trickle_c2
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_s1, __trickle_c2
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_s1, __trickle_c2
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_s1, __trickle_c2
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: average of integers by two keys
-- changed: t
-- state: kept
SELECT g, k, avg(i) AS m, sum(i) AS s FROM t GROUP BY k, g;
-- expect state, kept beside the table
SELECT k AS `__trickle_k0`, g AS `__trickle_k1`, count(*) AS __trickle_n, count(i) AS __trickle_c0, CAST(coalesce(sum(CAST((i) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST((i) AS DECIMAL(20,0)))), 0) AS DECIMAL(38,0)) AS __trickle_a0, count(i) AS __trickle_c1, CAST(coalesce(sum(CAST((i) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM t_after AS t
GROUP BY k, g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(CAST(__trickle_x0 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST(__trickle_x0 AS DECIMAL(20,0))) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_a0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(CAST(__trickle_x1 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM (
  SELECT k AS `__trickle_k0`, g AS `__trickle_k1`, i AS __trickle_x0, i AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS m, __trickle_i3 AS s
  FROM (
    SELECT `__trickle_k1` AS __trickle_i0, `__trickle_k0` AS __trickle_i1, CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i2, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS bigint) END AS __trickle_i3
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1, __trickle_s1
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`))
          UNION ALL
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1, __trickle_s1
          FROM gains_1))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_a0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k` AND `__trickle_k1` <=> __trickle_p.`g`));

-- title: no GROUP BY
-- changed: t
-- state: kept
SELECT sum(v) AS s, count(*) AS n, avg(i) AS m FROM t;
-- expect state, kept beside the table
SELECT count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(1) AS __trickle_c1, count(i) AS __trickle_c2, CAST(coalesce(sum(CAST((i) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s2, CAST(coalesce(sum(abs(CAST((i) AS DECIMAL(20,0)))), 0) AS DECIMAL(38,0)) AS __trickle_a2
FROM t_after AS t;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2, CAST(coalesce(sum(CAST(__trickle_x2 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s2, CAST(coalesce(sum(abs(CAST(__trickle_x2 AS DECIMAL(20,0))) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_a2
FROM (
  SELECT v AS __trickle_x0, 1 AS __trickle_x1, i AS __trickle_x2, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
HAVING count(*) > 0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS s, __trickle_i1 AS n, __trickle_i2 AS m
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0, __trickle_n AS __trickle_i1, CASE WHEN __trickle_c2 > 0 THEN IF(__trickle_a2 < 9007199254740992, CAST(__trickle_s2 AS DOUBLE) / CAST(__trickle_c2 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i2
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2, sum(__trickle_a2) AS __trickle_a2
      FROM (
        SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_c2, __trickle_s2, __trickle_a2
        FROM (
          SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_c2, __trickle_s2, __trickle_a2
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE true))
          UNION ALL
          SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, __trickle_c2, __trickle_s2, __trickle_a2
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0 OR __trickle_c2 < 0 OR __trickle_a2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE true));

-- title: keys are not shown
-- changed: t
-- state: kept
SELECT sum(v) AS s FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS s
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS s
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM state AS l
          WHERE EXISTS (
            SELECT 1
            FROM gains_1 AS d
            WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)));

-- title: HAVING
-- changed: t
-- state: kept
SELECT g, count(*) AS n FROM t GROUP BY g HAVING sum(v) > 0;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(v) AS __trickle_c1, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM (
  SELECT g AS `__trickle_k0`, 1 AS __trickle_x0, v AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS decimal(20,2)) END > 0)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: an expression over aggregates
-- changed: t
-- state: kept
SELECT g, round(sum(v) / count(*), 3) AS r FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS r
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, round(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END / __trickle_n, 3) AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: FILTER, and a key that is an expression
-- changed: t
-- state: kept
SELECT k + 1 AS k1, count(*) FILTER (WHERE g = 'a') AS a, sum(v) FILTER (WHERE i > 0) AS p FROM t GROUP BY k + 1;
-- expect state, kept beside the table
SELECT k + 1 AS `__trickle_k0`, count(*) AS __trickle_n, count(CASE WHEN g = 'a' THEN 1 END) AS __trickle_c0, count(CASE WHEN i > 0 THEN v END) AS __trickle_c1, CAST(coalesce(sum((CASE WHEN i > 0 THEN v END)), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM t_after AS t
GROUP BY k + 1;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM (
  SELECT k + 1 AS `__trickle_k0`, CASE WHEN g = 'a' THEN 1 END AS __trickle_x0, CASE WHEN i > 0 THEN v END AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS k1, __trickle_i1 AS a, __trickle_i2 AS p
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS decimal(20,2)) END AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_2 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`k1`));

-- title: a product over an inner join
-- changed: t, u
-- state: kept
SELECT t.g, sum(u.w * t.v) AS x FROM t JOIN u ON t.k = u.k GROUP BY t.g;
-- expect state, kept beside the table
SELECT t.g AS `__trickle_k0`, count(*) AS __trickle_n, count(u.w * t.v) AS __trickle_c0, CAST(coalesce(sum((u.w * t.v)), 0) AS DECIMAL(38,4)) AS __trickle_s0
FROM t_after AS t JOIN u_after AS u ON t.k = u.k
GROUP BY t.g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,4)) AS __trickle_s0
FROM (
  SELECT t.g AS `__trickle_k0`, u.w * t.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t JOIN u_after AS u ON t.k = u.k
  UNION ALL
  SELECT t.g AS `__trickle_k0`, u.w * t.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_before AS t JOIN u_changes AS u ON t.k = u.k)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS x
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(38,4)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: over a left join
-- changed: t, u
-- state: kept
SELECT t.g, count(u.w) AS n, sum(coalesce(u.w, 0)) AS x FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.g;
-- expect state, kept beside the table
SELECT t.g AS `__trickle_k0`, count(*) AS __trickle_n, count(u.w) AS __trickle_c0, count(coalesce(u.w, 0)) AS __trickle_c1, CAST(coalesce(sum((coalesce(u.w, 0))), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM t_after AS t LEFT JOIN u_after AS u ON t.k = u.k
GROUP BY t.g;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect keys_1, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_2 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_2 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1
FROM (
  SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, coalesce(u.w, 0) AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t LEFT JOIN u_after AS u ON t.k = u.k
  UNION ALL
  SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, coalesce(u.w, 0) AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_before AS t JOIN u_changes AS u ON t.k = u.k
  UNION ALL
  SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, coalesce(u.w, 0) AS __trickle_x1, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_w
  FROM t_before AS t LEFT JOIN (
    SELECT *
    FROM u_after
    WHERE false) AS u ON t.k = u.k, keys_1 AS __trickle_answers
  WHERE (__trickle_answers.`__trickle_k0` = t.k))
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n, __trickle_i2 AS x
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS decimal(20,2)) END AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_3 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM gains_3))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: count_if, and CASE over a count
-- changed: t
-- state: kept
SELECT g AS key, count_if(v > 0) AS n, CASE WHEN count(*) > 2 THEN 'x' ELSE 'y' END AS size FROM t GROUP BY 1;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(CASE WHEN v > 0 THEN 1 END) AS __trickle_c0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, CASE WHEN v > 0 THEN 1 END AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS key, __trickle_i1 AS n, __trickle_i2 AS size
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1, CASE WHEN __trickle_n > 2 THEN 'x' ELSE 'y' END AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`key`));

-- title: beside EXISTS
-- changed: t, u
-- state: kept
SELECT g, sum(v) AS s FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
WHERE (EXISTS (
  SELECT 1
  FROM u_after AS u
  WHERE u.k = t.k))
GROUP BY g;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect keys_1, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_2 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_2 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t
  WHERE (EXISTS (
    SELECT 1
    FROM (
      SELECT `__trickle_k0`
      FROM (
        SELECT *
        FROM (
          SELECT `__trickle_k0`, __trickle_n
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n
          FROM gains_2)
        WHERE `__trickle_k0` IN (
          SELECT `k`
          FROM t_changes))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE `__trickle_k0` = t.k))
  UNION ALL
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_w
  FROM t_before AS t, keys_1 AS __trickle_answers
  WHERE (__trickle_answers.`__trickle_k0` = t.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0)))
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_3 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_3))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MIN and MAX beside a count
-- changed: t
-- state: kept
SELECT g, min(v) AS lo, max(i) AS hi, count(*) AS n FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c2
FROM t_after AS t
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, min(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, min(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0, max(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, max(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2
  FROM (
    SELECT g AS `__trickle_k0`, v AS __trickle_x0, i AS __trickle_x1, 1 AS __trickle_x2, __trickle_weight AS __trickle_w
    FROM t_changes AS t)
  GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_2 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c2
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(10,2)) AS __trickle_e0, CAST(`hi` AS int) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 < d.__trickle_l0, false) OR coalesce(d.__trickle_g0 <= d.__trickle_l0, false))) OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 > d.__trickle_l1, false) OR coalesce(d.__trickle_g1 >= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS lo, __trickle_i2 AS hi, __trickle_i3 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, __trickle_e1 AS __trickle_i2, __trickle_n AS __trickle_i3
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_2 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c2
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c2
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n, __trickle_c2
            FROM gains_2))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(10,2)) AS __trickle_e0, CAST(`hi` AS int) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT g, min(v) AS lo, max(i) AS hi, count(*) AS n
  FROM t_after AS t
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (g)))
  GROUP BY g)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MAX alone
-- changed: t
-- state: kept
SELECT g, max(v) AS hi FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n
FROM t_after AS t
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, max(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, max(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0
FROM (
  SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
  FROM (
    SELECT g AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
    FROM t_changes AS t)
  GROUP BY `__trickle_k0`, __trickle_x0)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_2 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`hi` AS decimal(10,2)) AS __trickle_e0, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 > d.__trickle_l0, false) OR coalesce(d.__trickle_g0 >= d.__trickle_l0, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS hi
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0
      FROM gains_2 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n
            FROM gains_2))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`hi` AS decimal(10,2)) AS __trickle_e0, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT g, max(v) AS hi
  FROM t_after AS t
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (g)))
  GROUP BY g)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MIN and MAX without GROUP BY
-- changed: t
-- state: kept
SELECT min(i) AS lo, max(g) AS hi, sum(v) AS s FROM t;
-- expect state, kept beside the table
SELECT count(*) AS __trickle_n, count(v) AS __trickle_c2, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s2
FROM t_after AS t;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2, min(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, min(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0, max(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, max(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2, CAST(coalesce(sum(__trickle_x2 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s2
  FROM (
    SELECT i AS __trickle_x0, g AS __trickle_x1, v AS __trickle_x2, __trickle_weight AS __trickle_w
    FROM t_changes AS t)
  GROUP BY __trickle_x0, __trickle_x1)
HAVING count(*) > 0;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT 1 AS one
FROM gains_2 AS d JOIN (
  SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2
  FROM (
    SELECT __trickle_n, __trickle_c2, __trickle_s2
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE true)))) AS b ON true LEFT JOIN (
  SELECT CAST(`lo` AS int) AS __trickle_e0, CAST(`hi` AS string) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE true)) AS p ON true
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 < d.__trickle_l0, false) OR coalesce(d.__trickle_g0 <= d.__trickle_l0, false))) OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 > d.__trickle_l1, false) OR coalesce(d.__trickle_g1 >= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS lo, __trickle_i1 AS hi, __trickle_i2 AS s
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_e1 AS __trickle_i1, CASE WHEN __trickle_c2 > 0 THEN CAST(__trickle_s2 AS decimal(20,2)) END AS __trickle_i2
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_2 AS d JOIN (
        SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2
        FROM (
          SELECT __trickle_n, __trickle_c2, __trickle_s2
          FROM (
            SELECT __trickle_n, __trickle_c2, __trickle_s2
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE true))
            UNION ALL
            SELECT __trickle_n, __trickle_c2, __trickle_s2
            FROM gains_2))) AS a ON true LEFT JOIN (
        SELECT CAST(`lo` AS int) AS __trickle_e0, CAST(`hi` AS string) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE true)) AS p ON true
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE true))
    WHERE IF(__trickle_n < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT min(i) AS lo, max(g) AS hi, sum(v) AS s
  FROM t_after AS t
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE true));

-- title: MIN with FILTER and HAVING
-- changed: t
-- state: kept
SELECT g, min(i) FILTER (WHERE v > 0) AS lo, avg(v) AS m FROM t GROUP BY g HAVING count(*) > 1;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c1, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s1, count(1) AS __trickle_c2
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c2) AS __trickle_c2, min(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, min(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0
FROM (
  SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2
  FROM (
    SELECT g AS `__trickle_k0`, CASE WHEN v > 0 THEN i END AS __trickle_x0, v AS __trickle_x1, 1 AS __trickle_x2, __trickle_weight AS __trickle_w
    FROM t_changes AS t)
  GROUP BY `__trickle_k0`, __trickle_x0)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_1 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c2) AS __trickle_c2
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c2
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_1 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`lo` AS int) AS __trickle_e0, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 < d.__trickle_l0, false) OR coalesce(d.__trickle_g0 <= d.__trickle_l0, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS lo, __trickle_i2 AS m
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN IF(__trickle_c1 < 100000000, CAST(CAST(__trickle_s1 AS DECIMAL(20,2)) / CAST(__trickle_c1 AS DECIMAL(20,0)) AS double), raise_error('Kept lines: an average of too many rows')) END AS __trickle_i2
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0
      FROM gains_1 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c2) AS __trickle_c2
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c2
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c2
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c2
            FROM gains_1))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`lo` AS int) AS __trickle_e0, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_1
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0 OR __trickle_c1 < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT g, min(i) FILTER (WHERE v > 0) AS lo, avg(v) AS m
  FROM t_after AS t
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (g)))
  GROUP BY g
  HAVING count(*) > 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MAX of doubles and MIN of small integers
-- changed: t
-- state: kept
SELECT g, max(CAST(v AS DOUBLE)) AS hi, min(CAST(i AS TINYINT)) AS lo FROM t WHERE i = 7 OR i IS NULL GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n
FROM t_after AS t
WHERE (i = 7 OR i IS NULL)
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, max(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, max(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0, min(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, min(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n
  FROM (
    SELECT g AS `__trickle_k0`, CAST(v AS DOUBLE) AS __trickle_x0, CAST(i AS TINYINT) AS __trickle_x1, __trickle_weight AS __trickle_w
    FROM t_changes AS t
    WHERE (i = 7 OR i IS NULL))
  GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_2 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`hi` AS double) AS __trickle_e0, CAST(`lo` AS tinyint) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 > d.__trickle_l0, false) OR coalesce(d.__trickle_g0 >= d.__trickle_l0, false))) OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 < d.__trickle_l1, false) OR coalesce(d.__trickle_g1 <= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS hi, __trickle_i2 AS lo
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, __trickle_e1 AS __trickle_i2
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_2 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n
            FROM gains_2))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`hi` AS double) AS __trickle_e0, CAST(`lo` AS tinyint) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT g, max(CAST(v AS DOUBLE)) AS hi, min(CAST(i AS TINYINT)) AS lo
  FROM t_after AS t
  WHERE (i = 7 OR i IS NULL) AND (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (g)))
  GROUP BY g)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MIN and MAX over an inner join
-- changed: t, u
-- state: kept
SELECT t.g, min(u.w) AS lo, max(t.v) AS hi, count(u.w) AS n FROM t JOIN u ON t.k = u.k GROUP BY t.g;
-- expect state, kept beside the table
SELECT t.g AS `__trickle_k0`, count(*) AS __trickle_n, count(u.w) AS __trickle_c2
FROM t_after AS t JOIN u_after AS u ON t.k = u.k
GROUP BY t.g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, min(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, min(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0, max(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, max(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2
  FROM (
    SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, t.v AS __trickle_x1, u.w AS __trickle_x2, __trickle_weight AS __trickle_w
    FROM t_changes AS t JOIN u_after AS u ON t.k = u.k
    UNION ALL
    SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, t.v AS __trickle_x1, u.w AS __trickle_x2, __trickle_weight AS __trickle_w
    FROM t_before AS t JOIN u_changes AS u ON t.k = u.k)
  GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_2 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c2
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(15,2)) AS __trickle_e0, CAST(`hi` AS decimal(10,2)) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 < d.__trickle_l0, false) OR coalesce(d.__trickle_g0 <= d.__trickle_l0, false))) OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 > d.__trickle_l1, false) OR coalesce(d.__trickle_g1 >= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS lo, __trickle_i2 AS hi, __trickle_i3 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, __trickle_e1 AS __trickle_i2, __trickle_c2 AS __trickle_i3
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_2 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c2
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c2
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n, __trickle_c2
            FROM gains_2))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(15,2)) AS __trickle_e0, CAST(`hi` AS decimal(10,2)) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT t.g, min(u.w) AS lo, max(t.v) AS hi, count(u.w) AS n
  FROM t_after AS t JOIN u_after AS u ON t.k = u.k
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (t.g)))
  GROUP BY t.g)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: MIN and MAX over a left join with HAVING
-- changed: t, u
-- state: kept
SELECT t.g, min(u.w) AS lo, max(u.w) AS hi FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.g HAVING max(u.w) > 1;
-- expect state, kept beside the table
SELECT t.g AS `__trickle_k0`, count(*) AS __trickle_n
FROM t_after AS t LEFT JOIN u_after AS u ON t.k = u.k
GROUP BY t.g;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect keys_2, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_1 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_1 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, min(CASE WHEN __trickle_n > 0 THEN __trickle_x0 END) AS __trickle_g0, min(CASE WHEN __trickle_n < 0 THEN __trickle_x0 END) AS __trickle_l0, max(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, max(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n
  FROM (
    SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, u.w AS __trickle_x1, __trickle_weight AS __trickle_w
    FROM t_changes AS t LEFT JOIN u_after AS u ON t.k = u.k
    UNION ALL
    SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, u.w AS __trickle_x1, __trickle_weight AS __trickle_w
    FROM t_before AS t JOIN u_changes AS u ON t.k = u.k
    UNION ALL
    SELECT t.g AS `__trickle_k0`, u.w AS __trickle_x0, u.w AS __trickle_x1, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_w
    FROM t_before AS t LEFT JOIN (
      SELECT *
      FROM u_after
      WHERE false) AS u ON t.k = u.k, keys_2 AS __trickle_answers
    WHERE (__trickle_answers.`__trickle_k0` = t.k))
  GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_2 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_2 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(15,2)) AS __trickle_e0, CAST(`hi` AS decimal(15,2)) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l0 IS NOT NULL AND NOT (coalesce(p.__trickle_e0 < d.__trickle_l0, false) OR coalesce(d.__trickle_g0 <= d.__trickle_l0, false))) OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 > d.__trickle_l1, false) OR coalesce(d.__trickle_g1 >= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS lo, __trickle_i2 AS hi
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, __trickle_e1 AS __trickle_i2
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN least(p.__trickle_e0, d.__trickle_g0) END AS __trickle_e0, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_2 AS d JOIN (
        SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n
            FROM gains_2))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `g` AS `__trickle_k0`, CAST(`lo` AS decimal(15,2)) AS __trickle_e0, CAST(`hi` AS decimal(15,2)) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_2
          WHERE `__trickle_k0` <=> __trickle_p.`g`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_e1 > 1)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT t.g, min(u.w) AS lo, max(u.w) AS hi
  FROM t_after AS t LEFT JOIN u_after AS u ON t.k = u.k
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (t.g)))
  GROUP BY t.g
  HAVING max(u.w) > 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: DISTINCT
-- changed: t
-- state: kept
SELECT DISTINCT g, i FROM t;
-- expect state, kept beside the table
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`, CAST(`__trickle_c2` AS int) AS `__trickle_c2`
    FROM (
      SELECT g, i
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`, `__trickle_c2`)))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`, CAST(`__trickle_c2` AS int) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT g, i, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `g`, d.`__trickle_c2` AS `i`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) + (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: DISTINCT over a left join
-- changed: t, u
-- state: kept
SELECT DISTINCT t.g, u.w FROM t LEFT JOIN u ON t.k = u.k;
-- expect state, kept beside the table
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`
    FROM (
      SELECT t.g, u.w
      FROM t_after AS t LEFT JOIN u_after AS u ON t.k = u.k) AS __trickle_q(`__trickle_c1`, `__trickle_c2`)))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect keys_1, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_1 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_1 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS string) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT t.g, u.w, __trickle_weight AS __trickle_weight
    FROM t_changes AS t LEFT JOIN u_after AS u ON t.k = u.k
    UNION ALL
    SELECT t.g, u.w, __trickle_weight AS __trickle_weight
    FROM t_before AS t JOIN u_changes AS u ON t.k = u.k
    UNION ALL
    SELECT t.g, u.w, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
    FROM t_before AS t LEFT JOIN (
      SELECT *
      FROM u_after
      WHERE false) AS u ON t.k = u.k, keys_1 AS __trickle_answers
    WHERE (__trickle_answers.`__trickle_k0` = t.k)) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `g`, d.`__trickle_c2` AS `w`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) + (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: DISTINCT of groups
-- changed: t
-- state: kept
SELECT DISTINCT count(*) AS n, sum(v) AS s FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(20,2)) AS `__trickle_c2`
    FROM (
      SELECT count(*) AS n, sum(v) AS s
      FROM t_after AS t
      GROUP BY g) AS __trickle_q(`__trickle_c1`, `__trickle_c2`)))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect keys_2, computed once: the keys of the changed rows
SELECT DISTINCT g AS `__trickle_k0`
FROM t_changes AS t;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(20,2)) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT count(*) AS n, sum(v) AS s
      FROM t_after AS t
      WHERE (EXISTS (
        SELECT 1
        FROM keys_2
        WHERE `__trickle_k0` <=> (g)))
      GROUP BY g)
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT count(*) AS n, sum(v) AS s
      FROM t_before AS t
      WHERE (EXISTS (
        SELECT 1
        FROM keys_2
        WHERE `__trickle_k0` <=> (g)))
      GROUP BY g)) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `n`, d.`__trickle_c2` AS `s`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) + (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: UNION
-- changed: t, u
-- state: kept
SELECT k FROM t UNION SELECT k FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) + (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: INTERSECT of two columns
-- changed: t, u
-- state: kept
SELECT k, v FROM t INTERSECT SELECT k, w FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`
    FROM (
      SELECT k, v
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`, `__trickle_c2`))
  UNION ALL
  SELECT `__trickle_c1`, `__trickle_c2`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`
    FROM (
      SELECT k, w
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`, `__trickle_c2`)))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, v, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS decimal(15,2)) AS `__trickle_c2`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, w, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, d.`__trickle_c2` AS `v`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: INTERSECT ALL
-- changed: t, u
-- state: kept
SELECT k FROM t INTERSECT ALL SELECT k FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(least((coalesce(n.__trickle_l, 0L) + d.__trickle_l), (coalesce(n.__trickle_r, 0L) + d.__trickle_r)) - least(coalesce(n.__trickle_l, 0L), coalesce(n.__trickle_r, 0L)) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: EXCEPT
-- changed: t, u
-- state: kept
SELECT k FROM t EXCEPT SELECT k FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) + d.__trickle_r) <= 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) <= 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: EXCEPT ALL
-- changed: t, u
-- state: kept
SELECT k FROM t EXCEPT ALL SELECT k FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(greatest((coalesce(n.__trickle_l, 0L) + d.__trickle_l) - (coalesce(n.__trickle_r, 0L) + d.__trickle_r), 0L) - greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: EXCEPT ALL behind UNION ALL
-- changed: t, u
-- state: kept
(SELECT k FROM t UNION ALL SELECT k FROM u) EXCEPT ALL SELECT i FROM t;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM t_after AS t
      UNION ALL
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`
    FROM (
      SELECT i
      FROM t_after AS t) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
    FROM (
      SELECT k, __trickle_weight AS __trickle_weight
      FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight)
    UNION ALL
    SELECT CAST(`__trickle_c1` AS int) AS `k`, __trickle_weight
    FROM (
      SELECT k, __trickle_weight AS __trickle_weight
      FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight)) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT i, __trickle_weight AS __trickle_weight
    FROM t_changes AS t) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(greatest((coalesce(n.__trickle_l, 0L) + d.__trickle_l) - (coalesce(n.__trickle_r, 0L) + d.__trickle_r), 0L) - greatest(coalesce(n.__trickle_l, 0L) - coalesce(n.__trickle_r, 0L), 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: INTERSECT of a CTE with groups
-- changed: t, u
-- state: kept
WITH x AS (SELECT k, count(*) AS n FROM t GROUP BY k) SELECT n FROM x INTERSECT SELECT k FROM u;
-- expect state, kept beside the table
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`
    FROM (
      SELECT n
      FROM x_after AS x) AS __trickle_q(`__trickle_c1`))
  UNION ALL
  SELECT `__trickle_c1`, 0L AS __trickle_l, 1L AS __trickle_r
  FROM (
    SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`
    FROM (
      SELECT k
      FROM u_after AS u) AS __trickle_q(`__trickle_c1`)))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0
            FROM (
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0
              FROM gains_1))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `n`, __trickle_weight))
GROUP BY `k`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `n`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `n`);
-- expect changed_rows_2, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT n, __trickle_weight AS __trickle_weight
    FROM part_changes_1 AS x) AS __trickle_q(`__trickle_c1`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS bigint) AS `__trickle_c1`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT k, __trickle_weight AS __trickle_weight
    FROM u_changes AS u) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `n`, IF((coalesce(n.__trickle_l, 0L) + d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) + d.__trickle_r) < 0, CAST(raise_error('Kept lines: the counts of a row do not add up') AS BIGINT), CAST(if((coalesce(n.__trickle_l, 0L) + d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) + d.__trickle_r) > 0, 1L, 0L) - if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_2 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, __trickle_l, __trickle_r
      FROM state) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_2 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: a key inside another key
-- changed: t
-- state: kept
SELECT k, k + 1 AS k1, count(*) AS n FROM t GROUP BY k, k + 1;
-- expect state, kept beside the table
SELECT k AS `__trickle_k0`, k + 1 AS `__trickle_k1`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY k, k + 1;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, k + 1 AS `__trickle_k1`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS k1, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_2 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`))
          UNION ALL
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
          FROM gains_2))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`k` AND `__trickle_k1` <=> __trickle_p.`k1`));

-- title: a constant beside a key
-- changed: t
-- state: kept
SELECT upper(g) AS u, 2 AS two, count(*) AS n FROM t GROUP BY upper(g);
-- expect state, kept beside the table
SELECT upper(g) AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY upper(g);
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT upper(g) AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS u, __trickle_i1 AS two, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, 2 AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`u`));

-- title: CASE, IN and arithmetic over aggregates
-- changed: t
-- state: kept
SELECT g, CASE WHEN count(*) IN (1, 2) THEN 'few' ELSE concat('n', CAST(count(*) AS STRING)) END AS c, -2 * sum(i) + 1 AS s FROM t GROUP BY g HAVING NOT (count(*) % 3 = 0 OR coalesce(sum(v), 0) / 2 < -10);
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(i) AS __trickle_c1, CAST(coalesce(sum(CAST((i) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1, count(v) AS __trickle_c2, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s2
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(CAST(__trickle_x1 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2, CAST(coalesce(sum(__trickle_x2 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s2
FROM (
  SELECT g AS `__trickle_k0`, 1 AS __trickle_x0, i AS __trickle_x1, v AS __trickle_x2, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS c, __trickle_i2 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_n IN (1, 2) THEN 'few' ELSE concat('n', CAST(__trickle_n AS STRING)) END AS __trickle_i1, -2 * CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS bigint) END + 1 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1, __trickle_c2, __trickle_s2
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1, __trickle_c2, __trickle_s2
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1, __trickle_c2, __trickle_s2
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0 OR __trickle_c2 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (NOT (__trickle_n % 3 = 0 OR coalesce(CASE WHEN __trickle_c2 > 0 THEN CAST(__trickle_s2 AS decimal(20,2)) END, 0) / 2 < -10))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: sums beyond BIGINT
-- changed: t
-- state: kept
SELECT CAST(sum(b) AS DECIMAL(30, 0)) AS s, g FROM (SELECT g, CAST(b AS DECIMAL(20, 0)) AS b FROM t) GROUP BY g;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(b) AS __trickle_c0, CAST(coalesce(sum((b)), 0) AS DECIMAL(38,0)) AS __trickle_s0
FROM (
  SELECT g, CAST(b AS DECIMAL(20, 0)) AS b
  FROM t_after AS t)
GROUP BY g;
-- expect derived_changes_2, computed once: the change of a derived table
SELECT g, CAST(b AS DECIMAL(20, 0)) AS b, __trickle_weight AS __trickle_weight
FROM t_changes AS t;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0
FROM (
  SELECT g AS `__trickle_k0`, b AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM derived_changes_2)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS s, __trickle_i1 AS `__trickle_i1`
  FROM (
    SELECT CAST(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(38,0)) END AS DECIMAL(30, 0)) AS __trickle_i0, `__trickle_k0` AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: a star inside an aggregate keeps no state
-- changed: a
-- state: kept
-- engine: spark
SELECT k, max(hash(*)) AS h, count(*) AS n FROM a GROUP BY k;
-- expect no state

-- title: count of distinct values
-- changed: a
-- state: kept
SELECT s, count(DISTINCT k) AS n FROM a GROUP BY s;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS `__trickle_k0`, k AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS `__trickle_k0`, k AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: counts of several distinct values beside sums, minima and FILTER
-- changed: t
-- state: kept
SELECT g, count(DISTINCT i) AS n, sum(v) AS s, min(k) AS low, max(k) - min(k) AS spread, avg(v) AS m,
  count(DISTINCT k) FILTER (WHERE i > 0) AS f, count(*) AS c
FROM t GROUP BY g HAVING count(DISTINCT k) > 1 OR sum(v) IS NULL;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1, sum(CASE WHEN __trickle_x4 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c4, CAST(coalesce(sum(__trickle_x4 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s4, sum(CASE WHEN __trickle_x6 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c6
FROM (
  SELECT g AS `__trickle_k0`, i AS __trickle_x0, v AS __trickle_x1, k AS __trickle_x2, k AS __trickle_x3, v AS __trickle_x4, CASE WHEN i > 0 THEN k END AS __trickle_x5, 1 AS __trickle_x6, k AS __trickle_x7, CAST(1 AS BIGINT) AS __trickle_w
  FROM t_after AS t)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(__trickle_x1 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s1, sum(CASE WHEN __trickle_x4 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c4, CAST(coalesce(sum(__trickle_x4 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s4, sum(CASE WHEN __trickle_x6 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c6
FROM (
  SELECT g AS `__trickle_k0`, i AS __trickle_x0, v AS __trickle_x1, k AS __trickle_x2, k AS __trickle_x3, v AS __trickle_x4, CASE WHEN i > 0 THEN k END AS __trickle_x5, 1 AS __trickle_x6, k AS __trickle_x7, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n, __trickle_i2 AS s, __trickle_i3 AS low, __trickle_i4 AS spread, __trickle_i5 AS m, __trickle_i6 AS f, __trickle_i7 AS c
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS decimal(20,2)) END AS __trickle_i2, __trickle_e2 AS __trickle_i3, __trickle_e3 - __trickle_e2 AS __trickle_i4, CASE WHEN __trickle_c4 > 0 THEN IF(__trickle_c4 < 100000000, CAST(CAST(__trickle_s4 AS DECIMAL(20,2)) / CAST(__trickle_c4 AS DECIMAL(20,0)) AS double), raise_error('Kept lines: an average of too many rows')) END AS __trickle_i5, __trickle_e5 AS __trickle_i6, __trickle_n AS __trickle_i7
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c1), 0) AS __trickle_c1, coalesce(sum(__trickle_s1), 0) AS __trickle_s1, coalesce(sum(__trickle_c4), 0) AS __trickle_c4, coalesce(sum(__trickle_s4), 0) AS __trickle_s4, coalesce(sum(__trickle_c6), 0) AS __trickle_c6, count(DISTINCT __trickle_x0) AS __trickle_e0, min(__trickle_x2) AS __trickle_e2, max(__trickle_x3) AS __trickle_e3, count(DISTINCT __trickle_x5) AS __trickle_e5, count(DISTINCT __trickle_x7) AS __trickle_e7
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, sum(__trickle_c4) AS __trickle_c4, sum(__trickle_s4) AS __trickle_s4, sum(__trickle_c6) AS __trickle_c6
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c4, __trickle_s4, __trickle_c6
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c4, __trickle_s4, __trickle_c6
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7, __trickle_n, __trickle_c1, __trickle_s1, __trickle_c4, __trickle_s4, __trickle_c6
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x2, __trickle_x3, __trickle_x5, __trickle_x7
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0 OR __trickle_c1 < 0 OR __trickle_c4 < 0 OR __trickle_c6 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_e7 > 1 OR CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS decimal(20,2)) END IS NULL)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: distinct values of all rows
-- changed: a, b
-- state: kept
SELECT count(DISTINCT a.v) AS n, count(DISTINCT b.w) AS m, sum(a.v) AS s, count(*) AS c FROM a JOIN b ON a.k = b.k;
-- expect state, kept beside the table
SELECT __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2, CAST(coalesce(sum(CAST(__trickle_x2 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s2, sum(CASE WHEN __trickle_x3 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c3
FROM (
  SELECT a.v AS __trickle_x0, b.w AS __trickle_x1, a.v AS __trickle_x2, 1 AS __trickle_x3, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k)
GROUP BY __trickle_x0, __trickle_x1;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT __trickle_x0, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x2 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c2, CAST(coalesce(sum(CAST(__trickle_x2 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s2, sum(CASE WHEN __trickle_x3 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c3
FROM (
  SELECT a.v AS __trickle_x0, b.w AS __trickle_x1, a.v AS __trickle_x2, 1 AS __trickle_x3, __trickle_weight AS __trickle_w
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  UNION ALL
  SELECT a.v AS __trickle_x0, b.w AS __trickle_x1, a.v AS __trickle_x2, 1 AS __trickle_x3, __trickle_weight AS __trickle_w
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k)
GROUP BY __trickle_x0, __trickle_x1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS m, __trickle_i2 AS s, __trickle_i3 AS c
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_e1 AS __trickle_i1, CASE WHEN __trickle_c2 > 0 THEN CAST(__trickle_s2 AS bigint) END AS __trickle_i2, __trickle_n AS __trickle_i3
    FROM (
      SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c2), 0) AS __trickle_c2, coalesce(sum(__trickle_s2), 0) AS __trickle_s2, coalesce(sum(__trickle_c3), 0) AS __trickle_c3, count(DISTINCT __trickle_x0) AS __trickle_e0, count(DISTINCT __trickle_x1) AS __trickle_e1
      FROM (
        SELECT __trickle_x0, __trickle_x1, sum(__trickle_n) AS __trickle_n, sum(__trickle_c2) AS __trickle_c2, sum(__trickle_s2) AS __trickle_s2, sum(__trickle_c3) AS __trickle_c3
        FROM (
          SELECT __trickle_x0, __trickle_x1, __trickle_n, __trickle_c2, __trickle_s2, __trickle_c3
          FROM (
            SELECT __trickle_x0, __trickle_x1, __trickle_n, __trickle_c2, __trickle_s2, __trickle_c3
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))
            UNION ALL
            SELECT __trickle_x0, __trickle_x1, __trickle_n, __trickle_c2, __trickle_s2, __trickle_c3
            FROM gains_1))
        GROUP BY __trickle_x0, __trickle_x1
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0 OR __trickle_c2 < 0 OR __trickle_c3 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE true));

-- title: distinct values of expressions and literals, keys that are not shown
-- changed: a
-- state: kept
SELECT count(DISTINCT k % 2) AS n, count(DISTINCT 1) AS one, count(DISTINCT upper(s)) AS u FROM a GROUP BY v;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT v AS `__trickle_k0`, k % 2 AS __trickle_x0, 1 AS __trickle_x1, upper(s) AS __trickle_x2, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT v AS `__trickle_k0`, k % 2 AS __trickle_x0, 1 AS __trickle_x1, upper(s) AS __trickle_x2, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS one, __trickle_i2 AS u
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_e1 AS __trickle_i1, __trickle_e2 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0, count(DISTINCT __trickle_x1) AS __trickle_e1, count(DISTINCT __trickle_x2) AS __trickle_e2
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS one, __trickle_i2 AS u
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_e1 AS __trickle_i1, __trickle_e2 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0, count(DISTINCT __trickle_x1) AS __trickle_e1, count(DISTINCT __trickle_x2) AS __trickle_e2
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_n
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
        GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)));

-- title: distinct doubles
-- changed: f
-- state: kept
SELECT k, count(DISTINCT d) AS n FROM f GROUP BY k;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, d AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM f_after AS f)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, d AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM f_changes AS f)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: minima and maxima inside expressions
-- changed: t
-- state: kept
SELECT k, max(v) - min(v) AS spread, coalesce(max(g), 'none') AS g FROM t GROUP BY k HAVING min(i) < 7 OR min(i) IS NULL;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, v AS __trickle_x1, g AS __trickle_x2, i AS __trickle_x3, CAST(1 AS BIGINT) AS __trickle_w
  FROM t_after AS t)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, v AS __trickle_x1, g AS __trickle_x2, i AS __trickle_x3, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS spread, __trickle_i2 AS g
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 - __trickle_e1 AS __trickle_i1, coalesce(__trickle_e2, 'none') AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, max(__trickle_x0) AS __trickle_e0, min(__trickle_x1) AS __trickle_e1, max(__trickle_x2) AS __trickle_e2, min(__trickle_x3) AS __trickle_e3
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0, __trickle_x1, __trickle_x2, __trickle_x3
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_e3 < 7 OR __trickle_e3 IS NULL)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: distinct values of several columns at once have no state
-- changed: a
-- state: kept
SELECT s, count(DISTINCT k, v) AS n FROM a GROUP BY s;
-- expect no state

-- title: sums of distinct values have no state
-- changed: a
-- state: kept
SELECT s, sum(DISTINCT k) AS n FROM a GROUP BY s;
-- expect no state

-- title: distinct values chosen by a subquery
-- changed: a, b
-- state: kept
SELECT a.s, count(DISTINCT a.v) AS n FROM a WHERE a.k NOT IN (SELECT k FROM b WHERE w > 1) GROUP BY a.s;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT a.s AS `__trickle_k0`, a.v AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a
  WHERE (a.k NOT IN (
    SELECT k
    FROM b_after AS b
    WHERE w > 1)))
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (w > 1)
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (w > 1))
GROUP BY `__trickle_k0`;
-- expect keys_2, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_1 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_1 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT a.s AS `__trickle_k0`, a.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_changes AS a
  WHERE (a.k NOT IN (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0))
  UNION ALL
  SELECT a.s AS `__trickle_k0`, a.v AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_before AS a
  WHERE (a.k NOT IN (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)) AND (((a.k) IN (
    SELECT `__trickle_k0`
    FROM keys_2) OR EXISTS (
    SELECT 1
    FROM (
      SELECT `__trickle_k0`
      FROM keys_2) AS __trickle_n(__trickle_v)
    WHERE __trickle_v IS NULL) OR (a.k) IS NULL))
  UNION ALL
  SELECT a.s AS `__trickle_k0`, a.v AS __trickle_x0, CAST(-1 AS BIGINT) AS __trickle_w
  FROM a_before AS a
  WHERE (a.k NOT IN (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)) AND (((a.k) IN (
    SELECT `__trickle_k0`
    FROM keys_2) OR EXISTS (
    SELECT 1
    FROM (
      SELECT `__trickle_k0`
      FROM keys_2) AS __trickle_n(__trickle_v)
    WHERE __trickle_v IS NULL) OR (a.k) IS NULL)))
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_e0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_n
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM gains_2))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_2
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: MIN where keys are not shown
-- changed: t
-- state: kept
SELECT min(v) AS lo, count(*) AS n FROM t GROUP BY g;
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, CAST(1 AS BIGINT) AS __trickle_w
  FROM t_after AS t)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS lo, __trickle_i1 AS n
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c1), 0) AS __trickle_c1, min(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_n, __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n, __trickle_c1
            FROM (
              SELECT *
              FROM state AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n, __trickle_c1
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS lo, __trickle_i1 AS n
  FROM (
    SELECT __trickle_e0 AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c1), 0) AS __trickle_c1, min(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_n) AS __trickle_n, sum(__trickle_c1) AS __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_x0, __trickle_n, __trickle_c1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)));

-- title: HAVING against a total
-- changed: t
-- state: kept
SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g HAVING sum(v) > (SELECT sum(v) * 0.3 FROM t) AND count(*) > 0;
-- expect state, kept beside the table
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect keys_1, computed once: the keys of groups that HAVING may judge otherwise
SELECT DISTINCT *
FROM (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM state
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM gains_1))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE coalesce(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > (
    SELECT sum(v) * 0.3
    FROM t_after AS t) AND __trickle_n > 0, false) <> coalesce(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > (
    SELECT sum(v) * 0.3
    FROM t_before AS t) AND __trickle_n > 0, false)
  UNION ALL
  SELECT `__trickle_k0`
  FROM gains_1);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT *
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
            FROM state
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
            FROM gains_1) AS l
          WHERE EXISTS (
            SELECT 1
            FROM keys_1 AS d
            WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > (
      SELECT sum(v) * 0.3
      FROM t_after AS t) AND __trickle_n > 0)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`g`));

-- title: HAVING against another table, which alone changed
-- changed: b
-- state: kept
SELECT s, count(*) AS n FROM a GROUP BY s HAVING count(*) * 5 > (SELECT count(*) FROM b) OR count(v) = (SELECT max(k) FROM b);
-- expect state, kept beside the table
SELECT s AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(v) AS __trickle_c1
FROM a_after AS a
GROUP BY s;
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b;
-- expect state_2, kept of a part
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM b_after AS b)
GROUP BY __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `count_star()`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
GROUP BY __trickle_x0;
-- expect part_changes_2, computed once: the change of a part
SELECT `max(k)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_e0 AS __trickle_i0
        FROM (
          SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, max(__trickle_x0) AS __trickle_e0
          FROM (
            SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT __trickle_x0, __trickle_n
              FROM (
                SELECT __trickle_x0, __trickle_n
                FROM (
                  SELECT *
                  FROM `state_2` AS l
                  WHERE EXISTS (
                    SELECT 1
                    FROM gains_2 AS d
                    WHERE true))
                UNION ALL
                SELECT __trickle_x0, __trickle_n
                FROM gains_2))
            GROUP BY __trickle_x0
            HAVING sum(__trickle_n) <> 0))
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_e0 AS __trickle_i0
        FROM (
          SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, max(__trickle_x0) AS __trickle_e0
          FROM (
            SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT __trickle_x0, __trickle_n
              FROM (
                SELECT *
                FROM `state_2` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE true)))
            GROUP BY __trickle_x0
            HAVING sum(__trickle_n) <> 0))
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`max(k)`, __trickle_weight))
GROUP BY `max(k)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_2, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_e0 AS __trickle_i0
    FROM (
      SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, max(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT __trickle_x0, __trickle_n
          FROM (
            SELECT __trickle_x0, __trickle_n
            FROM `state_2`
            UNION ALL
            SELECT __trickle_x0, __trickle_n
            FROM gains_2))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(k)`);
-- expect part_before_2, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_e0 AS __trickle_i0
    FROM (
      SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, max(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT __trickle_x0, __trickle_n
          FROM (
            SELECT *
            FROM `state_2`))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(k)`);
-- expect keys_1, computed once: the keys of groups that HAVING may judge otherwise
SELECT `__trickle_k0`
FROM (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
      FROM state))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)
WHERE coalesce(__trickle_n * 5 > (
  SELECT *
  FROM part_after_1) OR __trickle_c1 = (
  SELECT *
  FROM part_after_2), false) <> coalesce(__trickle_n * 5 > (
  SELECT *
  FROM part_before_1) OR __trickle_c1 = (
  SELECT *
  FROM part_before_2), false);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
        FROM (
          SELECT *
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1
            FROM state) AS l
          WHERE EXISTS (
            SELECT 1
            FROM keys_1 AS d
            WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 5 > (
      SELECT *
      FROM part_after_1) OR __trickle_c1 = (
      SELECT *
      FROM part_after_2))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: HAVING against a total, keys that are not shown
-- changed: a, b
-- state: kept
SELECT count(*) AS n, max(k) AS m FROM a GROUP BY s HAVING count(*) * 4 > (SELECT count(*) FROM b);
-- expect state, kept beside the table
SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT s AS `__trickle_k0`, 1 AS __trickle_x0, k AS __trickle_x1, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a)
GROUP BY `__trickle_k0`, __trickle_x1;
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `count_star()`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT s AS `__trickle_k0`, 1 AS __trickle_x0, k AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
GROUP BY `__trickle_k0`, __trickle_x1;
-- expect keys_1, computed once: the keys of groups that HAVING may judge otherwise
SELECT DISTINCT *
FROM (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, max(__trickle_x1) AS __trickle_e1
    FROM (
      SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
          FROM state
          UNION ALL
          SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
          FROM gains_2))
      GROUP BY `__trickle_k0`, __trickle_x1
      HAVING sum(__trickle_n) <> 0)
    GROUP BY `__trickle_k0`)
  WHERE coalesce(__trickle_n * 4 > (
    SELECT *
    FROM part_after_1), false) <> coalesce(__trickle_n * 4 > (
    SELECT *
    FROM part_before_1), false)
  UNION ALL
  SELECT `__trickle_k0`
  FROM gains_2);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS m
  FROM (
    SELECT __trickle_n AS __trickle_i0, __trickle_e1 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, max(__trickle_x1) AS __trickle_e1
      FROM (
        SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
          FROM (
            SELECT *
            FROM (
              SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
              FROM state
              UNION ALL
              SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
              FROM gains_2) AS l
            WHERE EXISTS (
              SELECT 1
              FROM keys_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
        GROUP BY `__trickle_k0`, __trickle_x1
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 4 > (
      SELECT *
      FROM part_after_1))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS n, __trickle_i1 AS m
  FROM (
    SELECT __trickle_n AS __trickle_i0, __trickle_e1 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, max(__trickle_x1) AS __trickle_e1
      FROM (
        SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_x1, __trickle_n, __trickle_c0
          FROM (
            SELECT *
            FROM (
              SELECT *
              FROM state) AS l
            WHERE EXISTS (
              SELECT 1
              FROM keys_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
        GROUP BY `__trickle_k0`, __trickle_x1
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 4 > (
      SELECT *
      FROM part_before_1))));

-- title: a share of a total
-- changed: t
-- state: kept
SELECT k, count(*) AS n, count(*) * 100 / (SELECT count(*) FROM t) > 30 AS much FROM t GROUP BY k;
-- expect state, kept beside the table
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY k;
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `count_star()`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n, __trickle_i2 AS much
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1, __trickle_n * 100 / (
      SELECT *
      FROM part_after_1) > 30 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM state
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: all rows against a total
-- changed: a, b
-- state: kept
SELECT sum(k) AS s, (SELECT count(*) FROM b) AS n FROM a HAVING count(*) > (SELECT count(DISTINCT k) FROM b);
-- expect state, kept beside the table
SELECT count(*) AS __trickle_n, count(k) AS __trickle_c0, CAST(coalesce(sum(CAST((k) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, count(1) AS __trickle_c1
FROM a_after AS a;
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b;
-- expect state_2, kept of a part
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM b_after AS b)
GROUP BY __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `count_star()`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
GROUP BY __trickle_x0;
-- expect part_changes_2, computed once: the change of a part
SELECT `count(DISTINCT k)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_e0 AS __trickle_i0
        FROM (
          SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
          FROM (
            SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT __trickle_x0, __trickle_n
              FROM (
                SELECT __trickle_x0, __trickle_n
                FROM (
                  SELECT *
                  FROM `state_2` AS l
                  WHERE EXISTS (
                    SELECT 1
                    FROM gains_2 AS d
                    WHERE true))
                UNION ALL
                SELECT __trickle_x0, __trickle_n
                FROM gains_2))
            GROUP BY __trickle_x0
            HAVING sum(__trickle_n) <> 0))
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_e0 AS __trickle_i0
        FROM (
          SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
          FROM (
            SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT __trickle_x0, __trickle_n
              FROM (
                SELECT *
                FROM `state_2` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE true)))
            GROUP BY __trickle_x0
            HAVING sum(__trickle_n) <> 0))
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count(DISTINCT k)`, __trickle_weight))
GROUP BY `count(DISTINCT k)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_2, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_e0 AS __trickle_i0
    FROM (
      SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
      FROM (
        SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT __trickle_x0, __trickle_n
          FROM (
            SELECT __trickle_x0, __trickle_n
            FROM `state_2`
            UNION ALL
            SELECT __trickle_x0, __trickle_n
            FROM gains_2))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count(DISTINCT k)`);
-- expect part_before_2, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_e0 AS __trickle_i0
    FROM (
      SELECT coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, count(DISTINCT __trickle_x0) AS __trickle_e0
      FROM (
        SELECT __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT __trickle_x0, __trickle_n
          FROM (
            SELECT *
            FROM `state_2`))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count(DISTINCT k)`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(CAST(__trickle_x0 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT k AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
HAVING count(*) > 0;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS s, __trickle_i1 AS n
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS bigint) END AS __trickle_i0, (
      SELECT *
      FROM part_after_1) AS __trickle_i1
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM state
          UNION ALL
          SELECT __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM gains_3)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > (
      SELECT *
      FROM part_after_2))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: HAVING against a correlated subquery has no state
-- changed: a, b
-- state: kept
SELECT k, count(*) AS n FROM a GROUP BY k HAVING count(*) > (SELECT count(*) FROM b WHERE b.k = a.k);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT b.k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, __trickle_n AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0
    FROM (
      SELECT `__trickle_k0`, __trickle_n AS __trickle_before, __trickle_n_after, __trickle_c0_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_1` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n
  FROM a_after AS a
  GROUP BY k
  HAVING count(*) > (
    SELECT __trickle_n
    FROM (
      SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM gains_1)
      WHERE `__trickle_k0` = a.k)))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: sums of what a changed subquery chooses
-- changed: a, b
-- state: kept
SELECT s, sum(CASE WHEN v > (SELECT count(*) FROM b) THEN 1 ELSE 0 END) AS n FROM a GROUP BY s;
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `count_star()`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT __trickle_n, __trickle_c0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT __trickle_n AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT __trickle_n AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, sum(CASE WHEN v > (
    SELECT *
    FROM part_after_1) THEN 1 ELSE 0 END) AS n
  FROM a_after AS a
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);
