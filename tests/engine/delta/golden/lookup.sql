-- Correlated subqueries and outer joins that find the answer for a key in auxiliary state.

-- title: EXISTS, both sides changed
-- changed: a, b
-- state: kept
SELECT a.k, a.v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > 1);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 1)
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 1))
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
-- expect change
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
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
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.k))
UNION ALL
SELECT a.k, a.v, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0));

-- title: NOT EXISTS, only the inner side changed
-- changed: b
-- state: kept
SELECT a.k, a.v FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE a.k = b.k);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, a.v, CAST(IF(NOT __trickle_answers.__trickle_after, 1, 0) - IF(NOT __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(NOT __trickle_answers.__trickle_after, 1, 0) <> IF(NOT __trickle_answers.__trickle_before, 1, 0));

-- title: EXISTS or a condition
-- changed: a, b
-- state: kept
SELECT a.k, a.v FROM a WHERE a.v = 1 OR EXISTS (SELECT 1 FROM b WHERE b.k = a.k);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.v = 1 OR EXISTS (
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
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.k))
UNION ALL
SELECT a.k, a.v, CAST(IF(a.v = 1 OR __trickle_answers.__trickle_after, 1, 0) - IF(a.v = 1 OR __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(a.v = 1 OR __trickle_answers.__trickle_after, 1, 0) <> IF(a.v = 1 OR __trickle_answers.__trickle_before, 1, 0));

-- title: EXISTS as a column
-- changed: a, b
-- state: kept
SELECT a.k, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS e FROM a;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, EXISTS (
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
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.k) AS e, __trickle_weight AS __trickle_weight
FROM a_changes AS a
UNION ALL
SELECT a.k, EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.k) AS e, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = a.k)))
UNION ALL
SELECT a.k, EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.k) AS e, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = a.k)));

-- title: a sum per key as a threshold
-- changed: a, t
-- state: kept
SELECT a.k, a.v FROM a WHERE a.v > (SELECT sum(t.v) FROM t WHERE t.k = a.k AND t.g = 'a');
-- expect state_1, kept of a part
SELECT t.k AS `__trickle_k0`, count(*) AS __trickle_n, count(t.v) AS __trickle_c0, CAST(coalesce(sum((t.v)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM t_after AS t
WHERE (t.g = 'a')
GROUP BY t.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT t.k AS `__trickle_k0`, t.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t
  WHERE (t.g = 'a'))
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0, __trickle_s0_after AS __trickle_s0
    FROM (
      SELECT `__trickle_k0`, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_before, __trickle_n_after, __trickle_c0_after, __trickle_s0_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after, sum(CASE WHEN __trickle_old THEN __trickle_s0 END) AS __trickle_s0, sum(__trickle_s0) AS __trickle_s0_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_1` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect change
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.v > (
  SELECT CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    WHERE `__trickle_k0` = a.k)))
UNION ALL
SELECT a.k, a.v, CAST(IF(a.v > __trickle_answers.__trickle_after, 1, 0) - IF(a.v > __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a, answers_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(a.v > __trickle_answers.__trickle_after, 1, 0) <> IF(a.v > __trickle_answers.__trickle_before, 1, 0));

-- title: a count per key, of no rows too
-- changed: a, b
-- state: kept
SELECT a.k, (SELECT count(*) FROM b WHERE b.k = a.k) AS n FROM a;
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
SELECT a.k, (
  SELECT __trickle_n
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    WHERE `__trickle_k0` = a.k)) AS n, __trickle_weight AS __trickle_weight
FROM a_changes AS a
UNION ALL
SELECT a.k, (
  SELECT __trickle_n
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0
      FROM gains_1)
    WHERE `__trickle_k0` = a.k)) AS n, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM answers_1
  WHERE `__trickle_k0` = a.k)))
UNION ALL
SELECT a.k, (
  SELECT __trickle_n
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0
      FROM `state_1`)
    WHERE `__trickle_k0` = a.k)) AS n, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM answers_1
  WHERE `__trickle_k0` = a.k)));

-- title: a count that is not NULL for no rows, with coalesce of a sum
-- changed: a, t
-- state: kept
SELECT a.k FROM a WHERE a.v >= (SELECT coalesce(sum(t.v), 0) + count(t.g) FROM t WHERE t.k = a.k);
-- expect state_1, kept of a part
SELECT t.k AS `__trickle_k0`, count(*) AS __trickle_n, count(t.v) AS __trickle_c0, CAST(coalesce(sum((t.v)), 0) AS DECIMAL(38,2)) AS __trickle_s0, count(t.g) AS __trickle_c1
FROM t_after AS t
GROUP BY t.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT t.k AS `__trickle_k0`, t.v AS __trickle_x0, t.g AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, coalesce(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END, 0) + __trickle_c1 AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0, __trickle_s0_after AS __trickle_s0, __trickle_c1_after AS __trickle_c1
    FROM (
      SELECT `__trickle_k0`, coalesce(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END, 0) + __trickle_c1 AS __trickle_before, __trickle_n_after, __trickle_c0_after, __trickle_s0_after, __trickle_c1_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after, sum(CASE WHEN __trickle_old THEN __trickle_s0 END) AS __trickle_s0, sum(__trickle_s0) AS __trickle_s0_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c1 END), 0) AS __trickle_c1, coalesce(sum(__trickle_c1), 0) AS __trickle_c1_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_1` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect change
SELECT a.k, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.v >= (
  SELECT coalesce(CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END, 0) + __trickle_c1
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, coalesce(sum(__trickle_c1), 0) AS __trickle_c1
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_c1
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM a_changes))
    WHERE `__trickle_k0` = a.k)))
