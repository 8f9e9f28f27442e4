"""Operators in a DAG, run without a task runner, over a real catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.airflow_home import import_airflow

import_airflow()

from airflow.sdk import DAG  # noqa: E402
from airflow.sdk.bases.operator import ExecutorSafeguard  # noqa: E402

from airflow_trickle.dag_factory import build_dags  # noqa: E402
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse  # noqa: E402

DAGS = Path(__file__).parents[2] / "dags"


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "trickle"))
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)


@pytest.fixture
def lake() -> Iterator[Lakehouse]:
    with open_lakehouse("trickle") as opened:
        yield opened


@pytest.fixture
def webshop() -> DAG:
    return next(dag for dag in build_dags(DAGS, {}, strict=True) if dag.dag_id == "webshop")
