-- As outer joins: L decides which rows there are, R only whether they stay.

-- title: semi join
-- changed: a, b
SELECT a.* FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.w > 0;
-- expect change
SELECT a.* EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT SEMI JOIN b_after AS b ON a.k = b.k AND b.w > 0
UNION ALL
SELECT a.*, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT SEMI JOIN (
  SELECT *
  FROM b_after
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k AND b.w > 0
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k AND b.w > 0))
UNION ALL
SELECT a.*, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT SEMI JOIN (
  SELECT *
  FROM b_before
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k AND b.w > 0
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k AND b.w > 0));

-- title: anti join
-- changed: a, b
SELECT a.* FROM a LEFT ANTI JOIN b ON a.k = b.k;
-- expect change
SELECT a.* EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT ANTI JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.*, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT ANTI JOIN (
  SELECT *
  FROM b_after
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.*, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a LEFT ANTI JOIN (
  SELECT *
  FROM b_before
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k));

-- title: exists
-- changed: a, b
SELECT k, s FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.v);
-- expect change
SELECT k, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v))
UNION ALL
SELECT k, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k AND b.w > a.v))))
UNION ALL
SELECT k, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k AND b.w > a.v))));

-- title: not exists
-- changed: a, b
SELECT k, s FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.k = a.k);
-- expect change
SELECT k, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (NOT EXISTS (
  SELECT *
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k))
UNION ALL
SELECT k, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (NOT EXISTS (
  SELECT *
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
SELECT k, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (NOT EXISTS (
  SELECT *
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

-- title: exists of a join
-- changed: a, b
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b JOIN a AS y ON y.k = b.k WHERE y.v = a.v);
-- expect change
SELECT k, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN (
    SELECT *
    FROM a_after
    WHERE `v` IN (
      SELECT `v`
      FROM a_changes)) AS y ON y.k = b.k
  WHERE y.v = a.v))
UNION ALL
SELECT k, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN a_after AS y ON y.k = b.k
  WHERE y.v = a.v)) AND (((EXISTS (
  SELECT 1
  FROM b_changes AS b JOIN a_after AS y ON y.k = b.k
  WHERE (y.v = a.v))) OR (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN a_changes AS y ON y.k = b.k
  WHERE (y.v = a.v)))))
UNION ALL
SELECT k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN a_before AS y ON y.k = b.k
  WHERE y.v = a.v)) AND (((EXISTS (
  SELECT 1
  FROM b_changes AS b JOIN a_after AS y ON y.k = b.k
  WHERE (y.v = a.v))) OR (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN a_changes AS y ON y.k = b.k
  WHERE (y.v = a.v)))));

-- title: in
-- changed: a, b
SELECT k, v FROM a WHERE k IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM b_after AS b)) AND (((k) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM b_before AS b)) AND (((k) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL));

-- title: in a condition
-- changed: a, b
SELECT k, v FROM a WHERE v IS NOT NULL AND k IN (SELECT b.k FROM b WHERE b.w > a.v);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v IS NOT NULL AND k IN (
  SELECT b.k
  FROM b_after AS b
  WHERE b.w > a.v))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IS NOT NULL AND k IN (
  SELECT b.k
  FROM b_after AS b
  WHERE b.w > a.v)) AND (((k) IN (
  SELECT b.k
  FROM b_changes AS b
  WHERE (b.w > a.v)) OR EXISTS (
  SELECT 1
  FROM (
    SELECT b.k
    FROM b_changes AS b
    WHERE (b.w > a.v)) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IS NOT NULL AND k IN (
  SELECT b.k
  FROM b_before AS b
  WHERE b.w > a.v)) AND (((k) IN (
  SELECT b.k
  FROM b_changes AS b
  WHERE (b.w > a.v)) OR EXISTS (
  SELECT 1
  FROM (
    SELECT b.k
    FROM b_changes AS b
    WHERE (b.w > a.v)) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL));

-- title: not in
-- changed: a, b
SELECT k, v FROM a WHERE v NOT IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_before AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL));

-- title: not in without nulls
-- changed: a, b
SELECT k, v FROM a WHERE v NOT IN (SELECT k FROM b WHERE k IS NOT NULL);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b
  WHERE k IS NOT NULL))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b
  WHERE k IS NOT NULL)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b
  WHERE (k IS NOT NULL)) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b
    WHERE (k IS NOT NULL)) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_before AS b
  WHERE k IS NOT NULL)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b
  WHERE (k IS NOT NULL)) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b
    WHERE (k IS NOT NULL)) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL));

-- title: in or else
-- changed: a, b
SELECT k, v FROM a WHERE k IN (SELECT k FROM b) OR v = 5;
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (
  SELECT k
  FROM b_after AS b) OR v = 5)
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM b_after AS b) OR v = 5) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM b_before AS b) OR v = 5) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: two columns in
-- changed: a, b
SELECT k FROM a WHERE (k, v) IN (SELECT k, k FROM b);
-- expect change
SELECT k, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE ((k, v) IN (
  SELECT k, k
  FROM b_after AS b))
