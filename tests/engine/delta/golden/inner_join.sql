-- Δ(L ⋈ R) = ΔL ⋈ R' + L ⋈ ΔR, one term for each changed relation.

-- title: two stars
-- changed: a, b
SELECT b.*, a.s FROM a JOIN b ON a.k = b.k;
-- expect change
SELECT b.*, a.s, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT b.* EXCEPT (__trickle_weight), a.s, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k;

-- title: inner join
-- changed: a, b
SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k;

-- title: join of unequal
-- changed: a, b
SELECT a.k, b.k AS bk FROM a JOIN b ON a.k < b.k AND b.w > 0;
-- expect change
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k < b.k AND b.w > 0
UNION ALL
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k < b.k AND b.w > 0;

-- title: join of same nulls
-- changed: a, b
SELECT a.v, b.w FROM a INNER JOIN b ON a.k <=> b.k;
-- expect change
SELECT a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a INNER JOIN b_after AS b ON a.k <=> b.k
UNION ALL
SELECT a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a INNER JOIN b_changes AS b ON a.k <=> b.k;

-- title: self join
-- changed: a
SELECT x.k, y.v FROM a AS x JOIN a AS y ON x.k = y.v;
-- expect change
SELECT x.k, y.v, __trickle_weight AS __trickle_weight
FROM a_changes AS x JOIN a_after AS y ON x.k = y.v
UNION ALL
SELECT x.k, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS x JOIN a_changes AS y ON x.k = y.v;

-- title: three ways
-- changed: a, b
SELECT a.s, b.w, y.v FROM a JOIN b ON a.k = b.k JOIN a AS y ON y.k = b.k WHERE a.v >= 0;
-- expect change
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k JOIN a_after AS y ON y.k = b.k
WHERE (a.v >= 0)
UNION ALL
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k JOIN a_after AS y ON y.k = b.k
WHERE (a.v >= 0)
UNION ALL
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_before AS b ON a.k = b.k JOIN a_changes AS y ON y.k = b.k
WHERE (a.v >= 0);

-- title: comma join
-- changed: a, b
SELECT a.k, b.w FROM a, b WHERE a.k = b.k;
-- expect change
SELECT a.k, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a, b_after AS b
WHERE (a.k = b.k)
UNION ALL
SELECT a.k, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a, b_changes AS b
WHERE (a.k = b.k);

-- title: cross join
-- changed: a, b
SELECT a.k, b.k AS bk FROM a CROSS JOIN b;
-- expect change
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_changes AS a CROSS JOIN b_after AS b
UNION ALL
SELECT a.k, b.k AS bk, __trickle_weight AS __trickle_weight
FROM a_before AS a CROSS JOIN b_changes AS b;

-- title: join using
-- changed: a, b
SELECT k, v, w FROM a JOIN b USING (k);
-- expect change
SELECT k, v, w, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b USING (k)
UNION ALL
SELECT k, v, w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b USING (k);

-- title: inner join, only a changed
-- changed: a
SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k;

-- title: inner join, only b changed
-- changed: b
SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, a.v, b.w, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k;

-- title: three ways, only a changed
-- changed: a
SELECT a.s, b.w, y.v FROM a JOIN b ON a.k = b.k JOIN a AS y ON y.k = b.k WHERE a.v >= 0;
-- expect change
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k JOIN a_after AS y ON y.k = b.k
WHERE (a.v >= 0)
UNION ALL
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_after AS b ON a.k = b.k JOIN a_changes AS y ON y.k = b.k
WHERE (a.v >= 0);

-- title: three ways, only b changed
-- changed: b
SELECT a.s, b.w, y.v FROM a JOIN b ON a.k = b.k JOIN a AS y ON y.k = b.k WHERE a.v >= 0;
-- expect change
SELECT a.s, b.w, y.v, __trickle_weight AS __trickle_weight
FROM a_after AS a JOIN b_changes AS b ON a.k = b.k JOIN a_after AS y ON y.k = b.k
WHERE (a.v >= 0);

-- title: a large partner of three relations is cut to the changed keys
-- changed: a
-- large: u
SELECT a.s, b.w, u.w AS uw FROM b JOIN u ON b.w = u.k, a WHERE a.v = u.k;
-- expect change
SELECT a.s, b.w, u.w AS uw, __trickle_weight AS __trickle_weight
FROM b_after AS b JOIN (
  SELECT *
  FROM u_after
  WHERE `k` IN (
    SELECT `v`
    FROM a_changes)) AS u ON b.w = u.k, a_changes AS a
WHERE (a.v = u.k);

-- title: a large partner in an outer join is cut too
-- changed: a
-- large: b
SELECT a.v, b.w, u.w AS uw FROM u JOIN a ON a.k = u.k LEFT JOIN b ON b.k = a.k;
-- expect change
SELECT a.v, b.w, u.w AS uw, __trickle_weight AS __trickle_weight
FROM u_after AS u JOIN a_changes AS a ON a.k = u.k LEFT JOIN (
  SELECT *
  FROM b_after
  WHERE `k` IN (
    SELECT `k`
    FROM a_changes)) AS b ON b.k = a.k;

-- title: with two relations there is nothing to cut
-- changed: a
-- large: b
SELECT a.v, b.w FROM b JOIN a ON a.k = b.k;
-- expect change
SELECT a.v, b.w, __trickle_weight AS __trickle_weight
FROM b_after AS b JOIN a_changes AS a ON a.k = b.k;
