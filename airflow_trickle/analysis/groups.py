"""Consistency groups: tables on several ways from one ancestor that meet again, refreshed as one.

A diamond is a table where two ways from one ancestor meet that share nothing in between. The tables on
the ways and the one where they meet belong together; the ancestor, the apex, does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Literal

from airflow_trickle.analysis.components import Component, components


@dataclass(frozen=True)
class Group:
    """Tables that must show one moment of their sources together.

    >>> Group(("a", "b", "c"), convergence_points=("c",)).members
    ('a', 'b', 'c')
    """

    #: Upstream first, the members of a component side by side.
    members: tuple[str, ...]
    #: The members where ways meet, upstream first.
    convergence_points: tuple[str, ...]


def find_groups(order: Sequence[Component], reads: Mapping[str, Collection[str]]) -> tuple[Group, ...]:
    """The groups of two or more components, in the order of their first members.

    Args:
        order: The components, upstream first.
        reads: What each table reads; a name that is not a table is a source.

    >>> parts = [Component((name,), False) for name in "abc"]
    >>> find_groups(parts, {"a": ["s"], "b": ["s"], "c": ["a", "b"]})
    (Group(members=('a', 'b', 'c'), convergence_points=('c',)),)
    """
    dag = _number(order, reads)
    diamonds = _Diamonds(dag)
    for node in range(dag.roots, len(dag.inputs)):
        diamonds.add(node)
    diamonds.merge_at_apexes()
    groups: dict[str, list[int]] = {}
    for at, label in enumerate(_convex(order, dag, [diamonds.group(node) for node in dag.node])):
        groups.setdefault(label, []).append(at)
    return tuple(
        Group(
            tuple(table for at in parts for table in order[at].members),
            tuple(table for at in parts if dag.node[at] in diamonds.meeting for table in order[at].members),
        )
        for parts in groups.values()
        if len(parts) > 1
    )


@dataclass(frozen=True)
class _Dag:
    """The condensation with its sources as numbers, upstream first; those that read nothing come first."""

    #: How many nodes read nothing: the sources, then such components.
    roots: int
    #: The number of each component.
    node: Sequence[int]
    #: What each node reads, without itself.
    inputs: Sequence[Collection[int]]


def _number(order: Sequence[Component], reads: Mapping[str, Collection[str]]) -> _Dag:
    component = {table: at for at, part in enumerate(order) for table in part.members}
    sources: dict[str, int] = {}
    #: By component: the components it reads, and the sources.
    upstream: list[tuple[set[int], set[int]]] = []
    for at, part in enumerate(order):
        names = {name for table in part.members for name in reads[table]}
        tables = {component[name] for name in names if name in component}
        others = {sources.setdefault(name, len(sources)) for name in sorted(names) if name not in component}
        upstream.append((tables - {at}, others))
    by_number = sorted(range(len(order)), key=lambda at: any(upstream[at]))
    node = [0] * len(order)
    for number, at in enumerate(by_number, len(sources)):
        node[at] = number
    inputs: list[Collection[int]] = [()] * len(sources)
    inputs.extend({*(node[one] for one in upstream[at][0]), *upstream[at][1]} for at in by_number)
    return _Dag(sum(not names for names in inputs), node, inputs)


def _convex(order: Sequence[Component], dag: _Dag, groups: Sequence[int]) -> list[str]:
    """The group of each component after also merging what lies between two members of a group."""
    if len(set(groups)) == len(groups):
        return [part.members[0] for part in order]
    name: dict[int, str] = {}
    for part, group in zip(order, groups, strict=True):
        name.setdefault(group, part.members[0])
    label = {node: name[group] for node, group in zip(dag.node, groups, strict=True)}
    quotient: dict[str, set[str]] = {one: set() for one in name.values()}
    for node, own in label.items():
        quotient[own].update(label[above] for above in dag.inputs[node] if above in label)
    merged = {one: part.members[0] for part in components(quotient) for one in part.members}
    return [merged[label[node]] for node in dag.node]


class _Diamonds:
    """Union-find over nodes that are added upstream first.

    Two facts keep it short. Ways meet in a node exactly if two of its inputs have a common root. And the exits
    of a node have no common root: else ways would meet in its group, and one of the exits would be a member.
    """

    def __init__(self, dag: _Dag) -> None:
        count = len(dag.inputs)
        self._dag = dag
        self._parent = list(range(count))
        self._size = [1] * count
        #: The roots that a node descends from, a bit for each.
        self._roots = [1 << node if node < dag.roots else 0 for node in range(count)]
        #: By node: what it reaches upwards through its group, or reads if it is alone, but for the roots, which
        #: are never members. The value is the first node after the exit that all ways from there have in common.
        self._exits: list[dict[int, int]] = [{} for _ in range(count)]
        #: By representative: changes whenever nodes of its group may have become stale. And what it was when the
        #: exits of a node were last looked through.
        self._stamp = [0] * count
        self._fresh = [0] * count
        self._stamps = 0
        self._apexes: set[tuple[int, int]] = set()
        #: The nodes where ways meet.
        self.meeting: set[int] = set()

    def group(self, node: int) -> int:
        """The representative of the group of a node."""
        parent = self._parent
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    def add(self, node: int) -> None:
        """Takes the next node, and merges it with the inner nodes of its diamonds."""
        tally = _Tally()
        for name in self._dag.inputs[node]:
            tally.add(self._roots[name])
        self._roots[node] = tally.at_least(1)
        self._exits[node] = {name: node for name in self._dag.inputs[node] if name >= self._dag.roots}
        if tally.at_least(2):
            self.meeting.add(node)
            self._climb(node, tally)

    def merge_at_apexes(self) -> None:
        """Merges every diamond with the group of its apex, if that is in one."""
        for apex, node in sorted(self._apexes):
            if self._size[self.group(apex)] > 1:
                self._join(apex, node)

    def _climb(self, node: int, tally: _Tally) -> None:
        """Follows all ways up from ``node`` at once, the lowest head first, until no two can meet."""
        several = tally.at_least(2)
        heads = self._exits[node]
        waiting = [-head for head in heads if self._roots[head] & several]
        heapify(waiting)
        #: Heads that several ways have reached: how many beyond the first.
        again: Counter[int] = Counter()
        while several and waiting:
            head = -heappop(waiting)
            roots = self._roots[head]
            if again[head]:
                # What were several ways goes on as one.
                tally.take(roots, again[head])
                several = tally.at_least(2)
            if not roots & several:
                # Only an apex has two ways with nothing in common; others may have joined inside a group.
                if again[head] and heads[head] == node:
                    self._apexes.add((head, node))
                continue
            del heads[head]
            self._join(head, node)
            for name, first in self._outside(head).items():
                if name not in heads:
                    heads[name] = first
                    # Else nothing above it can meet, now or later.
                    if self._roots[name] & several:
                        heappush(waiting, -name)
                else:
                    again[name] += 1
                    if heads[name] != first:
                        heads[name] = node
        self._fresh[node] = -1

    def _outside(self, node: int) -> dict[int, int]:
        """The exits of a node, brought up to date with what its group has become."""
        group = self.group(node)
        stamp = self._stamp[group]
        exits = self._exits
        stack = [node]
        while stack:
            if self._fresh[stack[-1]] == stamp:
                stack.pop()
                continue
            inner = [name for name in exits[stack[-1]] if self.group(name) == group]
            stale = [name for name in inner if self._fresh[name] != stamp]
            stack.extend(stale)
            if not stale:
                at = stack.pop()
                self._fresh[at] = stamp
                for name in inner:
                    del exits[at][name]
                    # All ways from there come through this one exit.
                    exits[at].update(exits[name])
        return exits[node]

    def _join(self, head: int, node: int) -> None:
        above, below = self.group(head), self.group(node)
        if above == below:
            return
        if self._size[below] > 1:
            self._stamps += 1
            stamp = self._stamps
        else:
            # Nobody reads a newcomer yet: it is no exit of any other.
            stamp = self._stamp[above]
        large, small = (above, below) if self._size[above] >= self._size[below] else (below, above)
        self._parent[small] = large
        self._size[large] += self._size[small]
        self._stamp[large] = stamp


class _Tally:
    """How many heads descend from each root; bit n of digit k is bit k of the number of root n."""

    def __init__(self) -> None:
        self._digits: list[int] = []

    def add(self, roots: int) -> None:
        """Counts each of the roots once more."""
        for place, digit in enumerate(self._digits):
            self._digits[place] = digit ^ roots
            roots &= digit
            if not roots:
                return
        self._digits.append(roots)

    def take(self, roots: int, times: int) -> None:
        """Counts each of the roots so many times less."""
        borrow = 0
        for place, digit in enumerate(self._digits):
            less = roots if times >> place & 1 else 0
            self._digits[place] = digit ^ less ^ borrow
            borrow = (~digit & (less | borrow)) | (less & borrow)

    def at_least(self, number: Literal[1, 2]) -> int:
        """The roots that were counted once, or more than once."""
        found = 0
        for digit in self._digits[number - 1 :]:
            found |= digit
        return found
