"""Random graphs and random changes: after every tick every table is the least fixed point, by independent code."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.engine.fixpoint.cte_systems import CTES
from tests.engine.fixpoint.graphs import SHAPES, Rows
from tests.engine.fixpoint.stage import Stage
from tests.engine.fixpoint.systems import SYSTEMS
from tests.engine.world import World

ALL = {**SYSTEMS, **{f"CTE: {name}": system for name, system in CTES.items()}}


def run(world: World, name: str, seed: int, batches: int) -> None:
    chance = Random(f"{name}{seed}")
    rows = Rows(ALL[name], chance.choice(SHAPES), chance)
    stage = Stage(world, ALL[name], rows.now, chance=chance)
    print(f"{name}, seed {seed}: {rows.now}")
    stage.tick()
    for _ in range(batches):
        print(rows.change())
        stage.set(**rows.now)
        stage.tick()


@pytest.mark.parametrize("name", SYSTEMS)
def test_after_every_batch_it_is_the_least_fixed_point(world: World, name: str) -> None:
    run(world, name, seed=0, batches=2)


@pytest.mark.soak
def test_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> None:
    until = time.monotonic() + float(os.environ.get("TRICKLE_SOAK_SECONDS", "600"))
    first = seed = int(os.environ.get("TRICKLE_SOAK_SEED", str(time.time_ns() % 10**9)))
    runs = 0
    while time.monotonic() < until:
        # One after the other, so that a short soak has seen some of each kind.
        name = list(ALL)[(first + runs) % len(ALL)]
        folder = tmp_path / str(runs)
        folder.mkdir()
        world = World(folder, f"sqlite:///{folder}/catalog.db")
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", world.uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", world.warehouse)
        run(world, name, seed, batches=6)
        runs += 1
        seed += 1
    print(f"{runs} runs of 7 ticks, seeds {first} to {seed - 1}")
    assert runs
