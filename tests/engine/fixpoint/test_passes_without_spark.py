"""When a cycle has settled, what a member sees in a pass, and how passes are counted: without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_trickle.engine.fixpoint import machine as machines
from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint, Found
from airflow_trickle.engine.fixpoint.machine import Machine, NotSettled
from airflow_trickle.engine.fixpoint.naive import Naive
from airflow_trickle.engine.fixpoint.saving import NaiveSaver
from airflow_trickle.results import Iteration

ANY: Any = None


class Scripted(Naive):
    """A cycle whose passes change so many rows."""

    changes: Sequence[int] = ()

    def _pass(self, _key: str) -> int:
        return self.changes[len(self.trace)]


def naive(*changes: int, cap: int = 100) -> Scripted:
    member: Any = SimpleNamespace(name="t")
    made = Scripted(ANY, {}, {"t": member}, {}, ANY, cap)
    made.changes = changes
    return made


@pytest.mark.parametrize("changes", [(0,), (3, 2, 1, 0), (1, 1, 5, 0)])
def test_a_cycle_computed_in_full_has_settled_when_a_pass_changes_nothing(changes: tuple[int, ...]) -> None:
    cycle = naive(*changes)
    cycle._settle(["t"], 0, 0)
    assert [one.total for one in cycle.trace] == list(changes)


def test_the_cap_counts_the_passes_of_earlier_submissions_too() -> None:
    with pytest.raises(NotSettled):
        naive(1, 1, 0, cap=2)._settle(["t"], 0, 0)
    with pytest.raises(NotSettled):
        naive(1, 0, cap=3)._settle(["t"], 0, 2)


def test_a_cycle_goes_on_from_the_pass_that_was_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    went_on: list[tuple[Any, int, int]] = []
    cycle = naive()
    monkeypatch.setattr(cycle, "settle", lambda *given: went_on.append(given))
    trace = (Iteration(number=1, phase="derive", changes={"t": 1}, seconds=0.0),)
    found = Found("naive FULL", {"layer": 1, "count": 4}, {}, trace)
    point: Any = SimpleNamespace(begin=lambda kind: found if kind == found.kind else None)
    NaiveSaver(point, cycle).settle(ANY, [], lambda _: None)
    assert went_on == [({}, 1, 4)]
    assert cycle.trace == list(trace)


def test_a_submission_is_over_after_its_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "3600")
    run: Any = SimpleNamespace(step=SimpleNamespace(passes_per_submission=2))
    point = Checkpoint(run, ANY, "")
    due = []
    for passes in range(4):
        point.passes = passes
        due.append(point.is_due)
    assert due == [False, False, True, True]


def test_on_spark_too_a_member_sees_what_those_before_it_got_in_the_same_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []

    class Recorded(Machine):
        def _following(self, rows: Any) -> list[str]:
            done.append(f"{rows.member.name} looks")
            return ["SELECT"] if len(self.trace) < 2 else []

    def add(rows: Any, _found: Sequence[str], _rank: int) -> int:
        done.append(f"{rows.member.name} gets rows")
        return 1

    monkeypatch.setattr(machines, "add", add)
    rows: Any = {name: SimpleNamespace(member=SimpleNamespace(name=name, key=name)) for name in ("a", "b")}
    machine = Recorded(ANY, {}, rows, ANY, None, 100)
    machine.derive({})
    one_pass = ["a looks", "a gets rows", "b looks", "b gets rows"]
    assert done == [*one_pass, *one_pass, "a looks", "b looks"]
    assert [one.total for one in machine.trace] == [2, 2, 0]
