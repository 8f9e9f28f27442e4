"""Diamonds, strata and chains of pipelines in a real Airflow: what is published, what is skipped, what fails."""

from __future__ import annotations

import json
import time
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_history
from airflow_trickle.lakehouse.strata import times_skipped
from tools.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.spark]

#: Of the pipelines in `dags/orchestration`.
NAMESPACE = "orchestration"
NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
MEMBERS = ("b", "c", "d")
#: A machine that does other things as well needs patience.
_SECONDS = 240


@pytest.fixture(scope="module")
def catalog(lake: SqlCatalog, stack: Stack) -> SqlCatalog:
    """With the sources; the pipelines of `dags/orchestration` run."""
    lake.create_namespace(NAMESPACE)
    write(lake, "s", NUMBERS, [(1, 2), (2, 5)])
    write(lake, "edges", pa.schema([("src", pa.int64()), ("dst", pa.int64())]), [(1, 2), (2, 3)])
    write(lake, "orders", NUMBERS, [(1, 1), (2, 1), (3, 0)])
    write(lake, "returned", NUMBERS, [(2, 1)])
    for dag in ("diamond", "loose", "nested", "layers", "report"):
        stack.api.wait_for_dag(dag)
        stack.api.unpause(dag)
    return lake


def write(catalog: SqlCatalog, name: str, schema: pa.Schema, rows: list[tuple[int, ...]]) -> None:
    table = catalog.create_table_if_not_exists(f"{NAMESPACE}.{name}", schema=schema)
    table.append(pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema))


def rows(catalog: SqlCatalog, name: str) -> list[tuple[Any, ...]]:
    return sorted(
        tuple(row.values()) for row in catalog.load_table(f"{NAMESPACE}.{name}").scan().to_arrow().to_pylist()
    )


def run(stack: Stack, dag: str) -> tuple[str, dict[str, str]]:
    """Trigger a run and wait for it: its state and those of its tasks."""
    started = stack.api.trigger(dag)
    state = stack.api.wait_for_run(dag, started, seconds=_SECONDS)
    return state, {task["task_id"]: task["state"] for task in stack.api.tasks(dag, started)}


def snapshots(catalog: SqlCatalog, *names: str) -> dict[str, int | None]:
    return {name: catalog.load_table(f"{NAMESPACE}.{name}").metadata.current_snapshot_id for name in names}


def epochs(catalog: SqlCatalog, *names: str) -> set[str | None]:
    found = set()
    for name in names:
        snapshot = catalog.load_table(f"{NAMESPACE}.{name}").current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        found.add(snapshot.summary.additional_properties.get("trickle.group-epoch"))
    return found


def history(catalog: SqlCatalog, name: str, limit: int = 1) -> list[dict[str, Any]]:
    with open_lakehouse("trickle", **{key: catalog.properties[key] for key in ("uri", "warehouse")}) as lake:
        return read_history(lake, identifier=f"{NAMESPACE}.{name}", limit=limit)


def leftovers(catalog: SqlCatalog) -> list[int]:
    """How many rows tell of unfinished work, and of tables that somebody keeps for himself."""
    with catalog.engine.connect() as connection:
        names = ("trickle_staging", "trickle_prepared", "trickle_leases")
        return [connection.exec_driver_sql(f"SELECT COUNT(*) FROM {name}").scalar_one() for name in names]


def test_a_diamond_from_success_over_failure_to_recovery(stack: Stack, catalog: SqlCatalog) -> None:
    """Design 004 Step 7: test_diamond_atomic_convergence"""
    group = {f"group_d.{step}" for step in ("begin", "commit", "cleanup")}

    state, tasks = run(stack, "diamond")
    assert (state, set(tasks.values())) == ("success", {"success"}), tasks
    assert set(tasks) == {"pin", "skip_stratum_1", *MEMBERS} | group or set(tasks) == {"pin", *MEMBERS} | group
    assert rows(catalog, "d") == [(1, 2, 20), (2, 5, 10)]
    assert epochs(catalog, *MEMBERS) == {"1"}

    write(catalog, "s", NUMBERS, [(3, 9)])
    assert run(stack, "diamond")[0] == "success"
    assert epochs(catalog, *MEMBERS) == {"2"}

    before = snapshots(catalog, *MEMBERS)
    write(catalog, "s", NUMBERS, [(4, -1)])
    state, tasks = run(stack, "diamond")
    assert state == "failed"
    assert {name: tasks[name] for name in (*MEMBERS, "group_d.commit", "group_d.cleanup")} == {
        "b": "success",
        "c": "failed",
        "d": "upstream_failed",
        "group_d.commit": "upstream_failed",
        "group_d.cleanup": "success",
    }
    assert snapshots(catalog, *MEMBERS) == before
    assert leftovers(catalog) == [0, 0, 0]
    assert history(catalog, "b")[0]["action"] == "DISCARDED"
    assert history(catalog, "c")[0]["action"] == "FAILED"

    catalog.load_table("orchestration.s").delete("x = -1")
    write(catalog, "s", NUMBERS, [(4, 1)])
    assert run(stack, "diamond")[0] == "success"
    assert rows(catalog, "d") == [(1, 2, 20), (2, 5, 10), (3, 9, 6), (4, 1, 30)]
    assert epochs(catalog, *MEMBERS) == {"3"}
    assert {row["group_epoch"] for name in MEMBERS for row in history(catalog, name)} == {3}
    assert leftovers(catalog) == [0, 0, 0]

    state, tasks = run(stack, "diamond")
    assert state == "success"
    assert {name for name, one in tasks.items() if one == "success"} == {"pin"}
    assert {name for name, one in tasks.items() if one == "skipped"} == set(tasks) - {"pin"}


