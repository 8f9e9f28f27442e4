"""Time zones of schedules and start dates."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.definition.zones import check_timezone, start_moment, without_zone, zoned


@pytest.mark.parametrize(
    ("text", "name"),
    [("Europe/Berlin", "Europe/Berlin"), (" europe/berlin ", "Europe/Berlin"), ("utc", "UTC"), ("CET", "CET")],
)
def test_a_zone_is_kept_in_its_normal_spelling(text, name):
    assert check_timezone(text) == name


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Berlin", "Did you mean Europe/Berlin?"),
        ("Europe/Berln", "Did you mean Europe/Berlin?"),
        ("new york", "Did you mean America/New_York?"),
        ("+02:00", ""),
        ("", ""),
    ],
)
def test_what_is_no_zone_is_refused_with_the_one_that_was_meant(text, hint):
    with pytest.raises(ValueError, match=f"^{re.escape(hint)}$"):
        check_timezone(text)


@pytest.mark.parametrize("schedule", ["0 6 * * mon", "@daily", "5m", "asset", "calculated", None])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_zone_stands_behind_what_it_has_a_meaning_for(schedule, zone):
    text = zoned(schedule, zone)
    if schedule in ("0 6 * * mon", "@daily"):
        assert without_zone(text) == (schedule, zone)
    else:
        assert text == schedule


@given(st.datetimes(datetime(2015, 1, 1), datetime(2027, 1, 1)), st.sampled_from(["Europe/Berlin", "Asia/Tokyo"]))
def test_a_start_date_without_a_zone_is_one_of_the_pipeline(local, zone):
    clock = ZoneInfo(zone)
    found = datetime.fromisoformat(start_moment(local.replace(microsecond=0).isoformat(), zone))
    before, after = (local.replace(microsecond=0, tzinfo=clock, fold=fold) for fold in (0, 1))
    # In a gap it is moved behind it; of two, the second is meant.
    gap = after.utcoffset() > before.utcoffset()
    assert found.timestamp() == (before if gap else after).timestamp()
    assert start_moment("2026-07-01T00:00:00+05:00", zone) == "2026-07-01T00:00:00+05:00"
