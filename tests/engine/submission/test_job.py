"""The application's side around an engine that is not real; the real one runs in tests/operators/test_cluster.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_trickle.engine.fixpoint.checkpoint import SubmissionOver
from airflow_trickle.engine.submission import job
from airflow_trickle.engine.submission.answer import Answer, answer_of
from airflow_trickle.engine.submission.request import CaptureRequest, RefreshRequest
from airflow_trickle.errors import LeaseHeld, RefreshFailed
from airflow_trickle.lakehouse import submissions
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from tests.engine.submission.test_request import TICK, plan

__all__ = ["plan"]

RESULT = TableResult(table="a", status=Status.ACTIVE, mode=Mode.FULL, reason="first refresh")
PASS = Iteration(number=1, phase="derive", changes={"a": 0, "b": 0})


class Conf:
    """As much of a session's settings as is used."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    @property
    def getAll(self) -> dict[str, str]:
        return self.values


class Session:
    """As much of a driver's own session as is used before the engine gets it."""

    def __init__(self) -> None:
        self.conf = Conf()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lakehouse]:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"file://{tmp_path}/warehouse"
    with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as opened:
        yield opened


@pytest.fixture
def request_id(lake: Lakehouse, plan: Any) -> str:
    request = RefreshRequest(plan.refreshes[0], TICK, True, {"spark.sql.session.timeZone": "Europe/Berlin"})
    return submissions.add(lake, tick_id=request.tick_id, unit=request.unit, request=request.as_json())


def never() -> Any:
    raise AssertionError("Spark was started")


def outcome(lake: Lakehouse, number: str) -> Answer:
    found = submissions.find(lake, number)
    assert found is not None
    assert found.outcome is not None
    return answer_of(found.outcome)


def test_a_refresh_is_done_as_it_was_asked_for(
    lake: Lakehouse, request_id: str, plan: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def refresh(_lake: Any, step: Any, tick: Any, spark: Any, full_refresh: bool, progress: Any) -> Any:
        asked.append((step, tick, full_refresh, spark))
        progress(PASS)
        return (RESULT,)

    monkeypatch.setattr(job, "refresh", refresh)
    session = Session()

    assert job.perform(lake, request_id, lambda: session)  # type: ignore[arg-type,return-value]

    assert outcome(lake, request_id) == Answer((RESULT,), passes=(PASS,))
    [(step, tick, full, spark)] = asked
    assert (step, tick, full) == (plan.refreshes[0], TICK, True)
    assert not spark.borrowed, "its settings are ours to keep"
    assert session.conf.values["spark.sql.session.timeZone"] == "Europe/Berlin"
    assert session.conf.values["spark.sql.ansi.enabled"] == "true"


def test_a_capture_is_done_too(lake: Lakehouse, plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = CaptureRequest(plan.captures[0], "p/1")
    number = submissions.add(lake, tick_id="p/1", unit=request.unit, request=request.as_json())
    asked: list[Any] = []
    monkeypatch.setattr(job, "capture", lambda _lake, step, tick, _spark: asked.append((step, tick)) or RESULT)

    assert job.perform(lake, number, Session)  # type: ignore[arg-type]
    assert asked == [(plan.captures[0], "p/1")]
    assert outcome(lake, number).results == (RESULT,)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (LeaseHeld("somebody is at it"), LeaseHeld("somebody is at it")),
        (
            KeyError("oh"),
            RefreshFailed("The application failed of an error that should not happen (KeyError: 'oh'). See its log."),
        ),
    ],
)
def test_an_error_is_the_outcome(
    lake: Lakehouse, request_id: str, monkeypatch: pytest.MonkeyPatch, error: Exception, told: Exception
) -> None:
    def refresh(*arguments: Any) -> Any:
        arguments[-1](PASS)
        raise error

    monkeypatch.setattr(job, "refresh", refresh)

    assert not job.perform(lake, request_id, Session)  # type: ignore[arg-type]
    said = outcome(lake, request_id)
    assert (type(said.error), str(said.error), said.passes) == (type(told), str(told), (PASS,))


def test_a_submission_that_has_made_its_passes_is_not_finished(
    lake: Lakehouse, request_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refresh(_lake: Any, _step: Any, _tick: Any, spark: Any, _full: bool, progress: Any) -> Any:
        assert spark.is_application, "it is left to another one to go on"
        progress(PASS)
        raise SubmissionOver

    monkeypatch.setattr(job, "refresh", refresh)

    assert job.perform(lake, request_id, Session)  # type: ignore[arg-type]
    assert outcome(lake, request_id) == Answer(passes=(PASS,), unfinished=True)


def test_a_request_that_was_withdrawn_is_left_alone(lake: Lakehouse, request_id: str) -> None:
    submissions.remove(lake, request_id)
    assert not job.perform(lake, request_id, never)


def test_a_driver_that_a_cluster_starts_again_leaves_the_outcome_alone(lake: Lakehouse, request_id: str) -> None:
    first = Answer(error=LeaseHeld("somebody was at it"))
    submissions.answer(lake, request_id, first.as_json())

    assert not job.perform(lake, request_id, never)
    assert str(outcome(lake, request_id).error) == "somebody was at it"
