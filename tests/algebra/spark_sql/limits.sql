-- title: order by and limit
SELECT id FROM t ORDER BY x DESC NULLS LAST, id LIMIT 10;

-- title: limit without order
SELECT id FROM t LIMIT 3;

-- title: limit all
SELECT id FROM t ORDER BY id LIMIT ALL;

-- title: limit and offset
SELECT id FROM t ORDER BY id LIMIT 10 OFFSET 5;

-- title: offset alone
SELECT id FROM t ORDER BY id OFFSET 5;

-- title: limit all with offset
SELECT id FROM t ORDER BY id LIMIT ALL OFFSET 2;

-- title: limit by an expression
SELECT id FROM t ORDER BY id LIMIT 2 + 3;

-- title: limit zero
SELECT id FROM t LIMIT 0;

-- title: order by without limit
SELECT id, x FROM t ORDER BY 2, 1;

-- title: order by all
SELECT id, x FROM t ORDER BY ALL;

-- title: sort by
SELECT id FROM t SORT BY x DESC;

-- title: cluster by
SELECT id FROM t CLUSTER BY id;

-- title: distribute by and sort by
SELECT id FROM t DISTRIBUTE BY grp SORT BY x, id;

-- title: limit in a subquery
SELECT count(*) FROM (SELECT id FROM t ORDER BY x LIMIT 5);

-- title: limit in a subquery in parentheses
SELECT * FROM ((SELECT id FROM t) ORDER BY id LIMIT 2);

-- title: distinct with limit
SELECT DISTINCT grp FROM t ORDER BY grp LIMIT 2;

-- title: sort by with limit
SELECT id FROM t SORT BY x LIMIT 3;
