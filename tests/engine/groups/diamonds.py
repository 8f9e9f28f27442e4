"""A diamond to be published as a whole, and what to look at afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from airflow_trickle import Pipeline
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.tick import Tick
from tests.engine.world import World

NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
#: `c` fails on a row with x = 0.
DIAMOND = {
    "b": "SELECT k, SUM(x) AS total FROM s GROUP BY k",
    "c": "SELECT k, 100 / x AS part FROM s",
    "d": "SELECT b.k, b.total, COUNT(*) AS n, SUM(c.part) AS parts FROM b JOIN c ON b.k = c.k GROUP BY b.k, b.total",
}
#: What DuckDB says to the same, where division is of other types.
JUDGES = {
    "b": DIAMOND["b"],
    "c": "SELECT k, 100.0::DOUBLE / x AS part FROM s",
    "d": DIAMOND["d"],
}
MEMBERS = [f"default.{name}" for name in DIAMOND]


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def group(world: World) -> RefreshStep:
    (step,) = Pipeline.load(world.yaml).plan.refreshes
    assert step.kind.value == "group"
    return step


def are_right(world: World) -> None:
    judged(world, JUDGES)


def judged(world: World, queries: dict[str, str]) -> None:
    """Each table is what DuckDB makes of its query and those before it."""
    before: dict[str, str] = {}
    for name, query in queries.items():
        assert world.rows(name) == world.judge(query, **before), name
        before[name] = query


def states(world: World) -> dict[str, int | None]:
    return {name: world.outside.load_table(name).metadata.current_snapshot_id for name in MEMBERS}


def epochs(world: World) -> set[str | None]:
    """What the current snapshots of the members say of their group."""
    found = set()
    for name in MEMBERS:
        snapshot = world.outside.load_table(name).current_snapshot()
        assert snapshot is not None
        assert snapshot.summary is not None
        found.add(snapshot.summary.additional_properties.get("trickle.group-epoch"))
    return found


def nothing_is_left(world: World) -> None:
    with opened(world) as lake:
        assert [one for name in MEMBERS for one in stagings.leftovers(lake, identifier=name)] == []
        with lake.database.reading() as connection:
            assert connection.execute(leases.select()).all() == []
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM trickle_prepared").scalar() == 0


@contextmanager
def task(world: World, tick: Tick, **options: Any) -> Iterator[GroupRefresh]:
    """What one process of a run works with."""
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        yield GroupRefresh(lake, group(world), tick, spark, **options)


def pinned(world: World, tick_id: str) -> Tick:
    with opened(world) as lake:
        return pin(lake, Pipeline.load(world.yaml).plan.pin, tick_id)
