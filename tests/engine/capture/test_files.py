"""Folders of files: after every tick the mirror holds the rows of the files, whatever happened to them."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.spark import session as sessions
from tests import budgets
from tests.engine.capture.folders import Folder, Lake
from tests.outside_readers import duckdb_rows

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("amount", pa.float64())])
DDL = "id BIGINT, name STRING, amount DOUBLE"
NAMES = ["a.x", "b c.x", "d%20e.x", "sub/f+g.x", "ü[1].x", "sub/deeper/h'i.x"]
QUERIES = {
    "total": "SELECT name, COUNT(*) AS n, SUM(amount) AS amount FROM s GROUP BY name",
    "copy": "SELECT * FROM s",
}
DIFFERENTIAL = {name: {"refresh_mode": "DIFFERENTIAL"} for name in QUERIES}


def some_rows(chance: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "id": chance.choice([1, 2, 3, None]),
            "name": chance.choice(["x", "y, z", 'q"', "é", None]),
            "amount": chance.choice([0.5, 1.25, None]),
        }
        for _ in range(chance.randint(0, 5))
    ]


def options_of(kind: str, folder: Folder) -> str:
    more = {"csv": f"schema: {DDL}\noptions: {{header: true, escape: '\"'}}", "json": f"schema: {DDL}"}.get(kind, "")
    return f"path: {folder.path}\nformat: {kind}\n{more}"


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "orc"])
def test_files_come_go_and_change(lake: Lake, kind: str) -> None:
    chance = budgets.chance(kind)
    folder = Folder(lake.data / "s", kind, SCHEMA)
    folder.put("first.x", [{"id": 1, "name": "x", "amount": 0.5}] * 2)
    lake.define_captured({"s": options_of(kind, folder)}, {"copy": "SELECT * FROM s"})
    result = lake.capture()
    assert (result.mode, result.reason, result.rows_inserted) == (Mode.FULL, "first capture", 2)
    for _ in range(4):
        change(folder, chance)
        assert lake.capture().mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        assert lake.rows("s") == folder.rows
    for name in list(folder.books):
        folder.remove(name)
    assert lake.capture().mode is Mode.DIFFERENTIAL
    assert lake.rows("s") == {}


def change(folder: Folder, chance: random.Random) -> None:
    for _ in range(chance.randint(1, 4)):
        name = chance.choice(NAMES)
        if name in folder.books and chance.random() < 0.4:
            folder.remove(name)
        else:
            folder.put(name, some_rows(chance))


def test_tables_over_a_folder_are_refreshed_from_changes(lake: Lake) -> None:
    chance = budgets.chance(1)
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("first.x", [{"id": 1, "name": "x", "amount": 0.5}] * 2)
    lake.define_captured({"s": options_of("parquet", folder)}, QUERIES, **DIFFERENTIAL)
    lake.tick()
    lake.sources = {"s": SCHEMA}
    for _ in range(3):
        change(folder, chance)
        results = lake.tick()
        assert {result.mode for result in results.values()} <= {Mode.DIFFERENTIAL, Mode.NO_DATA}
        assert lake.rows("s") == lake.rows("copy") == folder.rows
        assert lake.rows("total") == lake.judge(QUERIES["total"])


def test_nothing_new_starts_no_spark_and_publishes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.x", [{"id": 1}])
    folder.put("b.x", [{"id": 2}])
    lake.define_captured({"s": options_of("parquet", folder)}, {"copy": "SELECT * FROM s"})
    lake.tick()
    (folder.path / "_SUCCESS").touch()
    (folder.path / ".hidden.x").write_text("no data")
    (folder.path / "_unfinished").mkdir()
    (folder.path / "_unfinished" / "c.x").write_text("no data")
    before = lake.mirror("s").metadata_location
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "connect", lambda *_args, **_options: pytest.fail("Spark was used"))
        results = Pipeline.load(lake.yaml).tick()
        assert {name: (result.mode, result.reason) for name, result in results.items()} == {
            "s": (Mode.NO_DATA, "no file changed"),
            "copy": (Mode.NO_DATA, "no input changed"),
        }
        assert lake.mirror("s").metadata_location == before
        # To take away the rows of a file, nothing has to be read; the table that reads them is another matter.
        folder.remove("a.x")
        with pytest.raises(pytest.fail.Exception, match="Spark was used"):
            Pipeline.load(lake.yaml).tick()
        assert lake.rows("s") == folder.rows
    results = lake.tick()
    assert results["s"].mode is Mode.NO_DATA
    assert lake.rows("copy") == folder.rows


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_empty_folder_with_a_schema_is_an_empty_table(lake: Lake, kind: str) -> None:
    folder = Folder(lake.data / "s", kind, SCHEMA)
    more = "\noptions: {header: true}" if kind == "csv" else ""
    source = f"path: {folder.path}\nformat: {kind}\nschema: {DDL}{more}"
    lake.define_captured({"s": source}, {"copy": "SELECT * FROM s"})
    lake.tick()
    assert lake.rows("s") == lake.rows("copy") == {}
    assert lake.capture().mode is Mode.NO_DATA
    folder.put("nothing.x", [])
    folder.put("a.x", [{"id": 1, "name": "x", "amount": None}])
    result = lake.capture()
    assert (result.mode, result.reason, result.rows_inserted) == (Mode.DIFFERENTIAL, "2 files new", 1)
    assert lake.rows("s") == folder.rows
    assert lake.capture().mode is Mode.NO_DATA


def test_nested_columns(lake: Lake) -> None:
    inner = pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))])
    schema = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string())), ("s", inner), ("at", pa.timestamp("us"))])
    folder = Folder(lake.data / "s", "parquet", schema)
    row = {"id": 1, "tags": ["x", None], "s": {"a": 1, "b": ["y"]}, "at": dt.datetime(2026, 1, 1, 1, 2, 3, 4)}
    folder.put("a.x", [row, row, {"id": 2, "tags": None, "s": {"a": None, "b": None}, "at": None}])
    lake.define_captured({"s": options_of("parquet", folder)}, {"copy": "SELECT * FROM s"})
    lake.capture()
    assert lake.rows("s") == folder.rows
    folder.put("b.x", [row, {"id": 3, "tags": [], "s": None, "at": None}])
    folder.put("a.x", [row])
    results = lake.tick()
    assert results["s"].mode is Mode.DIFFERENTIAL
    assert lake.rows("s") == lake.rows("copy") == folder.rows


def test_columns_in_the_names_of_folders(lake: Lake) -> None:
    folder = Folder(lake.data / "s", "parquet", pa.schema([("id", pa.int64())]))
    for place in ("day=2026-01-01/hour=07", "day=2026-01-02/hour=__HIVE_DEFAULT_PARTITION__", "day=a%20b%2Fc/hour=x"):
        folder.put(f"{place}/part.parquet", [{"id": 1}, {"id": None}])
    lake.define_captured({"s": options_of("parquet", folder)}, {"copy": "SELECT * FROM s"})
    lake.capture()
    assert lake.rows("s") == {
        (1, "2026-01-01", "07"): 1,
        (None, "2026-01-01", "07"): 1,
        (1, "2026-01-02", None): 1,
        (None, "2026-01-02", None): 1,
        (1, "a b/c", "x"): 1,
        (None, "a b/c", "x"): 1,
    }
    folder.remove("day=a%20b%2Fc/hour=x/part.parquet")
    typed = f"path: {folder.path}\nformat: parquet\nschema: hour INT, id BIGINT, day DATE"
    lake.define_captured({"s": typed}, {"copy": "SELECT * FROM s"})
    result = lake.capture()
    assert (result.mode, result.reason) == (Mode.FULL, "its definition changed")
    assert lake.rows("s") == {
        (7, 1, dt.date(2026, 1, 1)): 1,
        (7, None, dt.date(2026, 1, 1)): 1,
        (None, 1, dt.date(2026, 1, 2)): 1,
        (None, None, dt.date(2026, 1, 2)): 1,
    }


def test_other_readers_of_iceberg_see_the_same_rows(lake: Lake) -> None:
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.x", [{"id": 1, "name": "x", "amount": 2.0}])
    folder.put("b.x", [{"id": 2, "name": None, "amount": None}] * 3)
    lake.define_captured({"s": options_of("parquet", folder)}, {"copy": "SELECT * FROM s"})
    lake.capture()
    assert Counter(duckdb_rows(lake.mirror("s").metadata_location)) == folder.rows


def test_a_past_moment_reads_the_history_of_the_mirror_and_captures_nothing(lake: Lake) -> None:
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.x", [{"id": 1}])
    lake.define_captured({"s": options_of("parquet", folder)}, {"copy": "SELECT id FROM s"})
    lake.tick()
    time.sleep(0.01)
    then = dt.datetime.now(dt.timezone.utc)
    time.sleep(0.01)
    folder.put("b.x", [{"id": 2}])
    lake.tick()
    folder.put("c.x", [{"id": 3}])
    lake.define_captured({"s": options_of("parquet", folder)}, {"then": "SELECT id FROM s"})
    results = lake.tick(as_of=then)
    assert set(results) == {"then"}
    assert lake.rows("then") == {(1,): 1}
    assert lake.rows("s") == {(1, None, None): 1, (2, None, None): 1}
