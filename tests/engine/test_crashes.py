"""`kill -9` at every stage of a tick: the next tick ends right, nothing twice, no file left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import create_engine, text

from airflow_trickle import Mode
from airflow_trickle.lakehouse.owner import MARKER
from tests import dying
from tests.databases import new_database
from tests.engine.world import World

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])

POINTS = {
    "after the pin": ("airflow_trickle.runner", "pin", "after"),
    "before the write": ("airflow_trickle.engine.publish", "_write", "before"),
    "after the write": ("airflow_trickle.engine.publish", "_write", "after"),
    "after staging": ("airflow_trickle.engine.publish", "stage", "after"),
    "just before the commit": ("airflow_trickle.engine.outcome", "commit", "before"),
    "just after the commit": ("airflow_trickle.engine.outcome", "commit", "after"),
}
#: Points inside the database's transaction run on both databases, the others on one; a soak runs all on both.
SHORT = {
    "sqlite": tuple(point for point in POINTS if point != "after staging"),
    "postgresql": ("after staging", "just before the commit", "just after the commit"),
}
CASES = [
    pytest.param(database, point, marks=() if point in SHORT[database] else pytest.mark.soak)
    for database in SHORT
    for point in POINTS
]


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> World:
    uri = f"sqlite:///{tmp_path}/catalog.db" if request.param == "sqlite" else new_database()
    world = World(tmp_path, uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", world.warehouse)
    world.source("t", SCHEMA, [{"id": 1, "name": "a"}, {"id": 2, "name": None}])
    world.define({"copy": "SELECT id, name FROM t", "n": "SELECT COUNT(*) AS n FROM copy"})
    return world


def die(world: World, point: str) -> None:
    dying.die(dying.tick, str(world.yaml), *POINTS[point])


def rows_of_state(world: World, table: str) -> int:
    engine = create_engine(world.uri)
    with engine.connect() as connection:
        count = connection.execute(text(f"SELECT COUNT(*) FROM {table}")).scalar()
    engine.dispose()
    return int(count or 0)


def live_files(world: World) -> set[str]:
    """Every file some snapshot or the catalog still refers to."""
    live = set()
    for name in ("t", "copy", "n"):
        table = world.outside.load_table(f"default.{name}")
        live.add(table.metadata_location)
        live |= {entry.metadata_file for entry in table.metadata.metadata_log}
        for snapshot in table.metadata.snapshots:
            live.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(table.io):
                live.add(manifest.manifest_path)
                live |= {e.data_file.file_path for e in manifest.fetch_manifest_entry(table.io, discard_deleted=False)}
    return {path.removeprefix("file://").removeprefix(f"{world.folder}/") for path in live}


def assert_no_leftovers(world: World) -> None:
    files = {name for name in world.files() if (world.folder / name).is_file() and not name.endswith(".crc")}
    assert files - live_files(world) == {f"warehouse/{MARKER}"}
    assert rows_of_state(world, "trickle_staging") == 0
    assert rows_of_state(world, "trickle_leases") == 0


@pytest.mark.parametrize(("shop", "point"), CASES, indirect=["shop"])
def test_a_tick_that_was_killed_is_made_good_by_the_next(shop: World, point: str) -> None:
    die(shop, point)  # on the very first refresh
    shop.tick()
    assert shop.rows("copy") == shop.rows("t")
    shop.append("t", {"id": 3, "name": "c"}, {"id": 3, "name": "c"})
    shop.delete("t", "id = 1")
    die(shop, point)  # and on a later one
    before = shop.snapshots("copy")
    results = shop.tick()
    committed = point == "just after the commit"
    assert results["copy"].mode == (Mode.NO_DATA if committed else Mode.FULL)
    assert shop.snapshots("copy") == before + (0 if committed else 1)
    assert shop.rows("copy") == shop.rows("t") == {(2, None): 1, (3, "c"): 2}
    assert shop.rows("n") == {(3,): 1}
    assert_no_leftovers(shop)
    assert {result.mode for result in shop.tick().values()} == {Mode.NO_DATA}


def test_killed_while_spark_is_writing(shop: World) -> None:
    """The client dies in the middle of the write; Spark's query is stopped and its files go."""
    if shop.uri.startswith("postgresql"):
        pytest.skip("one database is enough for what happens on Spark's side")
    shop.define(
        {
            "copy": "SELECT r.id, t.name FROM t CROSS JOIN (SELECT id FROM range(0, 400000000)) AS r",
            "n": "SELECT 1 AS n FROM t",
        }
    )
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from airflow_trickle import Pipeline; Pipeline.load(sys.argv[1]).tick()",
            str(shop.yaml),
        ],
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not any("_temporary" in name and name.endswith(".parquet") for name in shop.files()):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.1)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    shop.define({"copy": "SELECT id, name FROM t", "n": "SELECT COUNT(*) AS n FROM copy"})
    shop.tick()
    assert shop.rows("copy") == shop.rows("t")
    assert_no_leftovers(shop)
    time.sleep(1.5)  # nothing comes back
    assert_no_leftovers(shop)


def test_running_the_same_tick_again_tells_what_the_first_run_did(shop: World) -> None:
    from airflow_trickle import Pipeline
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.runner import run_tick
    from airflow_trickle.spark.session import SparkProvider

    plan = Pipeline.load(shop.yaml).plan
    with open_lakehouse("trickle") as lake, SparkProvider() as spark:
        first = run_tick(lake, plan, spark, tick_id="p/once")
        shop.append("t", {"id": 9, "name": "late"})
        again = run_tick(lake, plan, spark, tick_id="p/once")
    assert again == first
    assert first["copy"].rows_inserted == 2
    assert shop.rows("copy") == {(1, "a"): 1, (2, None): 1}
