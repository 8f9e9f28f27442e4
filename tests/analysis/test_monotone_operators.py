"""Edge types of operators over one input, and of set operations."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra import functions
from airflow_trickle.algebra.references import parse_query
from tests.analysis.edge_readers import because, signs

# Row by row.


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a",
        "SELECT x + 1 AS y FROM a",
        "SELECT * FROM a WHERE x > 1 AND NOT y <=> 2",
        "SELECT * EXCEPT (y) FROM a",
        "FROM a SELECT x",
        "SELECT CASE WHEN x IS NULL THEN 1 END FROM a WHERE x NOT IN (1, 2)",
        "SELECT x FROM a ORDER BY x",
        "SELECT x FROM a SORT BY x",
        "SELECT x FROM a DISTRIBUTE BY x",
        "SELECT x FROM a CLUSTER BY x",
        "SELECT x FROM a LIMIT ALL",
        "SELECT /*+ REPARTITION(3), COALESCE(2) */ x FROM a",
        "SELECT x FROM (SELECT x FROM (SELECT x FROM a) s) t",
        "SELECT x FROM ((a))",
    ],
)
def test_filters_and_columns_are_monotone(text):
    """Design 000 Part 2: test_scan_filter_project_is_monotone
    Design 001 §9.1: test_classify_scan_is_monotone
    """
    assert signs(text) == "a+"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM a UNPIVOT (v FOR n IN (x, y))",
        "SELECT * FROM a UNPIVOT INCLUDE NULLS (v FOR n IN (x, y))",
        "SELECT * FROM a LATERAL VIEW explode(xs) t AS v",
        "SELECT * FROM a LATERAL VIEW OUTER explode(xs) t AS v LATERAL VIEW posexplode(v) u AS p, w",
        "SELECT x, explode(xs) AS v FROM a",
        "SELECT explode_outer(xs) FROM a",
        "SELECT inline(xs) FROM a",
        "SELECT stack(2, x, y) FROM a",
        "SELECT json_tuple(x, 'k') FROM a",
        "SELECT * FROM a, LATERAL explode(a.xs) AS t(v)",
        "SELECT * FROM a LEFT JOIN LATERAL explode(a.xs) AS t(v)",
        "SELECT * FROM a JOIN range(3)",
        "SELECT * FROM a CROSS JOIN VALUES (1), (2) AS v(n)",
    ],
)
def test_rows_made_out_of_one_row_are_monotone(text):
    assert signs(text) == "a+"


def test_lambdas_are_no_aggregates_and_no_subqueries():
    lambdas = (
        "aggregate(xs, 0, (s, v) -> s + v), reduce(xs, 0, (s, v) -> s), exists(xs, v -> v > 1), filter(xs, v -> v)"
    )
    assert (
        signs(f"SELECT {lambdas}, any_match FROM a WHERE exists(xs, v -> v IS NULL) AND forall(xs, v -> v > 1)") == "a+"
    )


def test_like_any_is_no_aggregate():
    assert signs("SELECT x LIKE ANY ('a', 'b') FROM a WHERE x ILIKE SOME ('a') OR x LIKE ALL ('a%', '%b')") == "a+"


@pytest.mark.parametrize("name", sorted(functions.CHANCE))
def test_a_function_that_answers_by_chance_may_answer_anew_for_every_row_of_its_select(name):
    calls = [f"{name}({arguments})" for arguments in ("", "x", "x, 1", "x, y, 1")]
    call = next(call for call in calls if not parse_query(f"SELECT {call} FROM a").problems)
    told = {"random": "rand"}.get(name, name)
    assert because(f"SELECT x, {call} FROM a", "a") == (
        f"it is the input of {told}(), which may answer anew for any row"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x FROM a WHERE rand() > 0.5", "a-"),
        ("SELECT a.x FROM a JOIN b ON a.x = b.x AND uuid() > b.y", "a- b-"),
        ("SELECT * FROM a LATERAL VIEW explode(shuffle(xs)) t AS v", "a-"),
        ("SELECT a.x FROM a JOIN (SELECT x, monotonically_increasing_id() AS id FROM b) s USING (x)", "a+ b-"),
        ("SELECT x FROM a UNION ALL SELECT x + rand() FROM b", "a+ b-"),
        ("WITH c AS (SELECT x, uuid() AS id FROM a) SELECT c.x FROM c JOIN b USING (x)", "a- b+"),
        ("SELECT x, now(), current_user() FROM a", "a+"),
    ],
)
def test_chance_counts_for_the_tables_of_its_own_select(text, expected):
    assert signs(text) == expected


# Set operations.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT x FROM a UNION SELECT x FROM b", "a+ b+"),
        ("SELECT x FROM a UNION ALL SELECT x FROM b", "a+ b+"),
        ("SELECT x FROM a INTERSECT SELECT x FROM b", "a+ b+"),
        ("SELECT x FROM a INTERSECT ALL SELECT x FROM b", "a+ b+"),
        ("SELECT x FROM a EXCEPT SELECT x FROM b", "a+ b-"),
        ("SELECT x FROM a EXCEPT ALL SELECT x FROM b", "a+ b-"),
        ("SELECT x FROM a EXCEPT DISTINCT SELECT x FROM b", "a+ b-"),
        ("SELECT x FROM a MINUS SELECT x FROM b", "a+ b-"),
        ("SELECT x FROM a MINUS ALL SELECT x FROM b", "a+ b-"),
        ("SELECT x FROM a EXCEPT (SELECT x FROM b EXCEPT SELECT x FROM c)", "a+ b- c-"),
        ("SELECT x FROM a EXCEPT SELECT x FROM b EXCEPT SELECT x FROM c", "a+ b- c-"),
        ("SELECT x FROM a EXCEPT SELECT x FROM b UNION SELECT x FROM c", "a+ b- c+"),
        # INTERSECT binds tighter.
        ("SELECT x FROM a EXCEPT SELECT x FROM b INTERSECT SELECT x FROM c", "a+ b- c-"),
        ("SELECT x FROM a INTERSECT SELECT x FROM b EXCEPT SELECT x FROM c", "a+ b+ c-"),
        ("(SELECT x FROM a EXCEPT SELECT x FROM b) INTERSECT SELECT x FROM c", "a+ b- c+"),
        ("SELECT x FROM a UNION SELECT x FROM b ORDER BY x LIMIT 1", "a- b-"),
        ("SELECT x FROM a UNION (SELECT x FROM b ORDER BY x LIMIT 1)", "a+ b-"),
    ],
)
def test_of_set_operations_only_the_right_side_of_except_is_not_monotone(text, expected):
    """Design 000 Part 2: test_except_is_not_monotone
    Design 001 §9.1: test_classify_except_right_source_is_non_monotone
    Design 001 §9.1: test_classify_except_left_source_is_monotone
    """
    assert signs(text) == expected


def test_distinct_is_monotone():
    assert signs("SELECT DISTINCT x FROM a") == "a+"


# What looks at many rows.


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT count(*) FROM a", "it is the input of an aggregate (COUNT)"),
        ("SELECT max(x), min(x), max(y) FROM a", "it is the input of an aggregate (MAX, MIN)"),
        ("SELECT x, sum(y) FROM a GROUP BY x", "it is the input of an aggregate (SUM)"),
        ("SELECT x FROM a GROUP BY x", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT x FROM a GROUP BY ALL", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT x, y FROM a GROUP BY ROLLUP (x, y)", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT x FROM a GROUP BY x, y WITH CUBE", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT x FROM a GROUP BY GROUPING SETS ((x), ())", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT x FROM a GROUP BY x HAVING count(*) > 1", "it is the input of an aggregate (COUNT)"),
        ("SELECT 1 FROM a HAVING 1 = 1", "it is the input of an aggregate (GROUP BY)"),
        ("SELECT 1 FROM a HAVING max(x) > 1", "it is the input of an aggregate (MAX)"),
        ("SELECT sum(x) OVER (PARTITION BY y) FROM a", "it is the input of a window (SUM)"),
        ("SELECT rank() OVER w FROM a WINDOW w AS (ORDER BY x)", "it is the input of a window (RANK)"),
        ("SELECT x FROM a QUALIFY row_number() OVER (ORDER BY x) = 1", "it is the input of a window (ROW_NUMBER)"),
        ("SELECT x FROM a ORDER BY x LIMIT 3", "it is the input of ORDER BY … LIMIT"),
        ("SELECT x FROM a ORDER BY x OFFSET 3", "it is the input of ORDER BY … OFFSET"),
        ("SELECT x FROM a LIMIT 3", "it is the input of LIMIT"),
        ("SELECT x FROM a OFFSET 3", "it is the input of OFFSET"),
        ("SELECT * FROM a PIVOT (sum(y) FOR x IN (1, 2))", "it is the input of PIVOT, which aggregates"),
        (
            "SELECT x FROM (SELECT x, count(*) AS n FROM a GROUP BY x) WHERE n > 1",
            "it is the input of an aggregate (COUNT)",
        ),
        ("SELECT y FROM (SELECT x AS y FROM a ORDER BY x LIMIT 3) s", "it is the input of ORDER BY … LIMIT"),
        ("(SELECT x FROM a) ORDER BY x LIMIT 3", "it is the input of ORDER BY … LIMIT"),
    ],
)
def test_what_looks_at_many_rows_is_not_monotone(text, reason):
    assert because(text, "a") == reason


def test_the_nearest_obstacle_to_the_root_is_told():
    """Design 001 §9.1: test_classify_nested_non_monotone_detected"""
    assert because("SELECT max(n) FROM (SELECT count(*) OVER () AS n FROM a)", "a") == (
        "it is the input of an aggregate (MAX)"
    )


def test_a_pivot_behind_a_join_is_a_pivot_of_the_join():
    assert signs("SELECT * FROM a JOIN b PIVOT (sum(x) FOR y IN (1, 2))") == "a- b-"
    assert signs("SELECT * FROM a PIVOT (sum(x) FOR y IN (1, 2)) JOIN b") == "a- b+"


@pytest.mark.parametrize("name", sorted(functions.AGGREGATES))
def test_every_aggregate_of_spark_is_not_monotone(name):
    """Design 000 Part 2: test_aggregate_is_not_monotone
    Design 001 §9.1: test_classify_aggregate_source_is_non_monotone
    """
    calls = (f"{name}({arguments})" for arguments in ("", "x", "x, 1", "x, y, 1", "x, y, 1, 2"))
    read = [call for call in calls if not parse_query(f"SELECT {call} FROM a").problems]
    assert read
    for call in read:
        assert signs(f"SELECT {call} FROM a") == "a-"
        assert signs(f"SELECT {call} = true FROM a") == "a-"
        assert signs(f"SELECT y FROM a GROUP BY y HAVING {call} AND y") == "a-"


@pytest.mark.parametrize("name", sorted(functions.WINDOW_ONLY))
def test_every_window_function_of_spark_is_not_monotone(name):
    """Design 000 Part 2: test_window_is_not_monotone"""
    read = [call for call in (f"{name}()", f"{name}(x)", f"{name}(x, 1)") if parse_query(f"SELECT {call} FROM a").tree]
    for call in read:
        assert signs(f"SELECT {call} OVER (ORDER BY x) FROM a") == "a-"


@pytest.mark.parametrize("name", ["any", "some"])
@pytest.mark.parametrize(
    "around", ["{}", "{} = true", "{} AND true", "NOT {}", "true OR {}", "{} FILTER (WHERE y > 1)"]
)
def test_any_and_some_are_aggregates_in_every_expression(name, around):
    assert signs(f"SELECT {around.format(f'{name}(x > 1)')} FROM a") == "a-"


@pytest.mark.parametrize(
    "call",
    [
        "count(DISTINCT x)",
        "sum(x) FILTER (WHERE y > 1)",
        "first(x) IGNORE NULLS",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FILTER (WHERE y > 1)",
        "listagg(x, ',') WITHIN GROUP (ORDER BY x)",
        "sum(x) + 1",
        "coalesce(max(x), 0)",
        "array(max(x))[0]",
        "CASE WHEN count_if(x > 1) > 2 THEN 1 END",
    ],
)
def test_an_aggregate_is_found_whatever_is_around_it(call):
    assert signs(f"SELECT {call} FROM a") == "a-"