UNION ALL
SELECT k, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((k, v) IN (
  SELECT k, k
  FROM b_after AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((k, v) IN (
  SELECT k, k
  FROM b_before AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: exists as a value
-- changed: a, b
SELECT k, EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AS has FROM a;
-- expect change
SELECT k, EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k) AS has, __trickle_weight AS __trickle_weight
FROM a_changes AS a
UNION ALL
SELECT k, EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS has, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))))
UNION ALL
SELECT k, EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k) AS has, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k))));

-- title: in a list and in a query
-- changed: a, b
SELECT k, v FROM a WHERE v IN (0, 5) AND v BETWEEN 0 AND 9 AND k IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v IN (0, 5) AND v BETWEEN 0 AND 9 AND k IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (0, 5) AND v BETWEEN 0 AND 9 AND k IN (
  SELECT k
  FROM b_after AS b)) AND (((k) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (0, 5) AND v BETWEEN 0 AND 9 AND k IN (
  SELECT k
  FROM b_before AS b)) AND (((k) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (k) IS NULL));

-- title: in a list or in a query
-- changed: a, b
SELECT k, v FROM a WHERE v IN (0, 5) OR k IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v IN (0, 5) OR k IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (0, 5) OR k IN (
  SELECT k
  FROM b_after AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (0, 5) OR k IN (
  SELECT k
  FROM b_before AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: in two queries
-- changed: a, b, c
SELECT k, v FROM a WHERE k IN (SELECT k FROM c) OR v IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (
  SELECT k
  FROM c_after AS c) OR v IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM c_after AS c) OR v IN (
  SELECT k
  FROM b_after AS b)) AND ((EXISTS (
  SELECT 1
  FROM c_changes AS c)) OR (EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (
  SELECT k
  FROM c_before AS c) OR v IN (
  SELECT k
  FROM b_before AS b)) AND ((EXISTS (
  SELECT 1
  FROM c_changes AS c)) OR (EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: a comparison before in
-- changed: a, b
SELECT k, v FROM a WHERE v = 5 OR k IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v = 5 OR k IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v = 5 OR k IN (
  SELECT k
  FROM b_after AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v = 5 OR k IN (
  SELECT k
  FROM b_before AS b)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: not in behind between
-- changed: a, b
SELECT k, v FROM a WHERE k IN (0, 1, 2) AND v BETWEEN 0 AND 5 AND v NOT IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k IN (0, 1, 2) AND v BETWEEN 0 AND 5 AND v NOT IN (
  SELECT k
  FROM b_after AS b))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (0, 1, 2) AND v BETWEEN 0 AND 5 AND v NOT IN (
  SELECT k
  FROM b_after AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (k IN (0, 1, 2) AND v BETWEEN 0 AND 5 AND v NOT IN (
  SELECT k
  FROM b_before AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL));

-- title: in ranked rows
-- changed: a, b
SELECT k, v FROM a WHERE v IN (SELECT k FROM b QUALIFY rank() OVER (PARTITION BY k ORDER BY w) = 1);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v IN (
  SELECT k
  FROM b_after AS b
  QUALIFY rank() OVER (PARTITION BY k ORDER BY w) = 1))
UNION ALL
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (
  SELECT k
  FROM b_after AS b
  QUALIFY rank() OVER (PARTITION BY k ORDER BY w) = 1)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (v IN (
  SELECT k
  FROM b_before AS b
  QUALIFY rank() OVER (PARTITION BY k ORDER BY w) = 1)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b)));

-- title: an anti join by a name of a function
-- changed: a, b
SELECT user FROM (SELECT k AS user FROM a) AS x ANTI JOIN b ON User <=> k;
-- expect derived_changes_1, computed once: the change of a derived table
SELECT k AS user, __trickle_weight AS __trickle_weight
FROM a_changes AS a;
-- expect change
SELECT user, __trickle_weight AS __trickle_weight
FROM derived_changes_1 AS x ANTI JOIN b_after AS b ON User <=> k
UNION ALL
SELECT user, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k AS user
  FROM a_before AS a) AS x ANTI JOIN b_after AS b ON User <=> k
UNION ALL
SELECT user, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT k AS user
  FROM a_before AS a) AS x ANTI JOIN b_before AS b ON User <=> k;

-- title: semi join, only a changed
-- changed: a
SELECT a.* FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.w > 0;
-- expect change
SELECT a.* EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT SEMI JOIN b_after AS b ON a.k = b.k AND b.w > 0;

-- title: semi join, only b changed
-- changed: b
SELECT a.* FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.w > 0;
-- expect change
SELECT a.*, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT SEMI JOIN (
  SELECT *
  FROM b_after
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k AND b.w > 0
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k AND b.w > 0))
UNION ALL
SELECT a.*, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT SEMI JOIN (
  SELECT *
  FROM b_before
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k AND b.w > 0
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k AND b.w > 0));

-- title: anti join, only a changed
-- changed: a
SELECT a.* FROM a LEFT ANTI JOIN b ON a.k = b.k;
-- expect change
SELECT a.* EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a LEFT ANTI JOIN b_after AS b ON a.k = b.k;

