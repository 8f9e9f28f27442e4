"""Who goes on though a table it reads was not refreshed: the readers of a diamond that is not atomic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from airflow_trickle.plan.steps import RefreshStep


def tolerated(
    order: Iterable[str], reads: Mapping[str, Collection[str]], loose: Iterable[Collection[str]]
) -> dict[str, tuple[str, ...]]:
    """For each table, the members of diamonds that are not atomic among the tables it reads on whatever path.

    Args:
        order: The tables, upstream first; those of a cycle in any order.
        reads: What each table reads; a name that is not a table is a source.
        loose: The members of each diamond whose tables are published one by one.

    >>> reads = {"b": ["s"], "c": ["s"], "d": ["b", "c"], "e": ["d"], "f": ["s"]}
    >>> tolerated("bcdef", reads, [["b", "c", "d"]])
    {'b': (), 'c': (), 'd': ('b', 'c'), 'e': ('b', 'c', 'd'), 'f': ()}
    """
    members = {table for group in loose for table in group}
    tables = list(order)
    found: dict[str, set[str]] = {table: set() for table in tables}
    # Again while something is added: the tables of a cycle read each other.
    growing = True
    while growing:
        growing = False
        for table in tables:
            inputs = [name for name in reads[table] if name in found]
            names = {name for name in inputs if name in members}.union(*(found[name] for name in inputs))
            growing |= names != found[table]
            found[table] = names
    return {table: tuple(sorted(names - {table})) for table, names in found.items()}


def tolerates(step: RefreshStep, upstream: RefreshStep) -> bool:
    """Whether a unit goes on with the last state of another one that it reads, if that one failed."""
    allowed = {name for table in step.tables for name in table.tolerates}
    return all(table.identifier in allowed for table in upstream.tables)
