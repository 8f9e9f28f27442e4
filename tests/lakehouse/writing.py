"""Small helpers that write tables through the lakehouse without Spark."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, Target, data_files, new_target, stage
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease, try_acquire
from airflow_trickle.lakehouse.snapshots import files_of

SCHEMA = Schema(
    NestedField(1, "epoch", LongType(), required=False), NestedField(2, "name", StringType(), required=False)
)


def lease_of(lake: Lakehouse, identifier: str) -> Lease:
    lease = try_acquire(lake, identifier, "test")
    return lease if isinstance(lease, Lease) else Lease(identifier, "nobody")


def stage_rows(
    lake: Lakehouse,
    identifier: str,
    rows: list[dict[str, object]],
    *,
    replace: bool = False,
    note: str = "",
    schema: Schema = SCHEMA,
    over: Table | None = None,
) -> Staged:
    """Stage a next state of a table: its rows and these, or only these.

    ``over`` is the state to build on, when something else was already decided from that state.
    """
    current = over or lake.table(identifier)
    target = (
        Target(identifier, current, current.metadata.schema(), is_new=False)
        if current is not None
        else new_target(lake, identifier, schema)
    )
    record = stagings.begin(
        lake,
        lease=Lease(identifier, "test"),
        table_location=target.table.metadata.location,
        pipeline="p",
        tick_id="t",
        spark=None,
        new_table=target.is_new,
    )
    make_folder(target.table.io, record.data_folder)
    path = f"{record.data_folder}/part-{uuid.uuid4()}.parquet"
    arrow = pa.Table.from_pylist(rows, schema=schema_to_pyarrow(target.schema))
    pq.write_table(arrow, spark_path(path))
    old = list(files_of(target.table, target.table.metadata.current_snapshot_id).values()) if replace else []
    return stage(
        lake,
        target,
        record,
        added=data_files(target.table, target.schema, [path]),
        removed=old,
        summary={"trickle.note": note},
    )


def rows_of(lake: Lakehouse, identifier: str) -> list[dict[str, object]]:
    table = lake.table(identifier)
    assert table is not None
    return sorted(table.scan().to_arrow().to_pylist(), key=str)
