"""Tables with nothing to do: they have seen the tick all the same, and no earlier one takes them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.seen import Standing, note_seen
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
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


def test_a_task_of_an_earlier_tick_that_is_run_again_takes_nothing_back(numbers: World) -> None:
    good = numbers.outside.load_table("default.s").metadata.current_snapshot_id
    assert good is not None
    numbers.append("s", {"x": 666})
    plan = Pipeline.load(numbers.yaml).plan
    with opened(numbers) as lake, SparkProvider(SparkTarget()) as spark:
        failed = pin(lake, plan.pin, "p/failed")
        # The tables were not refreshed in that tick; then the source was put right.
        numbers.outside.load_table("default.s").manage_snapshots().rollback_to_snapshot(good).commit()
        assert {result.mode for result in numbers.tick().values()} == {Mode.NO_DATA}
        again = [result for step in plan.refreshes for result in refresh(lake, step, failed, spark)]
    assert {(str(result.mode), result.reason) for result in again} == {
        ("SKIPPED", "a later tick has already brought it further")
    }
    assert numbers.rows("t") == {(1,): 1}


def test_a_table_that_is_no_longer_as_it_was_seen_is_left_alone(numbers: World) -> None:
    before = statuses(numbers)["t"]
    assert before.effective_at is not None
    assert before.metadata_location is not None
    later = datetime.now(timezone.utc) + timedelta(hours=1)
    with opened(numbers) as lake:
        for place, moment in (("elsewhere", before.effective_at), (before.metadata_location, later - timedelta(1))):
            note_seen(lake, later, [Standing("default.t", place, moment)])
            assert read_status(lake)["default.t"].effective_at == before.effective_at
        note_seen(lake, before.effective_at - timedelta(1), [Standing("default.t", *_seen(before))])
        assert read_status(lake)["default.t"].effective_at == before.effective_at
        note_seen(lake, later, [Standing("default.t", *_seen(before))])
        assert read_status(lake)["default.t"].effective_at == later


def _seen(status: TableStatus) -> tuple[str, datetime]:
    assert status.effective_at is not None
    assert status.metadata_location is not None
    return status.metadata_location, status.effective_at
