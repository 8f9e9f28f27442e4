"""Schedules and dates as text."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.definition.schedules import (
    PRESETS,
    check_schedule,
    check_start_date,
    is_duration,
    parse_duration,
    same_schedule,
)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("1h30m", timedelta(minutes=90)),
        ("1d", timedelta(days=1)),
        ("1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("90m", timedelta(minutes=90)),
    ],
)
def test_a_duration_is_read(text, length):
    assert parse_duration(text) == length
    assert is_duration(text)


@pytest.mark.parametrize("text", ["", "5", "m", "30m1h", "5 m", "-5m", "1.5h", "0s", "0h0m", "5M", "٣m"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)
    assert not is_duration(text)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("5m", "5m"),
        (" 1H30m ", "1h30m"),
        ("@Hourly", "@hourly"),
        ("*/5  * * * *", "*/5 * * * *"),
        ("0 6 * * mon-fri", "0 6 * * mon-fri"),
        ("0 0 L * *", "0 0 L * *"),
        ("15,45 0-23/2 1 JAN,jul 7", "15,45 0-23/2 1 JAN,jul 7"),
        ("0 0 31 * *", "0 0 31 * *"),
    ],
)
def test_a_schedule_is_kept_in_its_normal_spelling(text, normal):
    assert check_schedule(text) == normal


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("* * * *", "a cron expression has five fields, this has 4"),
        ("60 * * * *", r"'60' is not a minute \(0-59\)"),
        ("* * 0 * *", r"'0' is not a day of the month \(1-31\)"),
        ("* * * foo *", r"'foo' is not a month \(1-12 or jan-dec\)"),
        ("* * * * 8", r"'8' is not a day of the week \(0-7 or sun-sat\)"),
        ("*/0 * * * *", r"'\*/0' is not a minute: the step after '/' must be a number of at least 1"),
        ("30-10 * * * *", "'30-10' is not a minute: the range runs backwards"),
        ("5/10 * * * *", "'5/10' is not a minute: a step needs a range, such as 0-59/10"),
        ("0 0 30 2 *", "no month of those has such a day"),
        ("@often", "there is no such preset"),
        ("often", "'often' is not a duration"),
        ("0s", "'0s' is a duration of zero"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=reason):
        check_schedule(text)


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low - 1, high + 1).map(str)
    part = st.one_of(
        st.just("*"),
        number,
        st.tuples(number, number).map("-".join),
        st.tuples(st.just("*"), number).map("/".join),
    )
    return st.lists(part, min_size=1, max_size=2).map(",".join)


@given(st.tuples(_field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 7)).map(" ".join))
def test_airflow_runs_every_cron_expression_that_is_accepted(text):
    croniter = pytest.importorskip("croniter")
    try:
        check_schedule(text)
    except ValueError:
        return
    assert croniter.croniter(text, datetime(2026, 1, 1)).get_next(datetime) > datetime(2026, 1, 1)


@pytest.mark.parametrize("preset", PRESETS)
def test_airflow_knows_every_preset(preset):
    presets = pytest.importorskip("airflow.timetables._cron")
    assert preset in presets.cron_presets


def test_schedules_are_the_same_if_they_tick_together():
    assert same_schedule("60m", "1h")
    assert same_schedule(None, None)
    assert same_schedule("@daily", "@daily")
    assert not same_schedule("5m", None)
    assert not same_schedule("5m", "*/5 * * * *")


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-01-31", "2026-01-31T00:00:00"),
        ("2026-01-31T06:00", "2026-01-31T06:00:00"),
        ("2026-01-31 06:00:05Z", "2026-01-31T06:00:05+00:00"),
        ("2026-01-31T06:00:00+01:00", "2026-01-31T06:00:00+01:00"),
        ("2026-01-31t06:00:00.5 -03:30", "2026-01-31T06:00:00-03:30"),
    ],
)
def test_a_start_date_keeps_the_zone_that_it_names(text, iso):
    assert check_start_date(text) == iso


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30", "2026-1-1", "31.01.2026", "2026-01-31T25:00"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        check_start_date(text)
