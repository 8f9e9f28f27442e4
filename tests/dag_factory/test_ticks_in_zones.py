"""Runs of a DAG through changes of the clock, as a backfill makes them: the tables that are due in each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import DataInterval, TimeRestriction
from pendulum import instance
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import Frontier, write_status
from airflow_trickle.plan.steps import PinStep

UTC = timezone.utc
PIPELINE = """\
pipeline: clocks
timezone: {zone}
schedule: "@hourly"
start_date: 2025-01-01
catchup: true
sources: [s]
stream_tables:
  hourly: {{query: SELECT x FROM s}}
  nightly: {{query: SELECT x FROM s, schedule: 30 2 * * *}}
  daily: {{query: SELECT x FROM s, schedule: "@daily"}}
  every_six_hours: {{query: SELECT x FROM s, schedule: 6h}}
"""


def intervals(dag: DAG, start: datetime, days: int) -> list[DataInterval]:
    """The data intervals of a backfill, as the scheduler finds them in a DAG that was stored."""
    timetable = DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable
    restriction = TimeRestriction(earliest=instance(start), latest=instance(start).add(days=days), catchup=True)
    found: list[DataInterval] = []
    last = None
    while info := timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction):
        last = info.data_interval
        found.append(last)
    return found


def due_at(home: Path, step: PinStep, moments: list[datetime]) -> dict[str, list[datetime]]:
    """At which of the moments each table is due, if each refresh that is due succeeds."""
    due = defaultdict(list)
    with open_lakehouse("trickle", uri=f"sqlite:///{home}/c.db", warehouse=f"file://{home}/w") as lake:
        for moment in moments:
            tick = pin(lake, step, f"clocks/{moment.isoformat()}", moment, scheduled=True)
            assert (tick.as_of, tick.effective_at) == (moment, moment)
            with lake.database.transaction() as connection:
                for identifier in sorted(step.strata):
                    if identifier in tick.not_due:
                        continue
                    name = identifier.removeprefix("default.")
                    due[name].append(moment)
                    values = {"frontier": Frontier({}, {}), "effective_at": moment}
                    write_status(lake, connection, identifier, name=name, pipeline="clocks", **values)
    return due


@pytest.mark.parametrize(
    ("zone", "day", "nightly"),
    [
        # 02:30 does not exist on that day, and comes twice on the other: the run is the one behind the gap, and the
        # one of the second 02:30.
        ("Europe/Berlin", "2025-03-30", ["2025-03-29T01:30", "2025-03-30T01:30", "2025-03-31T00:30"]),
        ("Europe/Berlin", "2025-10-26", ["2025-10-25T00:30", "2025-10-26T01:30", "2025-10-27T01:30"]),
        ("America/New_York", "2025-03-09", ["2025-03-08T07:30", "2025-03-09T07:30", "2025-03-10T06:30"]),
        ("Asia/Tokyo", "2025-03-30", ["2025-03-28T17:30", "2025-03-29T17:30", "2025-03-30T17:30"]),
    ],
)
def test_a_backfill_through_a_change_of_the_clock_refreshes_each_table_when_it_is_due(
    write: Callable[..., Path], tmp_path: Path, zone: str, day: str, nightly: list[str]
) -> None:
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("default")
    catalog.create_table("default.s", schema=pa.schema([("x", pa.int64())]))
    folder = write({"clocks.yaml": PIPELINE.format(zone=zone)})
    (dag,) = build_dags(folder, {}, strict=True)
    clock = ZoneInfo(zone)
    midnight = datetime.fromisoformat(day).replace(tzinfo=clock) - timedelta(days=1)
    runs = intervals(dag, midnight.astimezone(UTC), 3)
    # Each ends where the next one begins, whatever the clock does in between.
    assert all(left.end == right.start for left, right in pairwise(runs))
    assert {(run.end - run.start).total_seconds() for run in runs} == {3600}

    due = due_at(tmp_path, dag.get_task("pin").step, [run.end for run in runs])

    # A table that was never refreshed is due at once.
    first = runs[0].end
    assert due["hourly"] == [run.end for run in runs]
    # The first run whose end is not before the moment at which the schedule fires.
    hours = [(datetime.fromisoformat(text) + timedelta(minutes=59)).replace(minute=0, tzinfo=UTC) for text in nightly]
    assert due["nightly"] == [first, *(hour for hour in hours if hour > first)]
    midnights = [moment for moment in due["hourly"] if moment.astimezone(clock).hour == 0]
    assert due["daily"] == [first, *(moment for moment in midnights if moment > first)]
    sixes = [moment for moment in due["hourly"] if moment.astimezone(UTC).hour % 6 == 0]
    assert due["every_six_hours"] == [first, *(moment for moment in sixes if moment > first)]
