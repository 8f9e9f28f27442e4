"""Recursion inside of one query, over random graphs and changes, judged as cycles of tables are."""

from __future__ import annotations

import pytest

from tests.engine.fixpoint.cte_systems import CTES
from tests.engine.fixpoint.test_random_graphs import run
from tests.engine.world import World


@pytest.mark.parametrize("name", CTES)
def test_a_recursive_query_is_its_least_fixed_point_after_every_batch(world: World, name: str) -> None:
    run(world, f"CTE: {name}", seed=0, batches=3)
