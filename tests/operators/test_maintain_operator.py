"""The task that maintains the tables of a pipeline."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.operators.maintain import MaintainOperator
from airflow_trickle.plan.steps import MaintenanceStep
from tests.lakehouse.maintenance.world import at_once, publish, rows_at, snapshots_of, table_of

NAME = "default.t"
STEP = MaintenanceStep(
    schedule=None,
    keep_snapshots_for=3600,
    keep_snapshots=2,
    restate_window=0,
    keep_history_for=3600,
    keep_history=100,
    orphans_after=3 * 86_400,
    compact=True,
)


def run(**params: Any) -> dict[str, Any]:
    task = MaintainOperator(task_id="maintain", step=STEP, catalog="trickle", pipeline="p", tables=[NAME])
    with at_once():
        return task.execute({"params": params})  # type: ignore[typeddict-item,arg-type]


def test_it_maintains_the_tables_of_its_pipeline_and_returns_what_it_did(lake: Lakehouse) -> None:
    for number in range(8):
        publish(lake, NAME, [number])
        publish(lake, "default.other", [number], pipeline="q")
    told = run()
    (table,) = told["tables"]
    assert (table["files_compacted"], table["snapshots"]) == (8, 2)
    assert len(snapshots_of(lake, NAME)) == 2
    assert len(snapshots_of(lake, "default.other")) == 8
    assert rows_at(lake, NAME) == list(range(8))


def test_a_dry_run_changes_nothing(lake: Lakehouse) -> None:
    for number in range(8):
        publish(lake, NAME, [number])
    before = table_of(lake, NAME).metadata_location
    assert run(dry_run=True)["dry_run"] is True
    assert table_of(lake, NAME).metadata_location == before


def test_a_table_that_cannot_be_maintained_fails_the_task_in_words(lake: Lakehouse) -> None:
    publish(lake, NAME, [1])
    lake.catalog.register_table("default.copy", table_of(lake, NAME).metadata_location)
    with pytest.raises(AirflowException, match="was not maintained"):
        run()
