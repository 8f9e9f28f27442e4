"""Strata: which tables must be complete before a table that subtracts from them can be right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from airflow_trickle.analysis.components import Component


class EdgeType(str, Enum):
    """Whether more rows of an input can only mean more rows of the table that reads it."""

    MONOTONE = "MONOTONE"
    NON_MONOTONE = "NON_MONOTONE"


@dataclass(frozen=True)
class Strata:
    """The stratum of every table, and the edges that no stratification allows.

    >>> Strata({"a": 0}, broken=()).level["a"]
    0
    """

    #: By table, in the order of the components.
    level: Mapping[str, int]
    #: Consumer and input of every non-monotone edge inside one component, sorted.
    broken: tuple[tuple[str, str], ...]


def assign_strata(order: Sequence[Component], edges: Mapping[str, Mapping[str, EdgeType]]) -> Strata:
    """The lowest strata such that a table is above all that it reads through a non-monotone edge.

    Args:
        order: The components, upstream first.
        edges: Consumer -> input -> type; an input that is not a table is a source, which has stratum 0.

    >>> parts = [Component(("a",), False), Component(("b",), False)]
    >>> dict(assign_strata(parts, {"a": {"s": EdgeType.MONOTONE}, "b": {"a": EdgeType.NON_MONOTONE}}).level)
    {'a': 0, 'b': 1}
    """
    level: dict[str, int] = {}
    broken: list[tuple[str, str]] = []
    for part in order:
        inside = frozenset(part.members)
        stratum = 0
        for consumer in part.members:
            for name, kind in edges.get(consumer, {}).items():
                step = int(kind is EdgeType.NON_MONOTONE)
                if name not in inside:
                    stratum = max(stratum, level.get(name, 0) + step)
                elif step:
                    broken.append((consumer, name))
        level.update(dict.fromkeys(part.members, stratum))
    return Strata(level, tuple(sorted(broken)))
