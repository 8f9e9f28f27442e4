"""Averages of whole numbers inside a query: exact below 2^53 in all, refused by the rows themselves beyond."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.budgets import budget
from tests.engine.delta.duckdb_judge import DuckDBJudge, Row
from tests.engine.delta.golden import Table

LIMIT = 2**53
_INT = st.integers(-(2**31), 2**31 - 1)
_NEAR = st.integers(LIMIT - 3, LIMIT + 3).map(lambda value: value // 3)
_BIGINT = st.one_of(_INT, _NEAR, _NEAR.map(lambda value: -value), st.integers(-(2**63), 2**63 - 1))


def added(values: list[int], shape: list[int]) -> float:
    """The sum of some numbers as doubles: one by one, or in parts that are then added up, as the shape says."""
    if len(values) < 2 or not shape:
        total = 0.0
        for value in values:
            total += float(value)
        return total
    cut = shape[0] % len(values)
    return added(values[:cut], shape[1:]) + added(values[cut:], shape[1:])


@given(st.lists(_BIGINT, max_size=12), st.data())
@budget(3)
def test_below_the_limit_every_order_of_additions_gives_the_exact_sum(values: list[int], data: st.DataObject) -> None:
    """The rule's proof, tried: the sum of sizes decides the same in any order, and below it nothing is rounded."""
    shape = data.draw(st.lists(st.integers(0, 11), max_size=6))
    order = data.draw(st.permutations(values))
    is_below = added([abs(value) for value in order], shape) < LIMIT
    assert is_below == (sum(abs(value) for value in values) < LIMIT)
    if is_below:
        assert Fraction(added(order, shape)) == sum(values)


def test_beyond_the_limit_the_order_decides() -> None:
    assert added([LIMIT, 1, 1], []) != added([1, 1, LIMIT], [])


QUERY = "SELECT x.m, count(*) AS n FROM (SELECT k, avg(b) AS m FROM r GROUP BY k) AS x GROUP BY x.m"


def change(before: list[Row], after: list[Row], query: str = QUERY, *, state: bool = False) -> None:
    verdict = DuckDBJudge({"r": Table("r", {"k": "INT", "b": "BIGINT"})}).judge(
        query, {"r": before}, {"r": after}, state=state
    )
    assert verdict.found == verdict.wanted


@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize("query", [QUERY, QUERY.replace("avg(b)", "avg(CAST(b AS INT))")], ids=["bigint", "int"])
def test_negative_numbers_nulls_and_empty_groups_are_exact(query: str, state: bool) -> None:
    rows = [(1, -(2**31)), (1, 2**31 - 1), (1, None), (2, None), (None, 7), (None, -7), (3, 5), (3, 5)]
    for gone in range(len(rows)):
        change(rows, rows[:gone] + rows[gone + 1 :], query, state=state)
        change(rows[:gone], rows, query, state=state)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([(1, LIMIT - 1)], [(1, LIMIT - 1), (1, 1)]),
        ([(1, LIMIT), (1, 1)], [(1, 1)]),
        ([(1, LIMIT), (1, -LIMIT), (1, 3)], [(1, LIMIT), (1, -LIMIT), (1, 4)]),
        ([(1, 0)], [(1, -(2**63))]),
    ],
    ids=["reached", "left", "no large sum", "the smallest number"],
)
def test_a_touched_group_that_may_be_rounded_fails_the_change(before: list[Row], after: list[Row]) -> None:
    with pytest.raises(duckdb.ConversionException, match="2\\^53 or more in all"):
        change(before, after)


def test_a_group_that_may_be_rounded_is_no_matter_where_no_change_meets_it() -> None:
    query = "SELECT x.k, x.m FROM (SELECT k, avg(b) AS m FROM r GROUP BY k) AS x"
    change([(1, LIMIT), (1, 1), (2, 5)], [(1, LIMIT), (1, 1), (2, 6)], query)
    change([(1, LIMIT - 2), (1, 1)], [(1, LIMIT - 2)], query)


def test_rows_of_a_filter_alone_count() -> None:
    query = "SELECT x.m FROM (SELECT k, avg(b) FILTER (WHERE b < 10) AS m FROM r GROUP BY k) AS x"
    change([(1, LIMIT), (1, 1)], [(1, LIMIT), (1, 3)], query)
