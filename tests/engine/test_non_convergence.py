"""A cycle that does not settle, on the real engine: nothing is published, it is held, and it recovers."""

from __future__ import annotations

import importlib
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, TableResult, TickFailed
from airflow_trickle.engine.steer import resume, suspend
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import Trace, read_iterations
from airflow_trickle.lakehouse.state import TableStatus, read_history, read_status
from airflow_trickle.results import Iteration, Status
from tests.engine.world import World

NUMBERS = pa.schema([("x", pa.int64())])
ENDLESS = {
    "a": "SELECT x FROM seed UNION ALL SELECT x + 1 AS x FROM b",
    "b": "SELECT x FROM a",
    "c": "SELECT COUNT(*) AS n FROM a",
    "d": "SELECT n + x AS n FROM c CROSS JOIN seed",
}
BOUNDED = {**ENDLESS, "a": "SELECT x FROM seed UNION ALL SELECT x + 1 AS x FROM b WHERE x < 2"}
SETTINGS = "allow_circular: true\nmax_fixpoint_iterations: 5\non_non_convergence_callback: endless_alerts.alert\n"


@pytest.fixture
def endless(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    (world.folder / "endless_alerts.py").write_text("heard = []\ndef alert(context): heard.append(context)\n")
    monkeypatch.syspath_prepend(world.folder)
    importlib.invalidate_caches()
    importlib.import_module("endless_alerts").heard.clear()
    world.source("seed", NUMBERS, [{"x": 1}])
    define(world, ENDLESS)
    return world


def define(world: World, queries: dict[str, str]) -> None:
    world.define(queries)
    world.yaml.write_text(world.yaml.read_text() + SETTINGS)


def opened(world: World) -> Lakehouse:
    return open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse)


def statuses(world: World) -> dict[str, TableStatus]:
    with opened(world) as lake:
        return {status.name: status for status in read_status(lake).values()}


def traces(world: World) -> list[Trace]:
    with opened(world) as lake:
        return read_iterations(lake)


def fail(world: World) -> dict[str, TableResult]:
    with pytest.raises(TickFailed) as raised:
        world.tick()
    return raised.value.results


def modes(results: dict[str, TableResult]) -> dict[str, str]:
    return {name: str(result.mode) for name, result in results.items()}


def alerts() -> list[Any]:
    return list(importlib.import_module("endless_alerts").heard)


def test_from_the_first_failure_to_the_recovery(endless: World) -> None:
    """Design 000 Part 8: Test 4: Non-convergence hits max_iterations"""
    passes: list[Iteration] = []
    with pytest.raises(TickFailed, match=r"a, b: .* did not settle within 5 passes") as raised:
        endless.tick(progress=lambda _unit, one: passes.append(one))
    results = raised.value.results
    assert {name: (str(one.status), one.iterations) for name, one in results.items() if one.error} == {
        "a": ("ERROR", 5),
        "b": ("ERROR", 5),
    }
    assert [name for _, name in endless.outside.list_tables("default")] == ["seed"], "nothing was published"
    # Its readers close a diamond with the seed that is not atomic: they were asked, and have nothing to read yet.
    assert {name: one.status for name, one in statuses(endless).items()} == {
        "a": Status.ERROR,
        "b": Status.ERROR,
        "c": Status.INITIALIZING,
        "d": Status.INITIALIZING,
    }
    (trace,) = traces(endless)
    assert trace.passes == tuple(passes)
    assert (len(passes), passes[-1].total > 0) == (5, True)
    with opened(endless) as lake:
        rows = read_history(lake)
    assert {(row["name"], row["action"], row["iterations"]) for row in rows} == {("a", "FAILED", 5), ("b", "FAILED", 5)}
    (alert,) = alerts()
    told = alert["trickle"]
    assert (told["members"], told["iterations"], told["cap"]) == (["a", "b"], 5, 5)
    assert told["changes_per_iteration"] == [one.changes for one in passes]
    assert told["last_delta"] == passes[-1].total
    assert told["hint"]

    # The next ticks leave it alone, though the sources moved.
    endless.append("seed", {"x": 10})
    results = endless.tick()
    assert set(modes(results).values()) == {"SKIPPED"}
    assert results["a"].reason == results["b"].reason
    assert results["a"].reason.startswith("the cycle did not settle; left as it is until a query of it")
    assert results["c"].reason == results["d"].reason == "a did not settle and has no good state yet"
    assert len(alerts()) == 1

    # Resumed without being mended, it is tried again.
    with opened(endless) as lake:
        assert {one.name for one in resume(lake, [statuses(endless)["b"]])} == {"a", "b"}
    assert statuses(endless)["a"].status is Status.INITIALIZING
    fail(endless)
    assert len(alerts()) == 2

    # Mended, it needs no resuming.
    define(endless, BOUNDED)
    results = endless.tick()
    assert {result.mode for result in results.values()} == {Mode.FULL}
    assert endless.rows("a") == endless.rows("b") == {(1,): 1, (2,): 1, (10,): 1}
    assert endless.rows("d") == {(4,): 1, (13,): 1}
    after = statuses(endless)
    assert {status.status for status in after.values()} == {Status.ACTIVE}
    assert after["a"].last_iterations == after["b"].last_iterations == results["a"].iterations > 0
    assert after["a"].converged_at is not None
    assert traces(endless)[0].passes[-1].total == 0


