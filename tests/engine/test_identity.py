"""The settings that decide what a query means are part of a table: rows of two meanings are never mixed."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.cli import main
from airflow_trickle.definition.spark_settings import may_decide_meaning
from airflow_trickle.engine.identity import identified
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from airflow_trickle.spark.tuning import SESSION_SETTINGS
from tests.engine.world import World

EVENT = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
DAYS = "SELECT CAST(at AS DATE) AS d, count(*) AS n FROM events GROUP BY 1"


def event(number: int, hour: int) -> dict[str, Any]:
    return {"id": number, "at": dt.datetime(2026, 1, 1, hour, tzinfo=dt.timezone.utc)}


def use(monkeypatch: pytest.MonkeyPatch, **conf: str) -> None:
    """Let ticks use a Spark connection with these settings of the session, as a task of Airflow's would."""
    settings = {key.replace("__", "."): value for key, value in conf.items()}
    connection = {"conn_type": "spark_connect", "host": "embedded", "extra": {"conf": settings}}
    monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", json.dumps(connection))


@pytest.fixture
def days(world: World) -> World:
    world.source("events", EVENT, [event(1, 1), event(2, 20)])
    return world


@pytest.mark.parametrize("mode", ["DIFFERENTIAL", "AUTO", "FULL"])
def test_another_time_zone_is_a_full_refresh_that_says_so(
    days: World, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.define({"days": DAYS}, days={"refresh_mode": mode})
    days.tick()
    days.append("events", event(3, 21))
    use(monkeypatch, spark__sql__session__timeZone="Asia/Tokyo")

    result = days.tick()["days"]

    assert result.mode is Mode.FULL
    assert result.reason.startswith(
        "settings that decide what its query means changed: spark.sql.session.timeZone was UTC, is Asia/Tokyo"
    )
    first, second = dt.date(2026, 1, 1), dt.date(2026, 1, 2)
    assert days.rows("days") == {(first, 1): 1, (second, 2): 1}
    assert days.tick()["days"].mode is Mode.NO_DATA


def test_plan_and_explain_foretell_a_full_refresh_because_of_settings(
    days: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*command: str) -> tuple[str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*command, str(days.yaml)])
        assert not ended.value.code
        said = capsys.readouterr()
        return said.out, said.err

    days.define({"days": DAYS, "events_seen": "SELECT id FROM events"})
    before, _ = told("plan")
    assert told("plan") == (before, "")
    days.tick()
    assert told("plan") == (before, "")
    assert json.loads(told("plan", "--json")[0])["notes"] == []

    use(monkeypatch, spark__sql__session__timeZone="Asia/Tokyo")
    note = (
        "stream table '{}': its next refresh is full, because settings that decide what its query means changed: "
        "spark.sql.session.timeZone was UTC, is Asia/Tokyo."
    )
    assert told("plan") == (before, f"note: {note.format('days')}\nnote: {note.format('events_seen')}\n")
    assert told("explain", "days")[1] == f"note: {note.format('days')}\n"
    assert json.loads(told("explain", "days", "--json")[0])["notes"] == [note.format("days")]

    monkeypatch.delenv("AIRFLOW_CONN_TRICKLE_SPARK")
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://spark.example")
    version = ".".join(pyspark.__version__.split(".")[:2])
    assert told("plan") == (
        before,
        "note: pipeline 'p': this command uses Spark Connect at spark.example:15002 (TRICKLE_SPARK_URL or --spark), "
        "and the tasks of Airflow use Airflow's connection 'trickle_spark'.\n"
        f"note: pipeline 'p': its tables were published on Spark {version}; if Spark Connect at spark.example:15002 is "
        "of another version, they are computed in full. Which it is, is not known before a refresh.\n",
    )


def test_another_time_zone_counts_though_no_input_moved(days: World, monkeypatch: pytest.MonkeyPatch) -> None:
    days.define({"days": DAYS})
    days.tick()
    use(monkeypatch, spark__sql__session__timeZone="Asia/Tokyo")
    assert days.tick()["days"].mode is Mode.FULL
    assert days.rows("days") == {(dt.date(2026, 1, 1), 1): 1, (dt.date(2026, 1, 2), 1): 1}


def test_a_setting_that_is_what_holds_anyway_changes_nothing(days: World, monkeypatch: pytest.MonkeyPatch) -> None:
    days.define({"days": DAYS})
    days.tick()
    use(monkeypatch, spark__sql__session__timeZone="UTC", spark__sql__shuffle__partitions="3")
    assert days.tick()["days"].mode is Mode.NO_DATA


def test_verify_judges_a_table_under_its_own_settings(days: World, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, spark__sql__session__timeZone="Asia/Tokyo")
    days.define({"days": DAYS})
    days.tick()
    monkeypatch.delenv("AIRFLOW_CONN_TRICKLE_SPARK")
    assert str(Pipeline.load(days.yaml).verify()["days"].verdict) == "OK"


def test_verify_leaves_out_what_only_its_own_connection_chooses(days: World, monkeypatch: pytest.MonkeyPatch) -> None:
    days.define({"moments": "SELECT id, CAST('2026-01-01 00:00:00' AS TIMESTAMP) AS t FROM events"})
    days.tick()
    use(monkeypatch, spark__sql__timestampType="TIMESTAMP_NTZ")

    found = Pipeline.load(days.yaml).verify()["moments"]

    assert (str(found.verdict), found.reason) == ("OK", "")


