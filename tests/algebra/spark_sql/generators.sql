-- title: lateral view explode
SELECT id, tag FROM nested LATERAL VIEW explode(tags) e AS tag;

-- title: lateral view outer explode
SELECT id, tag FROM nested LATERAL VIEW OUTER explode(tags) AS tag;

-- title: lateral view explode of a map
SELECT id, k, val FROM nested LATERAL VIEW explode(attrs) kv AS k, val;

-- title: lateral view posexplode
SELECT id, pos, tag FROM nested LATERAL VIEW posexplode(tags) p AS pos, tag WHERE pos > 0;

-- title: lateral view inline
SELECT id, sku, qty FROM nested LATERAL VIEW inline(items) i AS sku, qty;

-- title: lateral view stack
SELECT s.region, v.metric, v.n
FROM sales s
LATERAL VIEW stack(2, 'units', CAST(s.units AS DOUBLE), 'amount', CAST(s.amount AS DOUBLE)) v AS metric, n;

-- title: lateral view json_tuple
SELECT id, a, b FROM nested LATERAL VIEW json_tuple(js, 'a', 'b') j AS a, b;

-- title: two lateral views
SELECT id, tag, sku FROM nested LATERAL VIEW explode(tags) e AS tag LATERAL VIEW OUTER inline(items) i AS sku, qty;

-- title: lateral view of a lateral view
SELECT id, item.sku, letter
FROM nested LATERAL VIEW explode(items) e AS item LATERAL VIEW explode(split(item.sku, '')) l AS letter;

-- title: lateral view behind a join
SELECT n.id, u.name, tag FROM nested n JOIN u ON n.id = u.id LATERAL VIEW explode(n.tags) e AS tag;

-- title: lateral view without column names
SELECT id, col FROM nested LATERAL VIEW explode(tags) e;

-- title: explode in the columns
SELECT id, explode(tags) AS tag FROM nested;

-- title: explode_outer in the columns
SELECT id, explode_outer(tags) AS tag FROM nested;

-- title: posexplode in the columns with two aliases
SELECT id, posexplode(tags) AS (pos, tag) FROM nested;

-- title: explode of a map in the columns
SELECT explode(attrs) AS (k, val) FROM nested;

-- title: inline_outer in the columns
SELECT id, inline_outer(items) FROM nested;

-- title: stack in the columns
SELECT stack(2, id, 'a', id, 'b') AS (id, letter) FROM t;

-- title: json_tuple in the columns
SELECT id, json_tuple(js, 'a', 'b') AS (a, b) FROM nested;

-- title: explode inside an expression
SELECT id, explode(tags) || '!' AS shout FROM nested;

-- title: explode over an aggregate
SELECT grp, explode(collect_list(x)) AS x FROM t GROUP BY grp;

-- title: variant_explode in a lateral join
SELECT n.id, e.key, e.value FROM nested AS n, LATERAL variant_explode(n.v) AS e;

-- title: explode as a table function
SELECT * FROM explode(array(1, 2, 3)) AS e(n);

-- title: explode with a named argument
SELECT * FROM explode(collection => array(1, 2));

-- title: range as a table function
SELECT id * 2 AS twice FROM range(1, 10, 2);

-- title: range with an alias and a join
SELECT r.id, t.grp FROM range(5) r LEFT JOIN t ON t.id = r.id;

-- title: sequence exploded in a subquery
SELECT d FROM (SELECT explode(sequence(DATE '2026-01-01', DATE '2026-01-31', INTERVAL 1 DAY)) AS d);

-- title: stack as a table function
SELECT * FROM stack(2, 1, 'a', 2, 'b') AS s(n, letter);

-- title: explode of a subquery
SELECT id, explode(array(x, (SELECT max(id) FROM u))) AS e FROM t;
