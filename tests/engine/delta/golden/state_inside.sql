-- Auxiliary state of parts of a query: what stands around a GROUP BY reads it before and after from its state.

-- title: group of groups
-- changed: t
-- state: kept
SELECT n, count(*) AS c FROM (SELECT g, count(*) AS n FROM t GROUP BY g) AS q GROUP BY n;
-- expect state, kept beside the table
SELECT n AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT g, count(*) AS n
  FROM t_after AS t
  GROUP BY g) AS q
GROUP BY n;
-- expect state_1, kept of a part
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT g AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
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
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `n`, __trickle_weight))
GROUP BY `g`, `n`
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
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `n`);
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
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `n`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT n AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM part_changes_1 AS q)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS c
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
              FROM gains_3 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
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
    WHERE `__trickle_k0` <=> __trickle_p.`n`));

-- title: group of groups over a left join, columns named by the alias
-- changed: a, b
-- state: kept
SELECT n, count(*) AS c FROM (SELECT a.k, count(b.w) FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.k) AS q (k, n) GROUP BY n;
-- expect state, kept beside the table
SELECT n AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT a.k, count(b.w)
  FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
  GROUP BY a.k) AS q (k, n)
GROUP BY n;
-- expect state_1, kept of a part
SELECT a.k AS `__trickle_k0`, count(*) AS __trickle_n, count(b.w) AS __trickle_c0
FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
GROUP BY a.k;
-- expect state_2, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
GROUP BY `__trickle_k0`;
-- expect keys_2, computed once: the keys that came or went
SELECT d.`__trickle_k0`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_2 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_2` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_2 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT a.k AS `__trickle_k0`, b.w AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
  UNION ALL
  SELECT a.k AS `__trickle_k0`, b.w AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  UNION ALL
  SELECT a.k AS `__trickle_k0`, b.w AS __trickle_x0, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_w
  FROM a_before AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k, keys_2 AS __trickle_answers
  WHERE (__trickle_answers.`__trickle_k0` = a.k))
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `count(b.w)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
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
                  FROM gains_3 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0
              FROM gains_3))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_3 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `count(b.w)`, __trickle_weight))
GROUP BY `k`, `count(b.w)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_3))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `count(b.w)`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `count(b.w)`);
-- expect gains_4, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT n AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM (
    SELECT *
    FROM part_changes_1 AS __trickle_q(k, n, __trickle_weight)) AS `q`)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS c
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
              FROM gains_4 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_4))
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
    FROM gains_4
    WHERE `__trickle_k0` <=> __trickle_p.`n`));

-- title: groups joined with a table
-- changed: t, u
-- state: kept
SELECT u.k, u.w, q.s FROM u JOIN (SELECT k, sum(v) AS s FROM t GROUP BY k HAVING count(*) > 1) AS q ON u.k = q.k;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
            FROM (
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
              FROM gains_1))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1)))) AS __trickle_q(`k`, `s`, __trickle_weight))
GROUP BY `k`, `s`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1))) AS __trickle_q(`k`, `s`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1))) AS __trickle_q(`k`, `s`);
-- expect change
SELECT u.k, u.w, q.s, __trickle_weight AS __trickle_weight
FROM u_changes AS u JOIN (
  SELECT *
  FROM part_after_1) AS q ON u.k = q.k
UNION ALL
SELECT u.k, u.w, q.s, __trickle_weight AS __trickle_weight
FROM u_before AS u JOIN part_changes_1 AS q ON u.k = q.k;

-- title: groups on the null-supplying side
-- changed: t, u
-- state: kept
SELECT u.k, q.s FROM u LEFT JOIN (SELECT k, sum(v) AS s FROM t GROUP BY k) AS q ON u.k = q.k;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
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
                FROM `state_1` AS l
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
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `s`, __trickle_weight))
GROUP BY `k`, `s`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
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
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `s`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `s`);
-- expect change
SELECT u.k, q.s, __trickle_weight AS __trickle_weight
FROM u_changes AS u LEFT JOIN (
  SELECT *
  FROM part_after_1) AS q ON u.k = q.k
UNION ALL
SELECT u.k, q.s, __trickle_weight AS __trickle_weight
FROM u_before AS u JOIN part_changes_1 AS q ON u.k = q.k
UNION ALL
SELECT u.k, q.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM u_before AS u LEFT JOIN (
  SELECT *
  FROM (
    SELECT *
    FROM part_after_1)
  WHERE false) AS q ON u.k = q.k
WHERE (EXISTS (
  SELECT 1
  FROM part_changes_1 AS q
  WHERE u.k = q.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM part_after_1) AS q
  WHERE u.k = q.k))
UNION ALL
SELECT u.k, q.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM u_before AS u LEFT JOIN (
  SELECT *
  FROM (
    SELECT *
    FROM part_after_1)
  WHERE false) AS q ON u.k = q.k
WHERE (EXISTS (
  SELECT 1
  FROM part_changes_1 AS q
  WHERE u.k = q.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM part_before_1) AS q
  WHERE u.k = q.k));

-- title: a CTE with groups, read twice
-- changed: t
-- state: kept
WITH q AS (SELECT g, sum(v) AS s FROM t GROUP BY g) SELECT g, s FROM q WHERE s = (SELECT max(s) FROM q);
-- expect state_1, kept of a part
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
GROUP BY g;
-- expect state_2, kept of a part
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM q_after AS q)
GROUP BY __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
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
                FROM `state_1` AS l
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
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `s`, __trickle_weight))
GROUP BY `g`, `s`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
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
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `s`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `s`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM part_changes_1 AS q)
GROUP BY __trickle_x0;
-- expect part_changes_2, computed once: the change of a part
SELECT `max(s)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
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
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`max(s)`, __trickle_weight))
GROUP BY `max(s)`
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
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(s)`);
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
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(s)`);
-- expect change
SELECT g, s, __trickle_weight AS __trickle_weight
FROM part_changes_1 AS q
WHERE (s = (
  SELECT *
  FROM part_after_2))
