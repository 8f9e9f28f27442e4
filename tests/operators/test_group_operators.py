"""The tasks of an atomic group around steps that are not real; the real ones run in tests/e2e."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import DownstreamTasksSkipped

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.results import Mode, Status, TableResult
from tests.operators.conftest import DAGS
from tools import webshop as sources


class TaskInstance:
    """As much of Airflow's as the operators ask for."""

    def __init__(self, tick: Any) -> None:
        self.tick = tick
        self.pushed: dict[str, Any] = {}

    def xcom_pull(self, task_ids: str) -> Any:
        return self.tick

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def result(mode: Mode, inserted: int) -> TableResult:
    return TableResult(table="backlog", status=Status.ACTIVE, mode=mode, reason="", rows_inserted=inserted)


@pytest.mark.parametrize(
    ("found", "goes_on"),
    [
        (None, True),
        ((result(Mode.NO_DATA, 0),), False),
        # An earlier attempt of this tick has published it: the commit has still to tell the assets.
        ((result(Mode.FULL, 3),), True),
    ],
)
def test_a_group_is_passed_over_only_if_it_has_nothing_to_do_and_nothing_to_tell(
    lake: Lakehouse, monkeypatch: pytest.MonkeyPatch, found: tuple[TableResult, ...] | None, goes_on: bool
) -> None:
    sources.load(lake.catalog)
    dag = next(dag for dag in build_dags(DAGS, {}, strict=True) if dag.dag_id == "fulfilment")
    begin = dag.get_task("group_backlog.begin")
    monkeypatch.setattr(GroupRefresh, "begin", lambda _: found)
    tick = {"tick_id": "fulfilment/1", "pipeline": "fulfilment", "pins": {}, "effective_at": "2026-01-01T00:00:00Z"}
    context = {"run_id": "manual__1", "ti": TaskInstance(tick), "params": {}}
    if goes_on:
        assert begin.execute(context) == []
    else:
        with pytest.raises(DownstreamTasksSkipped) as skipped:
            begin.execute(context)
        assert "group_backlog.commit" in list(skipped.value.tasks)
