"""What changed in a table between two snapshots, found from metadata; rows are read only where needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

from airflow_trickle.lakehouse.compacted import pairs_between
from airflow_trickle.lakehouse.deletes import DeleteFile, DeleteKind, LiveFile, deletes_of, total_rows, total_size
from airflow_trickle.lakehouse.positions import deleted_positions, named_files
from airflow_trickle.lakehouse.snapshots import live_files, manifests_of
from airflow_trickle.tuning import tuning

#: So many rows of a delete file are looked at to save reading data files.
_SMALL_DELETES = 1_000_000
#: Files are measured in steps of so many rows.
_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True)
class FileChanges:
    """The data files that came and went between two snapshots.

    As weighted rows: every row of an added file counts +1, every row of a removed file -1; rows that
    were only copied from one file to another cancel out. A file from which rows were deleted without rewriting
    it went with its old deletes and came with its new ones.
    """

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]

    @property
    def nothing(self) -> bool:
        """True when both snapshots have the very same files."""
        return not self.added and not self.removed

    @property
    def rows(self) -> int:
        """How many rows the changed files hold, those included that delete files take away again."""
        return sum(file.record_count for file in (*self.added, *self.removed))

    @property
    def size(self) -> int:
        """How many bytes the changed files hold, with their delete files."""
        return total_size(self.added) + total_size(self.removed)


def file_changes(table: Table, before: int | None, after: int | None) -> FileChanges:
    """Compare two snapshots of one table; manifests they share are not opened, unless rows were deleted by others.

    Files that our own compaction has only rewritten do not count, see `lakehouse.compacted`.

    Raises:
        HistoryExpired: the table does not keep one of the snapshots any more.
    """
    found = _compared(table, before, after)
    pairs = pairs_between(table, before, after) if not found.nothing else []
    if not pairs:
        return found
    starts, ends = [before, *(one for _, one in pairs)], [*(one for one, _ in pairs), after]
    steps = [_compared(table, start, end) for start, end in zip(starts, ends, strict=True)]
    around = _added_up(steps)
    # A compaction that a rollback has undone lies between in time only: then going around it is a detour.
    return around if around is not None and (around.rows, around.size) < (found.rows, found.size) else found


def _added_up(steps: Sequence[FileChanges]) -> FileChanges | None:
    """The changes of several steps as one, or None if a file would come or go twice, with different deletes."""
    added: dict[str, DataFile] = {}
    removed: dict[str, DataFile] = {}
    for step in steps:
        for files, others, these in ((step.removed, added, removed), (step.added, removed, added)):
            for file in files:
                other = others.get(file.file_path)
                if other is not None and other == file:
                    del others[file.file_path]
                elif file.file_path in these:
                    return None
                else:
                    these[file.file_path] = file
    return FileChanges(tuple(added[path] for path in sorted(added)), tuple(removed[path] for path in sorted(removed)))


def _compared(table: Table, before: int | None, after: int | None) -> FileChanges:
    """The files that two snapshots do not share."""
    old, new = manifests_of(table, before), manifests_of(table, after)
    old_files, new_files = (live_files(table, _to_open(own, other)) for own, other in ((old, new), (new, old)))
    same = _with_same_rows(table, old_files, new_files)
    return FileChanges(
        added=tuple(new_files[path] for path in sorted(new_files.keys() - same)),
        removed=tuple(old_files[path] for path in sorted(old_files.keys() - same)),
    )


def _with_same_rows(table: Table, old: Mapping[str, LiveFile], new: Mapping[str, LiveFile]) -> set[str]:
    """The files of two snapshots that have the same rows in both.

    A position delete file may stand for a whole partition. Then only itself tells which files it speaks of; looking
    into it is cheaper than reading every file of the partition.
    """
    named: dict[DeleteFile, set[str]] = {}
    same = set()
    for path in old.keys() & new.keys():
        differing = set(old[path].deletes) ^ set(new[path].deletes)
        if any(delete.kind is not DeleteKind.POSITION or delete.rows > _SMALL_DELETES for delete in differing):
            continue
        named |= {delete: named_files(table.io, delete) for delete in differing - named.keys()}
        if not any(path in named[delete] for delete in differing):
            same.add(path)
    return same


def _to_open(own: Mapping[str, ManifestFile], other: Mapping[str, ManifestFile]) -> list[ManifestFile]:
    """The manifests that tell what one snapshot has and another has not."""
    deletes = {path for path, manifest in own.items() if manifest.content == ManifestContent.DELETES}
    others = {path for path, manifest in other.items() if manifest.content == ManifestContent.DELETES}
    # With the same deletes, files that both list have the same rows; otherwise any file may have lost some.
    data = own.keys() - deletes - (other.keys() if deletes == others else set())
    return [own[path] for path in sorted(data | (deletes if data else set()))]


def certainly_no_change(table: Table, changes: FileChanges, schema: Schema) -> bool:
    """True only when the changed files are small and hold, as a bag, the same rows.

    False means "changed, or too large to tell here".
    """
    if changes.nothing:
        return True
    added, removed = total_rows(changes.added), total_rows(changes.removed)
    if added is not None and removed is not None and added != removed:
        return False
    limits = tuning()
    too_many = changes.rows > limits.arrow_compare_rows or changes.size > limits.arrow_compare_bytes
    files = (*changes.added, *changes.removed)
    if too_many or any(delete.kind is DeleteKind.EQUALITY for file in files for delete in deletes_of(file)):
        return False
    try:
        if not _fits_here(table, files):
            return False
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


def _fits_here(table: Table, files: tuple[DataFile, ...]) -> bool:
    """Whether the rows of some files fit into this process.

    The size of a file says little of it: a long text that comes in every row is written once. So the files are gone
    through, a few rows at a time, before they are read as a whole.
    """
    room = tuning().arrow_compare_memory
    for file in files:
        with table.io.new_input(file.file_path).open() as stream:
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=_ROWS_AT_ONCE):
                room -= batch.nbytes
                if room < 0:
                    return False
    return True


def _read(table: Table, files: tuple[DataFile, ...], schema: Schema, weight: int) -> pa.Table:
    """The rows with their weight in front; the columns are numbered, since Arrow takes ``.a`` for a path."""
    scan = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
    parts = [scan.to_table([FileScanTask(file) for file in files if not deletes_of(file)])]
    for file in files:
        if deletes_of(file):
            whole = scan.to_table([FileScanTask(file)])
            numbers = pa.array(range(len(whole)), pa.int64())
            gone = pc.is_in(numbers, value_set=deleted_positions(table.io, file))
            parts.append(whole.filter(pc.invert(gone)))
    rows = pa.concat_tables(parts, promote_options="permissive")
    weights = pa.array([weight] * len(rows), pa.int64())
    return pa.table([weights, *rows.columns], names=[str(number) for number in range(1 + len(schema.fields))])
