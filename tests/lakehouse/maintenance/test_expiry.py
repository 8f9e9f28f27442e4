"""Expiry: what nobody needs goes, with its files; what anybody needs stays."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_trickle import clock
from airflow_trickle.engine.maintenance import maintain as maintaining
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.files import found_in, spark_path
from airflow_trickle.lakehouse.leases import Lease, try_acquire
from airflow_trickle.lakehouse.maintenance import expiry
from airflow_trickle.lakehouse.maintenance.expiry import unneeded_files
from airflow_trickle.lakehouse.state import read_status
from tests.lakehouse.maintenance.world import (
    POLICY,
    at_once,
    maintained,
    maintained_table,
    pinned,
    publish,
    read_up_to,
    rows_at,
    snapshots_of,
    table_of,
)
from tests.outside_readers import duckdb_rows

NAME = "default.t"
ALONE = replace(POLICY, compact=False)


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    return open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")


def files(lake: Lakehouse, identifier: str = NAME) -> set[str]:
    table = table_of(lake, identifier)
    return {one.location for one in found_in(table.io, table.metadata.location) if not one.is_folder}


def test_old_snapshots_go_with_the_files_that_only_they_name(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number], rewrite=True) for number in range(6)]
    before = len(files(lake))

    found = maintained_table(lake, NAME, ALONE)

    assert snapshots_of(lake, NAME) == set(ids[-2:])
    assert (found.snapshots, found.snapshots_expired) == (2, 4)
    # Of each state: a data file, one or two manifests, a manifest list.
    assert found.files_removed >= 12
    assert found.bytes_removed > 0
    assert len(files(lake)) == before - found.files_removed + 1  # and the new metadata file
    assert rows_at(lake, NAME) == [5]
    assert rows_at(lake, NAME, ids[-2]) == [4]
    assert sum(1 for one in Path(spark_path(table_of(lake, NAME).metadata.location), "data").iterdir()) == 2


def test_files_that_a_kept_snapshot_shares_with_an_expired_one_stay(lake: Lakehouse) -> None:
    # So many that their manifests are merged: those that are gone then list files that others list too.
    ids = [publish(lake, NAME, [number]) for number in range(23)]
    maintained_table(lake, NAME, ALONE)
    assert rows_at(lake, NAME) == list(range(23))
    assert rows_at(lake, NAME, ids[-2]) == list(range(22))
    assert duckdb_rows(table_of(lake, NAME).metadata_location) == sorted(
        [(number, f"row {number}") for number in range(23)], key=repr
    )


def test_what_a_reader_of_another_pipeline_has_read_last_stays(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    read_up_to(lake, "other.reader", {NAME: ids[1]})
    found = maintained_table(lake, NAME, ALONE)
    assert snapshots_of(lake, NAME) == {ids[1], *ids[-2:]}
    assert found.snapshots_needed == 1
    assert rows_at(lake, NAME, ids[1]) == [0, 1]


def test_what_a_kept_state_of_a_reader_was_computed_from_stays(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    for number in (0, 2, 3):
        publish(lake, "default.reader", [number], frontier={NAME: ids[number]})
    maintained(lake, ALONE)
    # The reader keeps two states, to which its pipeline can be taken back.
    assert snapshots_of(lake, NAME) == {ids[2], ids[3], *ids[-2:]}


def test_pins_of_recent_ticks_and_of_the_newest_tick_stay(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(7)]
    pinned(lake, "q/recent", {NAME: ids[1]})
    long_ago = clock.now() - timedelta(days=9)
    for number, tick in ((2, "r/newest"), (3, "r/older")):
        pinned(lake, tick, {NAME: ids[number]}, long_ago - timedelta(hours=number))
    with lake.database.transaction() as connection:
        connection.exec_driver_sql(
            f"UPDATE trickle_ticks SET created_at = '{clock.text_of(long_ago)}' WHERE tick_id LIKE 'r/%'"
        )
    maintained_table(lake, NAME, ALONE)
    assert snapshots_of(lake, NAME) == {ids[1], ids[2], *ids[-2:]}


def test_everything_of_the_restate_window_stays(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    assert maintained_table(lake, NAME, replace(ALONE, restate_window=3600)).snapshots_expired == 0
    assert snapshots_of(lake, NAME) == set(ids)


def test_what_was_current_within_the_last_hour_stays_by_default(lake: Lakehouse) -> None:
    for number in range(6):
        publish(lake, NAME, [number])
    found = maintaining.maintain(lake, maintaining.Rules(ALONE))
    assert found.tables[0].snapshots_expired == 0


def test_snapshots_older_than_the_policy_says_go_however_few_they_are(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(3)]
    policy = replace(ALONE, keep_snapshots=100, keep_snapshots_for=0)
    maintained_table(lake, NAME, policy)
    assert snapshots_of(lake, NAME) == {ids[-1]}


def test_tags_and_branches_stay(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    table_of(lake, NAME).manage_snapshots().create_tag(ids[0], "first").commit()
    maintained_table(lake, NAME, ALONE)
    assert snapshots_of(lake, NAME) == {ids[0], *ids[-2:]}


def test_while_a_tick_is_under_way_all_that_it_may_read_stays(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(3)]
    lease = try_acquire(lake, "default.reader", "test")
    assert isinstance(lease, Lease)
    place = f"{lake.catalog.properties['warehouse']}/default/reader"
    stagings.begin(lake, lease=lease, table_location=place, pipeline="q", tick_id="q/1", spark=None, new_table=True)
    ids += [publish(lake, NAME, [number]) for number in range(3, 6)]
    maintained_table(lake, NAME, ALONE)
    assert snapshots_of(lake, NAME) == set(ids[2:])


def test_a_table_that_is_being_refreshed_is_left_alone_with_the_reason(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(4)]
    assert isinstance(try_acquire(lake, NAME, "tick p/9"), Lease)
    (found,) = maintained(lake, ALONE).tables
    assert found.skipped is not None
    assert "is being refreshed by tick p/9" in found.skipped
    assert snapshots_of(lake, NAME) == set(ids)


def test_a_need_that_comes_up_before_the_commit_is_seen(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    original = expiry._stage
    calls = []

    def slow(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            read_up_to(lake, "other.reader", {NAME: ids[0]})
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(expiry, "_stage", slow)
    maintained_table(lake, NAME, ALONE)
    assert len(calls) == 2
    assert snapshots_of(lake, NAME) == {ids[0], *ids[-2:]}
    assert rows_at(lake, NAME, ids[0]) == [0]


def test_another_writer_who_is_quicker_wins(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        publish(lake, NAME, [number])
    original = expiry._stage

    def slow(*arguments: object) -> object:
        staged = original(*arguments)  # type: ignore[arg-type]
        with table_of(lake, NAME).transaction() as change:
            change.set_properties({"note": str(time.monotonic_ns())})
        return staged

    monkeypatch.setattr(expiry, "_stage", slow)
    before = snapshots_of(lake, NAME)
    with at_once():
        (found,) = maintaining.maintain(lake, maintaining.Rules(ALONE)).tables
    assert found.error is not None
    assert "was changed or dropped by another writer" in found.error
    assert snapshots_of(lake, NAME) == before
    assert rows_at(lake, NAME) == list(range(6))
    assert not stagings.leftovers(lake, identifier=NAME)


def test_the_status_goes_with_the_metadata(lake: Lakehouse) -> None:
    for number in range(6):
        publish(lake, NAME, [number])
    maintained_table(lake, NAME)
    status, table = read_status(lake)[NAME], table_of(lake, NAME)
    assert (status.metadata_location, status.snapshot_id) == (
        table.metadata_location,
        table.metadata.current_snapshot_id,
    )
    assert status.effective_at is None
    assert status.definition == "d"


def test_the_log_has_no_gap(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number]) for number in range(6)]
    read_up_to(lake, "other.reader", {NAME: ids[1]})
    maintained_table(lake, NAME, ALONE)
    assert [entry.snapshot_id for entry in table_of(lake, NAME).metadata.snapshot_log] == ids[-2:]


def test_a_dry_run_changes_nothing_and_tells_the_same(lake: Lakehouse) -> None:
    for number in range(6):
        publish(lake, NAME, [number], rewrite=True)
    before = files(lake)
    (told,) = maintained(lake, ALONE, dry_run=True).tables
    assert files(lake) == before
    done = maintained_table(lake, NAME, ALONE)
    assert (told.snapshots_expired, told.files_removed, told.bytes_removed) == (
        done.snapshots_expired,
        done.files_removed,
        done.bytes_removed,
    )


def test_tables_that_share_a_folder_are_left_alone(lake: Lakehouse) -> None:
    for number in range(4):
        publish(lake, NAME, [number])
    lake.catalog.register_table("default.copy", table_of(lake, NAME).metadata_location)
    before = files(lake)
    (found,) = maintained(lake, only=[NAME]).tables
    assert found.error is not None
    assert "shares its folder with default.copy" in found.error
    assert files(lake) == before


def test_a_catalog_that_is_behind_its_warehouse_removes_nothing(lake: Lakehouse) -> None:
    for number in range(4):
        publish(lake, NAME, [number])
    status = read_status(lake)[NAME]
    old = table_of(lake, NAME).metadata_location
    publish(lake, NAME, [4])
    with lake.database.transaction() as connection:
        # As after the restore of a backup of the catalog's database.
        connection.exec_driver_sql(f"UPDATE iceberg_tables SET metadata_location = '{old}'")
        connection.exec_driver_sql(f"UPDATE trickle_status SET snapshot_id = {status.snapshot_id}")
    before = files(lake)
    (found,) = maintained(lake).tables
    assert found.error is not None
    assert "its folder holds a later state" in found.error
    assert files(lake) == before


def test_a_table_that_somebody_else_wrote_to_is_left_alone(lake: Lakehouse) -> None:
    for number in range(4):
        publish(lake, NAME, [number])
    table = table_of(lake, NAME)
    table.append(table.scan().to_arrow())
    before = files(lake)
    (found,) = maintained(lake).tables
    assert found.skipped is not None
    assert "changed by another writer" in found.skipped
    assert files(lake) == before


def test_the_record_of_a_capture_stays_with_its_snapshot(lake: Lakehouse) -> None:
    ids = [publish(lake, NAME, [number], rewrite=True) for number in range(3)]
    table = table_of(lake, NAME)
    place = f"{table.metadata.location}/metadata/record.json"
    snapshot = table.metadata.snapshot_by_id(ids[1])
    assert snapshot is not None
    assert snapshot.summary is not None
    snapshot.summary.additional_properties["trickle.capture-state"] = place
    assert place in unneeded_files(table, ids[:2])
    assert place not in unneeded_files(table, ids[:1])


def test_a_run_that_was_killed_before_it_removed_files_is_healed_by_the_next(
    lake: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        publish(lake, NAME, [number], rewrite=True)
    with monkeypatch.context() as patched:
        patched.setattr(expiry, "remove", lambda *_: expiry.Removed())  # as if it had died just then
        maintained_table(lake, NAME, ALONE)
    left = files(lake)
    four_days_ago = time.time() - 4 * 86_400
    for path in left:
        os.utime(spark_path(path), (four_days_ago, four_days_ago))
    found = maintained_table(lake, NAME, ALONE)
    assert found.orphans_removed >= 12
    assert rows_at(lake, NAME) == [5]
