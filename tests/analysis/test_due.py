"""Which tables a scheduled tick refreshes."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta, timezone

import pytest
from croniter import CroniterBadDateError, croniter
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_trickle.analysis.due import Ticking, is_due, next_due, ticking
from airflow_trickle.definition.schedules import LAST_DAY, PRESETS, cron_numbers, parse_duration

NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

MINUTES = ["*", "0", "*/7", "5,35", "10-20/3", "59"]
HOURS = ["*", "0", "*/5", "6-8", "23"]
MONTH_DAYS = ["*", "1", "*/10", "15,l", "29-31", "1-31", "31"]
MONTHS = ["*", "2", "*/5", "jan,dec"]
WEEK_DAYS = ["*", "mon", "0", "7", "1-5", "0-7", "*/3"]

crons = st.tuples(*(st.sampled_from(field) for field in (MINUTES, HOURS, MONTH_DAYS, MONTHS, WEEK_DAYS))).map(" ".join)
durations = st.sampled_from(["30s", "1m", "5m", "7m", "1h30m", "1h", "1d", "90m", "11h"])
moments = st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)).map(lambda one: one.replace(tzinfo=timezone.utc))


def fires(cron: str, minute: datetime) -> bool:
    """The rule of cron, word for word, for one minute."""
    minutes, hours, month_days, months, week_days = cron_numbers(cron)
    _, _, by_month, _, by_week = cron.split()
    last = calendar.monthrange(minute.year, minute.month)[1]
    in_month = minute.day in month_days or (LAST_DAY in month_days and minute.day == last)
    in_week = minute.isoweekday() in week_days or minute.isoweekday() % 7 in week_days
    # A field that names every day is like a star beside a field with a star in it: so has it what Airflow runs DAGs by.
    every = ("*" in by_week and by_month == "1-31") or ("*" in by_month and by_week == "0-7")
    stars = "*" in (by_month, by_week) or every
    day = in_month and in_week if stars else in_month or in_week
    return minute.minute in minutes and minute.hour in hours and minute.month in months and day


@given(crons, moments, st.integers(0, 3 * 1440), st.integers(0, 59))
def test_a_cron_table_is_due_exactly_if_a_minute_that_fires_lies_between(
    cron: str, last: datetime, minutes: int, seconds: int
) -> None:
    moment = last + timedelta(minutes=minutes, seconds=seconds)
    minute = last.replace(second=0, microsecond=0)
    between = False
    while minute <= moment:
        between = between or (minute > last and fires(cron, minute))
        minute += timedelta(minutes=1)
    assert is_due(cron, last, moment) is between


@given(durations, moments, st.integers(0, 2 * 86400))
def test_a_table_with_a_duration_is_due_exactly_if_a_multiple_of_it_lies_between(
    duration: str, last: datetime, seconds: int
) -> None:
    moment, length = last + timedelta(seconds=seconds), int(parse_duration(duration).total_seconds())
    first = int((last - EPOCH).total_seconds()) // length * length
    multiples = (EPOCH + timedelta(seconds=n) for n in range(first, first + seconds + 2 * length, length))
    assert is_due(duration, last, moment) is any(last < one <= moment for one in multiples)


@given(st.one_of(crons, st.sampled_from(PRESETS)), moments)
@example("* * 31 2 mon", datetime(2024, 1, 1, tzinfo=timezone.utc))
def test_cron_fires_when_airflow_lets_a_dag_run(cron: str, after: datetime) -> None:
    text = {"@quarterly": "0 0 1 */3 *"}.get(cron, cron)
    found = next_due(cron, after)
    try:
        assert found == croniter(text, after).get_next(datetime)
    except CroniterBadDateError:  # 31 February
        _, _, by_month, _, by_week = text.split()
        if "*" in (by_month, by_week):
            assert found is None
        else:
            # It gives up although the day of the week comes; the test above judges every minute of these.
            assert found is not None
            assert fires(cron, found)


@given(st.one_of(crons, durations), st.lists(moments, min_size=1, max_size=6, unique=True))
def test_a_table_that_follows_its_schedule_misses_nothing_and_runs_at_most_once_a_firing(
    schedule: str, ticks: list[datetime]
) -> None:
    """Whenever ticks come: after each of them no firing lies behind the table, and a run always has one of its own."""
    last = min(ticks)
    for moment in sorted(ticks):
        due = is_due(schedule, last, moment)
        fired = next_due(schedule, last)
        assert due is (fired is not None and fired <= moment)
        last = moment if due else last
        upcoming = next_due(schedule, last)
        assert upcoming is None or upcoming > moment


@pytest.mark.parametrize(
    ("schedule", "last", "moment", "due"),
    [
        ("5m", NOON, NOON + timedelta(minutes=5), True),
        ("5m", NOON, NOON + timedelta(minutes=4, seconds=59), False),
        # On the clock, not five minutes after the last run.
        ("5m", NOON + timedelta(minutes=4), NOON + timedelta(minutes=5), True),
        ("5m", NOON, NOON, False),
        # A tick of an earlier moment, by hand or in a backfill.
        ("5m", NOON, NOON - timedelta(days=1), False),
        # A DAG that ticks every five minutes: what fired at :07 is due at :10, once.
        ("0,7,14 * * * *", NOON, NOON + timedelta(minutes=5), False),
        ("0,7,14 * * * *", NOON + timedelta(minutes=5), NOON + timedelta(minutes=10), True),
        ("0,7,14 * * * *", NOON + timedelta(minutes=10), NOON + timedelta(minutes=15), True),
        ("0,7,14 * * * *", NOON + timedelta(minutes=15), NOON + timedelta(minutes=20), False),
        # Far behind is due once.
        ("@daily", NOON - timedelta(days=300), NOON, True),
        ("@daily", None, NOON, True),
        ("0 0 29 2 *", None, NOON, True),
        ("asset", NOON, NOON, True),
        ("asset", None, NOON, True),
        (None, None, NOON, False),
        (None, NOON, NOON + timedelta(days=9), False),
        # Whatever zone a moment is told in.
        ("1h", NOON, datetime(2026, 1, 1, 14, 0, tzinfo=timezone(timedelta(hours=1))), True),
        ("1h", NOON, datetime(2026, 1, 1, 13, 59, tzinfo=timezone(timedelta(hours=1))), False),
    ],
)
def test_when_a_table_is_due(schedule: str | None, last: datetime | None, moment: datetime, due: bool) -> None:
    assert is_due(schedule, last, moment) is due


def test_the_next_firing_may_be_years_away() -> None:
    assert next_due("0 0 29 2 *", datetime(2096, 3, 1, tzinfo=timezone.utc)) == datetime(
        2104, 2, 29, tzinfo=timezone.utc
    )


@pytest.mark.parametrize("schedule", [None, "asset"])
def test_what_the_clock_does_not_tell_has_no_next_firing(schedule: str | None) -> None:
    assert next_due(schedule, NOON) is None


def test_a_moment_without_a_zone_and_a_text_that_is_no_schedule_are_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        is_due("5m", datetime(2026, 1, 1), NOON)
    with pytest.raises(ValueError, match="has no time zone"):
        next_due("5m", datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="five fields"):
        next_due("calculated", NOON)


# --- when the DAG ticks ---


@pytest.mark.parametrize(
    ("pipeline", "tables", "expected"),
    [
        ("1h", ["1h", "1h"], Ticking("1h")),
        ("1h", ["1h", "5m"], Ticking("5m")),
        ("1h", ["5m", "7m", "0 6 * * *"], Ticking("5m")),
        # No table has the pipeline's own: ticks at which nothing is due would be of no use.
        ("5m", ["1h", "@daily"], Ticking("1h")),
        # With the same period, the DAG shows what its file says.
        ("0 * * * *", ["1h", "0 * * * *", "30 * * * *"], Ticking("0 * * * *")),
        (None, ["@hourly", "60m"], Ticking("60m")),
        (None, [None, "5m"], Ticking("5m")),
        (None, [None, None], Ticking(None)),
        ("5m", [], Ticking("5m")),
        ("asset", ["asset"], Ticking(None, asset=True)),
        ("asset", ["asset", "1h"], Ticking("1h", asset=True)),
        ("asset", [], Ticking(None, asset=True)),
    ],
)
def test_a_dag_ticks_at_the_fastest_of_its_tables(
    pipeline: str | None, tables: list[str | None], expected: Ticking
) -> None:
    assert ticking(pipeline, tables) == expected


@given(st.lists(durations, min_size=1, max_size=4), st.lists(durations, min_size=1, max_size=1))
def test_no_table_waits_longer_than_one_tick_for_its_firing(schedules: list[str], pipeline: list[str]) -> None:
    clock = ticking(pipeline[0], schedules).clock
    assert clock is not None
    step = parse_duration(clock)
    for schedule in schedules:
        fired = next_due(schedule, NOON)
        assert fired is not None
        tick = NOON
        while not is_due(schedule, NOON, tick):
            tick = next_due(clock, tick) or tick
        assert fired <= tick < fired + step
