"""The capture operator over a real folder that needs no Spark, and around a capture that fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_trickle import errors
from airflow_trickle.dag_factory import build_dags
from airflow_trickle.results import Mode, Status, TableResult


@pytest.fixture
def dag(tmp_path: Path) -> DAG:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    (folder / "p.yaml").write_text(
        f"pipeline: p\nsources:\n  s: {{path: {tmp_path}/data, format: parquet}}\n"
        "stream_tables: {t: {query: SELECT * FROM s}}\n"
    )
    (found,) = build_dags(folder, {}, strict=True)
    return found


def test_the_result_is_the_xcom(dag: DAG, monkeypatch: pytest.MonkeyPatch) -> None:
    result = TableResult(table="s", status=Status.ACTIVE, mode=Mode.DIFFERENTIAL, reason="1 file new", rows_inserted=2)
    calls = []
    monkeypatch.setattr(
        "airflow_trickle.engine.capture.capture.capture", lambda _lake, *args: calls.append(args) or result
    )

    said = dag.get_task("capture_s").execute({"run_id": "manual"})

    assert said == result.model_dump(mode="json")
    assert [(step.name, tick) for step, tick, _spark, _connections in calls] == [("s", "p/manual")]


def test_a_folder_that_is_not_there_is_not_tried_again(dag: DAG, tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match="source 's' was not captured: there is no folder"):
        dag.get_task("capture_s").execute({"run_id": "manual"})


def test_a_source_that_is_being_changed_is_tried_again(dag: DAG, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args: object) -> None:
        raise errors.CaptureFailed("it is being changed")

    monkeypatch.setattr("airflow_trickle.engine.capture.capture.capture", fails)
    with pytest.raises(AirflowException, match="it is being changed") as error:
        dag.get_task("capture_s").execute({"run_id": "manual"})
    assert not isinstance(error.value, AirflowFailException)
