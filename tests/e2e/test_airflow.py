"""The example pipeline in a real Airflow: api-server, scheduler, dag-processor, LocalExecutor, REST."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.steps import TableStep
from tools import webshop
from tools.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.spark]

SOURCES = ("customers", "orders", "order_lines")
#: A machine that does other things as well needs patience.
_SECONDS = 240


@pytest.fixture(scope="module")
def catalog(lake: SqlCatalog) -> SqlCatalog:
    """With the sources of the example."""
    webshop.load(lake)
    return lake


def rows(table: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def stream_tables(dags: Path) -> tuple[TableStep, ...]:
    (plan,) = [plan for plan in plan_path(dags).plans if plan.pipeline == "webshop"]
    return plan.tables


def recomputed(catalog: SqlCatalog, dags: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """Every stream table as DuckDB computes it from the sources as they are now."""
    with duckdb.connect() as database:
        for source in SOURCES:
            database.register(source, catalog.load_table(f"webshop.{source}").scan().to_arrow())
        expected = {}
        for step in stream_tables(dags):
            found = database.execute(step.query).to_arrow_table()
            database.register(step.name, found)
            expected[step.identifier] = rows(found)
    return expected


def published(catalog: SqlCatalog, tables: tuple[TableStep, ...]) -> dict[str, Counter[tuple[Any, ...]]]:
    return {step.identifier: rows(catalog.load_table(step.identifier).scan().to_arrow()) for step in tables}


def snapshots(catalog: SqlCatalog, tables: tuple[TableStep, ...]) -> dict[str, int]:
    found = {}
    for step in tables:
        snapshot = catalog.load_table(step.identifier).current_snapshot()
        assert snapshot is not None
        found[step.identifier] = snapshot.snapshot_id
    return found


def finish(stack: Stack, run: str) -> dict[str, dict[str, Any]]:
    """Wait for a run and return what became of each table."""
    state = stack.api.wait_for_run("webshop", run, seconds=_SECONDS)
    tasks = stack.api.tasks("webshop", run)
    failed = [task for task in tasks if task["state"] != "success"]
    for task in failed:
        for line in stack.api.log("webshop", run, task["task_id"], max(1, task["try_number"])):
            print(task["task_id"], line.get("event"), line.get("error_detail", ""))
    assert (state, failed) == ("success", [])
    assert [one for task in tasks for one in loud_lines(stack, run, task["task_id"])] == [], (
        "green runs have clean logs"
    )
    refreshes = (task["task_id"] for task in tasks if task["operator"] == "RefreshOperator")
    return {name: stack.api.xcom("webshop", run, name)[0] for name in refreshes}


def loud_lines(stack: Stack, run: str, task: str) -> list[str]:
    """What a task's log shows in yellow or red."""
    lines = stack.api.log("webshop", run, task)
    return [f"{task}: {line['event']}" for line in lines if line.get("level") in ("warning", "error", "critical")]


def words(stack: Stack, run: str, task: str, dag: str = "webshop") -> list[str]:
    return [str(line["event"]) for line in stack.api.log(dag, run, task)]


def test_the_pipeline_follows_its_sources(stack: Stack, catalog: SqlCatalog, dags: Path) -> None:
    tables = stream_tables(dags)
    api = stack.api
    api.wait_for_dag("webshop")
    assert api.import_errors() == []

    api.unpause("webshop")
    first = api.trigger("webshop")
    results = finish(stack, first)
    assert published(catalog, tables) == recomputed(catalog, dags)
    assert {result["mode"] for result in results.values()} == {"FULL"}
    assert "Refreshing order_totals: first refresh." in words(stack, first, "order_totals")
    assert any(line.startswith("Pinned webshop.orders at snapshot") for line in words(stack, first, "pin"))

    # Second tick: the sources have changed, by plain pyiceberg.
    before = snapshots(catalog, tables)
    webshop.change(catalog)
    results = finish(stack, api.trigger("webshop"))
    assert published(catalog, tables) == recomputed(catalog, dags)
    assert all(after != before[name] for name, after in snapshots(catalog, tables).items())
    changed = {name: (result["rows_inserted"], result["rows_deleted"]) for name, result in results.items()}
    # Orders 107 and 108 are new, 106 became cheaper and 105 was cancelled: that is all that is published.
    assert changed["order_totals"] == (3, 2)

    # Third tick: nothing to do. Fourth: all is computed again, and found to be the same.
    before = snapshots(catalog, tables)
    idle = api.trigger("webshop")
    assert api.wait_for_run("webshop", idle, seconds=_SECONDS) == "success"
    states = {task["task_id"]: task["state"] for task in api.tasks("webshop", idle)}
    assert {task for task, state in states.items() if state != "skipped"} == {"pin", "all_refreshed"}
    results = finish(stack, api.trigger("webshop", {"full_refresh": True}))
    assert {result["mode"] for result in results.values()} == {"FULL"}
    assert all("a full refresh was asked for" in result["reason"] for result in results.values())
    assert snapshots(catalog, tables) == before

    # The file was parsed again and again meanwhile, and every time it was the same DAG.
    assert api.call("GET", "/dags/webshop/dagVersions")["total_entries"] == 1


def test_a_broken_file_fails_where_it_is_seen(stack: Stack, dags: Path) -> None:
    dag_id = "trickle_broken__oops"
    stack.api.wait_for_dag(dag_id)

    run = stack.api.wait_for_first_run(dag_id)

    assert stack.api.wait_for_run(dag_id, run, seconds=_SECONDS) == "failed"
    message = f"{dags}/oops.yaml:5:5: stream table 't': unknown key 'quary'. Did you mean 'query'?"
    lines = stack.api.log(dag_id, run, "broken")
    errors = [line for line in lines if line.get("level") == "error"]
    assert errors[0]["event"].startswith(message)
    assert "error_detail" not in errors[0], "no traceback before the words"
    assert message in stack.api.dag(dag_id)["doc_md"]
    assert {tag["name"] for tag in stack.api.dag(dag_id)["tags"]} == {"trickle", "broken"}


def test_a_killed_task_leaves_no_query_behind(stack: Stack, catalog: SqlCatalog) -> None:
    api = stack.api
    api.wait_for_dag("huge")
    api.unpause("huge")
    run = api.trigger("huge")
    wait_for(lambda: ("never_done", "running") in states(stack, "huge", run))
    wait_for(lambda: busy_spark(stack))
    assert ("never_done", "running") in states(stack, "huge", run)

    api.call("PATCH", f"/dags/huge/dagRuns/{run}/taskInstances/never_done", json={"new_state": "failed"})

    wait_for(lambda: not busy_spark(stack))
    log = "\n".join(words(stack, run, "never_done", "huge"))
    assert "stream table 'never_done' was not refreshed" in log
    assert "OPERATION_CANCELED" in log


def states(stack: Stack, dag: str, run: str) -> set[tuple[str, str]]:
    return {(task["task_id"], task["state"]) for task in stack.api.tasks(dag, run)}


def wait_for(condition: Callable[[], bool], seconds: float = _SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


def busy_spark(stack: Stack) -> bool:
    """Whether Spark's server computes, four seconds on end."""
    for process in stack.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("SparkConnectServer" in argument for argument in process.cmdline()):
                return all(process.cpu_percent(interval=1.0) > 10 for _ in range(4))
    return False
