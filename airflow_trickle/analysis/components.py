"""Strongly connected components: tables that read each other in a circle, and the order of all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx


@dataclass(frozen=True)
class Component:
    """A table, or the tables that depend on each other.

    >>> Component(("a", "b"), cyclic=True).members
    ('a', 'b')
    """

    #: By name.
    members: tuple[str, ...]
    #: Whether a member depends on itself, over others or directly.
    cyclic: bool


def components(reads: Mapping[str, Collection[str]]) -> tuple[Component, ...]:
    """The strongly connected components, upstream first, and by name where the graph leaves a choice.

    Args:
        reads: What each table reads; a name that is not a table is a source.

    >>> [part.members for part in components({"c": ["b"], "a": ["b", "s"], "b": ["a"]})]
    [('a', 'b'), ('c',)]
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(reads)
    graph.add_edges_from((table, name) for table, names in reads.items() for name in names if name in reads)
    # Sorted, so that their numbers sort as their first members do.
    parts = sorted(tuple(sorted(part)) for part in nx.strongly_connected_components(graph))
    number = {table: at for at, part in enumerate(parts) for table in part}
    downstream: nx.DiGraph[int] = nx.DiGraph()
    downstream.add_nodes_from(range(len(parts)))
    numbered = ((number[name], number[table]) for table, name in graph.edges)
    downstream.add_edges_from((above, below) for above, below in numbered if above != below)
    order = nx.lexicographical_topological_sort(downstream)
    return tuple(
        Component(parts[at], cyclic=len(parts[at]) > 1 or graph.has_edge(parts[at][0], parts[at][0])) for at in order
    )


def shortest_cycle(members: Collection[str], reads: Mapping[str, Collection[str]]) -> list[str]:
    """The shortest way from the first member, by name, along what is read and back to it.

    Raises ValueError if it does not depend on itself.

    >>> shortest_cycle(["a", "b", "c"], {"a": ["b", "c"], "b": ["c"], "c": ["a"]})
    ['a', 'c', 'a']
    """
    first = min(members)
    inside = frozenset(members)
    return [first, *_way(sorted(inside.intersection(reads[first])), first, inside, reads)]


def cycle_through(
    members: Collection[str], reads: Mapping[str, Collection[str]], consumer: str, upstream: str
) -> list[str]:
    """The shortest cycle inside the component that begins with ``consumer`` reading ``upstream``.

    Raises ValueError if nothing leads back.

    >>> cycle_through(["a", "b", "c"], {"a": ["b", "c"], "b": ["c"], "c": ["a"]}, "a", "b")
    ['a', 'b', 'c', 'a']
    """
    return [consumer, *_way([upstream], consumer, frozenset(members), reads)]


def _way(starts: Sequence[str], goal: str, inside: frozenset[str], reads: Mapping[str, Collection[str]]) -> list[str]:
    """The shortest way from one of the starts up to the goal; of several, the first by name."""
    came_from: dict[str, str | None] = dict.fromkeys(starts)
    waiting = deque(starts)
    while waiting and goal not in came_from:
        table = waiting.popleft()
        for name in sorted(inside.intersection(reads[table])):
            if name not in came_from:
                came_from[name] = table
                waiting.append(name)
    if goal not in came_from:
        raise ValueError(f"no way leads from {', '.join(starts) or 'nowhere'} to {goal}")
    way = [goal]
    while (before := came_from[way[-1]]) is not None:
        way.append(before)
    return way[::-1]
