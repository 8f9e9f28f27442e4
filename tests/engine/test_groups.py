"""Atomic groups: the tables of a diamond are published all together or not at all."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, TickFailed
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.pin import pin
from airflow_trickle.errors import CommitConflict, LeaseHeld, RefreshFailed
from airflow_trickle.lakehouse import leases as leasing
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.prepared import read_prepared
from airflow_trickle.lakehouse.state import read_history, read_status
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.tick import Tick
from tests.engine.world import World

NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
#: `c` fails on a row with x = 0.
DIAMOND = {
    "b": "SELECT k, SUM(x) AS total FROM s GROUP BY k",
    "c": "SELECT k, 100 / x AS part FROM s",
    "d": "SELECT b.k, b.total, COUNT(*) AS n, SUM(c.part) AS parts FROM b JOIN c ON b.k = c.k GROUP BY b.k, b.total",
}
#: What DuckDB says to the same, where division is of other types.
JUDGES = {
    "b": DIAMOND["b"],
    "c": "SELECT k, 100.0::DOUBLE / x AS part FROM s",
    "d": DIAMOND["d"],
}
MEMBERS = [f"default.{name}" for name in DIAMOND]


@pytest.fixture
def shop(world: World) -> World:
    world.source("s", NUMBERS, [{"k": 1, "x": 2}, {"k": 1, "x": 4}, {"k": 2, "x": 5}])
    world.define(DIAMOND, diamonds="atomic")
    return world


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def group(world: World) -> RefreshStep:
    (step,) = Pipeline.load(world.yaml).plan.refreshes
    assert step.kind.value == "group"
    return step


def are_right(world: World) -> None:
    judged(world, JUDGES)


def judged(world: World, queries: dict[str, str]) -> None:
    """Each table is what DuckDB makes of its query and those before it."""
    before: dict[str, str] = {}
    for name, query in queries.items():
        assert world.rows(name) == world.judge(query, **before), name
        before[name] = query


def states(world: World) -> dict[str, int | None]:
    return {name: world.outside.load_table(name).metadata.current_snapshot_id for name in MEMBERS}


def epochs(world: World) -> set[str | None]:
    """What the current snapshots of the members say of their group."""
    found = set()
    for name in MEMBERS:
        snapshot = world.outside.load_table(name).current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        found.add(snapshot.summary.additional_properties.get("trickle.group-epoch"))
    return found


def nothing_is_left(world: World) -> None:
    with opened(world) as lake:
        assert [one for name in MEMBERS for one in stagings.leftovers(lake, identifier=name)] == []
        with lake.database.reading() as connection:
            assert connection.execute(leases.select()).all() == []
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM trickle_prepared").scalar() == 0


# --- in one process ------------------------------------------------------------------------------------


def test_all_members_are_published_together_and_the_epoch_advances(shop: World) -> None:
    first = shop.tick()
    assert {name: result.group_epoch for name, result in first.items()} == {"b": 1, "c": 1, "d": 1}
    are_right(shop)

    shop.append("s", {"k": 2, "x": 10}, {"k": 3, "x": 1})
    second = shop.tick()

    assert {name: (str(result.status), result.group_epoch) for name, result in second.items()} == {
        name: ("ACTIVE", 2) for name in DIAMOND
    }
    are_right(shop)
    assert epochs(shop) == {"2"}
    with opened(shop) as lake:
        assert {(status.group_name, status.group_epoch) for status in read_status(lake).values()} == {("group_d", 2)}
        assert {row["group_epoch"] for row in read_history(lake, limit=3)} == {2}
    nothing_is_left(shop)


def test_members_read_the_staged_state_of_those_before_them_from_changes(shop: World) -> None:
    shop.define(DIAMOND, diamonds="atomic", **{name: {"refresh_mode": "DIFFERENTIAL"} for name in DIAMOND})
    shop.tick()
    shop.append("s", {"k": 2, "x": 10})

    results = shop.tick()

    assert {str(result.mode) for result in results.values()} == {"DIFFERENTIAL"}
    are_right(shop)


def test_one_failure_leaves_all_members_as_they_were(shop: World) -> None:
    shop.tick()
    before, files = states(shop), shop.files()
    shop.append("s", {"k": 3, "x": 0})

    with pytest.raises(TickFailed) as raised:
        shop.tick()

    assert all(result.error is not None for result in raised.value.results.values())
    assert states(shop) == before
    assert epochs(shop) == {"1"}
    nothing_is_left(shop)
    # The source's new files are all that came.
    assert {path for path in shop.files() - files if "/s/" not in path} == set()
    with opened(shop) as lake:
        last = {row["name"]: (row["action"], row["error"] is not None) for row in read_history(lake, limit=2)}
    assert last == {"b": ("DISCARDED", False), "c": ("FAILED", True)}


def test_the_next_tick_brings_all_of_them_on(shop: World) -> None:
    shop.tick()
    shop.append("s", {"k": 3, "x": 0})
    with pytest.raises(TickFailed):
        shop.tick()
    shop.delete("s", "x = 0")
    shop.append("s", {"k": 3, "x": 8})

    results = shop.tick()

    assert {result.group_epoch for result in results.values()} == {2}
    are_right(shop)
    nothing_is_left(shop)


def test_a_failure_that_lasts_is_tried_again_though_nothing_moved(shop: World) -> None:
    shop.tick()
    shop.append("s", {"k": 3, "x": 0})
    for _ in range(2):
        with pytest.raises(TickFailed, match="DIVIDE_BY_ZERO"):
            shop.tick()


def test_a_group_with_nothing_to_do_asks_no_spark(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.tick()
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))

    results = shop.tick()

    assert {str(result.mode) for result in results.values()} == {"NO_DATA"}
    assert epochs(shop) == {"1"}
    nothing_is_left(shop)


def test_a_source_that_moved_without_a_net_change_moves_the_group_without_spark(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    # The same rows in another file: what there is stays as it is.
    shop.append("s", {"k": 9, "x": 9})
    shop.delete("s", "k = 9")
    shop.tick()
    before = states(shop)
    with opened(shop) as lake:
        moved = {status.frontier.as_json() for status in read_status(lake).values() if status.frontier}
        pins = pin(lake, Pipeline.load(shop.yaml).plan.pin, "look").pins
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))

    assert {str(result.mode) for result in shop.tick().values()} == {"NO_DATA"}
    assert states(shop) == before
    assert epochs(shop) == {"1"}
    assert all(str(pins["default.s"].snapshot_id) in text for text in moved)


def test_a_member_that_does_not_change_keeps_its_snapshot_and_has_the_groups_epoch(shop: World) -> None:
    shop.define({**DIAMOND, "b": "SELECT DISTINCT k, 1 AS total FROM s WHERE k < 3"}, diamonds="atomic")
    shop.tick()
    before = states(shop)
    shop.append("s", {"k": 2, "x": 20})

    results = shop.tick()

    after = states(shop)
    assert after["default.b"] == before["default.b"]
    assert after["default.c"] != before["default.c"]
    assert {name: result.group_epoch for name, result in results.items()} == {"b": 2, "c": 2, "d": 2}
    with opened(shop) as lake:
        assert {status.group_epoch for status in read_status(lake).values()} == {2}


def test_a_cycle_inside_of_a_diamond_is_staged_and_published_with_it(world: World) -> None:
    edges = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    world.source("s", edges, [{"src": 1, "dst": 2}, {"src": 2, "dst": 3}])
    queries = {
        "nodes": "SELECT DISTINCT src AS n FROM s",
        "reach": "SELECT src, dst FROM s UNION SELECT r.src, h.dst FROM reach AS r JOIN hop AS h ON r.dst = h.src",
        "hop": "SELECT DISTINCT src, dst FROM reach",
        "far": "SELECT n.n, COUNT(*) AS reached FROM nodes AS n JOIN hop AS h ON h.src = n.n GROUP BY n.n",
    }
    world.define(queries, diamonds="atomic", pipeline={"allow_circular": "true"})
    world.tick()
    world.append("s", {"src": 3, "dst": 4}, {"src": 4, "dst": 1})
    results = world.tick()

    assert {result.group_epoch for result in results.values()} == {2}
    assert results["hop"].iterations > 2
    closure = (
        "WITH RECURSIVE r AS (SELECT src, dst FROM s UNION SELECT r.src, s.dst FROM r JOIN s ON r.dst = s.src) "
        "SELECT src, dst FROM r"
    )
    assert world.rows("reach") == world.rows("hop") == world.judge(closure)
    far = f"SELECT n, COUNT(*) FROM (SELECT DISTINCT src AS n FROM s) JOIN ({closure}) ON src = n GROUP BY n"
    assert world.rows("far") == world.judge(far)


def test_a_cycle_that_does_not_settle_holds_the_whole_group(world: World) -> None:
    world.source("s", pa.schema([("x", pa.int64())]), [{"x": 1}])
    queries = {
        "up": "SELECT x FROM s UNION ALL SELECT x + 1 AS x FROM more",
        "more": "SELECT x FROM up",
        "plain": "SELECT x FROM s",
        "meet": "SELECT p.x FROM plain AS p JOIN more AS m ON m.x = p.x",
    }
    world.define(queries, diamonds="atomic", pipeline={"allow_circular": "true", "max_fixpoint_iterations": 4})
    with pytest.raises(TickFailed):
        world.tick()

    results = world.tick()

    assert {str(result.mode) for result in results.values()} == {"SKIPPED"}
    assert "did not settle" in results["plain"].reason


def test_with_none_a_failing_branch_holds_nobody_up_and_the_meeting_point_says_so(shop: World) -> None:
    shop.define(DIAMOND, diamonds="none")
    shop.tick()
    shop.append("s", {"k": 2, "x": 0}, {"k": 2, "x": 5})

    with pytest.raises(TickFailed) as raised:
        shop.tick()

    results = raised.value.results
    assert results["c"].error is not None
    assert (results["b"].error, results["b"].rows_inserted) == (None, 1)
    assert "its inputs disagree: c was not refreshed in this tick, so the last state is read" in results["d"].reason
    # d is what its query says over the new b and the old c.
    expected = {(1, 6, 2, 75.0), (2, 10, 1, 20.0)}
    assert set(shop.rows("d")) == expected
    shop.delete("s", "x = 0")
    shop.tick()
    are_right(shop)


# --- step by step, as tasks do -------------------------------------------------------------------------


@contextmanager
def task(world: World, tick: Tick, **options: Any) -> Iterator[GroupRefresh]:
    """What one process of a run works with."""
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        yield GroupRefresh(lake, group(world), tick, spark, **options)


def pinned(world: World, tick_id: str) -> Tick:
    with opened(world) as lake:
        return pin(lake, Pipeline.load(world.yaml).plan.pin, tick_id)


def test_each_step_may_run_in_a_process_of_its_own(shop: World) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        assert one.begin() is None
    for unit in ("b", "c", "d"):
        with task(shop, tick) as one:
            (result,) = one.stage(unit)
        assert result.mode is Mode.FULL
        assert not shop.outside.table_exists(f"default.{unit}")
    with task(shop, tick) as one:
        results = one.commit()
    with task(shop, tick) as one:
        one.cleanup()

    assert [(result.table, result.group_epoch) for result in results] == [("b", 1), ("c", 1), ("d", 1)]
    are_right(shop)
    nothing_is_left(shop)


def test_a_step_that_is_done_again_gives_the_same_without_computing(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        first = one.stage("b")
    with monkeypatch.context() as patch, task(shop, tick) as one:
        patch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))
        one.begin()
        assert one.stage("b") == first
    with task(shop, tick) as one:
        one.stage("c")
        one.stage("d")
        committed = one.commit()
    with task(shop, tick) as one:
        # A task that was killed behind its commit is run again.
        assert one.begin() is not None
        again = one.commit()
        one.cleanup()
    assert [result.snapshot_id for result in again] == [result.snapshot_id for result in committed]
    assert {shop.snapshots(name) for name in DIAMOND} == {1}
    nothing_is_left(shop)


def test_what_is_missing_is_staged_by_whoever_needs_it(shop: World) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("d")  # it reads b and c
        one.commit()
    are_right(shop)
    nothing_is_left(shop)


def test_between_its_tasks_nobody_else_refreshes_a_table_of_the_group(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("b")
    monkeypatch.setattr(leasing.holding.__wrapped__, "__defaults__", (0.2, None))

    with pytest.raises(TickFailed, match=r"is being refreshed by tick p/run1, whose atomic group is not published"):
        Pipeline.load(shop.yaml).tick()

    with task(shop, tick) as one:
        one.stage("c")
        one.stage("d")
        one.commit()
    are_right(shop)


def test_the_next_run_takes_over_from_one_that_never_ended(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pinned(shop, "p/run1")
    with task(shop, first) as one:
        one.begin()
        one.stage("b")
    shop.append("s", {"k": 7, "x": 7})
    second = pinned(shop, "p/run2")
    with opened(shop) as lake:
        # It may still be alive: a backfill may run beside it.
        assert isinstance(leasing.try_acquire(lake, "default.b", "second", "p/run2"), str)
    monkeypatch.setattr(leasing, "TAKE_OVER_SECONDS", -1.0)
    with task(shop, second) as one:
        assert one.begin() is None
        with opened(shop) as lake:
            assert read_prepared(lake, "p/run1", MEMBERS) == {}
        for unit in ("b", "c", "d"):
            one.stage(unit)
        one.commit()
        one.cleanup()
    are_right(shop)
    nothing_is_left(shop)
    with task(shop, first) as one, pytest.raises(RefreshFailed, match="a later tick has already brought it further"):
        one.stage("c")


def test_a_member_that_was_staged_anew_behind_its_readers_is_not_published(shop: World) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("b")
        one.stage("c")
        one.stage("d")
        with leasing.holding(one.lake, ["default.b"], "somebody", claim=tick.tick_id) as held:
            stagings.clean_table(one.lake, held["default.b"])
        one.stage("b")
        with pytest.raises(CommitConflict, match="'d' of group 'group_d' was staged from another state of 'b'"):
            one.commit()
        one.cleanup()
    assert not any(shop.outside.table_exists(name) for name in MEMBERS)
    nothing_is_left(shop)


def test_a_foreign_write_to_a_member_stops_the_whole_commit(shop: World) -> None:
    shop.tick()
    shop.append("s", {"k": 5, "x": 5})
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        for unit in ("b", "c", "d"):
            one.stage(unit)
        before = states(shop)
        shop.outside.load_table("default.c").delete("k = 1")
        with pytest.raises(CommitConflict, match=r"default\.c could not be published"):
            one.commit()
        one.cleanup()
    after = states(shop)
    assert (after["default.b"], after["default.d"]) == (before["default.b"], before["default.d"])
    nothing_is_left(shop)


def test_claims_keep_a_table_until_they_are_given_back(shop: World) -> None:
    with opened(shop) as lake:
        with leasing.holding(lake, ["default.x"], "one", claim="p/1"):
            pass
        with pytest.raises(LeaseHeld), leasing.holding(lake, ["default.x"], "other", wait=0):
            pass
        with pytest.raises(LeaseHeld), leasing.holding(lake, ["default.x"], "other", wait=0, claim="q/1"):
            pass
        assert leasing.forget_dead(lake) == 0
        with leasing.holding(lake, ["default.x"], "one again", wait=0, claim="p/1"):
            pass
        with lake.database.transaction() as connection:
            leasing.unclaim(lake, connection, "p/1", ["default.x"])
        with leasing.holding(lake, ["default.x"], "other", wait=0):
            pass


# --- at random -----------------------------------------------------------------------------------------

#: A diamond inside of another one, and one that overlaps both. Rows with x = -1, -2, -3 make c, e, b fail.
NESTED = {
    "a": "SELECT k, x FROM s",
    "b": "SELECT k, COUNT(*) AS n, MAX(60 DIV (x + 3)) AS m FROM a GROUP BY k",
    "c": "SELECT DISTINCT k, 60 DIV (x + 1) AS q FROM a",
    "d": "SELECT b.k, b.n, c.q FROM b JOIN c ON b.k = c.k",
    "e": "SELECT k, MAX(60 DIV (x + 2)) AS top FROM s GROUP BY k",
    "f": "SELECT d.k, d.n, e.top FROM d LEFT JOIN e ON d.k = e.k",
    "g": "SELECT c.k, c.q FROM c WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = c.k AND e.top > 40)",
}


class Reader(threading.Thread):
    """Looks at all members at one moment, again and again, and remembers which epochs it saw together."""

    def __init__(self, world: World, members: list[str]) -> None:
        super().__init__(daemon=True)
        self.world, self.members = world, members
        self.seen: set[frozenset[str]] = set()
        self.looks = 0
        self._end = threading.Event()

    def run(self) -> None:
        with opened(self.world) as lake:
            while not self._end.is_set():
                snapshots = [table.current_snapshot() for table in lake.tables(self.members).values()]
                said = [one.summary.additional_properties for one in snapshots if one and one.summary]
                self.seen.add(frozenset(one["trickle.group-epoch"] for one in said))
                self.looks += 1
                self._end.wait(0.01)

    def stop(self) -> None:
        self._end.set()
        self.join()


def ticks_with_failures(world: World, count: int, seed: int) -> None:
    chance = random.Random(seed)
    world.source("s", NUMBERS, [{"k": 0, "x": 1}])
    world.define(NESTED, diamonds="atomic")
    world.tick()
    reader = Reader(world, [f"default.{name}" for name in NESTED])
    reader.start()
    done, failures = 1, 0
    for number in range(count):
        poison = chance.choice([-1, -2, -3, None, None])
        rows = [{"k": chance.randrange(4), "x": chance.randrange(9)} for _ in range(3)]
        # A key of its own, so that every table changes in every tick.
        rows.append({"k": 100 + number, "x": 1})
        world.append("s", *rows, *([] if poison is None else [{"k": 1, "x": poison}]))
        if chance.random() < 0.3:
            world.delete("s", f"k = {chance.randrange(4)} AND x > 4")
        if poison is None:
            assert {result.group_epoch for result in world.tick().values()} == {done + 1}
            done += 1
            continue
        failures += 1
        with pytest.raises(TickFailed):
            world.tick()
        world.delete("s", "x < 0")
    world.tick()
    reader.stop()
    assert failures > 0
    assert all(len(together) == 1 for together in reader.seen), reader.seen
    assert len(reader.seen) >= done - 1, "it looked often enough to see nearly all of them"
    judged(world, {name: query.replace(" DIV ", " // ") for name, query in NESTED.items()})


def test_a_reader_never_sees_two_members_at_different_epochs(world: World) -> None:
    ticks_with_failures(world, 8, seed=20261117)


@pytest.mark.soak
def test_a_reader_never_sees_two_members_at_different_epochs_in_fifty_ticks(world: World) -> None:
    ticks_with_failures(world, 50, seed=20261118)
