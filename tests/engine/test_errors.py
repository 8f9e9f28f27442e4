"""What a person reads when something outside the pipeline is wrong: whole messages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_trickle import TickFailed
from airflow_trickle.errors import CatalogUnavailable, SourceMissing
from airflow_trickle.lakehouse.owner import MARKER
from tests.engine.world import World

SCHEMA = pa.schema([("id", pa.int64())])
ROWS = [{"id": 1}, {"id": 2}]


def start(world: World, query: str = "SELECT id FROM t") -> None:
    world.source("t", SCHEMA, ROWS)
    world.define({"s": query})


def error_of(world: World, table: str = "s") -> str:
    with pytest.raises(TickFailed) as caught:
        world.tick()
    error = caught.value.results[table].error
    assert error is not None
    return error


def test_a_source_that_the_catalog_does_not_have(world: World) -> None:
    world.source("orders", SCHEMA)
    world.sources = {"oders": SCHEMA, "missing": SCHEMA}
    world.define({"s": "SELECT * FROM oders, missing"})
    with pytest.raises(SourceMissing) as caught:
        world.tick()
    assert str(caught.value) == (
        f"{world.yaml}:4:3: source 'missing' is the Iceberg table default.missing, which catalog 'trickle' does not "
        f"have. Create the table, or point the source elsewhere with `table: namespace.name`.\n"
        f"{world.yaml}:3:3: source 'oders' is the Iceberg table default.oders, which catalog 'trickle' does not "
        f"have. Did you mean default.orders? Create the table, or point the source elsewhere with "
        f"`table: namespace.name`."
    )


def test_a_catalog_that_cannot_be_reached(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    start(world)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", "postgresql+psycopg2://me:secret@127.0.0.1:1/lake")
    with pytest.raises(CatalogUnavailable) as caught:
        world.tick()
    assert str(caught.value) == (
        "Iceberg catalog 'trickle' at postgresql+psycopg2://me:***@127.0.0.1:1/lake did not answer: connection to "
        'server at "127.0.0.1", port 1 failed: Connection refused. Check that the database is running and that the '
        "address, user and rights are right, then try again."
    )


def test_a_warehouse_that_is_not_writable(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start(world)
    (tmp_path / "a_file").write_text("not a folder")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", f"file://{tmp_path}/a_file/warehouse")
    error = error_of(world)
    assert error.startswith(f"The warehouse cannot be written at file://{tmp_path}/a_file/warehouse/{MARKER}: ")
    assert error.endswith(
        "Not a directory. Check that the folder exists and that this user may write to it, then run the tick again; "
        "nothing was published."
    )
    assert not world.outside.table_exists("default.s")


def test_spark_that_cannot_be_reached(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    start(world)
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")
    error = error_of(world)
    assert error.startswith("Spark Connect at 127.0.0.1:1")
    assert "Traceback" not in error


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for almost nothing."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_disk_that_fills_up_while_writing(world: World, monkeypatch: pytest.MonkeyPatch, small_disk: Path) -> None:
    start(world, "SELECT t.id, uuid() AS u FROM t CROSS JOIN range(0, 500000)")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", f"file://{small_disk}")
    assert error_of(world) == (
        f"The warehouse cannot be written at file://{small_disk}: No space left on device. Free some space, then run "
        f"the tick again; nothing was published."
    )
    assert not world.outside.table_exists("default.s")
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == [MARKER]
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    world.define({"s": "SELECT id FROM t"})
    world.tick()
    assert world.rows("s") == {(1,): 1, (2,): 1}


def test_a_query_that_spark_does_not_accept(world: World) -> None:
    start(world, "SELECT idd FROM t")
    error = error_of(world)
    assert error.startswith(
        f"{world.yaml}:7:14: stream table 's' was not refreshed: Spark does not accept its query: "
        f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `idd` cannot be "
        f"resolved. Did you mean one of the following? [`id`]"
    )
    assert error.endswith("Nothing was published.")


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        (
            "SELECT id, id FROM t",
            "the query has two columns named 'id'. Give one of them another name with AS.",
        ),
        (
            "SELECT NULL AS nothing FROM t",
            "column 'nothing' has type void, which an Iceberg table cannot hold. "
            "Give NULL a type: CAST(NULL AS STRING).",
        ),
        (
            "SELECT id AS __trickle_x FROM t",
            "column '__trickle_x' begins with __trickle_, which is reserved. Give it another name with AS.",
        ),
    ],
)
def test_a_result_that_no_table_can_hold(world: World, query: str, complaint: str) -> None:
    start(world, query)
    assert error_of(world) == f"{world.yaml}:5:3: stream table 's': {complaint}"


def test_a_table_of_somebody_else_is_left_alone(world: World) -> None:
    start(world)
    world.outside.create_table("default.s", schema=SCHEMA).append(pa.Table.from_pylist(ROWS, schema=SCHEMA))
    assert error_of(world) == (
        "Table default.s exists in the catalog and was not made by airflow-trickle; it is left alone. Give the stream "
        "table another name or namespace, or drop that table."
    )


def test_a_stream_table_that_somebody_else_wrote_to_waits_for_a_reset(world: World) -> None:
    from airflow_trickle.engine.steer import reset
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.lakehouse.state import read_status

    start(world)
    world.tick()
    world.sources["s"] = SCHEMA
    world.append("s", {"id": 99})
    del world.sources["s"]
    snapshot = world.outside.load_table("default.s").metadata.current_snapshot_id
    assert error_of(world) == (
        f"Table default.s was changed by another writer (snapshot {snapshot} is not one of ours); it is left alone. "
        f"To recompute it from its inputs and undo those changes: trickle reset s"
    )
    with open_lakehouse("trickle") as lake:
        reset(lake, read_status(lake)["default.s"])
    result = world.tick()["s"]
    assert (result.rows_inserted, result.rows_deleted) == (0, 1)
    assert world.rows("s") == {(1,): 1, (2,): 1}


def test_outside_changes_of_properties_do_not_matter(world: World) -> None:
    start(world)
    world.tick()
    with world.outside.load_table("default.s").transaction() as change:
        change.set_properties(note="mine")
    world.append("t", {"id": 3})
    world.tick()
    assert world.rows("s") == {(1,): 1, (2,): 1, (3,): 1}
    assert world.outside.load_table("default.s").properties["note"] == "mine"


def test_lost_state_is_found_again_in_the_snapshots(world: World) -> None:
    from sqlalchemy import create_engine, text

    start(world)
    world.tick()
    engine = create_engine(world.uri)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM trickle_status"))
        connection.execute(text("DELETE FROM trickle_ticks"))
    engine.dispose()
    assert world.tick()["s"].reason == "no input changed"
    world.append("t", {"id": 3})
    assert world.tick()["s"].rows_inserted == 1
