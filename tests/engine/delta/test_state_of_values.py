"""Distinct counts, thresholds and minima inside a query: by their state, without a look at the inputs themselves."""

from __future__ import annotations

import re

import pytest

from tests.budgets import chance, rounds
from tests.engine.delta.duckdb_judge import DuckDBJudge, Row, Verdict
from tests.engine.delta.golden import Table

TABLES = {"t": Table("t", {"k": "INT", "v": "INT"}), "u": Table("u", {"k": "INT", "w": "INT"})}
#: Each reads of the changed tables nothing but their change.
QUERIES = (
    "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k",
    "SELECT count(DISTINCT v) AS n, count(DISTINCT k) AS m, sum(v) AS s FROM t",
    "SELECT k, max(v) - min(v) AS spread FROM t GROUP BY k",
    "SELECT min(v) AS low, count(*) AS n FROM t GROUP BY k",
    "SELECT n, count(*) AS c FROM (SELECT k, max(v) AS n FROM t GROUP BY k) AS q GROUP BY n",
    "SELECT k, count(DISTINCT v) AS n FROM t GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT k, sum(v) AS s FROM t GROUP BY k HAVING sum(v) > (SELECT sum(v) / 4 FROM t)",
    "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) >= (SELECT count(DISTINCT w) FROM u)",
    "SELECT k, count(*) * 100 / (SELECT count(*) FROM t) > 20 AS large FROM t GROUP BY k",
    "WITH g AS (SELECT k, sum(v) AS s FROM t GROUP BY k) SELECT k, s FROM g WHERE s = (SELECT max(s) FROM g)",
    "WITH g AS (SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > (SELECT count(*) FROM u)) "
    "SELECT n, count(*) AS c FROM g GROUP BY n",
)


@pytest.fixture(scope="module")
def judge() -> DuckDBJudge:
    return DuckDBJudge(TABLES)


def reads_inputs(verdict: Verdict) -> bool:
    """Whether the change reads the rows of a table before or after, be it by way of other steps."""
    steps = {step.partition(":")[0]: step for step in verdict.steps}
    read, texts = set[str](), [verdict.sql or ""]
    while texts:
        text = texts.pop()
        if any(f"{name}_{state}" in text for name in TABLES for state in ("before", "after")):
            return True
        found = set(re.findall(r"trickle_\d+", text)) - read
        read |= found
        texts += [steps[name].partition(": ")[2] for name in found]
    return False


@pytest.mark.seeded
@pytest.mark.parametrize("query", QUERIES)
def test_random_changes_are_computed_from_state_alone(judge: DuckDBJudge, query: str) -> None:
    random, used = chance(query), 0

    def some(count: int) -> list[Row]:
        return [(random.choice([None, *range(5)]), random.choice([None, *range(-2, 5)])) for _ in range(count)]

    names = [name for name in TABLES if f"FROM {name}" in query]
    before = {name: some(15) for name in names}
    for _ in range(rounds(10)):
        after = {
            name: [row for row in rows if random.random() < 0.85] + some(random.randrange(4))
            for name, rows in before.items()
        }
        verdict = judge.judge(query, before, after, state=True)
        assert verdict.found == verdict.wanted, (before, after, verdict.sql, verdict.steps)
        if verdict.state is not None:
            assert verdict.state[0] == verdict.state[1], (before, after, verdict.steps)
            assert not reads_inputs(verdict)
            used += 1
        before = after
    assert used


def test_groups_between_two_thresholds_come_and_go_and_no_others(judge: DuckDBJudge) -> None:
    query = "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > (SELECT count(*) FROM u)"
    rows: list[Row] = [(key, None) for key in range(1, 6) for _ in range(key)]
    verdict = judge.judge(query, {"t": rows, "u": [(0, 0)] * 2}, {"t": rows, "u": [(0, 0)] * 4}, state=True)
    assert set(verdict.found) == {(5, 5)}
    (judged,) = (step for step in verdict.steps if "HAVING may judge otherwise" in step)
    assert judge.rows_of_step(judged) == [(3,), (4,)]


def test_the_change_of_a_maximum_that_stays_touches_nothing(judge: DuckDBJudge) -> None:
    query = "SELECT k, v FROM t WHERE v >= (SELECT max(w) FROM u)"
    before: dict[str, list[Row]] = {"t": [(1, 1), (2, 5)], "u": [(1, 3), (1, 2)]}
    verdict = judge.judge(query, before, {**before, "u": [(1, 3), (1, 1), (2, 3)]}, state=True)
    assert verdict.sql is None
    assert verdict.found == verdict.wanted
