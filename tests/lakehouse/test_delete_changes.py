"""Which files count as changed when rows were deleted without rewriting their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from airflow_trickle.lakehouse.changes import certainly_no_change, file_changes
from airflow_trickle.lakehouse.deletes import deletes_of, rows_of
from airflow_trickle.lakehouse.lost_rows import split
from airflow_trickle.lakehouse.snapshots import files_of
from tests.deleting import commit_files, data_file, equality_deletes, position_deletes

SCHEMA = Schema(NestedField(1, "k", LongType(), required=False), NestedField(2, "v", StringType(), required=False))


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    made.create_namespace("default")
    return made


def row(k: int | None, v: str | None) -> dict[str, Any]:
    return {"k": k, "v": v}


def test_only_files_that_lost_rows_are_read_again(catalog: SqlCatalog) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    files = [data_file(table, [row(n, "a"), row(n, "b")]) for n in range(3)]
    table = commit_files(table, added=files)
    before = table.metadata.current_snapshot_id
    table = commit_files(table, deletes=[position_deletes(table, [(files[1].file_path, 0)])])
    changes = file_changes(table, before, table.metadata.current_snapshot_id)
    assert [file.file_path for file in changes.added] == [files[1].file_path]
    assert changes.added[0] != changes.removed[0]
    assert (rows_of(changes.removed[0]), rows_of(changes.added[0]), changes.rows) == (2, None, 4)
    assert not certainly_no_change(table, changes, table.metadata.schema())


def test_a_delete_file_for_a_whole_partition_changes_only_the_files_it_names(catalog: SqlCatalog) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    files = [data_file(table, [row(n, "a"), row(n, "b")]) for n in range(3)]
    table = commit_files(table, added=files)
    before = table.metadata.current_snapshot_id
    one = sorted(file.file_path for file in files)[1]
    table = commit_files(table, deletes=[position_deletes(table, [(one, 0)], bounds=False)])
    changes = file_changes(table, before, table.metadata.current_snapshot_id)
    assert [file.file_path for file in changes.added] == [file.file_path for file in changes.removed] == [one]
    table = commit_files(table, deletes=[equality_deletes(table, [1], [{"k": 7}])])
    assert len(file_changes(table, before, table.metadata.current_snapshot_id).added) == 3


def test_compacting_deletes_away_is_no_change(catalog: SqlCatalog) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    first = data_file(table, [row(1, "a"), row(2, None), row(3, "c")])
    table = commit_files(table, added=[first])
    whole = table.metadata.current_snapshot_id
    table = commit_files(table, deletes=[position_deletes(table, [(first.file_path, 1)])])
    before = table.metadata.current_snapshot_id
    table = commit_files(table, added=[data_file(table, [row(3, "c"), row(1, "a")])], removed=[first])
    after = table.metadata.current_snapshot_id
    schema = table.metadata.schema()
    assert certainly_no_change(table, file_changes(table, before, after), schema)
    assert not certainly_no_change(table, file_changes(table, whole, after), schema)
    assert not certainly_no_change(table, file_changes(table, whole, before), schema)


def test_an_equality_delete_reaches_the_files_of_earlier_commits_only(catalog: SqlCatalog) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    old, new = data_file(table, [row(1, "a")]), data_file(table, [row(1, "b")])
    table = commit_files(table, added=[old])
    table = commit_files(table, added=[new], deletes=[equality_deletes(table, [1], [{"k": 1}])])
    files = files_of(table, table.metadata.current_snapshot_id)
    assert {path: len(deletes_of(file)) for path, file in files.items()} == {old.file_path: 1, new.file_path: 0}


def test_rows_that_a_file_had_lost_before_are_not_lost_again(catalog: SqlCatalog) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    file = data_file(table, [row(n, "a") for n in range(4)])
    table = commit_files(table, added=[file])
    table = commit_files(table, deletes=[position_deletes(table, [(file.file_path, 0)])])
    before = table.metadata.current_snapshot_id
    table = commit_files(table, deletes=[position_deletes(table, [(file.file_path, 2)])])
    rest, lost = split(table, file_changes(table, before, table.metadata.current_snapshot_id))
    assert rest.nothing
    assert [one.rows.to_pylist() for one in lost] == [[2]]
