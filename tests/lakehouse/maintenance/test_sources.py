"""Tables that others write: never touched, and a frontier that will be cut is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.maintenance.sources import frontier_warnings
from airflow_trickle.lakehouse.state import read_status
from tests.lakehouse.maintenance.world import maintained, read_up_to, snapshots_of, table_of

SOURCE, READER = "default.orders", "default.totals"


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    lake = open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    lake.catalog.create_namespace("default")
    rows = pa.table({"id": pa.array([1], pa.int64())})
    table = lake.catalog.create_table(SOURCE, schema=rows.schema)
    for _ in range(3):
        table.append(rows)
    return lake


def read(lake: Lakehouse, number: int) -> int:
    snapshot = table_of(lake, SOURCE).metadata.snapshots[number].snapshot_id
    read_up_to(lake, READER, {SOURCE: snapshot})
    return snapshot


def warnings(lake: Lakehouse, days: float = 0) -> list[str]:
    return frontier_warnings(lake, read_status(lake), clock.now() + timedelta(days=days))


def test_a_source_is_never_touched(lake: Lakehouse) -> None:
    read(lake, 2)
    before = table_of(lake, SOURCE).metadata_location
    maintained(lake)
    (found,) = maintained(lake, only=[SOURCE]).tables
    assert found.skipped == "it was not made by airflow-trickle; others maintain it"
    assert table_of(lake, SOURCE).metadata_location == before
    assert len(snapshots_of(lake, SOURCE)) == 3


def test_a_frontier_that_was_cut_is_told(lake: Lakehouse) -> None:
    snapshot = read(lake, 0)
    table_of(lake, SOURCE).maintenance.expire_snapshots().by_id(snapshot).commit()
    (told,) = warnings(lake)
    assert told.startswith(f"{READER} has read {SOURCE} up to snapshot {snapshot}, which is no longer there")
    assert maintained(lake).warnings == (told,)


def test_a_frontier_that_is_next_to_be_cut_is_told(lake: Lakehouse) -> None:
    read(lake, 0)
    assert warnings(lake) == []
    assert warnings(lake, days=3) == []
    (told,) = warnings(lake, days=4.5)
    assert "may be expired from" in told
    assert "432000000, which the format says where a source does not" in told
    assert "may be expired at any time" in warnings(lake, days=6)[0]


def test_the_settings_of_the_source_count(lake: Lakehouse) -> None:
    read(lake, 0)
    with table_of(lake, SOURCE).transaction() as change:
        change.set_properties({"history.expire.max-snapshot-age-ms": str(3600 * 1000)})
    (told,) = warnings(lake)
    assert "(history.expire.max-snapshot-age-ms is 3600000, as the source says)" in told
    with table_of(lake, SOURCE).transaction() as change:
        change.set_properties({"history.expire.min-snapshots-to-keep": "3"})
    assert warnings(lake) == []


def test_the_current_snapshot_and_tagged_ones_are_safe(lake: Lakehouse) -> None:
    read(lake, 2)
    assert warnings(lake, days=30) == []
    snapshot = read(lake, 0)
    table_of(lake, SOURCE).manage_snapshots().create_tag(snapshot, "keep").commit()
    assert warnings(lake, days=30) == []
