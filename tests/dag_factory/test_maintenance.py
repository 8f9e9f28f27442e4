"""The DAG that maintains the tables of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from airflow.sdk import DAG, CronDataIntervalTimetable
from airflow.sdk.definitions._internal.dag_parsing_context import _airflow_parsing_context_manager

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.operators.maintain import MaintainOperator
from airflow_trickle.plan.build import plan_path
from tests.dag_factory.conftest import SHOP

MAINTAINED = SHOP.replace("owner: ann\n", "owner: ann\nmaintenance: {schedule: '15 3 * * *', keep_snapshots: 20}\n")


def by_id(folder: Path) -> dict[str, DAG]:
    return {dag.dag_id: dag for dag in build_dags(folder, {}, strict=True)}


def test_a_pipeline_with_the_key_gets_a_dag_beside_its_own(write: Callable[..., Path]) -> None:
    dags = by_id(write({"shop.yaml": MAINTAINED}))
    assert sorted(dags) == ["shop", "shop__maintenance"]
    dag = dags["shop__maintenance"]
    assert isinstance(dag.timetable, CronDataIntervalTimetable)
    assert (dag.catchup, dag.max_active_runs) == (False, 1)
    assert dag.tags == {"trickle", "maintenance", "money"}
    (task,) = dag.tasks
    assert isinstance(task, MaintainOperator)
    assert task.tables == ("default.totals", "default.names", "default.best")
    assert (task.step.keep_snapshots, task.pipeline, task.owner) == (20, "shop", "ann")


def test_its_page_says_what_is_kept(write: Callable[..., Path]) -> None:
    doc = by_id(write({"shop.yaml": MAINTAINED}))["shop__maintenance"].doc_md
    assert doc is not None
    assert "- schedule: `15 3 * * *`" in doc
    assert "those of 7 days, at most 20; all of 1 day, for restate" in doc
    assert "`default.totals`" in doc


def test_without_the_key_there_is_no_such_dag(shop: Path) -> None:
    assert sorted(by_id(shop)) == ["shop"]


def test_without_a_schedule_it_runs_by_hand(write: Callable[..., Path]) -> None:
    dags = by_id(write({"shop.yaml": SHOP.replace("owner: ann\n", "owner: ann\nmaintenance: {keep_snapshots: 5}\n")}))
    assert dags["shop__maintenance"].schedule is None


def test_a_worker_that_runs_its_task_parses_only_its_pipeline(write: Callable[..., Path]) -> None:
    other = SHOP.replace("pipeline: shop", "pipeline: bar\nnamespace: bar")
    folder = write({"shop.yaml": MAINTAINED, "bar.yaml": other})
    with _airflow_parsing_context_manager(dag_id="shop__maintenance", task_id="maintain"):
        assert sorted(dag.dag_id for dag in build_dags(folder, {})) == ["shop", "shop__maintenance"]


def test_a_pipeline_of_that_name_keeps_it(write: Callable[..., Path]) -> None:
    other = SHOP.replace("pipeline: shop", "pipeline: shop__maintenance\nnamespace: bar")
    dags = by_id(write({"shop.yaml": MAINTAINED, "bar.yaml": other}))
    assert sorted(dags) == ["shop", "shop__maintenance", "shop__maintenance_2"]
    assert isinstance(dags["shop__maintenance_2"].tasks[0], MaintainOperator)


def test_the_step_survives_serialization(write: Callable[..., Path]) -> None:
    (plan,) = plan_path(write({"shop.yaml": MAINTAINED})).plans
    assert plan.maintenance is not None
    assert type(plan.maintenance).model_validate_json(plan.maintenance.model_dump_json()) == plan.maintenance


@pytest.mark.parametrize("key", ["maintenance: {keep_snapshots: none}", "maintenance: []"])
def test_a_wrong_key_breaks_the_file_alone(write: Callable[..., Path], key: str) -> None:
    folder = write(
        {
            "shop.yaml": SHOP.replace("owner: ann", key),
            "bar.yaml": "pipeline: bar\nnamespace: b\nstream_tables: {t: {query: SELECT 1}}\n",
        }
    )
    assert sorted(dag.dag_id for dag in build_dags(folder, {})) == ["bar", "trickle_broken__shop"]
