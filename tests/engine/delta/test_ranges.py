"""Ranges: every value of a change lies in them, whatever its type, as Spark sees it."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_trickle.engine.delta.ranges import Ranges, apart, ranges_of_rows
from airflow_trickle.engine.fetch import given_back

UTC = dt.timezone.utc
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-(2**31), 2**31 - 1, 0, 5, None]),
    "bigint": (pa.int64(), [-(2**63), 2**63 - 1, 0, 5, None]),
    "tinyint": (pa.int8(), [-128, 127, 3]),
    "decimal": (pa.decimal128(38, 10), [Decimal("-9999999999999999999999999999.9999999999"), Decimal("0.0000000001")]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 10), None]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(2026, 1, 1, 1, tzinfo=UTC)],
    ),
    "timestamp_ntz": (
        pa.timestamp("us"),
        [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(9999, 12, 31, 23, 59, 59)],
    ),
    "string": (pa.string(), ["", "it's", "\\", "ü\x00", "z' OR 1=1 --", None]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_all_values_are_in_the_ranges_and_a_condition_on_them_is_valid_sql(spark: SparkSession, kind: str) -> None:
    arrow, values = VALUES[kind]
    rows = pa.table({"c": pa.array(values, arrow)})
    frame = given_back(spark, rows)
    (found,) = ranges_of_rows(rows).values()
    assert found.has_null == (None in values)
    assert frame.where(f"NOT {found.holds_or_null('c')}").count() == 0
    assert frame.where(found.holds("c")).count() == sum(value is not None for value in values)
    assert found.type == frame.schema["c"].dataType.simpleString()


def test_a_condition_leaves_out_what_lies_between_the_ranges(spark: SparkSession) -> None:
    found = ranges_of_rows(pa.table({"c": pa.array([1, 2, 900], pa.int64())}))["c"]
    assert [row.id for row in spark.range(1000).where(found.holds("id")).collect()] == [1, 2, 900]


def test_values_far_apart_make_ranges_of_their_own_and_never_more_than_sixteen() -> None:
    assert apart([5]) == [(5, 5)]
    assert apart([1, 2, 3, 500, 501, 1000]) == [(1, 3), (500, 501), (1000, 1000)]
    chance = random.Random(0)
    for _ in range(50):
        values = sorted(chance.sample(range(10**6), chance.randint(1, 200)))
        ranges = apart(values)
        assert len(ranges) <= 16
        assert all(any(low <= value <= high for low, high in ranges) for value in values)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(ranges))


def test_no_values_at_all_make_a_condition_that_nothing_fulfils() -> None:
    assert Ranges((), "int").holds("c") == "(false)"
