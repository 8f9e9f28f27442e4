"""Rows of every type, layouts by every transform, and readers that must find the rows by their partitions."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo, IsNull
from pyiceberg.types import DateType, TimestampType, TimestamptzType

from airflow_trickle import Pipeline
from airflow_trickle.lakehouse.partition_values import partition_of
from airflow_trickle.lakehouse.snapshots import files_of
from tests import budgets
from tests.conftest import Tuned
from tests.engine.world import World, bag
from tests.outside_readers import duckdb_columns, duckdb_connection, duckdb_rows

ROWS = pa.schema(
    [
        ("k", pa.int64()),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("v", pa.decimal128(10, 2)),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("f", pa.float64()),
    ]
)
COPY = "SELECT * FROM rows WHERE k >= 0"
UTC = dt.timezone.utc
STRINGS = [
    "",
    " ",
    "a/b",
    "a%2Fb",
    'it\'s = "q"',
    "ü\u2028😀",
    "__HIVE_DEFAULT_PARTITION__",
    "null",
    "..",
    "x" * 5000,
    "x" * 5000 + "y",
    "n",
    "v1:n",
    None,
]
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), None]
MOMENTS = [
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1),
    dt.datetime(2026, 3, 29, 1, 30),
    dt.datetime(2026, 3, 29, 2, 30),
    dt.datetime(2025, 12, 31, 23, 0, 0, 1),
    dt.datetime(1900, 2, 28, 12),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    None,
]


def row(chance: random.Random, k: int | None = None) -> dict[str, Any]:
    moment = chance.choice(MOMENTS)
    return {
        "k": chance.randint(0, 40) if k is None else k,
        "i": chance.choice([-11, -10, -1, 0, 9, 10, None]),
        "s": chance.choice(STRINGS),
        "v": chance.choice([Decimal("1.50"), Decimal("-0.01"), Decimal("-99999998.99"), Decimal("0.00"), None]),
        "d": chance.choice(DAYS),
        "t": None if moment is None else moment.replace(tzinfo=UTC),
        "n": chance.choice(MOMENTS),
        "b": chance.choice([True, False, None]),
        "f": chance.choice([0.5, None]),
    }


#: Every transform over every type.
LAYOUTS = {
    "day": "[d]",
    "moment": '["days(t)", "hours(n)"]',
    "month": '["months(d)", "month(t)"]',
    "micro": "[t, n]",
    "text": "[s]",
    "trunc": '["truncate(3, s)", b]',
    "year": '["years(n)", "YEAR(d)"]',
    "hour": '["Hours(T)", "days(n)"]',
    "whole": '["truncate(10, i)"]',
    "number": '[v, "truncate(7, k)"]',
    "cents": '["truncate(100, v)", I]',
    "times": '["years(t)", "months(n)", "days(d)"]',
}


def live(world: World, name: str) -> dict[str, Any]:
    table = world.outside.load_table(f"default.{name}")
    return files_of(table, table.metadata.current_snapshot_id)


def verified(world: World) -> None:
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}


def agreed(world: World, name: str, expected: Counter[tuple[Any, ...]]) -> None:
    """Plain pyiceberg and DuckDB read the rows, whole and by values of the partition columns."""
    table = world.outside.load_table(f"default.{name}")
    assert bag(table.scan().to_arrow()) == expected
    assert Counter(duckdb_rows(table.metadata_location)) == expected
    schema = table.schema()
    names = [field.name for field in schema.fields]
    for part in table.spec().fields:
        source = schema.find_field(part.source_id)
        at = names.index(source.name)
        wanted: dict[Any, Counter[tuple[Any, ...]]] = {}
        for found, number in expected.items():
            wanted.setdefault(found[at], Counter())[found] = number
        # Not every value of each: a read takes its time.
        some = budgets.chance(len(expected)).sample(sorted(wanted, key=repr), min(6, len(wanted)))
        wanted = {value: wanted[value] for value in {*some, None} & wanted.keys()}
        for value, rows in wanted.items():
            condition = IsNull(source.name) if value is None else EqualTo(source.name, _literal(source, value))
            assert bag(table.scan(row_filter=condition).to_arrow()) == rows, (name, source.name, value)
        _found_by_duckdb(table, source, {value: rows.total() for value, rows in wanted.items()})
    # The partitions in the metadata are those of the rows in the files.
    for path, file in files_of(table, table.metadata.current_snapshot_id).items():
        assert file.spec_id == table.spec().spec_id
        assert partition_of(table.io, path, schema, table.spec()) == file.partition
        for delete in file.deletes:
            assert delete.scope == file.scope


def _found_by_duckdb(table: Any, source: Any, wanted: dict[Any, int]) -> None:
    with duckdb_connection() as connection:
        kind = duckdb_columns(table.metadata_location)[source.name]
        counted = f"SELECT count(*) FROM iceberg_scan('{table.metadata_location}') WHERE \"{source.name}\""
        for value, number in wanted.items():
            if isinstance(value, dt.datetime) and value.year < 1970:
                continue  # before its version of August 2026 DuckDB rounds such times up
            if value is None:
                found = connection.execute(f"{counted} IS NULL")
            else:
                found = connection.execute(f"{counted} = CAST(? AS {kind})", [str(_literal(source, value))])
            assert found.fetchone() == (number,), (table.name(), source.name, value)


def _literal(source: Any, value: Any) -> Any:
    if isinstance(source.field_type, DateType | TimestampType | TimestamptzType):
        return value.isoformat()
    return value


#: Where rows are written: by Spark, or in this process beside files that pass for small or for large ones.
WAYS = ("spark", "small", "large")


def choose(way: str, tuned: Tuned) -> None:
    if way == "spark":
        tuned(arrow_change_rows=0)
    if way == "large":
        # With the default share, partitions of few rows would be rewritten at once.
        tuned(small_file_bytes=1, rewrite_deleted_share=2)


def define(world: World, layouts: dict[str, str], mode: str = "DIFFERENTIAL") -> None:
    options = {name: {"refresh_mode": mode, "partition_by": by} for name, by in layouts.items()}
    world.define(dict.fromkeys(layouts, COPY), **options)


def in_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_TRICKLE_SPARK",
        json.dumps({"conn_type": "trickle_spark", "extra": {"conf": {"spark.sql.session.timeZone": zone}}}),
    )


def partitions(world: World, name: str) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for path, file in live(world, name).items():
        found.setdefault(file.scope[1], set()).add(path)
    return found


PLAIN = pa.schema([("k", pa.int64()), ("g", pa.string()), ("d", pa.date32())])


def plain(k: int, g: str | None, day: int = 1) -> dict[str, Any]:
    return {"k": k, "g": g, "d": dt.date(2026, 1, day)}
