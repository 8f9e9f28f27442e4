"""How the rows of a table are spread over files: the partition spec and the order that a definition asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.definition.partitioning import PartitionText, parse_partition
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.identifiers import fold

_NUMBERS = (IntegerType, LongType)
_MOMENTS = (TimestampType, TimestamptzType)
_DAYS = (DateType, *_MOMENTS)
#: What a transform takes, and how its columns are named behind the source's name.
_TRANSFORMS: dict[str, tuple[tuple[type[IcebergType], ...], str]] = {
    "identity": ((BooleanType, *_NUMBERS, DecimalType, StringType, *_DAYS), ""),
    "year": (_DAYS, "_year"),
    "month": (_DAYS, "_month"),
    "day": (_DAYS, "_day"),
    "hour": (_MOMENTS, "_hour"),
    "truncate": ((*_NUMBERS, DecimalType, StringType), "_trunc"),
}
_TAKES = {
    "identity": "booleans, whole numbers, decimals, strings, dates and timestamps",
    "year": "dates and timestamps",
    "month": "dates and timestamps",
    "day": "dates and timestamps",
    "hour": "timestamps",
    "truncate": "whole numbers, strings and decimals of at most 37 digits",
}
#: One digit is needed to compute with.
_MOST_DIGITS = 37


@dataclass(frozen=True)
class Layout:
    """What a definition says of the files of a table."""

    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()

    def spec(self, schema: Schema, metadata: TableMetadata | None) -> PartitionSpec:
        """The partition spec for some columns: one that the table has or had, or a new one for it.

        Raises:
            UnsupportedTable: a column is not there, or of a type that it cannot be parted by; or one is gone by which
                the table was parted before.
        """
        _refuse_lost_columns(schema, metadata)
        items = [parse_partition(text) for text in self.partition_by]
        wanted = [(_source(item, schema), _transform(item)) for item in items]
        for spec in _known(metadata):
            if _parts(spec) == [(source.field_id, str(transform)) for source, transform in wanted] and not (
                _has_name_of_a_column(spec, schema)
            ):
                return spec
        numbers = _field_ids(metadata)
        fields: list[PartitionField] = []
        for (source, transform), item in zip(wanted, items, strict=True):
            number = numbers.get((source.field_id, str(transform)))
            # A name means one field for ever: some readers put those of all specs side by side.
            taken = {fold(f.name) for spec in _known(metadata) for f in spec.fields if f.field_id != number}
            name = _free_name(source, item, schema, taken)
            fields.append(
                PartitionField(
                    source_id=source.field_id,
                    field_id=next(numbers.new) if number is None else number,
                    transform=transform,
                    name=name,
                )
            )
        known = [spec.spec_id for spec in metadata.partition_specs] if metadata else [-1]
        return PartitionSpec(*fields, spec_id=max(known) + 1)

    def order(self, schema: Schema) -> tuple[str, ...]:
        """The columns to sort by, under their names in the schema."""
        found = [_column(name, schema, "cluster_by") for name in self.cluster_by]
        for field in found:
            if not isinstance(field.field_type, PrimitiveType):
                raise UnsupportedTable(
                    f"cluster_by: column '{field.name}' has type {field.field_type}; rows are sorted by columns that "
                    f"are not nested. Take another column, or leave it out."
                )
        return tuple(field.name for field in found)


def _refuse_lost_columns(schema: Schema, metadata: TableMetadata | None) -> None:
    """Many readers cannot open a table of which any spec, however old, is made of a column that is gone."""
    present = {field.field_id for field in schema.fields}
    for spec in _known(metadata):
        for part in spec.fields:
            if part.source_id not in present:
                assert metadata is not None  # noqa: S101 - it has the spec
                name = next(f.name for one in metadata.schemas for f in one.fields if f.field_id == part.source_id)
                raise UnsupportedTable(
                    f"the table is or was parted by column '{name}', which is gone from its result or has another "
                    f"type now. Iceberg tables cannot lose such a column. Keep it as it was, or drop the table "
                    f"(trickle drop); the next tick makes it anew."
                )


class _FieldIds(dict[tuple[int, str], int]):
    """By source column and transform: the ids that partition fields have ever had; and new ones."""

    def __init__(self, known: dict[tuple[int, str], int], last: int) -> None:
        super().__init__(known)
        self.new = count(last + 1)


def _field_ids(metadata: TableMetadata | None) -> _FieldIds:
    if metadata is None:
        return _FieldIds({}, PARTITION_FIELD_ID_START - 1)
    known = {(f.source_id, str(f.transform)): f.field_id for spec in metadata.partition_specs for f in spec.fields}
    return _FieldIds(known, max([metadata.last_partition_id or 0, PARTITION_FIELD_ID_START - 1, *known.values()]))


def _known(metadata: TableMetadata | None) -> list[PartitionSpec]:
    """The specs of a table, the one in force first."""
    if metadata is None:
        return []
    return sorted(metadata.partition_specs, key=lambda spec: spec.spec_id != metadata.default_spec_id)


def _parts(spec: PartitionSpec) -> list[tuple[int, str]]:
    return [(field.source_id, str(field.transform)) for field in spec.fields]


def _has_name_of_a_column(spec: PartitionSpec, schema: Schema) -> bool:
    """Whether a partition is named like a column that it is not, as one that came later."""
    names = {fold(field.name) for field in schema.fields}
    return any(fold(f.name) in names for f in spec.fields if not isinstance(f.transform, IdentityTransform))


def _column(name: str, schema: Schema, key: str) -> NestedField:
    """The column of that name, whatever its case; one that is spelled just so comes first."""
    found = [field for field in schema.fields if fold(field.name) == fold(name)]
    if not found:
        columns = ", ".join(field.name for field in schema.fields)
        raise UnsupportedTable(
            f"{key}: its result has no column '{name}'. It has: {columns}. Name one of these, or change {key}."
        )
    return next((field for field in found if field.name == name), found[0])


def _source(item: PartitionText, schema: Schema) -> NestedField:
    field = _column(item.column, schema, "partition_by")
    kind = field.field_type
    allowed, _ = _TRANSFORMS[item.transform]
    wide = item.transform == "truncate" and isinstance(kind, DecimalType) and kind.precision > _MOST_DIGITS
    if wide or not isinstance(kind, allowed):
        what = str(item) if item.transform != "identity" else "a column itself"
        raise UnsupportedTable(
            f"partition_by: column '{field.name}' has type {kind}, but {what} takes {_TAKES[item.transform]}. "
            f"CAST it in the query, take another column, or use cluster_by."
        )
    return field


def _transform(item: PartitionText) -> Transform[Any, Any]:
    if item.width is not None:
        return TruncateTransform(item.width)
    plain: dict[str, Transform[Any, Any]] = {
        "identity": IdentityTransform(),
        "year": YearTransform(),
        "month": MonthTransform(),
        "day": DayTransform(),
        "hour": HourTransform(),
    }
    return plain[item.transform]


def _free_name(source: NestedField, item: PartitionText, schema: Schema, taken: set[str]) -> str:
    """As Iceberg's writers name it; with a number where a column has that name."""
    stem = name = f"{source.name}{_TRANSFORMS[item.transform][1]}"
    if item.transform == "identity":
        return name
    taken |= {fold(field.name) for field in schema.fields}
    numbers = count(2)
    while fold(name) in taken:
        name = f"{stem}_{next(numbers)}"
    return name


def same_parts(spec: PartitionSpec, table: TableMetadata, schema: Schema) -> bool:
    """Whether the files that a table has are parted as a spec says, in a table that gets these columns.

    A column that gets a wider type counts as another: bounds of the older files would be of the narrower one.
    """
    now = table.schema()
    kinds = {field.field_id: field.field_type for field in now.fields}
    wanted = {field.field_id: field.field_type for field in schema.fields}
    return spec.spec_id == table.default_spec_id and all(
        kinds.get(field.source_id) == wanted.get(field.source_id) for field in spec.fields
    )


def sources_of(spec: PartitionSpec, schema: Schema) -> Sequence[NestedField]:
    """The columns that a spec is made of, in the order of its fields."""
    by_id = {field.field_id: field for field in schema.fields}
    return [by_id[field.source_id] for field in spec.fields]