UNION ALL
SELECT g, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM part_before_1 AS q
WHERE (s = (
  SELECT *
  FROM part_after_2)) AND ((NOT ((s = (
  SELECT *
  FROM part_before_2)) <=> (s = (
  SELECT *
  FROM part_after_2)))))
UNION ALL
SELECT g, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM part_before_1 AS q
WHERE (s = (
  SELECT *
  FROM part_before_2)) AND ((NOT ((s = (
  SELECT *
  FROM part_before_2)) <=> (s = (
  SELECT *
  FROM part_after_2)))));

-- title: a CTE with groups and names for its columns
-- changed: t, u
-- state: kept
WITH q(x, y) AS (SELECT k, count(v) FROM t GROUP BY k) SELECT u.w, q.y FROM u JOIN q ON u.k = q.x;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0
FROM t_after AS t
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `count(v)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
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
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
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
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `count(v)`, __trickle_weight))
GROUP BY `k`, `count(v)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
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
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `count(v)`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_c0 AS __trickle_i1
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `count(v)`);
-- expect q_after_2, a view: q after
SELECT *
FROM (
  SELECT *
  FROM part_after_1) AS __trickle_q(x, y);
-- expect q_before_2, a view: q before
SELECT *
FROM (
  SELECT *
  FROM part_before_1) AS __trickle_q(x, y);
-- expect q_changes_2, a view: the change of q
SELECT *
FROM (
  SELECT *
  FROM part_changes_1) AS __trickle_q(x, y, __trickle_weight);
-- expect change
SELECT u.w, q.y, __trickle_weight AS __trickle_weight
FROM u_changes AS u JOIN q_after_2 AS q ON u.k = q.x
UNION ALL
SELECT u.w, q.y, __trickle_weight AS __trickle_weight
FROM u_before AS u JOIN q_changes_2 AS q ON u.k = q.x;

-- title: IN groups with HAVING
-- changed: t, u
-- state: kept
SELECT u.k, u.w FROM u WHERE u.k IN (SELECT k FROM t GROUP BY k HAVING sum(v) > 30);
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
              FROM gains_1))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30)))) AS __trickle_q(`k`, __trickle_weight))
