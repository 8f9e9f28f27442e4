"""DuckDB's iceberg extension reads what we publish, by nothing but the metadata file."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import commit
from tests.lakehouse.writing import stage_rows
from tests.outside_readers import duckdb_columns, duckdb_rows

COLUMNS: list[tuple[str, Any, str]] = [
    ("whole", IntegerType(), "INTEGER"),
    ("long", LongType(), "BIGINT"),
    ("small", FloatType(), "FLOAT"),
    ("real", DoubleType(), "DOUBLE"),
    ("money", DecimalType(10, 2), "DECIMAL(10,2)"),
    ("large", DecimalType(38, 10), "DECIMAL(38,10)"),
    ("day", DateType(), "DATE"),
    ("moment", TimestamptzType(), "TIMESTAMP WITH TIME ZONE"),
    ("wall", TimestampType(), "TIMESTAMP"),
    ("text", StringType(), "VARCHAR"),
    ("raw", BinaryType(), "BLOB"),
    ("flag", BooleanType(), "BOOLEAN"),
]
SCHEMA = Schema(*(NestedField(n, name, kind, required=False) for n, (name, kind, _) in enumerate(COLUMNS, 1)))
UTC = timezone.utc
FULL: dict[str, Any] = {
    "whole": -(2**31),
    "long": 2**63 - 1,
    "small": 0.5,
    "real": math.inf,
    "money": Decimal("-12345678.90"),
    "large": Decimal("1234567890123456789012345678.0123456789"),
    "day": date(1, 1, 1),
    "moment": datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC),
    "wall": datetime(1969, 12, 31, 23, 59, 59, 999999),
    "text": "naïve 🦆\n'quoted'",
    "raw": b"\x00\xff",
    "flag": False,
}


def values(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(name) for name, _, _ in COLUMNS)


def read(lake: Lakehouse, identifier: str) -> list[tuple[Any, ...]]:
    return duckdb_rows(lake.locations([identifier])[identifier])


def in_utc(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The same moments, whatever object stands for the zone."""
    return sorted(
        (tuple(v.astimezone(UTC) if isinstance(v, datetime) and v.tzinfo else v for v in row) for row in rows),
        key=repr,
    )


def test_every_type_is_read_after_appends_and_overwrites(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [FULL, {}], schema=SCHEMA)])
    assert duckdb_columns(shared_lake.locations([identifier])[identifier]) == {name: kind for name, _, kind in COLUMNS}
    assert in_utc(read(shared_lake, identifier)) == in_utc([values(FULL), values({})])
    later = FULL | {"moment": FULL["moment"] + timedelta(hours=1), "day": None, "money": Decimal("0.00")}
    commit(shared_lake, [stage_rows(shared_lake, identifier, [later, later])])
    expected = [values(FULL), values({}), values(later), values(later)]
    assert in_utc(read(shared_lake, identifier)) == in_utc(expected)
    commit(shared_lake, [stage_rows(shared_lake, identifier, [later], replace=True)])
    assert in_utc(read(shared_lake, identifier)) == in_utc([values(later)])
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"text": ""}])])
    assert in_utc(read(shared_lake, identifier)) == in_utc([values(later), values({"text": ""})])


def test_nested_columns_are_read(shared_lake: Lakehouse, identifier: str) -> None:
    inside = StructType(
        NestedField(3, "a", LongType(), required=False),
        NestedField(4, "b", ListType(5, DateType(), element_required=False), required=False),
    )
    schema = Schema(
        NestedField(1, "one", inside, required=False),
        NestedField(2, "many", ListType(6, inside, element_required=False), required=False),
    )
    rows = [
        {"one": {"a": 1, "b": [date(2026, 1, 1), None]}, "many": [{"a": None, "b": []}, None]},
        {"one": None, "many": None},
    ]
    commit(shared_lake, [stage_rows(shared_lake, identifier, rows, schema=schema)])
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"one": {"a": None, "b": None}, "many": []}])])
    assert read(shared_lake, identifier) == sorted(
        [
            ({"a": 1, "b": [date(2026, 1, 1), None]}, [{"a": None, "b": []}, None]),
            (None, None),
            ({"a": None, "b": None}, []),
        ],
        key=repr,
    )


def test_several_tables_of_one_commit_are_all_there(shared_lake: Lakehouse, identifier: str) -> None:
    names = [f"{identifier}_{letter}" for letter in "abc"]
    for epoch in range(3):
        row = {"epoch": epoch, "name": "x"}
        commit(shared_lake, [stage_rows(shared_lake, name, [row], replace=epoch == 2) for name in names])
    assert [read(shared_lake, name) for name in names] == [[(2, "x")]] * 3


def test_a_staged_state_is_readable_before_anybody_sees_it(shared_lake: Lakehouse, identifier: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, identifier, [{"epoch": 1, "name": "x"}])])
    staged = stage_rows(shared_lake, identifier, [{"epoch": 2, "name": "y"}])
    assert duckdb_rows(staged.location) == [(1, "x"), (2, "y")]
    assert read(shared_lake, identifier) == [(1, "x")]


@pytest.mark.parametrize("folder", ["with space", "it's", "grö ße", "100%", "a%20b"])
def test_a_warehouse_with_an_odd_name_is_read(tmp_path: Path, folder: str) -> None:
    settings = {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/{folder}"}
    with open_lakehouse("trickle", **settings) as lake:
        for number in range(2):
            commit(lake, [stage_rows(lake, "default.t", [{"epoch": number, "name": "x"}])])
        assert read(lake, "default.t") == [(0, "x"), (1, "x")]
