"""Partition specs and the partitions of rows, without Spark."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.errors import RefreshFailed, UnsupportedTable
from airflow_trickle.lakehouse.partition_values import partition_numbers, partition_of
from airflow_trickle.lakehouse.partitions import Layout
from tests import budgets


def columns(**kinds: IcebergType) -> Schema:
    return Schema(*(NestedField(at, name, kind, required=False) for at, (name, kind) in enumerate(kinds.items(), 1)))


WIDE = columns(
    i=IntegerType(),
    k=LongType(),
    s=StringType(),
    v=DecimalType(9, 2),
    d=DateType(),
    t=TimestamptzType(),
    n=TimestampType(),
    b=BooleanType(),
    Mixed=StringType(),
    t_month=StringType(),
)


def written(folder: Path, rows: pa.Table, **options: Any) -> str:
    path = f"{folder}/{random.randrange(10**9)}.parquet"
    pq.write_table(rows, path, **options)
    return f"file://{path}"


def partition(folder: Path, by: str, schema: Schema, values: Sequence[Any], **options: Any) -> Any:
    """The partition of a file with these values of the first column."""
    spec = Layout((by,)).spec(schema, None)
    rows = pa.Table.from_pydict({schema.fields[0].name: list(values)}, schema=schema_to_pyarrow(schema))
    return partition_of(PyArrowFileIO(), written(folder, rows, **options), schema, spec)[0]


def test_fields_are_named_as_other_writers_do_and_never_like_another_column() -> None:
    spec = Layout(("D", "months(t)", "hours(n)", "truncate(4, s)", "mixed")).spec(WIDE, None)
    assert [(field.name, str(field.transform), field.source_id) for field in spec.fields] == [
        ("d", "identity", 5),
        ("t_month_2", "month", 6),
        ("n_hour", "hour", 7),
        ("s_trunc", "truncate[4]", 3),
        ("Mixed", "identity", 9),
    ]
    assert Layout().spec(WIDE, None) == PartitionSpec(spec_id=0)


@pytest.mark.parametrize(
    ("by", "kind", "values", "expected"),
    [
        ("c", DateType(), [dt.date(1969, 12, 31)], -1),
        ("years(c)", DateType(), [dt.date(1969, 1, 1), dt.date(1969, 12, 31)], -1),
        ("months(c)", DateType(), [dt.date(1969, 12, 1), dt.date(1969, 12, 31)], -1),
        ("days(c)", TimestampType(), [dt.datetime(1969, 12, 31), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)], -1),
        ("hours(c)", TimestampType(), [dt.datetime(1969, 12, 31, 23), dt.datetime(1969, 12, 31, 23, 59)], -1),
        ("hours(c)", TimestamptzType(), [dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone.utc)], 1),
        ("truncate(10, c)", IntegerType(), [-1, -10], -10),
        ("truncate(10, c)", LongType(), [19, 10], 10),
        ("truncate(50, c)", DecimalType(9, 2), [Decimal("-0.01"), Decimal("-0.50")], Decimal("-0.50")),
        ("truncate(2, c)", StringType(), ["😀éx", "😀é"], "😀é"),
        ("c", StringType(), [""], ""),
        ("c", StringType(), [None, None], None),
        ("c", StringType(), ["x" * 9000] * 2, "x" * 9000),
        ("c", BooleanType(), [False], False),
        ("c", DecimalType(9, 2), [Decimal("-1.50")], Decimal("-1.50")),
    ],
)
@pytest.mark.parametrize("statistics", [True, False])
def test_the_partition_of_a_file(
    tmp_path: Path, by: str, kind: IcebergType, values: list[Any], expected: Any, statistics: bool
) -> None:
    found = partition(tmp_path, by, columns(c=kind), values, write_statistics=statistics, row_group_size=1)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("by", "kind", "values"),
    [
        ("c", DateType(), [dt.date(1970, 1, 1), None]),
        ("c", StringType(), ["", None]),
        ("c", StringType(), ["x" * 9000, "x" * 8999 + "y"]),
        ("months(c)", DateType(), [dt.date(1970, 1, 31), dt.date(1969, 12, 31)]),
        ("truncate(10, c)", LongType(), [-1, 1]),
        ("c", BooleanType(), [True, False]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"write_statistics": False}, {"row_group_size": 1}], ids=str)
def test_a_file_with_rows_of_two_partitions_is_refused(
    tmp_path: Path, by: str, kind: IcebergType, values: list[Any], options: dict[str, Any]
) -> None:
    with pytest.raises(RefreshFailed, match="with rows of 2 partitions by column 'c'"):
        partition(tmp_path, by, columns(c=kind), values, **options)


@pytest.mark.parametrize(
    ("by", "kind", "value"),
    [
        ("truncate(10, c)", IntegerType(), -(2**31)),
        ("truncate(1000, c)", DecimalType(4, 2), Decimal("-99.99")),
    ],
)
def test_a_partition_that_its_type_cannot_hold_is_refused(
    tmp_path: Path, by: str, kind: IcebergType, value: Any
) -> None:
    with pytest.raises(RefreshFailed, match="whose partition is beyond what its type"):
        partition(tmp_path, by, columns(c=kind), [value])


def test_rows_get_the_same_number_just_when_they_are_of_one_partition() -> None:
    chance = budgets.chance(3)
    schema = columns(a=LongType(), b=StringType(), d=DateType())
    days = [dt.date(1969, 12, 30), dt.date(1969, 12, 31), dt.date(1970, 1, 1), None]
    data = {
        "a": [chance.choice([-11, -1, 0, 9, 10, None]) for _ in range(300)],
        "b": [chance.choice(["", "x", "xy", "xyz", None]) for _ in range(300)],
        "d": [chance.choice(days) for _ in range(300)],
    }
    spec = Layout(("truncate(10, a)", "truncate(2, b)", "months(d)")).spec(schema, None)
    rows = pa.Table.from_pydict(data, schema=schema_to_pyarrow(schema))
    numbers = partition_numbers(rows, schema, spec).to_pylist()
    transforms = [field.transform.transform(schema.find_type(field.source_id)) for field in spec.fields]
    meant = [
        Record(*(make(value) for make, value in zip(transforms, each, strict=True)))
        for each in zip(*data.values(), strict=True)
    ]
    assert len(set(numbers)) == len(set(meant)) == len(set(zip(numbers, meant, strict=True))) > 20
    assert partition_numbers(rows.slice(0, 0), schema, spec).to_pylist() == []
    assert set(partition_numbers(rows, schema, PartitionSpec()).to_pylist()) == {0}


@pytest.mark.parametrize(
    ("by", "kind"),
    [
        ("c", DoubleType()),
        ("c", ListType(9, StringType(), element_required=False)),
        ("hours(c)", DateType()),
        ("days(c)", LongType()),
        ("truncate(2, c)", DateType()),
        ("truncate(2, c)", DecimalType(38, 2)),
    ],
)
def test_types_that_cannot_be_parted_by(by: str, kind: IcebergType) -> None:
    with pytest.raises(UnsupportedTable, match="partition_by: column 'c' has type"):
        Layout((by,)).spec(columns(c=kind), None)


def test_rows_are_sorted_by_plain_columns_only() -> None:
    schema = columns(A=LongType(), b=ListType(9, StringType(), element_required=False), f=DoubleType())
    assert Layout(cluster_by=("a", "F")).order(schema) == ("A", "f")
    with pytest.raises(UnsupportedTable, match="column 'b' has type list<string>; rows are sorted by columns that"):
        Layout(cluster_by=("b",)).order(schema)
    with pytest.raises(UnsupportedTable, match="cluster_by: its result has no column 'x'"):
        Layout(cluster_by=("x",)).order(schema)