GROUP BY `k`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30))) AS __trickle_q(`k`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30))) AS __trickle_q(`k`);
-- expect change
SELECT u.k, u.w, __trickle_weight AS __trickle_weight
FROM u_changes AS u
WHERE (u.k IN (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT u.k, u.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.k IN (
  SELECT *
  FROM part_after_1)) AND (((u.k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (u.k) IS NULL))
UNION ALL
SELECT u.k, u.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.k IN (
  SELECT *
  FROM part_before_1)) AND (((u.k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (u.k) IS NULL));

-- title: NOT IN groups
-- changed: t, u
-- state: kept
SELECT u.k, u.w FROM u WHERE u.k NOT IN (SELECT k FROM t WHERE k IS NOT NULL GROUP BY k HAVING count(*) > 1);
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
WHERE (k IS NOT NULL)
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t
  WHERE (k IS NOT NULL))
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
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
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
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
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1)))) AS __trickle_q(`k`, __trickle_weight))
GROUP BY `k`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
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
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1))) AS __trickle_q(`k`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n > 1))) AS __trickle_q(`k`);
-- expect change
SELECT u.k, u.w, __trickle_weight AS __trickle_weight
FROM u_changes AS u
WHERE (u.k NOT IN (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT u.k, u.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.k NOT IN (
  SELECT *
  FROM part_after_1)) AND (((u.k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (u.k) IS NULL))
UNION ALL
SELECT u.k, u.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.k NOT IN (
  SELECT *
  FROM part_before_1)) AND (((u.k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (u.k) IS NULL));

-- title: groups whose rows are chosen by groups
-- changed: t, u
-- state: kept
SELECT u.k, sum(u.w) AS w FROM u WHERE u.k IN (SELECT k FROM t GROUP BY k HAVING sum(v) > 30) GROUP BY u.k;
-- expect state, kept beside the table
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n, count(u.w) AS __trickle_c0, CAST(coalesce(sum((u.w)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM u_after AS u
WHERE (u.k IN (
  SELECT k
  FROM t_after AS t
  GROUP BY k
  HAVING sum(v) > 30))
GROUP BY u.k;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
GROUP BY k;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT k AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
              FROM gains_2))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30)))) AS __trickle_q(`k`, __trickle_weight))
GROUP BY `k`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30))) AS __trickle_q(`k`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END > 30))) AS __trickle_q(`k`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT u.k AS `__trickle_k0`, u.w AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM u_changes AS u
  WHERE (u.k IN (
    SELECT *
    FROM part_after_1))
  UNION ALL
  SELECT u.k AS `__trickle_k0`, u.w AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM u_before AS u
  WHERE (u.k IN (
    SELECT *
    FROM part_after_1)) AND (((u.k) IN (
    SELECT `k`
    FROM part_changes_1) OR EXISTS (
    SELECT 1
    FROM (
      SELECT `k`
      FROM part_changes_1) AS __trickle_n(__trickle_v)
    WHERE __trickle_v IS NULL) OR (u.k) IS NULL))
  UNION ALL
  SELECT u.k AS `__trickle_k0`, u.w AS __trickle_x0, CAST(-1 AS BIGINT) AS __trickle_w
  FROM u_before AS u
  WHERE (u.k IN (
    SELECT *
    FROM part_before_1)) AND (((u.k) IN (
    SELECT `k`
    FROM part_changes_1) OR EXISTS (
    SELECT 1
    FROM (
      SELECT `k`
      FROM part_changes_1) AS __trickle_n(__trickle_v)
    WHERE __trickle_v IS NULL) OR (u.k) IS NULL)))
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS w
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
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: a scalar subquery over all rows
-- changed: t, u
-- state: kept
SELECT u.k FROM u WHERE u.w > (SELECT sum(v) FROM t);
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
HAVING count(*) > 0;
-- expect part_changes_1, computed once: the change of a part
SELECT `sum(v)`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT __trickle_n, __trickle_c0, __trickle_s0
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0, __trickle_s0
              FROM gains_1)))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`
      FROM (
        SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
        FROM (
          SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`sum(v)`, __trickle_weight))
GROUP BY `sum(v)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT __trickle_n, __trickle_c0, __trickle_s0
          FROM `state_1`
          UNION ALL
          SELECT __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`sum(v)`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`
  FROM (
    SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i0
    FROM (
      SELECT sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_1`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`sum(v)`);
