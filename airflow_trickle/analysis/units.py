"""Units of refresh: tables, cycles and groups, each done as a whole, in an order that respects all reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import networkx as nx

from airflow_trickle.analysis.components import Component


class UnitKind(str, Enum):
    """What a unit is made of: one table, one cyclic component, or several components."""

    TABLE = "table"
    CYCLE = "cycle"
    GROUP = "group"


@dataclass(frozen=True)
class Unit:
    """Tables that are refreshed as a whole.

    >>> Unit(UnitKind.TABLE, ("a",), upstream=()).tables
    ('a',)
    """

    kind: UnitKind
    #: In the order of their refresh.
    tables: tuple[str, ...]
    #: The places, among all units, of those that it reads, sorted.
    upstream: tuple[int, ...]


def units(
    order: Sequence[Component], reads: Mapping[str, Collection[str]], groups: Iterable[Collection[str]]
) -> tuple[Unit, ...]:
    """The units, upstream first, and by first table where the graph leaves a choice.

    A component is never split, and groups that share one are one unit. Raises ValueError if units
    would have to wait for each other.

    Args:
        order: The components, upstream first.
        reads: What each table reads; a name that is not a table is a source.
        groups: The tables that are refreshed as a whole beyond the cyclic components.

    >>> parts = [Component((name,), False) for name in "abc"]
    >>> [unit.tables for unit in units(parts, {"a": ["s"], "b": ["a"], "c": ["b"]}, [["b", "c"]])]
    [('a',), ('b', 'c')]
    """
    parts = _contract(order, groups)
    tables = [tuple(table for at in part for table in order[at].members) for part in parts]
    place = {table: number for number, names in enumerate(tables) for table in names}
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(parts)))
    numbered = ((place[name], place[table]) for table in place for name in reads[table] if name in place)
    graph.add_edges_from((above, below) for above, below in numbered if above != below)
    try:
        sequence = list(nx.lexicographical_topological_sort(graph, key=lambda number: tables[number][0]))
    except nx.NetworkXUnfeasible as error:
        raise ValueError("the groups read each other in a circle") from error
    position = {number: at for at, number in enumerate(sequence)}
    return tuple(
        Unit(
            _kind([order[at] for at in parts[number]]),
            tables[number],
            tuple(sorted(position[above] for above in graph.predecessors(number))),
        )
        for number in sequence
    )


def _contract(order: Sequence[Component], groups: Iterable[Collection[str]]) -> list[list[int]]:
    """The places of the components of each unit."""
    component = {table: at for at, part in enumerate(order) for table in part.members}
    touching: nx.Graph[int] = nx.Graph()
    touching.add_nodes_from(range(len(order)))
    for group in groups:
        nx.add_path(touching, sorted({component[table] for table in group}))
    return [sorted(part) for part in nx.connected_components(touching)]


def _kind(parts: Sequence[Component]) -> UnitKind:
    if len(parts) > 1:
        return UnitKind.GROUP
    return UnitKind.CYCLE if parts[0].cyclic else UnitKind.TABLE
