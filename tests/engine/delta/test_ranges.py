"""Ranges: every value of a change lies in them, whatever its type, as Spark sees it."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_trickle.engine.delta.ranges import Ranges, apart, ranges_of_files, ranges_of_rows
from airflow_trickle.engine.fetch import fetch, given_back
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.lakehouse.snapshots import files_of
from tests import budgets
from tests.engine.world import World

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


@pytest.mark.parametrize("kind", [kind for kind in VALUES if kind not in ("string", "tinyint")])
def test_all_values_of_new_files_are_in_the_ranges_that_their_metadata_tell(
    spark: SparkSession, world: World, kind: str
) -> None:
    arrow, values = VALUES[kind]
    world.source("rows", pa.schema([("c", arrow)]), [{"c": value} for value in values[:2]])
    world.append("rows", *({"c": value} for value in values[2:]), {"c": values[0]})
    table = world.outside.load_table("default.rows")
    files = files_of(table, table.metadata.current_snapshot_id).values()
    found = ranges_of_files(table.schema(), files)["c"]
    frame = read_files(spark, table, table.schema(), list(files))
    assert frame.count() == len(values) + 1
    assert frame.where(f"NOT {found.holds_or_null('c')}").count() == 0
    assert frame.where(f"c IS NOT NULL AND NOT {found.holds('c')}").count() == 0
    assert found.type == frame.schema["c"].dataType.simpleString()


def test_times_go_to_this_process_and_back_unchanged_in_any_time_zone(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        sql = "SELECT timestamp_micros(1774751400000001) AS t, TIMESTAMP_NTZ'2026-03-08 02:30:00' AS n"
        rows = fetch(spark.sql(sql))
        assert rows is not None
        back = given_back(spark, rows).selectExpr("unix_micros(t) AS t", "CAST(n AS STRING) AS n").collect()
        assert [tuple(row) for row in back] == [(1774751400000001, "2026-03-08 02:30:00")]
        (found,) = [one for name, one in ranges_of_rows(rows).items() if name == "t"]
        assert spark.sql(sql).where(found.holds("t")).count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_a_condition_leaves_out_what_lies_between_the_ranges(spark: SparkSession) -> None:
    found = ranges_of_rows(pa.table({"c": pa.array([1, 2, 900], pa.int64())}))["c"]
    assert [row.id for row in spark.range(1000).where(found.holds("id")).collect()] == [1, 2, 900]


def test_values_far_apart_make_ranges_of_their_own_and_never_more_than_sixteen() -> None:
    assert apart([5]) == [(5, 5)]
    assert apart([1, 2, 3, 500, 501, 1000]) == [(1, 3), (500, 501), (1000, 1000)]
    chance = budgets.chance(0)
    for _ in range(50):
        values = sorted(chance.sample(range(10**6), chance.randint(1, 200)))
        ranges = apart(values)
        assert len(ranges) <= 16
        assert all(any(low <= value <= high for low, high in ranges) for value in values)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(ranges))


def test_no_values_at_all_make_a_condition_that_nothing_fulfils() -> None:
    assert Ranges((), "int").holds("c") == "(false)"


def test_ranges_are_apart_only_if_all_their_pairs_are() -> None:
    def ranges(*ends: tuple[int, int], kind: str = "int") -> Ranges:
        return Ranges(tuple((str(low), str(high)) for low, high in ends), kind, ends=ends)

    assert ranges((1, 2), (8, 9)).is_apart_from(ranges((3, 7)))
    assert ranges((3, 7)).is_apart_from(ranges((1, 2), (8, 9)))
    assert not ranges((1, 2), (8, 9)).is_apart_from(ranges((2, 3)))
    assert not ranges((1, 9)).is_apart_from(ranges((3, 4)))
    assert not ranges((1, 2)).is_apart_from(ranges((3, 4), kind="bigint"))
    assert not ranges((1, 2)).is_apart_from(Ranges((("3", "4"),), "int"))


def test_texts_that_are_no_utf8_have_no_ranges_and_do_no_harm() -> None:
    spelled = pa.array([b"a", b"\xff\xfe", b"b"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(spelled), spelled.buffers())
    rows = pa.table({"k": [1, 2, 3], "s": texts, "t": ["x", None, "ä"]})
    found = ranges_of_rows(rows)
    assert found.keys() == {"k", "t"}
    assert found["t"] == Ranges((("CAST(X'78' AS STRING)", "CAST(X'c3a4' AS STRING)"),), "string", has_null=True)
