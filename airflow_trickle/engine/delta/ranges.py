"""Ranges of values: what a change can say of the rows that it may meet in another table.

A row of another table that is equal to a changed row in some column has a value between the least and the greatest of
the change. Said in SQL, that lets Spark leave out row groups and files by their statistics.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.identifiers import fold

if TYPE_CHECKING:
    import pyarrow as pa

#: A change whose values lie far apart is told as so many ranges.
_MOST = 16
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Ranges:
    """Between which values a column of a change lies: pairs of SQL literals of the column's own type."""

    pairs: tuple[tuple[str, str], ...]
    #: The type in Spark's words.
    type: str
    has_null: bool = False
    #: The same as numbers (of days, of microseconds), where the values can be told so.
    ends: tuple[tuple[Any, Any], ...] | None = None

    def is_apart_from(self, other: Ranges) -> bool:
        """Whether it is certain that no value is in both.

        >>> Ranges((("1", "5"),), "int", ends=((1, 5),)).is_apart_from(Ranges((("6", "9"),), "int", ends=((6, 9),)))
        True
        """
        if self.ends is None or other.ends is None or self.type != other.type:
            return False
        return all(high < start or end < low for low, high in self.ends for start, end in other.ends)

    def holds(self, expression: str) -> str:
        """That an expression is in one of the ranges, as SQL.

        >>> Ranges((("1", "5"), ("9", "9")), "int").holds("t.k")
        '((t.k >= 1 AND t.k <= 5) OR (t.k >= 9 AND t.k <= 9))'
        """
        tests = [f"({expression} >= {low} AND {expression} <= {high})" for low, high in self.pairs]
        return f"({' OR '.join(tests) or 'false'})"

    def holds_or_null(self, expression: str) -> str:
        """The same; NULL passes too, if it is among the values."""
        return f"({self.holds(expression)} OR {expression} IS NULL)" if self.has_null else self.holds(expression)


def ranges_of_files(schema: Schema, files: Iterable[DataFile]) -> dict[str, Ranges]:
    """By folded column name: the ranges of the rows of some files, from their metadata alone."""
    files = [file for file in files if file.record_count]
    found = {}
    for field in schema.fields:
        kind = field.field_type
        if not isinstance(kind, PrimitiveType) or not files:
            continue
        pairs = [_bounds(kind, file, field.field_id) for file in files]
        known = sorted({pair for pair in pairs if pair is not None})
        if None in pairs or not known:
            continue
        if len(known) > _MOST:
            known = [(known[0][0], max(high for _, high in known))]
        named = tuple((_literal(low, kind), _literal(high, kind)) for low, high in known)
        nulls = any((file.null_value_counts or {}).get(field.field_id, 1) for file in files)
        ends = tuple((_number(low), _number(high)) for low, high in known)
        found[fold(field.name)] = Ranges(named, _spark_name(kind), nulls, ends)
    return found


