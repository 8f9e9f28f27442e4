"""ORDER BY … LIMIT over groups with state: from the published rows while they suffice, else from the groups."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.budgets import chance, rounds
from tests.engine.delta.duckdb_judge import DuckDBJudge, Row, Rows, Verdict
from tests.engine.delta.golden import Table

TABLES = {"t": Table("t", {"k": "INT", "v": "INT"})}
QUERY = "SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k ORDER BY s DESC, k LIMIT 2"
BEFORE: Rows = {"t": [(1, 10), (2, 20), (3, 30), (4, 40), (5, None)]}


@pytest.fixture(scope="module")
def judge() -> DuckDBJudge:
    return DuckDBJudge(TABLES)


def judged(judge: DuckDBJudge, query: str, before: list[Row], after: list[Row]) -> Verdict:
    return judge.judge(query, {"t": before}, {"t": after}, state=True)


def is_from_published(verdict: Verdict) -> bool:
    """Whether the new top was made of the published rows and the change."""
    return verdict.sql is None or ("what may be on top now" in verdict.steps[-1] and "array_repeat" in verdict.sql)


@pytest.mark.parametrize(
    ("after", "published_suffice"),
    [
        pytest.param([(9, 35)], True, id="a row comes to the top"),
        pytest.param([(9, 1)], True, id="a row comes below the top"),
        pytest.param([(2, 100)], True, id="a group rises to the top"),
        pytest.param([(4, 1)], True, id="the first stays the first"),
        pytest.param([(3, -5)], False, id="the last of the top falls back: others may pass it"),
        pytest.param([(4, -40)], False, id="one of the top falls out, and nobody came"),
        pytest.param([(4, -35), (9, 31)], True, id="one of the top falls out, and another one came before the last"),
        pytest.param([(4, -35), (9, 29)], False, id="one of the top falls out, and another one came behind the last"),
    ],
)
def test_published_rows_suffice_unless_the_top_lost_rows(
    judge: DuckDBJudge, after: list[Row], published_suffice: bool
) -> None:
    verdict = judged(judge, QUERY, BEFORE["t"], [*BEFORE["t"], *after])
    assert verdict.found == verdict.wanted
    assert is_from_published(verdict) is published_suffice


def test_a_table_with_room_left_is_all_there_was(judge: DuckDBJudge) -> None:
    query = QUERY.replace("LIMIT 2", "LIMIT 9")
    verdict = judged(judge, query, BEFORE["t"], [*BEFORE["t"][1:], (9, -7), (2, 1)])
    assert verdict.found == verdict.wanted
    assert is_from_published(verdict)


@pytest.mark.parametrize(
    "tail", ["ORDER BY 2 DESC, 1 LIMIT 2", "ORDER BY s DESC, k LIMIT 1 + 1", "ORDER BY s DESC, k LIMIT 2 OFFSET 1"]
)
def test_positions_offsets_and_computed_limits_are_left_to_the_groups(judge: DuckDBJudge, tail: str) -> None:
    query = QUERY.partition("ORDER BY")[0] + tail
    verdict = judged(judge, query, BEFORE["t"], [*BEFORE["t"], (9, 35)])
    assert verdict.found == verdict.wanted
    assert not any("on top now" in step for step in verdict.steps)


@pytest.mark.seeded
@pytest.mark.parametrize("order", ["s DESC, k, n", "n, s DESC NULLS LAST, k DESC", "k NULLS LAST, s, n"])
def test_random_changes_give_the_top_of_all_groups(judge: DuckDBJudge, order: str) -> None:
    random, ways = chance(order), Counter[bool]()
    for limit in (1, 3, 6):
        query = f"SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k ORDER BY {order} LIMIT {limit}"
        rows = [(random.choice([None, *range(12)]), random.choice([None, *range(-3, 9)])) for _ in range(25)]
        for _ in range(rounds(24)):
            after = [row for row in rows if random.random() < 0.93]
            after += [(random.choice([None, *range(14)]), random.randrange(9)) for _ in range(random.randrange(4))]
            verdict = judged(judge, query, rows, after)
            assert verdict.found == verdict.wanted, (query, rows, after)
            ways[is_from_published(verdict)] += 1
            rows = after
    assert ways[True]
    assert ways[False]


@pytest.mark.seeded
def test_rows_that_tie_or_look_alike_leave_a_top_of_all_groups(judge: DuckDBJudge) -> None:
    """Which of the rows that tie are shown is open: the values that rows are ordered by are not."""
    query = "SELECT count(*) AS n, sum(v) AS s FROM t GROUP BY k ORDER BY n DESC LIMIT 3"
    random = chance("ties")
    rows = [(random.randrange(9), random.choice([1, 2])) for _ in range(20)]
    for _ in range(rounds(40)):
        after = [row for row in rows if random.random() < 0.9]
        after += [(random.randrange(12), random.choice([1, 2])) for _ in range(random.randrange(4))]
        verdict = judged(judge, query, rows, after)
        sizes = Counter(key for key, _ in after)
        groups = Counter((size, sum(v for key, v in after if key == one)) for one, size in sizes.items())
        assert sorted(n for n, _ in verdict.found.elements()) == sorted(n for n, _ in verdict.wanted.elements())
        assert verdict.found <= groups
        rows = after
