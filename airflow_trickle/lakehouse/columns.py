"""Columns on both sides: Iceberg schemas and the JSON form of Spark's, without importing Spark.

Spark finds a Parquet column by the Iceberg field id that stands in a column's metadata, so renamed
and re-added columns are read as Iceberg means them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.errors import UnsupportedTable

FIELD_ID = "parquet.field.id"

_TO_SPARK: dict[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "integer",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimestampType: "timestamp_ntz",
    TimestamptzType: "timestamp",
    StringType: "string",
    BinaryType: "binary",
    FixedType: "binary",
}

_TO_ICEBERG: dict[str, IcebergType] = {
    "boolean": BooleanType(),
    # Iceberg has no 8 and 16 bit integers.
    "byte": IntegerType(),
    "short": IntegerType(),
    "integer": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
    "string": StringType(),
    "binary": BinaryType(),
}


#: The changes of a type that the Iceberg format allows, beside a decimal with more digits.
_WIDER = {(IntegerType, LongType), (FloatType, DoubleType)}

#: Why a type is refused, and what to write instead.
_ADVICE = {
    "void": "an Iceberg table cannot hold. Give NULL a type: CAST(NULL AS STRING).",
    # Spark 4.2 turns NULL values into 0 when it groups by a map, so equal maps cannot be told exactly.
    "map": "this version does not compare exactly. Use map_entries(…) for an array of structs.",
}
_OTHERWISE = "an Iceberg table cannot hold. CAST it to another type."


def spark_schema(schema: Schema, table: str, *, by_id: bool = True, named_by_id: bool = False) -> dict[str, Any]:
    """An Iceberg schema as the JSON of Spark's ``StructType``.

    Args:
        schema: the columns.
        table: whose they are, for errors.
        by_id: mark every column with its field id.
        named_by_id: call the columns after their ids too, see `id_name`.
    """
    return _spark_struct(schema.fields, table, _Naming(by_id, named_by_id))


def unreadable(schema: Schema, table: str) -> dict[str, str]:
    """The columns that Spark cannot read, by name, and why not."""
    found: dict[str, str] = {}
    for field in schema.fields:
        try:
            _spark_struct((field,), table, _Naming(by_id=False, named_by_id=False))
        except UnsupportedTable as error:
            found[field.name] = str(error)
    return found


def readable(schema: Schema, table: str) -> Schema:
    """The columns that Spark can read; whoever leaves others out has to see that nothing reads them."""
    lost = unreadable(schema, table)
    if not lost:
        return schema
    return Schema(*(field for field in schema.fields if field.name not in lost), schema_id=schema.schema_id)


def id_name(field_id: int) -> str:
    """A column name made of its field id.

    Spark finds a Parquet column by id, but takes the type to read from the wanted column that has the file
    column's *name*; with such names no column is mistaken for another that was renamed.
    """
    return f"__trickle_f{field_id}"


@dataclass(frozen=True)
class _Naming:
    by_id: bool
    named_by_id: bool


def _spark_struct(fields: tuple[NestedField, ...], table: str, naming: _Naming) -> dict[str, Any]:
    for field in fields:
        if field.initial_default is not None:
            raise UnsupportedTable(
                f"Table {table}: column {field.name} has an initial default ({field.initial_default!r}) for older "
                f"rows, which this version does not read. Rewrite the table's older files."
            )
    return {
        "type": "struct",
        "fields": [
            {
                "name": id_name(field.field_id) if naming.named_by_id else field.name,
                "type": _spark_type(field.field_type, f"{table}, column {field.name}", naming),
                "nullable": True,
                "metadata": {FIELD_ID: field.field_id} if naming.by_id else {},
            }
            for field in fields
        ],
    }


def _spark_type(kind: IcebergType, where: str, naming: _Naming) -> Any:
    if isinstance(kind, StructType):
        return _spark_struct(kind.fields, where, naming)
    if isinstance(kind, ListType):
        return {
            "type": "array",
            "elementType": _spark_type(kind.element_type, where, naming),
            "containsNull": True,
        }
    if isinstance(kind, MapType):
        return {
            "type": "map",
            "keyType": _spark_type(kind.key_type, where, naming),
            "valueType": _spark_type(kind.value_type, where, naming),
            "valueContainsNull": True,
        }
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    if (name := _TO_SPARK.get(type(kind))) is None:
        raise UnsupportedTable(f"Table {where}: Iceberg type {kind} is not one that Spark's Parquet reader reads.")
    return name


def iceberg_schema(spark: dict[str, Any], previous: Schema | None, last_id: int) -> Schema:
    """The Iceberg schema of a query's result, given the JSON of its Spark schema.

    A column of ``previous`` keeps its field id when its type is the same or may be widened to the new
    one; every other column gets an id above ``last_id``, so old files show NULL there until they
    are rewritten.

    Raises:
        UnsupportedTable: a column has a type that Iceberg cannot store, or a name comes twice.
    """
    ids = count(last_id + 1)
    if (twice := _first_twice(column["name"] for column in spark["fields"])) is not None:
        raise UnsupportedTable(f"the query has two columns named '{twice}'. Give one of them another name with AS.")
    fields = []
    for column in spark["fields"]:
        name = column["name"]
        kind = _iceberg_type(column["type"], name, ids)
        old = _field_named(previous, name)
        if old is not None and (kept := _same_or_wider(old.field_type, kind)) is not None:
            fields.append(NestedField(old.field_id, name, kept, required=False))
        else:
            fields.append(NestedField(next(ids), name, kind, required=False))
    return Schema(*fields)


def _first_twice(names: Iterable[str]) -> str | None:
    """The first name that came before, whatever its case."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return None


