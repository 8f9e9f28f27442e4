"""Lines that add up: with what is kept of the groups, changes come out as the query itself, whatever goes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import DecimalType, IntegerType, LongType, StringType, StructField, StructType

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Change, Context, InputViews, Published, Tallies, Version, Views
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.spark.active import activated
from tests.engine.delta.judge import Case, _over, _states, changed, random_rows

T = StructType(
    [
        StructField("k", IntegerType()),
        StructField("g", StringType()),
        StructField("v", DecimalType(10, 2)),
        StructField("i", IntegerType()),
        StructField("b", LongType()),
    ]
)
U = StructType([StructField("k", IntegerType()), StructField("w", DecimalType(15, 2))])
VALUES: dict[str, list[list[Any]]] = {
    "t": [
        [1, 2, 3, None],
        ["a", "b", None],
        [Decimal("0.01"), Decimal("-99999999.99"), Decimal("33.33"), None],
        [-(2**31), 7, None],
        [2**62, -(2**61), 5, None],
    ],
    "u": [[1, 2, 3, None], [Decimal("1.10"), Decimal("2.05"), None]],
}
QUERIES = [
    "SELECT g, count(*) AS n FROM t GROUP BY g",
    "SELECT g, sum(v) AS s, avg(v) AS m, count(v) AS c FROM t GROUP BY g",
    "SELECT g, k, avg(i) AS m, sum(i) AS s FROM t GROUP BY k, g",
    "SELECT sum(v) AS s, count(*) AS n, avg(i) AS m FROM t",
    "SELECT sum(v) AS s FROM t GROUP BY g",
    "SELECT g, count(*) AS n FROM t GROUP BY g HAVING sum(v) > 0",
    "SELECT upper(g) AS u, round(sum(v) / count(*), 3) AS r FROM t GROUP BY g",
    "SELECT k + 1 AS k1, count(*) FILTER (WHERE g = 'a') AS a, sum(v) FILTER (WHERE i > 0) AS p FROM t GROUP BY k + 1",
    "SELECT t.g, sum(u.w * t.v) AS x FROM t JOIN u ON t.k = u.k GROUP BY t.g",
    "SELECT t.g, count(u.w) AS n, sum(coalesce(u.w, 0)) AS x FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.g",
    "SELECT g AS key, count_if(v > 0) AS n, CASE WHEN count(*) > 2 THEN 'x' ELSE 'y' END AS size FROM t GROUP BY 1",
    "SELECT g, sum(v) AS s FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k) GROUP BY g",
    "SELECT CAST(sum(b) AS DECIMAL(30, 0)) AS s, g FROM (SELECT g, CAST(b AS DECIMAL(20, 0)) AS b FROM t) GROUP BY g",
]


def _find(
    spark: SparkSession, case: Case, states: dict[str, Views], published: Published, tallies: Tallies, views: list[str]
) -> tuple[SparkBench, Change | None]:
    query = parse_query(case.query)
    blocks, parsed = blocks_of(case.query)
    bench = SparkBench(spark, views)
    tables = {ref.start: InputViews(states[ref.name.lower()], ref.alias) for ref in query.references}
    return bench, change_of(Context(blocks, tables, bench, tallies=tallies), parsed, published)


def _lines(spark: SparkSession, case: Case, states: dict[str, Views], published: Published, views: list[str]) -> str:
    """All lines over the old rows, by asking for the change from the new rows to the old ones."""
    turned = {name: Views(one.new, one.old, one.delta, types=one.types) for name, one in states.items()}
    tallies = Tallies(wanted=True)
    _find(spark, case, turned, published, tallies, views)
    assert tallies.whole is not None, case.query
    return tallies.whole


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_the_change_by_kept_lines_is_that_of_the_query_and_the_lines_stay_right(
    spark: SparkSession, number: int
) -> None:
    chance = random.Random(number)
    for _ in range(2):
        before = {name: random_rows(chance, values, 14) for name, values in VALUES.items()}
        after = {name: changed(chance, rows, VALUES[name]) for name, rows in before.items()}
        if before == after:
            continue
        case = Case(QUERIES[number], {"t": T, "u": U}, before, after)
        views: list[str] = []
        with activated(spark):
            _judge(spark, case, views)
        for view in views:
            spark.catalog.dropTempView(view)


def _judge(spark: SparkSession, case: Case, views: list[str]) -> None:
    states = {name: _states(spark, case, name, views) for name in case.types}
    states = {name: replace(one, grows=False) for name, one in states.items()}
    query = parse_query(case.query)
    old, new = (spark.sql(_over(query, states, version)) for version in (Version.OLD, Version.NEW))
    old.localCheckpoint().createOrReplaceTempView(f"published_{id(case)}")
    views.append(f"published_{id(case)}")
    types = tuple(column.dataType.simpleString() for column in old.schema.fields)
    published = Published(f"published_{id(case)}", tuple(old.columns), types)
    if not any(ref for ref in query.references if states[ref.name.lower()].delta is not None):
        return
    spark.sql(_lines(spark, case, states, published, views)).createOrReplaceTempView(f"lines_{id(case)}")
    views.append(f"lines_{id(case)}")
    tallies = Tallies(lines=f"lines_{id(case)}", wanted=True)
    bench, change = _find(spark, case, states, published, tallies, views)
    assert tallies.gained is not None or tallies.unchanged
    found = Counter(tuple(row) for row in old.collect())
    if change is not None:
        for row in bench.frame(change.sql).collect():
            found[tuple(row[:-1])] += row[-1]
    assert Counter({row: count for row, count in found.items() if count}) == Counter(map(tuple, new.collect()))
    if tallies.folded is not None:
        kept = Counter(tuple(row) for row in bench.frame(tallies.folded).collect())
        assert kept == Counter(tuple(row) for row in _of_now(spark, case, states, published, views))


def _of_now(
    spark: SparkSession, case: Case, states: dict[str, Views], published: Published, views: list[str]
) -> list[Any]:
    tallies = Tallies(wanted=True)
    _find(spark, case, states, published, tallies, views)
    assert tallies.whole is not None
    return spark.sql(tallies.whole).collect()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, to_json(struct(g, count(*) AS n)) AS j FROM t GROUP BY g",
        "SELECT g, count(*) AS n FROM t GROUP BY g HAVING to_json(struct(g)) LIKE '%\"g\"%'",
        "SELECT g, count(DISTINCT k) AS n FROM t GROUP BY g",
        "SELECT g, min(v) AS lo, count(*) AS n FROM t GROUP BY g",
        "SELECT g, avg(b) AS m FROM t GROUP BY g",
        "SELECT g, sum(CAST(v AS DECIMAL(38, 2))) AS s FROM t GROUP BY g",
    ],
)
def test_aggregates_that_do_not_add_up_exactly_are_not_kept(spark: SparkSession, query: str) -> None:
    rows = {"t": [(1, "a", Decimal(1), 1, 1)], "u": []}
    case = Case(query, {"t": T, "u": U}, {"t": [], "u": []}, rows)
    views: list[str] = []
    with activated(spark):
        states = {name: replace(_states(spark, case, name, views), grows=False) for name in case.types}
        result = spark.sql(_over(parse_query(query), states, Version.OLD))
        result.createOrReplaceTempView(f"p_{id(case)}")
        types = tuple(column.dataType.simpleString() for column in result.schema.fields)
        tallies = Tallies(wanted=True)
        _find(spark, case, states, Published(f"p_{id(case)}", tuple(result.columns), types), tallies, views)
    assert tallies.whole is None
