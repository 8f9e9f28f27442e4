-- Δ(L ⟕ R) = ΔL ⟕ R' + A ⟕ R' - A ⟕ R, with A = L ⋉ ΔR: the rows whose partners may have changed.

-- title: left join
-- changed: a, b
SELECT a.k, a.s, b.w FROM a LEFT JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.s, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.s, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.s, b.w, CAST(1 AS BIGINT) AS __trickle_weight
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
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, a.s, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
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
  WHERE a.k = b.k));

-- title: left join using
-- changed: a, b
SELECT k, a.s, b.w FROM a LEFT JOIN b USING (k);
-- expect change
SELECT k, a.s, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b USING (k)
UNION ALL
SELECT k, a.s, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_after AS b USING (k)
WHERE ((k) IN (
  SELECT k
  FROM b_changes))
UNION ALL
SELECT k, a.s, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b USING (k)
WHERE ((k) IN (
  SELECT k
  FROM b_changes));

-- title: left join of nothing
-- changed: a, b
SELECT a.k, a.s FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL;
-- expect change
SELECT a.k, a.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
WHERE (b.k IS NULL)
UNION ALL
SELECT a.k, a.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
WHERE (b.k IS NULL)
UNION ALL
SELECT a.k, a.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k
WHERE (b.k IS NULL) AND (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, a.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k
WHERE (b.k IS NULL) AND (EXISTS (
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
  WHERE a.k = b.k));

-- title: right join
-- changed: a, b
SELECT a.s, b.k, b.w FROM a RIGHT OUTER JOIN b ON a.k = b.k AND a.v > 0;
-- expect change
SELECT a.s, b.k, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a RIGHT OUTER JOIN b_changes AS b ON a.k = b.k AND a.v > 0
UNION ALL
SELECT a.s, b.k, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a RIGHT OUTER JOIN b_before AS b ON a.k = b.k AND a.v > 0
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k AND a.v > 0)))
UNION ALL
SELECT a.s, b.k, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a RIGHT OUTER JOIN b_before AS b ON a.k = b.k AND a.v > 0
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k AND a.v > 0)));

-- title: full join
-- changed: a, b
SELECT a.s, a.k, b.k AS bk, b.w FROM a FULL JOIN b ON a.k = b.k;
-- expect change
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(1 AS BIGINT) AS __trickle_weight
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
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_changes AS b ON false
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(1 AS BIGINT) AS __trickle_weight
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
SELECT a.s, a.k, b.k AS bk, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
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

-- title: full join of unequal
-- changed: a, b
SELECT a.k, b.k AS bk FROM a FULL OUTER JOIN b ON a.k < b.k;
-- expect change
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k < b.k
UNION ALL
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k < b.k
UNION ALL
SELECT a.k, b.k AS bk, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k < b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k < b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM b_after AS b
  WHERE a.k < b.k))
UNION ALL
SELECT a.k, b.k AS bk, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k < b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k < b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM b_before AS b
  WHERE a.k < b.k))
UNION ALL
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_changes AS b ON false
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k < b.k)))
UNION ALL
SELECT a.k, b.k AS bk, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k < b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k < b.k)))
UNION ALL
SELECT a.k, b.k AS bk, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k < b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_before AS a
  WHERE (a.k < b.k)));

-- title: left then inner
-- changed: a, b
SELECT a.k, b.w, y.s FROM a LEFT JOIN b ON a.k = b.k JOIN a AS y ON y.v = a.v;
-- expect change
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k JOIN a_after AS y ON y.v = a.v
UNION ALL
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k JOIN a_after AS y ON y.v = a.v
UNION ALL
SELECT a.k, b.w, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k JOIN a_after AS y ON y.v = a.v
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k JOIN a_after AS y ON y.v = a.v
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k JOIN a_changes AS y ON y.v = a.v;

-- title: left then left
-- changed: a, b
SELECT a.k, b.w, y.s FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN a AS y ON y.v = b.k;
-- expect change
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.w, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k JOIN a_changes AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.w, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.v = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_after
    WHERE `v` IN (
      SELECT `v`
      FROM a_changes)) AS y
  WHERE y.v = b.k))
UNION ALL
SELECT a.k, b.w, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.v = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_before
    WHERE `v` IN (
      SELECT `v`
      FROM a_changes)) AS y
  WHERE y.v = b.k));

-- title: inner then right
-- changed: a, b
SELECT a.s, b.w, y.s AS ys FROM a JOIN b ON a.k = b.k RIGHT JOIN a AS y ON y.v = b.k;
-- expect change
SELECT a.s, b.w, y.s AS ys, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_after AS b ON a.k = b.k RIGHT JOIN a_changes AS y ON y.v = b.k
UNION ALL
SELECT a.s, b.w, y.s AS ys, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a JOIN b_after AS b ON a.k = b.k RIGHT JOIN a_before AS y ON y.v = b.k
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  WHERE (y.v = b.k)) OR EXISTS (
  SELECT 1
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (y.v = b.k))))
UNION ALL
SELECT a.s, b.w, y.s AS ys, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a JOIN b_before AS b ON a.k = b.k RIGHT JOIN a_before AS y ON y.v = b.k
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
  WHERE (y.v = b.k)) OR EXISTS (
  SELECT 1
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (y.v = b.k))));

