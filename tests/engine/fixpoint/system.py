"""A recursive pipeline: the SQL of its tables, and beside it the same as Python rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.engine.fixpoint.judge import Group, distinct, join


@dataclass(frozen=True)
class System:
    """Sources with their columns (all are BIGINT), tables with their queries, and the rules of the same.

    Attributes:
        recursive: Tables whose refreshes take passes.
        lattice: Table -> its lattice.
        acyclic: Whether edges must lead from smaller to larger nodes.
        naive: Whether every pass is computed in full, and so every refresh.
        duckdb: For some tables, the same in the words of another database.
    """

    sources: Mapping[str, str]
    tables: Mapping[str, str]
    groups: tuple[Group, ...]
    recursive: frozenset[str]
    lattice: Mapping[str, str] = field(default_factory=dict)
    acyclic: bool = False
    naive: bool = False
    duckdb: Mapping[str, str] = field(default_factory=dict)


EDGES = {"edges": "src dst"}
CLOSURE_IN_DUCKDB = """
    WITH RECURSIVE c(src, dst) AS (
      SELECT src, dst FROM edges UNION SELECT c.src, e.dst FROM c JOIN edges AS e ON e.src = c.dst
    ) SELECT * FROM c"""


def plus(left, right):
    """Pairs (a, b) and (b, c) make (a, c)."""
    return [(one[0], other[1]) for one, other in join(left, 1, right, 0)]


def closure(name, edges="edges"):
    """The rule of a linear closure."""
    return lambda now: distinct(now[edges] + plus(now[name], now[edges]))
