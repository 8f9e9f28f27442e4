-- ORDER BY … LIMIT of the whole query is computed anew and compared with the published rows.

-- title: top
-- changed: a
SELECT k, v, s FROM a ORDER BY k, v, s LIMIT 3;
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
