"""Recursion inside of one query, over random graphs and changes, judged as cycles of tables are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from tests import budgets
from tests.engine.fixpoint.cte_systems import CTES
from tests.engine.fixpoint.test_random_graphs import TWICE, run, variants_in_soak
from tests.engine.world import World

#: Variants of others, which only a soak runs: the same kind of rule in the same place.
_VARIANTS = ("linear", "two in one query")


@pytest.mark.parametrize("name", variants_in_soak(CTES, _VARIANTS))
def test_a_recursive_query_is_its_least_fixed_point_after_every_batch(world: World, name: str) -> None:
    """Design 001 §9.2: test_recursive_cte_cycle_elimination_uses_dred
    Design 001 §9.2: test_recursive_cte_external_anti_join_uses_dred
    Design 002 §8.3: test_mutual_recursion_matches_ground_truth
    """
    batches = 2 if f"CTE: {name}" in TWICE else budgets.rounds(1)
    run(world, f"CTE: {name}", seed=0, batches=batches, changes=3)


def test_without_stratified_dred_it_is_derived_from_nothing(world: World) -> None:
    edges = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    world.source("edges", edges, [{"src": n, "dst": n + 1} for n in range(4)])
    closure = (
        "WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges AS e "
        "ON e.src = r.dst) SELECT src, dst FROM r"
    )
    world.define({"reach": closure})
    world.yaml.write_text(world.yaml.read_text() + "stratified_dred: false\n")
    world.tick()
    world.append("edges", {"src": 4, "dst": 5})
    result = world.tick()["reach"]
    assert result.mode is Mode.FULL
    assert "stratified_dred: false derives recursive queries from nothing" in result.reason
    assert world.rows("reach") == world.judge(closure)
