"""Partitioned tables: rows come apart right, and every reader finds them by their partitions."""

from __future__ import annotations

from collections import Counter

import pytest

from airflow_trickle import Mode
from tests import budgets
from tests.conftest import Tuned
from tests.engine.partitions.layouts import (
    COPY,
    LAYOUTS,
    PLAIN,
    ROWS,
    agreed,
    choose,
    define,
    in_zone,
    live,
    plain,
    row,
    verified,
)
from tests.engine.world import World
from tests.outside_readers import duckdb_rows


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("spark", ("moment", "month", "cents")),
        pytest.param("spark", ("day", "text", "trunc", "hour"), marks=pytest.mark.soak),
        ("small", ("micro", "text", "year")),
        pytest.param("small", ("times", "whole", "number"), marks=pytest.mark.soak),
        ("large", ("trunc", "hour", "number")),
    ],
)
def test_every_reader_finds_every_row_by_its_partition(
    world: World, monkeypatch: pytest.MonkeyPatch, tuned: Tuned, way: str, names: tuple[str, ...]
) -> None:
    choose(way, tuned)
    in_zone(budgets.chance(repr((way, names))).choice(["America/New_York", "Asia/Kolkata"]), monkeypatch)
    chance = budgets.chance(f"{way} {names}")
    world.source("rows", ROWS, [row(chance, number % 41) for number in range(60)])
    define(world, {name: LAYOUTS[name] for name in names})
    assert {result.mode for result in world.tick().values()} == {Mode.FULL}
    for _ in range(budgets.rounds(1)):
        same = row(chance)
        world.delete("rows", f"k = {chance.randint(0, 40)} or k = {chance.randint(0, 40)}")
        world.append("rows", same, same, *(row(chance) for _ in range(6)))
        assert {result.mode for result in world.tick().values()} == {Mode.DIFFERENTIAL}
        for name in names:
            agreed(world, name, world.judge(COPY))
    if way == "large":
        assert any(file.deletes for name in names for file in live(world, name).values())
    verified(world)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_random_changes_in_full_and_from_changes(world: World, tuned: Tuned, seed: int) -> None:
    chance = budgets.chance(seed)
    tuned(small_file_bytes=chance.choice([1, 2000, 8 * 1024**2]), small_files_per_partition=chance.choice([2, 3, 16]))
    names = chance.sample(sorted(LAYOUTS), 2)
    world.source("rows", ROWS, [row(chance) for _ in range(40)])
    queries = {
        names[0]: COPY,
        names[1]: COPY,
        "over": f"SELECT s, b, count(*) AS n, sum(v) AS v, max(d) AS d FROM {names[0]} GROUP BY s, b",
    }
    options: dict[str, dict[str, str]] = {
        names[0]: {"refresh_mode": "DIFFERENTIAL", "partition_by": LAYOUTS[names[0]], "cluster_by": "[k, S]"},
        names[1]: {"refresh_mode": "FULL", "partition_by": LAYOUTS[names[1]]},
        "over": {"refresh_mode": "DIFFERENTIAL", "partition_by": "[b, d]", "cluster_by": "[n]"},
    }
    world.define(queries, **options)
    world.tick()
    for number in range(budgets.rounds(4)):
        low = chance.randint(0, 40)
        if chance.random() < 0.8:
            world.delete("rows", f"k >= {low} and k <= {low + chance.randint(0, 8)}")
        if chance.random() < 0.9:
            world.append("rows", *[row(chance)] * 2, *(row(chance) for _ in range(chance.randint(0, 9))))
        results = world.tick()
        assert results[names[0]].mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        assert results[names[1]].mode in (Mode.FULL, Mode.NO_DATA)
        assert results["over"].mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        for name in queries:
            expected = world.judge(f"SELECT * FROM {name}", **queries)
            if number % 2:
                agreed(world, name, expected)
            assert world.rows(name) == expected, name
    verified(world)


def test_large_writes_of_many_tasks_come_apart_too(world: World, tuned: Tuned) -> None:
    choose("spark", tuned)
    tuned(one_task_write_bytes=0)
    chance = budgets.chance(2)
    world.source("rows", ROWS, [row(chance) for _ in range(80)])
    define(world, {"text": "[s]", "moment": LAYOUTS["moment"]})
    world.tick()
    world.append("rows", *(row(chance) for _ in range(20)))
    world.delete("rows", "k = 3")
    assert {result.mode for result in world.tick().values()} == {Mode.DIFFERENTIAL}
    for name in ("text", "moment"):
        agreed(world, name, world.judge(COPY))


def test_odd_names_of_columns(world: World) -> None:
    world.source("rows", PLAIN, [plain(1, "a"), plain(2, None), plain(3, "b", 2)])
    query = "SELECT k AS `a.b`, g AS `x y`, d AS partition, k AS partition0 FROM rows"
    world.define(
        {"copied": query},
        copied={
            "refresh_mode": "DIFFERENTIAL",
            "partition_by": '["`x y`", "days(partition)", "truncate(2, `a.b`)"]',
            "cluster_by": '["a.b"]',
        },
    )
    world.tick()
    world.append("rows", plain(4, "a"))
    world.delete("rows", "k = 2")
    assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
    expected = world.judge(query.replace("`", '"'))
    assert world.rows("copied") == expected
    assert Counter(duckdb_rows(world.outside.load_table("default.copied").metadata_location)) == expected
    verified(world)
