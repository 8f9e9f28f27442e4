-- title: ranking functions
SELECT id, row_number() OVER (PARTITION BY grp ORDER BY x) AS rn, rank() OVER (ORDER BY y DESC NULLS LAST) AS r,
       dense_rank() OVER (ORDER BY y) AS dr, ntile(4) OVER (ORDER BY x) AS q, percent_rank() OVER (ORDER BY x) AS p,
       cume_dist() OVER (ORDER BY x) AS c
FROM t;

-- title: lag and lead
SELECT id, lag(x) OVER (ORDER BY ts) AS before, lead(x, 2, 0) OVER (PARTITION BY grp ORDER BY ts) AS later FROM t;

-- title: ignore nulls in a window
SELECT id, last_value(x) IGNORE NULLS OVER (ORDER BY ts) AS a, first_value(x) RESPECT NULLS OVER (ORDER BY ts) AS b,
       nth_value(x, 2) IGNORE NULLS OVER (ORDER BY ts) AS c, lag(x) IGNORE NULLS OVER (ORDER BY ts) AS d
FROM t;

-- title: rows frames
SELECT id, sum(x) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS a,
       avg(x) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING) AS b,
       max(x) OVER (ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS c
FROM t;

-- title: range frames
SELECT id, sum(x) OVER (ORDER BY x RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS a,
       count(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) AS b
FROM t;

-- title: named windows
SELECT id, sum(x) OVER w AS a, min(x) OVER (w) AS b, max(x) OVER v AS c
FROM t WINDOW w AS (PARTITION BY grp ORDER BY ts), v AS (PARTITION BY flag);

-- title: window over a group
SELECT grp, sum(x) AS total, rank() OVER (ORDER BY sum(x) DESC) AS r FROM t GROUP BY grp;

-- title: window over all rows
SELECT id, x / sum(x) OVER () AS share FROM t;

-- title: window with a filter clause
SELECT id, count(*) FILTER (WHERE flag) OVER (PARTITION BY grp) AS n FROM t;

-- title: qualify
SELECT id, grp, x FROM t QUALIFY row_number() OVER (PARTITION BY grp ORDER BY x DESC) = 1;

-- title: qualify by an alias
SELECT id, grp, rank() OVER (PARTITION BY grp ORDER BY x) AS r FROM t QUALIFY r <= 3;

-- title: qualify behind group by and having
SELECT grp, flag, sum(x) AS total FROM t GROUP BY grp, flag HAVING sum(x) > 0
QUALIFY rank() OVER (PARTITION BY grp ORDER BY total DESC) = 1;

-- title: top rows per group by a subquery
SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY grp ORDER BY ts DESC) AS rn FROM t) WHERE rn = 1;

-- title: window in order by
SELECT id FROM t ORDER BY rank() OVER (ORDER BY y), id LIMIT 5;

-- title: distinct over a window
SELECT DISTINCT grp, first_value(x) OVER (PARTITION BY grp ORDER BY ts) AS first_x FROM t;

-- title: window aggregates of collections
SELECT id, collect_list(x) OVER (PARTITION BY grp ORDER BY ts) AS xs,
       size(collect_set(x) OVER (PARTITION BY grp)) AS n FROM t;

-- title: window inside an expression with case
SELECT id, CASE WHEN lag(x) OVER (ORDER BY ts) < x THEN 'up' ELSE 'down' END AS trend FROM t;

-- title: window of an aggregate of an aggregate
SELECT grp, sum(sum(x)) OVER (ORDER BY grp) AS running FROM t GROUP BY grp;

-- title: window by a subquery
SELECT id, sum(x) OVER (PARTITION BY (SELECT max(id) FROM u)) AS s FROM t;

-- title: named window by a subquery
SELECT sum(x) OVER w AS s FROM t WINDOW w AS (PARTITION BY (SELECT max(id) FROM u));

-- title: qualify by a window over a subquery
SELECT id FROM t QUALIFY row_number() OVER (ORDER BY x + (SELECT max(id) FROM u)) < (SELECT max(src) FROM edges);