class RangesOfFiles(Mapping[str, Ranges]):
    """The ranges of all rows of many files; each column is looked at when it is asked for."""

    def __init__(self, schema: Schema, files: Sequence[DataFile]) -> None:
        self._fields = {fold(field.name): field for field in schema.fields}
        self._files = files
        self._found: dict[str, Ranges | None] = {}

    def __getitem__(self, name: str) -> Ranges:
        if name not in self._found:
            self._found[name] = ranges_of_files(Schema(self._fields[name]), self._files).get(name)
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def is_apart(self, name: str) -> bool:
        """Whether hardly any two files have values of a column in common: then ranges of values find few files."""
        field = self._fields.get(name)
        if field is None or not isinstance(field.field_type, PrimitiveType):
            return False
        kind = field.field_type
        pairs = [_bounds(kind, file, field.field_id) for file in self._files if file.record_count]
        known = sorted(pair for pair in pairs if pair is not None)
        overlaps = sum(later[0] <= earlier[1] for earlier, later in pairwise(known))
        return len(known) == len(pairs) and len(known) > 1 and overlaps * 10 <= len(known)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._fields if self.get(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _bounds(kind: PrimitiveType, file: DataFile, number: int) -> tuple[Any, Any] | None:
    if not isinstance(kind, IntegerType | LongType | DateType | DecimalType | TimestamptzType | TimestampType):
        return None
    low, high = (bounds.get(number) if bounds else None for bounds in (file.lower_bounds, file.upper_bounds))
    if low is None or high is None:
        return None
    try:
        return from_bytes(kind, low), from_bytes(kind, high)
    except struct.error:  # written when the column was of a narrower type
        return None


def _spark_name(kind: IcebergType) -> str:
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    names = ((IntegerType, "int"), (LongType, "bigint"), (DateType, "date"), (TimestamptzType, "timestamp"))
    return next((name for cls, name in names if isinstance(kind, cls)), "timestamp_ntz")


def _literal(value: Any, kind: IcebergType) -> str:
    if isinstance(kind, DecimalType):
        return _decimal(value, _spark_name(kind))
    if isinstance(kind, DateType):
        return f"date_from_unix_date({_whole(value)})"
    if isinstance(kind, TimestamptzType):
        return f"timestamp_micros({_whole(value)})"
    if isinstance(kind, TimestampType):
        return _local_time(_whole(value))
    return str(_whole(value))


def _number(value: Any) -> int | Decimal:
    return value if isinstance(value, Decimal) else _whole(value)


def _whole(value: Any) -> int:
    return (value - _EPOCH).days if isinstance(value, date) else int(value)


def _decimal(value: Decimal, kind: str) -> str:
    return f"CAST('{value:f}' AS {kind})"


def _local_time(micros: int) -> str:
    # By way of a day and a duration: no time zone has a say in it.
    days, rest = divmod(micros, 86_400_000_000)
    return f"(CAST(date_from_unix_date({days}) AS TIMESTAMP_NTZ) + make_dt_interval(0, 0, 0, {rest / 1_000_000:.6f}))"


def ranges_of_rows(rows: pa.Table) -> dict[str, Ranges]:
    """By folded column name: the ranges of rows at hand, of columns that have values in an order."""
    found: dict[str, Ranges] = {}
    for field in rows.schema:
        kind = _arrow_name(field.type)
        column = rows.column(field.name) if rows.schema.names.count(field.name) == 1 else None
        if kind is None or column is None or column.null_count == len(column):
            continue
        ranges = _ranges_of_texts(column) if kind == "string" else _ranges_of_column(column, kind)
        if ranges is not None:
            found[fold(field.name)] = ranges
    return found


def _arrow_name(kind: pa.DataType) -> str | None:
    import pyarrow as pa

    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    names = {pa.int8(): "tinyint", pa.int16(): "smallint", pa.int32(): "int", pa.int64(): "bigint"}
    names |= {pa.date32(): "date", pa.string(): "string"}
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return "timestamp" if kind.tz else "timestamp_ntz"
    return names.get(kind)


def _ranges_of_texts(column: pa.ChunkedArray) -> Ranges | None:
    """The first and the last text; None if one is no UTF-8, which Spark stores all the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends: dict[str, bytes] = pc.min_max(column.cast(pa.binary())).as_py()
    low, high = ends["min"], ends["max"]
    if any("\ufffd" in end.decode(errors="replace") for end in (low, high)):
        return None
    # As bytes: nothing in a text can then be taken for SQL.
    said = (f"CAST(X'{low.hex()}' AS STRING)", f"CAST(X'{high.hex()}' AS STRING)")
    return Ranges((said,), "string", column.null_count > 0)


def _ranges_of_column(column: pa.ChunkedArray, kind: str) -> Ranges:
    import pyarrow as pa
    import pyarrow.compute as pc

    values: pa.ChunkedArray = pc.unique(column.drop_null())
    nulls = column.null_count > 0
    if kind.startswith("decimal"):
        numbers: list[Any] = sorted(values.to_pylist())
    else:
        width = pa.int32() if kind == "date" else pa.int64()
        numbers = sorted(values.cast(width).to_pylist())
    pairs = tuple(apart(numbers))
    return Ranges(tuple((_text(low, kind), _text(high, kind)) for low, high in pairs), kind, nulls, pairs)


def _text(value: Any, kind: str) -> str:
    if kind.startswith("decimal"):
        return _decimal(value, kind)
    if kind == "date":
        return f"date_from_unix_date({value})"
    if kind == "timestamp":
        return f"timestamp_micros({value})"
    return _local_time(value) if kind == "timestamp_ntz" else str(value)


def apart(values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Sorted values as few ranges, cut where the gaps between them are the widest.

    >>> apart([1, 2, 900])
    [(1, 2), (900, 900)]
    """
    gaps = sorted(range(1, len(values)), key=lambda at: values[at] - values[at - 1], reverse=True)
    cuts = sorted(at for at in gaps[: _MOST - 1] if values[at] - values[at - 1] > _worth(values))
    starts = [0, *cuts]
    return [(values[start], values[end - 1]) for start, end in zip(starts, [*cuts, len(values)], strict=True)]


def _worth(values: Sequence[Any]) -> Any:
    """How wide a gap must be to be worth a range of its own: a good part of the whole."""
    return (values[-1] - values[0]) / (2 * _MOST)
