-- ORDER BY … LIMIT of rows: the published ones and the change of what lies below, while these suffice. Here no step has
-- rows, so the SQL of a change is that of a top which has lost some: computed anew. tests/engine/delta/test_top_k.py has both.

-- title: top
-- changed: a
SELECT k, v, s FROM a ORDER BY k, v, s LIMIT 3;
-- expect row_changes_1, computed once: the change of the rows below
SELECT k, v, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, `v`, `s`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `k`, `v`, `s`) AS __trickle_rank
    FROM (
      SELECT `k`, `v`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `v`, `s`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_1) AS __trickle_d(`k`, `v`, `s`, __trickle_weight))
      GROUP BY `k`, `v`, `s`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, s
  FROM a_after AS a
  ORDER BY k, v, s
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top with offset
-- changed: a
SELECT k, v, s FROM a ORDER BY k DESC, v, s LIMIT 2 OFFSET 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, s
  FROM a_after AS a
  ORDER BY k DESC, v, s
  LIMIT 2 OFFSET 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of joined rows, by relation, position and name
-- changed: a, b+
SELECT a.k, b.w AS cost, a.s FROM a JOIN b ON a.k = b.k WHERE a.v > 0 ORDER BY a.k DESC NULLS LAST, 2, s LIMIT 4;
-- expect row_changes_1, computed once: the change of the rows below
SELECT a.k, b.w AS cost, a.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
WHERE (a.v > 0)
UNION ALL
SELECT a.k, b.w AS cost, a.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
WHERE (a.v > 0);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, `cost`, `s`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `k` DESC NULLS LAST, `cost`, `s`) AS __trickle_rank
    FROM (
      SELECT `k`, `cost`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `cost`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `cost`, `s`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_1) AS __trickle_d(`k`, `cost`, `s`, __trickle_weight))
      GROUP BY `k`, `cost`, `s`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `cost`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 4 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT a.k, b.w AS cost, a.s
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE a.v > 0
  ORDER BY a.k DESC NULLS LAST, 2, s
  LIMIT 4)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of UNION ALL
-- changed: a, b
SELECT k, v AS x FROM a UNION ALL SELECT k, k FROM b ORDER BY x, k LIMIT 3;
-- expect row_changes_1, computed once: the change of the rows below
SELECT CAST(`__trickle_c1` AS int) AS `k`, CAST(`__trickle_c2` AS int) AS `x`, __trickle_weight
FROM (
  SELECT k, v AS x, __trickle_weight AS __trickle_weight
  FROM a_changes AS a) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight)
UNION ALL
SELECT CAST(`__trickle_c1` AS int) AS `k`, CAST(`__trickle_c2` AS int) AS `x`, __trickle_weight
FROM (
  SELECT k, k, __trickle_weight AS __trickle_weight
  FROM b_changes AS b) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight);
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, `x`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `x`, `k`) AS __trickle_rank
    FROM (
      SELECT `k`, `x`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `x`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `x`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_1) AS __trickle_d(`k`, `x`, __trickle_weight))
      GROUP BY `k`, `x`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `x`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v AS x
  FROM a_after AS a
  UNION ALL
  SELECT k, k
  FROM b_after AS b
  ORDER BY x, k
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of rows chosen by groups with state
-- changed: a, b
-- state: kept
SELECT k, v, s FROM a WHERE k IN (SELECT k FROM b GROUP BY k HAVING count(*) > 1) ORDER BY v, k, s LIMIT 3;
-- expect state_1, kept of a part
SELECT k AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM b_after AS b
GROUP BY k;
-- expect gains_1, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT k AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM b_changes AS b)
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
-- expect row_changes_2, computed once: the change of the rows below
SELECT k, v, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (
  SELECT *
  FROM part_after_1))
UNION ALL
SELECT k, v, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT *
  FROM part_after_1)) AND (((k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL))
UNION ALL
SELECT k, v, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT *
  FROM part_before_1)) AND (((k) IN (
  SELECT `k`
  FROM part_changes_1) OR EXISTS (
  SELECT 1
  FROM (
    SELECT `k`
    FROM part_changes_1) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL));
-- expect top_candidates_2, computed once: what may be on top now
SELECT `k`, `v`, `s`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `v`, `k`, `s`) AS __trickle_rank
    FROM (
      SELECT `k`, `v`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `v`, `s`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_2) AS __trickle_d(`k`, `v`, `s`, __trickle_weight))
      GROUP BY `k`, `v`, `s`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, s
  FROM a_after AS a
  WHERE k IN (
    SELECT *
    FROM part_after_1)
  ORDER BY v, k, s
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of distinct rows is computed anew
-- changed: a
SELECT DISTINCT k, v FROM a ORDER BY k, v LIMIT 3;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT DISTINCT k, v
  FROM a_after AS a
  ORDER BY k, v
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top by an expression is computed anew
-- changed: a
SELECT k, v, s FROM a ORDER BY k + v, k, v, s LIMIT 3;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, s
  FROM a_after AS a
  ORDER BY k + v, k, v, s
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of doubles is computed anew
-- changed: f
SELECT k, d FROM f ORDER BY k, d LIMIT 3;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, d
  FROM f_after AS f
  ORDER BY k, d
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: top of rows that did not change
-- changed: b
SELECT k, v, s FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k < 0 AND b.k > 0) ORDER BY k, v, s LIMIT 3;
-- expect row_changes_1, computed once: the change of the rows below
SELECT k, v, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b
  WHERE b.k < 0 AND b.k > 0)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k < 0 AND b.k > 0))))
UNION ALL
SELECT k, v, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_before AS b
  WHERE b.k < 0 AND b.k > 0)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k < 0 AND b.k > 0))));
-- expect top_candidates_1, computed once: what may be on top now
SELECT `k`, `v`, `s`, __trickle_weight, __trickle_count
FROM (
  SELECT *, max(CASE WHEN __trickle_was THEN __trickle_rank END) OVER () AS __trickle_last, count(CASE WHEN __trickle_was THEN 1 END) OVER () AS __trickle_count
  FROM (
    SELECT *, rank() OVER (ORDER BY `k`, `v`, `s`) AS __trickle_rank
    FROM (
      SELECT `k`, `v`, `s`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight, false AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published
        UNION ALL
        SELECT `k`, `v`, `s`, __trickle_weight
        FROM (
          SELECT *
          FROM row_changes_1) AS __trickle_d(`k`, `v`, `s`, __trickle_weight))
      GROUP BY `k`, `v`, `s`
      HAVING sum(__trickle_weight) <> 0
      UNION ALL
      SELECT *, true AS __trickle_was
      FROM (
        SELECT `k`, `v`, `s`, CAST(1 AS BIGINT) AS __trickle_weight
        FROM published))))
WHERE NOT __trickle_was AND (__trickle_count < 3 OR __trickle_rank < __trickle_last OR (__trickle_rank = __trickle_last AND __trickle_weight > 0));
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, s
  FROM a_after AS a
  WHERE EXISTS (
    SELECT 1
    FROM b_after AS b
    WHERE b.k < 0 AND b.k > 0)
  ORDER BY k, v, s
  LIMIT 3)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);