UNION ALL
SELECT a.k, CAST(IF(a.v >= __trickle_answers.__trickle_after, 1, 0) - IF(a.v >= __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a, answers_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(a.v >= __trickle_answers.__trickle_after, 1, 0) <> IF(a.v >= __trickle_answers.__trickle_before, 1, 0));

-- title: an average of decimals per key below GROUP BY
-- changed: t
-- state: kept
-- engine: spark
SELECT a.v, count(*) AS n FROM a JOIN t ON a.k = t.k WHERE t.v <= (SELECT 1.0 * avg(s.v) FROM t AS s WHERE s.k = a.k) GROUP BY a.v;

-- title: two keys, one table twice
-- changed: t
-- state: kept
SELECT t.k, t.g FROM t WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.k = t.k AND s.g = t.g AND s.v > 0);
-- expect state_1, kept of a part
SELECT s.k AS `__trickle_k0`, s.g AS `__trickle_k1`, count(*) AS __trickle_n
FROM t_after AS s
WHERE (s.v > 0)
GROUP BY s.k, s.g;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT s.k AS `__trickle_k0`, s.g AS `__trickle_k1`, __trickle_weight AS __trickle_w
  FROM t_changes AS s
  WHERE (s.v > 0))
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect keys_1, computed once: the keys that came or went
SELECT d.`__trickle_k0`, d.`__trickle_k1`, coalesce(l.__trickle_n, 0) > 0 AS __trickle_before, coalesce(l.__trickle_n, 0) + d.__trickle_n > 0 AS __trickle_after
FROM gains_1 AS d LEFT JOIN (
  SELECT l.`__trickle_k0`, l.`__trickle_k1`, sum(l.__trickle_n) AS __trickle_n
  FROM `state_1` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_1 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`)
  GROUP BY l.`__trickle_k0`, l.`__trickle_k1`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect change
SELECT t.k, t.g, __trickle_weight AS __trickle_weight
FROM t_changes AS t
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`, `__trickle_k1`
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM t_changes) AND `__trickle_k1` IN (
        SELECT `g`
        FROM t_changes))
    GROUP BY `__trickle_k0`, `__trickle_k1`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = t.k AND `__trickle_k1` = t.g))
UNION ALL
SELECT t.k, t.g, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM t_before AS t, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = t.k) AND (__trickle_answers.`__trickle_k1` = t.g) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0));

