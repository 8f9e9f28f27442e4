"""What a small refresh asks of Spark: calls of the server and jobs, counted, after a first refresh from changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from benchmarks.spark_counters import SparkCounters, SparkUse, counted_server
from tests.engine.world import World

pytestmark = [pytest.mark.spark, pytest.mark.server]

FACTS = pa.schema([("id", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])
NAMES = pa.schema([("k", pa.int64()), ("name", pa.string())])
FROM_CHANGES = {"refresh_mode": "DIFFERENTIAL"}


@pytest.fixture(scope="module")
def counters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCounters]:
    with counted_server(Path(tmp_path_factory.mktemp("counted"))) as server:
        yield server


@pytest.fixture(scope="module")
def spark_home(counters: SparkCounters, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Instead of the run's server, whose jobs others have too."""
    return tmp_path_factory.getbasetemp()


@pytest.fixture
def facts(world: World) -> World:
    world.source("facts", FACTS, [{"id": n, "k": n % 3, "v": n} for n in range(20)])
    world.source("names", NAMES, [{"k": n, "name": f"n{n}"} for n in range(3)])
    return world


def used(world: World, counters: SparkCounters, queries: dict[str, str]) -> tuple[SparkUse, SparkUse]:
    """What Spark is asked for a row that comes, and for one that is updated; rows are right after each."""
    world.define(queries, **dict.fromkeys(queries, FROM_CHANGES))
    world.tick()
    world.append("facts", {"id": 100, "k": 1, "v": 7})
    world.tick()
    world.append("facts", {"id": 101, "k": 1, "v": 7})
    came = refreshed(world, counters, queries)
    world.outside.load_table("default.facts").upsert(
        pa.Table.from_pylist([{"id": 101, "k": 2, "v": 9}], schema=FACTS), join_cols=["id"]
    )
    return came, refreshed(world, counters, queries)


def refreshed(world: World, counters: SparkCounters, queries: dict[str, str]) -> SparkUse:
    with counters.counting() as use:
        results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.DIFFERENTIAL}
    for name in queries:
        assert world.rows(name) == world.judge(f"SELECT * FROM {name}", **queries), name
    return use


def test_a_row_that_comes_goes_through_a_chain_with_one_query_and_no_job_for_each_table(
    facts: World, counters: SparkCounters
) -> None:
    one = {"t0": "SELECT id, k, v + 1 AS v FROM facts WHERE v >= 0"}
    rest = {f"t{n}": f"SELECT id, k, v + 1 AS v FROM t{n - 1} WHERE v >= 0" for n in range(1, 5)}
    came, updated = used(facts, counters, {**one, **rest})
    for use in (came, updated):
        assert (use.calls["ExecutePlan"], use.jobs) == (5, 0)
        # To open the session, to ask for Spark's version, and to say once how the queries are run.
        assert use.round_trips - 5 <= 7


def test_a_join_is_one_query(facts: World, counters: SparkCounters) -> None:
    came, updated = used(facts, counters, {"j": "SELECT f.id, n.name FROM facts AS f JOIN names AS n ON f.k = n.k"})
    assert (came.calls["ExecutePlan"], updated.calls["ExecutePlan"]) == (1, 1)
    assert max(came.jobs, updated.jobs) <= 2
    assert max(came.calls["AnalyzePlan"], updated.calls["AnalyzePlan"]) == 1


def test_questions_about_columns_are_asked_once_in_a_process(facts: World, counters: SparkCounters) -> None:
    query = "SELECT n.name, sum(f.v) AS s FROM facts AS f JOIN names AS n ON f.k = n.k GROUP BY n.name"
    came, updated = used(facts, counters, {"g": query})
    assert came.calls["ExecutePlan"] <= 2
    assert updated.calls["ExecutePlan"] <= 3
    # Spark's version.
    assert (came.calls["AnalyzePlan"], updated.calls["AnalyzePlan"]) == (1, 1)
