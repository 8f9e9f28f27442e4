"""The operator of cycles around an engine that is not real; the real one runs in tests/e2e."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.errors import LeaseHeld, NonConvergence
from airflow_trickle.operators import fixpoint
from airflow_trickle.operators.failures import DidNotSettle
from airflow_trickle.operators.fixpoint import FixpointOperator
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from airflow_trickle.tick import Tick
from tests.conftest import Tuned

CYCLE = """\
pipeline: reach
allow_circular: true
max_fixpoint_iterations: 5
sources: [edges]
stream_tables:
  a: {query: SELECT dst FROM edges UNION SELECT dst FROM b}
  b: {query: SELECT e.dst FROM edges AS e JOIN a ON a.dst = e.src}
"""
PASSES = [
    Iteration(number=1, phase="retract", changes={"a": 3, "b": 0}, seconds=0.5),
    Iteration(number=2, phase="derive", changes={"a": 0, "b": 1}, seconds=0.25),
    Iteration(number=3, phase="derive", changes={"a": 0, "b": 0}, seconds=0.125),
]
PUSHED = [
    {"iteration": 1, "phase": "retract", "changes": {"a": 3, "b": 0}, "seconds": 0.5},
    {"iteration": 2, "phase": "derive", "changes": {"a": 0, "b": 1}, "seconds": 0.25},
    {"iteration": 3, "phase": "derive", "changes": {"a": 0, "b": 0}, "seconds": 0.125},
]
RESULTS = tuple(
    TableResult(table=name, status=Status.ACTIVE, mode=Mode.DIFFERENTIAL, reason="edges changed", iterations=3)
    for name in ("a", "b")
)


class TaskInstance:
    """As much of Airflow's as the operator asks for."""

    log_url = "http://airflow/base/dags/reach/runs/manual__1%2B00/tasks/cycle_a?try_number=2"
    task_id = "cycle_a"

    def __init__(self) -> None:
        self.pushed: list[tuple[str, Any]] = []
        self.breaks = False

    def xcom_pull(self, task_ids: str) -> dict[str, Any]:
        assert task_ids == "pin"
        tick = Tick(tick_id="reach/1", pipeline="reach", pins={}, effective_at=datetime.now(timezone.utc))
        return tick.model_dump(mode="json")

    def xcom_push(self, key: str, value: Any) -> None:
        if self.breaks:
            raise ConnectionError("the API server is away")
        self.pushed.append((key, value))

    def of(self, key: str) -> list[Any]:
        return [value for pushed, value in self.pushed if pushed == key]


class Engine:
    """Makes three passes, and then returns or raises."""

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.results = RESULTS
        self.spark: Any = None

    def __call__(self, _lake: Any, step: Any, _tick: Any, spark: Any, full_refresh: bool, progress: Any) -> Any:
        self.spark = spark
        assert (step.unit, full_refresh) == ("cycle_a", False)
        for one in PASSES:
            progress(one)
        if self.error is not None:
            raise self.error
        return self.results


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setattr("airflow_trickle.engine.refresh.refresh", fake)
    return fake


@pytest.fixture
def dag(tmp_path: Path) -> DAG:
    (tmp_path / "reach.yaml").write_text(CYCLE)
    (dag,) = build_dags(tmp_path, {}, strict=True)
    return dag


@pytest.fixture
def task(dag: DAG) -> FixpointOperator:
    found = dag.get_task("cycle_a")
    assert isinstance(found, FixpointOperator)
    return found


def run(task: FixpointOperator, instance: TaskInstance) -> Any:
    return task.execute({"run_id": "manual__1", "ti": instance, "params": {}})  # type: ignore[typeddict-item]


def test_every_pass_becomes_an_xcom_as_it_is_made(task: FixpointOperator, engine: Engine, tuned: Tuned) -> None:
    tuned(iteration_push_seconds=0.0)
    instance = TaskInstance()

    returned = run(task, instance)

    assert returned == [result.model_dump(mode="json") for result in RESULTS]
    assert instance.of("iterations") == [PUSHED[:1], PUSHED[:2], PUSHED]
    assert instance.of("last_iteration") == PUSHED


def test_only_the_assets_of_tables_that_changed_are_updated(task: FixpointOperator, engine: Engine) -> None:
    events: Any = {asset: SimpleNamespace(extra=None) for asset in task.assets.values()}
    assert set(task.assets) == {"a", "b"}
    engine.results = (RESULTS[0].model_copy(update={"rows_inserted": 2}), RESULTS[1])
    context: Any = {"run_id": "manual__1", "ti": TaskInstance(), "params": {}, "task": task, "outlet_events": events}
    task.execute(context)
    assert task.outlets == [task.assets["a"]]
    assert events[task.assets["a"]].extra["rows_inserted"] == 2
    assert events[task.assets["b"]].extra is None


