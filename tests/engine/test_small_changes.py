"""Changes of few rows: what is written, where rows that go stand, and that tables over such tables stay right."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.engine.small_change import SmallChange
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.lakehouse.snapshots import files_of
from tests import budgets
from tests.conftest import Tuned
from tests.engine.world import World

ROWS = pa.schema(
    [
        ("k", pa.int64()),
        ("g", pa.string()),
        ("v", pa.decimal128(10, 2)),
        ("f", pa.float64()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.binary()),
    ]
)
COPY = "SELECT * FROM rows WHERE k >= 0"


def row(chance: random.Random, k: int | None = None) -> dict[str, Any]:
    return {
        "k": chance.randint(0, 40) if k is None else k,
        "g": chance.choice(["a", "b", "it's", None]),
        "v": chance.choice([Decimal("1.50"), Decimal("-99999999.99"), None]),
        "f": chance.choice([0.0, -0.0, float("nan"), 1e300, None]),
        "d": chance.choice([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "t": chance.choice([dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.timezone.utc), None]),
        "n": chance.choice([dt.datetime(2026, 3, 29, 2, 30), dt.datetime(1, 1, 1), None]),
        "b": chance.choice([True, False, None]),
        "x": chance.choice([b"", b"\x00\xff'", None]),
    }


@pytest.fixture
def large(world: World, tuned: Tuned) -> World:
    """A table whose files pass for large ones."""
    tuned(small_file_bytes=1)
    chance = budgets.chance(1)
    world.source("rows", ROWS, [row(chance, number % 41) for number in range(120)])
    world.define({"copied": COPY}, copied={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    return world


def verified(world: World) -> None:
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}


def live(world: World, name: str) -> dict[str, Any]:
    table = world.outside.load_table(f"default.{name}")
    return files_of(table, table.metadata.current_snapshot_id)


def test_rows_that_go_from_a_large_file_are_named_beside_it_and_the_file_stays(large: World) -> None:
    before = live(large, "copied")
    large.delete("rows", "k = 3 or k = 17")
    result = large.tick()["copied"]
    assert (result.mode, result.rows_inserted) == (Mode.DIFFERENTIAL, 0)
    after = live(large, "copied")
    assert set(after) == set(before)
    assert sum(delete.rows for file in after.values() for delete in file.deletes) == result.rows_deleted > 0
    verified(large)
    assert large.rows("copied") == large.judge(COPY)


def test_a_file_that_lost_many_rows_is_written_anew(large: World) -> None:
    before = live(large, "copied")
    large.delete("rows", "k = 30 or k = 31")
    large.tick()
    assert any(file.deletes for file in live(large, "copied").values())
    large.delete("rows", "k < 25")
    assert large.tick()["copied"].mode is Mode.DIFFERENTIAL
    after = live(large, "copied")
    assert not set(after) & set(before)
    assert not any(file.deletes for file in after.values())
    assert large.rows("copied") == large.judge(COPY)
    verified(large)


def test_a_small_file_is_written_anew_without_the_rows_that_go(world: World) -> None:
    chance = budgets.chance(2)
    world.source("rows", ROWS, [row(chance, number) for number in range(30)])
    world.define({"copied": COPY}, copied={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    world.delete("rows", "k = 7")
    world.append("rows", row(chance, 99))
    world.tick()
    (file,) = live(world, "copied").values()
    assert (file.record_count, file.deletes) == (30, ())
    assert world.rows("copied") == world.judge(COPY)
    verified(world)


def test_small_files_are_folded_together_when_they_are_many(world: World, tuned: Tuned) -> None:
    tuned(small_files_per_partition=4)
    chance = budgets.chance(3)
    world.source("rows", ROWS, [row(chance, 1)])
    world.define({"copied": COPY}, copied={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    counts = []
    for number in range(5):
        world.append("rows", row(chance, number))
        assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
        counts.append(len(live(world, "copied")))
    assert counts == [2, 3, 4, 1, 2]
    assert world.rows("copied") == world.judge(COPY)
    verified(world)


def test_of_many_equal_rows_as_many_go_as_went(large: World) -> None:
    chance = budgets.chance(4)
    same = row(chance, 39)
    large.append("rows", *[same] * 6)
    large.tick()
    world = large
    world.delete("rows", "k = 39")
    world.append("rows", *[same] * 2)
    assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
    assert world.rows("copied") == world.judge(COPY)
    verified(world)


def test_of_equal_rows_that_are_found_with_their_places_as_many_go_as_went(world: World) -> None:
    top = "SELECT g FROM rows WHERE g IS NOT NULL ORDER BY g LIMIT 12"
    chance = budgets.chance(3)
    world.source("rows", ROWS, [{**row(chance, number), "g": "aab"[number % 3]} for number in range(30)])
    world.define({"top": top}, top={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    world.delete("rows", "k < 15")
    result = world.tick()["top"]
    # Twelve times a; then ten times, and b twice; then six and three times.
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 2, 2)
    world.delete("rows", "k < 21")
    result = world.tick()["top"]
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 1, 4)
    assert world.rows("top") == world.judge(top)


def test_bytes_and_the_seconds_of_every_phase_are_told(large: World) -> None:
    large.append("rows", row(budgets.chance(7), 5))
    result = large.tick()["copied"]
    assert set(result.phases) == {"pin", "read", "compute", "write", "commit"}
    assert sum(result.phases.values()) <= result.seconds + 0.01
    assert (result.bytes_read or 0) > 0
    assert (result.bytes_written or 0) > 0


def test_a_row_is_written_as_often_as_it_comes() -> None:
    rows = pa.table({"k": [1, 2, 3, 4], WEIGHT: pa.array([2, 1, -2, 3], pa.int64())})
    change = SmallChange(rows, None)
    assert (change.inserted, change.deleted) == (6, 2)
    assert change.new_rows.to_pydict() == {"k": [1, 1, 2, 4, 4, 4]}
    assert change.gone.to_pydict() == {"k": [3], WEIGHT: [-2]}
    twice = pa.table({"k": [1, 2], WEIGHT: pa.array([2, 1], pa.int64())})
    assert SmallChange(twice, {}).new_rows.to_pydict() == {"k": [1, 1, 2]}
