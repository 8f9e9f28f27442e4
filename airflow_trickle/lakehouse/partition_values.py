"""The partitions of rows: what Iceberg's transforms make of values, in memory and in files that were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io import FileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.errors import RefreshFailed
from airflow_trickle.lakehouse.partitions import sources_of

#: Types whose bounds in Parquet are whole numbers, and never cut short.
_WHOLE = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
_RANGES: dict[type, int] = {IntegerType: 2**31, LongType: 2**63}


def partition_numbers(rows: pa.Table, schema: Schema, spec: PartitionSpec) -> pa.Array:
    """For each row a number that is the same for two rows just when they belong to one partition.

    The columns of the rows are those of the schema, in its order.
    """
    names = [field.name for field in schema.fields]
    numbers = pa.array([0] * len(rows), pa.int64())
    for field, source in zip(spec.fields, sources_of(spec, schema), strict=True):
        encoded = _encoded(rows.column(names.index(source.name)))
        make = _made(field, source)
        known: dict[Any, int] = {}
        each = [known.setdefault(make(value), len(known)) for value in encoded.dictionary.to_pylist()]
        own = pa.array(each, pa.int64()).take(encoded.indices)
        numbers = _encoded(pc.add(pc.multiply(numbers, max(len(known), 1)), own)).indices.cast(pa.int64())
    return numbers


def partition_of(io: FileIO, location: str, schema: Schema, spec: PartitionSpec) -> Record:
    """The partition that all rows of a file belong to, by the values in it.

    Raises:
        RefreshFailed: its rows belong to several. Other readers would look for some of them elsewhere.
    """
    if not spec.fields:
        return Record()
    with io.new_input(location).open() as stream:
        file = pq.ParquetFile(stream)
        return Record(
            *(
                _only(location, source, _found(file, source, _made(field, source)))
                for field, source in zip(spec.fields, sources_of(spec, schema), strict=True)
            )
        )


def _only(location: str, source: NestedField, found: set[Any]) -> Any:
    if len(found) != 1:
        raise RefreshFailed(
            f"The file {location} was written with rows of {len(found)} partitions by column '{source.name}'. Nothing "
            f"was published. Please report this, with the table's query and its partition_by."
        )
    return next(iter(found))


def _made(field: PartitionField, source: NestedField) -> Callable[[Any], Any]:
    """What a partition field makes of a value: pyiceberg's own transform, where the result is one that it can hold."""
    transform = field.transform.transform(source.field_type)
    kind = source.field_type

    def make(value: Any) -> Any:
        try:
            made = transform(value)
            if made is not None:
                # Commits name partitions in their summary, and Python knows the years 1 to 9999 only.
                field.transform.to_human_string(source.field_type, made)
        except (OverflowError, ValueError) as error:
            raise _outside(source, value) from error
        if made is not None and not _holds(kind, made):
            raise _outside(source, value)
        return made

    return make


def _holds(kind: IcebergType, made: Any) -> bool:
    """Whether a type has such a value: rounding down may lead below its least one."""
    if isinstance(kind, DecimalType):
        return len(made.as_tuple().digits) <= kind.precision
    limit = _RANGES.get(type(kind))
    return limit is None or bool(-limit <= made < limit)


def _outside(source: NestedField, value: Any) -> RefreshFailed:
    return RefreshFailed(
        f"partition_by: column '{source.name}' has the value {value!r}, whose partition is beyond what its type "
        f"{source.field_type} holds (dates and times: the years 1 to 9999). Nothing was published. Filter such rows, "
        f"or change partition_by."
    )


def _encoded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Values as numbers into the distinct ones, NULL among them; days and moments as Iceberg counts them."""
    whole = _physical(column)
    array = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
    if isinstance(array, pa.ChunkedArray):  # more text than one array holds
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    return pc.dictionary_encode(array, null_encoding="encode")


def _physical(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column


def _found(file: pq.ParquetFile, source: NestedField, make: Callable[[Any], Any]) -> set[Any]:
    """What a transform makes of the values in a file.

    Equal results for both bounds of a row group are those of all its rows; where bounds do not say so, and for text,
    whose bounds may be cut short, the rows are read.
    """
    found: set[Any] = set()
    for group in range(file.num_row_groups):
        if file.metadata.row_group(group).num_rows == 0:
            continue
        ends = _bounds(file, group, source)
        if ends is None or len(_each(make, ends)) != 1:
            ends = _encoded(_column(file.read_row_group(group, columns=[source.name]), source)).dictionary.to_pylist()
        found |= _each(make, ends)
    # One real value, whatever the bounds say.
    batch = next(file.iter_batches(batch_size=1, columns=[source.name]))
    return found | _each(make, _physical(_column(pa.table(batch), source)).to_pylist())


def _each(make: Callable[[Any], Any], values: Iterable[Any]) -> set[Any]:
    return {make(value) for value in values}


def _column(rows: pa.Table, source: NestedField) -> pa.ChunkedArray:
    # Arrow takes a name for the beginning of a path too, so there may be other columns.
    return rows.column(rows.schema.get_field_index(source.name))


def _bounds(file: pq.ParquetFile, group: int, source: NestedField) -> list[Any] | None:
    """The least and the greatest value of a row group, and NULL if it has one; None if the file does not tell."""
    if not isinstance(source.field_type, _WHOLE):
        return None
    chunks = file.metadata.row_group(group)
    paths = [at for at in range(chunks.num_columns) if chunks.column(at).path_in_schema == source.name]
    kind = file.schema_arrow.field(source.name).type
    if len(paths) != 1 or (pa.types.is_timestamp(kind) and kind.unit != "us"):
        return None
    told = chunks.column(paths[0]).statistics
    if told is None or not told.has_null_count:
        return None
    nulls: list[Any] = [None] if told.null_count else []
    if told.null_count == chunks.num_rows:
        return nulls
    if not told.has_min_max or not isinstance(told.min_raw, int) or not isinstance(told.max_raw, int):
        return None
    return [told.min_raw, told.max_raw, *nulls]