-- title: a name that the inner table hides has no lookup
-- changed: a, n
-- state: kept
SELECT a.k, a.v FROM a WHERE a.v IS NULL OR a.v > (SELECT count(*) FROM n WHERE n.v = a.k);
-- expect state_1, kept of a part
SELECT count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM n_after AS n
WHERE (n.v = a.k);
-- expect gains_1, computed once: what the changed rows add to each group
SELECT sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM n_changes AS n
  WHERE (n.v = a.k))
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
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.v IS NULL OR a.v > (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT a.k, a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.v IS NULL OR a.v > (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT a.k, a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.v IS NULL OR a.v > (
  SELECT *
  FROM part_before_1));

-- title: a lookup inside IN
-- changed: a, t
-- state: kept
SELECT a.k, a.v FROM a WHERE a.k IN (SELECT u.k FROM u WHERE (SELECT count(*) + count(t.i) FROM t WHERE t.k = u.k) > 2);
-- expect state_2, kept of a part
SELECT t.k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(t.i) AS __trickle_c1
FROM t_after AS t
GROUP BY t.k;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
WHERE ((
  SELECT count(*) + count(t.i)
  FROM t_after AS t
  WHERE t.k = u.k) > 2)
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT t.k AS `__trickle_k0`, 1 AS __trickle_x0, t.i AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, __trickle_n + __trickle_c1 AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0, __trickle_c1_after AS __trickle_c1
    FROM (
      SELECT `__trickle_k0`, __trickle_n + __trickle_c1 AS __trickle_before, __trickle_n_after, __trickle_c0_after, __trickle_c1_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c1 END), 0) AS __trickle_c1, coalesce(sum(__trickle_c1), 0) AS __trickle_c1_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_2` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, CAST(IF(__trickle_answers.__trickle_after > 2, 1, 0) - IF(__trickle_answers.__trickle_before > 2, 1, 0) AS BIGINT) AS __trickle_w
  FROM u_after AS u, answers_1 AS __trickle_answers
  WHERE (__trickle_answers.`__trickle_k0` = u.k) AND (IF(__trickle_answers.__trickle_after > 2, 1, 0) <> IF(__trickle_answers.__trickle_before > 2, 1, 0)))
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
-- expect change
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.k IN (
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
      FROM a_changes))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0))
UNION ALL
SELECT a.k, a.v, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0));

-- title: a lookup inside NOT IN
-- changed: a, u, t
-- state: kept
SELECT a.k, a.v FROM a WHERE a.k NOT IN (SELECT u.k FROM u WHERE u.k IS NOT NULL AND (SELECT count(*) FROM t WHERE t.k = u.k) > 1);
-- expect state_2, kept of a part
SELECT t.k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM t_after AS t
GROUP BY t.k;
-- expect state_1, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
WHERE (u.k IS NOT NULL AND (
  SELECT count(*)
  FROM t_after AS t
  WHERE t.k = u.k) > 1)
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT t.k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
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
            FROM `state_2` AS l
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
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u
  WHERE (u.k IS NOT NULL AND (
    SELECT __trickle_n
    FROM (
      SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0
      FROM (
        SELECT *
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM `state_2`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0
          FROM gains_1)
        WHERE `__trickle_k0` IN (
          SELECT `k`
          FROM u_changes))
      WHERE `__trickle_k0` = u.k)) > 1)
  UNION ALL
  SELECT u.k AS `__trickle_k0`, CAST(IF(__trickle_answers.__trickle_after > 1, 1, 0) - IF(__trickle_answers.__trickle_before > 1, 1, 0) AS BIGINT) AS __trickle_w
  FROM u_before AS u, answers_1 AS __trickle_answers
  WHERE (u.k IS NOT NULL) AND (__trickle_answers.`__trickle_k0` = u.k) AND (IF(__trickle_answers.__trickle_after > 1, 1, 0) <> IF(__trickle_answers.__trickle_before > 1, 1, 0)))
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
-- expect change
SELECT a.k, a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.k NOT IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`
    UNION ALL
    SELECT `__trickle_k0`, __trickle_n
    FROM gains_2)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0))
