"""Compaction: small files, and files that lost many rows, are rewritten into larger ones; no row changes.

It is done in this process, a few files at a time. The snapshot says of itself what the one before said, and which one
that is: readers pass over it, see `lakehouse.compacted`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from sqlalchemy import Connection

from airflow_trickle.engine.arrange import arranged_rows
from airflow_trickle.engine.budget import Meter
from airflow_trickle.engine.capture.state import STATE, read_state
from airflow_trickle.engine.small_write import is_worn, layout_of, rows_left, write_rows
from airflow_trickle.engine.write import by_partition
from airflow_trickle.errors import RefreshFailed, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import NAME_MAPPING, Target, commit, data_files, stage
from airflow_trickle.lakehouse.compacted import COMPACTED
from airflow_trickle.lakehouse.deletes import deletes_of
from airflow_trickle.lakehouse.files import make_folder
from airflow_trickle.lakehouse.leases import Lease, require
from airflow_trickle.lakehouse.maintenance.expiry import moved_metadata
from airflow_trickle.lakehouse.maintenance.needs import said_by
from airflow_trickle.lakehouse.partitions import Layout
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.tuning import tuning

#: Fewer small files of a partition are left as they are: rewriting them costs more than reading them.
_LEAST_FILES = 4


@dataclass(frozen=True)
class Compacted:
    """What a compaction has rewritten, or would."""

    files: int = 0
    size: int = 0
    written: int = 0


@dataclass(frozen=True)
class Bins:
    """Files to rewrite, those of a bin together; or why none are, though some are small."""

    bins: tuple[tuple[DataFile, ...], ...] = ()
    why_not: str | None = None

    @property
    def compacted(self) -> Compacted:
        """How much they are."""
        files = [file for one in self.bins for file in one]
        return Compacted(len(files), sum(file.file_size_in_bytes for file in files), len(self.bins))


def find_bins(table: Table) -> Bins:
    """The files of a table that are worth rewriting together."""
    metadata = table.metadata
    if metadata.current_snapshot_id is None:
        return Bins()
    if NAME_MAPPING in metadata.properties:
        return Bins(why_not="its lists and maps are rewritten by Spark only")
    state = said_by(metadata.current_snapshot()).get(STATE)
    if state is not None:
        known = read_state(table.io, state)
        if known is None or known.files:
            # What goes with a file of the source is known by the data files that hold its rows.
            return Bins(why_not="each file of its source keeps data files of its own")
    limits = tuning()
    files = files_of(table, metadata.current_snapshot_id).values()
    bins: list[tuple[DataFile, ...]] = []
    for group in by_partition(file for file in files if file.spec_id == metadata.default_spec_id).values():
        worth = [file for file in group if file.file_size_in_bytes <= limits.compact_bytes and _is_worth(file)]
        bins += _packed(sorted(worth, key=lambda one: str(one.file_path)), limits.compact_bytes)
    return Bins(tuple(bins))


def _is_worth(file: DataFile) -> bool:
    return file.file_size_in_bytes < tuning().small_file_bytes or is_worn(file, 0)


def _packed(files: Sequence[DataFile], limit: int) -> list[tuple[DataFile, ...]]:
    """Files in bins of a size that this process can hold; bins that are not worth it are left out."""
    bins: list[list[DataFile]] = []
    size = limit
    for file in files:
        if size + file.file_size_in_bytes > limit:
            bins.append([])
            size = 0
        bins[-1].append(file)
        size += file.file_size_in_bytes
    return [tuple(one) for one in bins if len(one) >= _LEAST_FILES or any(is_worn(file, 0) for file in one)]


def compact(
    lake: Lakehouse,
    table: Table,
    lease: Lease,
    bins: Bins,
    *,
    cluster_by: Sequence[str],
    pipeline: str,
    tick_id: str,
) -> Compacted:
    """Rewrite bins of files and publish them as a snapshot with the same rows.

    Raises:
        CommitConflict: somebody wrote to the table meanwhile; nothing was changed.
    """
    schema = table.metadata.schema()
    order = Layout(cluster_by=tuple(cluster_by)).order(schema)
    target = Target(lease.identifier, table, schema, is_new=False, order=order)
    before = table.metadata.current_snapshot_id
    record = stagings.begin(
        lake,
        lease=lease,
        table_location=table.metadata.location,
        pipeline=pipeline,
        tick_id=tick_id,
        spark=None,
        new_table=False,
    )
    try:
        make_folder(table.io, record.data_folder)
        added, removed = _rewritten(target, record, bins)
        if not added and not removed:
            stagings.discard(lake, record)
            return Compacted()
        staged = stage(lake, target, record, added=added, removed=removed, summary=_summary(table))

        def also(connection: Connection) -> None:
            require(lake, connection, lease)
            moved_metadata(lake, connection, staged, before)

        commit(lake, [staged], also)
    except BaseException:
        # The first error is the one to show; what cannot be removed now is removed by the next tick.
        with suppress(TrickleError, OSError):
            stagings.discard(lake, record)
        raise
    return Compacted(len(removed), sum(file.file_size_in_bytes for file in removed), len(added))


def _rewritten(target: Target, record: Staging, bins: Bins) -> tuple[list[DataFile], list[DataFile]]:
    """Write the rows of each bin; files with other columns than the table has now are left out."""
    layout = layout_of(target)
    paths: list[str] = []
    removed: list[DataFile] = []
    rows = 0
    for one in bins.bins:
        parts: dict[int, pa.Table] = {}
        meter = Meter(sys.maxsize, tuning().arrow_rewrite_memory)
        for number, file in enumerate(one):
            left = rows_left(target, file, (), layout, meter)
            if left is not None:
                parts[number] = left
        if len(parts) < 2 and not any(deletes_of(one[number]) for number in parts):
            continue
        together = pa.concat_tables(parts.values())
        rows += together.num_rows
        removed += [one[number] for number in parts]
        for part in arranged_rows(together, target):
            paths.append(write_rows(target, record, part, len(paths)))
    added = data_files(target.table, target.schema, paths, target.spec)
    written = sum(file.record_count for file in added)
    if written != rows:
        raise RefreshFailed(
            f"Table {target.identifier}: compaction read {rows} rows and wrote {written}. Nothing was published. "
            f"Please report this."
        )
    return added, removed


def _summary(table: Table) -> Mapping[str, str]:
    """What the snapshot before said of itself, which holds for the same rows in other files."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None  # noqa: S101 - it has files
    said = {key: value for key, value in said_by(snapshot).items() if key.startswith("trickle.")}
    counts: dict[str, str] = {key: "0" for key in ("trickle.rows-inserted", "trickle.rows-deleted") if key in said}
    return {**said, **counts, COMPACTED: str(snapshot.snapshot_id)}
