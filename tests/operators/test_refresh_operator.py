"""The refresh operator around a refresh that is not real; the real one runs in tests/e2e."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_trickle import errors
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.results import Mode, Status, TableResult
from tools import webshop as sources

RESULT = TableResult(
    table="order_totals", status=Status.ACTIVE, mode=Mode.FULL, reason="first refresh", rows_inserted=5
)


class TaskInstance:
    """As much of Airflow's as the operator asks for."""

    def __init__(self, tick: dict[str, Any] | None) -> None:
        self.tick = tick

    def get_task_states(self, dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, dict[str, str]]:
        states = {"broken": "failed", "behind_it": "upstream_failed"}
        return {run: {task: states.get(task, "success") for task in task_ids} for run in run_ids}

    def xcom_pull(self, task_ids: str) -> dict[str, Any] | None:
        assert task_ids == "pin"
        return self.tick


class Refresh:
    """Stands for the engine: remembers how it was called, and returns or raises."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.error: Exception | None = None

    def __call__(self, lake: Lakehouse, step: Any, tick: Any, spark: Any, full_refresh: bool, *_: Any) -> Any:
        self.calls.append({"step": step, "tick": tick, "spark": spark, "full_refresh": full_refresh})
        if self.error is not None:
            raise self.error
        return (RESULT,)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Refresh:
    fake = Refresh()
    monkeypatch.setattr("airflow_trickle.engine.refresh.refresh", fake)
    return fake


@pytest.fixture
def context(webshop: DAG, lake: Lakehouse) -> dict[str, Any]:
    """What a manual run has: no logical date and no data interval."""
    sources.load(lake.catalog)
    tick = webshop.get_task("pin").execute({"run_id": "manual__1", "ti": TaskInstance(None)})
    params, events = {"full_refresh": False}, defaultdict(SimpleNamespace)
    return {"run_id": "manual__1", "ti": TaskInstance(tick), "params": params, "outlet_events": events}


def test_it_refreshes_its_step_at_the_tick(webshop: DAG, context: dict[str, Any], engine: Refresh) -> None:
    task = webshop.get_task("order_totals")

    returned = task.execute(context)

    assert returned == [RESULT.model_dump(mode="json")]
    assert returned[0]["mode"] == "FULL"
    (call,) = engine.calls
    assert call["step"] is task.step
    assert call["tick"].tick_id == "webshop/manual__1"
    assert call["full_refresh"] is False
    assert call["spark"].target.kind == "embedded"


def test_a_full_refresh_can_be_asked_for(webshop: DAG, context: dict[str, Any], engine: Refresh) -> None:
    webshop.get_task("order_totals").execute({**context, "params": {"full_refresh": True}})

    assert engine.calls[0]["full_refresh"] is True


def test_a_task_that_goes_on_without_some_does_not_without_others(
    webshop: DAG, context: dict[str, Any], engine: Refresh
) -> None:
    task = webshop.get_task("order_totals")
    task.needs = ("behind_it", "broken", "fine")
    with pytest.raises(AirflowFailException, match=r"Nothing was refreshed: behind_it, broken failed in this run\."):
        task.execute(context)
    task.needs = ("fine",)
    task.execute(context)
    assert len(engine.calls) == 1


def test_a_run_whose_pin_left_nothing_says_so(webshop: DAG, context: dict[str, Any], engine: Refresh) -> None:
    with pytest.raises(AirflowException, match="Task 'pin' of this run left no tick behind"):
        webshop.get_task("order_totals").execute({**context, "ti": TaskInstance(None)})

    assert not engine.calls


#: Every error of ours: whether a second attempt may help.
RETRIED = {
    errors.CatalogUnavailable: True,
    errors.CommitUnanswered: True,
    errors.NotTheOwner: False,
    errors.WarehouseUnavailable: True,
    errors.CommitConflict: True,
    errors.StagedFilesMissing: True,
    errors.LeaseHeld: True,
    errors.MaintenanceFailed: True,
    errors.SparkUnavailable: True,
    errors.RefreshFailed: True,
    errors.QueryRejected: False,
    errors.CaptureFailed: True,
    errors.SettingsError: False,
    errors.SourceMissing: False,
    errors.UnsupportedTable: False,
    errors.ForeignTable: False,
    errors.CannotRestate: False,
}


@pytest.mark.parametrize("kind", RETRIED)
def test_only_what_may_pass_is_retried(
    kind: type[errors.TrickleError], webshop: DAG, context: dict[str, Any], engine: Refresh
) -> None:
    engine.error = kind("what happened")

    with pytest.raises(AirflowException) as raised:
        webshop.get_task("order_totals").execute(context)

    assert str(raised.value) == "what happened"
    assert isinstance(raised.value, AirflowFailException) is not RETRIED[kind]


def test_every_error_is_judged() -> None:
    classes = (found for found in vars(errors).values() if isinstance(found, type))
    every = {found for found in classes if issubclass(found, errors.TrickleError)}

    # A tick fails outside Airflow only; definitions fail in the task of the broken file; cycles have an operator.
    elsewhere = {errors.TrickleError, errors.TickFailed, errors.DefinitionError, errors.NonConvergence}
    assert every - elsewhere == set(RETRIED)


def test_killing_the_task_interrupts_spark(webshop: DAG, context: dict[str, Any], engine: Refresh) -> None:
    task = webshop.get_task("order_totals")
    task.on_kill()  # before there is anything to interrupt
    task.execute(context)
    interrupted: list[bool] = []
    engine.calls[0]["spark"].interrupt = lambda: interrupted.append(True)

    task.on_kill()

    assert interrupted == [True]
