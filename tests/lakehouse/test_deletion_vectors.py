"""Deletion vectors of format version 3: exactly the rows that a live vector names are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.changes import certainly_no_change, file_changes
from airflow_trickle.lakehouse.deletes import DeleteKind, rows_of
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import files_of
from tests.deleting import commit_files, data_file, position_deletes
from tests.outside_readers import duckdb_rows
from tests.vectors import commit_vectors, puffin

SCHEMA = Schema(NestedField(1, "k", LongType(), required=False))


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    made.create_namespace("default")
    return made


def start(catalog: SqlCatalog) -> tuple[Table, str, str]:
    table = catalog.create_table("default.t", SCHEMA)
    files = [data_file(table, [{"k": n} for n in range(start, start + 5)]) for start in (0, 10)]
    return commit_files(table, added=files), files[0].file_path, files[1].file_path


def left(table: Table) -> dict[str, list[int]]:
    found = files_of(table, table.metadata.current_snapshot_id)
    gone = {path: deleted_positions(table.io, file).to_pylist() for path, file in found.items()}
    return {path: [n for n in range(found[path].record_count) if n not in gone[path]] for path in found}


def outside(table: Table) -> list[Any]:
    mine = sorted(table.scan().to_arrow()["k"].to_pylist())
    assert sorted(row[0] for row in duckdb_rows(table.metadata_location)) == mine
    return mine


def test_a_vector_takes_exactly_its_rows_and_counts_them(catalog: SqlCatalog) -> None:
    table, one, two = start(catalog)
    before = table.metadata.current_snapshot_id
    _, entries = puffin(table, {one: [1, 3], two: [0, 1, 2, 3, 4]})
    table = commit_vectors(catalog, table, entries)
    assert left(table) == {one: [0, 2, 4], two: []}
    assert outside(table) == [0, 2, 4]
    found = files_of(table, table.metadata.current_snapshot_id)
    assert (rows_of(found[one]), rows_of(found[two])) == (3, 0)
    changes = file_changes(table, before, table.metadata.current_snapshot_id)
    assert len(changes.added) == len(changes.removed) == 2
    assert not certainly_no_change(table, changes, SCHEMA)


def test_a_vector_that_is_no_longer_listed_takes_nothing(catalog: SqlCatalog) -> None:
    """Both vectors still lie in the same Puffin file."""
    table, one, two = start(catalog)
    _, (_, second) = puffin(table, {one: [1, 3], two: [0]})
    table = commit_vectors(catalog, table, [second])
    assert left(table) == {one: [0, 1, 2, 3, 4], two: [1, 2, 3, 4]}
    assert sorted(row[0] for row in duckdb_rows(table.metadata_location)) == [0, 1, 2, 3, 4, 11, 12, 13, 14]


def test_a_vector_takes_the_place_of_older_position_deletes(catalog: SqlCatalog) -> None:
    table, one, two = start(catalog)
    table = commit_files(table, deletes=[position_deletes(table, [(one, 0), (two, 4)])])
    table = commit_vectors(catalog, table, puffin(table, {one: [0, 2]})[1])
    found = files_of(table, table.metadata.current_snapshot_id)
    assert [delete.kind for delete in found[one].deletes] == [DeleteKind.VECTOR]
    assert [delete.kind for delete in found[two].deletes] == [DeleteKind.POSITION]
    assert (rows_of(found[one]), rows_of(found[two])) == (3, None)
    assert left(table) == {one: [1, 3, 4], two: [0, 1, 2, 3]}
    assert outside(table) == [1, 3, 4, 10, 11, 12, 13]


@pytest.mark.parametrize("damage", ["content", "count"])
def test_a_damaged_vector_is_refused(catalog: SqlCatalog, damage: str) -> None:
    table, one, _ = start(catalog)
    path, (entry,) = puffin(table, {one: [1, 3]})
    if damage == "count":
        entry[4] = 3
    else:
        content = bytearray(Path(spark_path(path)).read_bytes())
        content[30] ^= 1
        Path(spark_path(path)).write_bytes(content)
    table = commit_vectors(catalog, table, [entry])
    with pytest.raises(UnsupportedTable, match="cannot be read" if damage == "content" else "but its table says 3"):
        left(table)


def test_two_vectors_for_one_file_are_refused(catalog: SqlCatalog) -> None:
    table, one, _ = start(catalog)
    entries = [puffin(table, {one: rows})[1][0] for rows in ([1], [2])]
    table = commit_vectors(catalog, table, entries)
    with pytest.raises(UnsupportedTable, match="has two deletion vectors for the data file"):
        left(table)


def test_rows_beyond_four_thousand_million_are_told(catalog: SqlCatalog) -> None:
    table, one, _ = start(catalog)
    rows = [7, 2**32 - 1, 2**32, 3 * 2**32 + 5]
    table = commit_vectors(catalog, table, puffin(table, {one: rows})[1])
    file = files_of(table, table.metadata.current_snapshot_id)[one]
    assert deleted_positions(table.io, file).to_pylist() == rows
