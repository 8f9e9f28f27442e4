"""Changes that a few random rows seldom hit, as rows by hand: both sides at once, NULL as what is looked for."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.engine.delta.duckdb_judge import DuckDBJudge, Row, Rows
from tests.engine.delta.golden import Table

W = Decimal("1.50")
A: Row = (1, 7, "x")
NULL_KEY: Row = (None, 7, "x")
B: Row = (1, W)
LOW = Decimal("-3.25")


@pytest.fixture(scope="module")
def judge() -> DuckDBJudge:
    return DuckDBJudge()


def rows(a: list[Row], b: list[Row]) -> Rows:
    return {"a": a, "b": b}


CHANGES = {
    "both come": (rows([], []), rows([A], [B])),
    "both go": (rows([A], [B]), rows([], [])),
    "more and the first": (rows([A], []), rows([A, A], [B])),
    "the first and more": (rows([], [B]), rows([A], [B, B])),
    "more and fewer": (rows([A], [B, B]), rows([A, A], [B])),
    "only the right goes": (rows([A], [B]), rows([A], [])),
    "only the right comes": (rows([A], []), rows([A], [B, (1, LOW)])),
    "keys swap": (rows([NULL_KEY], [B]), rows([A], [(None, W)])),
}
change_of_both = pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES.keys())


@change_of_both
@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_rows_that_come_and_go_on_both_sides_of_a_join_meet_once(
    judge: DuckDBJudge, join: str, before: Rows, after: Rows
) -> None:
    shown = "a.v" if "SEMI" in join or "ANTI" in join else "a.v, b.w"
    verdict = judge.judge(f"SELECT {shown} FROM a {join} b ON a.k = b.k", before, after)
    assert verdict.found == verdict.wanted


@change_of_both
@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.v, (SELECT count(*) FROM b WHERE b.k = a.k) AS n FROM a",
        "SELECT a.v, (SELECT sum(w) FROM b WHERE b.k = a.k AND w > 0) AS s FROM a",
        "SELECT v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND w > 0)",
        "SELECT v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND w > 0)",
        "SELECT a.v, b.w FROM a LEFT JOIN b ON a.k = b.k",
    ],
    ids=["count", "sum", "EXISTS", "NOT EXISTS", "LEFT JOIN"],
)
def test_what_is_looked_up_by_key_is_that_of_before_for_rows_that_go_and_that_of_now_for_others(
    judge: DuckDBJudge, query: str, before: Rows, after: Rows
) -> None:
    verdict = judge.judge(query, before, after, state=True)
    assert verdict.found == verdict.wanted
    if verdict.state is not None:
        assert verdict.state[0] == verdict.state[1]


@pytest.mark.parametrize("word", ["IN", "NOT IN"])
@pytest.mark.parametrize("groups", ["", " GROUP BY k"], ids=["rows", "groups with state"])
@pytest.mark.parametrize("what", [[], [B], [(None, W)], [B, (None, W)]], ids=["none", "one", "NULL", "both"])
@pytest.mark.parametrize("then", [[], [B], [(None, W)], [B, (None, W)]], ids=["none", "one", "NULL", "both"])
def test_a_null_is_looked_for_again_when_the_subquery_changed(
    judge: DuckDBJudge, word: str, groups: str, what: list[Row], then: list[Row]
) -> None:
    left = [NULL_KEY, A, (2, 8, "y")]
    query = f"SELECT v FROM a WHERE k {word} (SELECT k FROM b{groups})"
    verdict = judge.judge(query, rows(left, what), rows(left, then), state=bool(groups))
    assert verdict.found == verdict.wanted


def test_sums_of_decimals_with_many_digits_lose_what_went() -> None:
    """A product of so many digits and a weight would not fit: they are added and subtracted as they are."""
    large = Decimal(10**28 + 7)
    judge = DuckDBJudge({"w": Table("w", {"k": "INT", "x": "DECIMAL(30,0)"})})
    before: Rows = {"w": [(1, large), (1, Decimal(5)), (2, large), (3, None), (3, Decimal(1)), (3, Decimal(1))]}
    after: Rows = {"w": [(1, large), (2, Decimal(2)), (3, None), (4, Decimal(-4)), (4, Decimal(-4))]}
    verdict = judge.judge("SELECT k, sum(x) AS s, count(x) AS c FROM w GROUP BY k", before, after, state=True)
    assert verdict.found == verdict.wanted
    assert verdict.state is not None
    assert verdict.state[0] == verdict.state[1]


@pytest.mark.parametrize("shown", ["sum(a.v) AS s", "count(*) AS n", "count(a.v) AS n, max(a.v) AS m"])
@pytest.mark.parametrize("source", ["a", "a JOIN b ON a.k = b.k"], ids=["a table", "a join"])
def test_a_row_that_comes_several_times_is_aggregated_so_often(judge: DuckDBJudge, shown: str, source: str) -> None:
    query = f"SELECT a.s AS g, {shown} FROM {source} GROUP BY a.s"
    verdict = judge.judge(query, rows([A], [B]), rows([A, A, A, (1, 2, "y"), (1, 2, "y")], [B]))
    assert verdict.found == verdict.wanted


def test_of_the_best_groups_one_that_fell_makes_room_for_an_unchanged_one(judge: DuckDBJudge) -> None:
    """Not for one that changed too, but comes behind it."""
    query = "SELECT s, count(*) AS n FROM a GROUP BY s ORDER BY n DESC, s LIMIT 2"

    def counted(**counts: int) -> Rows:
        return {"a": [(1, 1, name) for name, count in counts.items() for _ in range(count)]}

    verdict = judge.judge(query, counted(p=5, q=4, r=3, t=1), counted(p=5, q=1, r=3, t=2), state=True)
    assert verdict.found == verdict.wanted
    assert verdict.state is not None
