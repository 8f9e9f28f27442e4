"""Sources that are compared row by row, and sources that only grow."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from airflow_trickle import Mode, TickFailed, TrickleError
from airflow_trickle.cli import app
from tests import budgets
from tests.engine.capture.folders import Folder, Lake

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def test_snapshots_are_compared_as_bags(lake: Lake) -> None:
    """The format text is one that airflow-trickle knows nothing of."""
    file = lake.data / "lines.txt"
    lake.define_captured(
        {"s": f"path: {file}\nformat: text"},
        {"copy": "SELECT value FROM s", "n": "SELECT COUNT(*) AS n FROM s"},
        copy={"refresh_mode": "DIFFERENTIAL"},
    )
    chance = budgets.chance(3)
    for turn in range(3):
        lines = [chance.choice(["a", "b", "c"]) for _ in range(chance.randint(1, 8))]
        file.write_text("\n".join(lines) + "\n")
        results = lake.tick()
        assert results["s"].mode is Mode.FULL
        assert results["s"].reason == ("compared row by row" if turn else "first capture")
        assert lake.rows("s") == lake.rows("copy") == {(line,): lines.count(line) for line in set(lines)}
    before = lake.snapshots("s")
    file.write_text("\n".join(reversed(lines)) + "\n")
    results = lake.tick()
    assert (results["s"].mode, results["s"].changed, results["copy"].mode) == (Mode.FULL, False, Mode.NO_DATA)
    assert lake.snapshots("s") == before


def test_a_database_by_jdbc_is_read_as_a_snapshot_without_showing_its_password(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No driver is there: that is told, and the password is not."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2-geheim")
    options = "options:\n  url: jdbc:nothing://db/shop?password=${SHOP_PASSWORD}\n  dbtable: prices\n"
    lake.define_captured({"s": f"format: jdbc\n{options}  password: ${{SHOP_PASSWORD}}"}, {"copy": "SELECT * FROM s"})
    with pytest.raises(TickFailed) as error:
        lake.tick()
    message = str(error.value)
    assert "p.yaml:4:3: source 's' was not captured: Spark cannot read it: " in message
    assert "hunter2" not in message
    assert "hunter2" not in json.dumps({name: r.model_dump(mode="json") for name, r in error.value.results.items()})
    assert b"hunter2" not in (lake.folder / "catalog.db").read_bytes()
    assert error.value.results["copy"].reason == "its input s failed in this tick"
    monkeypatch.delenv("SHOP_PASSWORD")
    with pytest.raises(TickFailed, match="refer to the environment variable SHOP_PASSWORD, which is not set here"):
        lake.tick()


def test_files_of_a_snapshot_source_tell_when_nothing_changed(lake: Lake) -> None:
    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.parquet", [{"id": 1, "name": None}] * 2)
    lake.define_captured({"s": f"path: {folder.path}\nformat: parquet\ncapture: snapshot"}, {"copy": "SELECT * FROM s"})
    lake.capture()
    assert lake.capture().mode is Mode.NO_DATA
    folder.put("b.parquet", [{"id": 1, "name": None}, {"id": 2, "name": "x"}])
    folder.put("a.parquet", [{"id": 1, "name": None}])
    result = lake.capture()
    assert (result.rows_inserted, result.rows_deleted) == (1, 0)
    assert lake.rows("s") == folder.rows


@pytest.mark.parametrize(
    ("kind", "moments"),
    [
        (
            "TIMESTAMP",
            ["2026-01-01 00:00:00", "2026-01-01 00:00:00.000001", "2026-03-29 01:30:00", "2026-10-25 01:30:00"],
        ),
        ("DATE", ["0001-01-01", "2026-01-01", "2026-01-02"]),
        ("DECIMAL(20,3)", ["-1.500", "0.001", "12345678901234567.890"]),
        ("STRING", ["10", "9", "ä"]),
    ],
)
def test_append_only_takes_every_row_once(lake: Lake, kind: str, moments: list[str]) -> None:
    folder = Folder(lake.data / "s", "json", pa.schema([("id", pa.int64()), ("at", pa.string())]))
    source = (
        f"path: {folder.path}\nformat: json\nschema: id BIGINT, at {kind}\ncapture: append_only\nwatermark: AT\n"
        "options: {timestampFormat: 'yyyy-MM-dd HH:mm:ss[.SSSSSS]'}"
    )
    lake.define_captured({"s": source}, {"copy": "SELECT id FROM s"}, copy={"refresh_mode": "DIFFERENTIAL"})
    rows: list[dict[str, Any]] = []
    for turn, moment in enumerate(moments):
        # Some of the last moment come only now, some of them equal to rows that are there.
        rows += [{"id": turn, "at": moments[max(turn - 1, 0)]}, {"id": turn, "at": moment}, {"id": turn, "at": moment}]
        folder.put("all.json", rows)
        result = lake.capture()
        assert (result.mode, result.rows_inserted) == (Mode.DIFFERENTIAL if turn else Mode.FULL, 3)
        ids = Counter(id for id, _ in lake.rows("s").elements())
        assert ids == {id: 3 for id in range(turn + 1)}
    folder.put("late.json", [{"id": 99, "at": moments[0]}])
    assert lake.capture().changed is False
    folder.put("bad.json", [{"id": 100, "at": None}])
    message = (
        f"{lake.yaml}:4:3: source 's' was not captured: there are rows whose at is NULL, so it cannot be told which "
        "rows are new. Fill the column, take another one as `watermark`, or set capture: snapshot. "
        "Nothing was published."
    )
    with pytest.raises(TrickleError) as error:
        lake.capture()
    assert str(error.value) == message
    folder.remove("bad.json")
    folder.put("all.json", rows[:-1])
    with pytest.raises(TrickleError, match="which were captured before, are not in the source any more"):
        lake.capture()
    assert len(lake.mirror("s").scan().to_arrow()) == len(rows)


def test_a_reset_compares_everything(lake: Lake) -> None:
    from airflow_trickle.engine.steer import reset
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.lakehouse.state import read_status

    folder = Folder(lake.data / "s", "parquet", SCHEMA)
    folder.put("a.parquet", [{"id": 1, "name": "x"}])
    lake.define_captured({"s": f"path: {folder.path}\nformat: parquet"}, {"copy": "SELECT * FROM s"})
    lake.tick()
    lake.sources = {"s": SCHEMA}
    lake.append("s", {"id": 7, "name": "foreign"})
    with pytest.raises(TickFailed) as error:
        lake.tick()
    assert "its mirror default.s was changed by another writer" in str(error.value)
    assert "trickle reset s" in str(error.value)
    with open_lakehouse("trickle") as opened:
        reset(opened, read_status(opened)["default.s"])
    results = lake.tick()
    assert (results["s"].mode, results["s"].reason) == (Mode.FULL, "it was reset")
    assert told("status", "s")[0]["mode"] == "CAPTURE"
    assert [(row["action"], row["reason"]) for row in told("history", "s")] == [
        ("CAPTURE", "it was reset"),
        ("FAILED", "failed"),
        ("INITIALIZE", "first capture"),
    ]
    assert lake.rows("s") == lake.rows("copy") == folder.rows
    time.sleep(0.01)
    assert lake.tick()["s"].mode is Mode.NO_DATA


def told(*words: str) -> Any:
    """What the command prints, as JSON."""
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_append_only_keeps_rows_that_the_source_dropped_when_its_record_is_lost(lake: Lake) -> None:
    folder = Folder(lake.data / "s", "json", pa.schema([("id", pa.int64()), ("at", pa.int64())]))
    source = f"path: {folder.path}\nformat: json\nschema: id BIGINT, at BIGINT\ncapture: append_only\nwatermark: at"
    lake.define_captured({"s": source}, {"copy": "SELECT id FROM s"})
    folder.put("a.json", [{"id": 1, "at": 1}])
    folder.put("b.json", [{"id": 2, "at": 2}])
    lake.capture()
    for record in Path(lake.folder, "warehouse").rglob("*-capture.json.zlib"):
        record.unlink()
    folder.remove("a.json")  # the source keeps its last days only
    folder.put("c.json", [{"id": 3, "at": 3}])
    result = lake.capture()
    assert (result.rows_inserted, result.rows_deleted) == (1, 0)
    assert sorted(id for id, _ in lake.rows("s").elements()) == [1, 2, 3]