UNION ALL
SELECT a.k, a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.k NOT IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`
    UNION ALL
    SELECT `__trickle_k0`, __trickle_n
    FROM gains_2)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)) AND (((a.k) IN (
  SELECT `__trickle_k0`
  FROM keys_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM keys_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (a.k) IS NULL))
UNION ALL
SELECT a.k, a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.k NOT IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)) AND (((a.k) IN (
  SELECT `__trickle_k0`
  FROM keys_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM keys_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (a.k) IS NULL));

-- title: left join
-- changed: a, b
-- state: kept
SELECT a.k, a.v, b.w FROM a LEFT JOIN b ON a.k = b.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.w, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k);

-- title: left join with a condition of the right side, counted
-- changed: b
-- state: kept
SELECT a.k, count(b.w) AS n FROM a LEFT JOIN b ON a.k = b.k AND b.w <> 2 GROUP BY a.k;
-- expect state, kept beside the table
SELECT a.k AS `__trickle_k0`, count(*) AS __trickle_n, count(b.w) AS __trickle_c0
FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k AND b.w <> 2
GROUP BY a.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w <> 2)
GROUP BY b.k;
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w <> 2))
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
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT a.k AS `__trickle_k0`, b.w AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_after AS a JOIN b_changes AS b ON a.k = b.k AND b.w <> 2
  UNION ALL
  SELECT a.k AS `__trickle_k0`, b.w AS __trickle_x0, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_w
  FROM a_after AS a LEFT JOIN (
    SELECT *
    FROM b_after
    WHERE false) AS b ON a.k = b.k AND b.w <> 2, keys_1 AS __trickle_answers
  WHERE (__trickle_answers.`__trickle_k0` = a.k))
GROUP BY `__trickle_k0`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n
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
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: left join that only grew
-- changed: b+
-- state: kept
SELECT a.k, a.v, b.w FROM a LEFT JOIN b ON a.k = b.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.w, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k);

-- title: left join behind a join
-- changed: a, b, u
-- state: kept
SELECT a.v, b.w, u.k FROM a JOIN b ON a.k = b.k LEFT JOIN u ON u.k = b.w;
-- expect state_2, kept of a part
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
  FROM `state_2` AS l
  WHERE EXISTS (
    SELECT 1
    FROM gains_1 AS d
    WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)
  GROUP BY l.`__trickle_k0`) AS l ON d.`__trickle_k0` <=> l.`__trickle_k0`
WHERE IF(coalesce(l.__trickle_n, 0) + d.__trickle_n < 0, CAST(raise_error('Kept lines: the rows of a key do not add up') AS BOOLEAN), (coalesce(l.__trickle_n, 0) > 0) <> (coalesce(l.__trickle_n, 0) + d.__trickle_n > 0));
-- expect change
SELECT a.v, b.w, u.k, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k LEFT JOIN u_after AS u ON u.k = b.w
UNION ALL
SELECT a.v, b.w, u.k, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k LEFT JOIN u_after AS u ON u.k = b.w
UNION ALL
SELECT a.v, b.w, u.k, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_before AS b ON a.k = b.k JOIN u_changes AS u ON u.k = b.w
UNION ALL
SELECT a.v, b.w, u.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM u_after
  WHERE false) AS u ON u.k = b.w
WHERE (EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = b.w)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_2`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = b.w))
UNION ALL
SELECT a.v, b.w, u.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM u_after
  WHERE false) AS u ON u.k = b.w
