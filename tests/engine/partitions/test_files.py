"""What a change does to the files of a partitioned or clustered table."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from airflow_trickle import Mode
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.files import spark_path
from tests import budgets
from tests.conftest import Tuned
from tests.engine.partitions.layouts import PLAIN, WAYS, agreed, choose, live, partitions, plain, verified
from tests.engine.world import World


@pytest.mark.parametrize("way", WAYS)
def test_a_change_in_one_partition_leaves_the_files_of_the_others(world: World, tuned: Tuned, way: str) -> None:
    choose(way, tuned)
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3]) for number in range(60)])
    world.define({"copied": "SELECT * FROM rows"}, copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"})
    world.tick()
    before = partitions(world, "copied")
    assert {len(paths) for paths in before.values()} == {1}
    world.delete("rows", "k = 4")
    world.append("rows", plain(100, None))
    result = world.tick()["copied"]
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 1, 1)
    after = partitions(world, "copied")
    assert (after["'a'",], after["'c'",]) == (before["'a'",], before["'c'",])
    assert (after["'b'",] == before["'b'",]) is (way == "large")
    assert set(after) == {*before, ("None",)}
    agreed(world, "copied", world.judge("SELECT * FROM rows"))


@pytest.mark.parametrize("way", ["spark", "small"])
def test_small_files_are_folded_in_their_own_partition_only(world: World, tuned: Tuned, way: str) -> None:
    choose(way, tuned)
    tuned(small_files_per_partition=3)
    world.source("rows", PLAIN, [plain(0, "a"), plain(1, "b")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"})
    world.tick()
    stays = partitions(world, "copied")["'b'",]
    counts = []
    for number in range(4):
        world.append("rows", plain(10 + number, "a"))
        assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
        found = partitions(world, "copied")
        counts.append(len(found["'a'",]))
        assert found["'b'",] == stays
    assert counts == [2, 3, 1, 2]
    agreed(world, "copied", world.judge("SELECT * FROM rows"))


def test_a_table_over_a_partitioned_one_follows_its_position_deletes(world: World, tuned: Tuned) -> None:
    choose("large", tuned)
    queries = {
        "copied": "SELECT * FROM rows",
        "sums": "SELECT g, count(*) AS n, sum(k) AS k FROM copied GROUP BY g",
        "pairs": "SELECT a.k, b.g FROM copied AS a JOIN copied AS b ON a.k = b.k AND a.g = b.g",
    }
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3], 1 + number % 5) for number in range(90)])
    world.define(
        queries,
        copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g, days(d)]"},
        sums={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"},
        pairs={"refresh_mode": "DIFFERENTIAL"},
    )
    world.tick()
    before = set(live(world, "copied"))
    # Rows of one file, so that it has two delete files.
    for gone in (4, 19):
        world.delete("rows", f"k = {gone}")
        results = world.tick()
        assert {result.mode for result in results.values()} == {Mode.DIFFERENTIAL}
    for name in queries:
        agreed(world, name, world.judge(f"SELECT * FROM {name}", **queries))
    assert set(live(world, "copied")) == before
    assert sum(delete.rows for file in live(world, "copied").values() for delete in file.deletes) == 2
    verified(world)


@pytest.mark.parametrize(("way", "by"), [("spark", "[]"), ("small", "[g]")])
def test_rows_are_sorted_by_the_columns_of_cluster_by(world: World, tuned: Tuned, way: str, by: str) -> None:
    choose(way, tuned)
    # Not in one task, so that ranges are made.
    tuned(one_task_write_bytes=0)
    chance = budgets.chance(1)
    numbers = chance.sample(range(500), 500)
    world.source("rows", PLAIN, [plain(number, chance.choice("ab"), 1 + number % 28) for number in numbers])
    options = {"refresh_mode": "DIFFERENTIAL", "partition_by": by, "cluster_by": "[D, k]"}
    world.define({"copied": "SELECT * FROM rows"}, copied=options)
    world.tick()
    world.append("rows", *(plain(500 + chance.randint(0, 99), chance.choice("ab"), 1 + _ % 28) for _ in range(40)))
    assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
    paths = list(live(world, "copied"))
    assert len(paths) >= (4 if by == "[g]" else 2)
    for path in paths:
        rows = pq.read_table(spark_path(path), partitioning=None).to_pylist()
        assert [(r["d"], r["k"]) for r in rows] == sorted((r["d"], r["k"]) for r in rows)
    agreed(world, "copied", world.judge("SELECT * FROM rows"))
    # Another order does not rewrite what is there.
    world.define({"copied": "SELECT * FROM rows"}, copied={**options, "cluster_by": "[k]"})
    assert world.tick()["copied"].mode is Mode.NO_DATA
    verified(world)


def test_a_file_with_rows_of_two_partitions_is_never_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_trickle.engine.arrange._part", lambda field, source: "'same'")
    world.source("rows", PLAIN, [plain(1, "a"), plain(2, None)])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": "[g]"})
    with pytest.raises(TrickleError, match="was written with rows of 2 partitions by column 'g'"):
        world.tick()
    assert not world.outside.table_exists("default.copied")
