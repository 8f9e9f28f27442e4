"""Effective schedules: when a table really runs, after its readers, its cycle and its group have had a say."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from airflow_trickle.analysis.components import Component
from airflow_trickle.analysis.units import units
from airflow_trickle.definition.schedules import ASSET, CALCULATED, LAST_DAY, cron_numbers, parse_duration

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_CYCLE_START = date(2024, 1, 1)
#: Four years, one of them a leap year.
_CYCLE_DAYS = 1461
_MONTH_DAYS = frozenset(range(1, 32))
_WEEK_DAYS = frozenset(range(7))


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
    text = as_cron(schedule)
    if len(text.split()) == 1:
        return parse_duration(text).total_seconds()
    minutes, hours, *_ = cron_numbers(text)
    runs = len(minutes) * len(hours) * _days(text)
    return _CYCLE_DAYS * 86400 / runs if runs else math.inf


def as_cron(schedule: str) -> str:
    """A preset as the cron expression that it stands for; anything else as it is."""
    return _PRESETS.get(schedule, schedule)


def _days(cron: str) -> int:
    """How many days of the cycle a cron expression names."""
    named = days_of(cron)
    return sum(named(_CYCLE_START + timedelta(days=number)) for number in range(_CYCLE_DAYS))


def days_of(cron: str) -> Callable[[date], bool]:
    """Tells of a day whether a cron expression names it.

    >>> days_of("0 6 1 * mon")(date(2026, 6, 1))
    True
    """
    _, _, month_days, months, week_days = cron_numbers(cron)
    _, _, in_month, _, in_week = cron.split()
    any_day = _is_any(in_month, month_days == _MONTH_DAYS, in_week)
    any_week_day = _is_any(in_week, {day % 7 for day in week_days} == _WEEK_DAYS, in_month)

    def named(day: date) -> bool:
        last = calendar.monthrange(day.year, day.month)[1]
        by_month = day.day in month_days or (LAST_DAY in month_days and day.day == last)
        # Sunday is both 0 and 7 to cron, and 7 to Python.
        by_week = not week_days.isdisjoint({day.isoweekday(), day.isoweekday() % 7})
        # Cron's own rule: if both are restricted, either of them is enough.
        either = by_month and by_week if any_day or any_week_day else by_month or by_week
        return day.month in months and either

    return named


def _is_any(field: str, every: bool, other: str) -> bool:
    """Whether a field of days does not restrict them, as croniter has it, by which Airflow runs DAGs.

    A field that names every day in other words is one only beside a field with a ``*`` somewhere.
    """
    return "*" in field.split(",") or (every and "*" in other)


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
