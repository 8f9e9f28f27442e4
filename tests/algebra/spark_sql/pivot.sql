-- title: pivot with one aggregate
SELECT * FROM sales PIVOT (sum(amount) FOR quarter IN ('Q1', 'Q2', 'Q3', 'Q4'));

-- title: pivot with several aggregates
SELECT * FROM sales PIVOT (sum(amount) AS total, avg(units) AS average FOR quarter IN ('Q1' AS first,
       'Q2' AS second));

-- title: pivot of a subquery
SELECT * FROM (SELECT year, quarter, amount FROM sales) PIVOT (max(amount) FOR quarter IN ('Q1', 'Q2')) AS p;

-- title: pivot by two columns
SELECT * FROM sales
PIVOT (sum(amount) AS a, count(*) AS c FOR (quarter, region) IN (('Q1', 'north') AS q1n, ('Q2', 'south') AS q2s));

-- title: pivot behind a join
SELECT *
FROM (SELECT s.year, s.quarter, u.amount FROM sales s JOIN u ON u.id = s.year)
PIVOT (sum(amount) FOR quarter IN ('Q1', 'Q2'));

-- title: pivot of a join itself
SELECT * FROM t JOIN (SELECT id AS k, name FROM u) ON k = id PIVOT (count(x) FOR name IN ('a', 'b'));

-- title: join behind a pivot
SELECT * FROM sales PIVOT (sum(amount) FOR quarter IN ('Q1')) JOIN u ON u.id = year;

-- title: filter behind a pivot
SELECT year, Q1 FROM sales PIVOT (sum(units) FOR quarter IN ('Q1', 'Q2')) WHERE Q1 > 3 ORDER BY year;

-- title: unpivot of single columns
SELECT * FROM wide UNPIVOT (amount FOR quarter IN (q1, q2, q3));

-- title: unpivot with aliases
SELECT * FROM wide UNPIVOT (amount FOR quarter IN (q1 AS `first`, q2 AS `second`)) AS u;

-- title: unpivot that keeps nulls
SELECT * FROM wide UNPIVOT INCLUDE NULLS (amount FOR quarter IN (q1, q2, q3));

-- title: unpivot that leaves nulls out
SELECT * FROM wide UNPIVOT EXCLUDE NULLS (amount FOR quarter IN (q1, q2, q3));

-- title: unpivot of several columns at once
SELECT * FROM wide UNPIVOT ((first_half, second_half) FOR part IN ((q1, q2) AS early, (q3, q4) AS late));

-- title: unpivot then aggregate
SELECT quarter, sum(amount) AS total FROM wide UNPIVOT (amount FOR quarter IN (q1, q2, q3, q4)) GROUP BY quarter;

-- title: unpivot of a join
SELECT * FROM t JOIN (SELECT id AS k, q1, q2 FROM wide) ON id = k UNPIVOT (amount FOR quarter IN (q1, q2));

-- title: pivot of generated rows
SELECT * FROM (SELECT id, tag FROM nested LATERAL VIEW explode(tags) e AS tag) PIVOT (count(id) FOR tag IN ('a',
       'b'));
