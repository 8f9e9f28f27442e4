"""What changed in a table between two snapshots, found from metadata; rows are read only where needed."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

from airflow_trickle.lakehouse.snapshots import live_files, manifests_of

#: Up to here netting in this process is quicker than a Spark job, and cheap on memory.
_SMALL_ROWS = 200_000
_SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class FileChanges:
    """The data files that came and went between two snapshots.

    As weighted rows: every row of an added file counts +1, every row of a removed file -1; rows that
    were only copied from one file to another cancel out.
    """

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]

    @property
    def nothing(self) -> bool:
        """True when both snapshots have the very same files."""
        return not self.added and not self.removed

    @property
    def rows(self) -> int:
        """How many rows the changed files hold."""
        return sum(file.record_count for file in (*self.added, *self.removed))

    @property
    def size(self) -> int:
        """How many bytes the changed files hold."""
        return sum(file.file_size_in_bytes for file in (*self.added, *self.removed))


def file_changes(table: Table, before: int | None, after: int | None) -> FileChanges:
    """Compare two snapshots of one table; manifests they share are not opened.

    Raises:
        HistoryExpired: the table does not keep one of the snapshots any more.
    """
    old, new = manifests_of(table, before), manifests_of(table, after)
    old_files = live_files(table, [old[path] for path in sorted(old.keys() - new.keys())])
    new_files = live_files(table, [new[path] for path in sorted(new.keys() - old.keys())])
    return FileChanges(
        added=tuple(new_files[path] for path in sorted(new_files.keys() - old_files.keys())),
        removed=tuple(old_files[path] for path in sorted(old_files.keys() - new_files.keys())),
    )


def certainly_no_change(table: Table, changes: FileChanges, schema: Schema) -> bool:
    """True only when the changed files are small and hold, as a bag, the same rows.

    False means "changed, or too large to tell here".
    """
    if changes.nothing:
        return True
    if sum(f.record_count for f in changes.added) != sum(f.record_count for f in changes.removed):
        return False
    if changes.rows > _SMALL_ROWS or changes.size > _SMALL_BYTES:
        return False
    try:
        # One writer's strings are another's large strings.
        weighted = pa.concat_tables(
            [_read(table, changes.added, schema, 1), _read(table, changes.removed, schema, -1)],
            promote_options="permissive",
        )
        net = weighted.group_by(weighted.column_names[1:]).aggregate([("0", "sum")])
    except pa.ArrowException:
        # Arrow cannot group by nested columns, for one: let Spark tell.
        return False
    return not pc.any(pc.not_equal(net["0_sum"], 0)).as_py()


def _read(table: Table, files: tuple[DataFile, ...], schema: Schema, weight: int) -> pa.Table:
    """The rows with their weight in front; the columns are numbered, since Arrow takes ``.a`` for a path."""
    scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
    rows = scan.to_table([FileScanTask(file) for file in files])
    weights = pa.array([weight] * len(rows), pa.int64())
    return pa.table([weights, *rows.columns], names=[str(number) for number in range(1 + len(schema.fields))])
