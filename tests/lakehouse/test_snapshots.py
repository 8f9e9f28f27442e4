"""Which files and columns a table had at a snapshot, for tables that plain pyiceberg wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.deletes import rows_of
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.snapshots import (
    HistoryExpired,
    Version,
    current_version,
    files_of,
    has_snapshot,
    schema_of,
    version_as_of,
)
from tests import budgets
from tests.deleting import commit_files, delete_entry, equality_deletes, position_deletes

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "kind", StringType(), required=False))
BY_KIND = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "kind"))


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    return pa.Table.from_pylist([{"id": n, "kind": k} for n, k in pairs], schema=schema_to_pyarrow(SCHEMA))


def latest(table: Table) -> int:
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def planned(table: Table, snapshot_id: int) -> set[str]:
    """What pyiceberg itself would read."""
    return {task.file.file_path for task in table.scan(snapshot_id=snapshot_id).plan_files()}


def rows_in(table: Table, snapshot_id: int | None) -> list[tuple[object, object]]:
    found = [pq.read_table(spark_path(path)).to_pylist() for path in files_of(table, snapshot_id)]
    return sorted(((row["id"], row["kind"]) for file in found for row in file), key=str)


def pause() -> None:
    """Snapshots are told apart by milliseconds."""
    time.sleep(0.003)


def moment(millis: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=millis)


def test_a_table_without_a_snapshot_has_no_files(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    assert current_version(table) == Version(None, 0)
    assert files_of(table, None) == {}
    assert has_snapshot(table, None)
    assert not has_snapshot(table, 1)


@pytest.mark.parametrize("spec", [PartitionSpec(), BY_KIND], ids=["plain", "partitioned"])
def test_every_snapshot_of_a_plain_writer_has_its_own_files(
    shared_lake: Lakehouse, identifier: str, spec: PartitionSpec
) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA, partition_spec=spec)
    story: list[tuple[int, list[tuple[object, object]]]] = []

    def told(*expected: tuple[object, object]) -> None:
        story.append((latest(table), sorted(expected, key=str)))

    table.append(rows((1, "a"), (2, "b"), (3, None)))
    told((1, "a"), (2, "b"), (3, None))
    table.append(rows((4, "a")))
    told((1, "a"), (2, "b"), (3, None), (4, "a"))
    # Part of a file goes: the file is rewritten.
    table.delete(EqualTo("id", 2))
    told((1, "a"), (3, None), (4, "a"))
    # A whole file goes: it is only left out.
    table.delete(EqualTo("id", 4))
    told((1, "a"), (3, None))
    table.overwrite(rows((5, "c")), overwrite_filter=GreaterThanOrEqual("id", 3))
    told((1, "a"), (5, "c"))
    table.overwrite(rows((6, "d"), (6, "d")))
    told((6, "d"), (6, "d"))
    table.delete(GreaterThanOrEqual("id", 0))
    told()

    table = table.refresh()
    assert len({snapshot for snapshot, _ in story}) == 7
    for snapshot, expected in story:
        assert set(files_of(table, snapshot)) == planned(table, snapshot)
        assert rows_in(table, snapshot) == expected


def test_files_count_their_rows(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    table.append(rows((1, "a"), (2, "b")))
    table.append(rows((3, "c")))
    files = files_of(table, latest(table))
    assert sorted(file.record_count for file in files.values()) == [1, 2]
    assert all(path == file.file_path for path, file in files.items())


def test_a_moment_before_the_first_snapshot_sees_the_empty_table(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    assert version_as_of(table, datetime.now(timezone.utc)) == Version(None, 0)
    table.append(rows((1, "a")))
    first = table.refresh().metadata.snapshot_log[0].timestamp_ms
    assert version_as_of(table, moment(first - 1)) == Version(None, 0)


def test_a_moment_sees_the_last_snapshot_up_to_it(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    made = []
    for number in range(3):
        table.append(rows((number, "x")))
        made.append(latest(table))
        pause()
    log = table.metadata.snapshot_log
    for index, (entry, snapshot) in enumerate(zip(log, made, strict=True)):
        assert version_as_of(table, moment(entry.timestamp_ms)).snapshot_id == snapshot
        assert version_as_of(table, moment(entry.timestamp_ms) + timedelta(microseconds=999)).snapshot_id == snapshot
        before = version_as_of(table, moment(entry.timestamp_ms) - timedelta(microseconds=1)).snapshot_id
        assert before == (made[index - 1] if index else None)
    assert version_as_of(table, datetime(2999, 1, 1, tzinfo=timezone.utc)).snapshot_id == made[-1]
    elsewhere = timezone(timedelta(hours=5, minutes=45))
    assert version_as_of(table, moment(log[1].timestamp_ms).astimezone(elsewhere)).snapshot_id == made[1]


def test_a_rollback_is_seen_from_its_own_moment_on(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    table.append(rows((1, "a")))
    first = latest(table)
    pause()
    table.append(rows((2, "b")))
    second = latest(table)
    pause()
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    pause()
    table.append(rows((3, "c")))
    third = latest(table)
    log = table.metadata.snapshot_log
    assert [entry.snapshot_id for entry in log] == [first, second, first, third]
    assert [version_as_of(table, moment(entry.timestamp_ms)).snapshot_id for entry in log] == [
        first,
        second,
        first,
        third,
    ]
    assert version_as_of(table, moment(log[3].timestamp_ms - 1)).snapshot_id == first
    assert current_version(table).snapshot_id == third


def expire(table: Table, *snapshots: int) -> None:
    operation = table.maintenance.expire_snapshots()
    for snapshot in snapshots:
        operation = operation.by_id(snapshot)
    operation.commit()


def three_snapshots(lake: Lakehouse, identifier: str, version: str = "2") -> tuple[Table, list[int], list[int]]:
    table = lake.catalog.create_table(identifier, SCHEMA, properties={"format-version": version})
    for number in range(3):
        table.append(rows((number, "x")))
        pause()
    log = table.refresh().metadata.snapshot_log
    return table, [entry.snapshot_id for entry in log], [entry.timestamp_ms for entry in log]


@contextmanager
def says_expired(identifier: str, what: str) -> Iterator[None]:
    with pytest.raises(HistoryExpired) as caught:
        yield
    assert str(caught.value) == (
        f"Table {identifier} no longer keeps {what}: it was expired. Keep snapshots longer "
        f"(history.expire.max-snapshot-age-ms), or refresh from the present state."
    )


def test_an_expired_snapshot_is_said_to_be_expired(shared_lake: Lakehouse, identifier: str) -> None:
    table, snapshots, _ = three_snapshots(shared_lake, identifier)
    expire(table, snapshots[0])
    assert not has_snapshot(table.refresh(), snapshots[0])
    with says_expired(identifier, f"snapshot {snapshots[0]}"):
        files_of(table, snapshots[0])


@pytest.mark.parametrize("version", ["1", "2"])
def test_expired_history_never_passes_for_an_empty_table(shared_lake: Lakehouse, identifier: str, version: str) -> None:
    table, snapshots, times = three_snapshots(shared_lake, identifier, version)
    expire(table, snapshots[0])
    table = table.refresh()
    for millis in (times[0] - 1, times[0], times[1] - 1):
        with says_expired(identifier, f"the state at {moment(millis).isoformat()}"):
            version_as_of(table, moment(millis))
    assert version_as_of(table, moment(times[1])).snapshot_id == snapshots[1]
    assert version_as_of(table, moment(times[2])).snapshot_id == snapshots[2]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_gap_in_the_history_never_passes_for_the_snapshot_before_it(
    shared_lake: Lakehouse, identifier: str, version: str
) -> None:
    table, snapshots, times = three_snapshots(shared_lake, identifier, version)
    expire(table, snapshots[1])
    table = table.refresh()
    with says_expired(identifier, f"the state at {moment(times[1]).isoformat()}"):
        version_as_of(table, moment(times[1]))
    assert version_as_of(table, moment(times[0] - 1)).snapshot_id is None
    assert version_as_of(table, moment(times[2])).snapshot_id == snapshots[2]


def test_an_expired_snapshot_that_was_rolled_back_is_a_gap_too(shared_lake: Lakehouse, identifier: str) -> None:
    table, snapshots, times = three_snapshots(shared_lake, identifier)
    table.manage_snapshots().rollback_to_snapshot(snapshots[1]).commit()
    pause()
    expire(table.refresh(), snapshots[2])
    table = table.refresh()
    log = [entry.snapshot_id for entry in table.metadata.snapshot_log]
    assert log == [snapshots[0], snapshots[1], snapshots[1]]
    with says_expired(identifier, f"the state at {moment(times[2]).isoformat()}"):
        version_as_of(table, moment(times[2]))
    assert version_as_of(table, moment(times[0])).snapshot_id == snapshots[0]
    assert version_as_of(table, datetime(2999, 1, 1, tzinfo=timezone.utc)).snapshot_id == snapshots[1]


def test_history_as_javas_expiry_leaves_it_is_expired_too(shared_lake: Lakehouse, identifier: str) -> None:
    """Iceberg for Java keeps the parents and cuts the log off before the oldest gap."""
    table, snapshots, times = three_snapshots(shared_lake, identifier)
    metadata = table.metadata.model_copy(
        update={"snapshots": table.metadata.snapshots[1:], "snapshot_log": table.metadata.snapshot_log[1:]}
    )
    cut = Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)
    with says_expired(identifier, f"the state at {moment(times[0]).isoformat()}"):
        version_as_of(cut, moment(times[0]))
    assert version_as_of(cut, moment(times[1])).snapshot_id == snapshots[1]
    # A log that still names a snapshot which is gone.
    kept = table.metadata.model_copy(update={"snapshots": table.metadata.snapshots[1:]})
    cut = Table(table.name(), kept, table.metadata_location, table.io, table.catalog)
    with says_expired(identifier, f"the snapshot of {moment(times[0]).isoformat()}"):
        version_as_of(cut, moment(times[0]))


def test_a_table_without_a_log_is_known_from_its_newest_snapshot_on(shared_lake: Lakehouse, identifier: str) -> None:
    table, snapshots, times = three_snapshots(shared_lake, identifier)
    metadata = table.metadata.model_copy(update={"snapshot_log": []})
    bare = Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)
    assert version_as_of(bare, moment(times[2])).snapshot_id == snapshots[2]
    with says_expired(identifier, f"the state at {moment(times[2] - 1).isoformat()}"):
        version_as_of(bare, moment(times[2] - 1))


def test_replaying_many_commits_and_rollbacks_sees_each_state_as_it_was(
    shared_lake: Lakehouse, identifier: str
) -> None:
    chance = budgets.chance(6)
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    states: list[tuple[int, int]] = []
    for number in range(14):
        ancestors = [one for one in table.metadata.snapshots if number and one.snapshot_id != states[-1][1]]
        if ancestors and chance.random() < 0.4:
            back = chance.choice(ancestors).snapshot_id
            table.manage_snapshots().set_current_snapshot(back).commit()
        else:
            table.append(rows((number, "x")))
        table = table.refresh()
        states.append((table.metadata.snapshot_log[-1].timestamp_ms, latest(table)))
        pause()
    for millis, snapshot in states:
        assert version_as_of(table, moment(millis)).snapshot_id == snapshot
    # Whatever is expired, no moment gets a wrong answer.
    victims = [one.snapshot_id for one in table.metadata.snapshots if one.snapshot_id != states[-1][1]]
    for victim in chance.sample(victims, len(victims)):
        expire(table, victim)
        table = table.refresh()
        for millis, snapshot in states:
            try:
                assert version_as_of(table, moment(millis)).snapshot_id == snapshot
            except HistoryExpired:
                assert millis != states[-1][0]


def test_an_old_snapshot_has_the_columns_of_its_time_and_the_newest_the_present_ones(
    shared_lake: Lakehouse, identifier: str
) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    table.append(rows((1, "a")))
    first = table.refresh().metadata.snapshot_log[0]
    pause()
    with table.update_schema() as change:
        change.add_column("size", LongType())
        change.rename_column("kind", "label")
    table = table.refresh()
    # Without new data the newest snapshot is read through the present columns.
    assert current_version(table) == Version(first.snapshot_id, 1)
    assert schema_of(table, current_version(table)).column_names == ["id", "label", "size"]
    assert version_as_of(table, moment(first.timestamp_ms)) == Version(first.snapshot_id, 1)

    pause()
    table.append(pa.table({"id": [2], "label": ["b"], "size": [10]}))
    table = table.refresh()
    old = version_as_of(table, moment(first.timestamp_ms))
    assert old == Version(first.snapshot_id, 0)
    assert schema_of(table, old).column_names == ["id", "kind"]

    with table.update_schema() as change:
        change.delete_column("label")
    table = table.refresh()
    assert schema_of(table, current_version(table)).column_names == ["id", "size"]
    assert schema_of(table, old).column_names == ["id", "kind"]
    with says_expired(identifier, "schema 99"):
        schema_of(table, Version(first.snapshot_id, 99))


def test_a_data_file_knows_the_deletes_that_take_rows_from_it(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    table.append(rows((1, "a"), (2, "b"), (3, "c")))
    table.append(rows((4, "d")))
    before = latest(table)
    path, other = sorted(files_of(table, before), key=lambda one: -files_of(table, before)[one].record_count)
    delete = position_deletes(table, [(path, 1)])
    commit_files(table, deletes=[delete])
    # The delete file is a real one.
    assert sorted(table.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 3, 4]
    old, new = files_of(table, before), files_of(table, latest(table))
    assert [found.path for found in new[path].deletes] == [delete.file_path]
    assert (old[path].deletes, new[other].deletes) == ((), ())
    assert old[path] != new[path]
    assert old[other] == new[other]
    assert hash(new[path]) == hash(files_of(table, latest(table))[path])
    # For pyiceberg, both are one and the same file.
    (listed,) = (task.file for task in table.scan().plan_files() if task.file.file_path == path)
    assert listed == old[path] == listed == new[path]
    with pytest.raises(AttributeError, match="a live file does not change"):
        new[path].spec_id = 7
    assert (rows_of(old[path]), rows_of(new[path])) == (3, None)


def test_deletes_reach_files_of_their_partition_that_were_there_before(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA, partition_spec=BY_KIND)
    old = {kind: add_file(table, f"old-{kind}", rows((1, kind)), Record(kind)) for kind in "ab"}
    table = table.refresh()
    by_key = equality_deletes(table, [1], [{"id": 1}], partition=Record("a"))
    by_place = position_deletes(table, [(old["b"], 0), (old["b"], 5)], partition=Record("b"), bounds=False)
    commit_files(table, deletes=[by_key, by_place])
    new = {kind: add_file(table, f"new-{kind}", rows((1, kind)), Record(kind)) for kind in "ab"}
    with table.refresh().update_spec() as change:
        change.remove_field("kind")
    table = table.refresh()
    everywhere = equality_deletes(table, [1], [{"id": 2}], spec=table.spec().spec_id, partition=Record())
    commit_files(table, deletes=[everywhere])
    found = {path: {delete.path for delete in file.deletes} for path, file in files_of(table, latest(table)).items()}
    assert found == {
        old["a"]: {by_key.file_path, everywhere.file_path},
        old["b"]: {by_place.file_path, everywhere.file_path},
        new["a"]: {everywhere.file_path},
        new["b"]: {everywhere.file_path},
    }


def refused(table: Table, delete: DataFile) -> str:
    commit_files(table, deletes=[delete])
    with pytest.raises(UnsupportedTable) as caught:
        files_of(table, latest(table))
    return str(caught.value)


def test_a_delete_file_that_is_not_parquet_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    kind = DataFileContent.EQUALITY_DELETES
    delete = delete_entry(table, kind, f"{table.location()}/data/x.orc", 1, 9, file_format=FileFormat.ORC)
    assert refused(table, delete) == (
        f"Table {identifier} has a delete file in format ORC (equality delete file); this version reads Parquet only: "
        f"{delete.file_path}. Compact the table with its writer (rewrite_data_files)."
    )


def test_a_delete_file_that_spark_passes_over_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    delete = delete_entry(table, DataFileContent.POSITION_DELETES, f"{table.location()}/data/_x.parquet", 1, 9)
    assert "whose name Spark takes for a hidden file and does not read" in refused(table, delete)


def test_a_vector_without_its_place_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    kind = DataFileContent.POSITION_DELETES
    delete = delete_entry(table, kind, f"{table.location()}/data/x.puffin", 1, 9, file_format=FileFormat.PUFFIN)
    assert "has a deletion vector in" in refused(table, delete)


def test_an_equality_delete_without_its_column_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    delete = equality_deletes(table, [1], [{"id": 1}])
    delete[14] = [1, 2]
    assert "lacks column 2 by which it deletes" in refused(table, delete)


def add_file(table: Table, folder: str, arrow: pa.Table, partition: Record | None = None, **statistics: object) -> str:
    """Add a Parquet file as if another engine had written and counted it."""
    path = f"{table.location()}/data/{folder}/file.parquet"
    table.io.new_output(path).create().close()
    pq.write_table(arrow, spark_path(path))
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=partition or Record("a"),
        record_count=len(arrow),
        file_size_in_bytes=1000,
        **statistics,
    )
    file.spec_id = table.spec().spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
        snapshot.append_data_file(file)
    return path


def test_a_file_without_its_partition_column_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA, partition_spec=BY_KIND)
    path = add_file(table, "kind=a", rows((1, "a")).select(["id"]), value_counts={1: 1})
    with pytest.raises(UnsupportedTable) as caught:
        files_of(table.refresh(), latest(table))
    assert str(caught.value) == (
        f"Table {identifier}: the data file {path} does not hold its partition column 'kind' (it stands in the "
        f"folder's name only), which this version does not read. Rewrite the file with its writer."
    )


def test_a_file_whose_writer_did_not_count_the_partition_column_is_read(
    shared_lake: Lakehouse, identifier: str
) -> None:
    """Writers count the first 100 columns by default, and none where metrics are turned off."""
    table = shared_lake.catalog.create_table(
        identifier,
        SCHEMA,
        partition_spec=BY_KIND,
        properties={"write.metadata.metrics.column.kind": "none"},
    )
    table.append(rows((1, "a"), (2, "b")))
    assert rows_in(table, latest(table)) == [(1, "a"), (2, "b")]
    # A file of Hive that does hold the column, without field ids.
    add_file(table, "kind=a", pa.table({"id": [3], "kind": ["a"]}), value_counts={1: 1})
    assert rows_in(table, latest(table)) == [(1, "a"), (2, "b"), (3, "a")]


def test_a_column_that_is_only_bucketed_needs_no_check(shared_lake: Lakehouse, identifier: str) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket"))
    table = shared_lake.catalog.create_table(identifier, SCHEMA, partition_spec=spec)
    add_file(table, "id_bucket=3", rows((1, "a")), Record(3), value_counts={2: 1})
    assert rows_in(table, latest(table)) == [(1, "a")]


def test_a_file_that_is_not_parquet_is_refused(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, SCHEMA)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{table.location()}/data/x.orc",
        file_format=FileFormat.ORC,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=1000,
    )
    file.spec_id = 0
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
        snapshot.append_data_file(file)
    with pytest.raises(UnsupportedTable) as caught:
        files_of(table.refresh(), latest(table))
    assert str(caught.value) == (
        f"Table {identifier} has a data file in format ORC; this version reads Parquet only: {file.file_path}"
    )
