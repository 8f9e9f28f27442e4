"""Our snapshot producers write what plain pyiceberg would have written, and do not let manifests pile up."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import (
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
)

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import iceberg_schema, spark_schema
from airflow_trickle.lakehouse.commit import NAME_MAPPING, Staged, Target, commit, data_files, new_target, stage
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.snapshots import files_of
from tests import budgets
from tests.lakehouse.writing import SCHEMA, rows_of, stage_rows
from tests.outside_readers import duckdb_rows


def published(lake: Lakehouse, identifier: str) -> Table:
    table = lake.table(identifier)
    assert table is not None
    return table


def manifests(table: Table) -> int:
    return len(table.current_snapshot().manifests(table.io))  # type: ignore[union-attr]


@pytest.mark.slow
def test_sixty_overwrites_leave_a_handful_of_manifests(shared_lake: Lakehouse, identifier: str) -> None:
    highest = 0
    for number in range(60):
        row = {"epoch": number, "name": "x"}
        commit(shared_lake, [stage_rows(shared_lake, identifier, [row], replace=True)])
        highest = max(highest, manifests(published(shared_lake, identifier)))
    assert highest <= 3
    assert rows_of(shared_lake, identifier) == [{"epoch": 59, "name": "x"}]


@pytest.mark.slow
def test_sixty_appends_leave_few_manifests_and_every_row(shared_lake: Lakehouse, identifier: str) -> None:
    highest = 0
    for number in range(60):
        commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": number, "name": "x"}])])
        highest = max(highest, manifests(published(shared_lake, identifier)))
    assert highest <= 20
    table = published(shared_lake, identifier)
    assert sorted(table.scan().to_arrow()["epoch"].to_pylist()) == list(range(60))
    assert table.current_snapshot().summary["total-records"] == "60"  # type: ignore[union-attr,index]
    # The merged manifests are read by another client too.
    assert duckdb_rows(table.metadata_location) == sorted(((n, "x") for n in range(60)), key=repr)


@pytest.mark.slow
def test_mixed_changes_leave_few_manifests(shared_lake: Lakehouse, identifier: str) -> None:
    chance = budgets.chance(3)
    highest, expected = 0, set()
    for number in range(60):
        row, replace = {"epoch": number, "name": "x"}, chance.random() < 0.15
        expected = {number} if replace else expected | {number}
        commit(shared_lake, [stage_rows(shared_lake, identifier, [row], replace=replace)])
        highest = max(highest, manifests(published(shared_lake, identifier)))
    assert highest <= 21
    assert {row["epoch"] for row in rows_of(shared_lake, identifier)} == expected


def staged(lake: Lakehouse, target: Target, added: list[DataFile], removed: list[DataFile], **summary: str) -> Staged:
    record = stagings.begin(
        lake,
        lease=Lease(target.identifier, "test"),
        table_location=target.table.metadata.location,
        pipeline="p",
        tick_id="t",
        spark=None,
        new_table=target.is_new,
    )
    return stage(lake, target, record, added=added, removed=removed, summary=summary)


def target_of(lake: Lakehouse, identifier: str, schema: Schema = SCHEMA) -> Target:
    table = lake.table(identifier)
    return Target(identifier, table, table.schema(), is_new=False) if table else new_target(lake, identifier, schema)


def new_file(target: Target, rows: list[dict[str, Any]]) -> DataFile:
    folder = f"{target.table.location()}/data"
    make_folder(target.table.io, folder)
    path = f"{folder}/{uuid.uuid4()}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(target.schema)), spark_path(path))
    return data_files(target.table, target.schema, [path])[0]


def told(table: Table) -> dict[str, Any]:
    """All that a table's metadata says, but for what must differ between two tables."""
    metadata = table.metadata
    number = {snapshot.snapshot_id: index for index, snapshot in enumerate(metadata.snapshots)}
    current = table.current_snapshot()
    entries = [
        (
            entry.data_file.file_path.rsplit("/", 1)[-1],
            entry.data_file.record_count,
            entry.data_file.value_counts,
            entry.data_file.null_value_counts,
            entry.data_file.lower_bounds,
            entry.sequence_number,
            entry.file_sequence_number,
            number[entry.snapshot_id],
        )
        for manifest in (current.manifests(table.io) if current else [])
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    ]
    return {
        "schema": metadata.schema().model_dump(),
        "format": metadata.format_version,
        "last column": metadata.last_column_id,
        "specs": [spec.model_dump() for spec in metadata.partition_specs],
        "orders": [order.model_dump() for order in metadata.sort_orders],
        "last number": metadata.last_sequence_number,
        "log": [number[entry.snapshot_id] for entry in metadata.snapshot_log],
        "refs": {name: number[ref.snapshot_id] for name, ref in metadata.refs.items()},
        "snapshots": [
            (
                number.get(snapshot.parent_snapshot_id),  # type: ignore[arg-type]
                snapshot.sequence_number,
                snapshot.schema_id,
                snapshot.summary.model_dump() if snapshot.summary else None,
            )
            for snapshot in metadata.snapshots
        ],
        "entries": sorted(entries),
    }


