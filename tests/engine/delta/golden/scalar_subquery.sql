-- Rows for which the subquery's answer may have changed are taken away and computed anew.

-- title: scalar
-- changed: a, b
SELECT k, v FROM a WHERE v > (SELECT min(k) FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v > (
  SELECT min(k)
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v > (
  SELECT min(k)
  FROM b_after AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v > (
  SELECT min(k)
  FROM b_before AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: scalar in the columns
-- changed: a, b
SELECT k, (SELECT max(w) FROM b) AS top FROM a;
-- expect change
SELECT k, (
  SELECT max(w)
  FROM b_after AS b) AS top, __trickle_weight AS __trickle_weight
FROM a_changes AS a
UNION ALL
SELECT k, (
  SELECT max(w)
  FROM b_after AS b) AS top, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, (
  SELECT max(w)
  FROM b_before AS b) AS top, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: correlated scalar
-- changed: a, b
SELECT k, s, (SELECT sum(w) FROM b WHERE b.k = a.k) AS total FROM a;
-- expect change
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k) AS total, __trickle_weight AS __trickle_weight
FROM a_changes AS a
UNION ALL
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS total, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))))
UNION ALL
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS total, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))));

-- title: correlated count
-- changed: a, b
SELECT k FROM a WHERE 1 < (SELECT count(*) FROM b WHERE b.k = a.k);
-- expect change
SELECT k, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (1 < (
  SELECT count(*)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k))
UNION ALL
SELECT k, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (1 < (
  SELECT count(*)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))))
UNION ALL
SELECT k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (1 < (
  SELECT count(*)
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))));

-- title: correlated scalar, only a changed
-- changed: a
SELECT k, s, (SELECT sum(w) FROM b WHERE b.k = a.k) AS total FROM a;
-- expect change
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k) AS total, __trickle_weight AS __trickle_weight
FROM a_changes AS a;

-- title: correlated scalar, only b changed
-- changed: b
SELECT k, s, (SELECT sum(w) FROM b WHERE b.k = a.k) AS total FROM a;
-- expect change
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS total, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))))
UNION ALL
SELECT k, s, (
  SELECT sum(w)
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS total, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))));
