-- title: group by all
SELECT grp, x % 2 AS odd, sum(y) AS total FROM t GROUP BY ALL;

-- title: group by all and order by all
SELECT grp, count(*) AS n FROM t GROUP BY ALL ORDER BY ALL DESC NULLS LAST LIMIT 10;

-- title: group by all without an aggregate
SELECT grp, x FROM t GROUP BY ALL;

-- title: group by position
SELECT grp, flag, max(x) FROM t GROUP BY 1, 2;

-- title: group by alias
SELECT upper(grp) AS g, min(x) FROM t GROUP BY g HAVING min(x) > 0;

-- title: grouping sets
SELECT grp, flag, sum(x) FROM t GROUP BY GROUPING SETS ((grp, flag), (grp), ());

-- title: rollup
SELECT year, quarter, sum(amount) FROM sales GROUP BY ROLLUP (year, quarter);

-- title: with rollup
SELECT year, quarter, sum(amount) FROM sales GROUP BY year, quarter WITH ROLLUP;

-- title: cube
SELECT year, region, sum(amount) FROM sales GROUP BY CUBE (year, region);

-- title: with cube
SELECT year, region, count(*) FROM sales GROUP BY year, region WITH CUBE;

-- title: key and grouping sets together
SELECT year, quarter, region, sum(units) FROM sales GROUP BY year, GROUPING SETS ((quarter), (region), ());

-- title: rollup and cube together
SELECT year, quarter, region, sum(units) FROM sales GROUP BY ROLLUP (year), CUBE (quarter, region);

-- title: grouping sets behind the keys
SELECT year, quarter, sum(units) FROM sales GROUP BY year, quarter GROUPING SETS ((year), (quarter));

-- title: grouping and grouping_id
SELECT year, region, grouping(year) AS g, grouping_id(year, region) AS gid, sum(units) AS units
FROM sales GROUP BY CUBE (year, region) HAVING grouping_id(year, region) < 3;

-- title: filter clause of aggregates
SELECT grp, count(*) FILTER (WHERE flag) AS yes, sum(x) FILTER (WHERE y > 1 AND NOT flag) AS no FROM t GROUP BY grp;

-- title: filter clause with a subquery
SELECT grp, count(*) FILTER (WHERE EXISTS (SELECT 1 FROM u WHERE u.id = 1)) AS n FROM t GROUP BY grp;

-- title: within group percentiles
SELECT grp, percentile_cont(0.5) WITHIN GROUP (ORDER BY y) AS median,
       percentile_disc(0.9) WITHIN GROUP (ORDER BY y DESC) AS high
FROM t GROUP BY grp;

-- title: listagg within group
SELECT grp, listagg(DISTINCT CAST(x AS STRING), ',') WITHIN GROUP (ORDER BY CAST(x AS STRING)) AS xs
FROM t GROUP BY grp;

-- title: mode within group
SELECT mode() WITHIN GROUP (ORDER BY x) FROM t;

-- title: distinct aggregates
SELECT count(DISTINCT grp) AS g, sum(DISTINCT x) AS s, count(DISTINCT grp, flag) AS gf, collect_set(x) AS xs FROM t;

-- title: count over nothing but one group
SELECT count(*) AS n FROM t;

-- title: aggregate without rows or keys
SELECT count(*), max(x) FROM t WHERE false;

-- title: group by without aggregates
SELECT grp FROM t GROUP BY grp;

-- title: having without group by
SELECT sum(x) AS total FROM t HAVING sum(x) > 10;

-- title: having without aggregates
SELECT 1 AS one FROM t HAVING true;

-- title: having with a scalar subquery
SELECT grp, sum(x) AS total FROM t GROUP BY grp HAVING sum(x) > (SELECT avg(amount) FROM u);

-- title: aggregate of an expression and expression of aggregates
SELECT grp, round(sum(x * y) / nullif(sum(y), 0), 2) AS weighted, max(x) - min(x) AS spread FROM t GROUP BY grp;

-- title: order by an aggregate that is no column
SELECT grp FROM t GROUP BY grp ORDER BY count(*) DESC, grp LIMIT 3;

-- title: aggregates of many kinds
SELECT any_value(x), first(x, true), last(y) IGNORE NULLS, max_by(grp, y), min_by(grp, y), bool_or(flag), every(flag),
       some(flag), any(flag), count_if(flag), corr(x, y), stddev_pop(y), kurtosis(y), approx_count_distinct(grp),
       histogram_numeric(y, 5), bit_xor(x), try_sum(x), regr_slope(y, x), median(y), mode(grp), skewness(y)
FROM t;

-- title: tumbling window
SELECT window(ts, '10 minutes') AS w, count(*) AS n FROM t GROUP BY window(ts, '10 minutes');

-- title: sliding window
SELECT window.start, window.end, grp, sum(x) AS s FROM t GROUP BY window(ts, '10 minutes', '5 minutes'), grp;

-- title: session window
SELECT session_window(ts, '5 minutes') AS w, grp, count(*) AS n FROM t GROUP BY session_window(ts, '5 minutes'), grp;

-- title: session window with a gap per row
SELECT grp, session_window.start, count(*) AS n
FROM t GROUP BY grp, session_window(ts, CASE WHEN flag THEN '5 minutes' ELSE '10 minutes' END);

-- title: aggregate over an aggregate
SELECT max(total) FROM (SELECT grp, sum(x) AS total FROM t GROUP BY grp);

-- title: grouping sets in grouping sets
SELECT year, sum(units) FROM sales GROUP BY GROUPING SETS (ROLLUP (year, quarter), CUBE (region));

-- title: grouping sets of one column
SELECT grp, count(*) FROM t GROUP BY GROUPING SETS (grp);

-- title: hive grouping id
SELECT grp, grouping__id FROM t GROUP BY grp WITH ROLLUP;

-- title: tumbling window as a later key
SELECT grp, window.start AS began, count(*) AS n FROM t GROUP BY grp, window(ts, '10 minutes');

-- title: array functions over an aggregate
SELECT transform(collect_list(x), e -> e + 1) AS a, aggregate(collect_list(x), 0, (a, b) -> a + b) AS s
FROM t GROUP BY grp;

-- title: field of an aggregate
SELECT max(struct(x, id)).id FROM t;

-- title: group by all with a subquery
SELECT EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AS known, count(*) AS n FROM t GROUP BY ALL;

-- title: group by the position of a subquery
SELECT (SELECT max(amount) FROM u WHERE u.id = t.id) AS m, count(*) AS n FROM t GROUP BY 1;

-- title: group by the alias of a subquery
SELECT (SELECT max(amount) FROM u WHERE u.id = t.id) AS m, count(*) AS n FROM t GROUP BY m;

-- title: subquery inside an aggregate of having
SELECT grp FROM t GROUP BY grp HAVING sum(x + (SELECT max(id) FROM u)) > 1;