def test_the_failed_task_of_a_group_can_be_cleared_by_itself(stack: Stack, catalog: SqlCatalog) -> None:
    write(catalog, "s", NUMBERS, [(5, -1)])
    started = stack.api.trigger("diamond")
    assert stack.api.wait_for_run("diamond", started, seconds=_SECONDS) == "failed"
    # The same world is read again, so the same task fails again; nothing else is computed anew for it in vain.
    stack.api.call(
        "POST",
        "/dags/diamond/clearTaskInstances",
        json={
            "dry_run": False,
            "dag_run_id": started,
            "only_failed": True,
            "task_ids": ["c"],
            "include_downstream": True,
        },
    )
    assert stack.api.wait_for_run("diamond", started, seconds=_SECONDS) == "failed"
    catalog.load_table("orchestration.s").delete("x = -1")
    assert run(stack, "diamond")[0] == "success"
    assert leftovers(catalog) == [0, 0, 0]


def test_without_atomicity_a_failing_branch_holds_nobody_up_and_still_fails_the_run(
    stack: Stack, catalog: SqlCatalog
) -> None:
    assert run(stack, "loose")[0] == "success"
    before = snapshots(catalog, "loose_b", "loose_c", "loose_d")
    write(catalog, "s", NUMBERS, [(2, -1)])
    state, tasks = run(stack, "loose")
    catalog.load_table("orchestration.s").delete("x = -1")

    assert state == "failed"
    assert {name: tasks[name] for name in ("loose_b", "loose_c", "loose_d", "all_refreshed")} == {
        "loose_b": "success",
        "loose_c": "failed",
        "loose_d": "success",
        "all_refreshed": "upstream_failed",
    }
    after = snapshots(catalog, "loose_b", "loose_c", "loose_d")
    assert [name for name in after if after[name] != before[name]] == ["loose_b", "loose_d"]
    (last,) = history(catalog, "loose_d")
    assert "its inputs disagree: loose_c was not refreshed in this tick" in last["reason"]
    assert run(stack, "loose")[0] == "success"
    assert "disagree" not in history(catalog, "loose_d")[0]["reason"]


def test_overlapping_diamonds_with_a_cycle_are_one_group(stack: Stack, catalog: SqlCatalog) -> None:
    """Design 004 Step 7: test_diamond_nested_merge"""
    state, tasks = run(stack, "nested")
    assert state == "success", tasks
    assert {"cycle_hop", "nodes", "far", "ends", "both"} < set(tasks)
    assert rows(catalog, "both") == [(1, 2)]
    write(catalog, "edges", pa.schema([("src", pa.int64()), ("dst", pa.int64())]), [(3, 4), (7, 1)])
    assert run(stack, "nested")[0] == "success"
    assert rows(catalog, "both") == [(7, 4)]
    assert epochs(catalog, "reach", "hop", "nodes", "far", "ends", "both") == {"2"}


def test_strata_are_skipped_when_nothing_below_them_changed(stack: Stack, catalog: SqlCatalog) -> None:
    """Design 001 §9.2: test_downstream_stratum_skipped_when_upstream_unchanged
    Design 001 §9.2: test_downstream_not_skipped_when_base_table_has_changes
    """
    state, tasks = run(stack, "layers")
    assert (state, set(tasks.values())) == ("success", {"success"}), tasks
    assert sorted(tasks) == ["all_refreshed", "counted", "kept", "paid", "pin", "skip_stratum_1", "skip_stratum_2"]
    assert rows(catalog, "counted") == [(1,)]

    # The lowest stratum runs and comes to the same result: what reads it is skipped.
    write(catalog, "orders", NUMBERS, [(9, 0)])
    _, tasks = run(stack, "layers")
    assert (tasks["paid"], tasks["kept"], tasks["counted"]) == ("success", "skipped", "skipped")

    # The middle one's own source moved: never skipped, though nothing below it did.
    write(catalog, "returned", NUMBERS, [(1, 1)])
    _, tasks = run(stack, "layers")
    assert (tasks["paid"], tasks["kept"], tasks["counted"]) == ("skipped", "success", "success")
    assert rows(catalog, "counted") == [(0,)]

    # An insert and its deletion: the source moved, and no row of it changed.
    write(catalog, "orders", NUMBERS, [(77, 1)])
    catalog.load_table("orchestration.orders").delete("k = 77")
    state, tasks = run(stack, "layers")
    assert state == "success"
    assert {tasks["kept"], tasks["counted"]} == {"skipped"}
    with open_lakehouse("trickle", **{key: catalog.properties[key] for key in ("uri", "warehouse")}) as lake:
        assert times_skipped(lake, "layers")[2] >= 2


def test_a_pipeline_runs_when_a_table_of_another_one_changed_and_only_then(stack: Stack, catalog: SqlCatalog) -> None:
    write(catalog, "s", NUMBERS, [(50, 1)])
    count = stack.api.count_runs("report")
    assert run(stack, "diamond")[0] == "success"
    followed = stack.api.wait_for_next_run("report", count, seconds=_SECONDS)
    assert stack.api.call("GET", f"/dags/report/dagRuns/{followed}")["run_type"] == "asset_triggered"
    assert stack.api.wait_for_run("report", followed, seconds=_SECONDS) == "success"
    assert rows(catalog, "summary") == [(len(rows(catalog, "d")),)]
    events = stack.api.call("GET", "/assets/events", params={"limit": 1, "order_by": "-timestamp"})["asset_events"]
    assert {"rows_inserted", "epoch", "snapshot_id"} < set(events[0]["extra"]), json.dumps(events)

    count = stack.api.count_runs("report")
    run(stack, "diamond")  # nothing to do: no asset is updated
    time.sleep(3)
    assert stack.api.count_runs("report") == count
