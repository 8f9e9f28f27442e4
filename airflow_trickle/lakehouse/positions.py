"""Deleted row numbers: reading them from position delete files and deletion vectors, and writing the former."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.deletion_vector import DeletionVector
from pyiceberg.typedef import Record

from airflow_trickle.errors import RefreshFailed, UnsupportedTable
from airflow_trickle.lakehouse.deletes import FILE_PATH_ID, POS_ID, DeleteFile, DeleteKind, deletes_of, scope_of
from airflow_trickle.lakehouse.staging import Staging

#: The columns of a position delete file; every reader finds them by these names and ids.
_COLUMNS = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(FILE_PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POS_ID)}),
    ]
)

_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"


def deleted_positions(io: FileIO, file: DataFile, *, vectors_only: bool = False) -> pa.Array:
    """Which rows of a data file are deleted by position or by a vector, counted from 0, each once, in order."""
    found: list[pa.Array | pa.ChunkedArray] = []
    for delete in deletes_of(file):
        if delete.kind is DeleteKind.VECTOR:
            found.append(vector_positions(io, delete))
        elif delete.kind is DeleteKind.POSITION and not vectors_only:
            listed = _read(io, delete, ["file_path", "pos"])
            found.append(listed.filter(pc.equal(listed["file_path"], file.file_path))["pos"].cast(pa.int64()))
    chunks = [chunk for part in found for chunk in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
    once = pc.unique(pa.chunked_array(chunks, pa.int64()))
    return once.take(pc.sort_indices(once))


def named_files(io: FileIO, delete: DeleteFile) -> set[str]:
    """The data files of which a position delete file lists rows."""
    if delete.target is not None:
        return {delete.target}
    return set(pc.unique(_read(io, delete, ["file_path"])["file_path"]).to_pylist())


def _read(io: FileIO, delete: DeleteFile, columns: list[str]) -> pa.Table:
    with io.new_input(delete.path).open() as stream:
        return pq.ParquetFile(stream).read(columns=columns)


def vector_positions(io: FileIO, delete: DeleteFile) -> pa.Array:
    """The rows that a deletion vector names; a vector that is not whole is refused.

    The blob is: length, magic, a 64-bit roaring bitmap, checksum.
    """
    with io.new_input(delete.path).open() as stream:
        stream.seek(delete.offset)
        blob = stream.read(delete.length)
    (length,) = struct.unpack(">i", blob[:4]) if len(blob) >= 12 else (-1,)
    vector, checksum = blob[4:-4], blob[-4:]
    if length != len(vector) or vector[:4] != _VECTOR_MAGIC or struct.pack(">I", zlib.crc32(vector)) != checksum:
        raise UnsupportedTable(
            f"The deletion vector for {delete.target} in {delete.path} at byte {delete.offset} cannot be read: it is "
            f"damaged or of a kind this version does not know. Rewrite the data file with its writer."
        )
    bitmaps = DeletionVector._deserialize_bitmap(vector[4:])
    rows = [(number << 32) + low for number, bitmap in enumerate(bitmaps) for low in bitmap]
    if len(rows) != delete.rows:
        raise UnsupportedTable(
            f"The deletion vector for {delete.target} in {delete.path} at byte {delete.offset} names {len(rows)} rows, "
            f"but its table says {delete.rows}. Rewrite the data file with its writer."
        )
    return pa.array(rows, pa.int64())


def write_position_deletes(
    table: Table, staging: Staging, positions: Iterable[tuple[DataFile, Sequence[int]]]
) -> list[DataFile]:
    """Write the rows to delete of some data files as delete files for `commit.stage`.

    Each data file gets a delete file of its own, in the same partition: readers then know from metadata alone which
    file lost rows, and the delete file goes when its data file goes.

    Raises:
        UnsupportedTable: the table's format has no position deletes.
    """
    metadata = table.metadata
    if metadata.format_version != 2:
        raise UnsupportedTable(
            f"Table {'.'.join(table.name())} has format version {metadata.format_version}; position deletes are "
            f"written to tables of format version 2 only."
        )
    listed = sorted(positions, key=lambda one: str(one[0].file_path))
    given = [(file, list(rows)) for file, rows in listed if len(rows)]
    for file, rows in given:
        if rows[0] < 0 or any(left >= right for left, right in pairwise(rows)):
            raise RefreshFailed(
                f"Table {'.'.join(table.name())}: the row numbers to delete, of {file.file_path}, do not rise one by "
                f"one. Nothing was published. Please report this, with the table's query."
            )
    return [
        _write(table, f"{staging.deletes_folder}/deletes-{number:05d}.parquet", file, rows)
        for number, (file, rows) in enumerate(given)
    ]


def _write(table: Table, location: str, data: DataFile, rows: list[int]) -> DataFile:
    path = data.file_path
    arrow = pa.table([pa.repeat(path, len(rows)), pa.array(rows, pa.int64())], schema=_COLUMNS)
    output = table.io.new_output(location)
    with output.create() as stream:
        pq.write_table(arrow, stream, compression="zstd")
    name = path.encode()
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=location,
        file_format=FileFormat.PARQUET,
        # Readers look for the deletes of a file in its partition only.
        partition=Record(*data.partition._data),
        record_count=len(rows),
        file_size_in_bytes=len(output),
        # Never cut short: equal bounds say that no other file is meant.
        lower_bounds={FILE_PATH_ID: name, POS_ID: struct.pack("<q", rows[0])},
        upper_bounds={FILE_PATH_ID: name, POS_ID: struct.pack("<q", rows[-1])},
    )
    file.spec_id = data.spec_id
    return file


def check_deletes(table: str, deletes: Iterable[DataFile], next_files: Iterable[DataFile]) -> None:
    """Refuse deletes that do not fit the files a table is about to have: they would delete nothing, or too much."""
    files = {file.file_path: file for file in next_files}
    rows = {path: file.record_count for path, file in files.items()}
    for delete in deletes:
        path = delete.lower_bounds[FILE_PATH_ID].decode()
        (last,) = struct.unpack("<q", delete.upper_bounds[POS_ID])
        if path not in rows or last >= rows[path]:
            what = f"row {last} of" if path in rows else "rows of"
            raise RefreshFailed(
                f"Table {table}: the refresh deletes {what} {path}, which its next state does not have. Nothing was "
                f"published. Please report this, with the table's query."
            )
        if scope_of(delete) != scope_of(files[path]):
            raise RefreshFailed(
                f"Table {table}: the refresh deletes rows of {path} in another partition than that of the file. "
                f"Nothing was published. Please report this, with the table's query."
            )
