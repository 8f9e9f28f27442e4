"""Sources that other writers made in ways Spark would read otherwise than Iceberg means: right, or refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.types import LongType

from airflow_trickle import TickFailed
from airflow_trickle.lakehouse.snapshots import files_of
from tests.deleting import commit_files, equality_deletes, position_deletes
from tests.engine.world import World

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.int64())])
COPY = {"c": "SELECT * FROM t"}


def add_file(world: World, name: str, *, twice: bool = False) -> None:
    path = world.folder / name
    pq.write_table(pa.table({"id": [9], "x": [9]}, schema=SCHEMA), path)
    table = world.outside.load_table("default.t")
    for _ in range(2 if twice else 1):
        table.add_files([str(path)], check_duplicate_files=False)


def error_of(world: World, table: str = "c") -> str:
    with pytest.raises(TickFailed) as caught:
        world.tick()
    return str(caught.value.results[table].error)


def start(world: World) -> None:
    world.source("t", SCHEMA, [{"id": 1, "x": 1}])
    world.define(COPY)


def test_imported_files_without_ids_are_read_by_name(world: World) -> None:
    start(world)
    add_file(world, "late.parquet")
    world.tick()
    assert world.rows("c") == world.rows("t") == {(1, 1): 1, (9, 9): 1}


@pytest.mark.parametrize("name", ["_late.parquet", ".late.parquet"])
def test_files_that_spark_passes_over_are_refused(world: World, name: str) -> None:
    start(world)
    add_file(world, name)
    assert "whose name Spark takes for a hidden file and does not read" in error_of(world)


def test_a_file_listed_twice_is_refused(world: World) -> None:
    start(world)
    add_file(world, "late.parquet", twice=True)
    assert "lists the data file" in error_of(world)


def test_a_column_dropped_and_added_again_over_files_without_ids_is_refused(world: World) -> None:
    start(world)
    add_file(world, "late.parquet")
    with world.outside.load_table("default.t").update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("x")
    with world.outside.load_table("default.t").update_schema() as update:
        update.add_column("x", LongType())
    assert "so what these files hold cannot be told for sure" in error_of(world)


def test_an_initial_default_is_refused(world: World) -> None:
    start(world)
    with world.outside.load_table("default.t").update_schema() as update:
        update.add_column("n", LongType(), default_value=5)
    assert "column n has an initial default (5) for older rows" in error_of(world)


def test_a_table_that_loses_its_last_list_stays_readable_for_others(world: World) -> None:
    world.source("t", SCHEMA, [{"id": 1, "x": 5}])
    world.define({"c": "SELECT id, array(id) AS arr, CAST(x AS INT) AS x FROM t", "d": "SELECT id, x FROM c"})
    world.tick()
    world.define({"c": "SELECT id, CAST(NULL AS DOUBLE) AS x FROM t", "d": "SELECT id, x FROM c"})
    world.tick()
    assert world.rows("c") == world.rows("d") == {(1, None): 1}


def test_a_dropped_table_takes_no_other_table_with_it(world: World) -> None:
    from airflow_trickle.engine.steer import drop
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.lakehouse.state import read_status

    start(world)
    world.tick()
    world.outside.rename_table("default.c", "default.backup")
    world.tick()
    with open_lakehouse("trickle") as lake:
        drop(lake, read_status(lake)["default.c"])
    assert world.rows("backup") == {(1, 1): 1}
    assert not world.outside.table_exists("default.c")
    assert [
        path.name for path in Path(world.folder / "warehouse/default").iterdir() if path.name.startswith("c-")
    ] != []


def test_two_pipelines_do_not_fight_over_one_table(world: World) -> None:
    from airflow_trickle import Pipeline

    start(world)
    world.tick()
    other = world.folder / "elsewhere" / "q.yaml"
    other.parent.mkdir()
    other.write_text(world.yaml.read_text().replace("pipeline: p", "pipeline: q").replace("*", "id"))
    for _ in range(2):
        with pytest.raises(TickFailed) as caught:
            Pipeline.load(other).tick()
        assert str(caught.value.results["c"].error) == (
            f"{other}:5:3: stream table 'c' (default.c) belongs to pipeline 'p', and pipeline 'q' defines it too. Give "
            f"one of them another name or namespace. If the table was moved here: trickle reset c"
        )


def test_an_expired_history_is_recorded_as_the_reason(world: World) -> None:
    start(world)
    world.tick()
    first = world.outside.load_table("default.t").metadata.current_snapshot_id
    world.append("t", {"id": 2, "x": 2})
    world.outside.load_table("default.t").maintenance.expire_snapshots().by_id(first).commit()
    assert world.tick()["c"].reason.startswith("the history of t was expired or replaced")
    assert world.rows("c") == {(1, 1): 1, (2, 2): 1}


def test_a_broken_source_fails_one_table_only(world: World) -> None:
    world.source("t", SCHEMA, [{"id": 1, "x": 1}])
    world.source("u", SCHEMA, [{"id": 1, "x": 1}])
    world.define({"c": "SELECT * FROM t", "other": "SELECT * FROM u"})
    for path in (world.folder / "warehouse/default/t/metadata").glob("*.avro"):
        path.unlink()
    assert error_of(world).startswith(
        "Stream table 'c' was not refreshed: a file of the warehouse cannot be read or written (FileNotFoundError: "
    )
    assert world.rows("other") == {(1, 1): 1}


def test_a_tick_that_looked_earlier_never_comes_out_as_the_later_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One tick stalls while it pins; another starts meanwhile and must wait for it."""
    import threading
    import time

    from airflow_trickle import Pipeline
    from airflow_trickle.engine import pin as pinning
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    start(world)
    world.tick()
    step = Pipeline.load(world.yaml).plan.pin
    real, stalled = pinning.current_version, threading.Event()
    world.append("t", {"id": 2, "x": 2})

    def slow(table):
        version = real(table)
        if not stalled.is_set():
            stalled.set()
            time.sleep(1)
        return version

    monkeypatch.setattr(pinning, "current_version", slow)
    ticks = {}

    def go(name: str) -> None:
        with open_lakehouse("trickle") as lake:
            ticks[name] = pinning.pin(lake, step, name)

    first = threading.Thread(target=go, args=("first",))
    first.start()
    stalled.wait(10)
    world.append("t", {"id": 3, "x": 3})
    go("second")
    first.join()
    assert ticks["first"].pins != ticks["second"].pins
    assert ticks["first"].effective_at < ticks["second"].effective_at


