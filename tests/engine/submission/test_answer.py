"""Outcomes travel as JSON; what callers tell apart must be the same on both sides."""

from __future__ import annotations

import json

import pytest

from airflow_trickle import errors
from airflow_trickle.engine.capture.contents import SourceMoved
from airflow_trickle.engine.submission.answer import Answer, answer_of
from airflow_trickle.errors import (
    CommitConflict,
    DefinitionError,
    NonConvergence,
    Position,
    Problem,
    TickFailed,
    TrickleError,
)
from airflow_trickle.results import Iteration, Mode, Status, TableResult

RESULT = TableResult(
    table="t", status=Status.ACTIVE, mode=Mode.DIFFERENTIAL, reason="ü", rows_in=3, phases={"pin": 0.1}
)
PASSES = (
    Iteration(number=1, phase="retract", changes={"a": 3}, seconds=0.5),
    Iteration(number=2, phase="derive", changes={"a": 0}),
)
#: Every error of ours that carries more than its message.
RICH = {
    DefinitionError: DefinitionError(
        [Problem(Position("b.yaml", 2, 3), "wrong.", "Do."), Problem(Position("a", 1, 1), "x")]
    ),
    CommitConflict: CommitConflict("somebody was first", ["default.t", "default.u"]),
    NonConvergence: NonConvergence(
        "did not settle", unit="cycle_a", members=["a", "b"], trace=PASSES, hint="Say UNION."
    ),
    TickFailed: TickFailed("1 of 1 failed", {"t": RESULT}),
}
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TrickleError)]


def travelled(outcome: Answer) -> Answer:
    return answer_of(outcome.as_json())


def test_results_and_passes_come_back_as_they_were() -> None:
    outcome = Answer((RESULT, RESULT), passes=PASSES)

    assert travelled(outcome) == outcome
    assert travelled(outcome).or_raise() == (RESULT, RESULT)


def test_work_that_is_not_finished_comes_back_as_such() -> None:
    assert travelled(Answer(passes=PASSES, unfinished=True)) == Answer(passes=PASSES, unfinished=True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_comes_back_as_what_it_was(kind: type[TrickleError]) -> None:
    error = RICH.get(kind) or kind("what happened: 'ü' \x00 \ud800")

    with pytest.raises(TrickleError) as raised:
        travelled(Answer(error=error)).or_raise()

    assert type(raised.value) is kind
    assert str(raised.value) == str(error)
    assert vars(raised.value) == vars(error)


def test_an_error_that_only_one_part_knows_becomes_its_nearest_kin() -> None:
    error = travelled(Answer(error=SourceMoved("it moved"))).error

    assert type(error) is next(kind for kind in SourceMoved.__mro__ if kind in KINDS)
    assert str(error) == "it moved"


def test_any_database_stores_it() -> None:
    said = Answer(error=TrickleError("\x00 \ud800 ü")).as_json()

    assert said.isascii()
    assert "\x00" not in said
    assert json.loads(said)["error"]["kind"] == "TrickleError"
