-- Names that differ by more than case, and names that only quotes make one.

-- title: join by one of two names that fold alike
-- changed: m
SELECT x.k, y.k AS yk FROM m AS x JOIN m AS y ON x.mass = y.mass;
-- expect change
SELECT x.k, y.k AS yk, __trickle_weight AS __trickle_weight
FROM m_changes AS x JOIN m_after AS y ON x.mass = y.mass
UNION ALL
SELECT x.k, y.k AS yk, __trickle_weight AS __trickle_weight
FROM m_before AS x JOIN m_changes AS y ON x.mass = y.mass;

-- title: join by the other of two names that fold alike
-- changed: m+
SELECT x.k, y.k AS yk FROM m AS x JOIN m AS y ON x.`maß` = y.`MAß`;
-- expect change
SELECT x.k, y.k AS yk, __trickle_weight AS __trickle_weight
FROM m_changes AS x JOIN m_after AS y ON x.`maß` = y.`MAß`
UNION ALL
SELECT x.k, y.k AS yk, __trickle_weight AS __trickle_weight
FROM m_before AS x JOIN m_changes AS y ON x.`maß` = y.`MAß`;

-- title: left join by one of two names that fold alike
-- changed: a, m
SELECT a.k, m.`maß` FROM a LEFT JOIN m ON m.mass = a.k;
-- expect change
SELECT a.k, m.`maß`, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN m_after AS m ON m.mass = a.k
UNION ALL
SELECT a.k, m.`maß`, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN m_changes AS m ON m.mass = a.k
UNION ALL
SELECT a.k, m.`maß`, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM m_after
  WHERE false) AS m ON m.mass = a.k
WHERE (EXISTS (
  SELECT 1
  FROM m_changes AS m
  WHERE m.mass = a.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM m_after
    WHERE `mass` IN (
      SELECT `mass`
      FROM m_changes)) AS m
  WHERE m.mass = a.k))
UNION ALL
SELECT a.k, m.`maß`, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM m_after
  WHERE false) AS m ON m.mass = a.k
WHERE (EXISTS (
  SELECT 1
  FROM m_changes AS m
  WHERE m.mass = a.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM m_before
    WHERE `mass` IN (
      SELECT `mass`
      FROM m_changes)) AS m
  WHERE m.mass = a.k));

-- title: exists by one of two names that fold alike
-- changed: a, m
SELECT a.k FROM a WHERE EXISTS (SELECT 1 FROM m WHERE m.`maß` = a.k);
-- expect change
SELECT a.k, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM m_after
    WHERE `maß` IN (
      SELECT `k`
      FROM a_changes)) AS m
  WHERE m.`maß` = a.k))
UNION ALL
SELECT a.k, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM m_after
    WHERE `maß` IN (
      SELECT `maß`
      FROM m_changes)) AS m
  WHERE m.`maß` = a.k)) AND ((EXISTS (
  SELECT 1
  FROM m_changes AS m
  WHERE (m.`maß` = a.k))))
UNION ALL
SELECT a.k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM m_before
    WHERE `maß` IN (
      SELECT `maß`
      FROM m_changes)) AS m
  WHERE m.`maß` = a.k)) AND ((EXISTS (
  SELECT 1
  FROM m_changes AS m
  WHERE (m.`maß` = a.k))));

