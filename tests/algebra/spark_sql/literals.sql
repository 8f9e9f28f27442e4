-- title: strings with escapes
SELECT 'it\'s', "double", 'tab\there', 'back\\slash', 'unicode \u00e9', '%like\_' FROM t;

-- title: doubled quotes
SELECT 'it''s' AS s FROM t;

-- title: raw strings
SELECT r'\d+\n' AS a, R"C:\temp" AS b FROM t WHERE grp RLIKE r'^\w+$';

-- title: strings that look like comments
SELECT '-- no comment' AS a, '/* none */' AS b, "it's -- one" AS c FROM t;

-- title: comments everywhere
SELECT /* one */ id -- two
     , x /* three
     lines /* nested */ */ FROM t -- end
;

-- title: binary literals and numbers
SELECT X'1F', 1L, 2S, 3Y, 1.5D, 2.5F, 3.14BD, 1e3, 1.5e-3, .5, 5., -7 FROM t;

-- title: binary literal with a space
SELECT X '1F' AS b FROM t;

-- title: dates and timestamps
SELECT DATE '2026-01-31', TIMESTAMP '2026-01-31 10:00:00', TIMESTAMP_NTZ '2026-01-31 10:00:00',
       TIMESTAMP_LTZ '2026-01-31 10:00:00', TIME '10:00:00'
FROM t;

-- title: intervals
SELECT INTERVAL 1 DAY, INTERVAL '3' MONTH, INTERVAL '2-3' YEAR TO MONTH, INTERVAL '1 10:00:00' DAY TO SECOND,
       INTERVAL 2 HOURS 5 MINUTES, INTERVAL '1 day 2 hours', INTERVAL -3 WEEKS, -INTERVAL 1 YEAR
FROM t;

-- title: interval of a column
SELECT d + make_interval(0, x) AS a, ts + x * INTERVAL 1 HOUR AS b FROM t;

-- title: casts
SELECT CAST(x AS STRING), x::BIGINT, '1'::INT + 1, CAST('2026-01-01' AS DATE), CAST(y AS DECIMAL(10, 2)),
       double(x), int('3')
FROM t;

-- title: try_cast
SELECT TRY_CAST(grp AS INT) AS n, TRY_CAST(grp AS DATE) AS d, try_divide(x, 0) AS q FROM t;

-- title: casts to complex types
SELECT CAST(tags AS ARRAY<STRING>), CAST(person AS STRUCT<name: STRING, address: STRUCT<city: STRING, zip: STRING>>),
       CAST(attrs AS MAP<STRING, BIGINT>), from_json(js, 'a INT, b ARRAY<STRING>') AS parsed
FROM nested;

-- title: variant access by path
SELECT v:a.b, v:items[0].sku, v:['odd key'], v:a::INT FROM nested;

-- title: variant access by a name
SELECT v:a FROM nested;

-- title: variant functions
SELECT variant_get(v, '$.a.b', 'string') AS s, try_variant_get(v, '$.n', 'int') AS n, parse_json(js) AS p,
       schema_of_variant(v) AS s2, is_variant_null(v) AS z, to_json(person) AS j
FROM nested;

-- title: null and boolean literals
SELECT NULL AS n, TRUE AS t, false AS f, CAST(NULL AS INT) AS i FROM t;

-- title: backticks and unicode names
SELECT `größe`, `naïve column` AS `日本`, `größen`.`größe` + 1 AS `ñ` FROM `größen` WHERE `naïve column` > 0;

-- title: backtick inside a name
SELECT `a``b` FROM (SELECT x AS `a``b` FROM t);

-- title: current date and time
SELECT current_date() AS d, current_timestamp AS ts, now() AS n, current_user() AS u, localtimestamp() AS l,
       current_date AS c FROM t;

-- title: random numbers
SELECT rand() AS r, uuid() AS u, monotonically_increasing_id() AS m FROM t;

-- title: json path functions
SELECT get_json_object(js, '$.a') AS a, json_object_keys(js) AS k, schema_of_json('{"a": 1}') AS s FROM nested;

-- title: string with a semicolon
SELECT 'a;b' AS s FROM t;

-- title: special numbers
SELECT double('NaN') AS nan, float('Infinity') AS inf, -0.0 AS zero FROM t WHERE y <> double('NaN');

-- title: lateral alias and numeric names
SELECT x AS `1`, `1` + 1 AS two FROM t;
