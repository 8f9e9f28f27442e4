"""When a cron expression fires, on the clock of its time zone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache

import pendulum
from pendulum import Date, DateTime, Timezone

from airflow_trickle.definition.schedules import LAST_DAY, cron_numbers
from airflow_trickle.definition.zones import without_zone

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_CYCLE_START = Date(2024, 1, 1).toordinal()
#: Four years, one of them a leap year.
_CYCLE_DAYS = 1461
_MONTH_DAYS = frozenset(range(1, 32))
_WEEK_DAYS = frozenset(range(7))
_HOURS = frozenset(range(24))
#: The longest time between two days that a cron expression names: 29 February, over a year like 2100.
_FAR_DAYS = 366 * 8 + 1
#: No gap of the clock moves a time further: islands that crossed the date line left out a day.
_LONGEST_GAP_DAYS = 1


def as_cron(schedule: str) -> tuple[str, str]:
    """A schedule as a cron expression, if it is a preset, and its time zone; anything else as it is.

    >>> as_cron("@daily Europe/Berlin")
    ('0 0 * * *', 'Europe/Berlin')
    """
    text, zone = without_zone(schedule)
    return _PRESETS.get(text, text), zone


def mean_period(cron: str) -> float:
    """The mean seconds between two runs, infinite if there are none.

    >>> mean_period("0 6,18 * * *")
    43200.0
    """
    minutes, hours, *_ = cron_numbers(cron)
    days = map(days_of(cron), map(Date.fromordinal, range(_CYCLE_START, _CYCLE_START + _CYCLE_DAYS)))
    runs = len(minutes) * len(hours) * sum(days)
    return _CYCLE_DAYS * 86400 / runs if runs else math.inf


def days_of(cron: str) -> Callable[[Date], bool]:
    """Tells of a day whether a cron expression names it.

    >>> days_of("0 6 1 * mon")(Date(2026, 6, 1))
    True
    """
    _, _, month_days, months, week_days = cron_numbers(cron)
    _, _, in_month, _, in_week = cron.split()
    any_day = _is_any(in_month, month_days == _MONTH_DAYS, in_week)
    any_week_day = _is_any(in_week, {day % 7 for day in week_days} == _WEEK_DAYS, in_month)

    def named(day: Date) -> bool:
        by_month = day.day in month_days or (LAST_DAY in month_days and day.day == day.days_in_month)
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


def next_firing(cron: str, zone: str, after: datetime) -> DateTime | None:
    """The first moment after another at which a cron expression fires in a time zone, in UTC; None if it never does.

    As Airflow has it: a time that the clock skips fires behind the gap. Of a time that comes twice it is the second;
    both, if the expression fires in every hour.

    >>> next_firing("30 2 * * *", "Europe/Berlin", pendulum.datetime(2026, 3, 29)).isoformat()
    '2026-03-29T01:30:00+00:00'
    """
    clock, named = pendulum.timezone(zone), days_of(cron)
    start = _local_day(clock, after) - _LONGEST_GAP_DAYS
    found: DateTime | None = None
    for number in range(max(start, 1), min(start + _FAR_DAYS, Date.max.toordinal())):
        day = Date.fromordinal(number)
        later = next((one for one in _firings(cron, clock, day) if one > after), None) if named(day) else None
        if found is not None:
            # Times of the day before were moved behind a gap: one of this day may come first.
            return found if later is None else min(found, later)
        if later is not None and _is_regular(clock, day):
            return later
        found = later
    return found


def _local_day(clock: Timezone, moment: datetime) -> int:
    """The number of the day that a clock shows."""
    return moment.astimezone(clock).toordinal()


def _firings(cron: str, clock: Timezone, day: Date) -> Iterator[DateTime]:
    """The moments at which it fires for the times of a day, in their order."""
    times = _times(cron)
    if _is_regular(clock, day):
        midnight = _moment(clock, datetime(day.year, day.month, day.day))
        yield from (midnight.add(hours=hour, minutes=minute) for hour, minute in times)
        return
    every_hour = {hour for hour, _ in times} == _HOURS
    moments = set()
    for hour, minute in times:
        for fold in (0, 1) if every_hour else (1,):
            local = datetime(day.year, day.month, day.day, hour, minute, fold=fold)
            moment = _moment(clock, local)
            # Of a time in a gap, the first fold lies before it.
            if fold == 1 or moment.astimezone(clock).replace(tzinfo=None) == local:
                moments.add(moment)
    yield from sorted(moments)


def _moment(clock: Timezone, local: datetime) -> DateTime:
    """The moment at which a clock shows a time; one in a gap is moved behind it."""
    return pendulum.instance(clock.convert(local)).in_timezone(pendulum.UTC)


@lru_cache(maxsize=4096)
def _is_regular(clock: Timezone, day: Date) -> bool:
    """Whether a clock runs without a change through a day and the hours around it."""
    if clock is pendulum.UTC:
        return True
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=clock)
    return len({(noon + timedelta(days=days)).utcoffset() for days in (-1, 0, 1)}) == 1


@lru_cache(maxsize=256)
def _times(cron: str) -> tuple[tuple[int, int], ...]:
    """The times of a day at which a cron expression fires, as hour and minute, in their order."""
    minutes, hours, *_ = cron_numbers(cron)
    return tuple((hour, minute) for hour in sorted(hours) for minute in sorted(minutes))