-- title: full then left
-- changed: a, b
SELECT a.k, b.k AS bk, y.s FROM a FULL JOIN b ON a.k = b.k LEFT JOIN a AS y ON y.v = b.k;
-- expect change
SELECT a.k, b.k AS bk, y.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.k AS bk, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.v = b.k
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.k AS bk, y.s, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_changes AS b ON false LEFT JOIN a_after AS y ON y.v = b.k
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false LEFT JOIN a_after AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_before AS b ON false LEFT JOIN a_after AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_before AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.k, b.k AS bk, y.s, __trickle_weight AS __trickle_weight
FROM a_before AS a FULL JOIN b_before AS b ON a.k = b.k JOIN a_changes AS y ON y.v = b.k
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a FULL JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.v = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_after
    WHERE `v` IN (
      SELECT `v`
      FROM a_changes)) AS y
  WHERE y.v = b.k))
UNION ALL
SELECT a.k, b.k AS bk, y.s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a FULL JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.v = b.k
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.v = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_before
    WHERE `v` IN (
      SELECT `v`
      FROM a_changes)) AS y
  WHERE y.v = b.k));

-- title: left then full
-- changed: a, b
SELECT a.k, b.w, y.v FROM a LEFT JOIN b ON a.k = b.k FULL JOIN a AS y ON y.k = a.v;
-- expect change
SELECT a.k, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.k = a.v
UNION ALL
SELECT a.k, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.k = a.v
UNION ALL
SELECT a.k, b.w, y.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.k = a.v
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k LEFT JOIN a_after AS y ON y.k = a.v
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k JOIN a_changes AS y ON y.k = a.v
UNION ALL
SELECT a.k, b.w, y.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.k = a.v
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.k = a.v)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS y
  WHERE y.k = a.v))
UNION ALL
SELECT a.k, b.w, y.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k LEFT JOIN (
  SELECT *
  FROM a_after
  WHERE false) AS y ON y.k = a.v
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS y
  WHERE y.k = a.v)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM a_before
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS y
  WHERE y.k = a.v))
UNION ALL
SELECT a.k, b.w, y.v, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k RIGHT JOIN a_changes AS y ON false
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (y.k = a.v)))
UNION ALL
SELECT a.k, b.w, y.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k RIGHT JOIN a_before AS y ON false
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (y.k = a.v)) OR EXISTS (
  SELECT 1
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (y.k = a.v)) OR EXISTS (
  SELECT 1
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
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (y.k = a.v)) OR EXISTS (
  SELECT 1
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
    WHERE a.k = b.k)) AND (y.k = a.v)))) AND (NOT EXISTS (
  SELECT 1
  FROM a_after AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (y.k = a.v)))
UNION ALL
SELECT a.k, b.w, y.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON a.k = b.k RIGHT JOIN a_before AS y ON false
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
  WHERE (y.k = a.v)) OR EXISTS (
  SELECT 1
  FROM a_before AS a JOIN b_changes AS b ON a.k = b.k
  WHERE (y.k = a.v)) OR EXISTS (
  SELECT 1
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
      FROM b_after
      WHERE `k` IN (
        SELECT `k`
        FROM b_changes)) AS b
    WHERE a.k = b.k)) AND (y.k = a.v)) OR EXISTS (
  SELECT 1
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
    WHERE a.k = b.k)) AND (y.k = a.v)))) AND (NOT EXISTS (
  SELECT 1
  FROM a_before AS a LEFT JOIN b_before AS b ON a.k = b.k
  WHERE (y.k = a.v)));

-- title: a relation or a field
-- changed: a, n
SELECT a.k, n.v FROM a LEFT JOIN n ON a.k = n.v;
-- expect change
SELECT a.k, n.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN n_after AS n ON a.k = n.v
UNION ALL
SELECT a.k, n.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN n_after AS n ON a.k = n.v
UNION ALL
SELECT a.k, n.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT JOIN n_before AS n ON a.k = n.v;

-- title: an outer join by a name of a function
-- changed: a, b
SELECT user, b.w FROM (SELECT k AS user FROM a) AS x LEFT JOIN b ON user = b.k;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT k AS user, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect change
SELECT user, b.w, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x LEFT JOIN b_after AS b ON user = b.k
UNION ALL
SELECT user, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k AS user
  FROM a_before AS a) AS x LEFT JOIN b_after AS b ON user = b.k
UNION ALL
SELECT user, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k AS user
  FROM a_before AS a) AS x LEFT JOIN b_before AS b ON user = b.k;

