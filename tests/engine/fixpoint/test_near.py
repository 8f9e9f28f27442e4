"""Rules that are followed in the refreshing process: what once went wrong with them, and what is left to Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.fixpoint import joins, near, near_rows
from airflow_trickle.engine.fixpoint.saving import MachineSaver
from airflow_trickle.results import Iteration
from tests.conftest import Tuned
from tests.engine.fixpoint.test_random_graphs import run, variants_in_soak
from tests.engine.fixpoint.test_resume import pinned, refreshed
from tests.engine.world import World

WIDE = pa.schema([("ß", pa.int64()), ("ss", pa.int64()), ("b", pa.int64())])
CLOSURE = "SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b"
PAIR = pa.schema([("a", pa.int64()), ("b", pa.int64())])


def define(world: World, query: str) -> None:
    world.define({"r": query})
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")


def closed(pairs: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Every pair once that pairs lead to, by the shortest way to say it."""
    found = set(pairs)
    while more := {(a, d) for a, b in found for c, d in pairs if b == c} - found:
        found |= more
    return dict.fromkeys(found, 1)


def test_letters_that_only_python_takes_for_the_same_are_different_columns(world: World) -> None:
    wide = [(1, 10, 2), (2, 20, 3), (3, 30, 4), (5, 50, 6)]
    world.source("e", WIDE, [dict(zip(WIDE.names, row, strict=True)) for row in wide])
    define(world, "SELECT `ß` AS a, b FROM e UNION SELECT e.`ß`, r.b FROM r JOIN e ON e.b = r.a")
    world.tick()
    assert world.rows("r") == closed({(row[0], row[2]) for row in wide})


def test_small_integers_lose_rows_tick_after_tick(world: World) -> None:
    pairs = {(1, 2), (2, 3), (3, 4), (5, 6)}
    world.source("e", PAIR, [{"a": a, "b": b} for a, b in sorted(pairs)])
    define(world, "SELECT CAST(a AS SMALLINT) AS a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b")
    world.tick()
    for gone in ((3, 4), (2, 3), (5, 6)):
        pairs.discard(gone)
        world.delete("e", f"a = {gone[0]}")
        assert world.tick()["r"].mode is Mode.DIFFERENTIAL
        assert world.rows("r") == closed(pairs)


@pytest.mark.parametrize(
    "name", variants_in_soak(["non-linear closure", "same generation", "three tables"], ["same generation"])
)
def test_joins_that_give_much_are_done_in_slices(world: World, name: str, tuned: Tuned) -> None:
    tuned(arrow_join_slice_rows=3)
    run(world, name, seed=5, batches=3, nulls=False)


@pytest.mark.parametrize("name", ["non-linear closure", "closure over two tables"])
def test_joins_that_give_too_much_are_left_to_spark(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> None:
    tuned(arrow_join_slice_rows=2, arrow_join_rows=9)
    refused = []
    settle = near.NearMachine.settle

    def told(machine: near.NearMachine) -> object:
        try:
            left = settle(machine)
        except joins.NotNear:
            refused.append("all")
            raise
        refused.extend(["rest"] if left is not None else [])
        return left

    monkeypatch.setattr(near.NearMachine, "settle", told)
    run(world, name, seed=6, batches=2, nulls=False)
    assert refused


def test_what_spark_was_given_is_not_taken_for_what_was_before(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[MachineSaver] = []

    def refuses(saver: MachineSaver) -> None:
        refused.append(saver)
        if len(refused) == 1:
            raise NotInBlocks("it was said so", 0)

    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr(MachineSaver, "_after_pass", refuses)
    pairs = {(n, n + 1) for n in range(5)}
    world.source("e", PAIR, [{"a": a, "b": b} for a, b in sorted(pairs)])
    define(world, CLOSURE)
    assert "every pass in full because it was said so" in world.tick()["r"].reason
    assert len(refused) == 1
    assert world.rows("r") == closed(pairs)


def test_what_is_given_back_after_every_pass_stays_in_few_parts(
    world: World, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> None:
    counts: list[int] = []
    give_back = near_rows.NearRows.give_back

    def told(one: near_rows.NearRows) -> None:
        give_back(one)
        counts.append(len(one.rows.parts))

    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr(near_rows.NearRows, "give_back", told)
    tuned(fixpoint_union_parts=4)
    pairs = {(n, n + 1) for n in range(10)}
    world.source("e", PAIR, [{"a": a, "b": b} for a, b in sorted(pairs)])
    define(world, CLOSURE)
    world.tick()
    assert len(counts) >= 10
    assert max(counts) == 4
    assert world.rows("r") == closed(pairs)
    world.delete("e", "a = 4")
    world.append("e", *({"a": n, "b": n + 1} for n in range(10, 16)))
    assert world.tick()["r"].mode is Mode.DIFFERENTIAL
    assert world.rows("r") == closed(pairs - {(4, 5)} | {(n, n + 1) for n in range(10, 16)})


def test_a_pass_that_goes_on_on_spark_is_noted_once_with_all_its_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    following = near.NearMachine._following

    def refuses(machine: near.NearMachine, key: str) -> Iterator[pa.Table]:
        asked[key] += 1
        if key == "default.odd" and asked[key] == 3:
            raise joins.NotNear
        return following(machine, key)

    monkeypatch.setattr(near.NearMachine, "_following", refuses)
    world.source("e", PAIR, [{"a": n, "b": n + 1} for n in range(9)])
    step = "SELECT r.a, e.b FROM {} AS r JOIN e ON e.a = r.b"
    world.define({"even": step.format("odd"), "odd": f"SELECT a, b FROM e UNION {step.format('even')}"})
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")
    told: list[Iteration] = []
    refreshed(str(world.yaml), pinned(world), told.append)
    assert asked["default.odd"] == 3
    assert [one.number for one in told] == list(range(1, len(told) + 1))
    for name in ("even", "odd"):
        assert sum(one.changes[name] for one in told) == world.rows(name).total() > 0
    assert [one.changes for one in told if not one.total] == [{"even": 0, "odd": 0}]
