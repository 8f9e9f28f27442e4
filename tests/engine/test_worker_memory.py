"""What is too large for the worker process is done by Spark, with the same rows: by rows, by weights, by bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from airflow_trickle.engine import publish
from airflow_trickle.engine.fixpoint.machine import Machine
from tests.conftest import Tuned
from tests.engine.fixpoint.test_near import CLOSURE, PAIR, closed, define
from tests.engine.world import World

FACT = pa.schema([("id", pa.int64()), ("k", pa.int64())])
DIMENSION = pa.schema([("k", pa.int64()), ("name", pa.string())])
#: Few distinct rows with large weights; every row once; wide rows.
TABLES = {
    "few": "SELECT d.name, f.id % 3 AS g FROM fact AS f JOIN dim AS d ON d.k = f.k",
    "each": "SELECT f.id, d.name FROM fact AS f JOIN dim AS d ON d.k = f.k",
    "wide": "SELECT f.id, repeat(d.name, 1000) AS w FROM fact AS f JOIN dim AS d ON d.k = f.k",
}
ROWS = 300


@dataclass
class Paths:
    """Who wrote the change of each table, in this process or Spark."""

    here: list[str] = field(default_factory=list)
    spark: list[str] = field(default_factory=list)


@pytest.fixture
def paths(monkeypatch: pytest.MonkeyPatch) -> Paths:
    found = Paths()
    small, large = publish.write_small, publish.write_difference

    def write_small(change: Any, target: Any, *rest: Any) -> Any:
        written = small(change, target, *rest)
        if written is not None:
            found.here.append(target.identifier.removeprefix("default."))
        return written

    def write_difference(spark: Any, change: Any, target: Any, *rest: Any) -> Any:
        found.spark.append(target.identifier.removeprefix("default."))
        return large(spark, change, target, *rest)

    monkeypatch.setattr(publish, "write_small", write_small)
    monkeypatch.setattr(publish, "write_difference", write_difference)
    return found


def shop(world: World, tables: Mapping[str, str] = TABLES) -> None:
    world.source("fact", FACT, [{"id": number, "k": 1} for number in range(ROWS)])
    world.source("dim", DIMENSION, [{"k": 1, "name": "old"}])
    world.define(dict(tables), **{name: {"refresh_mode": "DIFFERENTIAL"} for name in tables})
    world.tick()


def changed(world: World, name: str, tables: Mapping[str, str] = TABLES) -> None:
    """One row of the dimension changes every row of the tables; they are compared with a plain computation."""
    world.replace("dim", [{"k": 1, "name": name}])
    results = world.tick()
    assert {one.mode for one in results.values()} == {Mode.DIFFERENTIAL}
    assert {(one.rows_inserted, one.rows_deleted) for one in results.values()} == {(ROWS, ROWS)}
    assert {table: world.rows(table) for table in tables} == world.judge_all(dict(tables))


def test_changes_are_bounded_by_their_copies_and_by_their_bytes(world: World, tuned: Tuned, paths: Paths) -> None:
    shop(world)
    changed(world, "all here")
    assert (paths.here, paths.spark) == (["each", "few", "wide"], [])
    paths.here.clear()
    # So many rows come and go: exactly at the bound, and one below.
    tuned(arrow_change_rows=2 * ROWS)
    changed(world, "at the bound")
    assert (paths.here, paths.spark) == (["each", "few", "wide"], [])
    paths.here.clear()
    tuned(arrow_change_rows=2 * ROWS - 1)
    changed(world, "below")
    assert (paths.here, paths.spark) == ([], ["each", "few", "wide"])
    paths.spark.clear()
    # Only one of them has wide rows.
    tuned(arrow_change_rows=100_000, arrow_change_bytes=200_000)
    changed(world, "by bytes")
    assert (paths.here, paths.spark) == (["each", "few"], ["wide"])


def test_rewriting_files_is_bounded_by_the_bytes_of_their_rows(world: World, tuned: Tuned, paths: Paths) -> None:
    """The file of equal wide rows has some hundred bytes; in memory they are a thousand times as much."""
    equal = {"equal": "SELECT repeat(name, 1000) AS w FROM dim", "ids": "SELECT id FROM fact WHERE id >= 0"}
    world.source("fact", FACT, [{"id": number, "k": 1} for number in range(ROWS)])
    world.source("dim", DIMENSION, [{"k": number, "name": "abcdefgh"} for number in range(ROWS)])
    world.define(equal, equal={"refresh_mode": "DIFFERENTIAL"}, ids={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    tuned(arrow_rewrite_memory=1_000_000)
    world.delete("dim", "k = 7")
    world.delete("fact", "id = 7")
    results = world.tick()
    assert {(one.mode, one.rows_deleted) for one in results.values()} == {(Mode.DIFFERENTIAL, 1)}
    assert (paths.here, paths.spark) == (["ids"], ["equal"])
    assert {name: world.rows(name) for name in equal} == world.judge_all(equal)


def test_what_a_refresh_holds_here_is_counted_together(
    world: World, tuned: Tuned, paths: Paths, caplog: pytest.LogCaptureFixture
) -> None:
    """The change of a source fits, and so does the result's; both together do not."""
    query = {"wide": TABLES["wide"]}
    shop(world, query)
    tuned(arrow_change_bytes=3_400_000)
    changed(world, "12345", query)
    assert (paths.here, paths.spark) == (["wide"], [])
    world.append("fact", *({"id": number, "k": 1} for number in range(ROWS, ROWS + 50)))
    caplog.clear()
    with caplog.at_level("INFO", logger="airflow_trickle"):
        tuned(arrow_change_bytes=10_000)
        assert world.tick()["wide"].mode is Mode.DIFFERENTIAL
    assert paths.spark == ["wide"]
    assert "do not fit into the worker process, so Spark does it ([trickle] worker_memory)" in caplog.text
    assert world.rows("wide") == world.judge(TABLES["wide"])


def test_a_cycle_whose_rows_take_too_many_bytes_goes_on_with_spark(
    world: World, tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    derived: list[int] = []
    derive = Machine.derive

    def told(machine: Machine, seeds: Mapping[str, Sequence[str]]) -> None:
        derived.append(machine.rank)
        derive(machine, seeds)

    monkeypatch.setattr(Machine, "derive", told)
    pairs = {(number, number + 1) for number in range(12)}
    world.source("e", PAIR, [{"a": a, "b": b} for a, b in sorted(pairs)])
    define(world, CLOSURE)
    # Room for the edges and some passes, not for all that follows.
    tuned(arrow_fixpoint_bytes=2_500)
    world.tick()
    assert any(derived), "Spark never had to go on"
    assert world.rows("r") == Counter(closed(pairs))
    for gone, limit in ((5, 2_500), (8, 10), (2, 256 * 1024**2)):
        derived.clear()
        tuned(arrow_fixpoint_bytes=limit)
        pairs.discard((gone, gone + 1))
        world.delete("e", f"a = {gone}")
        assert world.tick()["r"].mode is Mode.DIFFERENTIAL
        assert world.rows("r") == Counter(closed(pairs))
        if limit == 10:
            assert derived, "nothing fits here, so Spark does all of it"