-- title: fields of user
-- changed: a, b
SELECT user.k, user.v, b.w FROM a AS user LEFT JOIN b ON user.k = b.k;
-- expect change
SELECT user.k, user.v, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS user LEFT JOIN b_after AS b ON user.k = b.k
UNION ALL
SELECT user.k, user.v, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS user JOIN b_changes AS b ON user.k = b.k
UNION ALL
SELECT user.k, user.v, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS user LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON user.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE user.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE user.k = b.k))
UNION ALL
SELECT user.k, user.v, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS user LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON user.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE user.k = b.k)) AND (NOT EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE user.k = b.k));

-- title: comma then right join
-- changed: a, b, c
SELECT a.k, b.w, c.k AS ck FROM a, b RIGHT JOIN c ON c.k = b.k;
-- expect change
SELECT a.k, b.w, c.k AS ck, __trickle_weight AS __trickle_weight
FROM a_after AS a, b_after AS b RIGHT JOIN c_changes AS c ON c.k = b.k
UNION ALL
SELECT a.k, b.w, c.k AS ck, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a, b_after AS b RIGHT JOIN c_before AS c ON c.k = b.k
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a, b_after AS b
  WHERE (c.k = b.k)) OR EXISTS (
  SELECT 1
  FROM a_before AS a, b_changes AS b
  WHERE (c.k = b.k))))
UNION ALL
SELECT a.k, b.w, c.k AS ck, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a, b_before AS b RIGHT JOIN c_before AS c ON c.k = b.k
WHERE ((EXISTS (
  SELECT 1
  FROM a_changes AS a, b_after AS b
  WHERE (c.k = b.k)) OR EXISTS (
  SELECT 1
  FROM a_before AS a, b_changes AS b
  WHERE (c.k = b.k))));

-- title: star of an alias
-- changed: a, b
SELECT x.*, b.w FROM a AS x(p, q, r) LEFT JOIN b ON b.k = x.p;
-- expect change
SELECT x.* EXCEPT (__trickle_weight), b.w, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_changes AS __trickle_q(p, q, r, __trickle_weight)) AS `x` LEFT JOIN b_after AS b ON b.k = x.p
UNION ALL
SELECT x.*, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS x(p, q, r) JOIN b_changes AS b ON b.k = x.p
UNION ALL
SELECT x.*, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS x(p, q, r) LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = x.p
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE b.k = x.p)) AND (NOT EXISTS (
  SELECT 1
  FROM b_after AS b
  WHERE b.k = x.p))
UNION ALL
SELECT x.*, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS x(p, q, r) LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE false) AS b ON b.k = x.p
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE b.k = x.p)) AND (NOT EXISTS (
  SELECT 1
  FROM b_before AS b
  WHERE b.k = x.p));

-- title: left join, only a changed
-- changed: a
SELECT a.k, a.s, b.w FROM a LEFT JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.s, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k;

-- title: left join, only b changed
-- changed: b
SELECT a.k, a.s, b.w FROM a LEFT JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.s, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.s, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
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
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.k, a.s, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
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
  WHERE a.k = b.k));

-- title: right join, only a changed
-- changed: a
SELECT a.s, b.k, b.w FROM a RIGHT OUTER JOIN b ON a.k = b.k AND a.v > 0;
-- expect change
SELECT a.s, b.k, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a RIGHT OUTER JOIN b_after AS b ON a.k = b.k AND a.v > 0
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k AND a.v > 0)))
UNION ALL
SELECT a.s, b.k, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a RIGHT OUTER JOIN b_after AS b ON a.k = b.k AND a.v > 0
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k AND a.v > 0)));

-- title: right join, only b changed
-- changed: b
SELECT a.s, b.k, b.w FROM a RIGHT OUTER JOIN b ON a.k = b.k AND a.v > 0;
-- expect change
SELECT a.s, b.k, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a RIGHT OUTER JOIN b_changes AS b ON a.k = b.k AND a.v > 0;

-- title: full join, only a changed
-- changed: a
SELECT a.s, a.k, b.k AS bk, b.w FROM a FULL JOIN b ON a.k = b.k;
-- expect change
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_after AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_after AS b ON false
WHERE (EXISTS (
  SELECT 1
  FROM a_changes AS a
  WHERE (a.k = b.k))) AND (NOT EXISTS (
  SELECT 1
  FROM a_before AS a
  WHERE (a.k = b.k)));

-- title: full join, only b changed
-- changed: b
SELECT a.s, a.k, b.k AS bk, b.w FROM a FULL JOIN b ON a.k = b.k;
-- expect change
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
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
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT JOIN (
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
  WHERE a.k = b.k))
UNION ALL
SELECT a.s, a.k, b.k AS bk, b.w, __trickle_weight AS __trickle_weight
FROM (
  SELECT *
  FROM a_after
  WHERE false) AS a RIGHT JOIN b_changes AS b ON false
WHERE (NOT EXISTS (
  SELECT 1
  FROM a_after AS a
  WHERE (a.k = b.k)));
