"""A folder of pipelines to build DAGs of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.airflow_home import import_airflow

import_airflow()

from airflow.sdk.definitions.context import (  # noqa: E402
    _AIRFLOW_PARSING_CONTEXT_DAG_ID,
    _AIRFLOW_PARSING_CONTEXT_TASK_ID,
)

SHOP = """\
pipeline: shop
description: Totals of a shop.
schedule: 5m
start_date: 2026-01-01
owner: ann
tags: [money]
sources: [orders, customers]
stream_tables:
  totals:
    description: What each customer paid.
    query: SELECT customer, SUM(amount) AS amount FROM orders GROUP BY customer
  names:
    owner: bob
    query: SELECT c.name, t.amount FROM customers AS c JOIN totals AS t ON t.customer = c.id
  best:
    query: SELECT name FROM names WHERE amount > 100
"""


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No airflow.cfg of this machine, and no settings of its environment."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "no-airflow"))
    monkeypatch.delenv("AIRFLOW__TRICKLE__STRICT", raising=False)
    # A task that ran in this process before leaves behind which DAG it was parsed for.
    for name in (_AIRFLOW_PARSING_CONTEXT_DAG_ID, _AIRFLOW_PARSING_CONTEXT_TASK_ID):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files, named by keyword or path, into a folder of pipelines."""

    def write(files: dict[str, str]) -> Path:
        folder = tmp_path / "dags"
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture
def shop(write: Callable[..., Path]) -> Path:
    return write({"shop.yaml": SHOP})
