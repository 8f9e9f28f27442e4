"""What a commit leaves behind, and what is said of a past that was expired."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.files import list_files
from airflow_trickle.lakehouse.snapshots import HistoryExpired, version_of_tick
from tests.lakehouse.writing import rows_of, stage_rows

NAME = "default.t"


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    return open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")


def _write(lake: Lakehouse, number: int) -> None:
    commit(lake, [stage_rows(lake, NAME, [{"epoch": number, "name": "x"}], replace=True)])


def _metadata_files(lake: Lakehouse) -> list[str]:
    table = lake.table(NAME)
    assert table is not None
    return [path for path in list_files(table.io, f"{table.metadata.location}/metadata") if path.endswith(".json")]


def test_metadata_files_do_not_add_up(lake: Lakehouse) -> None:
    for number in range(30):
        _write(lake, number)

    table = lake.table(NAME)
    assert table is not None
    logged = {entry.metadata_file for entry in table.metadata.metadata_log}
    assert set(_metadata_files(lake)) == logged | {table.metadata_location}
    assert len(logged) == 20
    assert rows_of(lake, NAME) == [{"epoch": 29, "name": "x"}]


def test_every_manifest_that_a_commit_leaves_is_named_by_a_snapshot(lake: Lakehouse) -> None:
    for number in range(45):  # manifests are merged when 20 have gathered
        commit(lake, [stage_rows(lake, NAME, [{"epoch": number, "name": "x"}], replace=number == 30)])

    table = lake.table(NAME)
    assert table is not None
    named = {one.manifest_list for one in table.metadata.snapshots}
    named |= {one.manifest_path for snapshot in table.metadata.snapshots for one in snapshot.manifests(table.io)}
    found = [path for path in list_files(table.io, f"{table.metadata.location}/metadata") if path.endswith(".avro")]
    assert set(found) == named


def test_a_table_that_says_so_keeps_all_metadata_files(lake: Lakehouse) -> None:
    _write(lake, 0)
    table = lake.table(NAME)
    assert table is not None
    with table.transaction() as change:
        change.set_properties({"write.metadata.delete-after-commit.enabled": "false"})
    for number in range(25):
        _write(lake, number)

    assert len(_metadata_files(lake)) == 27


def test_a_state_between_expired_snapshots_is_not_mistaken_for_an_older_one(lake: Lakehouse) -> None:
    for number in range(3):
        _write(lake, number)
    table = lake.table(NAME)
    assert table is not None
    first, middle, last = table.metadata.snapshots
    between = clock.now().fromtimestamp(middle.timestamp_ms / 1000, clock.now().tzinfo)
    table.maintenance.expire_snapshots().by_id(middle.snapshot_id).commit()
    table = lake.table(NAME)
    assert table is not None

    if middle.timestamp_ms < last.timestamp_ms:
        with pytest.raises(HistoryExpired):
            version_of_tick(table, between)
    assert version_of_tick(table, clock.now() + timedelta(seconds=1)).snapshot_id == last.snapshot_id
    assert first.snapshot_id in {one.snapshot_id for one in table.metadata.snapshots}
