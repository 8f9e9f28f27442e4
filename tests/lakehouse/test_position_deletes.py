"""Position deletes that we write: other readers see them, counts add up, and none outlives its data file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

from airflow_trickle.errors import RefreshFailed
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import stage
from airflow_trickle.lakehouse.deletes import LiveFile, deletes_of
from airflow_trickle.lakehouse.files import exists, spark_path
from airflow_trickle.lakehouse.positions import deleted_positions, write_position_deletes
from tests import budgets
from tests.deleting import begin, commit_files, equality_deletes, held, position_deletes, publish, staged, target_of
from tests.outside_readers import duckdb_rows


def values(*epochs: int | None) -> list[dict[str, Any]]:
    return [{"epoch": epoch, "name": None if epoch == 2 else "x"} for epoch in epochs]


def epochs(table: Table, snapshot: int | None = None) -> Counter[Any]:
    """What pyiceberg and DuckDB read, which must be the same."""
    mine = Counter(table.scan(snapshot_id=snapshot).to_arrow()["epoch"].to_pylist())
    assert Counter(row[0] for row in duckdb_rows(table.metadata_location, snapshot)) == mine
    return mine


def summary(table: Table) -> dict[str, str]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return {"operation": snapshot.summary.operation.value, **snapshot.summary.additional_properties}


def listed(table: Table, content: ManifestContent) -> Counter[Any]:
    current = table.current_snapshot()
    assert current is not None
    return Counter(
        (entry.status, entry.sequence_number)
        for manifest in current.manifests(table.io)
        if manifest.content == content
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    )


def test_deleted_rows_are_gone_for_every_reader_and_counted(shared_lake: Lakehouse, identifier: str) -> None:
    table = publish(shared_lake, identifier, rows=values(1, 2, 2, None))
    assert table.metadata.format_version == 2
    (path,) = held(table)
    table = publish(shared_lake, identifier, positions={path: [1]})
    assert epochs(table) == Counter([1, 2, None])
    said = summary(table)
    assert said["operation"] == "delete"
    assert {key: said[key] for key in said if "delete" in key} == {
        "added-position-delete-files": "1",
        "added-delete-files": "1",
        "added-position-deletes": "1",
        "total-delete-files": "1",
        "total-position-deletes": "1",
        "total-equality-deletes": "0",
    }
    # What pyiceberg counts as records are those of the data files.
    assert (said["total-records"], said["total-data-files"]) == ("4", "1")
    assert listed(table, ManifestContent.DELETES) == {(ManifestEntryStatus.ADDED, 2): 1}
    # New rows and deletes in one snapshot; the rest of the old file.
    table = publish(shared_lake, identifier, rows=values(7, 8), positions={path: [0, 2, 3]})
    assert epochs(table) == Counter([7, 8])
    said = summary(table)
    assert (said["operation"], said["added-records"], said["added-position-deletes"]) == ("overwrite", "2", "3")
    assert (said["total-delete-files"], said["total-position-deletes"]) == ("2", "4")
    assert [epochs(table, snapshot.snapshot_id).total() for snapshot in table.metadata.snapshots] == [4, 3, 2]


def test_the_delete_file_is_as_the_format_wants_it(shared_lake: Lakehouse, identifier: str) -> None:
    table = publish(shared_lake, identifier, rows=values(*range(5)))
    table = publish(shared_lake, identifier, rows=values(9))
    paths = list(held(table))
    record = begin(shared_lake, target_of(shared_lake, identifier))
    rows = {path: [0] if held(table)[path].record_count == 1 else [0, 3, 4] for path in paths}
    files = write_position_deletes(table, record, [(held(table)[path], rows[path]) for path in paths])
    assert len(files) == 2
    for file in files:
        found = pq.read_table(spark_path(file.file_path))
        assert [(field.name, field.nullable, field.metadata[b"PARQUET:field_id"]) for field in found.schema] == [
            ("file_path", False, b"2147483546"),
            ("pos", False, b"2147483545"),
        ]
        (path,) = set(found["file_path"].to_pylist())
        assert found["pos"].to_pylist() == rows[path]
        assert file.record_count == len(rows[path])
        assert file.lower_bounds[2147483546] == file.upper_bounds[2147483546] == path.encode()
        assert file.file_size_in_bytes == len(table.io.new_input(file.file_path))
    # What is not published is cleared away.
    stagings.discard(shared_lake, record)
    assert not exists(table.io, files[0].file_path)


def test_a_delete_goes_with_its_data_file(shared_lake: Lakehouse, identifier: str) -> None:
    publish(shared_lake, identifier, rows=values(1, 2, 3))
    table = publish(shared_lake, identifier, rows=values(4, 5))
    one, two = sorted(held(table), key=lambda path: -held(table)[path].record_count)
    table = publish(shared_lake, identifier, positions={one: [0], two: [1]})
    table = publish(shared_lake, identifier, positions={one: [1]})
    before = held(table)
    assert (len(deletes_of(before[one])), len(deletes_of(before[two]))) == (2, 1)
    table = publish(shared_lake, identifier, rows=values(3, 6), removed=[before[one]])
    assert epochs(table) == Counter([3, 4, 6])
    said = summary(table)
    assert (said["removed-delete-files"], said["removed-position-deletes"], said["deleted-records"]) == ("2", "2", "3")
    assert (said["total-delete-files"], said["total-position-deletes"], said["total-records"]) == ("1", "1", "4")
    # The one that stays keeps its age, and the others are listed as deleted once.
    assert listed(table, ManifestContent.DELETES) == {
        (ManifestEntryStatus.EXISTING, 3): 1,
        (ManifestEntryStatus.DELETED, 3): 1,
        (ManifestEntryStatus.DELETED, 4): 1,
    }
    assert deletes_of(held(table)[two]) == deletes_of(before[two])
    # Without any data file there is no delete file either.
    table = publish(shared_lake, identifier, removed=list(held(table).values()))
    assert (epochs(table), summary(table)["total-delete-files"]) == (Counter(), "0")
    table = publish(shared_lake, identifier, rows=values(1))
    assert (epochs(table), listed(table, ManifestContent.DELETES)) == (Counter([1]), Counter())


def test_deletes_of_other_writers_stay_as_long_as_they_take_rows(shared_lake: Lakehouse, identifier: str) -> None:
    publish(shared_lake, identifier, rows=values(1, 2, 3))
    table = publish(shared_lake, identifier, rows=values(4, 5))
    one, two = sorted(held(table), key=lambda path: -held(table)[path].record_count)
    both = position_deletes(table, [(one, 0), (two, 0)], bounds=False)
    lone = position_deletes(table, [(one, 1)], bounds=False)
    equal = equality_deletes(table, [1], [{"epoch": 5}])
    table = commit_files(table, deletes=[both, lone, equal])
    table = publish(shared_lake, identifier, removed=[held(table)[one]], rows=values(5))
    assert {delete.path for file in held(table).values() for delete in deletes_of(file)} == {
        both.file_path,
        equal.file_path,
    }
    assert summary(table)["total-delete-files"] == "2"
    assert Counter(row[0] for row in duckdb_rows(table.metadata_location)) == Counter([5])
    table = publish(shared_lake, identifier, removed=[held(table)[two]])
    assert summary(table)["total-delete-files"] == "0"
    assert epochs(table) == Counter([5])


@pytest.mark.slow
def test_many_deletes_leave_few_manifests_and_exact_rows(shared_lake: Lakehouse, identifier: str) -> None:
    chance = budgets.chance(5)
    table = publish(shared_lake, identifier, rows=values(*range(40)))
    (path,) = held(table)
    left = list(range(40))
    for number in range(24):
        place = chance.choice(left)
        left.remove(place)
        extra = values(100 + number) if number % 3 == 0 else []
        table = publish(shared_lake, identifier, rows=extra, positions={path: [place]})
        snapshot = table.current_snapshot()
        assert snapshot is not None
        assert len(snapshot.manifests(table.io)) <= 41
        assert deleted_positions(table.io, held(table)[path]).to_pylist() == sorted(set(range(40)) - set(left))
    deletes = [one for one in snapshot.manifests(table.io) if one.content == ManifestContent.DELETES]
    assert len(deletes) <= 20
    assert epochs(table) == Counter([*left, *range(100, 124, 3)])
    assert summary(table)["total-position-deletes"] == "24"


def test_merged_manifests_do_not_make_old_rows_young(shared_lake: Lakehouse, identifier: str) -> None:
    table = publish(shared_lake, identifier, rows=values(1, 2, 3))
    (path,) = held(table)
    publish(shared_lake, identifier, positions={path: [0, 2]})
    for number in range(22):
        table = publish(shared_lake, identifier, rows=values(100 + number))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(table.io)) < 22
    assert deleted_positions(table.io, held(table)[path]).to_pylist() == [0, 2]
    assert epochs(table) == Counter([2, *range(100, 122)])


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1]], ids=str)
def test_numbers_that_do_not_rise_are_refused(shared_lake: Lakehouse, identifier: str, rows: list[int]) -> None:
    table = publish(shared_lake, identifier, rows=values(1, 2))
    with pytest.raises(RefreshFailed, match="do not rise one by one"):
        staged(shared_lake, identifier, positions={next(iter(held(table))): rows})


def test_deletes_that_fit_no_file_of_the_next_state_are_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = publish(shared_lake, identifier, rows=values(1, 2))
    ((path, file),) = held(table).items()
    with pytest.raises(RefreshFailed, match="deletes row 2 of"):
        staged(shared_lake, identifier, positions={path: [0, 2]})
    with pytest.raises(RefreshFailed, match="deletes rows of file:///other"):
        staged(shared_lake, identifier, positions={"file:///other": [0]})
    with pytest.raises(RefreshFailed, match=f"deletes rows of {path}"):
        staged(shared_lake, identifier, positions={path: [0]}, removed=[file])
    assert epochs(shared_lake.table(identifier)) == Counter([1, 2])  # type: ignore[arg-type]


def test_deletes_stand_in_the_partition_of_their_data_file(shared_lake: Lakehouse, identifier: str) -> None:
    """Readers look for the deletes of a file in its partition only, whatever the files of the others are."""
    table = publish(shared_lake, identifier, rows=values(1, 2))
    with table.update_spec() as change:
        change.add_field("name", IdentityTransform())
    (first,) = held(table)
    # One file of the table without partitions, and one each of two partitions, of which one is NULL.
    publish(shared_lake, identifier, rows=values(3, 3))
    table = publish(shared_lake, identifier, rows=values(2, 2, 2))
    scopes = {path: file.scope for path, file in held(table).items()}
    assert sorted(scope for scope in scopes.values()) == [(0, ()), (1, ("'x'",)), (1, ("None",))]
    by_scope = {scope: path for path, scope in scopes.items()}
    assert by_scope[0, ()] == first
    table = publish(
        shared_lake, identifier, positions={by_scope[1, ("None",)]: [0, 2], by_scope[1, ("'x'",)]: [1], first: [0]}
    )
    assert epochs(table) == Counter([2, 2, 3])
    for file in held(table).values():
        assert [delete.scope for delete in deletes_of(file)] == [file.scope]
        assert len(deleted_positions(table.io, file)) == sum(delete.rows for delete in deletes_of(file))
    assert table.scan(row_filter="name is null").to_arrow()["epoch"].to_pylist() == [2, 2]
    assert table.scan(row_filter="name = 'x'").to_arrow()["epoch"].to_pylist() == [3]
    # They go with their file, the others stay.
    gone = [file for file in held(table).values() if file.scope == (1, ("None",))]
    table = publish(shared_lake, identifier, rows=values(2), removed=gone)
    assert epochs(table) == Counter([2, 2, 3])
    assert summary(table)["total-delete-files"] == "2"


def test_deletes_in_another_partition_than_their_file_are_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = publish(shared_lake, identifier, rows=values(1, 2))
    ((path, file),) = held(table).items()
    elsewhere = LiveFile(file)
    elsewhere._data[3] = Record("x")
    target = target_of(shared_lake, identifier)
    record = begin(shared_lake, target)
    deletes = write_position_deletes(target.table, record, [(elsewhere, [0])])
    with pytest.raises(RefreshFailed, match=f"deletes rows of {path} in another partition"):
        stage(shared_lake, target, record, added=[], removed=[], deletes=deletes, summary={})
