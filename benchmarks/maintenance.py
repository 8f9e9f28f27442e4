"""Growth under maintenance: many commits of one small table, with maintenance every so often.

``TRICKLE_BENCH_COMMITS`` is how many (10,000).
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from airflow_trickle.engine.maintenance.maintain import Rules, maintain
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Target, commit, data_files, new_target, stage
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.maintenance.policy import MaintenancePolicy
from airflow_trickle.lakehouse.state import write_status
from airflow_trickle.results import Maintenance
from airflow_trickle.tuning import tuned

EVERY = 50
_TABLE = "bench.t"
_SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
#: All commits are of the same hour, so that only the number can decide.
_POLICY = MaintenancePolicy(keep_snapshots=50, restate_window=0, keep_history=1000)
_POINTS = (100, 1_000, 10_000)


def commit_one(lake: Lakehouse, number: int) -> float:
    """Append a row, as a refresh publishes it; how long staging and commit took."""
    current = lake.table(_TABLE)
    target = (
        Target(_TABLE, current, current.metadata.schema(), is_new=False)
        if current is not None
        else new_target(lake, _TABLE, _SCHEMA)
    )
    record = stagings.begin(
        lake,
        lease=Lease(_TABLE, "bench"),
        table_location=target.table.metadata.location,
        pipeline="bench",
        tick_id="bench",
        spark=None,
        new_table=target.is_new,
    )
    make_folder(target.table.io, record.data_folder)
    path = f"{record.data_folder}/part-{uuid.uuid4()}.parquet"
    pq.write_table(pa.table({"id": [number]}).cast(schema_to_pyarrow(target.schema)), spark_path(path))
    began = time.perf_counter()
    added = data_files(target.table, target.schema, [path])
    staged = stage(lake, target, record, added=added, removed=(), summary={})
    known = {"name": "t", "pipeline": "bench"}
    values = {"snapshot_id": staged.snapshot_id, "schema_id": 0, "metadata_location": staged.location}
    commit(lake, [staged], lambda connection: write_status(lake, connection, _TABLE, if_new=known, **values))
    return time.perf_counter() - began


def _size(folder: str) -> tuple[int, int]:
    files = [path for path in Path(folder).rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def _measured(folder: str, *, commits: int, maintained: bool) -> None:
    own = psutil.Process()
    seconds: list[float] = []
    cpu: list[float] = []
    upkeep: list[Maintenance] = []
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
    for start in range(0, commits, EVERY):
        # Opened anew now and then, as tasks do: what a lakehouse has read once, it keeps.
        with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as lake, tuned(maintenance_grace_seconds=0):
            for number in range(start + 1, min(start + EVERY, commits) + 1):
                before = time.process_time()
                seconds.append(commit_one(lake, number))
                cpu.append(time.process_time() - before)
            if maintained:
                upkeep.append(maintain(lake, Rules(_POLICY)))
        if number in _POINTS or number == commits:
            with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as lake:
                table = lake.table(_TABLE)
                assert table is not None
                held = table.scan().to_arrow()["id"].to_pylist()
            assert sorted(held) == list(range(1, number + 1)), "a row was lost"
            size, files = _size(f"{folder}/warehouse")
            kept = f", maintenance {upkeep[-1].seconds:.1f} s" if upkeep else ""
            print(
                f"{'with' if maintained else 'without'} maintenance, {number:,} commits: {size / 1e6:.1f} MB in "
                f"{files} files, database {os.path.getsize(f'{folder}/catalog.db') / 1e3:.0f} KB, "
                f"{len(table.metadata.snapshots)} snapshots, "
                f"metadata.json {os.path.getsize(spark_path(table.metadata_location)) / 1e3:.0f} KB, "
                f"{statistics.median(seconds[-100:]) * 1000:.0f} ms a commit, of which "
                f"{statistics.median(cpu[-100:]) * 1000:.0f} ms of CPU (medians of the last 100){kept}, "
                f"RSS {own.memory_info().rss / 1e6:.0f} MB",
                flush=True,
            )


def main() -> None:
    """Print commits with maintenance, and fewer without."""
    commits = int(os.environ.get("TRICKLE_BENCH_COMMITS", "10000"))
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as folder:
        _measured(folder, commits=commits, maintained=True)
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as folder:
        _measured(folder, commits=min(commits, 1_000), maintained=False)
