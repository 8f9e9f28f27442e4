"""The change feed against a plain difference of bags, over whatever plain pyiceberg does to a table."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_trickle.engine.feed import weighted_changes
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.snapshots import current_version, schema_of
from airflow_trickle.spark.active import activated
from tests import budgets
from tests.engine.world import World, bag

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("f", pa.float64())])


def any_row(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([1, 2, 3, None]),
        "v": chance.choice(["a", "b", None]),
        "f": chance.choice([0.5, None, float("nan")]),
    }


def change(world: World, chance: random.Random) -> None:
    kind = chance.randint(0, 3)
    if kind == 0:
        world.append("t", *([any_row(chance)] * 2), any_row(chance))
    elif kind == 1:
        world.delete("t", f"k = {chance.randint(1, 3)}")
    elif kind == 2:
        world.delete("t", "v IS NULL")
    else:
        world.replace("t", [any_row(chance) for _ in range(chance.randint(0, 6))])


@pytest.mark.parametrize("seed", range(2))
def test_the_feed_is_the_difference_of_the_bags(world: World, spark: SparkSession, seed: int) -> None:
    chance = budgets.chance(seed)
    world.source("t", SCHEMA, [any_row(chance) for _ in range(8)])
    for _ in range(5):
        table = world.outside.load_table("default.t")
        before, before_id = bag(table.scan().to_arrow()), table.metadata.current_snapshot_id
        for _ in range(chance.randint(1, 3)):
            change(world, chance)
        table = world.outside.load_table("default.t")
        after = bag(table.scan().to_arrow())
        changes = file_changes(table, before_id, table.metadata.current_snapshot_id)
        with activated(spark):
            rows = weighted_changes(spark, table, changes, schema_of(table, current_version(table))).collect()
        found: Counter[tuple[Any, ...]] = Counter()
        for row in rows:
            plain = row.asDict()
            weight = plain.pop(WEIGHT)
            found[
                tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in plain.values())
            ] += weight
        expected = {row: after[row] - before[row] for row in after | before if after[row] != before[row]}
        assert dict(found) == expected


def test_a_change_holds_the_columns_that_are_named(world: World, spark: SparkSession) -> None:
    world.source("t", SCHEMA, [{"k": k, "v": v, "f": 0.5} for k in (1, 1, 2, None) for v in ("a", "b")])
    table = world.outside.load_table("default.t")
    before = table.metadata.current_snapshot_id
    world.delete("t", "v = 'b'")
    world.append("t", {"k": 2, "v": "c", "f": 0.5}, {"k": 3, "v": "c", "f": None})
    table = world.outside.load_table("default.t")
    changes = file_changes(table, before, table.metadata.current_snapshot_id)
    schema = schema_of(table, current_version(table))

    def columns_and_rows(*named: str) -> tuple[list[str], Counter[Any]]:
        with activated(spark):
            rows = weighted_changes(spark, table, changes, schema, named=frozenset(named)).collect()
        found = Counter[Any]()
        for row in rows:
            found[row[:-1]] += row[-1]
        return list(rows[0].asDict()), found

    # One row with 2 went and one came; of the columns, only the one that is named tells.
    assert columns_and_rows("k", "other") == (["k", WEIGHT], Counter({(1,): -2, (None,): -1, (3,): 1}))
    # A row counts whatever its columns.
    assert columns_and_rows("other") == (["k", WEIGHT], Counter({(1,): -2, (None,): -1, (3,): 1}))
    # Rows that differ in floating-point numbers alone are told apart by all columns.
    assert columns_and_rows("f")[0] == ["k", "v", "f", WEIGHT]