-- title: anti join, only b changed
-- changed: b
SELECT a.* FROM a LEFT ANTI JOIN b ON a.k = b.k;
-- expect change
SELECT a.*, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT ANTI JOIN (
  SELECT *
  FROM b_after
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k))
UNION ALL
SELECT a.*, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a LEFT ANTI JOIN (
  SELECT *
  FROM b_before
  WHERE `k` IN (
    SELECT `k`
    FROM b_changes)) AS b ON a.k = b.k
WHERE (EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE a.k = b.k));

-- title: exists, only a changed
-- changed: a
SELECT k, s FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.v);
-- expect change
SELECT k, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM a_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v));

-- title: exists, only b changed
-- changed: b
SELECT k, s FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.v);
-- expect change
SELECT k, s, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_after
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k AND b.w > a.v))))
UNION ALL
SELECT k, s, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (EXISTS (
  SELECT 1
  FROM (
    SELECT *
    FROM b_before
    WHERE `k` IN (
      SELECT `k`
      FROM b_changes)) AS b
  WHERE b.k = a.k AND b.w > a.v)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b
  WHERE (b.k = a.k AND b.w > a.v))));

-- title: not in, only a changed
-- changed: a
SELECT k, v FROM a WHERE v NOT IN (SELECT k FROM b);
-- expect change
SELECT k, v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b));

-- title: not in, only b changed
-- changed: b
SELECT k, v FROM a WHERE v NOT IN (SELECT k FROM b);
-- expect change
SELECT k, v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_after AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL))
UNION ALL
SELECT k, v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_after AS a
WHERE (v NOT IN (
  SELECT k
  FROM b_before AS b)) AND (((v) IN (
  SELECT k
  FROM b_changes AS b) OR EXISTS (
  SELECT 1
  FROM (
    SELECT k
    FROM b_changes AS b) AS __trickle_n(__trickle_v)
  WHERE __trickle_v IS NULL) OR (v) IS NULL));

-- title: inside, a struct column hides the outer relation
-- changed: a, n
SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM n WHERE n.v = a.k);
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM n_after AS n
  WHERE n.v = a.k))
UNION ALL
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM n_after AS n
  WHERE n.v = a.k)) AND ((EXISTS (
  SELECT 1
  FROM n_changes AS n
  WHERE (n.v = a.k))))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM n_before AS n
  WHERE n.v = a.k)) AND ((EXISTS (
  SELECT 1
  FROM n_changes AS n
  WHERE (n.v = a.k))));

-- title: inside, an alias with columns hides the outer relation
-- changed: a, b
SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b JOIN b AS a(k, w) ON true WHERE b.k = a.k);
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN b_after AS a(k, w) ON true
  WHERE b.k = a.k))
UNION ALL
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN b_after AS a(k, w) ON true
  WHERE b.k = a.k)) AND (((EXISTS (
  SELECT 1
  FROM b_changes AS b JOIN b_after AS a(k, w) ON true
  WHERE (b.k = a.k))) OR (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN (
    SELECT *
    FROM b_changes AS __trickle_q(k, w, __trickle_weight)) AS `a` ON true
  WHERE (b.k = a.k)))))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN b_before AS a(k, w) ON true
  WHERE b.k = a.k)) AND (((EXISTS (
  SELECT 1
  FROM b_changes AS b JOIN b_after AS a(k, w) ON true
  WHERE (b.k = a.k))) OR (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN (
    SELECT *
    FROM b_changes AS __trickle_q(k, w, __trickle_weight)) AS `a` ON true
  WHERE (b.k = a.k)))));

-- title: inside, a derived table hides the outer relation
-- changed: a, b
SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b JOIN (SELECT k FROM b) AS a(k) ON true WHERE b.k = a.k);
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN (
    SELECT k
    FROM b_after AS b) AS a(k) ON true
  WHERE b.k = a.k))
UNION ALL
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b JOIN (
    SELECT k
    FROM b_after AS b) AS a(k) ON true
  WHERE b.k = a.k))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_before AS b JOIN (
    SELECT k
    FROM b_before AS b) AS a(k) ON true
  WHERE b.k = a.k));

-- title: inside, a lateral view hides the outer relation
-- changed: a, b
SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b LATERAL VIEW explode(array(1, 2)) a AS k WHERE b.k = a.k);
-- expect change
SELECT a.v, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b LATERAL VIEW explode(array(1, 2)) a AS k
  WHERE b.k = a.k))
UNION ALL
SELECT a.v, CAST(1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_after AS b LATERAL VIEW explode(array(1, 2)) a AS k
  WHERE b.k = a.k)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b LATERAL VIEW explode(array(1, 2)) a AS k
  WHERE (b.k = a.k))))
UNION ALL
SELECT a.v, CAST(-1 AS BIGINT) AS __trickle_weight
FROM a_before AS a
WHERE (EXISTS (
  SELECT 1
  FROM b_before AS b LATERAL VIEW explode(array(1, 2)) a AS k
  WHERE b.k = a.k)) AND ((EXISTS (
  SELECT 1
  FROM b_changes AS b LATERAL VIEW explode(array(1, 2)) a AS k
  WHERE (b.k = a.k))));