WHERE (EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = b.w)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_2`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = b.w));

-- title: a left join after another
-- changed: b, u
-- state: kept
SELECT a.v, b.w, u.k FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN u ON a.v = u.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect state_2, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
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
-- expect change
SELECT a.v, b.w, u.k, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k LEFT JOIN u_after AS u ON a.v = u.k
UNION ALL
SELECT a.v, b.w, u.k, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN u_after AS u ON a.v = u.k, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k)
UNION ALL
SELECT a.v, b.w, u.k, __trickle_weight AS __trickle_weight
FROM a_after AS a LEFT JOIN b_before AS b ON a.k = b.k JOIN u_changes AS u ON a.v = u.k
UNION ALL
SELECT a.v, b.w, u.k, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM u_after
  WHERE false) AS u ON a.v = u.k, keys_2 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.v);

-- title: full join
-- changed: a, b
-- state: kept
SELECT a.k, a.v, b.k AS bk, b.w FROM a FULL JOIN b ON a.k = b.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.k, a.v, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.k AS bk, b.w, CAST(IF(__trickle_answers.__trickle_before, 1, 0) - IF(__trickle_answers.__trickle_after, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k)
UNION ALL
SELECT a.k, a.v, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_changes AS b ON false
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.k, a.v, b.k AS bk, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.k, a.v, b.k AS bk, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_before AS a
  WHERE (a.k = b.k)));

-- title: a left join on a column of the left side too has no lookup
-- changed: b
-- state: kept
SELECT a.k, b.w FROM a LEFT JOIN b ON a.k = b.k AND a.v > 0;
-- expect no state

-- title: keys without an equality have no lookup
-- changed: b
-- state: kept
SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w <> a.v);
-- expect no state

-- title: a minimum per key has no lookup
-- changed: b
-- state: kept
SELECT a.k FROM a WHERE a.v > (SELECT min(b.w) FROM b WHERE b.k = a.k);
-- expect no state

-- title: a left join behind a derived table without a name
-- changed: b
-- state: kept
SELECT v, w FROM (SELECT k AS x, v FROM a) LEFT JOIN b ON x = b.k;
-- expect no state

-- title: NOT EXISTS of a generator has no lookup
-- changed: a, c
-- state: kept
-- engine: spark
SELECT a.k FROM a WHERE NOT EXISTS (SELECT explode(c.tags) AS tag FROM c WHERE c.k = a.k);
-- expect no state

-- title: a star inside of a sum per key has no lookup
-- changed: b
-- state: kept
-- engine: spark
SELECT a.k, (SELECT sum(hash(*)) FROM b WHERE b.k = a.k) AS h FROM a;
-- expect no state

-- title: a star inside of a condition per key has no lookup
-- changed: a, b
-- state: kept
-- engine: spark
SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND hash(b.*) % 2 = 0);
-- expect no state

-- title: a large relation around a subquery is cut to the keys with another answer
-- changed: b
-- large: u
-- state: kept
SELECT a.v, u.w FROM u, a WHERE a.k = u.k AND u.w > 1 AND a.v > (SELECT count(*) FROM b WHERE b.k = a.k AND b.w > 0);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT b.k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 0))
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
SELECT a.v, u.w, CAST(IF(a.v > __trickle_answers.__trickle_after, 1, 0) - IF(a.v > __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM u_after
  WHERE `k` IN (
    SELECT `__trickle_k0`
    FROM answers_1)) AS u, a_after AS a, answers_1 AS __trickle_answers
WHERE (a.k = u.k) AND (u.w > 1) AND (__trickle_answers.`__trickle_k0` = a.k) AND (IF(a.v > __trickle_answers.__trickle_after, 1, 0) <> IF(a.v > __trickle_answers.__trickle_before, 1, 0));

-- title: all columns of a relation whose subquery has another answer
-- changed: b
-- state: kept
SELECT *, a.k + 1 AS k1 FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AND a.v > 0;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT * EXCEPT (`__trickle_k0`, __trickle_before, __trickle_after), a.k + 1 AS k1, CAST(IF(NOT __trickle_answers.__trickle_after, 1, 0) - IF(NOT __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a, keys_1 AS __trickle_answers
WHERE (a.v > 0) AND (__trickle_answers.`__trickle_k0` = a.k) AND (IF(NOT __trickle_answers.__trickle_after, 1, 0) <> IF(NOT __trickle_answers.__trickle_before, 1, 0));

-- title: a key of another type may meet several
-- changed: b
-- state: kept
SELECT t.k FROM t WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = t.b);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT t.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM t_after AS t
WHERE (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = t.b)) AND ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = t.b)))
UNION ALL
SELECT t.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM t_after AS t
WHERE (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = t.b)) AND ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = t.b)));

-- title: a left join by a key of another type
-- changed: b
-- state: kept
SELECT t.b, b.w FROM t LEFT JOIN b ON b.k = t.b;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT t.b, b.w, __trickle_weight AS __trickle_weight
FROM t_after AS t JOIN b_changes AS b ON b.k = t.b
UNION ALL
SELECT t.b, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM t_after AS t LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = t.b
WHERE (EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = t.b)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = t.b))
UNION ALL
SELECT t.b, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM t_after AS t LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = t.b
WHERE (EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = t.b)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = t.b));

-- title: IN by how often each value is there
-- changed: b
-- state: kept
SELECT a.v FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.w > 0);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 0))
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
-- expect change
SELECT a.v, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0));

-- title: NOT IN with NULLs among the values, both sides changed
-- changed: a, b
-- state: kept
SELECT a.v FROM a WHERE a.k NOT IN (SELECT b.k FROM b);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
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
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
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
  FROM keys_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM keys_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (a.k) IS NULL))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.k NOT IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)) AND (((a.k) IN (
  SELECT `__trickle_k0`
  FROM keys_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM keys_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (a.k) IS NULL));

-- title: IN of joined rows whose own subquery has another answer
-- changed: u
-- state: kept
SELECT a.v FROM a WHERE a.k IN (SELECT b.k FROM b, t WHERE t.k = b.k AND t.i IN (SELECT i FROM t WHERE g = 'a') AND b.w > (SELECT sum(u.w) FROM u WHERE u.k = b.k));
-- expect state_2, kept of a part
SELECT i AS `__trickle_k0`, count(*) AS __trickle_n
FROM t_after AS t
WHERE (g = 'a')
GROUP BY i;
-- expect state_3, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n, count(u.w) AS __trickle_c0, CAST(coalesce(sum((u.w)), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM u_after AS u
GROUP BY u.k;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b, t_after AS t
WHERE (t.k = b.k AND t.i IN (
  SELECT i
  FROM t_after AS t
  WHERE g = 'a') AND b.w > (
  SELECT sum(u.w)
  FROM u_after AS u
  WHERE u.k = b.k))
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(__trickle_x0 * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,2)) AS __trickle_s0
FROM (
  SELECT u.k AS `__trickle_k0`, u.w AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0, __trickle_s0_after AS __trickle_s0
    FROM (
      SELECT `__trickle_k0`, CASE WHEN __trickle_c0 > 0 THEN CAST(__trickle_s0 AS decimal(20,2)) END AS __trickle_before, __trickle_n_after, __trickle_c0_after, __trickle_s0_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after, sum(CASE WHEN __trickle_old THEN __trickle_s0 END) AS __trickle_s0, sum(__trickle_s0) AS __trickle_s0_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_3` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, CAST(IF(b.w > __trickle_answers.__trickle_after, 1, 0) - IF(b.w > __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_w
  FROM b_after AS b, t_after AS t, answers_1 AS __trickle_answers
  WHERE (t.k = b.k) AND (t.i IN (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_2`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)) AND (__trickle_answers.`__trickle_k0` = b.k) AND (IF(b.w > __trickle_answers.__trickle_after, 1, 0) <> IF(b.w > __trickle_answers.__trickle_before, 1, 0)))
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
-- expect change
SELECT a.v, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a, keys_1 AS __trickle_answers
WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0));

-- title: the list of IN is as it was
-- changed: a
-- state: kept
SELECT a.v FROM a WHERE a.v > 0 AND a.k IN (SELECT b.k + 1 FROM b WHERE b.w > 0);
-- expect state_1, kept of a part
SELECT b.k + 1 AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k + 1;
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.v > 0 AND a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT *
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`)
    WHERE `__trickle_k0` IN (
      SELECT `k`
      FROM a_changes))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0));

