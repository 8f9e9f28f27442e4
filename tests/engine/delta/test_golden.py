"""The SQL of every delta rule is the one its golden file shows, and on random changes it gives the right rows."""

from __future__ import annotations

from itertools import count, islice

import pytest

from tests import budgets
from tests.engine.delta import golden
from tests.engine.delta.duckdb_judge import DuckDBJudge, Rows, Verdict, explained
from tests.engine.delta.golden import GoldenCase

CASES = [case for case in golden.cases() if not case.spark_only]
#: How many changes follow each other in every case.
_CHANGES = budgets.rounds(4)


@pytest.fixture(scope="module")
def judge() -> DuckDBJudge:
    return DuckDBJudge()


def _id(case: GoldenCase) -> str:
    return f"{case.family}: {case.title}"


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_the_sql_of_a_change_is_the_one_in_the_file(judge: DuckDBJudge, case: GoldenCase) -> None:
    assert explained(judge, case) == case.expected, f"`make golden` rewrites {case.family}.sql; then read its diff"


@pytest.mark.seeded
@pytest.mark.parametrize("case", [case for case in CASES if case.refused is None], ids=_id)
def test_rows_before_and_the_change_are_the_rows_after(judge: DuckDBJudge, case: GoldenCase) -> None:
    random, with_state = budgets.chance(case.title), 0
    for before, after in islice(judge.random_states(case, random), _CHANGES):
        verdict = judge.judge(case.query, before, after, state=case.state)
        _require_right(verdict, before, after)
        with_state += verdict.state is not None
    keeps_state = case.state and case.expected != "-- expect no state"
    assert (with_state > 0) == keeps_state


@pytest.mark.parametrize("case", [case for case in CASES if case.state], ids=_id)
@pytest.mark.seeded
def test_state_of_parts_serves_without_state_of_the_whole(judge: DuckDBJudge, case: GoldenCase) -> None:
    random = budgets.chance(case.title)
    for before, after in islice(judge.random_states(case, random), budgets.rounds(2)):
        _require_right(judge.judge(case.query, before, after, state=True, of_parts_alone=True), before, after)


@pytest.mark.parametrize("case", [case for case in CASES if case.state], ids=_id)
@pytest.mark.seeded
def test_all_rows_go_and_others_come_again(judge: DuckDBJudge, case: GoldenCase) -> None:
    random = budgets.chance(case.title)
    # Each from new rows: an input that does not change stays empty if it was.
    beginnings = (next(iter(judge.random_states(case, random)))[0] for _ in count())
    rows = next(before for before in beginnings if all(before.values()))
    none = {name: [] for name in rows}
    one = {name: some[:1] for name, some in rows.items()}
    changes = random.sample([(rows, none), (none, one), (rows, one)], 3)
    for before, after in changes[: budgets.rounds(6)]:
        _require_right(judge.judge(case.query, before, after, state=case.state), before, after)


def _require_right(verdict: Verdict, before: Rows, after: Rows) -> None:
    assert verdict.found == verdict.wanted, (before, after, verdict.sql, verdict.steps)
    if verdict.state is not None:
        refreshed, anew = verdict.state
        assert refreshed == anew, (before, after, verdict.steps)


def test_titles_are_unique_within_a_file() -> None:
    ids = [_id(case) for case in golden.cases()]
    assert sorted(set(ids)) == sorted(ids)
