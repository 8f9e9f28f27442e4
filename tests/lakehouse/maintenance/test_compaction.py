"""Compaction: fewer files, the same rows, and nothing that a reader takes for a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.table.snapshots import Operation

from airflow_trickle.engine.maintenance import compaction
from airflow_trickle.engine.maintenance.maintain import Rules, maintain
from airflow_trickle.engine.published import is_ours
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.leases import Lease, release, try_acquire
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import read_status
from tests.lakehouse.maintenance.world import (
    POLICY,
    at_once,
    maintained_table,
    publish,
    read_up_to,
    rows_at,
    snapshots_of,
    table_of,
)
from tests.outside_readers import duckdb_rows

NAME = "default.t"
KEEP_ALL = replace(POLICY, keep_snapshots=1000)


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    return open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")


def current(lake: Lakehouse) -> int:
    snapshot = table_of(lake, NAME).metadata.current_snapshot_id
    assert snapshot is not None
    return snapshot


def numbers_of(paths: list[str]) -> list[int]:
    return sorted(n for path in paths for n in pq.read_table(spark_path(path))["epoch"].to_pylist())


def change(lake: Lakehouse, before: int, after: int) -> tuple[list[int], list[int]]:
    """The rows that a reader takes for added and removed, where no delete file has a say."""
    found = file_changes(table_of(lake, NAME), before, after)
    return numbers_of([one.file_path for one in found.added]), numbers_of([one.file_path for one in found.removed])


def test_small_files_become_one_and_the_rows_stay(lake: Lakehouse) -> None:
    for number in range(8):
        publish(lake, NAME, [number])
    before = duckdb_rows(table_of(lake, NAME).metadata_location)

    found = maintained_table(lake, NAME, KEEP_ALL)

    table = table_of(lake, NAME)
    assert (found.files_compacted, found.files_written) == (8, 1)
    assert len(files_of(table, table.metadata.current_snapshot_id)) == 1
    assert duckdb_rows(table.metadata_location) == before
    assert rows_at(lake, NAME) == list(range(8))


def test_the_snapshot_is_a_replace_that_says_what_the_one_before_said(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number], frontier={"default.s": 7}) for number in range(8)]
    maintained_table(lake, NAME, KEEP_ALL)
    snapshot = table_of(lake, NAME).metadata.current_snapshot()
    before = table_of(lake, NAME).metadata.snapshot_by_id(ids[-1])
    assert snapshot is not None
    assert snapshot.summary is not None
    assert before is not None
    assert before.summary is not None
    assert snapshot.summary.operation is Operation.REPLACE
    assert is_ours(snapshot)
    for key in ("trickle.frontier", "trickle.epoch", "trickle.tick", "trickle.effective-at", "trickle.definition"):
        assert snapshot.summary[key] == before.summary[key]
    assert snapshot.summary["trickle.rows-inserted"] == "0"
    assert (snapshot.summary["total-records"], snapshot.summary["total-data-files"]) == ("8", "1")


def test_rows_that_were_deleted_by_position_do_not_come_back(lake: Lakehouse) -> None:
    for number in range(0, 12, 3):
        publish(lake, NAME, [number, number + 1, number + 2])
    publish(lake, NAME, [], without=(1, 4, 9))
    publish(lake, NAME, [], without=(2,))
    left = [n for n in range(12) if n not in (1, 2, 4, 9)]
    assert rows_at(lake, NAME) == left
    maintained_table(lake, NAME, KEEP_ALL)
    table = table_of(lake, NAME)
    (file,) = files_of(table, table.metadata.current_snapshot_id).values()
    assert file.deletes == ()
    assert rows_at(lake, NAME) == left
    assert duckdb_rows(table.metadata_location) == sorted([(n, f"row {n}") for n in left], key=repr)


def test_a_reader_sees_no_change(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(8)]
    maintained_table(lake, NAME, KEEP_ALL)
    assert file_changes(table_of(lake, NAME), ids[-1], current(lake)).nothing


def test_a_reader_from_before_sees_only_what_changed_since(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(8)]
    maintained_table(lake, NAME, KEEP_ALL)
    last = publish(lake, NAME, [8])
    for number in range(9, 14):
        publish(lake, NAME, [number])
    maintained_table(lake, NAME, KEEP_ALL)
    end = publish(lake, NAME, [14])
    assert change(lake, ids[5], last) == ([6, 7, 8], [])
    assert change(lake, ids[7], end) == (list(range(8, 15)), [])
    assert change(lake, last, end) == (list(range(9, 15)), [])


def test_rows_that_went_around_a_compaction_are_told(lake: Lakehouse) -> None:
    first = publish(lake, NAME, list(range(6)))
    for number in range(6, 12):
        publish(lake, NAME, [number])
    maintained_table(lake, NAME, KEEP_ALL)
    end = publish(lake, NAME, [99], rewrite=True)
    found = file_changes(table_of(lake, NAME), first, end)
    net: dict[int, int] = {}
    for weight, files in ((1, found.added), (-1, found.removed)):
        for number in numbers_of([one.file_path for one in files]):
            net[number] = net.get(number, 0) + weight
    assert {number: weight for number, weight in net.items() if weight} == {99: 1, **{n: -1 for n in range(6)}}


def test_what_a_reader_needs_to_pass_over_a_compaction_is_not_expired(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(8)]
    read_up_to(lake, "other.reader", {NAME: ids[2]})
    maintained_table(lake, NAME)
    for number in range(8, 16):
        publish(lake, NAME, [number])
    maintained_table(lake, NAME)
    end = publish(lake, NAME, [16])
    assert ids[2] in snapshots_of(lake, NAME)
    assert change(lake, ids[2], end) == (list(range(3, 17)), [])


def test_the_status_is_that_of_before_with_the_new_snapshot(lake: Lakehouse) -> None:
    for number in range(8):
        publish(lake, NAME, [number], frontier={"default.s": 7})
    before = read_status(lake)[NAME]
    maintained_table(lake, NAME, KEEP_ALL)
    after = read_status(lake)[NAME]
    assert after.snapshot_id == current(lake) != before.snapshot_id
    location = table_of(lake, NAME).metadata_location
    assert after == replace(before, snapshot_id=after.snapshot_id, metadata_location=location)


def test_while_a_reader_is_being_refreshed_nothing_is_compacted(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(8)]
    read_up_to(lake, "other.reader", {NAME: ids[-1]})
    lease = try_acquire(lake, "other.reader", "tick q/1")
    assert isinstance(lease, Lease)
    found = maintained_table(lake, NAME, KEEP_ALL)
    assert found.skipped == "not compacted: a table that reads it is being refreshed"
    assert current(lake) == ids[-1]
    release(lake, lease)
    assert maintained_table(lake, NAME, KEEP_ALL).files_compacted == 8


def test_few_small_files_are_left_as_they_are(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(3)]
    assert maintained_table(lake, NAME, KEEP_ALL).files_compacted == 0
    assert current(lake) == ids[-1]


def test_a_second_run_finds_nothing_to_do(lake: Lakehouse) -> None:
    for number in range(8):
        publish(lake, NAME, [number])
    maintained_table(lake, NAME)
    location = table_of(lake, NAME).metadata_location
    found = maintained_table(lake, NAME)
    assert (found.files_compacted, found.snapshots_expired, found.files_won) == (0, 0, 0)
    assert table_of(lake, NAME).metadata_location == location


def test_rows_are_sorted_by_the_columns_of_the_definition(lake: Lakehouse) -> None:
    for number in (5, 3, 9, 1, 7):
        publish(lake, NAME, [number])
    with at_once():
        maintain(lake, Rules(KEEP_ALL, cluster_by={NAME: ("EPOCH", "gone_since")}))
    table = table_of(lake, NAME)
    (path,) = files_of(table, table.metadata.current_snapshot_id)
    assert pq.read_table(spark_path(path))["epoch"].to_pylist() == [1, 3, 5, 7, 9]


def test_rows_that_do_not_add_up_are_not_published(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(8)]
    monkeypatch.setattr(compaction, "arranged_rows", lambda rows, _target: [rows.slice(1)])
    with at_once():
        (found,) = maintain(lake, Rules(KEEP_ALL)).tables
    assert found.error is not None
    assert "compaction read 8 rows and wrote 7" in found.error
    assert current(lake) == ids[-1]
    assert rows_at(lake, NAME) == list(range(8))
