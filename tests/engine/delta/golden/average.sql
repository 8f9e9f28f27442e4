-- Averages of whole numbers inside a query: exact below 2^53 in all, and failing beyond.

-- title: in a derived table
-- changed: a
SELECT x.m, count(*) AS n FROM (SELECT k, avg(v) AS m FROM a GROUP BY k) AS x GROUP BY x.m;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT x.m AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM derived_changes_1 LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS x
  GROUP BY x.m
  UNION ALL
  SELECT DISTINCT x.m AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
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
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS double) AS `m`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`m`)) AS o ON g.`__trickle_k0` <=> o.`m`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT x.m, count(*) AS n
  FROM (
    SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
    FROM a_after AS a
    GROUP BY k) AS x
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (x.m)))
  GROUP BY x.m)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`m`));

-- title: in a derived table, of large numbers, with state
-- changed: t
-- state: kept
SELECT x.m, count(*) AS n FROM (SELECT g, avg(i) AS m, count(*) AS c FROM t GROUP BY g) AS x GROUP BY x.m;
-- expect state, kept beside the table
SELECT x.m AS `__trickle_k0`, count(*) AS __trickle_n, count(1) AS __trickle_c0
FROM (
  SELECT g, CASE WHEN coalesce(sum(abs(CAST(i AS DOUBLE))), 0) < 9007199254740992 THEN avg(i) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m, count(*) AS c
  FROM t_after AS t
  GROUP BY g) AS x
GROUP BY x.m;
-- expect state_1, kept of a part
SELECT g AS `__trickle_k0`, count(*) AS __trickle_n, count(i) AS __trickle_c0, CAST(coalesce(sum(CAST((i) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST((i) AS DECIMAL(20,0)))), 0) AS DECIMAL(38,0)) AS __trickle_a0, count(1) AS __trickle_c1
FROM t_after AS t
GROUP BY g;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(CAST(__trickle_x0 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST(__trickle_x0 AS DECIMAL(20,0))) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_a0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1
FROM (
  SELECT g AS `__trickle_k0`, i AS __trickle_x0, 1 AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM t_changes AS t)
GROUP BY `__trickle_k0`;
-- expect part_changes_1, computed once: the change of a part
SELECT `g`, `m`, `c`, CAST(sum(__trickle_weight) AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m, __trickle_i2 AS c
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i1, __trickle_n AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0, sum(__trickle_c1) AS __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
            FROM (
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
              FROM (
                SELECT *
                FROM `state_1` AS l
                WHERE EXISTS (
                  SELECT 1
                  FROM gains_2 AS d
                  WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
              UNION ALL
              SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
              FROM gains_2))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_a0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m, __trickle_i2 AS c
      FROM (
        SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i1, __trickle_n AS __trickle_i2
        FROM (
          SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0, sum(__trickle_c1) AS __trickle_c1
          FROM (
            SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
            FROM (
              SELECT *
              FROM `state_1` AS l
              WHERE EXISTS (
                SELECT 1
                FROM gains_2 AS d
                WHERE d.`__trickle_k0` <=> l.`__trickle_k0`)))
          GROUP BY `__trickle_k0`
          HAVING sum(__trickle_n) <> 0)
        WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_a0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true)))) AS __trickle_q(`g`, `m`, `c`, __trickle_weight))
GROUP BY `g`, `m`, `c`
HAVING sum(__trickle_weight) <> 0;
-- expect part_after_1, a view: a part after
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m, __trickle_i2 AS c
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
          FROM `state_1`
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
          FROM gains_2))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_a0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `m`, `c`);
-- expect part_before_1, a view: a part before
SELECT *
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS m, __trickle_i2 AS c
  FROM (
    SELECT `__trickle_k0` AS __trickle_i0, CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_i1, __trickle_n AS __trickle_i2
    FROM (
      SELECT `__trickle_k0`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0, sum(__trickle_c1) AS __trickle_c1
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, __trickle_c1
        FROM (
          SELECT *
          FROM `state_1`))
      GROUP BY `__trickle_k0`
      HAVING sum(__trickle_n) <> 0)
    WHERE IF(__trickle_n < 0 OR __trickle_c0 < 0 OR __trickle_a0 < 0 OR __trickle_c1 < 0, CAST(raise_error('Kept lines: the sums of a group do not add up') AS BOOLEAN), true))) AS __trickle_q(`g`, `m`, `c`);
