-- Windows are recomputed for the partitions of changed rows.

-- title: rank
-- changed: a
SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM a;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) AS r
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: running sum
-- changed: a
SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY v) AS rs FROM a;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY v) AS rs
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: window by name
-- changed: a
SELECT k, v, count(*) OVER w AS n FROM a WINDOW w AS (PARTITION BY k);
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, count(*) OVER w AS n
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))) WINDOW w AS (PARTITION BY k))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: window of all
-- changed: a
SELECT k, v, count(*) OVER () AS n FROM a;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, count(*) OVER () AS n
  FROM a_after AS a)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: two windows
-- changed: a
SELECT k, s, count(*) OVER (PARTITION BY k) AS n, count(*) OVER (PARTITION BY s) AS m FROM a;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, s, count(*) OVER (PARTITION BY k) AS n, count(*) OVER (PARTITION BY s) AS m
  FROM a_after AS a)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: window without its key
-- changed: a
SELECT v, dense_rank() OVER (PARTITION BY k ORDER BY v) AS r FROM a;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT v, dense_rank() OVER (PARTITION BY k ORDER BY v) AS r
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT v, dense_rank() OVER (PARTITION BY k ORDER BY v) AS r
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))));

-- title: qualify
-- changed: a
SELECT k, v FROM a QUALIFY rank() OVER (PARTITION BY k ORDER BY v DESC) = 1;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  QUALIFY rank() OVER (PARTITION BY k ORDER BY v DESC) = 1)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: row number
-- changed: a
SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, s) AS r FROM a;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, s) AS r
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`k`));

-- title: window over groups
-- changed: a
SELECT k, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM a GROUP BY k;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r
  FROM a_after AS a
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: a partition named like a function
-- changed: a
SELECT `user`, v, rank() OVER (PARTITION BY `user` ORDER BY v) AS r FROM (SELECT s AS user, v FROM a);
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
  SELECT `user`, v, rank() OVER (PARTITION BY `user` ORDER BY v) AS r
  FROM (
    SELECT s AS user, v
    FROM a_after AS a))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: window over a join
-- changed: a, b
SELECT a.s, b.w, count(*) OVER (PARTITION BY a.s) AS n FROM a JOIN b ON a.k = b.k;
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
  SELECT a.s, b.w, count(*) OVER (PARTITION BY a.s) AS n
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (a.s))))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> __trickle_p.`s`));

-- title: a total over groups
-- changed: a
SELECT k, count(*) AS n, sum(count(*)) OVER () AS total FROM a GROUP BY k;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, count(*) AS n, sum(count(*)) OVER () AS total
  FROM a_after AS a
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: the share of a group
-- changed: a
SELECT k, sum(v) / sum(sum(v)) OVER () AS share FROM a GROUP BY k;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k, sum(v) / sum(sum(v)) OVER () AS share
  FROM a_after AS a
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: a total over groups by alias inside a query
-- changed: a
SELECT x.g, x.total FROM (SELECT s AS g, sum(sum(v) + 1) OVER (PARTITION BY s) AS total FROM a GROUP BY g) AS x WHERE x.total > 1;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s AS g, sum(sum(v) + 1) OVER (PARTITION BY s) AS total
  FROM a_after AS a
  GROUP BY g)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT s AS g, sum(sum(v) + 1) OVER (PARTITION BY s) AS total
  FROM a_before AS a
  GROUP BY g);
-- expect change
SELECT x.g, x.total, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x
WHERE (x.total > 1);

-- title: a total over groups with a named window
-- changed: a, b
SELECT a.k, sum(sum(b.w)) OVER w AS total FROM a JOIN b ON a.k = b.k GROUP BY 1 HAVING count(*) > 0 WINDOW w AS (ORDER BY a.k);
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
  SELECT a.k, sum(sum(b.w)) OVER w AS total
  FROM a_after AS a JOIN b_after AS b ON a.k = b.k
  GROUP BY 1
  HAVING count(*) > 0 WINDOW w AS (ORDER BY a.k))
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);

-- title: row_number over all rows, beside a star
-- changed: a
SELECT *, row_number() OVER (ORDER BY k, v, s) AS n FROM a;
-- expect any_change_1, computed once: whether any row changed
SELECT *
FROM (
  SELECT 1 AS one
  FROM a_changes AS a)
LIMIT 1;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *, row_number() OVER (ORDER BY k, v, s) AS n
  FROM a_after AS a)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE true);