@pytest.mark.parametrize("seed", range(2))
def test_the_metadata_says_what_plain_pyiceberg_would_have_said(
    shared_lake: Lakehouse, identifier: str, seed: int
) -> None:
    chance = budgets.chance(seed)
    plain = shared_lake.catalog.create_table(identifier + "_plain", SCHEMA)
    for number in range(12):
        target = target_of(shared_lake, identifier)
        rows = [{"epoch": number, "name": None if n else "x"} for n in range(3)]
        ours = list(files_of(target.table, target.table.metadata.current_snapshot_id).values())
        removed = chance.sample(ours, chance.randrange(len(ours) + 1)) if chance.random() < 0.5 else []
        added = [new_file(target, rows) for _ in range(chance.randrange(3))]
        commit(shared_lake, [staged(shared_lake, target, added, removed, note=str(number))])

        gone = {file.file_path for file in removed}
        theirs = files_of(plain, plain.metadata.current_snapshot_id)
        with plain.transaction() as transaction:
            update = transaction.update_snapshot(snapshot_properties={"note": str(number)})
            producer = update.fast_append() if added and not removed else update.overwrite()
            if not (added and not removed):
                # An overwrite of nothing: pyiceberg calls the first snapshot an append whatever it does.
                producer._operation = Operation.OVERWRITE
            for file in theirs.values():
                if file.file_path in gone:
                    producer.delete_data_file(file)
            for file in added:
                producer.append_data_file(file)
            producer.commit()
        plain = plain.refresh()
        assert told(published(shared_lake, identifier)) == told(plain)


def test_a_replaced_file_is_listed_as_deleted_in_the_snapshot_that_replaced_it(
    shared_lake: Lakehouse, identifier: str
) -> None:
    """Incremental readers of other engines find deletions in the manifests."""
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 1, "name": "x"}])])
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 2, "name": "x"}], replace=True)])
    table = published(shared_lake, identifier)
    current = table.current_snapshot()
    assert current is not None
    statuses = sorted(
        (entry.status, entry.snapshot_id == current.snapshot_id)
        for manifest in current.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False)
    )
    assert statuses == [(ManifestEntryStatus.ADDED, True), (ManifestEntryStatus.DELETED, True)]


def test_a_snapshot_that_changes_no_file_only_carries_its_summary(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 1, "name": "x"}])])
    before = published(shared_lake, identifier)
    commit(shared_lake, [staged(shared_lake, target_of(shared_lake, identifier), [], [], frontier="7")])
    after = published(shared_lake, identifier)
    assert after.current_snapshot().summary["frontier"] == "7"  # type: ignore[union-attr,index]
    assert after.current_snapshot().summary["total-records"] == "1"  # type: ignore[union-attr,index]
    assert files_of(after, after.metadata.current_snapshot_id).keys() == (
        files_of(before, before.metadata.current_snapshot_id).keys()
    )
    assert rows_of(shared_lake, identifier) == [{"epoch": 1, "name": "x"}]


def test_a_table_may_begin_without_rows(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [staged(shared_lake, target_of(shared_lake, identifier), [], [], frontier="1")])
    table = published(shared_lake, identifier)
    assert rows_of(shared_lake, identifier) == []
    assert table.current_snapshot().summary["total-records"] == "0"  # type: ignore[union-attr,index]
    assert duckdb_rows(table.metadata_location) == []
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 1, "name": "x"}])])
    assert duckdb_rows(published(shared_lake, identifier).metadata_location) == [(1, "x")]
    # And end without rows.
    target = target_of(shared_lake, identifier)
    every = list(files_of(target.table, target.table.metadata.current_snapshot_id).values())
    commit(shared_lake, [staged(shared_lake, target, [], every)])
    assert rows_of(shared_lake, identifier) == []
    assert duckdb_rows(published(shared_lake, identifier).metadata_location) == []