-- title: a list of IN that names the row around it has no state
-- changed: b
-- state: kept
SELECT a.v FROM a WHERE a.k IN (SELECT b.k + a.v FROM b);
-- expect no state

-- title: IN beside another subquery that has another answer
-- changed: a, b, u
-- state: kept
SELECT a.v FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.w > 0) AND EXISTS (SELECT 1 FROM u WHERE u.k = a.v);
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k;
-- expect state_2, kept of a part
SELECT u.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM u_after AS u
GROUP BY u.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 0))
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
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT u.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM u_changes AS u)
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
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT *
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_1)
    WHERE `__trickle_k0` IN (
      SELECT `k`
      FROM a_changes))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AND EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, __trickle_n
        FROM `state_2`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n
        FROM gains_2)
      WHERE `__trickle_k0` IN (
        SELECT `v`
        FROM a_changes))
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.v))
UNION ALL
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`
    UNION ALL
    SELECT `__trickle_k0`, __trickle_n
    FROM gains_1)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AND EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_2`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_2)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.v)) AND ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = a.k)) OR (EXISTS (
  SELECT 1
  FROM keys_2
  WHERE `__trickle_k0` = a.v)))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AND EXISTS (
  SELECT 1
  FROM (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_2`)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)
  WHERE `__trickle_k0` = a.v)) AND ((EXISTS (
  SELECT 1
  FROM keys_1
  WHERE `__trickle_k0` = a.k)) OR (EXISTS (
  SELECT 1
  FROM keys_2
  WHERE `__trickle_k0` = a.v)));

-- title: IN or a condition
-- changed: b
-- state: kept
SELECT a.v FROM a WHERE (a.v = 1 OR a.k IN (SELECT b.k FROM b WHERE b.w > 0));
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 0))
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
-- expect change
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE ((a.v = 1 OR a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`
    UNION ALL
    SELECT `__trickle_k0`, __trickle_n
    FROM gains_1)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE ((a.v = 1 OR a.k IN (
  SELECT `__trickle_k0`
  FROM (
    SELECT `__trickle_k0`, __trickle_n
    FROM `state_1`)
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0)));

-- title: groups of rows by EXISTS and by IN, which are added to what is published
-- changed: b
-- state: kept
SELECT s, count(*) AS n, sum(v) AS t, max(v) AS m FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.w > 0) GROUP BY s;
-- expect state, kept beside the table
SELECT s AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(v) AS __trickle_c1, CAST(coalesce(sum(CAST((v) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM a_after AS a
WHERE (a.k IN (
  SELECT b.k
  FROM b_after AS b
  WHERE b.w > 0))
GROUP BY s;
-- expect state_1, kept of a part
SELECT b.k AS `__trickle_k0`, count(*) AS __trickle_n
FROM b_after AS b
WHERE (b.w > 0)
GROUP BY b.k;
-- expect gains_2, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n
FROM (
  SELECT b.k AS `__trickle_k0`, __trickle_weight AS __trickle_w
  FROM b_changes AS b
  WHERE (b.w > 0))
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
SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1, max(CASE WHEN __trickle_n > 0 THEN __trickle_x2 END) AS __trickle_g2, max(CASE WHEN __trickle_n < 0 THEN __trickle_x2 END) AS __trickle_l2
FROM (
  SELECT `__trickle_k0`, __trickle_x2, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(CAST(__trickle_x1 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
  FROM (
    SELECT s AS `__trickle_k0`, 1 AS __trickle_x0, v AS __trickle_x1, v AS __trickle_x2, CAST(IF(__trickle_answers.__trickle_after, 1, 0) - IF(__trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_w
    FROM a_after AS a, keys_1 AS __trickle_answers
    WHERE (__trickle_answers.`__trickle_k0` = a.k) AND (IF(__trickle_answers.__trickle_after, 1, 0) <> IF(__trickle_answers.__trickle_before, 1, 0)))
  GROUP BY `__trickle_k0`, __trickle_x2)
GROUP BY `__trickle_k0`;
-- expect step_1, computed once: the groups that may have lost their minimum or maximum
SELECT d.`__trickle_k0`
FROM gains_3 AS d JOIN (
  SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
  FROM (
    SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
    FROM (
      SELECT *
      FROM state AS l
      WHERE EXISTS (
        SELECT 1
        FROM gains_3 AS d
        WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
  GROUP BY `__trickle_k0`
  HAVING sum(__trickle_n) <> 0) AS b ON b.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
  SELECT `s` AS `__trickle_k0`, CAST(`m` AS int) AS __trickle_e2, true AS __trickle_there
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
WHERE b.__trickle_n > 0 AND b.__trickle_n + d.__trickle_n > 0 AND (p.__trickle_there IS NULL OR (d.__trickle_l2 IS NOT NULL AND NOT (coalesce(p.__trickle_e2 > d.__trickle_l2, false) OR coalesce(d.__trickle_g2 >= d.__trickle_l2, false))));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS n, __trickle_i2 AS t, __trickle_i3 AS m
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, __trickle_n AS __trickle_i1, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS bigint) END AS __trickle_i2, __trickle_e2 AS __trickle_i3
    FROM (
      SELECT a.*, CASE WHEN a.__trickle_n > 0 THEN greatest(p.__trickle_e2, d.__trickle_g2) END AS __trickle_e2
      FROM gains_3 AS d JOIN (
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
        HAVING sum(__trickle_n) <> 0) AS a ON a.`__trickle_k0` <=> d.`__trickle_k0` LEFT JOIN (
        SELECT `s` AS `__trickle_k0`, CAST(`m` AS int) AS __trickle_e2, true AS __trickle_there
        FROM published AS __trickle_p
        WHERE EXISTS (
          SELECT 1
          FROM gains_3
          WHERE `__trickle_k0` <=> __trickle_p.`s`)) AS p ON p.`__trickle_k0` <=> d.`__trickle_k0`
      WHERE NOT EXISTS (
        SELECT 1
        FROM step_1 AS u
        WHERE u.`__trickle_k0` <=> d.`__trickle_k0`))
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s, count(*) AS n, sum(v) AS t, max(v) AS m
  FROM a_after AS a
  WHERE (a.k IN (
    SELECT `__trickle_k0`
    FROM (
      SELECT `__trickle_k0`, __trickle_n
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n
      FROM gains_2)
    GROUP BY `__trickle_k0`
    HAVING sum(__trickle_n) <> 0)) AND (EXISTS (
    SELECT 1
    FROM step_1
    WHERE `__trickle_k0` <=> (s)))
  GROUP BY s)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_3
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: groups of a derived table whose rows are looked up
-- changed: b
-- state: kept
SELECT v, count(*) AS n FROM (SELECT v, s FROM a WHERE v >= 0 AND NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)) AS q GROUP BY v;
-- expect state, kept beside the table
SELECT v AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT v, s
  FROM a_after AS a
  WHERE v >= 0 AND NOT EXISTS (
    SELECT 1
    FROM b_after AS b
    WHERE b.k = a.k)) AS q
GROUP BY v;
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
-- expect keys_1, computed once: the keys that came or went
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
-- expect derived_changes_2, computed once: the change of a derived table
SELECT v, s, CAST(IF(NOT __trickle_answers.__trickle_after, 1, 0) - IF(NOT __trickle_answers.__trickle_before, 1, 0) AS BIGINT) AS __trickle_weight
FROM a_after AS a, keys_1 AS __trickle_answers
WHERE (v >= 0) AND (__trickle_answers.`__trickle_k0` = a.k) AND (IF(NOT __trickle_answers.__trickle_after, 1, 0) <> IF(NOT __trickle_answers.__trickle_before, 1, 0));
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT v AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM derived_changes_2 AS q)
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
    WHERE `__trickle_k0` <=> __trickle_p.`v`));
