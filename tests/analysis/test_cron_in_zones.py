"""Cron expressions on the clocks of time zones, judged minute by minute with `zoneinfo` alone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_trickle.analysis.due import is_due, next_due
from airflow_trickle.definition.schedules import cron_numbers, parse_duration
from airflow_trickle.definition.zones import zoned
from tests.analysis.test_due import HOURS, MINUTES, MONTH_DAYS, WEEK_DAYS, durations, fires
from tests.budgets import budget

UTC = timezone.utc
MINUTE = timedelta(minutes=1)
#: Gaps and overlaps of an hour by day and at midnight, of half an hour, of two hours, of a whole day; and none.
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "America/Sao_Paulo",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Asia/Kolkata",
    "UTC",
]
crons = st.tuples(
    st.sampled_from(MINUTES),
    st.sampled_from([*HOURS, "2", "0-3", "1-2", "*/2", "0-23"]),
    st.sampled_from(MONTH_DAYS),
    st.just("*"),
    st.sampled_from(WEEK_DAYS),
).map(" ".join)


@lru_cache
def changes(zone: str) -> list[datetime]:
    """The minutes from 2008 to 2027 at which the clock of a zone changes."""
    clock, found = ZoneInfo(zone), []
    hour = datetime(2008, 1, 1, tzinfo=UTC)
    while hour.year < 2027:
        if (hour + timedelta(hours=12)).astimezone(clock).utcoffset() != hour.astimezone(clock).utcoffset():
            minute = hour
            while minute.astimezone(clock).utcoffset() == hour.astimezone(clock).utcoffset():
                minute += timedelta(minutes=15)
            found.append(minute)
        hour += timedelta(hours=12)
    return found


@st.composite
def clocks(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and a moment about two days around a change of its clock."""
    zone = draw(st.sampled_from(ZONES))
    change = draw(st.sampled_from(changes(zone) or [datetime(2026, 3, 1, tzinfo=UTC)]))
    return zone, change + timedelta(minutes=draw(st.integers(-2000, 1500)), seconds=draw(st.integers(0, 59)))


def fires_in(cron: str, clock: ZoneInfo, minute: datetime) -> bool:
    """Whether a cron expression fires in a minute of UTC.

    Times that come twice: the second, or both if every hour fires. Times in a gap: as long after it as they lie in it.
    """
    shown = minute.astimezone(clock)
    local = shown.replace(tzinfo=None, fold=0)
    twice = local.replace(tzinfo=clock, fold=1).utcoffset() != local.replace(tzinfo=clock, fold=0).utcoffset()
    skipped_before = local.replace(tzinfo=clock).astimezone(UTC).astimezone(clock).replace(tzinfo=None) != local
    assert not skipped_before, "a clock shows no time that it skips"
    if fires(cron, local) and (shown.fold == 1 or not twice or len(cron_numbers(cron)[1]) == 24):
        return True
    for gap in (timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2), timedelta(days=1)):
        skipped = local - gap
        before, after = (skipped.replace(tzinfo=clock, fold=fold).utcoffset() for fold in (0, 1))
        assert before is not None
        assert after is not None
        if after - before == gap and fires(cron, skipped):
            return True
    return False


@given(crons, clocks(), st.integers(0, 2 * 1440))
@budget(2)
@example("30 2 * * *", ("Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC)), 1440)
@example("30 2 * * *", ("Europe/Berlin", datetime(2026, 10, 25, 0, 31, tzinfo=UTC)), 70)
@example("*/7 * * * *", ("Australia/Lord_Howe", datetime(2026, 4, 4, 14, 0, tzinfo=UTC)), 120)
@example("45,15 2,3 * * *", ("Europe/Berlin", datetime(2026, 3, 29, 0, 50, tzinfo=UTC)), 60)
@example("0 23 30 * *", ("Pacific/Apia", datetime(2011, 12, 30, 11, 0, tzinfo=UTC)), 1440)
def test_a_table_is_due_exactly_if_a_minute_that_fires_on_its_clock_lies_between(
    cron: str, clock: tuple[str, datetime], minutes: int
) -> None:
    zone, last = clock
    moment = last + timedelta(minutes=minutes)
    schedule = cron if zone == "UTC" else f"{cron} {zone}"
    minute, first = last.replace(second=0, microsecond=0) + MINUTE, None
    while minute <= moment and first is None:
        first = minute if fires_in(cron, ZoneInfo(zone), minute) else None
        minute += MINUTE
    assert is_due(schedule, last, moment) is (first is not None)
    if first is not None:
        assert next_due(schedule, last) == first


@given(durations, clocks())
@example("1d", ("Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC)))
def test_durations_are_exact_whatever_the_clock_does(duration: str, clock: tuple[str, datetime]) -> None:
    zone, after = clock
    schedule, length = zoned(duration, zone), parse_duration(duration)
    moment = next_due(schedule, after.astimezone(ZoneInfo(zone)))
    for _ in range(3):
        assert moment is not None
        # Multiples of it since 1970, in no zone.
        assert moment.timestamp() % length.total_seconds() == 0
        following = next_due(schedule, moment)
        assert following is not None
        assert following - moment == length
        moment = following


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        # 06:00 in Berlin is 05:00 UTC in winter and 04:00 in summer.
        ("0 6 * * * Europe/Berlin", "2026-03-28T05:00", ["2026-03-29T04:00", "2026-03-30T04:00"]),
        ("0 6 * * * Europe/Berlin", "2026-10-24T04:00", ["2026-10-25T05:00", "2026-10-26T05:00"]),
        ("@daily Europe/Berlin", "2026-03-28T12:00", ["2026-03-28T23:00", "2026-03-29T22:00"]),
        # 02:30 does not exist, and comes twice.
        ("30 2 * * * Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T01:30", "2026-03-30T00:30"]),
        ("30 2 * * * Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T01:30", "2026-10-26T01:30"]),
        ("30 * * * * Europe/Berlin", "2026-10-24T23:45", ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"]),
        ("@hourly Europe/Berlin", "2026-03-29T00:00", ["2026-03-29T01:00", "2026-03-29T02:00"]),
        ("0 0 L * * Asia/Tokyo", "2026-02-01T00:00", ["2026-02-27T15:00", "2026-03-30T15:00"]),
    ],
)
def test_when_a_schedule_fires(schedule: str, after: str, expected: list[str]) -> None:
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    for text in expected:
        found = next_due(schedule, moment)
        assert found == datetime.fromisoformat(text).replace(tzinfo=UTC)
        moment = found
