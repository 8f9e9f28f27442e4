"""Random graphs and random changes: after every tick every table is the least fixed point, by independent code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from airflow_trickle.engine.fixpoint import near
from airflow_trickle.engine.fixpoint.machine import Machine
from tests import budgets
from tests.conftest import Tuned
from tests.engine.fixpoint.cte_systems import CTES
from tests.engine.fixpoint.graphs import SHAPES, Rows
from tests.engine.fixpoint.stage import Stage
from tests.engine.fixpoint.systems import SYSTEMS
from tests.engine.world import World

ALL = {**SYSTEMS, **{f"CTE: {name}": system for name, system in CTES.items()}}


#: Those with rules that only follow equal values: without NULLs they are followed in the refreshing process.
NEAR = (
    "linear closure",
    "right-linear closure",
    "non-linear closure",
    "same generation",
    "red and blue",
    "closure over two tables",
    "each is the other",
    "three tables",
)


#: Of these, the ones that say nothing on Spark that the others do not; a soak runs all of them there.
_ALIKE = ("right-linear closure", "closure over two tables", "each is the other", "three tables")


#: One of each kind: a second batch reads what a refresh from changes has written.
TWICE = ("shortest paths", "a bag on the way", "red and blue", "CTE: counted", "CTE: one over another")


def run(world: World, name: str, seed: int, batches: int, *, nulls: bool = True, changes: int = 1) -> None:
    """Ticks after batches of so many random changes each; after every tick the tables are judged."""
    chance = Random(f"{name}{seed}")
    rows = Rows(ALL[name], chance.choice(SHAPES), chance, nulls=nulls)
    stage = Stage(world, ALL[name], rows.now, chance=chance)
    print(f"{name}, seed {seed}: {rows.now}")
    stage.tick()
    for _ in range(batches):
        for _ in range(changes):
            print(rows.change())
        stage.set(**rows.now)
        stage.tick()


#: Variants of others, which only a soak runs on Spark -> the one that has the same kind of rule.
_VARIANTS = {
    "linear closure": "red and blue",
    "five tables": "red and blue",
    "cycle, aggregate, cycle": "before and behind a cycle",
}


def variants_in_soak(names: Iterable[str], variants: Collection[str]) -> list[Any]:
    """Names as parameters, those of variants for a soak only."""
    return [pytest.param(name, marks=pytest.mark.soak if name in variants else ()) for name in names]


@pytest.mark.parametrize("name", variants_in_soak((name for name in SYSTEMS if name not in _ALIKE), _VARIANTS))
def test_after_every_batch_it_is_the_least_fixed_point(world: World, name: str, tuned: Tuned) -> None:
    """Design 000 Part 8: Test 1: Simple cycle with monotone queries
    Design 001 §9.2: test_stratified_cycle_with_external_not_exists_allowed
    Design 001 §9.3: test_stratified_cycle_matches_ground_truth
    Design 002 §8.2: test_mutual_recursion_manual_decomposition_converges
    """
    tuned(arrow_fixpoint_input_rows=-1)
    # Rows come and go in one batch.
    run(world, name, seed=0, batches=2 if name in TWICE else budgets.rounds(1), changes=3)


#: The same in the refreshing process: of these, one rule has the form of one of the others.
_NEAR_VARIANTS = ("right-linear closure", "closure over two tables", "each is the other")


@pytest.mark.parametrize("name", variants_in_soak(NEAR, _NEAR_VARIANTS))
def test_the_same_in_the_refreshing_process(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Design 002 §8.2: test_mutual_recursion_three_way_cycle"""
    settled = []
    settle = near.NearMachine.settle

    def told(machine: near.NearMachine) -> object:
        left = settle(machine)
        settled.append(machine)
        return left

    monkeypatch.setattr(near.NearMachine, "settle", told)
    run(world, name, seed=1, batches=2, nulls=False, changes=2)
    assert len(settled) >= 2


@pytest.mark.parametrize(
    "name", variants_in_soak(["linear closure", "non-linear closure", "red and blue"], ["linear closure"])
)
def test_when_there_is_too_much_spark_goes_on(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch, tuned: Tuned
) -> None:
    tuned(arrow_fixpoint_rows=12)
    derived = []
    derive = Machine.derive

    def told(machine: Machine, seeds: Mapping[str, Sequence[str]]) -> None:
        derived.append(machine.rank)
        derive(machine, seeds)

    monkeypatch.setattr(Machine, "derive", told)
    run(world, name, seed=3, batches=2, nulls=False)
    assert any(derived), "it never came to that"


@pytest.mark.soak
def test_for_long(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tuned: Tuned,
    spark_home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs, chance = 0, Random(budgets.SEED)
    for seed in budgets.soak_seeds(seconds=600):
        # One after the other, so that a short soak has seen some of each kind.
        name = list(ALL)[seed % len(ALL)]
        folder = tmp_path / str(seed)
        folder.mkdir()
        world = World(folder, f"sqlite:///{folder}/catalog.db")
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", world.uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", world.warehouse)
        tuned(arrow_fixpoint_input_rows=2_000_000 if seed % 2 else -1)
        run(world, name, seed, batches=6, nulls=chance.random() < 0.5)
        runs += 1
    with capsys.disabled():
        print(f"\n{runs} runs of 7 ticks, each table right after each; from seed {budgets.SEED}")
    assert runs
