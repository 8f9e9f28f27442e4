"""Which tables a scheduled tick refreshes.

A schedule fires at moments of the clock: a duration at its multiples since 1970 (``5m`` at :00, :05, …), exactly that
long after each other in every time zone, as Airflow's timetables have it; a cron expression when it says, on the clock
of its time zone. A table is due if its schedule has fired since the tick that refreshed it last. So nothing is lost
where schedules do not divide each other: what fires between two ticks is due at the next one, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import pendulum
from pendulum import DateTime

from airflow_trickle.analysis.cron import as_cron, next_firing
from airflow_trickle.analysis.schedules import period
from airflow_trickle.definition.schedules import ASSET, is_duration, parse_duration


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

    >>> noon = pendulum.datetime(2026, 1, 1, 12)
    >>> is_due("1h", noon, noon.add(minutes=55)), is_due("1h", noon, noon.add(minutes=61))
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
    """The first moment after another at which a schedule fires, in UTC; None if the clock does not tell, or never.

    Raises ValueError if the text is no schedule, or the moment has no time zone.

    >>> next_due("0 6 * * mon", pendulum.datetime(2026, 1, 1)).isoformat()
    '2026-01-05T06:00:00+00:00'
    """
    after = _utc(after)
    if schedule is None or schedule == ASSET:
        return None
    if is_duration(schedule):
        length = int(parse_duration(schedule).total_seconds())
        return pendulum.from_timestamp((after.int_timestamp // length + 1) * length)
    return next_firing(*as_cron(schedule), after)


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


def _utc(moment: datetime) -> DateTime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone")
    return pendulum.instance(moment).in_timezone(pendulum.UTC)
