-- title: pipe with where and select
FROM t |> WHERE x > 1 |> SELECT id, x;

-- title: pipe with aggregate
FROM t |> AGGREGATE sum(x) AS total GROUP BY grp |> ORDER BY total |> LIMIT 3;

-- title: pipe with join
FROM t |> JOIN u ON t.id = u.id |> SELECT t.id, u.name;

-- title: pipe with extend, set and drop
FROM t |> EXTEND x + 1 AS z |> SET x = 0 |> DROP y |> AS s |> SELECT s.z;

-- title: pipe behind a select
SELECT id, x FROM t |> WHERE x > 1;

-- title: pipe with a set operation
FROM t |> SELECT id |> UNION ALL (SELECT id FROM u);

-- title: pipe with pivot
FROM sales |> SELECT year, quarter, units |> PIVOT (sum(units) FOR quarter IN ('Q1', 'Q2'));
