"""Time zones of schedules and start dates."""

from __future__ import annotations

from airflow_trickle.definition.schedules import ASSET, CALCULATED, is_duration
from airflow_trickle.definition.words import choice_of, nearest

#: What holds where nobody names another.
UTC = "UTC"


def check_timezone(text: str) -> str:
    """The name of a time zone as the IANA database spells it; raises ValueError with a hint, or "".

    >>> check_timezone("europe/berlin")
    'Europe/Berlin'
    """
    # The command line needs it for few of its commands.
    import pendulum

    known = sorted(pendulum.timezones())
    found = choice_of(text.strip(), known)
    if found is None:
        cities = {name.rpartition("/")[2]: name for name in known}
        word = text.strip().replace(" ", "_")
        near = nearest(word, known) or cities.get(nearest(word, cities) or "")
        raise ValueError(f"Did you mean {near}?" if near else "")
    return found


def zoned(schedule: str | None, zone: str) -> str | None:
    """A schedule with its time zone behind it; a duration and a schedule in UTC stay as they are.

    >>> zoned("0 6 * * *", "Europe/Berlin"), zoned("5m", "Europe/Berlin"), zoned("@daily", "UTC")
    ('0 6 * * * Europe/Berlin', '5m', '@daily')
    """
    if schedule is None or zone == UTC or schedule in (ASSET, CALCULATED) or is_duration(schedule):
        return schedule
    return f"{schedule} {zone}"


def without_zone(schedule: str) -> tuple[str, str]:
    """A schedule as it was written, and its time zone.

    >>> without_zone("0 6 * * * Europe/Berlin"), without_zone("@daily")
    (('0 6 * * *', 'Europe/Berlin'), ('@daily', 'UTC'))
    """
    words = schedule.split()
    own = 1 if words[0].startswith("@") else 5
    return (" ".join(words[:own]), words[own]) if len(words) > own else (schedule, UTC)


def start_moment(start_date: str, zone: str) -> str:
    """A start date as a moment of its pipeline's time zone, if it names none itself.

    A time that the clock skips is moved behind the gap; of one that comes twice it is the second.

    >>> start_moment("2026-07-01T00:00:00", "Europe/Berlin"), start_moment("2026-07-01T00:00:00", "UTC")
    ('2026-07-01T00:00:00+02:00', '2026-07-01T00:00:00+00:00')
    """
    import pendulum

    return pendulum.parse(start_date, tz=zone).isoformat()  # type: ignore[union-attr]
