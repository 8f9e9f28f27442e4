"""Units that are held: they stay as they are, and what reads them goes on with their last good state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, TableResult, TickFailed
from airflow_trickle.engine import publishing
from airflow_trickle.engine import refresh as refreshing
from airflow_trickle.engine.holds import halted_members, unit_fingerprint
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.record import Refresh
from airflow_trickle.errors import NonConvergence
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations
from airflow_trickle.lakehouse.state import TableStatus, read_history, read_status, write_status
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Iteration, Status
from tests.engine.world import World

NUMBERS = pa.schema([("x", pa.int64())])
TRACE = tuple(Iteration(number=number, phase="derive", changes={"a": number}, seconds=0.5) for number in (1, 2))
#: `a` reads a source that its readers read too; `d` reads nothing of it.
QUERIES = {
    "a": "SELECT x FROM s",
    "b": "SELECT a.x FROM a JOIN t ON t.x = a.x",
    "c": "SELECT b.x, s.x AS y FROM b CROSS JOIN s",
    "d": "SELECT x FROM t",
}
HALTED = (
    "it did not settle; left as it is until its query or max_fixpoint_iterations changes, or until: trickle resume a"
)
BEHIND = "a did not settle, so its last good state is read"


@pytest.fixture
def shop(world: World) -> World:
    world.source("s", NUMBERS, [{"x": 1}])
    world.source("t", NUMBERS, [{"x": 1}, {"x": 2}])
    world.define(QUERIES)
    return world


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def unit(world: World, name: str) -> RefreshStep:
    return next(step for step in Pipeline.load(world.yaml).plan.refreshes if step.unit == name)


def hold(world: World, name: str = "a", **values: Any) -> None:
    """Write into the state tables what a refresh that did not settle writes there."""
    halted = {"status": "ERROR", "halted": unit_fingerprint(unit(world, name)), "error": "did not settle"}
    with opened(world) as lake, lake.database.transaction() as connection:
        new = {"name": name, "pipeline": "p"}
        write_status(lake, connection, f"default.{name}", if_new=new, **(values or halted))


def status(world: World, name: str) -> TableStatus:
    with opened(world) as lake:
        return read_status(lake)[f"default.{name}"]


def modes(results: dict[str, TableResult]) -> dict[str, str]:
    return {name: str(result.mode) for name, result in results.items()}


def test_a_unit_that_did_not_settle_is_left_alone_and_its_readers_go_on(shop: World) -> None:
    shop.tick()
    hold(shop)
    shop.append("s", {"x": 2})

    results = shop.tick()

    assert modes(results) == {"a": "SKIPPED", "b": "NO_DATA", "c": "FULL", "d": "NO_DATA"}
    assert (results["a"].status, results["a"].reason, results["a"].error) == (Status.ERROR, HALTED, None)
    assert (results["a"].epoch, results["a"].snapshot_id) == (1, status(shop, "a").snapshot_id)
    assert results["b"].reason == f"no input changed; {BEHIND}"
    assert f"s changed; {BEHIND}; " in results["c"].reason
    assert results["d"].reason == "no input changed"
    assert (shop.rows("a"), shop.rows("b"), shop.rows("c")) == ({(1,): 1}, {(1,): 1}, {(1, 1): 1, (1, 2): 1})
    after = status(shop, "a")
    assert (after.status, after.error, after.halted) == (
        Status.ERROR,
        "did not settle",
        unit_fingerprint(unit(shop, "a")),
    )
    # A second tick over the same world has nothing to do, and says the same.
    again = shop.tick()
    assert modes(again) == {"a": "SKIPPED", "b": "NO_DATA", "c": "NO_DATA", "d": "NO_DATA"}
    assert again["c"].reason == f"no input changed; {BEHIND}"
    # The world moves on, and so do the readers, tick by tick.
    shop.append("s", {"x": 3})
    shop.append("t", {"x": 3})
    assert modes(shop.tick()) == {"a": "SKIPPED", "b": "FULL", "c": "FULL", "d": "FULL"}
    assert shop.rows("c") == {(1, 1): 1, (1, 2): 1, (1, 3): 1}


def test_when_it_is_no_longer_held_all_see_one_world_again(shop: World) -> None:
    shop.tick()
    hold(shop)
    shop.append("s", {"x": 2})
    shop.tick()
    hold(shop, status="ACTIVE", halted=None, error=None)

    results = shop.tick()

    assert modes(results) == {"a": "FULL", "b": "FULL", "c": "FULL", "d": "NO_DATA"}
    assert all(BEHIND not in result.reason for result in results.values())
    for name in QUERIES:
        assert shop.rows(name) == shop.judge(f"SELECT * FROM {name}", **QUERIES)
    worlds = {name: status(shop, name).frontier for name in "abc"}
    assert all(frontier is not None and frontier.behind == () for frontier in worlds.values())


def test_a_reader_of_a_reader_waits_until_what_was_held_has_reached_it(shop: World) -> None:
    """`c` is refreshed by itself after `a` was resumed, before `b` has seen what `a` is now."""
    shop.tick()
    hold(shop)
    shop.append("t", {"x": 3})
    assert modes(shop.tick()) == {"a": "SKIPPED", "b": "FULL", "c": "NO_DATA", "d": "FULL"}
    hold(shop, status="ACTIVE", halted=None, error=None)

    step, plan = unit(shop, "c"), Pipeline.load(shop.yaml).plan
    # As if it were not part of a diamond whose tables go on without each other.
    step = step.model_copy(update={"tables": tuple(one.model_copy(update={"tolerates": ()}) for one in step.tables)})
    with opened(shop) as lake, Pipeline(plan)._spark(None) as spark:
        tick = pin(lake, plan.pin, "p/by-hand")
        (result,) = refreshing.refresh(lake, step, tick, spark)

    assert (result.mode, result.reason) == (
        Mode.SKIPPED,
        "its input b stands at the world of another tick; left for that tick",
    )
    assert {str(result.mode) for result in shop.tick().values()} == {"NO_DATA"}


def test_what_reads_a_table_without_any_good_state_is_skipped_and_not_failed(shop: World) -> None:
    hold(shop)

    for mode in ("FULL", "NO_DATA"):
        results = shop.tick()
        assert modes(results) == {"a": "SKIPPED", "b": "SKIPPED", "c": "SKIPPED", "d": mode}
        assert results["b"].reason == results["c"].reason == "a did not settle and has no good state yet"
        assert results["b"].status is Status.INITIALIZING
    assert status(shop, "c").waits_for == ("default.a",)

    hold(shop, status="INITIALIZING", halted=None, error=None)
    assert modes(shop.tick()) == {"a": "FULL", "b": "FULL", "c": "FULL", "d": "NO_DATA"}
    assert status(shop, "c").waits_for == ()


def test_a_suspended_table_is_left_alone_whatever_becomes_of_its_query(shop: World) -> None:
    shop.tick()
    hold(shop, status="SUSPENDED")
    shop.append("s", {"x": 2})
    shop.define({**QUERIES, "a": "SELECT x + 1 AS x FROM s"})

    results = shop.tick()

    assert (results["a"].mode, results["a"].status) == (Mode.SKIPPED, Status.SUSPENDED)
    assert results["a"].reason == "suspended, until: trickle resume a"
    assert results["b"].reason == "no input changed; a is suspended, so its last good state is read"
    assert shop.rows("a") == {(1,): 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: shop.define({**QUERIES, "a": "SELECT x + 1 AS x FROM s"}),
        lambda shop: shop.define(QUERIES, a={"max_fixpoint_iterations": 7}),
    ],
    ids=["query", "cap"],
)
def test_a_unit_that_was_changed_is_tried_again(shop: World, change: Callable[[World], None]) -> None:
    shop.tick()
    hold(shop)
    with opened(shop) as lake:
        assert [one.name for one in halted_members(lake, unit(shop, "a"))] == ["a"]
    change(shop)
    with opened(shop) as lake:
        assert halted_members(lake, unit(shop, "a")) == ()
    shop.append("s", {"x": 5})

    results = shop.tick()

    assert (results["a"].mode, results["a"].status) == (Mode.FULL, Status.ACTIVE)
    after = status(shop, "a")
    assert (after.status, after.halted, after.error) == (Status.ACTIVE, None, None)


def test_a_table_suspended_while_its_refresh_waited_for_the_lease_is_left_alone(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    shop.append("s", {"x": 2})
    real = publishing.holding

    @contextmanager
    def late(lake: Lakehouse, identifiers: Any, holder: str) -> Iterator[Any]:
        if identifiers == ["default.a"]:
            hold(shop, status="SUSPENDED")
        with real(lake, identifiers, holder) as leases:
            yield leases

    monkeypatch.setattr(publishing, "holding", late)
    results = shop.tick()
    assert (results["a"].mode, results["a"].status) == (Mode.SKIPPED, Status.SUSPENDED)
    assert shop.rows("a") == {(1,): 1}


def test_not_settling_is_written_down_and_nothing_is_published(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.tick()
    before = status(shop, "a")
    shop.append("s", {"x": 2})
    real = refreshing._refresh_table

    def endless(run: Refresh, step: RefreshStep, full_refresh: bool) -> TableResult:
        if run.step.name == "a":
            raise NonConvergence("'a' did not settle within 2 passes.", unit="a", members=["a"], trace=TRACE)
        return real(run, step, full_refresh)

    monkeypatch.setattr(refreshing, "_refresh_table", endless)
    with pytest.raises(TickFailed, match="did not settle within 2 passes") as raised:
        shop.tick()

    # In the tick itself it is a failure like any other.
    results = raised.value.results
    assert modes(results) == {"a": "FULL", "b": "NO_DATA", "c": "FULL", "d": "NO_DATA"}
    assert (results["a"].status, results["a"].iterations) == (Status.ERROR, 2)
    # The three form a diamond that is not atomic: who reads it goes on, and says so.
    assert results["b"].reason.endswith(BEHIND)
    after = status(shop, "a")
    assert (after.status, after.error) == (Status.ERROR, "'a' did not settle within 2 passes.")
    assert (after.frontier, after.epoch, after.snapshot_id) == (before.frontier, before.epoch, before.snapshot_id)
    with opened(shop) as lake:
        (row, *_) = read_history(lake, identifier="default.a")
        (trace,) = read_iterations(lake)
    assert (row["action"], row["iterations"], row["error"]) == ("FAILED", 2, after.error)
    assert (trace.unit, trace.pipeline, trace.tick_id, trace.passes) == ("a", "p", row["tick_id"], TRACE)
    # From the next one on it is held, without another attempt.
    assert modes(shop.tick()) == {"a": "SKIPPED", "b": "NO_DATA", "c": "NO_DATA", "d": "NO_DATA"}


def test_not_settling_does_not_undo_a_suspension(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.tick()
    shop.append("s", {"x": 2})

    def endless(run: Refresh, step: RefreshStep, full_refresh: bool) -> TableResult:
        # Somebody has waited for the lease, which is given back before the failure is written down.
        hold(shop, status="SUSPENDED")
        raise NonConvergence("'a' did not settle within 2 passes.", unit="a", members=["a"], trace=TRACE)

    monkeypatch.setattr(refreshing, "_refresh_table", endless)
    with pytest.raises(TickFailed, match="did not settle within 2 passes"):
        shop.tick()

    assert (status(shop, "a").status, status(shop, "a").error) == (Status.SUSPENDED, None)
    with opened(shop) as lake:
        assert [row["action"] for row in read_history(lake, identifier="default.a", limit=1)] == ["FAILED"]


def test_a_snapshot_tells_itself_what_it_is_behind_of(shop: World) -> None:
    """The state tables may be lost; the snapshots are the truth."""
    shop.tick()
    hold(shop)
    shop.append("t", {"x": 3})
    shop.append("s", {"x": 3})
    shop.tick()
    snapshot = shop.outside.load_table("default.c").current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["trickle.behind"] == '["default.a"]'
    with opened(shop) as lake, lake.database.transaction() as connection:
        write_status(lake, connection, "default.c", metadata_location=None, snapshot_id=None, frontier=None)
    assert shop.tick()["c"].reason == f"no input changed; {BEHIND}"
