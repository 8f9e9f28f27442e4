-- title: union
SELECT id FROM t UNION SELECT id FROM u;

-- title: union all
SELECT id FROM t UNION ALL SELECT id FROM u UNION ALL SELECT src FROM edges;

-- title: union distinct
SELECT id FROM t UNION DISTINCT SELECT id FROM u;

-- title: union by name
SELECT id, x FROM t UNION BY NAME SELECT x, id FROM t;

-- title: union all by name
SELECT id, grp FROM t UNION ALL BY NAME SELECT grp, id FROM t;

-- title: except and except all
SELECT id FROM t EXCEPT SELECT id FROM u EXCEPT ALL SELECT src FROM edges;

-- title: minus
SELECT id FROM t MINUS SELECT id FROM u;

-- title: minus all
SELECT id FROM t MINUS ALL SELECT id FROM u;

-- title: minus behind a table without an alias
SELECT id FROM t WHERE x > 1 MINUS DISTINCT SELECT id FROM u;

-- title: intersect
SELECT id FROM t INTERSECT SELECT id FROM u;

-- title: intersect all
SELECT id FROM t INTERSECT ALL SELECT id FROM u;

-- title: intersect binds tighter
SELECT id FROM t UNION SELECT id FROM u INTERSECT SELECT src FROM edges;

-- title: parentheses change the order
(SELECT id FROM t UNION SELECT id FROM u) INTERSECT SELECT src FROM edges;

-- title: parentheses on the right
SELECT id FROM t EXCEPT (SELECT id FROM u EXCEPT SELECT src FROM edges);

-- title: order and limit of a union
SELECT id, x FROM t UNION ALL SELECT id, id FROM u ORDER BY id, x LIMIT 5;

-- title: limits inside the branches
(SELECT id FROM t ORDER BY id LIMIT 2) UNION ALL (SELECT id FROM u ORDER BY id DESC LIMIT 3);

-- title: union of values
SELECT id, grp FROM t UNION ALL VALUES (1, 'a'), (2, 'b');

-- title: set operation in a subquery
SELECT count(*) FROM (SELECT id FROM t UNION SELECT id FROM u);

-- title: doubled parentheses
((SELECT id FROM t)) UNION ((SELECT id FROM u));

-- title: values alone
VALUES (1, 'a'), (2, 'b');

-- title: inline table with an alias
SELECT v.n, v.letter FROM VALUES (1, 'a'), (2, 'b') AS v(n, letter);

-- title: inline table in parentheses
SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(n, letter) JOIN t ON t.x = v.n;

-- title: inline table of single values
SELECT col1 FROM VALUES 1, 2, 3;

-- title: table statement
TABLE t;

-- title: table statement in a union
SELECT id, name, amount FROM u UNION ALL TABLE u;

-- title: union all then union
SELECT id FROM t UNION ALL SELECT id FROM u UNION SELECT src FROM edges;

-- title: union then union all
SELECT id FROM t UNION SELECT id FROM u UNION ALL SELECT src FROM edges;

-- title: parentheses around one select
(SELECT id FROM t) ORDER BY id LIMIT 2;