OLD = Schema(
    NestedField(1, "id", IntegerType(), required=False),
    NestedField(2, "price", DecimalType(6, 2), required=False),
    NestedField(3, "name", StringType(), required=False),
)


def evolved(target: Target, described: dict[str, Any]) -> Target:
    """The table under the columns of another query."""
    current = target.table.metadata
    schema = iceberg_schema(described, current.schema(), current.last_column_id)
    known = max(each.schema_id for each in current.schemas)
    return Target(target.identifier, target.table, schema.model_copy(update={"schema_id": known + 1}), is_new=False)


def test_changed_columns_are_read_right_from_old_and_new_files(shared_lake: Lakehouse, identifier: str) -> None:
    first = target_of(shared_lake, identifier, OLD)
    old_row = {"id": 1, "price": Decimal("9.50"), "name": "old"}
    commit(shared_lake, [staged(shared_lake, first, [new_file(first, [old_row])], [])])
    described = spark_schema(OLD, "t", by_id=False)
    columns = {field["name"]: field for field in described["fields"]}
    # Wider numbers, `name` is gone, `size` is new, and the order is another one.
    described["fields"] = [
        {"name": "size", "type": "long", "nullable": True, "metadata": {}},
        columns["price"] | {"type": "decimal(12,2)"},
        columns["id"] | {"type": "long"},
    ]
    second = evolved(target_of(shared_lake, identifier), described)
    new_row = {"size": 5, "price": Decimal("1234567890.12"), "id": 2**40}
    commit(shared_lake, [staged(shared_lake, second, [new_file(second, [new_row])], [])])
    table = published(shared_lake, identifier)
    assert [(field.name, str(field.field_type)) for field in table.schema().fields] == [
        ("size", "long"),
        ("price", "decimal(12, 2)"),
        ("id", "long"),
    ]
    assert rows_of(shared_lake, identifier) == [
        {"size": 5, "price": Decimal("1234567890.12"), "id": 2**40},
        {"size": None, "price": Decimal("9.50"), "id": 1},
    ]
    assert duckdb_rows(table.metadata_location) == [
        (5, Decimal("1234567890.12"), 2**40),
        (None, Decimal("9.50"), 1),
    ]
    # `name` comes back as another column: the old file's values stay hidden.
    described["fields"].append(columns["name"])
    third = evolved(target_of(shared_lake, identifier), described)
    commit(shared_lake, [staged(shared_lake, third, [new_file(third, [{"id": 3, "name": "new"}])], [])])
    table = published(shared_lake, identifier)
    assert sorted(table.scan().to_arrow()["name"].to_pylist(), key=str) == [None, None, "new"]
    assert sorted(row[3] or "" for row in duckdb_rows(table.metadata_location)) == ["", "", "new"]
    assert table.schema().find_field("name").field_id == 5
    # A reader of the first snapshot still sees its columns.
    assert table.scan(snapshot_id=table.metadata.snapshots[0].snapshot_id).to_arrow().to_pylist() == [old_row]


def test_columns_with_lists_are_found_by_name_also_after_a_change(shared_lake: Lakehouse, identifier: str) -> None:
    lists = Schema(NestedField(1, "tags", ListType(2, StringType(), element_required=False), required=False))
    first = target_of(shared_lake, identifier, lists)
    assert NAME_MAPPING in first.table.metadata.properties
    commit(shared_lake, [staged(shared_lake, first, [new_file(first, [{"tags": ["a", None]}])], [])])
    described = spark_schema(lists, "t", by_id=False)
    described["fields"].append({"name": "id", "type": "long", "nullable": True, "metadata": {}})
    second = evolved(target_of(shared_lake, identifier), described)
    commit(shared_lake, [staged(shared_lake, second, [new_file(second, [{"tags": [], "id": 7}])], [])])
    table = published(shared_lake, identifier)
    assert '"names":["id"]' in table.metadata.properties[NAME_MAPPING].replace(" ", "")
    assert rows_of(shared_lake, identifier) == [{"tags": ["a", None], "id": None}, {"tags": [], "id": 7}]
    assert duckdb_rows(table.metadata_location) == [(["a", None], None), ([], 7)]


def test_a_plain_column_needs_no_name_mapping(shared_lake: Lakehouse, identifier: str) -> None:
    plain = Schema(NestedField(1, "id", LongType(), required=False))
    assert NAME_MAPPING not in target_of(shared_lake, identifier, plain).table.metadata.properties
