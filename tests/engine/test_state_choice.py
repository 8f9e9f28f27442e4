"""The keys `state` and `state_max_bytes`: what is kept beside a table, and what its history says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from airflow_trickle.engine.kept import ROOT
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_history, read_status
from tests.conftest import Tuned
from tests.engine.world import World

ROWS = pa.schema([("k", pa.int64()), ("g", pa.string()), ("v", pa.int64())])
QUERIES = {
    "means": "SELECT g, avg(CAST(v AS DECIMAL(10,0))) AS m FROM rows GROUP BY g",
    "counts": "SELECT n, count(*) AS c FROM (SELECT g, count(*) AS n FROM rows GROUP BY g) AS x GROUP BY n",
}


@pytest.fixture
def world_of_groups(world: World, tuned: Tuned) -> World:
    tuned(aux_state_min_bytes=0, aux_state_share=1000.0)
    world.source("rows", ROWS, [{"k": n, "g": "abc"[n % 3], "v": n} for n in range(12)])
    return world


def defined(world: World, **keys: Any) -> None:
    world.define(QUERIES, **{name: {"refresh_mode": "DIFFERENTIAL", **keys} for name in QUERIES})


def kept(name: str) -> dict[str, Any]:
    with open_lakehouse("trickle") as lake:
        text = read_status(lake, [f"default.{name}"])[f"default.{name}"].kept
    return json.loads(text) if text else {}


def reported(world: World) -> dict[str, dict[int, tuple[str, str | None]]]:
    """By table and part: what the next tick says of the state; it must also stand in the history."""
    results = world.tick()
    assert {one.mode for one in results.values()} == {Mode.DIFFERENTIAL}
    for name, query in QUERIES.items():
        assert world.rows(name) == world.judge(query)
        with open_lakehouse("trickle") as lake:
            row = read_history(lake, identifier=f"default.{name}", limit=1)[0]
        assert row["state"] == [one.model_dump() for one in results[name].state]
    return {name: {one.part: (one.outcome, one.code) for one in found.state} for name, found in results.items()}


def test_none_removes_the_state_there_is_and_makes_no_other(world_of_groups: World) -> None:
    world = world_of_groups
    defined(world)
    first = world.tick()
    assert {one.outcome for name in QUERIES for one in first[name].state} == {"made"}
    assert all(one.bytes and one.files for name in QUERIES for one in first[name].state)
    files = [file for name in QUERIES for file in kept(name)["files"]]
    defined(world, state="none")
    world.delete("rows", "k = 1")
    for parts in reported(world).values():
        assert set(parts.values()) == {("removed", "asked")}
    assert not any(kept(name) for name in QUERIES)
    assert not any(Path(file.removeprefix("file://")).exists() for file in files)
    world.delete("rows", "k = 2")
    assert reported(world) == {name: {ROOT: ("none", "asked")} for name in QUERIES}
    defined(world, state="auto")
    world.delete("rows", "k = 3")
    assert ("made", None) in reported(world)["means"].values()


def test_all_keeps_what_is_too_small_or_too_large_for_auto(world_of_groups: World, tuned: Tuned) -> None:
    world = world_of_groups
    tuned(aux_state_share=0.0)
    defined(world)
    found = world.tick()["counts"].state
    assert ("declined", "large_share") in {(one.outcome, one.code) for one in found}
    defined(world, state="all")
    tuned(aux_state_min_bytes=10**9)
    world.delete("rows", "k = 1")
    made = reported(world)
    assert not [code for parts in made.values() for outcome, code in parts.values() if outcome == "declined"]
    world.delete("rows", "k = 4")
    assert set(reported(world)["counts"].values()) == {("added_to", None)}


def test_state_beyond_the_bound_is_not_kept(world_of_groups: World) -> None:
    world = world_of_groups
    defined(world, state_max_bytes=10)
    first = world.tick()
    assert {(one.outcome, one.code) for name in QUERIES for one in first[name].state} == {("declined", "bound")}
    assert "would exceed state_max_bytes (10)" in first["means"].state[0].why
    assert not any(kept(name)["files"] for name in QUERIES)
    world.delete("rows", "k = 1")
    for parts in reported(world).values():
        assert set(parts.values()) == {("declined", "bound")}
    defined(world, state_max_bytes="1m")
    world.delete("rows", "k = 2")
    for parts in reported(world).values():
        assert ("made", None) in parts.values()
