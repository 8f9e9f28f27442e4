"""What is refused, in whole messages; the mirror stays as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_trickle import Mode, TickFailed, TrickleError
from airflow_trickle.engine.capture import by_files
from tests.engine.capture.folders import Folder, Lake

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


@pytest.fixture
def folder(lake: Lake) -> Folder:
    made = Folder(lake.data / "s", "parquet", SCHEMA)
    made.put("a.parquet", [{"id": 1, "name": "x"}])
    lake.define_captured(
        {"s": f"path: {made.path}\nformat: parquet"}, {"copy": "SELECT * FROM s", "one": "SELECT 1 AS n"}
    )
    return made


def refusal(lake: Lake) -> str:
    with pytest.raises(TrickleError) as error:
        lake.capture()
    message = str(error.value)
    begin, end = f"{lake.yaml}:4:3: source 's' was not captured: ", " Nothing was published."
    assert message.startswith(begin), message
    assert message.endswith(end), message
    return message.removeprefix(begin).removesuffix(end)


def test_what_does_not_read_the_source_goes_on(lake: Lake, folder: Folder) -> None:
    shutil.move(folder.path, lake.data / "away")
    for _ in range(2):
        with pytest.raises(TickFailed) as error:
            lake.tick()
        results = error.value.results
        assert results["s"].error is not None
        assert (results["copy"].mode, results["copy"].reason) == (Mode.SKIPPED, "its input s failed in this tick")
        assert results["one"].error is None
        assert lake.rows("one") == {(1,): 1}


def test_folders(lake: Lake, folder: Folder) -> None:
    shutil.move(folder.path, lake.data / "away")
    assert refusal(lake) == (
        f"there is no folder {folder.path}. If it should be there, check that its disk is mounted; if it moved, "
        "correct the path. What was captured before stays as it is."
    )
    folder.path.mkdir()
    assert refusal(lake) == (
        f"the folder {folder.path} has no files yet, so its columns are not known. Give them as `schema`, such as "
        "schema: id BIGINT, name STRING, or run again when there is a file."
    )
    folder.path.rmdir()
    shutil.move(lake.data / "away", folder.path)
    lake.capture()
    shutil.move(folder.path, lake.data / "away")
    refusal(lake)
    assert lake.rows("s") == folder.rows
    (folder.path / "day=1").mkdir(parents=True)
    shutil.copy(lake.data / "away" / "a.parquet", folder.path / "day=1" / "a.parquet")
    shutil.copy(lake.data / "away" / "a.parquet", folder.path / "b.parquet")
    assert refusal(lake) == (
        f"the folders of {folder.path}/b.parquet name the columns (), and those of {folder.path}/day=1/a.parquet "
        "(day). All files must lie in folders of the same names, as day=…/hour=…."
    )


def test_files_with_other_columns_or_none(lake: Lake, folder: Folder) -> None:
    lake.capture()
    other = pa.table({"id": pa.array([1], pa.int32()), "extra": [1.5]})
    pq.write_table(other, folder.path / "b.parquet")
    assert refusal(lake) == (
        f"the columns of {folder.path}/b.parquet are not those of the files captured before: it has also extra; lacks "
        "name; id is INT32 None there and INT64 None elsewhere. Say with `schema` which columns to read: those that a "
        "file lacks are then NULL, and others are left out."
    )
    (folder.path / "b.parquet").write_text("PAR1 not really")
    message = refusal(lake)
    assert message.startswith(f"{folder.path}/b.parquet (15 bytes) cannot be read as parquet: ")
    assert message.endswith(
        "If it is still being written, write it under a name that begins with '_' or '.' and rename it at the end; if "
        "it is no data, move it elsewhere."
    )
    pq.write_table(other, folder.path / "b.parquet")
    declared = f"path: {folder.path}\nformat: parquet\nschema: id BIGINT, name STRING, extra DOUBLE"
    lake.define_captured({"s": declared}, {"copy": "SELECT * FROM s"})
    lake.capture()
    assert lake.rows("s") == {(1, "x", None): 1, (1, None, 1.5): 1}


@pytest.mark.parametrize(
    ("kind", "text"),
    [("csv", "id,name\n1,x\n2\n"), ("csv", "id,name\none,x\n"), ("csv", "name,id\nx,1\n"), ("json", '{"id": "one"}\n')],
)
def test_text_that_does_not_fit_its_columns(lake: Lake, kind: str, text: str) -> None:
    path = lake.data / "s"
    path.mkdir()
    (path / "a").write_text(text)
    options = "\noptions: {header: true}" if kind == "csv" else ""
    source = f"path: {path}\nformat: {kind}\nschema: id BIGINT, name STRING{options}"
    lake.define_captured({"s": source}, {"copy": "SELECT * FROM s", "one": "SELECT 1 AS n"})
    assert refusal(lake).startswith("Spark cannot read it: ")


def test_a_schema_that_is_none(lake: Lake, folder: Folder) -> None:
    for text in ("id BIGINT name", "id NOTHING"):
        lake.define_captured(
            {"s": f"path: {folder.path}\nformat: parquet\nschema: {text}"}, {"copy": "SELECT * FROM s"}
        )
        message = refusal(lake)
        assert message.startswith("Spark does not understand its schema: ")
        assert message.endswith("Write it as in CREATE TABLE, such as id BIGINT, name STRING.")


def test_a_folder_whose_name_is_no_value(lake: Lake, folder: Folder) -> None:
    source = f"path: {folder.path}\nformat: parquet\nschema: id BIGINT, day DATE"
    lake.define_captured({"s": source}, {"copy": "SELECT * FROM s"})
    folder.put("day=2026-13-01/a.parquet", [{"id": 1, "name": "x"}])
    folder.remove("a.parquet")
    assert "2026-13-01" in refusal(lake)


def test_a_table_that_is_there_already(lake: Lake, folder: Folder) -> None:
    lake.source("s", SCHEMA)
    with pytest.raises(TrickleError) as error:
        lake.capture()
    assert str(error.value) == (
        f"{lake.yaml}:4:3: source 's' is to be captured into the Iceberg table default.s, but that table exists and "
        "was not made by airflow-trickle; it is left alone. Name another one with `table: namespace.name`, or, if the "
        "source is that Iceberg table, leave out `path` and `format`."
    )


def test_a_stream_table_does_not_take_a_mirror(lake: Lake, folder: Folder) -> None:
    lake.tick()
    lake.define_captured({"other": f"path: {folder.path}\nformat: parquet"}, {"s": "SELECT * FROM other"})
    with pytest.raises(TickFailed, match=r"Table default\.s is the mirror of a captured source; it is left alone"):
        lake.tick()
    assert lake.rows("s") == folder.rows


def test_a_file_that_changes_while_it_is_read(lake: Lake, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.capture()
    real, turns = by_files._write_apart, []

    def meddled(*args: Any) -> None:
        real(*args)
        if len(turns) < 2:
            folder.put("b.parquet", [{"id": len(turns), "name": "changed"}])
        turns.append(1)

    monkeypatch.setattr(by_files, "_write_apart", meddled)
    folder.put("b.parquet", [{"id": 7, "name": "as it was"}])
    result = lake.capture()
    assert len(turns) == 3
    assert (result.mode, lake.rows("s")) == (Mode.DIFFERENTIAL, folder.rows)

    def always(*args: Any) -> None:
        real(*args)
        folder.put("c.parquet", [{"id": 8, "name": "again"}])

    monkeypatch.setattr(by_files, "_write_apart", always)
    folder.put("c.parquet", [{"id": 8, "name": "as it was"}])
    before = lake.rows("s")
    with pytest.raises(TrickleError) as error:
        lake.capture()
    assert str(error.value) == (
        f"{lake.yaml}:4:3: source 's' was not captured: it is being changed: the file {folder.path}/c.parquet was "
        "changed while it was read, at each of 3 attempts. Nothing was published. Write files under a name that begins "
        "with '_' or '.', and rename them when they are complete."
    )
    assert lake.rows("s") == before


def test_a_copied_time_does_not_hide_a_change(lake: Lake, folder: Folder) -> None:
    lake.capture()
    file = folder.path / "a.parquet"
    before = os.stat(file)
    folder.put("a.parquet", [{"id": 2, "name": "y"}])
    assert os.stat(file).st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    lake.capture()
    assert lake.rows("s") == folder.rows


def test_the_record_of_what_was_captured_may_get_lost(lake: Lake, folder: Folder) -> None:
    lake.capture()
    for record in Path(lake.folder, "warehouse").rglob("*-capture.json.zlib"):
        record.unlink()
    folder.put("b.parquet", [{"id": 2, "name": "y"}])
    result = lake.capture()
    assert (result.mode, result.reason) == (Mode.FULL, "the record of what was captured is gone")
    assert lake.rows("s") == folder.rows