-- expect change
SELECT u.k, __trickle_weight AS __trickle_weight
FROM u_changes AS u
WHERE (u.w > (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT u.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.w > (
  SELECT *
  FROM part_after_1)) AND ((NOT ((u.w > (
  SELECT *
  FROM part_before_1)) <=> (u.w > (
  SELECT *
  FROM part_after_1)))))
UNION ALL
SELECT u.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM u_before AS u
WHERE (u.w > (
  SELECT *
  FROM part_before_1)) AND ((NOT ((u.w > (
  SELECT *
  FROM part_before_1)) <=> (u.w > (
  SELECT *
  FROM part_after_1)))));

-- title: the top of groups
-- changed: t
-- state: kept
SELECT g, sum(v) AS s, count(*) AS n FROM t GROUP BY g ORDER BY s DESC, g LIMIT 2;
-- expect state_0, kept of a part
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(v) AS __trickle_c0, CAST(coalesce(sum((v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY g;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, v AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `s`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
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
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
              FROM (
                SELECT *
                FROM `state_0` AS l
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
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s, __trickle_i2 AS n
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1, __trickle_n AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
            FROM (
              SELECT *
              FROM `state_0` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `s`, `n`, __trickle_weight))
GROUP BY `g`, `s`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM `state_0`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
          FROM gains_1))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `s`, `n`);
-- expect part_before_1, a view: a part before
SELECT *
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
          FROM `state_0`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `s`, `n`);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `g`, `s`, `n`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `s` DESC, `g`) AS __trickle_rank
    FROM (
      SELECT `g`, `s`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `g`, `s`, `n`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `g`, `s`, `n`, __trickle_weight
        FROM (
          SELECT *
          FROM part_changes_1) AS __trickle_d(`g`, `s`, `n`, __trickle_weight))
      GROUP BY `g`, `s`, `n`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `g`, `s`, `n`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 2 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM part_after_1
  ORDER BY s DESC, g
  LIMIT 2)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: the top of groups over a join
-- changed: t, u
-- state: kept
SELECT t.k, u.w, sum(t.v) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.k, u.w ORDER BY s DESC, k, w LIMIT 3;
-- expect state_0, kept of a part
SELECT t.k AS `__trickle_k0`, u.w AS `__trickle_k1`, count(*) AS __trickle_n, count(t.v) AS __trickle_c0, CAST(coalesce(sum((t.v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t JOIN u_after AS u ON t.k = u.k
GROUP BY t.k, u.w;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT t.k AS `__trickle_k0`, u.w AS `__trickle_k1`, t.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t JOIN u_after AS u ON t.k = u.k
  UNION ALL
  SELECT t.k AS `__trickle_k0`, u.w AS `__trickle_k1`, t.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_before AS t JOIN u_changes AS u ON t.k = u.k)
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `w`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
              FROM (
                SELECT *
                FROM `state_0` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`))
              UNION ALL
              SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
              FROM gains_1))
          GROUP BY `__trickle_k0`, `__trickle_k1`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS s
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
            FROM (
              SELECT *
              FROM `state_0` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`)))
          GROUP BY `__trickle_k0`, `__trickle_k1`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `w`, `s`, __trickle_weight))
GROUP BY `k`, `w`, `s`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
          FROM `state_0`
          UNION ALL
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
          FROM gains_1))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `w`, `s`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS s
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_s0
        FROM (
          SELECT *
          FROM `state_0`))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `w`, `s`);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, `w`, `s`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `s` DESC, `k`, `w`) AS __trickle_rank
    FROM (
      SELECT `k`, `w`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `w`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `w`, `s`, __trickle_weight
        FROM (
          SELECT *
          FROM part_changes_1) AS __trickle_d(`k`, `w`, `s`, __trickle_weight))
      GROUP BY `k`, `w`, `s`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `w`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM part_after_1
  ORDER BY s DESC, k, w
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: the top of groups by a column that is not shown
-- changed: t
-- state: kept
SELECT sum(v) AS s FROM t GROUP BY g ORDER BY g, s LIMIT 2;
-- expect no state

