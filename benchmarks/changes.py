"""TPC-H's tables as sources, and changes of them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.lakehouse import staging
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Target, commit, stage
from airflow_trickle.lakehouse.leases import Lease, release, try_acquire
from airflow_trickle.lakehouse.positions import deleted_positions, write_position_deletes
from airflow_trickle.lakehouse.snapshots import files_of

TABLES = ("orders", "lineitem", "customer")
_KEYS = {"lineitem": "l_orderkey", "orders": "o_orderkey"}
#: Beside the Python that runs this, whatever the PATH is.
_TPCHGEN = str(Path(sys.executable).with_name("tpchgen-cli"))
#: Appended orders have larger keys.
_FIRST_NEW = 10**9


def load(catalog: SqlCatalog, folder: Path, scale: float, tables: Sequence[str] = TABLES) -> dict[str, int]:
    """Makes some tables at a scale and loads them as sources; returns their numbers of rows."""
    subprocess.run(
        [_TPCHGEN, "parquet", "-s", str(scale), "-o", str(folder / "raw"), "-T", ",".join(tables)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    rows = {}
    for name in tables:
        file = pq.ParquetFile(folder / "raw" / f"{name}.parquet")
        table = None
        for batch in file.iter_batches(batch_size=4_000_000):
            part = _plain(pa.Table.from_batches([batch]))
            table = table or catalog.create_table(f"default.{name}", schema=part.schema)
            table.append(part)
        rows[name] = file.metadata.num_rows
    return rows


def _plain(table: pa.Table) -> pa.Table:
    """Without string views, which Iceberg's writers do not know."""
    fields = [
        pa.field(f.name, pa.string() if str(f.type) in ("string_view", "large_string") else f.type)
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))


def append(catalog: SqlCatalog, folder: Path, share: float) -> None:
    """Adds copies of some orders and their lines under new keys."""
    started = int(time.time() * 1000) % 10**10 * 1000
    for name, key in _KEYS.items():
        table = catalog.load_table(f"default.{name}")
        raw = pq.ParquetFile(folder / "raw" / f"{name}.parquet")
        count = max(1, int(share * raw.metadata.num_rows))
        part = _plain(pa.Table.from_batches([next(raw.iter_batches(batch_size=count))]))
        keys = pa.array([started + one for one in part[key].to_pylist()], part.schema.field(key).type)
        table.append(part.set_column(part.schema.get_field_index(key), part.schema.field(key), keys))


def delete(share: float, number: int) -> None:
    """Deletes some of the first orders and their lines, evenly from all files, by position (merge-on-read).

    ``number`` must be another one each time.
    """
    # Odd: the keys of orders come in eights out of thirty-two.
    every = int(1 / share) | 1
    with open_lakehouse("trickle") as lake:
        for name, key in _KEYS.items():
            lease = try_acquire(lake, f"default.{name}", "benchmark")
            assert isinstance(lease, Lease), lease
            try:
                _delete(lake, lease, key, every, number)
            finally:
                release(lake, lease)


def _delete(lake: Lakehouse, lease: Lease, key: str, every: int, number: int) -> None:
    table = lake.table(lease.identifier)
    assert table is not None
    record = staging.begin(
        lake,
        lease=lease,
        table_location=table.metadata.location,
        pipeline="benchmark",
        tick_id=str(number),
        spark=None,
        new_table=False,
    )
    positions = []
    for path, file in files_of(table, table.metadata.current_snapshot_id).items():
        with table.io.new_input(path).open() as stream:
            keys = pq.ParquetFile(stream).read(columns=[key])[key].to_numpy()
        chosen = ((keys % every == number % every) & (keys < _FIRST_NEW)).nonzero()[0]
        gone = set(deleted_positions(table.io, file).to_pylist())
        positions.append((file, [int(row) for row in chosen if row not in gone]))
    target = Target(lease.identifier, table, table.metadata.schema(), is_new=False)
    deletes = write_position_deletes(table, record, positions)
    commit(lake, [stage(lake, target, record, added=(), removed=(), deletes=deletes, summary={})])