-- title: group by two names that fold alike
-- changed: m
SELECT mass, `maß`, count(*) AS n FROM m GROUP BY mass, `maß`;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, `__trickle_k1`, sum(`__trickle_g2`) AS `__trickle_g2`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT mass AS `__trickle_k0`, `maß` AS `__trickle_k1`, count(*) AS `__trickle_g2`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM m_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS m
  GROUP BY mass, `maß`
  UNION ALL
  SELECT DISTINCT mass AS `__trickle_k0`, `maß` AS `__trickle_k1`, NULL AS `__trickle_g2`, true AS __trickle_loses
  FROM m_changes AS m
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `mass`, CAST(g.`__trickle_k1` AS int) AS `maß`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g2` WHEN g.`__trickle_g2` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g2` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`mass` AND `__trickle_k1` <=> __trickle_p.`maß`)) AS o ON g.`__trickle_k0` <=> o.`mass` AND g.`__trickle_k1` <=> o.`maß`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT mass, `maß`, count(*) AS n
  FROM m_after AS m
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (mass) AND `__trickle_k1` <=> (`maß`)))
  GROUP BY mass, `maß`)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`mass` AND `__trickle_k1` <=> __trickle_p.`maß`));

-- title: group by two names that fold alike, with state
-- changed: m
-- state: kept
SELECT `maß`, mass, count(*) AS n, sum(k) AS s FROM m GROUP BY mass, `maß`;
-- expect state, kept beside the table
SELECT mass AS `__trickle_k0`, `maß` AS `__trickle_k1`, count(*) AS __trickle_n, count(1) AS __trickle_c0, count(k) AS __trickle_c1, CAST(coalesce(sum(CAST((k) AS DECIMAL(20,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM m_after AS m
GROUP BY mass, `maß`;
-- expect gains_2, computed once: what the changed rows add to each group
SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_w) AS __trickle_n, sum(CASE WHEN __trickle_x0 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c0, sum(CASE WHEN __trickle_x1 IS NULL THEN 0L ELSE __trickle_w END) AS __trickle_c1, CAST(coalesce(sum(CAST(__trickle_x1 AS DECIMAL(20,0)) * CAST(__trickle_w AS DECIMAL(10,0))), 0) AS DECIMAL(38,0)) AS __trickle_s1
FROM (
  SELECT mass AS `__trickle_k0`, `maß` AS `__trickle_k1`, 1 AS __trickle_x0, k AS __trickle_x1, __trickle_weight AS __trickle_w
  FROM m_changes AS m)
GROUP BY `__trickle_k0`, `__trickle_k1`;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT __trickle_i0 AS `__trickle_i0`, __trickle_i1 AS `__trickle_i1`, __trickle_i2 AS n, __trickle_i3 AS s
  FROM (
    SELECT `__trickle_k1` AS __trickle_i0, `__trickle_k0` AS __trickle_i1, __trickle_n AS __trickle_i2, CASE WHEN __trickle_c1 > 0 THEN CAST(__trickle_s1 AS bigint) END AS __trickle_i3
    FROM (
      SELECT `__trickle_k0`, `__trickle_k1`, sum(__trickle_n) AS __trickle_n, sum(__trickle_c0) AS __trickle_c0, sum(__trickle_c1) AS __trickle_c1, sum(__trickle_s1) AS __trickle_s1
      FROM (
        SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
        FROM (
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM (
            SELECT *
            FROM state AS l
            WHERE EXISTS (
              SELECT 1
              FROM gains_2 AS d
              WHERE d.`__trickle_k0` <=> l.`__trickle_k0` AND d.`__trickle_k1` <=> l.`__trickle_k1`))
          UNION ALL
          SELECT `__trickle_k0`, `__trickle_k1`, __trickle_n, __trickle_c0, __trickle_c1, __trickle_s1
          FROM gains_2))
      GROUP BY `__trickle_k0`, `__trickle_k1`
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
    WHERE `__trickle_k0` <=> __trickle_p.`mass` AND `__trickle_k1` <=> __trickle_p.`maß`));

-- title: window by one of two names that fold alike
-- changed: m
SELECT k, mass, `maß`, rank() OVER (PARTITION BY `maß` ORDER BY k, mass) AS r FROM m;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT `maß` AS `__trickle_k0`
FROM m_changes AS m;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, mass, `maß`, rank() OVER (PARTITION BY `maß` ORDER BY k, mass) AS r
  FROM m_after AS m
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (`maß`))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`maß`));

-- title: two ctes whose names fold alike
-- changed: a, b
WITH `straße` AS (SELECT k FROM a), strasse AS (SELECT k FROM b)
SELECT x.k FROM `straße` AS x JOIN strasse AS y ON x.k = y.k;
-- expect stra_e_after, a view: straße after
SELECT k
FROM a_after AS a;
-- expect stra_e_changes, computed once: the change of straße
SELECT k, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect stra_e_before, a view: straße before
SELECT k
FROM a_before AS a;
-- expect strasse_after, a view: strasse after
SELECT k
FROM b_after AS b;
-- expect strasse_changes, computed once: the change of strasse
SELECT k, __trickle_weight AS __trickle_weight
FROM b_changes AS b;
-- expect strasse_before, a view: strasse before
SELECT k
FROM b_before AS b;
-- expect change
SELECT x.k, __trickle_weight AS __trickle_weight
FROM stra_e_changes AS x JOIN strasse_after AS y ON x.k = y.k
UNION ALL
SELECT x.k, __trickle_weight AS __trickle_weight
FROM stra_e_before AS x JOIN strasse_changes AS y ON x.k = y.k;

-- title: a cte whose name begins with a backtick
-- changed: a
WITH ```x` AS (SELECT k, v FROM a), x AS (SELECT k FROM b) SELECT p.k, p.v FROM ```x` AS p JOIN x AS q ON p.k = q.k;
-- expect _x_after, a view: `x after
SELECT k, v
FROM a_after AS a;
-- expect _x_changes, computed once: the change of `x
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect _x_before, a view: `x before
SELECT k, v
FROM a_before AS a;
-- expect x_after, a view: x after
SELECT k
FROM b_after AS b;
-- expect change
SELECT p.k, p.v, __trickle_weight AS __trickle_weight
FROM _x_changes AS p JOIN x_after AS q ON p.k = q.k;

-- title: a star of an alias with a space
-- changed: a
SELECT `a b`.* FROM a AS `a b`;
-- expect change
SELECT `a b`.* EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS `a b`;

-- title: a join over aliases with parentheses and commas
-- changed: a, m
SELECT `x (y), z`.v, `w,` FROM a AS `x (y), z` JOIN m AS `n (` (`w,`, `(v`, u, `t)`) ON `n (`.`(v` = `x (y), z`.k;
-- expect change
SELECT `x (y), z`.v, `w,`, __trickle_weight AS __trickle_weight
FROM a_changes AS `x (y), z` JOIN m_after AS `n (` (`w,`, `(v`, u, `t)`) ON `n (`.`(v` = `x (y), z`.k
UNION ALL
SELECT `x (y), z`.v, `w,`, __trickle_weight AS __trickle_weight
FROM a_before AS `x (y), z` JOIN (
  SELECT *
  FROM m_changes AS __trickle_q(`w,`, `(v`, u, `t)`, __trickle_weight)) AS `n (` ON `n (`.`(v` = `x (y), z`.k;

-- title: a column with parentheses and commas
-- changed: m
SELECT `a (b), c`, count(*) AS `n (1), 2` FROM m GROUP BY `a (b), c`;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT `a (b), c` AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM m_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS m
  GROUP BY `a (b), c`
  UNION ALL
  SELECT DISTINCT `a (b), c` AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM m_changes AS m
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS int) AS `a (b), c`, CAST(CASE WHEN o.`n (1), 2` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n (1), 2` ELSE o.`n (1), 2` + g.`__trickle_g1` END AS bigint) AS `n (1), 2`
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
      WHERE `__trickle_k0` <=> __trickle_p.`a (b), c`)) AS o ON g.`__trickle_k0` <=> o.`a (b), c`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT `a (b), c`, count(*) AS `n (1), 2`
  FROM m_after AS m
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (`a (b), c`)))
  GROUP BY `a (b), c`)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`a (b), c`));