-- title: union of two parts with groups
-- changed: t, u
-- state: kept
SELECT k, count(*) AS n FROM t GROUP BY k UNION ALL SELECT k, count(*) FROM u GROUP BY k;
-- expect no state

-- title: groups of a part that did not change
-- changed: u
-- state: kept
SELECT u.w, q.n FROM u JOIN (SELECT k, count(*) AS n FROM t GROUP BY k) AS q ON u.k = q.k;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY k;
-- expect part_after_1, a view: a part by its state
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
-- expect change
SELECT u.w, q.n, __trickle_weight AS __trickle_weight
FROM u_changes AS u JOIN (
  SELECT *
  FROM part_after_1) AS q ON u.k = q.k;

-- title: groups in groups in groups
-- changed: t
-- state: kept
SELECT m, count(*) AS c FROM (SELECT n, count(*) AS m FROM (SELECT g, k, count(*) AS n FROM t GROUP BY g, k) AS p GROUP BY n) AS q GROUP BY m;
-- expect state, kept beside the table
SELECT m AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT n, count(*) AS m
  FROM (
    SELECT g, k, count(*) AS n
    FROM t_after AS t
    GROUP BY g, k) AS p
  GROUP BY n) AS q
GROUP BY m;
-- expect state_1, kept of a part
SELECT n AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT g, k, count(*) AS n
  FROM t_after AS t
  GROUP BY g, k) AS p