def test_a_source_with_merge_on_read_deletes_is_followed(world: World) -> None:
    world.source("t", SCHEMA, [{"id": 1, "x": 1}, {"id": 2, "x": 2}, {"id": 2, "x": 2}, {"id": None, "x": 3}])
    world.define({"c": "SELECT id, count(*) AS n FROM t GROUP BY id"})
    assert world.tick()["c"].rows_in == 4
    table = world.outside.load_table("default.t")
    (path,) = files_of(table, table.metadata.current_snapshot_id)
    table = commit_files(table, deletes=[position_deletes(table, [(path, 1)])])
    result = world.tick()["c"]
    # Metadata does not tell how many rows are left, so nothing is said.
    assert (result.rows_in, result.rows_inserted, result.rows_deleted) == (None, 1, 1)
    assert world.rows("c") == {(1, 1): 1, (2, 1): 1, (None, 1): 1}
    commit_files(table, deletes=[equality_deletes(table, [1], [{"id": None}, {"id": 1}])])
    world.append("t", {"id": 1, "x": 1})
    world.tick()
    assert world.rows("c") == {(1, 1): 1, (2, 1): 1}


def test_deletes_from_imported_files_without_ids_are_read_by_name(world: World) -> None:
    start(world)
    world.append("t", {"id": 2, "x": 2}, {"id": 3, "x": 3})
    add_file(world, "late.parquet")
    table = world.outside.load_table("default.t")
    (late,) = (path for path in files_of(table, table.metadata.current_snapshot_id) if "late" in path)
    deletes = [position_deletes(table, [(late, 0)]), equality_deletes(table, [1, 2], [{"id": 2, "x": 2}])]
    commit_files(table, deletes=deletes)
    world.tick()
    assert world.rows("c") == {(1, 1): 1, (3, 3): 1}


def test_a_stream_table_that_lost_rows_to_another_writer_is_made_right_after_a_reset(world: World) -> None:
    from airflow_trickle.engine.steer import reset
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.lakehouse.state import read_status

    world.source("t", SCHEMA, [{"id": n, "x": n} for n in range(6)])
    world.define(COPY)
    world.tick()
    table = world.outside.load_table("default.c")
    (path,) = files_of(table, table.metadata.current_snapshot_id)
    commit_files(table, deletes=[position_deletes(table, [(path, 0), (path, 5)])])
    assert "was changed by another writer" in error_of(world)
    with open_lakehouse("trickle") as lake:
        reset(lake, read_status(lake)["default.c"])
    world.append("t", {"id": 9, "x": 9})
    world.delete("t", "id = 3")
    result = world.tick()["c"]
    assert (result.rows_inserted, result.rows_deleted) == (3, 1)
    assert world.rows("c") == world.rows("t")
    # The rewritten file took its deletes along.
    table = world.outside.load_table("default.c")
    assert all(not file.deletes for file in files_of(table, table.metadata.current_snapshot_id).values())
