"""TPC-H's tables as sources, and inserts, deletes and updates of orders with their lineitems."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io
from pyiceberg.manifest import DataFile

from airflow_trickle.lakehouse import staging
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Target, commit, stage
from airflow_trickle.lakehouse.leases import Lease, release, try_acquire
from airflow_trickle.lakehouse.positions import deleted_positions, write_position_deletes
from airflow_trickle.lakehouse.snapshots import files_of

TABLES = ("orders", "lineitem", "customer")
#: The tables that change, and the column that says which order a row belongs to.
KEYS = {"lineitem": "l_orderkey", "orders": "o_orderkey"}
#: append: new orders behind the last key. insert: new orders under unused keys in between (RF1). delete: old orders
#: from everywhere (RF2). update: new values in rows from everywhere. mixed: half insert, half delete.
KINDS = ("append", "insert", "delete", "update", "mixed")
#: Beside the Python that runs this, whatever the PATH is.
_TPCHGEN = str(Path(sys.executable).with_name("tpchgen-cli"))
#: Orders that were appended have larger keys.
_FIRST_NEW = 10**9
#: TPC-H uses the first eight of every 32 keys of orders; the others are free for new ones.
_KEYS_USED = 8
_GAPS = 3


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


class SourceChanges:
    """Changes orders and lineitems, a different set of rows each time.

    Args:
        catalog: The catalog of the sources.
        folder: Where `load` has put TPC-H's files.
    """

    def __init__(self, catalog: SqlCatalog, folder: Path) -> None:
        self._catalog = catalog
        self._folder = folder
        self._number = 0
        self._inserted: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def make(self, kind: str, share: float) -> dict[str, dict[str, int]]:
        """Change a share of the rows of both tables.

        Args:
            kind: One of `KINDS`.
            share: Of the rows; an updated row counts once, and of ``mixed`` each half is half of it.

        Returns:
            By table how many rows were ``inserted``, ``deleted`` and ``updated``.
        """
        self._number += 1
        done = {table: {"inserted": 0, "deleted": 0, "updated": 0} for table in sorted(KEYS)}
        if kind in ("append", "insert", "mixed"):
            self._insert(share / 2 if kind == "mixed" else share, done, appended=kind == "append")
        if kind in ("delete", "update", "mixed"):
            self._remove(share / 2 if kind == "mixed" else share, done, again=kind == "update")
        return done

    def _insert(self, share: float, done: dict[str, dict[str, int]], *, appended: bool) -> None:
        """Insert copies of orders from all over the table under new keys, with their lineitems."""
        every = _every(share)
        gap = _KEYS_USED * (1 + self._number // every % _GAPS)
        moved = _FIRST_NEW * self._number if appended else gap
        free: npt.NDArray[np.int64] | None = None
        for name, key in sorted(KEYS.items(), reverse=True):  # orders first: they say which keys are free
            with duckdb.connect() as connection:
                query = f"SELECT * FROM '{self._folder}/raw/{name}.parquet' WHERE {key} % ? = ?"
                part = _plain(connection.execute(query, [every, (2 * self._number + 1) % every]).to_arrow_table())
            keys = part[key].to_numpy() + moved
            if free is None:
                free = np.setdiff1d(keys, self._inserted)
                self._inserted = np.union1d(self._inserted, free)
            fits = np.isin(keys, free)
            index = part.schema.get_field_index(key)
            part = part.set_column(index, part.schema.field(index), pa.array(keys, part.schema.field(index).type))
            done[name]["inserted"] = self._append(name, part.filter(pa.array(fits)))

    def _remove(self, share: float, done: dict[str, dict[str, int]], *, again: bool) -> None:
        """Delete rows of orders from all over the table by position (merge-on-read); ``again``: insert them changed."""
        every = _every(share)

        def chosen(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
            return np.asarray((keys % every == 2 * self._number % every) & (keys < _FIRST_NEW))

        with open_lakehouse("trickle") as lake:
            for name, key in sorted(KEYS.items()):
                rows = _delete(lake, name, key, chosen, str(self._number))
                if again:
                    self._append(name, _updated(name, pa.concat_tables(rows)))
                done[name]["updated" if again else "deleted"] = sum(part.num_rows for part in rows)

    def _append(self, name: str, rows: pa.Table) -> int:
        table = self._catalog.load_table(f"default.{name}")
        table.append(rows.cast(table.schema().as_arrow()).combine_chunks())
        return int(rows.num_rows)


def _every(share: float) -> int:
    # Odd: the keys of orders come in eights out of thirty-two.
    return int(1 / share) | 1


def _updated(name: str, rows: pa.Table) -> pa.Table:
    """Rows with other values in some columns, and the same keys."""
    values: dict[str, pa.ChunkedArray] = {}
    if name == "orders":
        values["o_totalprice"] = pc.add(rows["o_totalprice"], pa.scalar(Decimal(1), rows["o_totalprice"].type))
        values["o_orderpriority"] = _next_of(rows["o_orderpriority"])
    else:
        values["l_quantity"] = pc.add(rows["l_quantity"], pa.scalar(Decimal(1), rows["l_quantity"].type))
        values["l_shipmode"] = _next_of(rows["l_shipmode"])
    for column, changed in values.items():
        field = rows.schema.field(column)
        rows = rows.set_column(rows.schema.get_field_index(column), field, changed.cast(field.type))
    return rows


def _next_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Every value replaced by the next one of those that occur."""
    known = sorted(pc.unique(column).to_pylist())
    after = pa.array([*known[1:], known[0]] if known else [], column.type)
    return after.take(pc.index_in(column, pa.array(known, column.type)))


def _delete(
    lake: Lakehouse,
    name: str,
    key: str,
    chosen: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]],
    tick_id: str,
) -> list[pa.Table]:
    """Delete the rows whose key is chosen, and return them."""
    lease = try_acquire(lake, f"default.{name}", "benchmark")
    assert isinstance(lease, Lease), lease
    try:
        table = lake.table(lease.identifier)
        assert table is not None
        record = staging.begin(
            lake,
            lease=lease,
            table_location=table.metadata.location,
            pipeline="benchmark",
            tick_id=tick_id,
            spark=None,
            new_table=False,
        )
        positions, rows = [], []
        for file in files_of(table, table.metadata.current_snapshot_id).values():
            of_file, part = _chosen_rows(file, key, chosen)
            positions.append((file, of_file))
            rows.append(part)
        target = Target(lease.identifier, table, table.metadata.schema(), is_new=False)
        deletes = write_position_deletes(table, record, positions)
        commit(lake, [stage(lake, target, record, added=(), removed=(), deletes=deletes, summary={})])
    finally:
        release(lake, lease)
    return rows


def _chosen_rows(
    file: DataFile, key: str, chosen: Callable[[npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
) -> tuple[list[int], pa.Table]:
    """The rows of a file that are chosen and not deleted yet, with their positions."""
    io = load_file_io({}, file.file_path)
    with io.new_input(file.file_path).open() as stream:
        read = pq.ParquetFile(stream)
        wanted = chosen(read.read(columns=[key])[key].to_numpy())
        gone = deleted_positions(io, file).to_numpy(zero_copy_only=False)
        wanted[gone] = False
        parts, first = [], 0
        for group in range(read.num_row_groups):
            rows = read.metadata.row_group(group).num_rows
            of_group = wanted[first : first + rows]
            if of_group.any():
                parts.append(_plain(read.read_row_group(group).filter(pa.array(of_group))))
            first += rows
        empty = _plain(read.schema_arrow.empty_table())
    return [int(one) for one in wanted.nonzero()[0]], pa.concat_tables([empty, *parts])