GROUP BY n;
-- expect state_2, kept of a part
SELECT g AS `__trickle_k0`, k AS `__trickle_k1`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY g, k;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT g AS `__trickle_k0`, k AS `__trickle_k1`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `k`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS n
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
                FROM `state_2` AS l
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
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS n
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_n AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
            FROM (
              SELECT *
              FROM `state_2` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`)))
          GROUP BY `__trickle_k0`, `__trickle_k1`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `k`, `n`, __trickle_weight))
GROUP BY `g`, `k`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
          FROM `state_2`
          UNION ALL
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
          FROM gains_2))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `k`, `n`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0
        FROM (
          SELECT *
          FROM `state_2`))
      GROUP BY `__trickle_k0`, `__trickle_k1`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `k`, `n`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT n AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM part_changes_1 AS p)
GROUP BY `__trickle_k0`;
-- expect part_changes_2, computed once: the change of a part
SELECT `n`, `m`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m
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
                  FROM gains_3 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0
              FROM gains_3))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m
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
                FROM gains_3 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`n`, `m`, __trickle_weight))
GROUP BY `n`, `m`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_2, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m
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
          FROM gains_3))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`n`, `m`);
-- expect part_before_2, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m
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
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`n`, `m`);
-- expect gains_4, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT m AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM part_changes_2 AS q)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS c
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
              FROM gains_4 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_4))
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
    FROM gains_4
    WHERE `__trickle_k0` <=> __trickle_p.`m`));

-- title: minima inside have an entry for each value
-- changed: t
-- state: kept
SELECT g, m FROM (SELECT g, k, min(v) AS m FROM t GROUP BY g, k) AS q;
-- expect state_1, kept of a part
SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT g AS `__trickle_k0`, k AS `__trickle_k1`, v AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM t_after AS t)
GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT g AS `__trickle_k0`, k AS `__trickle_k1`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `k`, `m`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS m
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_e0 AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, min(__trickle_x0) AS __trickle_e0
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
              FROM (
                SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
                FROM (
                  SELECT *
                  FROM `state_1` AS l
                  WHERE EXISTS (
                    SELECT 1
                    FROM gains_1 AS d
                    WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`))
                UNION ALL
                SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
                FROM gains_1))
            GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0
            HAVING sum(__trickle_n) <> 0)
          GROUP BY `__trickle_k0`, `__trickle_k1`)
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS m
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_e0 AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, min(__trickle_x0) AS __trickle_e0
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_n) AS __trickle_n
            FROM (
              SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`)))
            GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0
            HAVING sum(__trickle_n) <> 0)
          GROUP BY `__trickle_k0`, `__trickle_k1`)
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `k`, `m`, __trickle_weight))
GROUP BY `g`, `k`, `m`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS m
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_e0 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, min(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
          FROM (
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
            FROM `state_1`
            UNION ALL
            SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`, `__trickle_k1`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `k`, `m`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS m
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, `__trickle_k1` AS __trickle_i1, __trickle_e0 AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, coalesce(sum(IF(__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a value do not add up') AS BIGINT), __trickle_n)), 0) AS __trickle_n, min(__trickle_x0) AS __trickle_e0
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, sum(__trickle_n) AS __trickle_n
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_x0, __trickle_n
          FROM (
            SELECT *
            FROM `state_1`))
        GROUP BY `__trickle_k0`, `__trickle_k1`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`, `__trickle_k1`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `k`, `m`);
-- expect change
SELECT g, m, __trickle_weight AS __trickle_weight
FROM part_changes_1 AS q;

-- title: minima of doubles inside have no state
-- changed: f
-- state: kept
SELECT k, m FROM (SELECT k, min(d) AS m FROM f GROUP BY k) AS q;
-- expect no state

-- title: groups of distinct counts
-- changed: t
-- state: kept
SELECT n, count(*) AS c, max(k) AS m FROM (SELECT k, count(DISTINCT g) AS n FROM t GROUP BY k) AS q GROUP BY n;
-- expect state, kept beside the table
SELECT n AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT k, count(DISTINCT g) AS n
  FROM t_after AS t
  GROUP BY k) AS q
GROUP BY n;
-- expect state_1, kept of a part
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, g AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM t_after AS t)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS `__trickle_k0`, g AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect part_changes_1, computed once: the change of a part
SELECT `k`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
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
                  FROM `state_1` AS l
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
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
            GROUP BY `__trickle_k0`, __trickle_x0
            HAVING sum(__trickle_n) <> 0)
          GROUP BY `__trickle_k0`)
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`k`, `n`, __trickle_weight))
GROUP BY `k`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
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
            FROM `state_1`
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM gains_2))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `n`);
-- expect part_before_1, a view: a part before
SELECT *
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
            SELECT *
            FROM `state_1`))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`k`, `n`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, max(CASE WHEN __trickle_n > 0 THEN __trickle_x1 END) AS __trickle_g1, max(CASE WHEN __trickle_n < 0 THEN __trickle_x1 END) AS __trickle_l1
FROM (
  SELECT `__trickle_k0`, __trickle_x1, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
  FROM (
    SELECT n AS `__trickle_k0`, 1 AS __trickle_x0, k AS __trickle_x1, __trickle_weight AS __trickle_w
    FROM part_changes_1 AS q)
  GROUP BY `__trickle_k0`, __trickle_x1)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_3 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c0
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_3 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `n` AS `__trickle_k0`, CAST(`m` AS int) AS __trickle_e1, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`n`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l1 IS NOT NULL AND NOT (coalesce(p.__trickle_e1 > d.__trickle_l1, false) OR coalesce(d.__trickle_g1 >= d.__trickle_l1, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS c, __trickle_i2 AS m
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1, __trickle_e1 AS __trickle_i2
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e1, d.__trickle_g1) END AS __trickle_e1
      FROM gains_3 AS d JOIN (
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
                FROM gains_3 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
            UNION ALL
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0
            FROM gains_3))
        GROUP BY `__trickle_k0`
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `n` AS `__trickle_k0`, CAST(`m` AS int) AS __trickle_e1, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_3
          WHERE `__trickle_k0` <=> __trickle_p.`n`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT n, count(*) AS c, max(k) AS m
  FROM (
    SELECT *
    FROM part_after_1) AS q
  WHERE (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (n)))
  GROUP BY n)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`n`));

-- title: a threshold that is a maximum
-- changed: a, b
-- state: kept
SELECT k, v FROM a WHERE v >= (SELECT max(k) FROM b) OR v = (SELECT count(DISTINCT k) FROM b WHERE w > 1);
-- expect state_1, kept of a part
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM b_after AS b)
GROUP BY __trickle_x0;
-- expect state_2, kept of a part
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM b_after AS b
  WHERE (w > 1))
GROUP BY __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
GROUP BY __trickle_x0;
-- expect part_changes_1, computed once: the change of a part
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
                  FROM `state_1` AS l
                  WHERE EXISTS (
                    SELECT 1
                    FROM gains_1 AS d
                    WHERE true))
                UNION ALL
                SELECT __trickle_x0, __trickle_n
                FROM gains_1))
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
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE true)))
            GROUP BY __trickle_x0
            HAVING sum(__trickle_n) <> 0))
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`max(k)`, __trickle_weight))
GROUP BY `max(k)`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
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
            FROM `state_1`
            UNION ALL
            SELECT __trickle_x0, __trickle_n
            FROM gains_1))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(k)`);
-- expect part_before_1, a view: a part before
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
            FROM `state_1`))
        GROUP BY __trickle_x0
        HAVING sum(__trickle_n) <> 0))
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`max(k)`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT k AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (w > 1))
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
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v >= (
  SELECT *
  FROM part_after_1) OR v = (
  SELECT *
  FROM part_after_2))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v >= (
  SELECT *
  FROM part_after_1) OR v = (
  SELECT *
  FROM part_after_2))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v >= (
  SELECT *
  FROM part_before_1) OR v = (
  SELECT *
  FROM part_before_2));

