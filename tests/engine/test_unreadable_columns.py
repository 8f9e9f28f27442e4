"""A column that Spark cannot read does no harm to queries that do not read it, and those that do are refused."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, TickFailed
from airflow_trickle.api import check_queries
from airflow_trickle.plan.build import plan_path
from tests.engine.world import World

EVENTS = pa.schema([("id", pa.int64()), ("at", pa.time64("us")), ("v", pa.int64())])
OTHERS = pa.schema([("id", pa.int64()), ("at", pa.int64())])


def event(number: int, v: int) -> dict[str, object]:
    return {"id": number, "at": dt.time(number), "v": v}


GOOD = {
    "plain": "SELECT id FROM events",
    "grouped": "SELECT v, count(*) AS n FROM events GROUP BY v",
    "joined": "SELECT e.id, o.at FROM events e JOIN others o ON o.id = e.id",
    "around": "WITH c AS (SELECT id, v FROM events) SELECT * FROM c WHERE v > 1",
    "chain": "WITH RECURSIVE r AS (SELECT id FROM events UNION SELECT r.id + 1 FROM r JOIN events e ON e.id = r.id) "
    "SELECT id FROM r",
}
BAD = {
    "named": "SELECT id, at FROM events",
    "starred": "SELECT * FROM events",
    "counted": "SELECT id FROM (SELECT DISTINCT * FROM events)",
    "unsure": "SELECT e.id FROM events e JOIN others o ON o.id = e.id AND at > 1",
}


def refresh_all(world: World, **extra: dict[str, str]) -> None:
    world.source("events", EVENTS, [event(1, 1), event(2, 5)])
    world.source("others", OTHERS, [{"id": 1, "at": 7}, {"id": 3, "at": 9}])
    world.define({**GOOD, **BAD}, **extra)


def test_only_queries_that_may_read_the_column_are_refused(world: World) -> None:
    refresh_all(world, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in GOOD})
    with pytest.raises(TickFailed) as failed:
        world.tick()
    world.append("events", event(3, 1), event(4, 5))
    world.delete("events", "id = 2")
    with pytest.raises(TickFailed) as failed:
        world.tick()

    assert {name: world.rows(name) for name in GOOD} == world.judge_all(GOOD)
    results = failed.value.results
    assert {results[name].mode for name in GOOD} == {Mode.DIFFERENTIAL}
    places = {"named": "28:18", "starred": "31:14", "counted": "34:39", "unsure": "37:66"}
    told = {
        name: f"{world.yaml}:{place}: stream table '{name}' reads column 'at' of default.events, or may do so: Table "
        f"default.events, column at: Iceberg type time is not one that Spark's Parquet reader reads. A query that "
        f"names the columns which it reads, with their table in front, and not this one, is accepted."
        for name, place in places.items()
    }
    assert {name: results[name].error for name in BAD} == told
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify(list(GOOD)).values()} == {"OK"}
    report = check_queries(plan_path(world.yaml))
    assert (sorted(str(problem) for problem in report.problems), report.unchecked) == (sorted(told.values()), ())
