"""How many bytes a refresh from changes reads, as its query tells."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.engine.kept import ROOT
from airflow_trickle.engine.program_cost import ProgramCost, Relation, program_cost

COLUMNS = {
    "orders": frozenset({"o_id", "o_customer", "o_total"}),
    "lines": frozenset({"l_order", "l_amount"}),
    "customers": frozenset({"c_id", "c_name"}),
}
SIZES = {"orders": 1000, "lines": 4000, "customers": 100}


def cost(
    query: str,
    changed: Mapping[str, int],
    states: Mapping[int, int] | None = None,
    *,
    grew: bool = True,
    share: float = 1,
) -> ProgramCost:
    blocks, parsed = blocks_of(query)
    places = {
        ref.start: (
            ref.name,
            Relation(SIZES[ref.name], changed.get(ref.name, 0), grew, COLUMNS[ref.name]),
        )
        for ref in parse_query(query).references
    }
    return program_cost(blocks, parsed, places, states or {}, lambda *_: share)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT l_amount FROM lines WHERE l_amount > 3", 10),
        ("SELECT o_total, l_amount FROM orders JOIN lines ON l_order = o_id", 10 + 500),
        ("SELECT o_total, l_amount FROM orders, lines WHERE l_order = o_id", 10 + 500),
        ("SELECT o_total, l_amount FROM orders CROSS JOIN lines", 10 + 1000),
        ("SELECT o.o_total, l.l_amount FROM orders AS o JOIN lines AS l ON l.l_order = o.o_id", 10 + 500),
        ("SELECT l_order, sum(l_amount) FROM lines GROUP BY l_order", 10),
        ("SELECT l_order, avg(l_amount) FROM lines GROUP BY l_order", 10 + 2000),
        ("SELECT l_order, sum(l_amount) FROM lines GROUP BY l_order HAVING count(*) > 1", 10 + 2000),
        ("SELECT l_order, rank() OVER (PARTITION BY l_order ORDER BY l_amount) FROM lines", 10 + 4000),
        ("SELECT DISTINCT l_order FROM lines", 10),
        ("SELECT l_order FROM lines UNION ALL SELECT o_id FROM orders", 10),
        ("SELECT l_order, l_amount FROM lines ORDER BY l_amount LIMIT 3", 10),
        ("SELECT l_order, l_amount FROM lines ORDER BY l_amount LIMIT 3 OFFSET 1", 4000),
        ("SELECT DISTINCT l_amount FROM lines ORDER BY l_amount LIMIT 3", 4000),
        ("SELECT l_order, count(*) AS n FROM lines GROUP BY l_order ORDER BY n LIMIT 3", 4000),
        ("SELECT o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_order = o_id)", 10 + 2 * 500 + 2000),
        ("SELECT o_id FROM orders WHERE o_id IN (SELECT l_order FROM lines)", 10 + 2 * 500 + 2000),
        (
            "WITH w AS (SELECT l_order, l_amount FROM lines) SELECT o_id FROM orders JOIN w ON w.l_order = o_id",
            10 + 500,
        ),
        ("SELECT o_id FROM orders", 0),
    ],
)
def test_what_is_read_for_new_lines(query: str, read: float) -> None:
    assert cost(query, {"lines": 10}).bytes == read


@pytest.mark.parametrize(
    "query",
    [
        "SELECT o_id FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE l_order = o_id)",
        "SELECT o_id FROM orders WHERE o_id IN (SELECT l_order FROM lines)",
    ],
)
def test_rows_around_a_subquery_with_state_are_read_once(query: str) -> None:
    assert cost(query, {"lines": 10}, {1: 70}).bytes == 10 + 500 + 70


def test_both_sides_of_a_join_that_changed_are_read_for_each_other() -> None:
    join = "SELECT o_total, l_amount FROM orders JOIN lines ON l_order = o_id"
    assert cost(join, {"lines": 10, "orders": 5}).bytes == 10 + 500 + 5 + 2000
    # By their metadata, no file but the new ones can hold partners.
    assert cost(join, {"lines": 10, "orders": 5}, share=0.0).bytes == 15


def test_columns_are_equal_by_a_third_one_too() -> None:
    query = "SELECT 1 AS one FROM orders, lines, customers WHERE l_order = o_id AND o_id = c_id"
    assert cost(query, {"customers": 1}).bytes == 1 + 500 + 2000


def test_rows_that_go_have_their_groups_read_again_unless_there_is_state() -> None:
    query = "SELECT l_order, sum(l_amount) FROM lines GROUP BY l_order"
    assert cost(query, {"lines": 10}, grew=False).bytes == 10 + 2000
    assert cost(query, {"lines": 10}, {ROOT: 70}, grew=False).bytes == 10 + 70


def test_rows_that_go_may_leave_a_top_with_too_few_rows() -> None:
    query = "SELECT l_order, l_amount FROM lines ORDER BY l_amount LIMIT 3"
    assert cost(query, {"lines": 10}, grew=False).bytes == 10 + 400


def test_a_part_with_state_is_read_from_it() -> None:
    groups = "SELECT l_order, avg(l_amount) AS m FROM lines GROUP BY l_order"
    query = f"SELECT o_id FROM orders JOIN ({groups}) AS g ON l_order = o_id"
    assert cost(query, {"lines": 10}).bytes == 10 + 2000 + 500
    assert cost(query, {"lines": 10}, {1: 70}).bytes == 10 + 70 + 500


def test_a_threshold_is_asked_of_the_state_of_the_groups() -> None:
    total = "SELECT sum(l_amount) FROM lines"
    query = f"SELECT l_order, sum(l_amount) AS s FROM lines GROUP BY l_order HAVING sum(l_amount) > ({total})"
    # The change is read for the groups and for the total; then the state of each, that of the total twice.
    assert cost(query, {"lines": 10}, {ROOT: 70, 1: 3}).bytes == 10 + 70 + (10 + 3) + 3
    assert cost(query, {"lines": 10}).bytes > 4000


def test_distinct_counts_are_read_from_state() -> None:
    query = "SELECT l_order, count(DISTINCT l_amount) AS n FROM lines GROUP BY l_order"
    assert cost(query, {"lines": 10}).bytes == 10 + 2000
    assert cost(query, {"lines": 10}, {ROOT: 70}).bytes == 10 + 70


def test_windows_are_those_of_the_query_not_of_its_texts() -> None:
    assert cost("SELECT sum(l_amount) OVER (PARTITION BY l_order) FROM lines", {"lines": 1}).windows
    assert not cost("SELECT 'game over', l_amount FROM lines -- over (again)", {"lines": 1}).windows
