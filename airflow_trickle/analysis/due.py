"""Which tables a scheduled tick refreshes: a DAG ticks at one schedule, and its tables may have others.

A schedule fires at moments of the clock, in UTC: a duration at its multiples since 1970 (``5m`` at :00, :05, …), as
Airflow's timetables have it, a cron expression when it says. A table is due if its schedule has fired since the tick
that refreshed it last. So nothing is lost where schedules do not divide each other: what fires between two ticks is
due at the next one, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from functools import lru_cache

from airflow_trickle.analysis.schedules import as_cron, days_of, period
from airflow_trickle.definition.schedules import ASSET, cron_numbers, is_duration, parse_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: The longest time between two days that a cron expression names: 29 February, over a year like 2100.
_FAR_DAYS = 366 * 8 + 1


@dataclass(frozen=True)
class Ticking:
    """When a DAG has to tick: by the clock, whenever a source is updated, both, or (neither) by hand only."""

    clock: str | None
    asset: bool = False


def is_due(schedule: str | None, last: datetime | None, moment: datetime) -> bool:
    """Whether a table has to run in the scheduled tick of a moment.

    Both moments are those of the states of the sources that the ticks read, not of the machine's clock when they ran:
    a run that starts late is not the run after it.

    Raises ValueError if the text is no schedule, or a moment has no time zone.

    Args:
        schedule: The schedule in force; None is by hand only, which is never due in a scheduled tick.
        last: The moment of the tick that last refreshed it; None if there was none.
        moment: The moment of this tick.

    >>> noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    >>> is_due("1h", noon, noon + timedelta(minutes=55)), is_due("1h", noon, noon + timedelta(minutes=61))
    (False, True)
    """
    if schedule is None:
        return False
    if schedule == ASSET:
        # It follows its sources: whatever made the tick happen, it looks whether they moved.
        return True
    if last is None:
        return True
    fires = next_due(schedule, last)
    return fires is not None and fires <= _utc(moment)


def next_due(schedule: str | None, after: datetime) -> datetime | None:
    """The first moment after another at which a schedule fires; None if the clock does not tell, or never.

    Raises ValueError if the text is no schedule, or the moment has no time zone.

    >>> next_due("0 6 * * mon", datetime(2026, 1, 1, tzinfo=timezone.utc)).isoformat()
    '2026-01-05T06:00:00+00:00'
    """
    after = _utc(after)
    if schedule is None or schedule == ASSET:
        return None
    if is_duration(schedule):
        length = parse_duration(schedule)
        return _EPOCH + ((after - _EPOCH) // length + 1) * length
    return _next_of_cron(as_cron(schedule), after)


def ticking(pipeline: str | None, tables: Iterable[str | None]) -> Ticking:
    """When a DAG has to tick so that each of its tables can keep its schedule.

    By the clock it is the fastest of them. Of several with the same period the pipeline's own stands, if it is one of
    them: then the DAG shows what its file says. The pipeline's schedule counts for nothing else, since it is already
    that of every table without one of its own; a tick in which no table can be due would be of no use. Only a pipeline
    without tables ticks at it.

    >>> ticking("1h", ["1h", "5m", None, "asset"])
    Ticking(clock='5m', asset=True)
    """
    found = list(tables) or [pipeline]
    clocks = {schedule for schedule in found if schedule is not None and schedule != ASSET}
    order = sorted(clocks, key=lambda one: (period(one), one != pipeline, len(one), one))
    return Ticking(order[0] if order else None, ASSET in found)


def _next_of_cron(cron: str, after: datetime) -> datetime | None:
    named, times = days_of(cron), _times(cron)
    day = after.date()
    for _ in range(_FAR_DAYS):
        if named(day):
            # Only on the first day can a time be over.
            for one in times:
                fires = datetime.combine(day, one)
                if fires > after:
                    return fires
        if day == date.max:
            return None
        day += timedelta(days=1)
    return None


@lru_cache(maxsize=256)
def _times(cron: str) -> tuple[time, ...]:
    """The times of a day at which a cron expression fires, in their order."""
    minutes, hours, *_ = cron_numbers(cron)
    return tuple(time(hour, minute, tzinfo=timezone.utc) for hour in sorted(hours) for minute in sorted(minutes))


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    utc = moment.astimezone(timezone.utc)
    # Airflow's moments are a kind of their own, whose differences do not take part in plain arithmetic.
    return datetime.combine(utc.date(), utc.time(), timezone.utc)