@pytest.mark.parametrize(("modes", "skipped"), [(("NO_DATA", "FULL"), False), (("NO_DATA", "SKIPPED"), True)])
def test_a_task_shows_as_skipped_only_if_no_table_of_it_had_anything_to_do(
    task: FixpointOperator, engine: Engine, modes: tuple[str, str], skipped: bool
) -> None:
    pairs = zip(RESULTS, modes, strict=True)
    engine.results = tuple(result.model_copy(update={"mode": Mode(mode)}) for result, mode in pairs)
    instance = TaskInstance()
    if skipped:
        with pytest.raises(AirflowSkipException):
            run(task, instance)
        assert len(instance.of("return_value")) == 1
    else:
        assert len(run(task, instance)) == 2


def test_passes_in_quick_succession_are_pushed_together(task: FixpointOperator, engine: Engine) -> None:
    instance = TaskInstance()
    run(task, instance)
    # The first at once, the others when the work is done.
    assert instance.of("iterations") == [PUSHED[:1], PUSHED]


def test_passes_that_were_given_up_do_not_count() -> None:
    instance = TaskInstance()
    reporter = fixpoint.PassReporter(instance)
    for one in (*PASSES[:2], *PASSES):
        reporter(one)
    reporter.push()
    reporter.push()
    assert instance.of("iterations") == [PUSHED[:1], PUSHED]


def test_an_xcom_that_cannot_be_pushed_does_not_stop_the_work(
    task: FixpointOperator, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    instance = TaskInstance()
    instance.breaks = True
    assert len(run(task, instance)) == 2
    assert "The passes could not be pushed to XCom: the API server is away" in caplog.text


def test_not_settling_fails_without_a_retry_and_carries_what_callbacks_want(
    task: FixpointOperator, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.error = NonConvergence(
        "'a' and 'b' did not settle within 5 passes.",
        unit="cycle_a",
        members=["a", "b"],
        trace=PASSES[:2],
        hint="Say UNION.",
    )
    instance = TaskInstance()

    with pytest.raises(AirflowFailException) as raised:
        run(task, instance)

    assert isinstance(raised.value, DidNotSettle)
    assert str(raised.value) == "'a' and 'b' did not settle within 5 passes."
    assert raised.value.trickle == {
        "pipeline": "reach",
        "unit": "cycle_a",
        "members": ["a", "b"],
        "iterations": 2,
        "cap": 5,
        "changes_per_iteration": [{"a": 3, "b": 0}, {"a": 0, "b": 1}],
        "last_delta": 1,
        "hint": "Say UNION.",
        "error": "'a' and 'b' did not settle within 5 passes.",
    }
    assert instance.of("iterations")[-1] == PUSHED, "what was done is told all the same"
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage() == "'a' and 'b' did not settle within 5 passes."


def test_other_errors_are_retried_as_everywhere(task: FixpointOperator, engine: Engine) -> None:
    engine.error = LeaseHeld("somebody else is at it")
    with pytest.raises(AirflowException) as raised:
        run(task, TaskInstance())
    assert not isinstance(raised.value, AirflowFailException)


def test_killing_the_task_cancels_the_work_on_spark(task: FixpointOperator, engine: Engine) -> None:
    run(task, TaskInstance())
    interrupted: list[bool] = []
    engine.spark.interrupt = lambda: interrupted.append(True)
    task.on_kill()
    assert interrupted == [True]


def test_its_buttons_lead_to_the_passes_and_to_all_runs(task: FixpointOperator) -> None:
    links = {link.name: link.get_link(task, ti_key=TaskInstance()) for link in task.operator_extra_links}  # type: ignore[arg-type]
    assert links == {
        "Passes": "http://airflow/base/dags/reach/runs/manual__1%2B00/tasks/cycle_a/xcom",
        "History": "http://airflow/base/dags/reach/tasks/cycle_a",
    }


def test_the_passes_of_a_submission_are_those_of_the_argument_or_of_the_plan(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "reach.yaml").write_text(CYCLE.replace("sources", "passes_per_submission: 3\nsources"))
    (planned,) = build_dags(tmp_path, {}, strict=True)
    task = planned.get_task("cycle_a")
    assert task.step.passes_per_submission == 3
    given = {"step": task.step, "catalog": "trickle", "spark_conn_id": "trickle_spark"}
    assert FixpointOperator(task_id="t", **given).step.passes_per_submission == 3
    assert FixpointOperator(task_id="t", passes_per_submission=1, **given).step.passes_per_submission == 1
    with pytest.raises(ValueError, match="passes_per_submission is 0, but must be at least 1"):
        FixpointOperator(task_id="t", passes_per_submission=0, **given)
