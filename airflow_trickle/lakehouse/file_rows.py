"""Reads data files in the worker process, a few rows at a time, as exactly the values that Spark reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.lakehouse.columns import readable
from airflow_trickle.lakehouse.commit import NAME_MAPPING, OWNED
from airflow_trickle.lakehouse.deletes import DeleteKind, deletes_of
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.tuning import tuning

#: So much of each column is read at a time, instead of all that a row group has of it.
_BUFFER = 1024 * 1024

#: Large types inside: offsets of 32 bits may not do for the rows of several batches together.
_PLAIN: dict[type[IcebergType], pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", "UTC"),
    StringType: pa.large_string(),
    BinaryType: pa.large_binary(),
}
#: What a file may hold instead, besides: Iceberg lets a column become wider, and Arrow has two sizes of texts.
_NARROWER: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int64(): (pa.int32(),),
    pa.float64(): (pa.float32(),),
    pa.large_string(): (pa.string(),),
    pa.large_binary(): (pa.binary(),),
}
_TEXT = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
#: Marks of files whose times before 1900, or dates before 1582, count days as the Julian calendar does.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION = b"org.apache.spark.version"
_FIELD_ID = b"PARQUET:field_id"


class NotHere(Exception):
    """Something that this process does not read exactly, or that does not fit; Spark does it."""


@dataclass(frozen=True)
class Columns:
    """The columns of a schema, by name and field id, as this process holds them."""

    names: tuple[str, ...]
    ids: tuple[int, ...]
    kinds: tuple[pa.DataType, ...]

    @classmethod
    def of(cls, table: Table, schema: Schema) -> Columns:
        """The columns that Spark would read.

        Raises:
            NotHere: a column is nested, or of another type that does not travel exactly.
        """
        if NAME_MAPPING in table.metadata.properties and OWNED not in table.metadata.properties:
            raise NotHere("some files may lack field ids")
        fields = readable(schema, name_of(table)).fields
        return cls(
            tuple(field.name for field in fields),
            tuple(field.field_id for field in fields),
            tuple(_kind_of(field.field_type) for field in fields),
        )

    @property
    def numbered(self) -> pa.Schema:
        """Columns named by their place: Arrow takes ``.a`` for a path."""
        return pa.schema([(str(number), kind) for number, kind in enumerate(self.kinds)])

    def named(self, rows: pa.Table) -> pa.Table:
        """The columns of ``rows`` under their own names, in the types in which Spark gives them."""
        columns = [rows[str(at)].cast(_TEXT.get(kind, kind)) for at, kind in enumerate(self.kinds)]
        return pa.table(columns, names=list(self.names))


def _kind_of(kind: IcebergType) -> pa.DataType:
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    found = _PLAIN.get(type(kind))
    if found is None:
        raise NotHere(f"type {kind}")
    return found


@dataclass(frozen=True)
class FileRows:
    """Some rows of a data file, counted from 0 over all that were written: those at ``only``, or all but ``gone``."""

    file: DataFile
    only: pa.Array | None = None
    gone: pa.Array | None = None

    @classmethod
    def alive(cls, io: FileIO, file: DataFile) -> FileRows:
        """The rows that no delete file takes away.

        Raises:
            NotHere: rows are deleted by their values.
        """
        deletes = deletes_of(file)
        if any(delete.kind is DeleteKind.EQUALITY for delete in deletes):
            raise NotHere("rows are deleted by equality")
        return cls(file, gone=deleted_positions(io, file) if deletes else None)

    @property
    def count(self) -> int:
        """How many rows they are."""
        if self.only is not None:
            return len(self.only)
        return int(self.file.record_count) - (len(self.gone) if self.gone is not None else 0)

    def read(self, io: FileIO, columns: Columns) -> Iterator[pa.Table]:
        """The rows, a few at a time, under numbered columns.

        Raises:
            NotHere: the file is not Parquet, or holds a column in a way that this process does not read exactly.
        """
        if self.file.file_format != FileFormat.PARQUET:
            raise NotHere(f"a file of format {self.file.file_format}")
        with io.new_input(self.file.file_path).open() as stream:
            file = pq.ParquetFile(stream, buffer_size=_BUFFER)
            _require_calendar(file)
            found = _places(file, columns)
            start = 0
            for group in range(file.num_row_groups):
                end = start + file.metadata.row_group(group).num_rows
                if self.only is None or len(_within(self.only, start, end)):
                    yield from self._group(file, group, start, columns, found)
                start = end

    def _group(
        self, file: pq.ParquetFile, group: int, start: int, columns: Columns, found: Sequence[str | None]
    ) -> Iterator[pa.Table]:
        names = [name for name in found if name is not None]
        for batch in file.iter_batches(tuning().arrow_net_rows, row_groups=[group], columns=names):
            arrays = [
                pa.nulls(len(batch), kind) if name is None else _exact(batch.column(name), kind)
                for name, kind in zip(found, columns.kinds, strict=True)
            ]
            rows = pa.Table.from_arrays(arrays, schema=columns.numbered)
            end = start + len(rows)
            if self.only is not None:
                rows = rows.take(pc.subtract(_within(self.only, start, end), start))
            elif self.gone is not None:
                lost = pc.subtract(_within(self.gone, start, end), start)
                rows = rows.filter(pc.invert(pc.is_in(pa.array(range(len(rows)), pa.int64()), value_set=lost)))
            start = end
            if len(rows):
                yield rows


def _within(positions: pa.Array, start: int, end: int) -> pa.Array:
    return positions.filter(pc.and_(pc.greater_equal(positions, start), pc.less(positions, end)))


def _require_calendar(file: pq.ParquetFile) -> None:
    """Refuse files that Spark reads by another calendar than they are written in."""
    marks = file.metadata.metadata or {}
    version = marks.get(_SPARK_VERSION, b"9").split(b".")[0]
    if any(mark in marks for mark in _OLD_CALENDAR) or not version.isdigit() or int(version) < 3:
        raise NotHere("dates of the Julian calendar")


def _places(file: pq.ParquetFile, columns: Columns) -> list[str | None]:
    """By column: what it is called in a file; None if the file was written before the column was added."""
    layout = file.schema_arrow
    ids = [(field.metadata or {}).get(_FIELD_ID) for field in layout]
    names = [field.name for field in layout]
    if None in ids or len(set(ids)) < len(ids) or len(set(names)) < len(names) or any("." in name for name in names):
        raise NotHere("columns without ids, or names that may be taken for others")
    by_id = {int(number): field for number, field in zip(ids, layout, strict=True) if number is not None}
    found: list[str | None] = []
    for number, kind in zip(columns.ids, columns.kinds, strict=True):
        field = by_id.get(number)
        if field is not None and not _is_exact(field.type, kind):
            raise NotHere(f"{field.type} for {kind}")
        found.append(field.name if field is not None else None)
    if not any(found):
        raise NotHere("none of the columns")
    return found


def _is_exact(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether all values of a type become those of another one without a loss, as Spark reads them."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal128(kind) and pa.types.is_decimal128(wanted):
        return bool(kind.scale == wanted.scale and kind.precision <= wanted.precision)
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(wanted):
        return bool(kind.unit == wanted.unit and (kind.tz is None) == (wanted.tz is None))
    return kind == wanted or kind in _NARROWER.get(wanted, ())


def _exact(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in a wider type; of zero and of NaN there is only one, as for Spark where it compares rows."""
    if values.type != kind:
        values = values.cast(kind)
    if not pa.types.is_floating(kind):
        return values
    values = pc.add(values, pa.scalar(0.0, kind))
    return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), kind), values)


def require_modern(rows: pa.Table) -> None:
    """Refuse rows with times so old that a setting of Spark decides how they are read.

    Raises:
        NotHere: a date or time before 1900.
    """
    for column in rows.columns:
        if pa.types.is_date32(column.type):
            least = pc.min(column.cast(pa.int32()))
            oldest = -25_567
        elif pa.types.is_timestamp(column.type):
            least = pc.min(column.cast(pa.int64()))
            oldest = -25_567 * 86_400_000_000
        else:
            continue
        if least.is_valid and least.as_py() < oldest:
            raise NotHere("times before 1900")
