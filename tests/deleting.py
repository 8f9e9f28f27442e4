"""Merge-on-read writers for tests: delete files of every kind, committed as another engine would, and as we do."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, Target, commit, data_files, new_target, stage
from airflow_trickle.lakehouse.deletes import LiveFile
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.positions import write_position_deletes
from airflow_trickle.lakehouse.producers import ReplaceProducer
from airflow_trickle.lakehouse.snapshots import files_of
from tests.lakehouse.writing import SCHEMA

POSITIONS = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
)


def new_path(table: Table, kind: str) -> str:
    """A fresh place for a file."""
    return f"{table.location()}/data/{kind}-{uuid.uuid4().hex}.parquet"


def write(table: Table, path: str, arrow: pa.Table) -> int:
    output = table.io.new_output(path)
    with output.create() as stream:
        pq.write_table(arrow, stream)
    return len(output)


def data_file(table: Table, rows: Sequence[dict[str, Any]], **layout: int) -> DataFile:
    """A data file with rows in this order; a partition is found from their values."""
    path = new_path(table, "data")
    schema = table.metadata.schema()
    arrow = pa.Table.from_pylist(list(rows), schema=schema_to_pyarrow(schema))
    with table.io.new_output(path).create() as stream:
        pq.write_table(arrow, stream, write_page_index=True, **layout)  # type: ignore[arg-type]
    (file,) = data_files(table, schema, [path])
    file.spec_id = table.spec().spec_id
    return file


def position_deletes(
    table: Table, places: Iterable[tuple[str, int]], *, bounds: bool = True, partition: Record | None = None
) -> DataFile:
    """One position delete file for any number of data files, with bounds that may span others."""
    places = sorted(places)
    path = new_path(table, "positions")
    arrow = pa.table([[p for p, _ in places], [n for _, n in places]], schema=POSITIONS)
    size = write(table, path, arrow)
    sides = {}
    if bounds:
        sides = {
            "lower_bounds": {2147483546: places[0][0].encode()},
            "upper_bounds": {2147483546: places[-1][0].encode()},
        }
    return delete_entry(
        table, DataFileContent.POSITION_DELETES, path, len(places), size, partition=partition or Record(), **sides
    )


def equality_deletes(
    table: Table, ids: Sequence[int], keys: Sequence[dict[str, Any]], *, partition: Record | None = None, spec: int = 0
) -> DataFile:
    """An equality delete file over some columns, which may be gone from the table by now."""
    fields = {field.field_id: field for schema in table.metadata.schemas for field in schema.fields}
    path = new_path(table, "equality")
    arrow = pa.Table.from_pylist(list(keys), schema=schema_to_pyarrow(Schema(*(fields[number] for number in ids))))
    size = write(table, path, arrow)
    return delete_entry(
        table,
        DataFileContent.EQUALITY_DELETES,
        path,
        len(keys),
        size,
        partition=partition or Record(),
        spec=spec,
        equality_ids=list(ids),
    )


def delete_entry(
    table: Table, content: DataFileContent, path: str, rows: int, size: int, *, spec: int = 0, **others: Any
) -> DataFile:
    file = DataFile.from_args(
        content=content,
        file_path=path,
        file_format=others.pop("file_format", FileFormat.PARQUET),
        record_count=rows,
        file_size_in_bytes=size,
        **{"partition": Record(), **others},
    )
    file.spec_id = spec
    return file


def commit_files(
    table: Table,
    *,
    added: Iterable[DataFile] = (),
    removed: Iterable[DataFile] = (),
    deletes: Iterable[DataFile] = (),
) -> Table:
    """One snapshot with all of that; returns the table as it is then."""
    transaction = table.transaction()
    producer = ReplaceProducer(Operation.OVERWRITE, transaction, table.io)
    producer.added_deletes = tuple(deletes)
    for file in added:
        producer.append_data_file(file)
    for file in removed:
        producer.delete_data_file(file)
    producer.commit()
    transaction.commit_transaction()
    return table.refresh()


def target_of(lake: Lakehouse, identifier: str) -> Target:
    table = lake.table(identifier)
    return Target(identifier, table, table.schema(), is_new=False) if table else new_target(lake, identifier, SCHEMA)


def begin(lake: Lakehouse, target: Target) -> stagings.Staging:
    return stagings.begin(
        lake,
        lease=Lease(target.identifier, "test"),
        table_location=target.table.metadata.location,
        pipeline="p",
        tick_id="t",
        spark=None,
        new_table=target.is_new,
    )


def staged(
    lake: Lakehouse,
    identifier: str,
    *,
    rows: Sequence[dict[str, Any]] = (),
    removed: Sequence[DataFile] = (),
    positions: Mapping[str, Sequence[int]] | None = None,
) -> Staged:
    """The next state of a stream table, as a refresh stages it."""
    target = target_of(lake, identifier)
    record = begin(lake, target)
    added = [data_file(target.table, rows)] if rows else []
    files = held(target.table)
    deletes = write_position_deletes(
        target.table, record, [(files.get(path) or _nowhere(path), rows) for path, rows in (positions or {}).items()]
    )
    return stage(lake, target, record, added=added, removed=removed, deletes=deletes, summary={"trickle.note": "x"})


def _nowhere(path: str) -> DataFile:
    file = DataFile.from_args(file_path=path, partition=Record())
    file.spec_id = 0
    return file


def publish(lake: Lakehouse, identifier: str, **what: Any) -> Table:
    """Stage and commit; returns the table as it is then."""
    commit(lake, [staged(lake, identifier, **what)])
    table = lake.table(identifier)
    assert table is not None
    return table


def held(table: Table) -> dict[str, LiveFile]:
    """The data files of a table as it is now."""
    return files_of(table, table.metadata.current_snapshot_id)
