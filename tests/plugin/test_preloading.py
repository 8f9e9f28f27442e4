"""What Airflow's processes load before they fork, so that no task has to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from airflow.jobs.job import Job

from airflow_trickle.plugin import TricklePlugin, preloading
from airflow_trickle.plugin.preloading import FOR_PARSING, FOR_SPARK, FOR_TASKS, modules_for
from tests.engine.groups.diamonds import NUMBERS
from tests.engine.world import World

SCHEDULER = {"airflow.jobs.scheduler_job_runner"}


@pytest.fixture(autouse=True)
def _local_executor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "LocalExecutor")


def test_airflow_finds_the_plugin() -> None:
    (found,) = [one for one in entry_points(group="airflow.plugins") if one.dist.name == "airflow-trickle"]

    assert found.load() is TricklePlugin
    assert TricklePlugin.listeners == [preloading]


def test_the_scheduler_loads_what_tasks_need_and_the_dag_processor_what_parsing_needs() -> None:
    assert modules_for(SCHEDULER) == (*FOR_TASKS, *FOR_SPARK)
    assert modules_for({"airflow.jobs.dag_processor_job_runner"}) == FOR_PARSING
    assert modules_for({"airflow.jobs.triggerer_job_runner"}) == ()


def test_nothing_is_loaded_where_processes_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preloading.multiprocessing, "get_start_method", lambda allow_none: None)
    monkeypatch.setattr(preloading.multiprocessing, "get_all_start_methods", lambda: ["spawn", "fork"])

    assert modules_for(SCHEDULER) == ()


def test_a_scheduler_whose_tasks_run_elsewhere_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")

    assert modules_for(SCHEDULER) == ()


@pytest.mark.parametrize("text", ["False", "perhaps"])
def test_nothing_is_loaded_where_it_is_not_wanted_or_the_settings_are_wrong(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("AIRFLOW__TRICKLE__PRELOAD", text)

    assert modules_for(SCHEDULER) == ()


def test_only_processes_of_airflow_load_ahead_and_no_task_does(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[str, ...]] = []
    monkeypatch.setattr(preloading, "modules_for", lambda modules: ("some",))
    monkeypatch.setattr(preloading, "preload", loaded.append)

    preloading.on_starting(component=object())
    assert loaded == []
    preloading.on_starting(component=Job.__new__(Job))
    assert loaded == [("some",)]


def test_what_cannot_be_loaded_is_told_and_does_not_stop_airflow(caplog: pytest.LogCaptureFixture) -> None:
    preloading.preload(("airflow_trickle.no_such_module", "airflow_trickle.tick"))

    assert "airflow_trickle.no_such_module is not loaded ahead of the tasks that need it" in caplog.text


#: Runs all tasks of a DAG in a process that has loaded ahead, and tells what was loaded all the same.
TASKS = """
import json, sys
from pathlib import Path
from tests.airflow_home import import_airflow
import_airflow()
from airflow.sdk.bases.operator import ExecutorSafeguard
from airflow_trickle.plugin.preloading import FOR_SPARK, FOR_TASKS, preload
from tests.operators.test_cluster import run_dag
preload(FOR_TASKS + FOR_SPARK)
before = set(sys.modules)
ExecutorSafeguard.test_mode = True
ended, _ = run_dag(Path(sys.argv[1]), "manual__1")
assert not [one for one in ended.values() if isinstance(one, Exception)], ended
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.spark
def test_a_task_loads_nothing_of_weight_by_itself(world: World) -> None:
    world.source("s", NUMBERS, [{"k": 1, "x": 2}])
    world.define(
        {
            "b": "SELECT k, SUM(x) AS total FROM s GROUP BY k",
            "c": "SELECT k, MAX(x) AS top FROM s GROUP BY k",
            "d": "SELECT b.k, b.total, c.top FROM b JOIN c ON b.k = c.k",
            "up": "SELECT x AS n FROM s UNION SELECT n - 1 FROM up WHERE n > 0",
        },
        diamonds="atomic",
        pipeline={"allow_circular": "true"},
    )

    done = subprocess.run(
        [sys.executable, "-c", TASKS, str(world.yaml.parent)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    late = json.loads(done.stdout.splitlines()[-1])
    heavy = ("airflow_trickle", "pyiceberg", "pyspark", "pyarrow", "pandas", "sqlglot", "networkx")
    found = [name for name in late if name.partition(".")[0] in heavy]
    assert not found, "\n".join(found)
