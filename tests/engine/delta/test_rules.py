"""Golden cases on Spark, which takes the SQL: rows before plus change are what the query itself gives.

DuckDB has judged every case on more changes (`test_golden.py`). `make test` runs on Spark what DuckDB cannot judge, and
every second of the other cases of each file; `make soak` runs all of them. All inputs are loaded once, in three ways to
change: rows come and go, only come, or all go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Views
from tests.engine.delta import golden
from tests.engine.delta.duckdb_judge import Row, Rows, changed_rows, random_rows
from tests.engine.delta.golden import GoldenCase
from tests.engine.delta.judge import Case, change, load_states, schema_of

CASES = golden.cases()


def _cases(cases: list[GoldenCase]) -> list[Any]:
    """Cases as parameters; those that `make test` leaves to DuckDB are for a soak."""
    seen: Counter[str] = Counter()
    found = []
    for case in cases:
        only_in_soak = not case.spark_only and seen[case.family] % 2 == 1
        seen[case.family] += not case.spark_only
        found.append(pytest.param(case, id=_id(case), marks=pytest.mark.soak if only_in_soak else ()))
    return found


def _id(case: GoldenCase) -> str:
    return f"{case.family}: {case.title}"


#: Cases whose result stays as it is over the inputs here.
UNMOVED = {
    "a sum in a CTE of a CTE",
    "EXCEPT",
    "INTERSECT of a CTE with groups",
    "NOT IN with NULLs among the values, both sides changed",
    "UNION",
    "all columns of a relation whose subquery has another answer",
    "distinct of a join, rows only come",
    "exists, only b changed",
    "group by an expression, rows only come",
    "not in",
    "not in behind between",
    "not in, only a changed",
    "not in, only b changed",
    "top of rows that did not change",
    "union",
    "union of types",
    "values",
}
#: Families in which an empty input is a case of its own: what is the sum of nothing, what does it subtract?
EMPTIED = ("distinct", "set_operation", "insert_only")
_ROWS = 9


class Change(Enum):
    """How an input changes: rows come and go, only come, or all go."""

    MIXED = "mixed"
    GROWN = "grown"
    GONE = "gone"


@dataclass
class Inputs:
    """All inputs of golden cases as views on Spark: unchanged, with rows that came and went, with rows that came."""

    before: Rows
    after: dict[Change, Rows]
    views: dict[tuple[str, Change], Views]
    ranges: dict[str, Any] = field(default_factory=dict)

    def of(self, case: GoldenCase, *, gone: bool = False) -> tuple[Rows, dict[str, Views]]:
        """The rows after, and the states, as one case has them; ``gone``: where all rows of what changes go."""
        after, states = dict(self.before), {}
        for name in self.before:
            if name in case.changed:
                change = Change.GONE if gone else Change.GROWN if case.changed[name] else Change.MIXED
                after[name], states[name] = self.after[change][name], self.views[name, change]
            else:
                old = self.views[name, Change.MIXED]
                states[name] = Views(old.old, old.old, None, types=old.types)
        return after, states


def _loaded() -> tuple[Rows, dict[Change, Rows]]:
    """Rows of all inputs, before and after, with duplicates, NULLs, rows that go and rows that come in each."""
    before: Rows = {}
    after: dict[Change, Rows] = {change: {} for change in Change}
    for name, table in golden.tables().items():
        random = Random(name)
        while True:
            rows = random_rows(random, table, _ROWS)
            mixed = changed_rows(random, table, rows, grows=False)
            if _is_sharp(rows, mixed):
                break
        before[name], after[Change.MIXED][name], after[Change.GONE][name] = rows, mixed, []
        after[Change.GROWN][name] = changed_rows(random, table, rows, grows=True)
    return before, after


def _is_sharp(before: list[Row], after: list[Row]) -> bool:
    was, now = (Counter(str(row) for row in rows) for rows in (before, after))
    return len(was) < _ROWS and len(was - now) > 1 and len(now - was) > 1 and bool(was & now)


@pytest.fixture(scope="module")
def inputs(spark: SparkSession) -> Inputs:
    before, after = _loaded()
    found = Inputs(before, after, {})
    for kind, rows in after.items():
        for name in before:
            schema = schema_of(golden.tables()[name])
            states, ranges = load_states(spark, f"{name}_{kind.value}", schema, before[name], rows[name])
            found.views[name, kind] = states
            found.ranges.update(ranges)
    return found


@pytest.mark.parametrize("case", _cases(CASES))
def test_rows_before_and_the_change_are_the_rows_after(spark: SparkSession, inputs: Inputs, case: GoldenCase) -> None:
    after, states = inputs.of(case)
    types = {name: schema_of(table) for name, table in golden.tables().items()}
    run = Case(case.query, types, inputs.before, after, ranges=dict(inputs.ranges), states=states)
    if case.refused is not None:
        with pytest.raises(NotInBlocks) as refused:
            change(spark, run, kept=case.state)
        assert refused.value.why == case.refused
        return
    found, wanted = change(spark, run, kept=case.state)
    assert found == wanted, (inputs.before, after, run.sql, run.steps)
    assert run.kept is (case.state and case.expected != "-- expect no state"), "whether state was used"
    assert run.unmoved is (case.title in UNMOVED), "a change that moves nothing proves little"


@pytest.mark.parametrize("case", _cases([one for one in CASES if one.family in EMPTIED and one.refused is None]))
def test_all_rows_go(spark: SparkSession, inputs: Inputs, case: GoldenCase) -> None:
    after, states = inputs.of(case, gone=True)
    types = {name: schema_of(table) for name, table in golden.tables().items()}
    run = Case(case.query, types, inputs.before, after, ranges=dict(inputs.ranges), states=states)
    found, wanted = change(spark, run, kept=case.state)
    assert found == wanted, (inputs.before, run.sql, run.steps)
