"""Orphan files: what nobody names goes when it is old, and nothing else."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.files import found_in, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.maintenance.orphans import find_orphans
from airflow_trickle.lakehouse.state import write_status
from tests.lakehouse.maintenance.world import maintained_table, publish, rows_at, table_of

NAME = "default.t"
OLD = 4 * 86_400


@pytest.fixture
def lake(tmp_path: Path) -> Lakehouse:
    return open_lakehouse("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")


def place(lake: Lakehouse, name: str, age: float = OLD) -> Path:
    """A file in the folder of the table, of an age."""
    path = Path(spark_path(table_of(lake, NAME).metadata.location), name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * 100)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_old_files_that_nobody_names_go_and_young_ones_stay(lake: Lakehouse) -> None:
    publish(lake, NAME, [1])
    gone = [place(lake, "data/dead/part-0.parquet"), place(lake, "metadata/00000-x.avro")]
    stays = [place(lake, "data/slow/part-0.parquet", 3600), place(lake, "README.md"), place(lake, "other/file.parquet")]
    found = maintained_table(lake, NAME)
    assert (found.orphans_removed, found.orphan_bytes) == (2, 200)
    assert not any(path.exists() for path in gone)
    assert not gone[0].parent.exists()
    assert all(path.exists() for path in stays)


def test_every_file_of_every_snapshot_is_named(lake: Lakehouse) -> None:
    for number in range(5):
        publish(lake, NAME, [number, number + 100], without=(number + 99,))
    table = table_of(lake, NAME)
    for one in found_in(table.io, table.metadata.location):
        os.utime(spark_path(one.location), (time.time() - OLD, time.time() - OLD))
    orphans = find_orphans(lake, NAME, lambda: lake.table(NAME), older_than=86_400, now=time.time())
    assert orphans.files == {}
    for snapshot in table.metadata.snapshots:
        rows_at(lake, NAME, snapshot.snapshot_id)


def test_kept_state_and_staged_files_are_named(lake: Lakehouse) -> None:
    publish(lake, NAME, [1])
    root = table_of(lake, NAME).metadata.location
    kept = [place(lake, f"data/{n}-kept/lines.parquet") for n in range(3)]
    members = {"m": {"files": [f"{root}/data/1-kept/lines.parquet"], "gone": [f"{root}/data/2-kept/lines.parquet"]}}
    said = {"files": [f"{root}/data/0-kept/lines.parquet"], "members": members}
    with lake.database.transaction() as connection:
        write_status(lake, connection, NAME, kept=json.dumps(said))
    record = stagings.begin(
        lake,
        lease=Lease(NAME, "x"),
        table_location=root,
        pipeline="p",
        tick_id="p/1",
        spark="session",
        new_table=False,
    )
    staged = place(lake, f"data/{record.staging_id}/part-0.parquet")
    orphan = place(lake, "data/orphan/part-0.parquet")
    orphans = find_orphans(lake, NAME, lambda: lake.table(NAME), older_than=86_400, now=time.time())
    assert [spark_path(path) for path in orphans.files] == [str(orphan)]
    assert all(path.exists() for path in (*kept, staged))


def test_what_was_published_while_the_folder_was_listed_is_named(lake: Lakehouse) -> None:
    publish(lake, NAME, [1])
    looks = []

    def look() -> object:
        looks.append(1)
        if len(looks) == 2:
            publish(lake, NAME, [2])
            table = table_of(lake, NAME)
            for one in found_in(table.io, table.metadata.location):
                os.utime(spark_path(one.location), (time.time() - OLD, time.time() - OLD))
        return lake.table(NAME)

    orphans = find_orphans(lake, NAME, look, older_than=86_400, now=time.time())  # type: ignore[arg-type]
    assert orphans.files == {}


def test_empty_folders_of_long_ago_go(lake: Lakehouse) -> None:
    publish(lake, NAME, [1])
    empty = place(lake, "data/kept-before/x").parent
    (empty / "x").unlink()
    os.utime(empty, (time.time() - OLD, time.time() - OLD))
    maintained_table(lake, NAME)
    assert not empty.exists()
