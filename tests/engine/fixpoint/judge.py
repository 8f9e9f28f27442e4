"""The least fixed point by the shortest way there is: every rule over all rows, from empty, until nothing changes.

Rules are Python functions over lists of tuples, so that nothing of what is judged judges itself: neither the SQL nor
Spark, nor any notion of a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
State = Mapping[str, list[Row]]
Rule = Callable[[State], Iterable[Row]]
#: Tables that are computed together, each with its rule; the ones of a later group may read all of an earlier one.
Group = Mapping[str, Rule]


class NeverSettles(Exception):
    """No fixed point within the passes that were allowed."""


def least_fixed_point(
    groups: Sequence[Group], sources: Mapping[str, Sequence[Row]], passes: int = 2000
) -> dict[str, Counter[Row]]:
    """The rows of every table as a multiset.

    >>> edges = {"edges": [(1, 2), (2, 3)]}
    >>> closure = lambda now: distinct(now["edges"] + [(a, d) for a, b in now["c"] for c, d in now["edges"] if b == c])
    >>> sorted(least_fixed_point([{"c": closure}], edges)["c"])
    [(1, 2), (1, 3), (2, 3)]
    """
    now: dict[str, list[Row]] = {name: list(rows) for name, rows in sources.items()}
    for group in groups:
        now.update({name: [] for name in group})
        for _ in range(passes):
            after = {name: list(rule(now)) for name, rule in group.items()}
            if all(Counter(after[name]) == Counter(now[name]) for name in group):
                break
            now.update(after)
        else:
            raise NeverSettles(", ".join(group))
    return {name: Counter(now[name]) for group in groups for name in group}


# --- the words of rules ----------------------------------------------------------------------------------


def distinct(rows: Iterable[Row]) -> list[Row]:
    """Each row once."""
    return list(dict.fromkeys(rows))


def join(left: Iterable[Row], at: int, right: Iterable[Row], other: int) -> Iterator[tuple[Row, Row]]:
    """The pairs of rows whose columns are equal; NULL equals nothing."""
    by_key: dict[Any, list[Row]] = defaultdict(list)
    for row in right:
        by_key[row[other]].append(row)
    for row in left:
        if row[at] is not None:
            yield from ((row, match) for match in by_key.get(row[at], ()))


def left_join(left: Iterable[Row], at: int, right: Iterable[Row], other: int) -> Iterator[tuple[Row, Row | None]]:
    """The same, and the rows of the left side that match nothing."""
    by_key: dict[Any, list[Row]] = defaultdict(list)
    for row in right:
        by_key[row[other]].append(row)
    for row in left:
        matches = by_key.get(row[at]) if row[at] is not None else None
        yield from ((row, match) for match in matches or [None])


def values(rows: Iterable[Row], at: int) -> set[Any]:
    """What a column holds, without NULL: what EXISTS with an equality finds."""
    return {row[at] for row in rows if row[at] is not None}


def counts(rows: Iterable[Row], at: int) -> list[Row]:
    """The key and the number of rows of each group."""
    return list(Counter(row[at] for row in rows).items())


def best(rows: Iterable[Row], way: Callable[..., Any]) -> list[Row]:
    """Of rows (key, value) the smallest or largest value of each key; NULL only where there is no other."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for key, value in rows:
        found[key].append(value)
    known = {key: [one for one in some if one is not None] for key, some in found.items()}
    return [(key, way(some) if some else None) for key, some in known.items()]
