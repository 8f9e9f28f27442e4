"""Merge-on-read: which delete files of a snapshot take rows from which of its data files.

The rules are those of the Iceberg format ("Scan Planning"): a delete file reaches data files by path, by partition
and by sequence number, which says what was there before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.avro.file import AvroFile
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    _inherit_from_manifest,
)
from pyiceberg.table import Table
from pyiceberg.transforms import VoidTransform

from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.files import is_hidden

#: The field ids that the format reserves for the columns of position delete files.
FILE_PATH_ID = 2147483546
POS_ID = 2147483545

#: Where a delete file may reach: a partition spec and its values. They are compared as text, since NaN is not NaN.
Scope = tuple[int, tuple[str, ...]]


class DeleteKind(Enum):
    """The ways to delete rows without rewriting their file."""

    POSITION = "position delete file"
    EQUALITY = "equality delete file"
    VECTOR = "deletion vector"


@dataclass(frozen=True)
class DeleteFile:
    """One delete file of a snapshot; of a Puffin file that holds several vectors, one of them.

    ``target`` is the only data file it speaks of, if that is known; ``scope`` is None for an equality delete
    that reaches every partition.
    """

    path: str
    kind: DeleteKind
    sequence: int
    scope: Scope | None
    rows: int
    size: int
    target: str | None = None
    bounds: tuple[bytes, bytes] | None = None
    equality_ids: tuple[int, ...] = ()
    offset: int = 0
    length: int = 0

    def may_name(self, path: str) -> bool:
        """Whether a position delete file may list rows of a data file, as far as its bounds tell."""
        if self.target is not None:
            return self.target == path
        return self.bounds is None or self.bounds[0] <= path.encode() <= self.bounds[1]


class LiveFile(DataFile):
    """A data file as one snapshot sees it: with the delete files that take rows from it. It does not change.

    Two of them are equal when they hold the same rows: same path and same deletes. Against a plain ``DataFile`` only
    the path counts, as everywhere in pyiceberg.
    """

    deletes: tuple[DeleteFile, ...]
    sequence: int
    scope: Scope

    def __init__(self, file: DataFile, deletes: tuple[DeleteFile, ...] = (), sequence: int = 0) -> None:
        values = {
            "_data": list(file._data),
            "_spec_id": file.spec_id,
            "deletes": deletes,
            "sequence": sequence,
            "scope": scope_of(file),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a live file does not change: {name}")

    def __setitem__(self, pos: int, value: Any) -> None:
        raise AttributeError("a live file does not change")

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, LiveFile):
            return self.file_path == other.file_path and self.deletes == other.deletes
        return isinstance(other, DataFile) and bool(self.file_path == other.file_path)

    def __hash__(self) -> int:
        return hash(self.file_path)


def deletes_of(file: DataFile) -> tuple[DeleteFile, ...]:
    """The delete files that take rows from a data file; none for a file that was only just written."""
    return file.deletes if isinstance(file, LiveFile) else ()


def rows_of(file: DataFile) -> int | None:
    """How many rows of a data file are left, if metadata alone can tell.

    Position delete files may repeat each other, and nobody counts what an equality delete hits; a vector is exact.
    """
    deletes = deletes_of(file)
    if not deletes:
        return file.record_count
    if len(deletes) == 1 and deletes[0].kind is DeleteKind.VECTOR:
        return file.record_count - deletes[0].rows
    return None


def total_rows(files: Iterable[DataFile]) -> int | None:
    """How many rows some data files have together, if metadata alone can tell."""
    counts = [rows_of(file) for file in files]
    return None if None in counts else sum(count for count in counts if count is not None)


def total_size(files: Iterable[DataFile]) -> int:
    """How many bytes some data files and their delete files have together."""
    files = list(files)
    deletes = {(delete.path, delete.offset): delete.size for file in files for delete in deletes_of(file)}
    return sum(file.file_size_in_bytes for file in files) + sum(deletes.values())


def scope_of(file: DataFile) -> Scope:
    """The partition of a data or delete file."""
    return file.spec_id, tuple(repr(value) for value in file.partition._data)


class DeleteIndex:
    """The delete files of a snapshot, to be asked which of them take rows from a data file."""

    def __init__(self, table: Table, manifests: Iterable[ManifestFile]) -> None:
        self._table = table
        self._by_target: dict[str, list[DeleteFile]] = defaultdict(list)
        self._by_scope: dict[Scope | None, list[DeleteFile]] = defaultdict(list)
        for manifest in manifests:
            for entry in _delete_entries(table, manifest):
                delete = delete_file(table, entry)
                if delete.target is not None:
                    self._by_target[delete.target].append(delete)
                else:
                    self._by_scope[delete.scope].append(delete)

    def of(self, file: DataFile, sequence: int | None) -> tuple[DeleteFile, ...]:
        """The delete files that apply to a data file with a sequence number."""
        found = {
            delete
            for delete in (
                *self._by_target.get(file.file_path, ()),
                *self._by_scope.get(scope_of(file), ()),
                *self._by_scope.get(None, ()),
            )
            if _reaches(self._table, delete, file, sequence)
        }
        vectors = {delete for delete in found if delete.kind is DeleteKind.VECTOR}
        if len(vectors) > 1:
            raise UnsupportedTable(
                f"Table {_name(self._table)} has two deletion vectors for the data file {file.file_path}, where the "
                f"Iceberg format allows one. Rewrite the file with its writer (rewrite_data_files)."
            )
        if vectors:
            # A vector holds all that older position delete files of the same data file said.
            found = {delete for delete in found if delete.kind is not DeleteKind.POSITION}
        return tuple(sorted(found, key=lambda delete: (delete.path, delete.offset)))


def _reaches(table: Table, delete: DeleteFile, file: DataFile, sequence: int | None) -> bool:
    if sequence is None:
        raise UnsupportedTable(
            f"Table {_name(table)} has delete files, and does not say the sequence number of its data file "
            f"{file.file_path}, so what they delete cannot be told. Rewrite the file with its writer."
        )
    if delete.kind is DeleteKind.EQUALITY:
        return sequence < delete.sequence
    return sequence <= delete.sequence and delete.may_name(file.file_path)


def _delete_entries(table: Table, manifest: ManifestFile) -> list[ManifestEntry]:
    """The live entries of a delete manifest with the fields of format version 3, which pyiceberg's own reader drops."""
    with AvroFile[ManifestEntry](
        table.io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[3],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
        entries = [entry for entry in reader if entry.status != ManifestEntryStatus.DELETED]
    return [_inherit_from_manifest(entry, manifest) for entry in entries]


def delete_file(table: Table, entry: ManifestEntry) -> DeleteFile:
    """A manifest entry as a delete file; what cannot be read is refused."""
    file = entry.data_file
    kind = _kind(file)
    _check(table, entry, kind)
    # Fields 143, 144 and 145 of the format; a manifest read by pyiceberg itself ends before them.
    target, offset, length = (*file._data[17:20], None, None, None)[:3]
    bounds = None
    if kind is DeleteKind.POSITION and target is None:
        lower, upper = ((side or {}).get(FILE_PATH_ID) for side in (file.lower_bounds, file.upper_bounds))
        if lower is not None and upper is not None:
            # Bounds may be cut short, but not so that they become equal.
            bounds, target = (lower, upper), lower.decode() if lower == upper else None
    if kind is DeleteKind.VECTOR and (target is None or offset is None or length is None):
        raise UnsupportedTable(
            f"Table {_name(table)} has a deletion vector in {file.file_path} without its data file and its place, "
            f"which the Iceberg format asks for. Rewrite the table's files with its writer (rewrite_data_files)."
        )
    return DeleteFile(
        path=file.file_path,
        kind=kind,
        sequence=entry.sequence_number or 0,
        scope=None if kind is DeleteKind.EQUALITY and _everywhere(table, file) else scope_of(file),
        rows=file.record_count,
        size=length if kind is DeleteKind.VECTOR and length else file.file_size_in_bytes,
        target=None if kind is DeleteKind.EQUALITY else target,
        bounds=bounds,
        equality_ids=tuple(sorted(file.equality_ids or ())) if kind is DeleteKind.EQUALITY else (),
        offset=offset or 0,
        length=length or 0,
    )


def _kind(file: DataFile) -> DeleteKind:
    if file.content == DataFileContent.EQUALITY_DELETES:
        return DeleteKind.EQUALITY
    return DeleteKind.VECTOR if file.file_format == FileFormat.PUFFIN else DeleteKind.POSITION


def _everywhere(table: Table, file: DataFile) -> bool:
    """Whether an equality delete reaches every partition: it was written without one."""
    spec = table.metadata.specs()[file.spec_id]
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def _check(table: Table, entry: ManifestEntry, kind: DeleteKind) -> None:
    file = entry.data_file
    if entry.sequence_number is None:
        raise UnsupportedTable(
            f"Table {_name(table)} does not say the sequence number of its {kind.value} {file.file_path}, so what it "
            f"deletes cannot be told. Rewrite the table's files with its writer (rewrite_data_files)."
        )
    if kind is not DeleteKind.VECTOR and file.file_format != FileFormat.PARQUET:
        raise UnsupportedTable(
            f"Table {_name(table)} has a delete file in format {file.file_format.value} ({kind.value}); this version "
            f"reads Parquet only: {file.file_path}. Compact the table with its writer (rewrite_data_files)."
        )
    if kind is not DeleteKind.VECTOR and is_hidden(file.file_path):
        raise UnsupportedTable(
            f"Table {_name(table)} has the {kind.value} {file.file_path}, whose name Spark takes for a hidden file and "
            f"does not read. Compact the table with its writer (rewrite_data_files)."
        )
    counted = file.value_counts or {}
    for number in (file.equality_ids or ()) if kind is DeleteKind.EQUALITY else ():
        # Spark would read a column that is not there as NULL, and delete the rows that have none.
        if number not in counted and not holds_column(table, file.file_path, number):
            raise UnsupportedTable(
                f"Table {_name(table)}: the equality delete file {file.file_path} lacks column {number} by which it "
                f"deletes. Compact the table with its writer (rewrite_data_files)."
            )


def holds_column(table: Table, path: str, field_id: int) -> bool:
    """Whether a file has a column; writers do not count every column, so this asks the file itself."""
    with table.io.new_input(path).open() as stream:
        columns = pq.read_schema(stream)
    name, wanted = table.metadata.schema().find_column_name(field_id), str(field_id).encode()
    ids = {column.name: (column.metadata or {}).get(b"PARQUET:field_id") for column in columns}
    return wanted in ids.values() or (name in ids and ids[name] is None)


def _name(table: Table) -> str:
    return ".".join(table.name())
