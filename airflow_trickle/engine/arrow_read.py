"""Small data files read in the worker process: exactly the values that Spark would read, or nothing.

A Spark job over one row costs as much as one over a hundred thousand. So what is small is read here, if its columns are
of types that Arrow and Spark hold alike; of everything else `None` says that Spark is to read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile
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

from airflow_trickle.engine.budget import Meter
from airflow_trickle.engine.inputs import some_files_lack_ids
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.lakehouse.columns import readable
from airflow_trickle.lakehouse.deletes import DeleteKind, deletes_of, total_size
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from airflow_trickle.engine.states import ChangedInput

_ROWS_AT_ONCE = 1_024
_FIELD_ID = b"PARQUET:field_id"
#: In such files days and times before 1582 are counted otherwise, which Spark puts right.
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION = b"org.apache.spark.version"
_TYPES: dict[type[IcebergType], pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", tz="UTC"),
    StringType: pa.string(),
    BinaryType: pa.binary(),
}
#: What a file may hold instead of a type: the same values in another form, or a narrower type of before.
_HELD: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.int64(): (pa.int32(),),
    pa.float64(): (pa.float32(),),
    pa.string(): (pa.large_string(),),
    pa.binary(): (pa.large_binary(),),
}


def change_here(one: ChangedInput, schema: Schema) -> pa.Table | None:
    """The net changed rows of an input with their weight, see `weighted_changes`; None if Spark is to read them."""
    limits = tuning()
    most_rows = min(limits.arrow_read_rows, limits.arrow_change_rows)
    if one.size > limits.arrow_read_bytes or one.rows > most_rows:
        return None
    changes, table = one.changes, one.after.table
    reader = SmallFiles(table, schema)
    parts = [(reader.rows(file), 1) for file in changes.added]
    parts += [(reader.rows(file), -1) for file in changes.removed]
    parts += [(reader.rows(lost.file, lost.rows), -1) for lost in one.lost]
    found = []
    for rows, weight in parts:
        if rows is None:
            return None
        found.append(rows.append_column(WEIGHT, pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)))
    if not found:
        return None
    every = pa.concat_tables(found)
    return every if one.only_grew else netted(every)


class SmallFiles:
    """Reads small data files of one table as columns of a schema.

    Args:
        table: The table.
        schema: The columns wanted; those that Spark cannot read are left out.
    """

    def __init__(self, table: Table, schema: Schema) -> None:
        self._table = table
        self._fields = readable(schema, name_of(table)).fields
        types = [arrow_type(field.field_type) for field in self._fields]
        self._types = [kind for kind in types if kind is not None]
        self._possible = len(self._types) == len(types) and bool(types) and not some_files_lack_ids(table, schema)
        limits = tuning()
        self._meter = Meter(limits.arrow_compare_rows, min(limits.arrow_read_memory, limits.arrow_change_bytes))

    def rows(self, file: DataFile, places: pa.Array | None = None) -> pa.Table | None:
        """The rows of a file that no delete file takes away, or those at some places whatever delete files say.

        None if Spark is to read them.
        """
        if places is None:
            found = self.all_rows(file)
            if found is None or not deletes_of(file):
                return found
            gone = deleted_positions(self._table.io, file)
            numbers = pa.array(range(found.num_rows), pa.int64())
            return found.filter(pc.invert(pc.is_in(numbers, value_set=gone)))
        found = self.all_rows(file)
        return None if found is None else found.take(places)

    def all_rows(self, file: DataFile) -> pa.Table | None:
        """The rows of a file, also those that position delete files take away; None if Spark is to read them."""
        if not self._possible or any(delete.kind is DeleteKind.EQUALITY for delete in deletes_of(file)):
            return None
        try:
            with self._table.io.new_input(file.file_path).open() as stream:
                return self._read(pq.ParquetFile(stream))
        except (OSError, pa.ArrowException):
            return None  # Spark says what is the matter with it

    def _read(self, parquet: pq.ParquetFile) -> pa.Table | None:
        said = parquet.metadata.metadata or {}
        if any(key in said for key in _OLD_CALENDAR) or said.get(_SPARK_VERSION, b"4").startswith((b"1.", b"2.")):
            return None
        at = self._columns(parquet.schema_arrow)
        if at is None:
            return None
        batches = []
        for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE):
            if not self._meter.takes(batch):
                return None
            batches.append(batch)
        rows = pa.Table.from_batches(batches, parquet.schema_arrow)
        names = [field.name for field in self._fields]
        columns = [
            pa.nulls(rows.num_rows, kind) if number is None else _one_zero(rows.column(number).cast(kind))
            for number, kind in zip(at, self._types, strict=True)
        ]
        found = pa.table(columns, schema=pa.schema(list(zip(names, self._types, strict=True))))
        found.validate(full=True)
        return found

    def _columns(self, held: pa.Schema) -> list[int | None] | None:
        """By column wanted: where it is in a file, None if the file does not have it; None if it is of another type."""
        ids = [(field.metadata or {}).get(_FIELD_ID) for field in held]
        if None in ids or len(set(ids)) < len(ids):
            return None
        at = {int(number): place for place, number in enumerate(ids) if number is not None}
        found = [at.get(field.field_id) for field in self._fields]
        for place, kind in zip(found, self._types, strict=True):
            if place is not None and not _is_held_as(held.field(place).type, kind):
                return None
        return found


def arrow_type(kind: IcebergType) -> pa.DataType | None:
    """The type of Arrow that holds the very values of a column; None if Spark is to read it."""
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return _TYPES.get(type(kind))


def _is_held_as(held: pa.DataType, kind: pa.DataType) -> bool:
    if pa.types.is_decimal128(kind):
        return bool(pa.types.is_decimal128(held) and held.scale == kind.scale and held.precision <= kind.precision)
    return held == kind or held in _HELD.get(kind, ())


def _one_zero(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """See `zeros`: -0.0 as 0.0."""
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def tells_apart(columns: Iterable[pa.DataType]) -> bool:
    """Whether Arrow takes two values of some types for equal exactly if Spark does."""
    known = (*_TYPES.values(), pa.int8(), pa.int16())
    return all(pa.types.is_decimal128(kind) or (kind in known and not pa.types.is_floating(kind)) for kind in columns)


def netted(weighted: pa.Table) -> pa.Table | None:
    """Equal rows added up; None if Arrow does not tell rows apart as Spark does. The weight is the last column."""
    grouped = grouped_rows(weighted)
    if grouped is None:
        return None
    weights, first, _ = grouped
    some = pc.not_equal(weights, 0)
    rows = weighted.take(first.filter(some)).drop_columns([WEIGHT])
    return rows.append_column(WEIGHT, weights.filter(some))


def grouped_rows(weighted: pa.Table) -> tuple[pa.Array, pa.Array, pa.ListArray] | None:
    """By distinct row: the sum of its weights, the number of its first copy, and those of all."""
    names = [name for name in weighted.column_names if name != WEIGHT]
    plain = weighted.select(names)
    if not tells_apart(plain.schema.types):
        return None
    # By numbers: Arrow takes ``.a`` for a path.
    keys = [f"k{number}" for number in range(len(names))]
    numbered = pa.table(
        [*plain.columns, weighted[WEIGHT], pa.array(range(weighted.num_rows), pa.int64())], names=[*keys, "w", "n"]
    )
    if not keys:
        return None
    groups = numbered.group_by(keys, use_threads=False).aggregate([("w", "sum"), ("n", "min"), ("n", "list")])
    weights, first, every = (groups[name].combine_chunks() for name in ("w_sum", "n_min", "n_list"))
    return weights, first, every


def is_small(files: Sequence[DataFile]) -> bool:
    """Whether files are read here, by their size."""
    return total_size(files) <= tuning().arrow_read_bytes
