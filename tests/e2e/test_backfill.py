"""Backfills in a real Airflow: history is replayed interval by interval, as if it had been run on time."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_history
from tests.e2e.history import backdate
from tools.airflow_api import ApiError
from tools.stack import Stack

# Dozens of runs of a real Airflow: too long for every change.
pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.soak]

FACTORY = Path(__file__).parents[2] / "dags" / "trickle_dags.py"
START = datetime(2026, 6, 1, tzinfo=timezone.utc)
#: With TRICKLE_BACKFILL_DAYS=10 it is the long version of the same.
DAYS = int(os.environ.get("TRICKLE_BACKFILL_DAYS", "4"))
#: The day to go back to, and on from.
AGAIN = DAYS * 4 // 10
NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
TABLES = ("totals", "singles", "ranked")
#: The same queries twice: one pipeline is backfilled in Airflow, the other is ticked day by day. It starts so late that
#: the scheduler runs nothing by itself, which would bring the tables further than the days that are backfilled.
PIPELINE = """
pipeline: {name}
namespace: {name}
schedule: "@daily"
start_date: 2099-01-01
sources: {{s: {{table: default.s}}}}
stream_tables:
  totals: {{query: "SELECT k, SUM(x) AS total, COUNT(*) AS n FROM s GROUP BY k"}}
  singles: {{query: "SELECT DISTINCT k, x FROM s WHERE x > 1"}}
  ranked: {{query: "SELECT t.k, t.total, s.x FROM totals AS t LEFT JOIN singles AS s ON s.k = t.k"}}
"""
_SECONDS = 900


@pytest.fixture(scope="module")
def dags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backfill") / "dags"
    folder.mkdir()
    shutil.copy(FACTORY, folder)
    (folder / "replayed.yaml").write_text(PIPELINE.format(name="replayed"))
    return folder


@pytest.fixture(scope="module")
def catalog(dags: Path) -> SqlCatalog:
    home = dags.parent
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")
    catalog.create_namespace("default")
    table = catalog.create_table("default.s", schema=NUMBERS)
    moments = []
    for day in range(DAYS):
        noon = START + timedelta(days=day, hours=12)
        table.append(pa.table({"k": [day % 3, day % 4], "x": [day, 1]}, schema=NUMBERS))
        moments.append(noon)
        if day % 3 == 1:
            table.delete(f"k = {day % 3} AND x < {day}")
            moments += [noon + timedelta(hours=1)] * (len(table.metadata.snapshots) - len(moments))
    backdate(catalog, "default.s", moments)
    return catalog


@pytest.fixture(scope="module")
def environment(dags: Path, catalog: SqlCatalog) -> dict[str, str]:
    home = dags.parent
    return {
        "TRICKLE_HOME": str(home / "trickle"),
        "TRICKLE_SPARK_HOME": str(home / "spark"),
        "PYICEBERG_CATALOG__TRICKLE__URI": catalog.properties["uri"],
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": catalog.properties["warehouse"],
    }


@pytest.fixture(scope="module")
def stack(dags: Path, environment: dict[str, str]) -> Iterator[Stack]:
    stack = Stack(dags.parent / "airflow", dags, env=environment)
    with stack:
        stack.api.wait_for_dag("replayed")
        yield stack
    assert stack.processes() == []


def rows(catalog: SqlCatalog, namespace: str) -> dict[str, Counter[tuple[Any, ...]]]:
    found = {}
    for name in TABLES:
        read = catalog.load_table(f"{namespace}.{name}").scan().to_arrow().to_pylist()
        found[name] = Counter(tuple(row.values()) for row in read)
    return found


def snapshots(catalog: SqlCatalog) -> dict[str, int | None]:
    return {name: catalog.load_table(f"replayed.{name}").metadata.current_snapshot_id for name in TABLES}


def backfill(stack: Stack, first: int, last: int, reprocess: str = "none") -> None:
    """Backfill the days from ``first`` to ``last``, and wait for the end."""
    body = {
        "dag_id": "replayed",
        "from_date": (START + timedelta(days=first)).isoformat(),
        "to_date": (START + timedelta(days=last)).isoformat(),
        "max_active_runs": 1,
        "reprocess_behavior": reprocess,
    }
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            created = stack.api.call("POST", "/backfills", json=body)
            break
        except ApiError as error:
            # Airflow's own database is SQLite here, which the scheduler may be writing to at this moment. A request
            # that failed for that may have begun a backfill of some of the days: then that one has to end first.
            passing = ("locked", "Database error", "already a running backfill")
            if not any(word in str(error) for word in passing) or time.monotonic() > deadline:
                raise
            time.sleep(1)
    while stack.api.call("GET", f"/backfills/{created['id']}")["completed_at"] is None:
        assert time.monotonic() < deadline, "the backfill does not end"
        time.sleep(1)


def states(stack: Stack) -> Counter[str]:
    runs = stack.api.call("GET", "/dags/replayed/dagRuns", params={"limit": 100})["dag_runs"]
    return Counter(run["state"] for run in runs if run["run_type"] == "backfill")


def published(catalog: SqlCatalog) -> int:
    with open_lakehouse("trickle", **{key: catalog.properties[key] for key in ("uri", "warehouse")}) as lake:
        history = read_history(lake, pipeline="replayed", limit=1000)
    return sum(row["action"] in ("INITIALIZE", "REFRESH") for row in history)


def test_history_is_replayed_as_if_it_had_been_run_on_time(
    stack: Stack, catalog: SqlCatalog, environment: dict[str, str], tmp_path: Path
) -> None:
    stack.api.unpause("replayed")
    backfill(stack, 0, DAYS - 1)
    assert set(states(stack)) == {"success"}

    (tmp_path / "ontime.yaml").write_text(PIPELINE.format(name="ontime"))
    with mock.patch.dict(os.environ, environment):
        on_time = Pipeline.load(tmp_path / "ontime.yaml")
        for day in range(DAYS):
            on_time.tick(as_of=START + timedelta(days=day + 1))
    assert rows(catalog, "replayed") == rows(catalog, "ontime")

    # Once more: nothing is published.
    before, count = snapshots(catalog), published(catalog)
    backfill(stack, 0, DAYS - 1, reprocess="completed")
    assert set(states(stack)) == {"success"}
    assert (snapshots(catalog), published(catalog)) == (before, count)

    # Back to the past (of ten days, to the fourth), and from there on again.
    restated = stack.api.trigger(
        "replayed", {"restate": (START + timedelta(days=AGAIN)).isoformat(), "restate_pipeline": "replayed"}
    )
    assert stack.api.wait_for_run("replayed", restated, seconds=_SECONDS) == "success"
    assert rows(catalog, "replayed") != rows(catalog, "ontime")
    backfill(stack, AGAIN, DAYS - 1, reprocess="completed")
    assert set(states(stack)) == {"success"}
    assert rows(catalog, "replayed") == rows(catalog, "ontime")
    assert published(catalog) > count
