-- Rows come one by one: Δ(π σ L) = π σ ΔL.

-- title: filter
-- changed: a
SELECT k, s FROM a WHERE v > 0 OR s IS NULL;
-- expect change
SELECT k, s, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v > 0 OR s IS NULL);

-- title: columns
-- changed: a
SELECT k + 1 AS k1, upper(s) AS u, CASE WHEN v IS NULL THEN 'none' ELSE 'some' END AS c FROM a;
-- expect change
SELECT k + 1 AS k1, upper(s) AS u, CASE WHEN v IS NULL THEN 'none' ELSE 'some' END AS c, __trickle_weight AS __trickle_weight
FROM a_changes AS a;

-- title: star
-- changed: a
SELECT * FROM a WHERE k > 0;
-- expect change
SELECT * EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (k > 0);

-- title: star but
-- changed: a
SELECT * EXCEPT (s) FROM a;
-- expect change
SELECT * EXCEPT (s, __trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a;

-- title: hint
-- changed: a, b
SELECT /*+ BROADCAST(b) */ a.k, b.w FROM a JOIN b ON a.k = b.k;
-- expect change
SELECT a.k, b.w, __trickle_weight AS __trickle_weight
FROM a_changes AS a JOIN b_after AS b ON a.k = b.k
UNION ALL
SELECT a.k, b.w, __trickle_weight AS __trickle_weight
FROM a_before AS a JOIN b_changes AS b ON a.k = b.k;

-- title: spaced star
-- changed: a
SELECT a . * FROM a;
-- expect change
SELECT a . * EXCEPT (__trickle_weight), __trickle_weight AS __trickle_weight
FROM a_changes AS a;

-- title: strings in doubt
-- changed: a
SELECT k, 'FROM a WHERE' AS `from`, "it's" AS q FROM a WHERE s <> ') UNION ALL (';
-- expect change
SELECT k, 'FROM a WHERE' AS `from`, "it's" AS q, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (s <> ') UNION ALL (');

-- title: a number without a zero before its point
-- changed: a
SELECT k, v * .5 AS half FROM a WHERE v > .5;
-- expect change
SELECT k, v * .5 AS half, __trickle_weight AS __trickle_weight
FROM a_changes AS a
WHERE (v > .5);

-- title: keywords as names
-- changed: n
SELECT x.v AS `from`, x.a.k AS window FROM n AS x;
-- expect change
SELECT x.v AS `from`, x.a.k AS window, __trickle_weight AS __trickle_weight
FROM n_changes AS x;
