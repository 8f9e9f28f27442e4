"""Diamonds: tables on several paths from one ancestor that meet again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def find_diamonds(order: Sequence[str], inputs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The groups of tables that form diamonds, overlapping ones merged; each in the given order.

    Args:
        order: The tables, upstream first.
        inputs: What each table reads; a name that is not a table is a source.

    >>> find_diamonds(["a", "b", "c"], {"a": ["s"], "b": ["s"], "c": ["a", "b"]})
    [('a', 'b', 'c')]
    """
    bits: dict[str, int] = {}
    #: Everything a table depends on, itself included, as one bit each: a set operation is one instruction.
    above: dict[str, int] = {}

    def reach(name: str) -> int:
        return above.get(name) or 1 << bits.setdefault(name, len(bits))

    groups = _Groups()
    for table in order:
        seen = shared = 0
        own = 1 << bits.setdefault(table, len(bits))
        for name in dict.fromkeys(inputs[table]):
            reached = reach(name)
            shared |= seen & reached
            seen |= reached
        above[table] = seen | own
        if shared:
            for member in _between(table, shared, inputs, above, bits):
                groups.join(table, member)
    return groups.listed(order)


def _between(
    table: str,
    shared: int,
    inputs: Mapping[str, Sequence[str]],
    above: Mapping[str, int],
    bits: Mapping[str, int],
) -> list[str]:
    """The tables on the paths from the shared ancestors down to ``table``, the ancestors left out."""
    found: list[str] = []
    seen = {table}
    stack = [table]
    while stack:
        for name in inputs[stack.pop()]:
            below_shared = above.get(name, 0) & shared and not shared >> bits[name] & 1
            if below_shared and name not in seen:
                seen.add(name)
                found.append(name)
                stack.append(name)
    return found


class _Groups:
    """Union-find over table names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def join(self, one: str, other: str) -> None:
        self._parent[self._root(one)] = self._root(other)

    def _root(self, name: str) -> str:
        parent = self._parent.setdefault(name, name)
        while parent != self._parent[parent]:
            self._parent[name] = parent = self._parent[parent]
        return parent

    def listed(self, order: Sequence[str]) -> list[tuple[str, ...]]:
        groups: dict[str, list[str]] = {}
        for name in order:
            if name in self._parent:
                groups.setdefault(self._root(name), []).append(name)
        return [tuple(members) for members in groups.values()]
