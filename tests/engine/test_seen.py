"""Tables with nothing to do: they have seen the tick all the same, and no earlier one takes them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, TickFailed
from airflow_trickle.engine import publishing
from airflow_trickle.engine import refresh as refreshing
from airflow_trickle.engine.fixpoint import cycle as cycles
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.leases import holding
from airflow_trickle.lakehouse.seen import Standing, note_seen
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.tick import Tick
from tests.engine.world import World

NUMBERS = pa.schema([("x", pa.int64())])
#: A table by itself, and a cycle.
QUERIES = {
    "t": "SELECT x FROM s",
    "up": "SELECT x FROM s UNION SELECT x FROM down",
    "down": "SELECT x - 1 AS x FROM up WHERE x > 0",
}


@pytest.fixture
def numbers(world: World) -> World:
    world.source("s", NUMBERS, [{"x": 1}])
    world.define(QUERIES, pipeline={"allow_circular": "true"})
    world.tick()
    return world


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def statuses(world: World) -> dict[str, TableStatus]:
    with opened(world) as lake:
        return {status.name: status for status in read_status(lake).values()}


def test_a_table_with_nothing_to_do_is_of_the_moment_of_the_tick(numbers: World) -> None:
    before = statuses(numbers)
    assert {result.mode for result in numbers.tick().values()} == {Mode.NO_DATA}
    after = statuses(numbers)
    for name in QUERIES:
        assert after[name].effective_at > before[name].effective_at  # type: ignore[operator]
        assert (after[name].frontier, after[name].tick_id) == (before[name].frontier, before[name].tick_id)


PASSED_OVER = {("SKIPPED", "a later tick has already brought it further")}


def rolled_back(world: World, snapshot: int | None) -> None:
    assert snapshot is not None
    world.outside.load_table("default.s").manage_snapshots().rollback_to_snapshot(snapshot).commit()


def current(world: World) -> int | None:
    return world.outside.load_table("default.s").metadata.current_snapshot_id


def nothing(_lake: Lakehouse, _tick: Tick, _world: World) -> None:
    """The tick simply did not come to its tables."""


def killed(lake: Lakehouse, tick: Tick, _world: World) -> None:
    """Its tasks were killed while they wrote."""
    for name in ("default.t", "default.up"):
        with holding(lake, [name], "killed") as leases:
            place = lake.table(name).metadata.location
            stagings.begin(
                lake,
                lease=leases[name],
                table_location=place,
                pipeline="p",
                tick_id=tick.tick_id,
                spark=None,
                new_table=False,
            )


def maintained(_lake: Lakehouse, _tick: Tick, world: World) -> None:
    """Somebody looks after the tables, and changes no row."""
    for name in QUERIES:
        with world.outside.load_table(f"default.{name}").transaction() as transaction:
            transaction.set_properties({"note": "x"})


@pytest.mark.parametrize("meanwhile", [nothing, killed, maintained])
def test_a_task_of_an_earlier_tick_that_is_run_again_takes_nothing_back(
    numbers: World, meanwhile: Callable[[Lakehouse, Tick, World], None]
) -> None:
    good = current(numbers)
    right = {name: numbers.rows(name) for name in QUERIES}
    numbers.append("s", {"x": 6})
    plan = Pipeline.load(numbers.yaml).plan
    with opened(numbers) as lake, SparkProvider(SparkTarget()) as spark:
        failed = pin(lake, plan.pin, "p/failed")
        # The tables were not refreshed in that tick; then the source was put right.
        meanwhile(lake, failed, numbers)
        rolled_back(numbers, good)
        assert {result.mode for result in numbers.tick().values()} == {Mode.NO_DATA}
        again = [result for step in plan.refreshes for result in refresh(lake, step, failed, spark)]
        assert stagings.leftovers(lake, pipeline="p") == []
    assert {(str(result.mode), result.reason) for result in again} == PASSED_OVER
    assert {name: numbers.rows(name) for name in QUERIES} == right


@pytest.mark.parametrize(("module", "word", "unit"), [(refreshing, "publish", 1), (cycles, "publish_unit", 2)])
def test_an_earlier_tick_that_is_at_work_does_not_publish_over_a_later_one(
    numbers: World, monkeypatch: pytest.MonkeyPatch, module: object, word: str, unit: int
) -> None:
    """The later one finds nothing to do, and waits for no lease for that."""
    good = current(numbers)
    right = {name: numbers.rows(name) for name in QUERIES}
    numbers.append("s", {"x": 6})
    plan = Pipeline.load(numbers.yaml).plan
    (step,) = [one for one in plan.refreshes if len(one.tables) == unit]
    real = getattr(module, word)

    def late(*args: Any) -> Any:
        monkeypatch.setattr(module, word, real)
        assert {result.mode for result in numbers.tick().values()} == {Mode.NO_DATA}
        return real(*args)

    monkeypatch.setattr(module, word, late)
    with opened(numbers) as lake, SparkProvider(SparkTarget()) as spark:
        earlier = pin(lake, plan.pin, "p/earlier")
        rolled_back(numbers, good)
        with pytest.raises(CommitConflict, match=r"a later tick, of .*, found nothing to do for it"):
            refresh(lake, step, earlier, spark)
        again = refresh(lake, step, earlier, spark)
    assert {(str(result.mode), result.reason) for result in again} == PASSED_OVER
    assert {name: numbers.rows(name) for name in QUERIES} == right


def test_what_an_earlier_tick_publishes_between_look_and_note_is_found(
    numbers: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = current(numbers)
    numbers.append("s", {"x": 6})
    plan = Pipeline.load(numbers.yaml).plan
    real = publishing.note_seen
    with opened(numbers) as lake, SparkProvider(SparkTarget()) as spark:
        earlier = pin(lake, plan.pin, "p/earlier")
        rolled_back(numbers, good)

        def late(*args: Any) -> bool:
            monkeypatch.setattr(publishing, "note_seen", real)
            for step in plan.refreshes:
                refresh(lake, step, earlier, spark)
            return real(*args)

        monkeypatch.setattr(publishing, "note_seen", late)
        modes = {name: str(result.mode) for name, result in numbers.tick().items()}
    assert set(modes.values()) <= {"FULL", "DIFFERENTIAL"}
    assert numbers.rows("t") == {(1,): 1}
    assert numbers.rows("up") == {(1,): 1, (0,): 1}


def test_what_a_table_failed_of_is_over_when_a_tick_finds_it_right(world: World) -> None:
    world.source("s", NUMBERS, [{"x": 1}])
    world.define({"q": "SELECT 100 / x AS part FROM s"})
    world.tick()
    good = current(world)
    world.append("s", {"x": 0})
    with pytest.raises(TickFailed):
        world.tick()
    assert statuses(world)["q"].error is not None
    rolled_back(world, good)
    assert world.tick()["q"].mode is Mode.NO_DATA
    assert statuses(world)["q"].error is None


def test_a_table_that_is_no_longer_as_it_was_seen_is_left_alone(numbers: World) -> None:
    before = statuses(numbers)["t"]
    assert before.effective_at is not None
    assert before.snapshot_id is not None
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    with opened(numbers) as lake:
        for snapshot, moment in ((1, before.effective_at), (before.snapshot_id, later - timedelta(1))):
            assert not note_seen(lake, later, [Standing("default.t", snapshot, moment)])
            assert read_status(lake)["default.t"].effective_at == before.effective_at
        assert note_seen(lake, before.effective_at - timedelta(1), [Standing("default.t", *_seen(before))])
        assert read_status(lake)["default.t"].effective_at == before.effective_at
        assert note_seen(lake, later, [Standing("default.t", *_seen(before))])
        assert read_status(lake)["default.t"].effective_at == later


def _seen(status: TableStatus) -> tuple[int | None, datetime]:
    assert status.effective_at is not None
    return status.snapshot_id, status.effective_at
