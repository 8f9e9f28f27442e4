"""Recursive pipelines of stream tables; those inside of one query are in `cte_systems`."""

from __future__ import annotations

from tests.engine.fixpoint.cycle_systems import CYCLES
from tests.engine.fixpoint.lattice_systems import LATTICES
from tests.engine.fixpoint.outside_systems import OUTSIDE
from tests.engine.fixpoint.system import System

SYSTEMS: dict[str, System] = {**CYCLES, **OUTSIDE, **LATTICES}
