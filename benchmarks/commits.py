"""A commit of three tables against commits of one: staging, and the flip that makes all visible."""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Staged, Target, commit, data_files, new_target, stage, stage_together
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.snapshots import files_of

ROUNDS = 30
_SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))


def _prepared(lake: Lakehouse, identifier: str) -> Callable[[], Staged]:
    """Write the data file of a next state; what is returned stages it."""
    current = lake.table(identifier)
    target = (
        Target(identifier, current, current.metadata.schema(), is_new=False)
        if current is not None
        else new_target(lake, identifier, _SCHEMA)
    )
    record = stagings.begin(
        lake,
        lease=Lease(identifier, "bench"),
        table_location=target.table.metadata.location,
        pipeline="bench",
        tick_id="bench",
        spark=None,
        new_table=target.is_new,
    )
    make_folder(target.table.io, record.data_folder)
    path = f"{record.data_folder}/part-{uuid.uuid4()}.parquet"
    pq.write_table(pa.table({"id": [1]}).cast(schema_to_pyarrow(target.schema)), spark_path(path))
    old = list(files_of(target.table, target.table.metadata.current_snapshot_id).values())

    def go() -> Staged:
        added = data_files(target.table, target.schema, [path])
        return stage(lake, target, record, added=added, removed=old, summary={})

    return go


def _timed(lake: Lakehouse, names: list[str]) -> tuple[float, float]:
    prepared = [_prepared(lake, name) for name in names]
    start = time.perf_counter()
    staged = stage_together(prepared)
    middle = time.perf_counter()
    commit(lake, staged)
    return time.perf_counter() - start, time.perf_counter() - middle


def _measure(label: str, uri: str, folder: str) -> None:
    one, three = ["bench.a"], ["bench.b", "bench.c", "bench.d"]
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{folder}/{label}") as lake:
        for names in (one, three):
            _timed(lake, names)
        # Turn by turn, so that both see the same machine.
        pairs = [(_timed(lake, one), _timed(lake, three)) for _ in range(ROUNDS)]
    single, triple = (statistics.median(pair[n][0] for pair in pairs) for n in (0, 1))
    flip_one, flip_three = (statistics.median(pair[n][1] for pair in pairs) for n in (0, 1))
    print(
        f"{label}: one table {single * 1000:.0f} ms, three tables {triple * 1000:.0f} ms = {triple / single:.2f}x "
        f"(aim: under 3x); the flip alone {flip_one * 1000:.1f} and {flip_three * 1000:.1f} ms "
        f"= {flip_three / flip_one:.2f}x",
        flush=True,
    )


def main() -> None:
    """Print both databases."""
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as folder:
        _measure("sqlite", f"sqlite:///{folder}/catalog.db", folder)
        from tests.databases import new_database

        _measure("postgresql", new_database(), folder)
