"""Text of a source is read under one set of settings: other ones read it anew, and say so."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.errors import TrickleError
from tests.engine.capture.folders import Lake


def use(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Let captures use a Spark connection with a time zone."""
    conf = {"spark.sql.session.timeZone": zone}
    connection = {"conn_type": "spark_connect", "host": "embedded", "extra": {"conf": conf}}
    monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", json.dumps(connection))


def define(lake: Lake, capture: str) -> None:
    folder = lake.data / "s"
    folder.mkdir(parents=True)
    (folder / "one.csv").write_text("1,2026-01-01 09:00:00\n")
    options = f"path: {folder}\nformat: csv\nschema: id BIGINT, at TIMESTAMP\n{capture}"
    lake.define_captured({"s": options}, {"copy": "SELECT * FROM s"})


def at(hour: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, hour, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize("method", ["files", "snapshot"])
def test_text_is_read_anew_in_another_time_zone(lake: Lake, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    define(lake, f"capture: {method}")
    Pipeline.load(lake.yaml).tick()
    assert lake.rows("s") == {(1, at(9)): 1}
    use(monkeypatch, "Asia/Tokyo")
    (lake.data / "s" / "two.csv").write_text("2,2026-01-01 10:00:00\n")

    result = Pipeline.load(lake.yaml).tick()["s"]

    assert result.mode is Mode.FULL
    assert "spark.sql.session.timeZone was UTC, is Asia/Tokyo" in result.reason
    assert lake.rows("s") == {(1, at(0)): 1, (2, at(1)): 1}, "no row of the first reading stays"
    assert Pipeline.load(lake.yaml).tick()["s"].mode is Mode.NO_DATA


def test_an_append_only_source_in_another_time_zone_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    define(lake, "capture: append_only\nwatermark: id")
    Pipeline.load(lake.yaml).tick()
    use(monkeypatch, "Asia/Tokyo")
    with pytest.raises(TrickleError, match="timeZone was UTC, is Asia/Tokyo") as caught:
        Pipeline.load(lake.yaml).tick()
    assert "trickle reset s" in str(caught.value)
    assert lake.rows("s") == {(1, at(9)): 1}
