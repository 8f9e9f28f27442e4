-- explode() and its like give rows of one row: they are part of it.

-- title: lateral view
-- changed: c
SELECT c.k, t.tag FROM c LATERAL VIEW explode(tags) t AS tag;
-- expect change
SELECT c.k, t.tag, __trickle_weight AS __trickle_weight
FROM c_changes AS c LATERAL VIEW explode(tags) t AS tag;

-- title: lateral view outer
-- changed: c
SELECT c.k, tag FROM c LATERAL VIEW OUTER explode(tags) AS tag WHERE k > 0;
-- expect change
SELECT c.k, tag, __trickle_weight AS __trickle_weight
FROM c_changes AS c LATERAL VIEW OUTER explode(tags) AS tag
WHERE (k > 0);

-- title: explode
-- changed: c
SELECT k, explode(tags) AS tag FROM c;
-- expect change
SELECT k, explode(tags) AS tag, __trickle_weight AS __trickle_weight
FROM c_changes AS c;

-- title: lateral function
-- changed: c
-- engine: spark
SELECT c.k, t.tag FROM c, LATERAL explode(c.tags) AS t(tag);

-- title: group of exploded
-- changed: c
SELECT tag, count(*) AS n FROM c LATERAL VIEW explode(tags) t AS tag GROUP BY tag;
-- expect gains_1, computed once: what the changed rows add to each group, and which lost a row
SELECT `__trickle_k0`, sum(`__trickle_g1`) AS `__trickle_g1`, bool_or(__trickle_loses) AS __trickle_loses
FROM (
  SELECT tag AS `__trickle_k0`, count(*) AS `__trickle_g1`, false AS __trickle_loses
  FROM (
    SELECT * EXCEPT (__trickle_weight, __trickle_n)
    FROM c_changes LATERAL VIEW explode(array_repeat(0, CAST(__trickle_weight AS INT))) AS __trickle_n
    WHERE __trickle_weight > 0) AS c LATERAL VIEW explode(tags) t AS tag
  GROUP BY tag
  UNION ALL
  SELECT DISTINCT tag AS `__trickle_k0`, NULL AS `__trickle_g1`, true AS __trickle_loses
  FROM c_changes AS c LATERAL VIEW explode(tags) t AS tag
  WHERE (__trickle_weight < 0))
GROUP BY `__trickle_k0`;
-- expect losers_1, computed once: the groups that lost a row
SELECT *
FROM gains_1
WHERE __trickle_loses;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT /*+ BROADCAST(o) */ CAST(g.`__trickle_k0` AS string) AS `tag`, CAST(CASE WHEN o.`n` IS NULL THEN g.`__trickle_g1` WHEN g.`__trickle_g1` IS NULL THEN o.`n` ELSE o.`n` + g.`__trickle_g1` END AS bigint) AS `n`
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
      WHERE `__trickle_k0` <=> __trickle_p.`tag`)) AS o ON g.`__trickle_k0` <=> o.`tag`)
UNION ALL
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT tag, count(*) AS n
  FROM c_after AS c LATERAL VIEW explode(tags) t AS tag
  WHERE (EXISTS (
    SELECT 1
    FROM losers_1
    WHERE `__trickle_k0` <=> (tag)))
  GROUP BY tag)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT *
  FROM published AS __trickle_p
  WHERE EXISTS (
    SELECT 1
    FROM gains_1
    WHERE `__trickle_k0` <=> __trickle_p.`tag`));

-- title: generator of two columns
-- changed: a
SELECT posexplode(array(count(*), max(v))) AS (p, q), k FROM a GROUP BY k;
-- expect keys_1, computed once: the keys of the changed rows
SELECT DISTINCT k AS `__trickle_k0`
FROM a_changes AS a;
-- expect change
SELECT *, CAST(1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT posexplode(array(count(*), max(v))) AS (p, q), k
  FROM a_after AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k)
UNION ALL
SELECT *, CAST(-1 AS BIGINT) AS __trickle_weight
FROM (
  SELECT posexplode(array(count(*), max(v))) AS (p, q), k
  FROM a_before AS a
  WHERE (EXISTS (
    SELECT 1
    FROM keys_1
    WHERE `__trickle_k0` <=> (k)))
  GROUP BY k);