-- title: the top of distinct counts
-- changed: a
-- state: kept
SELECT s, count(DISTINCT v) AS n FROM a GROUP BY s ORDER BY n DESC, s LIMIT 2;
-- expect state_0, kept of a part
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS `__trickle_k0`, v AS __trickle_x0, CAST(1 AS BIGINT) AS __trickle_w
  FROM a_after AS a)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, __trickle_x0, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s AS `__trickle_k0`, v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
GROUP BY `__trickle_k0`, __trickle_x0;
-- expect part_changes_1, computed once: the change of a part
SELECT `s`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
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
                  FROM `state_0` AS l
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
                SELECT *
                FROM `state_0` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_1 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
            GROUP BY `__trickle_k0`, __trickle_x0
            HAVING sum(__trickle_n) <> 0)
          GROUP BY `__trickle_k0`)
        WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`s`, `n`, __trickle_weight))
GROUP BY `s`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
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
            FROM `state_0`
            UNION ALL
            SELECT `__trickle_k0`, __trickle_x0, __trickle_n
            FROM gains_1))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`s`, `n`);
-- expect part_before_1, a view: a part before
SELECT *
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
            SELECT *
            FROM `state_0`))
        GROUP BY `__trickle_k0`, __trickle_x0
        HAVING sum(__trickle_n) <> 0)
      GROUP BY `__trickle_k0`)
    WHERE IF(__trickle_n < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`s`, `n`);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `s`, `n`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `n` DESC, `s`) AS __trickle_rank
    FROM (
      SELECT `s`, `n`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `s`, `n`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `s`, `n`, __trickle_weight
        FROM (
          SELECT *
          FROM part_changes_1) AS __trickle_d(`s`, `n`, __trickle_weight))
      GROUP BY `s`, `n`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `s`, `n`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 2 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM part_after_1
  ORDER BY n DESC, s
  LIMIT 2)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: products of many digits
-- changed: u
-- state: kept
SELECT k, sum(w * (1 - w) * w) AS s, count(*) AS n FROM u GROUP BY k;
-- expect state, kept beside the table
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(w * (1 - w) * w) AS __trickle_c0, CAST(coalesce(sum((w * (1 - w) * w)), 0) AS DECIMAL(38,6)) AS __trickle_s0, count(1) AS __trickle_c1
FROM u_after AS u
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,6)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT k AS `__trickle_k0`, w * (1 - w) * w AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS s, __trickle_i2 AS n
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(38,6)) END AS __trickle_i1, __trickle_n AS __trickle_i2
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
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: groups inside with HAVING against a total
-- changed: t, a
-- state: kept
SELECT a.k, q.n FROM (SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) * 3 > (SELECT count(*) FROM t)) AS q JOIN a ON a.k = q.k;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY k;
-- expect state_2, kept of a part
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
                FROM `state_2` AS l
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
              FROM `state_2` AS l
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
          FROM `state_2`
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
          FROM `state_2`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect keys_1, computed once: the keys of groups that HAVING may judge otherwise
