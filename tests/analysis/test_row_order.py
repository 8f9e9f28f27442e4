"""Functions that answer by the order in which rows come: a query with one is refreshed in full."""

from __future__ import annotations

import pytest

from airflow_trickle.algebra import functions
from airflow_trickle.analysis.modes import Obstacle
from tests.analysis.obstacles import obstacles, whys

ORDER = "answers by the order in which rows come, which is not the same on every run"


@pytest.mark.parametrize("name", sorted(functions.ORDER_DEPENDENT))
def test_an_aggregate_that_answers_by_the_order_of_rows_is_found_at_its_place(name):
    why = f"{name}() {ORDER}"
    assert obstacles(f"SELECT k, {name}(x) FROM a GROUP BY k") == (Obstacle(10, why),)
    assert whys(f"SELECT {name}(x) FILTER (WHERE y > 1) FROM a") == [why]
    assert whys(f"SELECT k FROM a GROUP BY k HAVING {name}(x) IS NULL") == [why]
    assert whys(f"SELECT * FROM a PIVOT ({name}(x) FOR y IN (1, 2))") == [why]
    assert whys(f"SELECT x FROM a WHERE x IN (SELECT {name.upper()}(x) FROM b)") == [why]


@pytest.mark.parametrize(
    "call",
    [
        "array_agg(x)",
        "collect_list(DISTINCT x)",
        "first(x) IGNORE NULLS",
        "first(x, true)",
        "last_value(x, true)",
        "any_value(x, true)",
        "max_by(x, y)",
        "listagg(DISTINCT x, ',')",
        "mode(x, false)",
        "approx_percentile(DISTINCT x, 0.5)",
    ],
)
def test_no_argument_gives_rows_an_order(call):
    name = call.partition("(")[0]
    assert obstacles(f"SELECT {call} FROM a") == (Obstacle(7, f"{name}() {ORDER}"),)


@pytest.mark.parametrize(
    "call",
    [
        *("count(x)", "sum(x)", "min(x)", "approx_count_distinct(x)", "bitmap_construct_agg(x)", "percentile(x, 0.5)"),
        *("mode(x, true)", "mode() WITHIN GROUP (ORDER BY x)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY x)"),
        *("listagg(x) WITHIN GROUP (ORDER BY x)", "string_agg(x, ',') WITHIN GROUP (ORDER BY y DESC, x)"),
        *("string_agg(DISTINCT x) WITHIN GROUP (ORDER BY x)", "count_min_sketch(x, 0.5D, 0.5D, 1)"),
    ],
)
def test_an_aggregate_that_needs_no_order_or_has_one_is_no_obstacle(call):
    assert obstacles(f"SELECT {call} FROM a") == ()


def test_a_list_in_the_order_of_another_column_is_one_of_several_where_that_is_equal():
    assert whys("SELECT k, listagg(x, ',') WITHIN GROUP (ORDER BY y) FROM a GROUP BY k") == [
        "listagg() orders by something else than what it lists, and rows that are equal in that come in any order"
    ]


@pytest.mark.parametrize(
    "call",
    [
        *("row_number()", "ntile(4)", "lag(x)", "lead(x) IGNORE NULLS", "nth_value(x, 2)"),
        *("first_value(x)", "last_value(x) IGNORE NULLS", "collect_list(x)", "listagg(x)", "max_by(x, y)"),
    ],
)
def test_a_window_that_needs_an_order_must_have_one(call):
    why = f"{call.partition('(')[0]}() without ORDER BY {ORDER}"
    assert obstacles(f"SELECT y, {call} OVER (PARTITION BY y) FROM a") == (Obstacle(10, why),)
    assert whys(f"SELECT {call} OVER w FROM a WINDOW v AS (ORDER BY x), w AS (PARTITION BY y)") == [why]
    assert whys(f"SELECT {call} OVER w FROM a WINDOW w AS (w)") == [why]
    assert whys(f"SELECT x FROM a QUALIFY {call} OVER (PARTITION BY y) = 1") == [why]
    # How ties fall is known where the columns are.
    assert obstacles(f"SELECT {call} OVER (PARTITION BY y ORDER BY x) FROM a") == ()
    assert obstacles(f"SELECT {call} OVER w FROM a WINDOW v AS (ORDER BY x), w AS (v)") == ()


@pytest.mark.parametrize(
    ("frame", "count"),
    [
        ("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", 1),
        ("ROWS UNBOUNDED PRECEDING", 1),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", 0),
        ("ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", 0),
        ("", 0),
    ],
)
def test_a_frame_of_some_rows_needs_an_order(frame, count):
    assert whys(f"SELECT sum(x) OVER (PARTITION BY y {frame}) FROM a") == [f"sum() without ORDER BY {ORDER}"] * count


def test_windows_that_need_no_order_need_none():
    assert obstacles("SELECT sum(x) OVER (PARTITION BY y), count(*) OVER (), rank() OVER () FROM a") == ()