def test_what_reads_it_goes_on_with_the_last_good_state(endless: World) -> None:
    define(endless, BOUNDED)
    endless.tick()
    before = statuses(endless)
    define(endless, ENDLESS)
    note = "a did not settle, so its last good state is read"
    assert fail(endless)["c"].reason == f"no input changed; {note}", "in the very tick in which it failed, too"
    endless.append("seed", {"x": 10})

    results = endless.tick()

    assert modes(results) == {"a": "SKIPPED", "b": "SKIPPED", "c": "NO_DATA", "d": "FULL"}
    assert results["c"].reason == f"no input changed; {note}"
    assert note in results["d"].reason
    assert endless.rows("d") == {(3,): 1, (12,): 1}, "two rows of a, with the seeds as they are now"
    after = statuses(endless)
    assert {name: one.status for name, one in after.items()} == {
        "a": Status.ERROR,
        "b": Status.ERROR,
        "c": Status.ACTIVE,
        "d": Status.ACTIVE,
    }
    for name in ("a", "b"):
        assert (after[name].frontier, after[name].snapshot_id) == (before[name].frontier, before[name].snapshot_id)
    # Back to the queries that settle: all of them see one world again.
    define(endless, BOUNDED)
    endless.tick()
    assert endless.rows("d") == {(4,): 1, (13,): 1}
    assert all(one.frontier is not None and not one.frontier.behind for one in statuses(endless).values())


def test_a_cycle_with_a_suspended_table_rests_as_a_whole(endless: World) -> None:
    define(endless, BOUNDED)
    endless.tick()
    with opened(endless) as lake:
        suspend(lake, statuses(endless)["b"])
    endless.append("seed", {"x": 10})
    results = endless.tick()
    assert modes(results) == {"a": "SKIPPED", "b": "SKIPPED", "c": "NO_DATA", "d": "FULL"}
    assert {results[name].reason for name in "ab"} == {"suspended, until: trickle resume b"}
    assert (results["a"].status, results["b"].status) == (Status.ACTIVE, Status.SUSPENDED)
    with opened(endless) as lake:
        resume(lake, [statuses(endless)["b"]])
    endless.tick()
    assert endless.rows("d") == {(4,): 1, (13,): 1}


def test_a_recursive_query_that_does_not_settle_is_held_too(endless: World) -> None:
    recursive = "WITH RECURSIVE r AS (SELECT x FROM seed UNION SELECT x + 1 FROM r) SELECT x FROM r"
    define(endless, {"t": recursive})
    assert fail(endless)["t"].iterations == 5
    (alert,) = alerts()
    assert (alert["trickle"]["unit"], alert["trickle"]["members"]) == ("t", ["t"])
    assert endless.tick()["t"].reason.startswith("it did not settle; left as it is until its query or")
    define(endless, {"t": recursive.replace("FROM r)", "FROM r WHERE x < 3)")})
    endless.tick()
    assert endless.rows("t") == {(1,): 1, (2,): 1, (3,): 1}
    assert statuses(endless)["t"].last_iterations
