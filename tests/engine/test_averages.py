"""Averages of whole numbers inside a query on Spark: from changes while they are exact, refused by the rows beyond."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from airflow_trickle import Mode, Pipeline
from airflow_trickle.errors import TickFailed
from tests.conftest import Tuned
from tests.engine.world import FROM_CHANGES, World

LIMIT = 2**53
READINGS = pa.schema([("k", pa.int32()), ("v", pa.int64())])
QUERIES = {
    "of_groups": "SELECT x.m, count(*) AS n FROM (SELECT k, avg(v) FROM readings GROUP BY k) AS x(k, m) GROUP BY x.m",
    "named": "SELECT x.k, x.`avg(DISTINCT v)` AS m FROM (SELECT k, avg(DISTINCT v) FROM readings GROUP BY k) AS x",
    "tried": "SELECT try_avg(v) AS m, mean(v) FILTER (WHERE v > 1) AS f FROM readings GROUP BY k",
    "above": "SELECT r.k, r.v FROM readings AS r WHERE r.v > (SELECT avg(s.v) FROM readings AS s WHERE s.k = r.k)",
    "beside": "SELECT x.k, x.v FROM (SELECT k, v, avg(v) OVER (PARTITION BY k) AS m FROM readings) x WHERE x.v < x.m",
    "chosen": "SELECT x.k FROM (SELECT k FROM readings GROUP BY k HAVING avg(CAST(v % 1000 AS INT)) > 2) AS x",
    "totals": "SELECT x.k, x.m FROM (SELECT k, avg(sum(v)) OVER () AS m FROM readings GROUP BY k) AS x",
}


@pytest.fixture
def readings(world: World) -> World:
    world.source("readings", READINGS, [{"k": n % 3, "v": n} for n in range(9)] + [{"k": 3, "v": None}])
    return world


def verdicts(world: World) -> set[str]:
    return {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()}


def test_spark_adds_up_doubles_so_the_order_of_large_numbers_decides(spark: SparkSession) -> None:
    """Why such averages are exact up to a limit only."""

    def mean(*values: int) -> float:
        rows = ", ".join(f"({value}L)" for value in values)
        (row,) = spark.sql(f"SELECT avg(v) AS m FROM (SELECT /*+ COALESCE(1) */ * FROM VALUES {rows} t(v))").collect()
        return float(row.m)

    assert mean(LIMIT, 1, 1) != mean(1, 1, LIMIT)
    assert mean(LIMIT - 3, 1, 1) == mean(1, 1, LIMIT - 3)


@pytest.mark.parametrize("state", [False, True])
def test_averages_of_whole_numbers_inside_a_query_are_refreshed_from_changes(
    readings: World, tuned: Tuned, state: bool
) -> None:
    if state:
        tuned(aux_state_min_bytes=0, aux_state_share=100.0)
    readings.define(QUERIES, pipeline={"defaults": "{refresh_mode: DIFFERENTIAL}"})
    readings.tick()
    readings.append("readings", {"k": 3, "v": -(2**31)}, {"k": 0, "v": 100}, {"k": None, "v": 5})
    readings.delete("readings", "v = 4")
    done = readings.tick()
    assert {name: result.mode for name, result in done.items()} == dict.fromkeys(QUERIES, Mode.DIFFERENTIAL)
    readings.delete("readings", "k = 3 or v = 7")
    readings.tick()
    assert verdicts(readings) == {"OK"}


def test_a_group_that_may_be_rounded_fails_what_asks_for_changes_and_is_computed_in_full_by_auto(
    readings: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_trickle.engine.publish.choose", lambda *_: FROM_CHANGES)
    readings.define({"asked": QUERIES["of_groups"]}, asked={"refresh_mode": "DIFFERENTIAL"})
    readings.tick()
    before = readings.rows("asked")
    readings.append("readings", {"k": 0, "v": LIMIT})
    with pytest.raises(TickFailed, match=r"avg\(\) of bigint numbers that are 2\^53 or more in all"):
        readings.tick()
    assert readings.rows("asked") == before
    readings.define({"asked": QUERIES["of_groups"]})
    result = readings.tick()["asked"]
    assert result.mode is Mode.FULL
    assert "avg() of bigint numbers that are 2^53 or more in all" in result.reason
    readings.append("readings", {"k": 1, "v": 7})
    # The large group is not met by the change itself, but by what is counted again.
    assert readings.tick()["asked"].mode is Mode.FULL
    assert verdicts(readings) == {"OK"}
