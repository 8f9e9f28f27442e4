"""The sensor of a stratum by itself; which tables have nothing to do is judged in tests/engine/test_idle.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.airflow_home import import_airflow

import_airflow()

from airflow.sdk.exceptions import AirflowSkipException, DownstreamTasksSkipped  # noqa: E402

from airflow_trickle.dag_factory import build_dags  # noqa: E402
from airflow_trickle.engine import idle  # noqa: E402
from airflow_trickle.engine.idle import Idle, Watch  # noqa: E402
from airflow_trickle.lakehouse.catalog import open_lakehouse  # noqa: E402
from airflow_trickle.lakehouse.strata import times_skipped  # noqa: E402
from airflow_trickle.sensors.stratum import StratumSkipSensor  # noqa: E402
from tools import webshop as sources  # noqa: E402

DAGS = Path(__file__).parents[2] / "dags"
Looked = list[tuple[set[str], Watch]]


class TaskInstance:
    """As much of Airflow's as the sensor asks for."""

    def __init__(self, pinned: Any, states: dict[str, str]) -> None:
        self.pinned, self.states = pinned, states
        self.pushed: dict[str, Any] = {}

    def xcom_pull(self, task_ids: str) -> Any:
        return self.pinned if task_ids == "pin" else None

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def get_task_states(self, dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, dict[str, str]]:
        return {run_ids[0]: {name: self.states.get(name, "success") for name in task_ids}}


@pytest.fixture
def sensor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StratumSkipSensor:
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "trickle"))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    webshop = next(dag for dag in build_dags(DAGS, {}, strict=True) if dag.dag_id == "webshop")
    found = webshop.get_task("skip_stratum_2")
    assert isinstance(found, StratumSkipSensor)
    return found


@pytest.fixture
def pinned(sensor: StratumSkipSensor) -> dict[str, Any]:
    with open_lakehouse("trickle") as lake:
        sources.load(lake.catalog)
    found = sensor.dag.get_task("pin").execute({"run_id": "manual__1"})
    assert isinstance(found, dict)
    return found


@pytest.fixture
def settle(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Looked]:
    """Says which units are busy, and keeps what was asked."""

    def settle(*busy: str) -> Looked:
        looked: Looked = []

        def find_idle(_lake: Any, steps: Any, _tick: Any, _spark: Any, watch: Watch) -> Idle:
            looked.append(({step.unit for step in steps}, watch))
            return Idle(busy=frozenset(busy))

        monkeypatch.setattr(idle, "find_idle", find_idle)
        return looked

    return settle


def poke(sensor: StratumSkipSensor, pinned: Any, **states: str) -> tuple[Any, TaskInstance]:
    instance = TaskInstance(pinned, states)
    return sensor.poke({"run_id": "manual__1", "ti": instance, "params": {}}), instance


def skipped(sensor: StratumSkipSensor) -> dict[int, int]:
    with open_lakehouse("trickle") as lake:
        return times_skipped(lake, "webshop")


def test_tables_that_were_never_computed_are_not_passed_over(sensor: StratumSkipSensor, pinned: Any) -> None:
    """Design 001 §4.2: a stratum is skipped only if nothing that it reads has changed."""
    found, _ = poke(sensor, pinned)
    assert (found.is_done, found.xcom_value) == (True, [])
    assert skipped(sensor) == {}


def test_a_stratum_with_nothing_to_do_is_passed_over_whole_and_counted(
    sensor: StratumSkipSensor, pinned: Any, settle: Callable[..., Looked]
) -> None:
    """Design 001 §4.2: its tasks are skipped, and how often is counted."""
    looked = settle()
    with pytest.raises(DownstreamTasksSkipped) as raised:
        poke(sensor, pinned)
    assert set(raised.value.tasks) == {task for one in sensor.watched for task in one.task_ids}
    assert skipped(sensor) == {sensor.stratum: 1}
    [(units, watch)] = looked
    assert units == {one.step.unit for one in sensor.watched}
    assert watch == Watch()


def test_of_a_stratum_with_work_only_the_idle_tables_are_passed_over(
    sensor: StratumSkipSensor, pinned: Any, settle: Callable[..., Looked]
) -> None:
    busy, *others = sensor.watched
    settle(busy.step.unit)
    with pytest.raises(DownstreamTasksSkipped) as raised:
        poke(sensor, pinned)
    assert set(raised.value.tasks) == {task for one in others for task in one.task_ids} != set()
    assert skipped(sensor) == {}


def test_a_table_behind_one_that_failed_is_held_up(
    sensor: StratumSkipSensor, pinned: Any, settle: Callable[..., Looked]
) -> None:
    looked = settle(*(one.step.unit for one in sensor.watched))
    below = next(task for one in sensor.watched for task in one.below)
    poke(sensor, pinned, **{below: "failed"})
    [(_, watch)] = looked
    assert watch.held_up == {one.step.unit for one in sensor.watched if below in one.below}


@pytest.mark.parametrize(
    ("pinned", "why"),
    [(None, "nothing was pinned in this run"), ({"restated": []}, "this run only took the tables back")],
)
def test_without_a_tick_the_sensor_is_skipped(sensor: StratumSkipSensor, pinned: Any, why: str) -> None:
    with pytest.raises(AirflowSkipException, match=why):
        poke(sensor, pinned)
