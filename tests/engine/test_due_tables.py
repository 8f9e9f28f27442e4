"""Tables with schedules of their own in a scheduled tick: who rests, and what its readers make of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline, TableResult
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.state import read_status, write_status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.tick import Tick
from tests.engine.world import World

NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def hour() -> datetime:
    """The next full hour: later than whatever the test writes."""
    return datetime.now(timezone.utc).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduled tick is never of the future, so the present is put behind all of them."""
    monkeypatch.setattr("airflow_trickle.clock.now", lambda: datetime.now(timezone.utc) + timedelta(days=1))


def scheduled(world: World, moment: datetime) -> tuple[Tick, dict[str, TableResult]]:
    """What the run of a schedule does: pin as of its moment, then every unit."""
    plan = Pipeline.load(world.yaml).plan
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        tick = pin(lake, plan.pin, f"p/scheduled__{moment.isoformat()}", moment, scheduled=True)
        results = [result for step in plan.refreshes for result in refresh(lake, step, tick, spark)]
    return tick, {result.table: result for result in results}


def test_a_table_that_is_not_due_rests_and_its_reader_says_so(world: World, clock: None) -> None:
    world.source("s", NUMBERS, [{"k": 1, "x": 1}])
    queries = {"slow": "SELECT k, SUM(x) AS total FROM s GROUP BY k", "quick": "SELECT k, total FROM slow"}
    world.define(queries, slow={"schedule": "1h"}, quick={"schedule": "5m"})
    start = hour()
    scheduled(world, start)
    world.append("s", {"k": 1, "x": 10})
    # The source's new state is one of its past to a tick after it.
    tick, results = scheduled(world, start + timedelta(minutes=5))

    assert tick.not_due == ("default.slow",)
    assert (str(results["slow"].mode), results["slow"].reason) == (
        "SKIPPED",
        "not due in this tick: its schedule is 1h",
    )
    assert "slow was not due in this tick, so what was last published is read" in results["quick"].reason
    assert world.rows("quick") == {(1, 1): 1}

    tick, results = scheduled(world, start + timedelta(hours=1))
    assert tick.not_due == ()
    assert world.rows("slow") == world.rows("quick") == {(1, 11): 1}
    assert "not due" not in results["quick"].reason


def test_a_table_that_failed_or_was_reset_is_due_whatever_its_schedule(world: World, clock: None) -> None:
    world.source("s", NUMBERS, [{"k": 1, "x": 1}])
    world.define(
        {"slow": "SELECT k FROM s", "quick": "SELECT x FROM s"}, slow={"schedule": "1h"}, quick={"schedule": "5m"}
    )
    start = hour()
    scheduled(world, start)
    for number, values in enumerate(({"error": "it failed"}, {"frontier": None}), 1):
        with opened(world) as lake, lake.database.transaction() as connection:
            write_status(lake, connection, "default.slow", **values)
        tick, _ = scheduled(world, start + timedelta(minutes=5 * number))
        assert tick.not_due == ()


def test_a_group_is_due_as_a_whole_though_its_tables_were_last_refreshed_at_different_ticks(
    world: World, clock: None
) -> None:
    for name in ("s", "t"):
        world.source(name, NUMBERS, [{"k": 1, "x": 1}])
    queries = {
        "a1": "SELECT k, x FROM s",
        "a2": "SELECT DISTINCT k FROM s",
        "b1": "SELECT k, x FROM t",
        "b2": "SELECT DISTINCT k FROM t",
        "x": "SELECT a1.k, b1.x FROM a1 JOIN a2 ON a1.k = a2.k JOIN b1 ON b1.k = a1.k JOIN b2 ON b2.k = b1.k",
        "quick": "SELECT k FROM s",
    }
    slow = {name: {"schedule": "1h"} for name in queries if name != "quick"}
    world.define(queries, diamonds="atomic", quick={"schedule": "5m"}, **slow)
    start = hour()
    scheduled(world, start)
    world.append("s", {"k": 1, "x": 2})
    scheduled(world, start + timedelta(hours=1))
    with opened(world) as lake:
        # Also those of the other source have seen this tick.
        assert {status.effective_at for name, status in read_status(lake).items() if name != "default.quick"} == {
            start + timedelta(hours=1)
        }
        with lake.database.transaction() as connection:
            write_status(lake, connection, "default.b1", effective_at=start)

    tick, results = scheduled(world, start + timedelta(hours=1, minutes=5))

    assert "default.b1" not in tick.not_due
    assert "default.a1" in tick.not_due
    assert {str(results[name].mode) for name in slow} == {"NO_DATA"}, "not every member rests, so none does"


def test_a_table_whose_query_was_changed_does_not_rest(world: World, clock: None) -> None:
    world.source("s", NUMBERS, [{"k": 1, "x": 1}])
    queries = {"slow": "SELECT k FROM s", "quick": "SELECT * FROM slow"}
    world.define(queries, slow={"schedule": "1h"}, quick={"schedule": "5m"})
    start = hour()
    scheduled(world, start)
    world.define({**queries, "slow": "SELECT x + 1 AS k FROM s"}, slow={"schedule": "1h"}, quick={"schedule": "5m"})
    tick, _ = scheduled(world, start + timedelta(minutes=5))
    assert tick.not_due == ("default.slow",)
    assert world.rows("slow") == world.rows("quick") == {(2,): 1}
