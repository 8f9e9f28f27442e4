"""Rows that were deleted from files that stay: told by their places, so that no such file counts as changed whole."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table

from airflow_trickle.lakehouse.changes import FileChanges
from airflow_trickle.lakehouse.deletes import DeleteKind, LiveFile, deletes_of
from airflow_trickle.lakehouse.positions import deleted_positions

#: More places than this are not listed; the files then count as changed whole.
_MOST = 1_000_000


@dataclass(frozen=True)
class LostRows:
    """The rows that a data file lost, counted from 0 over all rows it was written with."""

    file: LiveFile
    rows: pa.Array


def split(table: Table, changes: FileChanges) -> tuple[FileChanges, tuple[LostRows, ...]]:
    """The same changes, with files that only lost rows by position told as those rows."""
    before = {file.file_path: file for file in changes.removed}
    lost: list[LostRows] = []
    for file in changes.added:
        old = before.get(file.file_path)
        if old is None or not isinstance(file, LiveFile) or not _only_positions(old, file):
            continue
        gone, then = deleted_positions(table.io, file), deleted_positions(table.io, old)
        if not pc.all(pc.is_in(then, value_set=gone)).as_py() and len(then):
            continue  # rows came back, as after a rollback
        lost.append(LostRows(file, gone.filter(pc.invert(pc.is_in(gone, value_set=then)))))
    if not lost or sum(len(one.rows) for one in lost) > _MOST:
        return changes, ()
    told = {one.file.file_path for one in lost}
    rest = FileChanges(
        tuple(file for file in changes.added if file.file_path not in told),
        tuple(file for file in changes.removed if file.file_path not in told),
    )
    # A delete file may have been written anew with the same rows.
    return rest, tuple(one for one in lost if len(one.rows))


def _only_positions(before: object, after: LiveFile) -> bool:
    deletes = {*deletes_of(after)}
    if isinstance(before, LiveFile):
        deletes |= {*before.deletes}
    return all(delete.kind is not DeleteKind.EQUALITY for delete in deletes)
