"""A refresh of a cycle that is killed on its way: the retry of its tick goes on from what was written down."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.staging import leftovers
from airflow_trickle.results import Iteration, TableResult
from airflow_trickle.runner import new_tick_id
from airflow_trickle.spark import embedded
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import target_from_environment
from airflow_trickle.tick import Tick
from tests import dying
from tests.conftest import Tuned
from tests.engine.world import World

EDGE = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
CHAIN = [{"src": n, "dst": n + 1} for n in range(7)]

SETS = {
    "reach": "SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.dst"
}
BAGS = {
    "paths": "SELECT src, dst FROM edges UNION ALL SELECT p.src, e.dst FROM paths AS p JOIN edges AS e ON e.src = p.dst"
}
INSIDE = {
    "far": "WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges AS e "
    "ON e.src = r.dst) SELECT src, count(*) AS n FROM r GROUP BY src"
}


def refreshed(yaml: str, tick: str, progress: object) -> tuple[TableResult, ...]:
    plan = Pipeline.load(yaml).plan
    with open_lakehouse("trickle") as lake, SparkProvider(target_from_environment(plan.spark_conn_id)) as spark:
        return refresh(lake, plan.refreshes[0], Tick.model_validate_json(tick), spark, progress=progress)  # type: ignore[arg-type]


def pinned(world: World) -> str:
    plan = Pipeline.load(world.yaml).plan
    with open_lakehouse("trickle") as lake:
        return pin(lake, plan.pin, new_tick_id("p")).model_dump_json()


def define(world: World, tables: dict[str, str]) -> None:
    world.define(tables)
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")


def die(world: World, tick: str) -> None:
    dying.die(dying.third_pass, str(world.yaml), tick)


def finish(world: World, tick: str) -> list[Iteration]:
    told: list[Iteration] = []
    (result,) = refreshed(str(world.yaml), tick, told.append)
    assert result.iterations == told[-1].number
    assert told[-1].total == 0
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []
    assert not list((world.folder / "warehouse" / "_trickle_checkpoints").glob("*"))
    return told


CLOSURE = (
    "WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges e ON e.src = r.dst)"
)


@pytest.mark.parametrize(
    ("tables", "judge"),
    [
        (SETS, f"{CLOSURE} SELECT * FROM r"),
        (BAGS, f"{CLOSURE} SELECT * FROM r"),
        (INSIDE, f"{CLOSURE} SELECT src, count(*) FROM r GROUP BY src"),
    ],
    ids=["sets", "copies", "inside a query"],
)
def test_a_killed_refresh_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, tables: dict[str, str], judge: str
) -> None:
    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    world.source("edges", EDGE, CHAIN)
    define(world, tables)
    tick = pinned(world)
    die(world, tick)
    told = finish(world, tick)
    assert [one.number for one in told] == [3, 4, 5, 6, 7, 8]
    (name,) = tables
    assert world.rows(name) == world.judge(judge)
    if tables is INSIDE:
        return
    # And a refresh from that, likewise killed.
    world.append("edges", *({"src": n, "dst": n + 1} for n in range(7, 12)))
    tick = pinned(world)
    die(world, tick)
    assert finish(world, tick)[0].number == 3
    assert world.rows(name) == world.judge(judge)


@pytest.fixture
def own_server(tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A Spark server that only this test uses, since it is to die."""
    home = tmp_path / "own-spark"
    home.mkdir()
    for file in spark_home.glob("spark-defaults.conf"):
        shutil.copy(file, home)
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(home))
    yield
    embedded.stop()


def test_a_refresh_whose_spark_server_is_killed_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch, tuned: Tuned, own_server: None
) -> None:
    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    tuned(arrow_fixpoint_input_rows=-1)
    world.source("edges", EDGE, CHAIN)
    define(world, SETS)
    tick = pinned(world)

    def deadly(one: Iteration) -> None:
        if one.number == 3:
            os.kill(embedded.ensure_running().pid, signal.SIGKILL)

    with pytest.raises(TrickleError, match="Spark"):
        refreshed(str(world.yaml), tick, deadly)
    told = finish(world, tick)
    assert [one.number for one in told] == [3, 4, 5, 6, 7, 8]
    assert world.rows("reach") == world.judge(f"{CLOSURE} SELECT * FROM r")


def test_what_was_written_down_for_another_world_is_not_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    world.source("edges", EDGE, CHAIN)
    define(world, SETS)
    die(world, pinned(world))
    # What is written down are notes in JSON, without rows.
    notes = sorted(Path(world.folder, "warehouse", "_trickle_checkpoints").rglob("*.json"))
    said = json.loads(notes[-1].read_text())
    assert said["kind"] == "ranked FULL"
    assert [one["number"] for one in said["trace"]] == [1, 2]
    world.delete("edges", "src == 3")
    results = world.tick()
    assert results["reach"].iterations == 4
    assert world.rows("reach") == world.judge(f"{CLOSURE} SELECT * FROM r")
