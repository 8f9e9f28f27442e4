"""Operators that submit: what is decided here, and what becomes of an application that says nothing."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_trickle import errors
from airflow_trickle.engine.submission.answer import Answer
from airflow_trickle.engine.submission.request import RefreshRequest, request_of
from airflow_trickle.hooks.spark import TrickleSparkHook
from airflow_trickle.lakehouse import submissions
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.staging import leftovers
from airflow_trickle.lakehouse.state import read_history
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.operators import submitting
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from airflow_trickle.tick import Tick
from tests.conftest import Tuned
from tests.operators.test_refresh_operator import TaskInstance
from tools import webshop as sources

RESULT = TableResult(
    table="order_totals", status=Status.ACTIVE, mode=Mode.FULL, reason="first refresh", rows_inserted=5
)


class Application:
    """A spark-submit that is a script: notes how it was called, and runs a command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.does("exit 0")

    def does(self, command: str) -> None:
        script = self.folder / "spark-submit"
        script.write_text(f'#!/bin/sh\necho "$@" >> {self.folder}/calls\n{command}\n')
        script.chmod(0o755)

    @property
    def calls(self) -> list[list[str]]:
        noted = self.folder / "calls"
        return [line.split() for line in noted.read_text().splitlines()] if noted.exists() else []


@pytest.fixture
def application(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuned: Tuned) -> Application:
    made = Application(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{made.folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", "spark://127.0.0.1:7077")
    tuned(submission_outcome_seconds=1.0)
    return made


@pytest.fixture
def context(webshop: DAG, lake: Lakehouse) -> dict[str, Any]:
    sources.load(lake.catalog)
    tick = webshop.get_task("pin").execute({"run_id": "manual__1"})
    return {
        "outlet_events": defaultdict(SimpleNamespace),
        "run_id": "manual__1",
        "ti": TaskInstance(tick),
        "params": {},
    }


def untouched(lake: Lakehouse) -> bool:
    """Whether nothing of a refresh was left behind."""
    with lake.database.reading() as connection:
        held = connection.execute(leases.select()).first()
    return held is None and not leftovers(lake, pipeline="webshop")


def test_the_outcome_of_the_application_is_the_result_of_the_task(
    webshop: DAG, context: dict[str, Any], lake: Lakehouse, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def answering(_hook: Any, _target: Any, _environment: Any) -> None:
        with lake.database.reading() as connection:
            (row,) = connection.execute(submissions.submissions.select()).mappings()
        asked.append(request_of(row["request"]))
        assert untouched(lake), "the application needs the lease of the table"
        submissions.answer(lake, row["submission_id"], Answer((RESULT,)).as_json())

    monkeypatch.setattr(submitting, "submitted", answering)
    task = webshop.get_task("order_totals")

    assert task.execute({**context, "params": {"full_refresh": True}}) == [RESULT.model_dump(mode="json")]
    (request,) = asked
    assert isinstance(request, RefreshRequest)
    assert (request.step, request.tick_id, request.full_refresh) == (task.step, "webshop/manual__1", True)
    with lake.database.reading() as connection:
        assert connection.execute(submissions.submissions.select()).first() is None
    assert read_history(lake) == [], "the application writes the history"


def test_work_that_is_not_finished_is_submitted_again(
    webshop: DAG, context: dict[str, Any], lake: Lakehouse, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Design 000 part 5: each submission tells of its passes before the next one is made."""
    told: list[int] = []
    answers = [
        Answer(passes=(Iteration(number=1, phase="derive", changes={"a": 1}),), unfinished=True),
        Answer(passes=(Iteration(number=2, phase="derive", changes={"a": 1}),), unfinished=True),
        Answer((RESULT,), passes=(Iteration(number=3, phase="derive", changes={"a": 0}),)),
    ]
    known: list[list[int]] = []

    def answering(hook: Any, _target: Any, _environment: Any) -> None:
        known.append(list(told))
        submissions.answer(lake, hook._application_args[-1], answers[len(known) - 1].as_json())

    monkeypatch.setattr(submitting, "submitted", answering)
    step = webshop.get_task("order_totals").step
    tick = Tick.model_validate(context["ti"].xcom_pull(task_ids="pin"))
    with submitting.spark_at(TrickleSparkHook("trickle_spark").get_conn(), "trickle_spark") as spark:
        results = submitting.refreshed(lake, step, tick, spark, False, lambda one: told.append(one.number))
    assert results == (RESULT,)
    assert known == [[], [1], [1, 2]]
    assert told == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (errors.SourceMissing("no such table"), True),
        (errors.QueryRejected("no such column"), True),
        (errors.RefreshFailed("a division by zero, in rows that may go"), False),
        (errors.LeaseHeld("somebody is at it"), False),
    ],
)
def test_an_error_of_the_application_is_the_error_of_the_task(
    webshop: DAG,
    context: dict[str, Any],
    lake: Lakehouse,
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
    error: errors.TrickleError,
    final: bool,
) -> None:
    def answering(hook: Any, _target: Any, _environment: Any) -> str:
        submissions.answer(lake, hook._application_args[-1], Answer(error=error).as_json())
        return "exit code 1"

    monkeypatch.setattr(submitting, "submitted", answering)

    with pytest.raises(AirflowException) as raised:
        webshop.get_task("order_totals").execute(context)
    assert str(raised.value) == str(error)
    assert isinstance(raised.value, AirflowFailException) is final


@pytest.mark.parametrize(("command", "how"), [("exit 0", ""), ("echo oh; exit 3", " (exit code 3)")])
def test_an_application_that_says_nothing_has_failed(
    webshop: DAG, context: dict[str, Any], lake: Lakehouse, application: Application, command: str, how: str
) -> None:
    application.does(command)

    with pytest.raises(AirflowException) as raised:
        webshop.get_task("order_totals").execute(context)

    assert not isinstance(raised.value, AirflowFailException), "a second attempt may help"
    assert str(raised.value).partition(": ")[2] == (
        "stream table 'order_totals' was not refreshed: the application that was given to spark-submit to "
        f"spark://127.0.0.1:7077 ended without saying what became of its work{how}. See the lines above, which are its "
        "log. Whatever it published is complete; the next attempt goes on from there."
    )
    (call,) = application.calls
    assert call[-4:-1] == ["--catalog", "trickle", "--submission"]
    (entry,) = read_history(lake)
    assert (entry["action"], entry["error"]) == ("FAILED", str(raised.value))
    assert untouched(lake)


def test_killing_the_task_ends_the_application(
    webshop: DAG, context: dict[str, Any], lake: Lakehouse, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    application.does("exec sleep 600")
    task = webshop.get_task("order_totals")
    real = submitting.submitted

    def submitted(hook: Any, *arguments: Any) -> str | None:
        def kill() -> None:
            while hook._submit_sp is None:
                time.sleep(0.01)
            task.on_kill()

        threading.Thread(target=kill).start()
        return real(hook, *arguments)

    monkeypatch.setattr(submitting, "submitted", submitted)
    with pytest.raises(AirflowException, match="was ended, since this task was"):
        task.execute(context)
    assert untouched(lake)
