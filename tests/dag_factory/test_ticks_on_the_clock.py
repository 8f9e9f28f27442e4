"""What is due is told by the same clock by which Airflow makes runs."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from airflow.timetables.base import TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable, DeltaDataIntervalTimetable
from pendulum import instance

from airflow_trickle.analysis.due import is_due, next_due
from airflow_trickle.definition.schedules import is_duration, parse_duration

NOW = datetime(2026, 3, 4, 13, 37, 11, tzinfo=timezone.utc)


@pytest.mark.parametrize("schedule", ["5m", "7m", "1h30m", "11h", "*/7 * * * *", "0 6 * * mon", "@quarterly"])
def test_runs_end_when_the_schedule_fires_and_each_is_due(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = instance(NOW)
    monkeypatch.setattr("airflow.timetables.interval.utcnow", lambda: now)
    timetable = (
        DeltaDataIntervalTimetable(parse_duration(schedule))
        if is_duration(schedule)
        else CronDataIntervalTimetable(schedule, timezone="UTC")
    )
    start = instance(NOW - timedelta(days=400, minutes=3))
    restriction = TimeRestriction(earliest=start, latest=None, catchup=False)
    first = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
    assert first is not None
    end = first.data_interval.end
    assert next_due(schedule, end - timedelta(seconds=1)) == end
    second = timetable.next_dagrun_info(last_automated_data_interval=first.data_interval, restriction=restriction)
    assert second is not None
    assert next_due(schedule, end) == second.data_interval.end
    assert is_due(schedule, end, second.data_interval.end)


def test_runs_that_are_caught_up_start_anywhere_and_are_due_all_the_same() -> None:
    """Airflow counts durations from the start date then; every interval still holds one firing."""
    timetable = DeltaDataIntervalTimetable(timedelta(minutes=7))
    restriction = TimeRestriction(earliest=instance(NOW), latest=None, catchup=True)
    interval, last = None, None
    for _ in range(30):
        info = timetable.next_dagrun_info(last_automated_data_interval=interval, restriction=restriction)
        assert info is not None
        interval = info.data_interval
        assert is_due("7m", last, interval.end)
        last = interval.end
