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
#: Years of runs, one by one.
pytestmark = pytest.mark.slow


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


#: The last three: every hour, where the clock moves by whole hours. Not here: several times in an hour that is skipped,
#: but not in every hour, of which Airflow leaves out some.
CRONS = ["0 6,18 * * *", "30 2 * * *", "45 1 * * sun", "0 3 * * *", "0 0 L * *", "@weekly"]
CRONS += ["@hourly", "30 * * * *", "5-50/15 0-23 * * *"]


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("Europe/Berlin", ("2018-03-24", "2018-10-27")),
        ("America/Sao_Paulo", ("2018-02-17", "2018-11-03")),
        ("Australia/Lord_Howe", ("2018-03-31", "2018-10-06")),
    ],
)
def test_runs_end_when_the_schedule_fires_through_changes_of_the_clock(zone: str, days: tuple[str, str]) -> None:
    """What a backfill replays: intervals without a gap or an overlap, each of which ends as the table is due."""
    for cron in CRONS if zone != "Australia/Lord_Howe" else CRONS[:6]:
        timetable = CronDataIntervalTimetable(cron, timezone=zone)
        for day in days:
            start = instance(datetime.fromisoformat(day).replace(tzinfo=timezone.utc))
            restriction = TimeRestriction(earliest=start, latest=start.add(days=2), catchup=True)
            interval = None
            while info := timetable.next_dagrun_info(last_automated_data_interval=interval, restriction=restriction):
                assert interval is None or info.data_interval.start == interval.end
                interval = info.data_interval
                assert next_due(f"{cron} {zone}", interval.start) == interval.end, (cron, zone)
                assert not is_due(f"{cron} {zone}", interval.start, interval.end - timedelta(seconds=1))