SELECT DISTINCT *
FROM (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM gains_2))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE coalesce(__trickle_n * 3 > (
    SELECT *
    FROM part_after_1), false) <> coalesce(__trickle_n * 3 > (
    SELECT *
    FROM part_before_1), false)
  UNION ALL
  SELECT `__trickle_k0`
  FROM gains_2);
-- expect part_changes_2, computed once: the change of a part
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
              SELECT *
              FROM (
                SELECT `__trickle_k0`, __trickle_n, __trickle_c0
                FROM `state_1`
                UNION ALL
                SELECT `__trickle_k0`, __trickle_n, __trickle_c0
                FROM gains_2) AS l
              WHERE EXISTS (
                SELECT 1
                FROM keys_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 3 > (
          SELECT *
          FROM part_after_1))))
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
              FROM (
                SELECT *
                FROM `state_1`) AS l
              WHERE EXISTS (
                SELECT 1
                FROM keys_1 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 3 > (
          SELECT *
          FROM part_before_1))))) AS __trickle_q(`k`, `n`, __trickle_weight))
GROUP BY `k`, `n`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_2, a view: a part after
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
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 3 > (
      SELECT *
      FROM part_after_1)))) AS __trickle_q(`k`, `n`);
-- expect part_before_2, a view: a part before
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
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true) AND (__trickle_n * 3 > (
      SELECT *
      FROM part_before_1)))) AS __trickle_q(`k`, `n`);
-- expect change
SELECT a.k, q.n, __trickle_weight AS __trickle_weight
FROM part_changes_2 AS q JOIN a_after AS a ON a.k = q.k
UNION ALL
SELECT a.k, q.n, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM part_before_2) AS q JOIN a_changes AS a ON a.k = q.k;

-- title: rows above a threshold with state
-- changed: a, t
-- state: kept
SELECT k, v FROM a WHERE (v * 2 < (SELECT count(*) FROM t WHERE i > 0) OR k IS NULL) AND v * 7 <> (SELECT count(*) FROM t);
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
WHERE (i > 0);
-- expect state_2, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t
  WHERE (i > 0))
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
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
HAVING count(*) > 0;
-- expect part_changes_2, computed once: the change of a part
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
                FROM `state_2` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE true))
              UNION ALL
              SELECT __trickle_n, __trickle_c0
              FROM gains_2)))
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
              FROM `state_2` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE true))))
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`count_star()`, __trickle_weight))
GROUP BY `count_star()`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_2, a view: a part after
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
          FROM `state_2`
          UNION ALL
          SELECT __trickle_n, __trickle_c0
          FROM gains_2)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect part_before_2, a view: a part before
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
          FROM `state_2`)))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`count_star()`);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE ((v * 2 < (
  SELECT *
  FROM part_after_1) OR k IS NULL) AND v * 7 <> (
  SELECT *
  FROM part_after_2))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((v * 2 < (
  SELECT *
  FROM part_after_1) OR k IS NULL) AND v * 7 <> (
  SELECT *
  FROM part_after_2)) AND ((NOT (((v * 2 < (
  SELECT *
  FROM part_before_1) OR k IS NULL)) <=> ((v * 2 < (
  SELECT *
  FROM part_after_1) OR k IS NULL)))) OR (NOT ((v * 7 <> (
  SELECT *
  FROM part_before_2)) <=> (v * 7 <> (
  SELECT *
  FROM part_after_2)))))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((v * 2 < (
  SELECT *
  FROM part_before_1) OR k IS NULL) AND v * 7 <> (
  SELECT *
  FROM part_before_2)) AND ((NOT (((v * 2 < (
  SELECT *
  FROM part_before_1) OR k IS NULL)) <=> ((v * 2 < (
  SELECT *
  FROM part_after_1) OR k IS NULL)))) OR (NOT ((v * 7 <> (
  SELECT *
  FROM part_before_2)) <=> (v * 7 <> (
  SELECT *
  FROM part_after_2)))));
