"""Effective schedules: when a table really runs, after its readers, its cycle and its group have had a say."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from airflow_trickle.analysis.components import Component
from airflow_trickle.analysis.cron import as_cron, mean_period
from airflow_trickle.analysis.units import units
from airflow_trickle.definition.schedules import ASSET, CALCULATED, parse_duration


@dataclass(frozen=True)
class ScheduleGroup:
    """Tables that run as a whole, at the slowest or the fastest of their schedules.

    >>> ScheduleGroup(("a", "b"), policy="slowest").policy
    'slowest'
    """

    members: tuple[str, ...]
    #: ``slowest`` or ``fastest``.
    policy: str


@lru_cache(maxsize=1024)
def period(schedule: str | None) -> float:
    """The mean seconds between two runs; 0 for ``asset``, infinite for a table that is only run by hand.

    Raises ValueError if the text is no schedule, or one that does not tell (``calculated``).

    >>> period("1h30m"), period("0 6,18 * * *"), period(None)
    (5400.0, 43200.0, inf)
    """
    if schedule is None:
        return math.inf
    if schedule == ASSET:
        return 0.0
    cron, _ = as_cron(schedule)
    return parse_duration(cron).total_seconds() if len(cron.split()) == 1 else mean_period(cron)


def effective_schedules(
    order: Sequence[Component],
    reads: Mapping[str, Collection[str]],
    own: Mapping[str, str | None],
    fallback: Mapping[str, str | None],
    groups: Iterable[ScheduleGroup],
) -> dict[str, str | None]:
    """The schedule that each table really has, by table in the order of the components.

    A schedule that a table declares stands. A ``calculated`` one is the fastest of the tables that read
    it. A cycle runs at the fastest of its members, a group as its policy says.

    Args:
        order: The components, upstream first.
        reads: What each table reads; a name that is not a table is a source.
        own: The declared schedule of each table; None is by hand only.
        fallback: The schedule of each table's pipeline, for a ``calculated`` table that nobody reads.
        groups: The groups, none of which share a table.

    >>> parts = [Component((name,), False) for name in "ab"]
    >>> own = {"a": "calculated", "b": "5m"}
    >>> effective_schedules(parts, {"a": ["s"], "b": ["a"]}, own, {"a": "1h", "b": "1h"}, [])
    {'a': '5m', 'b': '5m'}
    """
    found = list(groups)
    policies = {table: POLICIES[group.policy] for group in found for table in group.members}
    component = {table: part for part in order for table in part.members}
    readers = _readers(component, reads)
    schedules: dict[str, str | None] = {}
    for unit in reversed(units(order, reads, [group.members for group in found])):
        # Members see each other's schedules before the group has its say: it is not known yet.
        for part in reversed(tuple(dict.fromkeys(component[table] for table in unit.tables))):
            schedules.update(dict.fromkeys(part.members, _of_component(part, readers, own, fallback, schedules)))
        policy = next((policies[table] for table in unit.tables if table in policies), None)
        if policy is not None:
            schedules.update(dict.fromkeys(unit.tables, policy([schedules[table] for table in unit.tables])))
    return {table: schedules[table] for table in component}


def _readers(tables: Iterable[str], reads: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = {table: [] for table in tables}
    for table in tuple(readers):
        for name in reads[table]:
            if name in readers:
                readers[name].append(table)
    return readers


def _of_component(
    part: Component,
    readers: Mapping[str, Collection[str]],
    own: Mapping[str, str | None],
    fallback: Mapping[str, str | None],
    schedules: Mapping[str, str | None],
) -> str | None:
    """The fastest of what its members declare and, for the calculated ones, of their readers outside."""
    known: set[str | None] = set()
    for table in part.members:
        if own[table] == CALCULATED:
            known.update(schedules[reader] for reader in readers[table] if reader not in part.members)
        else:
            known.add(own[table])
    return _fastest(known or {fallback[table] for table in part.members})


def _fastest(schedules: Iterable[str | None]) -> str | None:
    return min(schedules, key=lambda one: (period(one), *_simplest(one)))


def _slowest(schedules: Iterable[str | None]) -> str | None:
    return min(schedules, key=lambda one: (-period(one), *_simplest(one)))


def _simplest(schedule: str | None) -> tuple[int, str]:
    """Of two schedules with one period, the one with the shorter text stands for both."""
    return len(schedule or ""), schedule or ""


POLICIES: Mapping[str, Callable[[Iterable[str | None]], str | None]] = {"slowest": _slowest, "fastest": _fastest}
