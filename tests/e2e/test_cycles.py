"""Cycles in a real Airflow: the example of red and blue edges, and one that does not settle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tools.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.spark]

EDGES = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
#: A machine that does other things as well needs patience.
_SECONDS = 240


@pytest.fixture(scope="module")
def catalog(lake: SqlCatalog) -> SqlCatalog:
    """With the sources of the cycles."""
    lake.create_namespace_if_not_exists("default")
    write(lake, "red_edges", EDGES, [(1, 2), (3, 4), (5, 6)])
    write(lake, "blue_edges", EDGES, [(2, 3), (4, 5)])
    write(lake, "seed", pa.schema([("x", pa.int64())]), [(1,)])
    return lake


def write(catalog: SqlCatalog, name: str, schema: pa.Schema, rows: list[tuple[int, ...]]) -> None:
    table = catalog.create_table_if_not_exists(f"default.{name}", schema=schema)
    table.append(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema))


def numbers(catalog: SqlCatalog, name: str) -> list[int]:
    """The rows of a table with one column of numbers."""
    (column,) = catalog.load_table(f"default.{name}").scan().to_arrow().columns
    return sorted(column.to_pylist())


def run(stack: Stack, dag: str) -> tuple[str, str, dict[str, str]]:
    """Trigger a run and wait for it: its id, its state and those of its tasks."""
    started = stack.api.trigger(dag)
    state = stack.api.wait_for_run(dag, started, seconds=_SECONDS)
    return started, state, {task["task_id"]: task["state"] for task in stack.api.tasks(dag, started)}


def results(stack: Stack, dag: str, run: str, task: str) -> dict[str, dict[str, Any]]:
    return {result["table"]: result for result in stack.api.xcom(dag, run, task)}


def words(stack: Stack, dag: str, run: str, task: str) -> list[str]:
    return [str(line["event"]) for line in stack.api.log(dag, run, task)]


def trickle(stack: Stack, *arguments: str) -> Any:
    """What the command prints as JSON, in the environment of the tasks."""
    command = [sys.executable, "-c", "from airflow_trickle.cli import main; main()", *arguments, "--json"]
    done = subprocess.run(command, env=stack.env, cwd=stack.dags.parent, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def alerts(dags: Path) -> list[dict[str, Any]]:
    file = dags.parent / "alerts.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_red_and_blue_edges(stack: Stack, catalog: SqlCatalog) -> None:
    """Design 002 §8.2: test_mutual_recursion_bidirectional_reachability
    Design 002 §8.2: test_mutual_recursion_incremental_after_base_delete
    Design 002 §8.2: test_mutual_recursion_convergence_monitoring
    """
    api = stack.api
    api.wait_for_dag("colours")
    assert api.import_errors() == []
    api.unpause("colours")

    first, state, tasks = run(stack, "colours")

    assert (state, set(tasks.values())) == ("success", {"success"})
    assert set(tasks) == {"pin", "cycle_reach_blue", "skip_stratum_1", "reached", "all_refreshed"}
    assert (numbers(catalog, "reach_red"), numbers(catalog, "reach_blue")) == ([2, 4, 6], [3, 5])
    assert numbers(catalog, "reached") == [3]
    passes = api.xcom("colours", first, "cycle_reach_blue", "iterations")
    assert [one["iteration"] for one in passes] == list(range(1, len(passes) + 1))
    assert sum(passes[-1]["changes"].values()) == 0, "the last pass finds that nothing changes"
    assert {table for one in passes for table, count in one["changes"].items() if count} == {"reach_red", "reach_blue"}
    assert api.xcom("colours", first, "cycle_reach_blue", "last_iteration") == passes[-1]
    log = words(stack, "colours", first, "cycle_reach_blue")
    assert sum(line.startswith("iteration ") for line in log) == len(passes)
    told = results(stack, "colours", first, "cycle_reach_blue")
    assert {one["iterations"] for one in told.values()} == {len(passes)}
    (trace,) = trickle(stack, "history", "reach_red", "--iterations")
    assert [one["changes"] for one in trace["iterations"]] == [one["changes"] for one in passes]
    (cycle,) = [one for one in trickle(stack, "sccs", "dags/colours.yaml")["sccs"] if one["cyclic"]]
    assert (cycle["status"], cycle["last_iterations"]) == ("ACTIVE", len(passes))
    links = api.call("GET", f"/dags/colours/dagRuns/{first}/taskInstances/cycle_reach_blue/links")["extra_links"]
    assert links["Passes"].endswith("/tasks/cycle_reach_blue/xcom")
    assert links["History"] == f"{stack.url}/dags/colours/tasks/cycle_reach_blue"

    # Nothing moved: not even one pass.
    _, state, tasks = run(stack, "colours")
    assert state == "success"
    assert (tasks["cycle_reach_blue"], tasks["reached"]) == ("skipped", "skipped")
    # Without (3, 4) nothing beyond it is reached.
    catalog.load_table("default.red_edges").delete("src = 3")
    _, state, _ = run(stack, "colours")
    assert state == "success"
    assert (numbers(catalog, "reach_red"), numbers(catalog, "reach_blue")) == ([2], [3])
    assert numbers(catalog, "reached") == [1]


def test_a_cycle_that_does_not_settle(stack: Stack, catalog: SqlCatalog, dags: Path) -> None:
    """Design 000 Part 8: Test 4: Non-convergence hits max_iterations"""
    api = stack.api
    api.wait_for_dag("endless")
    api.unpause("endless")

    first, state, tasks = run(stack, "endless")

    assert state == "failed"
    assert (tasks["pin"], tasks["cycle_a"], tasks["counted"]) == ("success", "failed", "upstream_failed")
    (failed,) = [task for task in api.tasks("endless", first) if task["task_id"] == "cycle_a"]
    assert failed["try_number"] == 1, "no second attempt"
    assert not any(catalog.table_exists(f"default.{name}") for name in ("a", "b", "counted")), "nothing was published"
    assert {(one["table"], one["status"]) for one in trickle(stack, "status", "default.a", "default.b")} == {
        ("a", "ERROR"),
        ("b", "ERROR"),
    }
    (alert,) = alerts(dags)
    told = alert["trickle"]
    assert (alert["task"], alert["exception"]) == ("cycle_a", told["error"])
    assert (told["pipeline"], told["unit"], told["members"]) == ("endless", "cycle_a", ["a", "b"])
    assert (told["iterations"], told["cap"], len(told["changes_per_iteration"])) == (5, 5, 5)
    assert told["last_delta"] == sum(told["changes_per_iteration"][-1].values()) > 0
    assert told["hint"]
    assert len(api.xcom("endless", first, "cycle_a", "iterations")) == 5

    # The next tick leaves it, though its source moved, and what reads it is skipped and not failed.
    write(catalog, "seed", pa.schema([("x", pa.int64())]), [(10,)])
    _, state, tasks = run(stack, "endless")
    assert state == "success"
    assert (tasks["cycle_a"], tasks["counted"]) == ("skipped", "skipped")
    assert {one["status"] for one in trickle(stack, "status", "default.a", "default.b")} == {"ERROR"}
    assert len(alerts(dags)) == 1

    # Resumed, it is tried again; it was not mended, so it fails again.
    assert trickle(stack, "resume", "default.b") == {"resumed": ["default.a", "default.b"]}
    _, state, _ = run(stack, "endless")
    assert (state, len(alerts(dags))) == ("failed", 2)

    # Mended and resumed, it settles.
    endless = dags / "endless.yaml"
    endless.write_text(endless.read_text().replace("FROM b}", "FROM b WHERE x < 2}"))
    trickle(stack, "resume", "--all")
    _, state, tasks = run(stack, "endless")
    assert (state, set(tasks.values())) == ("success", {"success"})
    assert numbers(catalog, "a") == numbers(catalog, "b") == [1, 2, 10]
    assert numbers(catalog, "counted") == [3]
    assert {one["status"] for one in trickle(stack, "status", "default.a", "default.b", "default.counted")} == {
        "ACTIVE"
    }
