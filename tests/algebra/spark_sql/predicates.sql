-- title: between and its kin
SELECT id FROM t WHERE x BETWEEN 1 AND 5 AND y NOT BETWEEN 2 AND 3 AND d BETWEEN DATE '2026-01-01' AND current_date();

-- title: like with escape
SELECT id FROM t WHERE grp LIKE 'a!%%' ESCAPE '!' OR grp NOT LIKE '_b%';

-- title: like any and all
SELECT id FROM t WHERE grp LIKE ANY ('a%', '%b') AND grp LIKE ALL ('%c%', '%d') AND grp NOT LIKE ANY ('x%', 'y%');

-- title: like some
SELECT id FROM t WHERE grp LIKE SOME ('a%', 'b%') AND grp NOT LIKE ALL ('q%');

-- title: ilike
SELECT id FROM t WHERE grp ILIKE 'A%' AND grp NOT ILIKE '%z' AND grp ILIKE ANY ('%b%', '%C');

-- title: rlike and regexp
SELECT id FROM t WHERE grp RLIKE '^a.*\\d$' AND grp REGEXP 'b+' AND NOT grp RLIKE r'\.x';

-- title: null-safe equality
SELECT id FROM t WHERE x <=> NULL OR NOT (grp <=> 'a');

-- title: is distinct from
SELECT id FROM t WHERE x IS DISTINCT FROM 3 AND grp IS NOT DISTINCT FROM 'a';

-- title: is null, true and unknown
SELECT id FROM t WHERE flag IS TRUE OR flag IS NOT FALSE OR flag IS UNKNOWN OR x IS NOT NULL OR y IS NULL;

-- title: in a list
SELECT id FROM t WHERE x IN (1, 2, 3) AND grp NOT IN ('a', 'b');

-- title: in a list of tuples
SELECT id FROM t WHERE (x, grp) IN ((1, 'a'), (2, 'b'));

-- title: other spellings of comparisons
SELECT id FROM t WHERE x == 1 OR x != 2 OR x <> 3 OR NOT x >= 4 OR ! flag;

-- title: boolean column as a condition
SELECT id FROM t WHERE flag AND NOT (flag OR x > 1);

-- title: xor by inequality and precedence
SELECT id FROM t WHERE flag <> (x > 1) OR x > 1 AND y > 1 OR NOT flag = true;

-- title: condition in a column
SELECT id, x > 1 AND flag AS both, grp IN ('a') AS is_a, x IS NULL AS gap FROM t;

-- title: equality of structs and arrays
SELECT id FROM nested WHERE tags = array('a') AND struct(id, 1) = struct(2, 1);

-- title: array_contains and friends
SELECT id FROM nested WHERE array_contains(tags, 'a') AND arrays_overlap(tags, array('b'))
AND map_contains_key(attrs, 'k');
