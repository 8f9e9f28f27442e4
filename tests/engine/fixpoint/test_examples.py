"""The examples of `dags/recursion` run, and give what their descriptions say, before and after a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.plan.build import plan_path
from tests.engine.world import World, bag
from tools import recursion_examples

DAGS = Path(__file__).parents[3] / "dags" / "recursion"

#: Pipeline -> table -> rows before and after the change.
EXPECTED = {
    "reachability": {
        "reach": (
            {(2, "red"), (4, "red"), (6, "red"), (3, "blue"), (5, "blue")},
            {(2, "red"), (4, "red"), (1, "red"), (3, "blue"), (7, "blue")},
        ),
    },
    "ownership": {
        "control": (
            {
                ("Acorn", "Birch"),
                ("Acorn", "Cedar"),
                ("Acorn", "Dogwood"),
                ("Acorn", "Elm"),
                ("Cedar", "Dogwood"),
                ("Fir", "Ginkgo"),
                ("Ginkgo", "Fir"),
                ("Fir", "Fir"),
                ("Ginkgo", "Ginkgo"),
            },
            {("Acorn", "Birch"), ("Cedar", "Dogwood"), ("Hazel", "Dogwood"), ("Fir", "Ginkgo")},
        ),
        "heads": ({("Acorn", 4)}, {("Acorn", 1), ("Cedar", 1), ("Hazel", 1), ("Fir", 1)}),
    },
    "materials": {
        "contents": (
            {("bicycle", part) for part in ("frame", "wheel", "light", "rim", "spoke", "tyre", "lamp")}
            | {("trailer", part) for part in ("wheel", "rim", "spoke", "tyre")}
            | {("wheel", part) for part in ("rim", "spoke", "tyre")}
            | {("light", "lamp"), ("battery", "cell")},
            {("bicycle", part) for part in ("frame", "wheel", "light", "rim", "tyre", "lamp", "battery", "cell")}
            | {("trailer", part) for part in ("wheel", "rim", "tyre", "light", "lamp", "battery", "cell")}
            | {("wheel", "rim"), ("wheel", "tyre"), ("light", "lamp"), ("light", "battery"), ("light", "cell")}
            | {("battery", "cell")},
        ),
        "stopped": ({("bicycle",), ("light",)}, {("bicycle",), ("trailer",), ("wheel",)}),
    },
    "risk": {
        "risky_officers": (
            {("Ida",), ("Jan",), ("Kai",), ("Lou",)},
            {("Ida",), ("Lou",), ("Nil",), ("Mia",)},
        ),
        "risky_companies": (
            {("North",), ("South",), ("East",)},
            {("North",), ("East",), ("Bank",), ("West",)},
        ),
    },
    "routes": {
        "distances": (
            {("Aachen", 0), ("Cologne", 70), ("Bonn", 91), ("Dortmund", 166), ("Emden", 386), ("Flensburg", 716)},
            {
                ("Aachen", 0),
                ("Bonn", 91),
                ("Cologne", 119),
                ("Dortmund", 215),
                ("Emden", 435),
                ("Flensburg", 635),
                ("Munich", 0),
                ("Lindau", 180),
            },
        ),
        "far_away": (
            {("Emden", 386), ("Flensburg", 716)},
            {("Dortmund", 215), ("Emden", 435), ("Flensburg", 635)},
        ),
    },
}


def test_there_is_a_loader_and_an_expectation_for_every_example() -> None:
    names = {plan.pipeline for plan in plan_path(DAGS).plans}
    assert names == set(recursion_examples.EXAMPLES) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_runs(world: World, name: str) -> None:
    """Design 002 §8.2: test_mutual_recursion_entity_propagation
    Design 002 §8.2: test_mutual_recursion_manual_decomposition_converges
    Design 002 §8.2: test_mutual_recursion_incremental_after_base_insert
    Design 002 §8.2: test_mutual_recursion_incremental_after_base_delete
    """
    recursion_examples.load(world.outside, [name])
    pipeline = Pipeline.load(DAGS / f"{name}.yaml")
    first = pipeline.tick()
    assert {result.mode for result in first.values()} == {Mode.FULL}
    _same(world, name, 0)
    recursion_examples.change(world.outside, [name])
    second = pipeline.tick()
    _same(world, name, 1)
    recursive = [result for result in second.values() if result.iterations]
    assert recursive
    # The rows that go from below a minimum are not followed one by one.
    wanted = Mode.FULL if name == "routes" else Mode.DIFFERENTIAL
    assert {result.mode for result in recursive} == {wanted}


def _same(world: World, name: str, at: int) -> None:
    for table, states in EXPECTED[name].items():
        rows = bag(world.outside.load_table(f"{name}.{table}").scan().to_arrow())
        assert rows == dict.fromkeys(states[at], 1), table
