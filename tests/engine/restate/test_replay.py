"""A pipeline that is taken back and runs its ticks again ends, after each of them, as one that ran on time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, Rewind, Status, TableResult
from airflow_trickle.engine.steer import suspend
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.runner import run_tick
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import target_from_environment
from tests import budgets
from tests.conftest import Tuned
from tests.databases import new_database
from tests.engine.restate.story import Story, from_changes, judged, modes, statuses
from tests.engine.world import World

ORDERS = pa.schema([("id", pa.int64()), ("customer", pa.string()), ("amount", pa.decimal128(12, 2))])
CUSTOMERS = pa.schema([("name", pa.string()), ("country", pa.string())])

QUERIES = {
    "plain": "SELECT id, customer, amount FROM orders WHERE amount > 10 OR amount IS NULL",
    "totals": "SELECT customer, COUNT(*) AS orders, SUM(amount) AS total FROM orders GROUP BY customer",
    "who": "SELECT DISTINCT customer FROM orders",
    "joined": "SELECT c.country, t.orders FROM customers c LEFT JOIN totals t ON t.customer = c.name",
    "lonely": "SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM who w WHERE w.customer = c.name)",
    # These two hardly ever change.
    "huge": "SELECT id FROM orders WHERE amount > 1000",
    "how_many": "SELECT COUNT(*) AS n FROM huge",
}
DIFFERENTIAL = {"refresh_mode": "DIFFERENTIAL"}


def order(chance: random.Random) -> dict[str, Any]:
    amount = chance.choice([None, "1.00", "5.50", "20.00", "75.25"])
    return {
        "id": chance.randint(1, 20),
        "customer": chance.choice(["ann", "bob", "cid", "dee", None]),
        "amount": Decimal(amount) if amount else None,
    }


def move_on(world: World, chance: random.Random, *, busy: bool) -> None:
    """Rows come and go; now and then only one source moves, or none; if it is a busy shop, orders always do."""
    if chance.random() < 0.8 or busy:
        world.append("orders", *[order(chance)] * chance.randint(1, 2), order(chance))
        world.delete("orders", f"id = {chance.randint(1, 20)}")
    if chance.random() < 0.4:
        world.delete("customers", f"name = '{chance.choice(['ann', 'bob', 'eve'])}'")
        world.append("customers", {"name": chance.choice(["ann", "bob", "cid", "eve"]), "country": "NL"})


def told(
    world: World, queries: Mapping[str, str] = QUERIES, *, chapters: int = 10, seed: int = 0, busy: bool = False
) -> tuple[Story, random.Random]:
    chance = budgets.chance(seed)
    world.source("orders", ORDERS, [order(chance) for _ in range(12)])
    world.source("customers", CUSTOMERS, [{"name": "ann", "country": "BE"}, {"name": "eve", "country": None}])
    story = Story(world, judged(queries))
    story.chapter()
    for _ in range(chapters - 1):
        move_on(world, chance, busy=busy)
        story.chapter()
    define(world, queries)
    return story, chance


def define(world: World, queries: Mapping[str, str]) -> None:
    world.define(dict(queries), **{name: DIFFERENTIAL for name in queries})


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.soak), "postgresql"])
def either(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> World:
    """An empty catalog on PostgreSQL; on SQLite in a soak, since every other test uses that."""
    made = World(tmp_path, f"sqlite:///{tmp_path}/catalog.db" if request.param == "sqlite" else new_database())
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", made.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", made.warehouse)
    return made


@pytest.mark.parametrize(("chapters", "back"), [(6, 2), pytest.param(10, 3, marks=pytest.mark.soak)])
def test_all_ticks_taken_back_to_an_early_one_and_run_again(world: World, chapters: int, back: int) -> None:
    story, _ = told(world, chapters=chapters)
    on_time = story.ticks(range(chapters))
    assert modes(on_time[0]) == {Mode.FULL}
    from_changes(on_time[1:])
    epochs = {name: status.epoch for name, status in statuses().items()}
    results = story.restate(back)
    assert {result.outcome for result in results.values()} == {Rewind.REWOUND}
    # Some have not changed for a while: they have read less than the others, and nobody minds.
    assert len({result.effective_at for result in results.values()}) > 1
    story.check(back, QUERIES)
    # Together, and without a tick in between, the worlds of tables that read each other differ; a tick mends that.
    from_changes(story.ticks(range(back + 1, chapters)))
    assert all(status.epoch >= results[name].epoch >= epochs[name] for name, status in statuses().items())
    verdicts = Pipeline.load(world.yaml).verify()
    assert {str(found.verdict) for found in verdicts.values()} == {"OK"}


def test_on_either_database_and_more_than_once(either: World) -> None:
    story, _ = told(either, {name: QUERIES[name] for name in ("totals", "joined")}, chapters=5, seed=3)
    story.ticks(range(5))
    for back, until in ((1, 4), (2, 3), (0, 5)):
        story.restate(back)
        story.check(back, story.expected[back])
        from_changes(story.ticks(range(back + 1, until)))


def test_nothing_that_moved_since_costs_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    story, _ = told(world, chapters=3)
    story.ticks(range(3))
    story.restate(1)
    # The very tick that all went back to, again.
    from_changes([story.tick(1)])

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("airflow_trickle.spark.session.connect", refuse)
    assert modes(story.tick(1)) == {Mode.NO_DATA}
    # One from before it changes nothing.
    skipped = world.tick(as_of=story.moments[0])
    assert {result.reason for result in skipped.values()} == {"a later tick has already brought it further"}
    story.check(1, QUERIES)


def test_all_that_follows_in_one_tick(world: World) -> None:
    story, _ = told(world, chapters=4)
    story.ticks(range(4))
    story.restate(0)
    results = world.tick()
    assert modes(results) <= {Mode.DIFFERENTIAL, Mode.NO_DATA}
    story.check(3, QUERIES)
    # And the ticks on the way are over.
    assert modes(world.tick(as_of=story.moments[2])) == {Mode.SKIPPED}


def test_runs_that_are_cleared_are_run_again_under_their_own_names(world: World) -> None:
    story, _ = told(world, {"totals": QUERIES["totals"], "who": QUERIES["who"]}, chapters=4, busy=True)
    plan = Pipeline.load(world.yaml).plan

    def run(number: int) -> dict[str, TableResult]:
        with open_lakehouse("trickle") as lake, SparkProvider(target_from_environment(plan.spark_conn_id)) as spark:
            moment = story.moments[number]
            results = run_tick(lake, plan, spark, as_of=moment, tick_id=f"trickle:p/scheduled__{number}")
        story.check(number, results)
        return results

    first = [run(number) for number in range(4)]
    # A retry tells what the run did.
    assert run(3)["totals"].snapshot_id == first[3]["totals"].snapshot_id
    story.restate(1)
    again = {number: run(number) for number in (2, 3)}
    for number, results in again.items():
        assert results["totals"].snapshot_id != first[number]["totals"].snapshot_id
        assert results["totals"].rows_inserted == first[number]["totals"].rows_inserted
    # A retry after that tells what this run did, not the one that was left behind.
    assert run(3)["totals"].snapshot_id == again[3]["totals"].snapshot_id


def test_a_table_that_was_added_since_has_its_state_of_every_tick(world: World) -> None:
    added = {"late": "SELECT customer, orders FROM totals WHERE orders > 1", "later": "SELECT COUNT(*) AS n FROM late"}
    early = {"totals": QUERIES["totals"]}
    story, _ = told(world, {**early, **added}, chapters=5, busy=True)
    define(world, early)
    story.ticks(range(3))
    define(world, {**early, **added})
    story.ticks(range(3, 5))
    results = story.restate(1)
    assert {name: result.outcome for name, result in results.items()} == {
        "totals": Rewind.REWOUND,
        "late": Rewind.STARTED_OVER,
        "later": Rewind.STARTED_OVER,
    }
    assert world.rows("late") == story.expected[4]["late"]  # until the next tick
    first = story.tick(2)
    assert (first["totals"].mode, first["late"].mode, first["later"].mode) == (Mode.DIFFERENTIAL, Mode.FULL, Mode.FULL)
    from_changes(story.ticks(range(3, 5)))


OLD = {"sums": "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer"}
NEW = {"sums": "SELECT customer, COUNT(*) AS orders FROM orders GROUP BY customer"}
READER = {"reader": "SELECT * FROM sums WHERE customer IS NOT NULL"}


def test_a_query_that_was_changed_since_holds_for_all_ticks_that_run_again(world: World) -> None:
    story, _ = told(world, {**NEW, **READER}, chapters=5)
    define(world, {**OLD, **READER})
    for number in range(3):
        world.tick(as_of=story.moments[number])
    then = world.rows("sums")
    define(world, {**NEW, **READER})
    story.ticks(range(3, 5))
    story.restate(2)
    assert world.rows("sums") == then
    assert world.outside.load_table("default.sums").schema().column_names == ["customer", "total"]
    first = world.tick(as_of=story.moments[2])  # the same moment, by the new query
    assert first["sums"].mode is Mode.FULL
    assert first["sums"].reason.startswith("its query changed")
    story.check(2, first)
    from_changes(story.ticks(range(3, 5)))


def test_a_query_that_is_changed_back_goes_on_from_its_rows_of_then(world: World) -> None:
    """Its columns are the ones of then too: a column that came again later would be another one."""
    story, _ = told(world, {**OLD, **READER}, chapters=5)
    story.ticks(range(3))
    define(world, {**NEW, **READER})
    for number in range(3, 5):
        world.tick(as_of=story.moments[number])
    define(world, {**OLD, **READER})
    story.restate(2)
    story.check(2, story.expected[2])
    from_changes(story.ticks(range(3, 5)))


def test_a_table_that_was_parted_since_is_parted_again(world: World) -> None:
    query = {"plain": QUERIES["plain"]}
    story, _ = told(world, query, chapters=4)
    story.ticks(range(2))
    world.define(query, plain={**DIFFERENTIAL, "partition_by": "[customer]"})
    parted = story.ticks(range(2, 4))
    assert parted[0]["plain"].reason.startswith("partition_by changed")
    story.restate(1)
    story.check(1, query)
    again = story.ticks(range(2, 4))
    assert again[0]["plain"].reason.startswith("partition_by changed")
    from_changes(again[1:])
    story.restate(2)
    story.check(2, query)
    # And back.
    define(world, query)
    assert story.tick(3)["plain"].reason.startswith("partition_by changed")


def test_what_is_kept_beside_a_table_is_not_that_of_another_state(world: World, tuned: Tuned) -> None:
    tuned(aux_state_min_bytes=0)
    queries = {
        "totals": QUERIES["totals"],
        "who": QUERIES["who"],
        "bounds": "SELECT customer, MIN(amount) AS lo, MAX(id) AS hi FROM orders GROUP BY customer",
        "without": "SELECT customer FROM orders EXCEPT SELECT name FROM customers",
    }
    story, _ = told(world, queries, chapters=5, seed=1)
    story.ticks(range(5))
    assert any(status.kept for status in statuses().values())
    there = {path for path in world.files() if "-kept/" in path}
    assert there
    story.restate(1)
    assert not any(status.kept for status in statuses().values())
    assert not any(path.endswith(".parquet") for path in world.files() if "-kept/" in path)
    from_changes(story.ticks(range(2, 5)))
    assert any(status.kept for status in statuses().values())


def test_a_table_that_is_suspended_rests_where_it_was_taken_back_to(world: World) -> None:
    story, _ = told(world, {"totals": QUERIES["totals"], "joined": QUERIES["joined"]}, chapters=4)
    story.ticks(range(4))
    with open_lakehouse("trickle") as lake:
        suspend(lake, read_status(lake, ["default.totals"])["default.totals"])
    story.restate(1)
    results = world.tick(as_of=story.moments[3])
    assert (results["totals"].status, results["totals"].mode) == (Status.SUSPENDED, Mode.SKIPPED)
    assert world.rows("totals") == story.expected[1]["totals"]
    assert results["joined"].mode is not Mode.SKIPPED
