"""ORDER BY … LIMIT: from the published rows and the change of what lies below while they suffice, else all is read."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_trickle.algebra.references import ParsedQuery
from airflow_trickle.engine.delta.context import Published, Views
from tests.budgets import chance, rounds
from tests.engine.delta.duckdb_executor import DuckDBExecutor
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


def test_columns_are_ordered_by_their_positions_too(judge: DuckDBJudge) -> None:
    query = QUERY.partition("ORDER BY")[0] + "ORDER BY 2 DESC, 1 LIMIT 2"
    verdict = judged(judge, query, BEFORE["t"], [*BEFORE["t"], (9, 35)])
    assert verdict.found == verdict.wanted
    assert is_from_published(verdict)


@pytest.mark.parametrize(
    "tail", ["ORDER BY s + 1 DESC, k LIMIT 2", "ORDER BY s DESC, k LIMIT 1 + 1", "ORDER BY s DESC, k LIMIT 2 OFFSET 1"]
)
def test_expressions_offsets_and_computed_limits_are_left_to_the_groups(judge: DuckDBJudge, tail: str) -> None:
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


# --- rows that come one by one ---------------------------------------------------------------------

PAIRS = {"t": Table("t", {"k": "INT", "v": "INT"}), "u": Table("u", {"k": "INT", "w": "INT"})}
ROWS = "SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2"


@pytest.fixture(scope="module")
def of_pairs() -> DuckDBJudge:
    return DuckDBJudge(PAIRS)


@pytest.mark.parametrize(
    ("gone", "came", "published_suffice"),
    [
        pytest.param([], [(9, 35)], True, id="a row comes to the top"),
        pytest.param([], [(9, 1)], True, id="a row comes below the top"),
        pytest.param([(2, 20)], [(9, 1)], True, id="a row goes below the top"),
        pytest.param([(4, 40)], [(9, 31)], True, id="a row of the top goes, and one comes before the last"),
        pytest.param([(4, 40)], [(3, 30)], True, id="a row of the top goes, and one comes that ties with the last"),
        pytest.param([(4, 40)], [(9, 29)], False, id="a row of the top goes, and one comes behind the last"),
        pytest.param([(4, 40)], [], False, id="a row of the top goes, and nothing comes"),
        pytest.param([(4, 40), (3, 30)], [(9, 50)], False, id="two go, and one comes"),
        pytest.param([(4, 40), (3, 30)], [(9, 50), (9, 50)], True, id="two go, and a row comes twice"),
    ],
)
def test_rows_of_a_top_suffice_unless_it_lost_some(
    of_pairs: DuckDBJudge, gone: list[Row], came: list[Row], published_suffice: bool
) -> None:
    after = [*(row for row in BEFORE["t"] if row not in gone), *came]
    verdict = of_pairs.judge(ROWS, {"t": BEFORE["t"]}, {"t": after})
    assert verdict.found == verdict.wanted
    assert is_from_published(verdict) is published_suffice


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, v FROM t ORDER BY v DESC, k",
        "SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2 OFFSET 0",
        "SELECT k, v FROM t ORDER BY v + 1 DESC, k LIMIT 2",
        "SELECT k, CAST(v AS DOUBLE) AS v FROM t ORDER BY v DESC, k LIMIT 2",
        "SELECT DISTINCT k, v FROM t ORDER BY v DESC, k LIMIT 2",
        "SELECT k, sum(v) OVER (PARTITION BY k) AS v FROM t ORDER BY v DESC, k LIMIT 2",
        "SELECT k, v FROM t UNION SELECT k, v FROM t ORDER BY v DESC, k LIMIT 2",
    ],
)
def test_what_is_not_the_top_of_rows_is_not_merged(of_pairs: DuckDBJudge, query: str) -> None:
    verdict = of_pairs.judge(query, BEFORE, {"t": [*BEFORE["t"], (9, 35)]})
    assert verdict.found == verdict.wanted
    assert not any("on top now" in step for step in verdict.steps)


class _LosesARow(DuckDBJudge):
    """Publishes all but the first row of a top."""

    def _publish(
        self, executor: DuckDBExecutor, query: ParsedQuery, states: dict[str, Views], name: str = "published"
    ) -> Published:
        published = super()._publish(executor, query, states, name)
        executor.run(f'DELETE FROM "{name}" WHERE v = (SELECT max(v) FROM "{name}")')
        return published


def test_a_published_top_without_a_row_that_goes_is_computed_anew() -> None:
    verdict = _LosesARow(PAIRS).judge(ROWS, {"t": BEFORE["t"]}, {"t": [row for row in BEFORE["t"] if row != (4, 40)]})
    assert verdict.found == verdict.wanted
    assert not is_from_published(verdict)


#: Every column of the result is among the keys of the order, so that the top is one and the same.
TOPS = (
    "SELECT k, v FROM t ORDER BY v, k LIMIT {n}",
    "SELECT k, v FROM t WHERE v IS NOT NULL OR k = 1 ORDER BY 2 DESC NULLS FIRST, 1 NULLS LAST LIMIT {n}",
    "SELECT t.k, t.v AS k2, u.w FROM t JOIN u ON u.k = t.k ORDER BY t.k DESC, u.w, k2 DESC NULLS FIRST LIMIT {n}",
    "SELECT v AS k, k AS v FROM t ORDER BY k, v DESC LIMIT {n}",
    "SELECT t.k, u.w FROM t LEFT JOIN u ON u.k = t.k AND u.w > t.v ORDER BY w, k LIMIT {n}",
    "SELECT k, v FROM t WHERE v = (SELECT min(w) FROM u WHERE u.k = t.k) ORDER BY k, v LIMIT {n}",
    "SELECT k, v FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) ORDER BY v DESC, k LIMIT {n}",
    "SELECT k, v FROM t WHERE k IN (SELECT k FROM u GROUP BY k HAVING count(*) > 1) ORDER BY v DESC, k LIMIT {n}",
    "WITH d AS (SELECT DISTINCT k, v FROM t) SELECT d.v, u.w FROM d, u WHERE d.k = u.k ORDER BY u.w, d.v LIMIT {n}",
    "SELECT k, v FROM t UNION ALL (SELECT w, k FROM u) ORDER BY v NULLS LAST, k LIMIT {n}",
    "(SELECT t.k, t.v FROM t) ORDER BY v, k DESC LIMIT {n}",
)


@pytest.mark.seeded
@pytest.mark.parametrize(
    ("query", "state"), [(one, False) for one in TOPS] + [(one, True) for one in TOPS if one.count("SELECT") > 1]
)
def test_random_changes_give_the_top_of_all_rows(of_pairs: DuckDBJudge, query: str, state: bool) -> None:
    random, ways = chance(f"{query} {state}"), Counter[bool]()

    def some(count: int) -> list[Row]:
        return [(random.choice([None, *range(7)]), random.choice([None, *range(-3, 5)])) for _ in range(count)]

    for n in (1, 3, 9):
        text, before = query.format(n=n), {"t": some(20), "u": some(9)}
        before = {name: rows for name, rows in before.items() if f" {name}" in text}
        for _ in range(max(4, rounds(6))):
            after = {
                name: [row for row in rows if random.random() < 0.85] + some(random.randrange(4))
                for name, rows in before.items()
            }
            verdict = of_pairs.judge(text, before, after, state=state)
            assert verdict.found == verdict.wanted, (text, before, after, verdict.sql, verdict.steps)
            ways[is_from_published(verdict)] += 1
            before = after
    assert ways[True]
    assert ways[False]


@pytest.mark.seeded
def test_rows_that_tie_leave_a_top_of_all_rows(of_pairs: DuckDBJudge) -> None:
    random, query, ways = chance("ties of rows"), "SELECT k, v FROM t ORDER BY v LIMIT 4", Counter[bool]()
    rows = [(random.randrange(9), random.randrange(9)) for _ in range(15)]
    for _ in range(rounds(40)):
        after = [row for row in rows if random.random() < 0.8]
        after += [(random.randrange(9), random.randrange(9)) for _ in range(random.randrange(6))]
        verdict = of_pairs.judge(query, {"t": rows}, {"t": after})
        assert sorted(v for _, v in verdict.found.elements()) == sorted(v for _, v in verdict.wanted.elements())
        assert verdict.found <= Counter(after)
        ways[is_from_published(verdict)] += 1
        rows = after
    assert ways[True]
    assert ways[False]