def test_rows_of_another_version_of_spark_are_computed_anew(days: World, monkeypatch: pytest.MonkeyPatch) -> None:
    days.define({"days": DAYS}, days={"refresh_mode": "DIFFERENTIAL"})
    days.tick()
    days.append("events", event(3, 21))
    monkeypatch.setattr(SparkProvider, "version", property(lambda _: "3.5.1"))
    result = days.tick()["days"]
    assert result.mode is Mode.FULL
    assert "spark version was" in result.reason
    assert "is 3.5" in result.reason


def test_a_version_that_only_the_connection_tells_is_looked_at_before_anything_is_computed(
    days: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of somebody else's is asked only where there is work; then it is asked first."""
    original = SparkProvider.version.fget
    assert original is not None
    monkeypatch.setattr(SparkProvider, "version", property(lambda self: original(self) if self.used else None))
    days.define({"days": DAYS}, days={"refresh_mode": "DIFFERENTIAL"})
    assert days.tick()["days"].mode is Mode.FULL
    assert days.tick()["days"].mode is Mode.NO_DATA
    days.append("events", event(3, 21))
    assert days.tick()["days"].mode is Mode.DIFFERENTIAL
    monkeypatch.setattr(SparkProvider, "version", property(lambda self: "9.9.0" if self.used else None))
    assert days.tick()["days"].mode is Mode.NO_DATA, "nothing to compute: nobody is asked"
    days.append("events", event(4, 22))
    result = days.tick()["days"]
    assert (result.mode, "is 9.9" in result.reason) == (Mode.FULL, True)
    with open_lakehouse("trickle") as lake:
        settings = json.loads(read_status(lake)["default.days"].settings or "{}")
    assert settings["spark version"] == "9.9"


def test_a_cycle_under_other_settings_is_computed_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.source("edges", pa.schema([("src", pa.int64()), ("dst", pa.int64())]), [{"src": 1, "dst": 2}])
    reach = "SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.dst"
    world.define({"reach": reach}, pipeline={"allow_circular": "true"})
    world.tick()
    world.append("edges", {"src": 2, "dst": 3})
    use(monkeypatch, spark__sql__session__timeZone="Asia/Tokyo")
    result = world.tick()["reach"]
    assert result.mode is Mode.FULL
    assert "spark.sql.session.timeZone was UTC, is Asia/Tokyo" in result.reason
    assert world.rows("reach") == {(1, 2): 1, (2, 3): 1, (1, 3): 1}


def test_text_in_a_query_is_never_replaced_by_a_setting(world: World) -> None:
    world.source("t", pa.schema([("id", pa.int64()), ("${env:HOME}", pa.int64())]), [{"id": 1, "${env:HOME}": 7}])
    world.define({"s": "SELECT id, '${spark.sql.shuffle.partitions}' AS p, `${env:HOME}` AS h FROM t"})
    world.tick()
    assert world.rows("s") == {(1, "${spark.sql.shuffle.partitions}", 7): 1}


#: Values that would change what a query means, by setting.
FOREIGN = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.parser.escapedStringLiterals": "true",
}


def test_what_a_server_has_set_of_its_own_decides_nothing(
    spark_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session begins with what its server has: here another session stands for the server's settings."""
    from airflow_trickle.spark import channel, session

    told: list[dict[str, str]] = []
    original = channel.Calls.configure

    def with_foreign(self: channel.Calls, settings: dict[str, str], seconds: float) -> None:
        original(self, FOREIGN, seconds)
        original(self, settings, seconds)
        told.append(self.settings("spark.sql.", seconds))

    monkeypatch.setattr(channel.Calls, "configure", with_foreign)
    opened = session.connect(SparkTarget(conf=(("spark.sql.mapKeyDedupPolicy", "LAST_WIN"),)))
    try:
        assert told[0].keys() >= FOREIGN.keys()
        found = {key: value for key, value in opened.conf.getAll.items() if key in FOREIGN}
    finally:
        session.close(opened)
    ours = {key: value for key, value in SESSION_SETTINGS.items() if key in FOREIGN}
    assert found == {**ours, "spark.sql.mapKeyDedupPolicy": "LAST_WIN"}, "what the connection asks for stays"


def test_a_session_of_the_callers_keeps_its_settings_and_lends_none(days: World, spark_home: Path) -> None:
    from airflow_trickle.spark import session

    days.define({"days": DAYS})
    theirs = session.connect(SparkTarget())
    try:
        for key, value in {**FOREIGN, "spark.sql.session.timeZone": "Asia/Tokyo"}.items():
            theirs.conf.set(key, value)
        before = dict(theirs.conf.getAll)
        Pipeline.load(days.yaml).tick(spark=theirs)
        after = dict(theirs.conf.getAll)
    finally:
        session.close(theirs)
    assert days.rows("days") == {(dt.date(2026, 1, 1), 2): 1}, "in UTC"
    meaning = {key: value for key, value in before.items() if may_decide_meaning(key)}
    assert {key: after.get(key) for key in meaning} == meaning


def test_the_parts_of_a_group_are_identified_with_it(world: World) -> None:
    world.source("events", EVENT)
    world.define({"a": DAYS, "b": DAYS, "c": "SELECT a.d FROM a JOIN b ON a.d = b.d"}, diamonds="atomic")
    (group,) = Pipeline.load(world.yaml).plan.refreshes
    assert len(group.parts) == 3
    with open_lakehouse("trickle") as lake:
        found = identified(lake, identified(lake, group, SparkProvider()), SparkProvider())
    parts = [table.definition for part in found.parts for table in part.tables]
    assert sorted(parts) == sorted(table.definition for table in found.tables)
    assert all(definition.count("@") == 1 for definition in parts)
