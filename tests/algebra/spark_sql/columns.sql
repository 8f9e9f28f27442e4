-- title: star except
SELECT * EXCEPT (y, flag) FROM t;

-- title: qualified star except
SELECT t.* EXCEPT (x), u.name FROM t JOIN u ON t.id = u.id;

-- title: star of a struct
SELECT id, person.* FROM nested;

-- title: star of a struct in a struct
SELECT person.address.* FROM nested;

-- title: star except a struct field
SELECT * EXCEPT (person.address.zip, js) FROM nested;

-- title: star as an argument
SELECT struct(*) AS row, array(x, id) AS pair FROM t;

-- title: star in coalesce
SELECT coalesce(*) AS any FROM (SELECT id, x FROM t);

-- title: struct access
SELECT person.name, person.address.city, nested.person.address.zip FROM nested;

-- title: map and array access
SELECT tags[0] AS first, attrs['a'] AS a, items[0].sku AS sku, element_at(attrs, 'b') AS b, items.qty AS qtys
FROM nested;

-- title: literals of complex types
SELECT array(1, 2) AS a, map('k', 1, 'l', 2) AS m, named_struct('x', 1, 'y', 'z') AS s, struct(1, 'b') AS t,
       array(map('q', array(1))) AS deep
FROM t;

-- title: transform with a lambda
SELECT transform(tags, tag -> upper(tag)) AS upper, transform(tags, (tag, i) -> concat(tag, i)) AS numbered
FROM nested;

-- title: filter and exists with lambdas
SELECT filter(tags, tag -> tag LIKE 'a%') AS few, exists(tags, tag -> tag IS NULL) AS gaps,
       forall(items, item -> item.qty > 0) AS all_positive
FROM nested WHERE exists(items, item -> item.qty > 3);

-- title: aggregate of an array
SELECT aggregate(items, 0, (total, item) -> total + item.qty, total -> total * 2) AS twice,
       reduce(items, 0, (total, item) -> total + item.qty) AS once
FROM nested;

-- title: other higher-order functions
SELECT zip_with(tags, tags, (a, b) -> a || b) AS zipped, map_filter(attrs, (k, n) -> n > 1) AS big,
       transform_values(attrs, (k, n) -> n + 1) AS more, map_zip_with(attrs, attrs, (k, a, b) -> a + b) AS both,
       array_sort(tags, (a, b) -> CASE WHEN a < b THEN -1 WHEN a > b THEN 1 ELSE 0 END) AS sorted
FROM nested;

-- title: nested lambdas
SELECT transform(items, i -> transform(tags, tag -> concat(i.sku, tag))) AS all FROM nested;

-- title: case in both forms
SELECT CASE grp WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 0 END AS n,
       CASE WHEN x > 1 THEN 'many' WHEN x = 1 THEN 'one' END AS w
FROM t;

-- title: conditional functions
SELECT if(flag, x, y) AS a, iff.n, nvl(x, 0) AS b, nvl2(x, 1, 2) AS c, decode(grp, 'a', 1, 'b', 2, 0) AS d,
       nullif(x, 0) AS e, ifnull(x, 1) AS f, zeroifnull(x) AS g
FROM t, (SELECT 1 AS n) iff;

-- title: arithmetic and bits
SELECT x + 1, x - 1, x * 2, x / 2, x % 2, x DIV 2, -x, +x, ~x, x & 1, x | 1, x ^ 1, x << 2, x >> 1 FROM t;

-- title: unsigned shift
SELECT x >>> 1 AS s FROM t;

-- title: concatenation
SELECT grp || '-' || x AS a, 'a' 'b' AS b, concat_ws('/', grp, 'z') AS c FROM t;

-- title: string functions with special syntax
SELECT trim(BOTH 'x' FROM grp), trim(LEADING FROM grp), substring(grp FROM 2 FOR 3), position('a' IN grp),
       overlay(grp PLACING 'zz' FROM 1 FOR 2), extract(YEAR FROM d), date_part('month', d),
       regexp_extract(grp, '(\\d+)', 1), split_part(grp, '-', 2), left(grp, 2), replace(grp, 'a', 'b')
FROM t;

-- title: dates and their arithmetic
SELECT d + INTERVAL 1 MONTH, d - 3, date_add(d, 7), datediff(d, DATE '2026-01-01'), dateadd(DAY, 2, d),
       timestampdiff(HOUR, ts, ts + INTERVAL 1 DAY), timestampadd(MINUTE, 5, ts), date_trunc('MONTH', ts),
       last_day(d), add_months(d, 2), months_between(ts, d), ts - ts, d - d
FROM t;

-- title: distinct columns
SELECT DISTINCT grp, flag FROM t;

-- title: select all
SELECT ALL grp FROM t;

-- title: trailing columns with odd aliases
SELECT x AS `select`, y AS `a b`, id AS `from``` FROM t;

-- title: alias without as, and keywords as names
SELECT x year, y month, id date FROM t;

-- title: columns without from
SELECT 1 AS one, 'a' AS letter;

-- title: collation
SELECT grp COLLATE UTF8_LCASE AS c FROM t WHERE grp COLLATE UNICODE_CI = 'A';