def _field_named(schema: Schema | None, name: str) -> NestedField | None:
    return next((field for field in schema.fields if field.name == name), None) if schema else None


def _same_or_wider(old: IcebergType, new: IcebergType) -> IcebergType | None:
    if shape(old) == shape(new):
        return old
    # Not pyiceberg's `promote`: as a reader's it lets a decimal's scale change and strings become binary.
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return new if old.scale == new.scale and old.precision <= new.precision else None
    return new if (type(old), type(new)) in _WIDER else None


def shape(kind: IcebergType) -> Any:
    """A type without its field ids, to compare nested types."""
    if isinstance(kind, StructType):
        return ("struct", tuple((field.name, shape(field.field_type)) for field in kind.fields))
    if isinstance(kind, ListType):
        return ("list", shape(kind.element_type))
    if isinstance(kind, MapType):
        return ("map", shape(kind.key_type), shape(kind.value_type))
    return str(kind)


def _iceberg_type(kind: Any, column: str, ids: Iterator[int]) -> IcebergType:
    if isinstance(kind, dict) and kind.get("type") == "struct":
        if (twice := _first_twice(field["name"] for field in kind["fields"])) is not None:
            raise UnsupportedTable(
                f"column '{column}' has two fields named '{twice}'. Give one of them another name with AS."
            )
        return StructType(
            *(
                NestedField(next(ids), field["name"], _iceberg_type(field["type"], column, ids), required=False)
                for field in kind["fields"]
            )
        )
    if isinstance(kind, dict) and kind.get("type") == "array":
        return ListType(next(ids), _iceberg_type(kind["elementType"], column, ids), element_required=False)
    if isinstance(kind, str) and (match := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", kind)):
        return DecimalType(int(match[1]), int(match[2]))
    if isinstance(kind, str) and kind in _TO_ICEBERG:
        return _TO_ICEBERG[kind]
    name = kind if isinstance(kind, str) else str(kind.get("type", kind))
    raise UnsupportedTable(f"column '{column}' has type {name}, which {_ADVICE.get(name, _OTHERWISE)}")


def has_collections(schema: Schema) -> bool:
    """Whether any column is, or holds, a list or a map."""

    def inside(kind: IcebergType) -> bool:
        if isinstance(kind, StructType):
            return any(inside(field.field_type) for field in kind.fields)
        return isinstance(kind, ListType | MapType)

    return any(inside(field.field_type) for field in schema.fields)


def same_columns(left: Schema, right: Schema) -> bool:
    """Whether two schemas have the same ids, names and types in the same order."""
    return left.fields == right.fields