-- expect gains_3, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0
FROM (
  SELECT x.m AS `__trickle_k0`, 1 AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM part_changes_1 AS x)
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
    WHERE `__trickle_k0` <=> __trickle_p.`m`));

-- title: of BIGINT, with HAVING that names it alone
-- changed: a
SELECT x.k FROM (SELECT k FROM a GROUP BY k HAVING avg(CAST(v AS BIGINT)) > 1) AS x;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k
  HAVING CASE WHEN coalesce(sum(abs(CAST(CAST(v AS BIGINT) AS DOUBLE))), 0) < 9007199254740992 THEN avg(CAST(v AS BIGINT)) ELSE CAST(raise_error('avg() of bigint numbers that are 2^53 or more in all') AS DOUBLE) END > 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k
  HAVING CASE WHEN coalesce(sum(abs(CAST(CAST(v AS BIGINT) AS DOUBLE))), 0) < 9007199254740992 THEN avg(CAST(v AS BIGINT)) ELSE CAST(raise_error('avg() of bigint numbers that are 2^53 or more in all') AS DOUBLE) END > 1);
-- expect change
SELECT x.k, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x;

-- title: of DISTINCT values, with FILTER, in a column without a name
-- changed: a
SELECT x.k, x.`avg(DISTINCT v)` AS d, x.f FROM (SELECT k, avg(DISTINCT v), mean(k) FILTER (WHERE v > 0) AS f FROM a GROUP BY k) AS x;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(DISTINCT v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(DISTINCT v)`, CASE WHEN coalesce(sum(abs(CAST(k AS DOUBLE))) FILTER (WHERE v > 0), 0) < 9007199254740992 THEN mean(k) FILTER (WHERE v > 0) ELSE CAST(raise_error('mean() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS f
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(DISTINCT v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(DISTINCT v)`, CASE WHEN coalesce(sum(abs(CAST(k AS DOUBLE))) FILTER (WHERE v > 0), 0) < 9007199254740992 THEN mean(k) FILTER (WHERE v > 0) ELSE CAST(raise_error('mean() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS f
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect change
SELECT x.k, x.`avg(DISTINCT v)` AS d, x.f, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x;

-- title: in a WITH without names of its columns, joined with rows that changed
-- changed: b
WITH x AS (SELECT k, avg(v) FROM a GROUP BY k) SELECT b.w, x.`avg(v)` AS m FROM b JOIN x ON x.k = b.k;
-- expect x_after, a view: x after
SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(v)`
FROM a_after AS a
GROUP BY k;
-- expect change
SELECT b.w, x.`avg(v)` AS m, __trickle_weight AS __trickle_weight
FROM b_changes AS b JOIN x_after AS x ON x.k = b.k;

-- title: in a scalar subquery and in IN
-- changed: a
SELECT b.k, (SELECT avg(v) FROM a) AS m FROM b WHERE b.k IN (SELECT avg(v) FROM a GROUP BY k);
-- expect change
SELECT b.k, (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(v)`
  FROM a_after AS a) AS m, CAST(1 AS BIGINT) AS __trickle_weight
FROM b_after AS b
WHERE (b.k IN (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(v)`
  FROM a_after AS a
  GROUP BY k)) AND ((EXISTS (
  SELECT 1
  FROM a_changes AS a)) OR (EXISTS (
  SELECT 1
  FROM a_changes AS a)))
UNION ALL
SELECT b.k, (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(v)`
  FROM a_before AS a) AS m, CAST(-1 AS BIGINT) AS __trickle_weight
FROM b_after AS b
WHERE (b.k IN (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(v)`
  FROM a_before AS a
  GROUP BY k)) AND ((EXISTS (
  SELECT 1
  FROM a_changes AS a)) OR (EXISTS (
  SELECT 1
  FROM a_changes AS a)));

-- title: in a correlated subquery
-- changed: a, b
SELECT b.k, b.w, (SELECT avg(a.v) FROM a WHERE a.k = b.k) AS m FROM b;
-- expect change
SELECT b.k, b.w, (
  SELECT CASE WHEN coalesce(sum(abs(CAST(a.v AS DOUBLE))), 0) < 9007199254740992 THEN avg(a.v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(a.v)`
  FROM (
    SELECT *
    FROM a_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS a
  WHERE a.k = b.k) AS m, __trickle_weight AS __trickle_weight
FROM b_changes AS b
UNION ALL
SELECT b.k, b.w, (
  SELECT CASE WHEN coalesce(sum(abs(CAST(a.v AS DOUBLE))), 0) < 9007199254740992 THEN avg(a.v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(a.v)`
  FROM (
    SELECT *
    FROM a_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS a
  WHERE a.k = b.k) AS m, CAST(1 AS BIGINT) AS __trickle_weight
FROM b_before AS b
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))))
UNION ALL
SELECT b.k, b.w, (
  SELECT CASE WHEN coalesce(sum(abs(CAST(a.v AS DOUBLE))), 0) < 9007199254740992 THEN avg(a.v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(a.v)`
  FROM (
    SELECT *
    FROM a_before
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS a
  WHERE a.k = b.k) AS m, CAST(-1 AS BIGINT) AS __trickle_weight
FROM b_before AS b
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))));

-- title: in a correlated subquery, with state
-- changed: a, b
-- state: kept
SELECT b.k, (SELECT 2 * avg(a.v) FROM a WHERE a.k = b.k) AS m FROM b;
-- expect state_1, kept of a part
SELECT a.k AS `__trickle_k0`, count(*) AS __trickle_n, count(a.v) AS __trickle_c0, CAST(coalesce(sum(CAST((a.v) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST((a.v) AS DECIMAL(20,0)))), 0) AS DECIMAL(38,0)) AS __trickle_a0
FROM a_after AS a
GROUP BY a.k;
-- expect gains_1, computed once: what the changed rows add to each key
SELECT `__trickle_k0`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, CAST(coalesce(sum(CAST(__trickle_x0 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s0, CAST(coalesce(sum(abs(CAST(__trickle_x0 AS DECIMAL(20,0))) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_a0
FROM (
  SELECT a.k AS `__trickle_k0`, a.v AS __trickle_x0, __trickle_weight AS __trickle_w
  FROM a_changes AS a)
GROUP BY `__trickle_k0`;
-- expect answers_1, computed once: the keys with another answer
SELECT *
FROM (
  SELECT `__trickle_k0`, __trickle_before, 2 * CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_after
  FROM (
    SELECT `__trickle_k0`, __trickle_before, __trickle_n_after AS __trickle_n, __trickle_c0_after AS __trickle_c0, __trickle_s0_after AS __trickle_s0, __trickle_a0_after AS __trickle_a0
    FROM (
      SELECT `__trickle_k0`, 2 * CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END AS __trickle_before, __trickle_n_after, __trickle_c0_after, __trickle_s0_after, __trickle_a0_after
      FROM (
        SELECT `__trickle_k0`, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_n END), 0) AS __trickle_n, coalesce(sum(__trickle_n), 0) AS __trickle_n_after, coalesce(sum(CASE WHEN __trickle_old THEN __trickle_c0 END), 0) AS __trickle_c0, coalesce(sum(__trickle_c0), 0) AS __trickle_c0_after, sum(CASE WHEN __trickle_old THEN __trickle_s0 END) AS __trickle_s0, sum(__trickle_s0) AS __trickle_s0_after, sum(CASE WHEN __trickle_old THEN __trickle_a0 END) AS __trickle_a0, sum(__trickle_a0) AS __trickle_a0_after
        FROM (
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, true AS __trickle_old
          FROM (
            SELECT *
            FROM `state_1` AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_1 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0`))
          UNION ALL
          SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0, false AS __trickle_old
          FROM (
            SELECT *
            FROM gains_1))
        GROUP BY `__trickle_k0`))))
WHERE NOT (__trickle_before <=> __trickle_after);
-- expect change
SELECT b.k, (
  SELECT 2 * CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0
    FROM (
      SELECT *
      FROM (
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0
        FROM `state_1`
        UNION ALL
        SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0
        FROM gains_1)
      WHERE `__trickle_k0` IN (
        SELECT `k`
        FROM b_changes))
    WHERE `__trickle_k0` = b.k)) AS m, __trickle_weight AS __trickle_weight
FROM b_changes AS b
UNION ALL
SELECT b.k, (
  SELECT 2 * CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0
      FROM `state_1`
      UNION ALL
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0
      FROM gains_1)
    WHERE `__trickle_k0` = b.k)) AS m, CAST(1 AS BIGINT) AS __trickle_weight
FROM b_before AS b
WHERE ((EXISTS (
  SELECT 1
  FROM answers_1
  WHERE `__trickle_k0` = b.k)))
UNION ALL
SELECT b.k, (
  SELECT 2 * CASE WHEN __trickle_c0 > 0 THEN IF(__trickle_a0 < 9007199254740992, CAST(__trickle_s0 AS DOUBLE) / CAST(__trickle_c0 AS DOUBLE), raise_error('Kept lines: an average of more than 2^53 in all')) END
  FROM (
    SELECT coalesce(sum(__trickle_n), 0) AS __trickle_n, coalesce(sum(__trickle_c0), 0) AS __trickle_c0, sum(__trickle_s0) AS __trickle_s0, sum(__trickle_a0) AS __trickle_a0
    FROM (
      SELECT `__trickle_k0`, __trickle_n, __trickle_c0, __trickle_s0, __trickle_a0
      FROM `state_1`)
    WHERE `__trickle_k0` = b.k)) AS m, CAST(-1 AS BIGINT) AS __trickle_weight
FROM b_before AS b
WHERE ((EXISTS (
  SELECT 1
  FROM answers_1
  WHERE `__trickle_k0` = b.k)));

-- title: over a window
-- changed: a
SELECT x.k, x.m FROM (SELECT k, avg(v) OVER (PARTITION BY k) AS m FROM a) AS x WHERE x.m > 0;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))) OVER (PARTITION BY k), 0) < 9007199254740992 THEN avg(v) OVER (PARTITION BY k) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))) OVER (PARTITION BY k), 0) < 9007199254740992 THEN avg(v) OVER (PARTITION BY k) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))));
-- expect change
SELECT x.k, x.m, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x
WHERE (x.m > 0);

-- title: of totals over groups
-- changed: a
SELECT x.k, x.m FROM (SELECT k, avg(sum(v)) OVER () AS m FROM a GROUP BY k) AS x;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(sum(v) AS DOUBLE))) OVER (), 0) < 9007199254740992 THEN avg(sum(v)) OVER () ELSE CAST(raise_error('avg() of bigint numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_after AS a
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(sum(v) AS DOUBLE))) OVER (), 0) < 9007199254740992 THEN avg(sum(v)) OVER () ELSE CAST(raise_error('avg() of bigint numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_before AS a
  GROUP BY k);
-- expect change
SELECT x.k, x.m, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x;

-- title: keys that the result does not show
-- changed: a
SELECT avg(v) AS m, count(*) AS n FROM a GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m, count(*) AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m, count(*) AS n
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);

-- title: distinct ones
-- changed: a
SELECT DISTINCT avg(v) AS m FROM a GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS double) AS `__trickle_c1`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
      FROM a_after AS a
      WHERE (EXISTS (
        SELECT 1
        FROM keys_1
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
      FROM a_before AS a
      WHERE (EXISTS (
        SELECT 1
        FROM keys_1
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)) AS __trickle_q(`__trickle_c1`, __trickle_weight))
GROUP BY `__trickle_c1`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `m`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) + coalesce(n.__trickle_r, 0L) > 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) + (coalesce(n.__trickle_r, 0L) - d.__trickle_r) > 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS double) AS `__trickle_c1`
        FROM (
          SELECT CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
          FROM a_after AS a
          GROUP BY k) AS __trickle_q(`__trickle_c1`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1`)
    GROUP BY `__trickle_c1`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1`)
WHERE __trickle_weight <> 0;

-- title: on both sides of a set operation
-- changed: a, b
SELECT k, avg(v) AS m FROM a GROUP BY k EXCEPT SELECT k, avg(k) FROM b GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect keys_2, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM b_changes AS b;
-- expect changed_rows_1, computed once: the changed rows and how often they come and go
SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
FROM (
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS double) AS `__trickle_c2`, __trickle_weight AS __trickle_l, 0L AS __trickle_r
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
      FROM a_after AS a
      WHERE (EXISTS (
        SELECT 1
        FROM keys_1
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
      FROM a_before AS a
      WHERE (EXISTS (
        SELECT 1
        FROM keys_1
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight)
  UNION ALL
  SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS double) AS `__trickle_c2`, 0L AS __trickle_l, __trickle_weight AS __trickle_r
  FROM (
    SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT k, CASE WHEN coalesce(sum(abs(CAST(k AS DOUBLE))), 0) < 9007199254740992 THEN avg(k) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(k)`
      FROM b_after AS b
      WHERE (EXISTS (
        SELECT 1
        FROM keys_2
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)
    UNION ALL
    SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
    FROM (
      SELECT k, CASE WHEN coalesce(sum(abs(CAST(k AS DOUBLE))), 0) < 9007199254740992 THEN avg(k) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(k)`
      FROM b_before AS b
      WHERE (EXISTS (
        SELECT 1
        FROM keys_2
        WHERE `__trickle_k0` <=> (k)))
      GROUP BY k)) AS __trickle_q(`__trickle_c1`, `__trickle_c2`, __trickle_weight))
GROUP BY `__trickle_c1`, `__trickle_c2`
HAVING sum(__trickle_l) <> 0 OR sum(__trickle_r) <> 0;
-- expect change
SELECT *
FROM (
  SELECT d.`__trickle_c1` AS `k`, d.`__trickle_c2` AS `m`, IF((coalesce(n.__trickle_l, 0L) - d.__trickle_l) < 0 OR (coalesce(n.__trickle_r, 0L) - d.__trickle_r) < 0, CAST(raise_error('the counts of a row do not add up') AS BIGINT), CAST(if(coalesce(n.__trickle_l, 0L) > 0 AND coalesce(n.__trickle_r, 0L) <= 0, 1L, 0L) - if((coalesce(n.__trickle_l, 0L) - d.__trickle_l) > 0 AND (coalesce(n.__trickle_r, 0L) - d.__trickle_r) <= 0, 1L, 0L) AS BIGINT)) AS __trickle_weight
  FROM changed_rows_1 AS d LEFT JOIN (
    SELECT `__trickle_c1`, `__trickle_c2`, sum(__trickle_l) AS __trickle_l, sum(__trickle_r) AS __trickle_r
    FROM (
      SELECT `__trickle_c1`, `__trickle_c2`, 1L AS __trickle_l, 0L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS double) AS `__trickle_c2`
        FROM (
          SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
          FROM a_after AS a
          GROUP BY k) AS __trickle_q(`__trickle_c1`, `__trickle_c2`))
      UNION ALL
      SELECT `__trickle_c1`, `__trickle_c2`, 0L AS __trickle_l, 1L AS __trickle_r
      FROM (
        SELECT CAST(`__trickle_c1` AS int) AS `__trickle_c1`, CAST(`__trickle_c2` AS double) AS `__trickle_c2`
        FROM (
          SELECT k, CASE WHEN coalesce(sum(abs(CAST(k AS DOUBLE))), 0) < 9007199254740992 THEN avg(k) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS `avg(k)`
          FROM b_after AS b
          GROUP BY k) AS __trickle_q(`__trickle_c1`, `__trickle_c2`))) AS n
    WHERE EXISTS (
      SELECT 1
      FROM changed_rows_1 AS d
      WHERE d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
    GROUP BY `__trickle_c1`, `__trickle_c2`) AS n ON d.`__trickle_c1` <=> n.`__trickle_c1` AND d.`__trickle_c2` <=> n.`__trickle_c2`)
WHERE __trickle_weight <> 0;

-- title: of an average that was rounded down
-- changed: a
SELECT x.m FROM (SELECT avg(CAST(y.m AS INT)) AS m FROM (SELECT k, avg(v) AS m FROM a GROUP BY k) AS y) AS x;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM derived_changes_1 AS y)
LIMIT 1;
-- expect derived_changes_2, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT CASE WHEN coalesce(sum(abs(CAST(CAST(y.m AS INT) AS DOUBLE))), 0) < 9007199254740992 THEN avg(CAST(y.m AS INT)) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM (
    SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
    FROM a_after AS a
    GROUP BY k) AS y)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT CASE WHEN coalesce(sum(abs(CAST(CAST(y.m AS INT) AS DOUBLE))), 0) < 9007199254740992 THEN avg(CAST(y.m AS INT)) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
  FROM (
    SELECT k, CASE WHEN coalesce(sum(abs(CAST(v AS DOUBLE))), 0) < 9007199254740992 THEN avg(v) ELSE CAST(raise_error('avg() of int numbers that are 2^53 or more in all') AS DOUBLE) END AS m
    FROM a_before AS a
    GROUP BY k) AS y);
-- expect change
SELECT x.m, __trickle_weight AS __trickle_weight
FROM derived_changes_2 AS x;
