"""Units with nothing to compute are found without Spark; whatever cannot be judged is left to its own task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline
from airflow_trickle.engine.idle import Idle, Watch, find_idle, note_skipped_strata
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.leases import holding
from airflow_trickle.lakehouse.strata import times_skipped
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from tests.engine.world import World

NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
QUERIES = {
    "a": "SELECT k, x FROM s",
    "b": "SELECT k FROM a",
    "c": "SELECT COUNT(*) AS n FROM t",
}


@pytest.fixture
def shop(world: World) -> World:
    for name in ("s", "t"):
        world.source(name, NUMBERS, [{"k": 1, "x": 1}])
    world.define(QUERIES)
    world.tick()
    return world


@contextmanager
def opened(world: World) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        yield lake


def look(world: World, tick_id: str = "p/look", **watch: object) -> Idle:
    plan = Pipeline.load(world.yaml).plan
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        tick = pin(lake, plan.pin, tick_id)
        return find_idle(lake, plan.refreshes, tick, spark, Watch(**watch))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def without_spark(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))


def test_what_reads_a_change_is_busy_and_the_rest_is_not(shop: World) -> None:
    """Design 001 §9.2: test_downstream_not_skipped_when_base_table_has_changes"""
    assert look(shop).busy == frozenset()
    shop.append("s", {"k": 2, "x": 2})
    found = look(shop, "p/next")
    assert found.busy == {"a", "b"}
    assert set(found.results) == {"c"}


def test_a_full_refresh_a_changed_query_and_a_failed_capture_make_busy(shop: World) -> None:
    assert look(shop, full_refresh=True).busy == {"a", "b", "c"}
    assert look(shop, stale=frozenset({"default.t"})).busy == {"c"}
    assert look(shop, held_up=frozenset({"b"})).busy == {"b"}
    shop.define({**QUERIES, "a": "SELECT k, x + 1 AS x FROM s"})
    assert look(shop).busy == {"a", "b"}


def test_a_file_that_cannot_be_read_concerns_only_its_readers(shop: World) -> None:
    shop.append("s", {"k": 2, "x": 2})
    snapshot = shop.outside.load_table("default.s").current_snapshot()
    assert snapshot is not None
    Path(snapshot.manifest_list.removeprefix("file://")).unlink()
    assert look(shop, "p/next").busy == {"a", "b"}


def test_a_stratum_is_counted_once_a_tick(shop: World) -> None:
    plan = Pipeline.load(shop.yaml).plan
    with opened(shop) as lake:
        for tick_id in ("p/1", "p/1", "p/2"):
            note_skipped_strata(lake, "p", pin(lake, plan.pin, tick_id), {1})
        assert times_skipped(lake, "p") == {1: 2}


def test_a_group_that_cannot_be_begun_gives_its_tables_back(shop: World) -> None:
    shop.define({**QUERIES, "d": "SELECT a.k FROM a JOIN b ON a.k = b.k"}, diamonds="atomic")
    shop.outside.load_table("default.a").delete("k = 1")  # by somebody else: it is refused
    assert "group_d" in look(shop).busy
    with opened(shop) as lake, holding(lake, ["default.a", "default.b"], "trickle reset", wait=0):
        pass
