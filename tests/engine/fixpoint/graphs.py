"""Random graphs and what happens to them."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.engine.fixpoint.judge import Row
from tests.engine.fixpoint.system import System

#: One node or value in so many is NULL.
_NULLS = 15


def edges(shape: str, chance: Random) -> list[tuple[int, int]]:
    """The edges of a small graph of a shape."""
    size = chance.randint(4, 9)
    nodes = range(1, size + 1)
    if shape == "chain":
        found = [(node, node + 1) for node in nodes]
    elif shape == "tree":
        found = [(chance.randint(1, node - 1), node) for node in range(2, 2 * size)]
    elif shape == "grid":
        found = [
            (10 * y + x, 10 * (y + dy) + x + dx) for y in range(1, 4) for x in (1, 2, 3) for dy, dx in ((0, 1), (1, 0))
        ]
    elif shape == "dense":
        found = [(one, other) for one in range(1, 6) for other in range(1, 6) if chance.random() < 0.6]
    elif shape == "ring":
        found = [(node, node % size + 1) for node in nodes]
    elif shape == "components":
        found = [(10 * part + one, 10 * part + other) for part in range(3) for one, other in ((1, 2), (2, 3), (3, 1))]
    else:
        found = [(chance.randint(1, size), chance.randint(1, size)) for _ in range(2 * size)]
    return found + [(node, node) for node in nodes if chance.random() < 0.1]


SHAPES = ("chain", "tree", "grid", "dense", "ring", "components", "random")


class Rows:
    """The rows of the sources of a system, and random changes of them."""

    def __init__(self, system: System, shape: str, chance: Random, *, nulls: bool = True):
        self.chance = chance
        self._nulls = nulls
        self._system = system
        self.now: dict[str, list[Row]] = {}
        for name, columns in system.sources.items():
            width = len(columns.split())
            if width >= 2:
                self.now[name] = [self._fitting((*edge, *self._more(width - 2))) for edge in edges(shape, chance)]
        known = {value for rows in self.now.values() for row in rows for value in row[:2] if value}
        self.nodes = sorted(known) or list(range(1, 7))
        for name in system.sources:
            # What has one column are nodes to begin with.
            self.now.setdefault(name, [(node,) for node in self.nodes[: chance.randint(1, 2)]])

    def _more(self, width: int) -> tuple[int | None, ...]:
        return tuple(self._maybe(self.chance.randint(0, 9)) for _ in range(width))

    def _maybe(self, value: int) -> int | None:
        return None if self._nulls and self.chance.randrange(_NULLS) == 0 else value

    def _fitting(self, row: Row) -> Row:
        if not self._system.acyclic or len(row) < 2:
            return row
        if row[0] is None or row[1] is None or row[0] == row[1]:
            return (*((1, 2) if None not in row[:2] else row[:2]), *row[2:])
        return (min(row[:2]), max(row[:2]), *row[2:])

    def _any(self, name: str) -> Row:
        width = len(self._system.sources[name].split())
        ends = tuple(self._maybe(self.chance.choice([*self.nodes, max(self.nodes) + 1])) for _ in range(min(2, width)))
        return self._fitting((*ends, *self._more(width - 2)))

    def change(self) -> str:
        """Changes one source or several; says in words what was done."""
        done = []
        for name in self.chance.sample(sorted(self.now), self.chance.randint(1, len(self.now))):
            kinds = ["insert", "insert", "delete", "delete", "update", "swap", "double", "clear"]
            # Without a node to begin with, not much is left to see.
            kind = self.chance.choice(kinds if len(self.now[name]) > 2 else ["insert", "update", "swap", "double"])
            before = Counter(self.now[name])
            getattr(self, f"_{kind}")(name)
            done.append(
                f"{name}: {kind} {dict(Counter(self.now[name]) - before)} {dict(before - Counter(self.now[name]))}"
            )
        return "; ".join(done)

    def _insert(self, name: str) -> None:
        self.now[name] = self.now[name] + [self._any(name) for _ in range(self.chance.randint(1, 4))]

    def _delete(self, name: str) -> None:
        rows = self.now[name]
        for _ in range(min(len(rows), self.chance.randint(1, 3))):
            rows = list(rows)
            rows.pop(self.chance.randrange(len(rows)))
        self.now[name] = rows

    def _update(self, name: str) -> None:
        rows = list(self.now[name])
        for at in self.chance.sample(range(len(rows)), min(len(rows), 2)):
            rows[at] = self._fitting((*rows[at][:-1], self._any(name)[-1]))
        self.now[name] = rows

    def _swap(self, name: str) -> None:
        """As many rows as before."""
        self._delete(name)
        self.now[name] = [*self.now[name], self._any(name)]

    def _double(self, name: str) -> None:
        rows = self.now[name]
        self.now[name] = [*rows, *self.chance.sample(rows, min(len(rows), 2))]

    def _clear(self, name: str) -> None:
        """Many of them go."""
        self.now[name] = [row for row in self.now[name] if self.chance.random() < 0.7]
