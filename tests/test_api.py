"""The Python API as notebooks and tests use it: `Pipeline.load` and `tick`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import airflow_trickle
from airflow_trickle import Mode, Pipeline, Status, TableResult, TickFailed, TrickleError
from airflow_trickle.errors import DefinitionError, NonConvergence
from airflow_trickle.results import Iteration
from tests.engine.world import World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("id", pa.int64()), ("price", pa.int64())])
ROWS = [{"id": 1, "price": 10}, {"id": 2, "price": 20}]
TABLES = {"cheap": "SELECT id FROM t WHERE price < 15", "counted": "SELECT COUNT(*) AS n FROM cheap"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> World:
    made = World(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", made.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", made.warehouse)
    made.source("t", SCHEMA, ROWS)
    made.define(TABLES)
    return made


def write(folder: Path, **pipelines: str) -> Path:
    for name, query in pipelines.items():
        text = f"pipeline: {name}\nstream_tables:\n  of_{name}: {{query: '{query}'}}\n"
        (folder / f"{name}.yaml").write_text(text)
    return folder


# --- loading ----------------------------------------------------------------------------------------


def test_a_file(tmp_path: Path) -> None:
    pipeline = Pipeline.load(str(write(tmp_path, a="SELECT 1 AS x") / "a.yaml"))
    assert (pipeline.name, pipeline.tables) == ("a", ("of_a",))


def test_one_pipeline_of_a_folder(tmp_path: Path) -> None:
    folder = write(tmp_path, a="SELECT 1 AS x", b="SELECT 2 AS x", broken="SELECT FROM")
    assert Pipeline.load(folder, "b").tables == ("of_b",)


def test_a_folder_of_one(tmp_path: Path) -> None:
    assert Pipeline.load(write(tmp_path, a="SELECT 1 AS x")).name == "a"


def test_which_of_several_must_be_said(tmp_path: Path) -> None:
    folder = write(tmp_path, a="SELECT 1 AS x", b="SELECT 2 AS x")
    with pytest.raises(DefinitionError, match=r"2 pipelines here \(found: a, b\)\. Name one of them\."):
        Pipeline.load(folder)
    with pytest.raises(DefinitionError, match=r"no pipeline 'c' here \(found: a, b\)\. Name one of them\."):
        Pipeline.load(folder, "c")


def test_every_problem_of_a_wrong_file(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("pipeline: p\nowners: me\nstream_tables:\n  a: {query: SELECT * FROM nowhere}\n")
    with pytest.raises(DefinitionError) as caught:
        Pipeline.load(file)
    assert [(problem.at.line, problem.at.column) for problem in caught.value.problems] == [(2, 1), (4, 28)]
    assert isinstance(caught.value, TrickleError)


def test_what_the_package_offers() -> None:
    assert sorted(airflow_trickle.__all__) == [
        "Mode",
        "Pipeline",
        "RestatedTable",
        "Rewind",
        "Status",
        "TableResult",
        "TickFailed",
        "TrickleError",
        "Verdict",
        "Verification",
        "__version__",
    ]
    for name in airflow_trickle.__all__:
        assert getattr(airflow_trickle, name) is not None
    with pytest.raises(AttributeError, match="module 'airflow_trickle' has no attribute 'Pipelines'"):
        _ = importlib.import_module("airflow_trickle").Pipelines


# --- ticking ----------------------------------------------------------------------------------------


def test_a_tick_tells_what_became_of_every_table(world: World) -> None:
    heard: list[Any] = []
    results = Pipeline.load(world.yaml).tick(starting=heard.append, done=lambda result: heard.append(result.mode))
    assert list(results) == ["cheap", "counted"]
    assert heard == ["cheap", Mode.FULL, "counted", Mode.FULL]
    cheap = results["cheap"]
    assert isinstance(cheap, TableResult)
    assert (cheap.status, cheap.mode, cheap.rows_inserted, cheap.rows_deleted) == (Status.ACTIVE, Mode.FULL, 1, 0)
    assert (cheap.rows_in, cheap.iterations, cheap.epoch, cheap.error) == (2, 0, 1, None)
    assert cheap.snapshot_id == world.outside.load_table("default.cheap").metadata.current_snapshot_id
    assert cheap.reason.startswith("first refresh")
    assert cheap.mode == "FULL", "an enum that compares with its text"
    assert cheap.changed

    again = Pipeline.load(world.yaml).tick()
    assert [result.mode for result in again.values()] == [Mode.NO_DATA, Mode.NO_DATA]
    assert not again["cheap"].changed


def in_passes(error: TrickleError | None) -> Callable[..., tuple[TableResult, ...]]:
    """Stands for an engine that makes two passes over every unit, and then returns or raises."""

    def refresh_unit(step: Any, _runs: Any, _full: bool, progress: Any) -> tuple[TableResult, ...]:
        for number in (1, 2):
            progress(Iteration(number=number, phase="derive", changes={step.unit: 2 - number}))
        if error is not None and step.unit == "cheap":
            raise error
        settled = {"status": Status.ACTIVE, "mode": Mode.DIFFERENTIAL, "reason": "t changed", "iterations": 2}
        return tuple(TableResult(table=table.name, **settled) for table in step.tables)

    return refresh_unit


def test_a_tick_tells_of_every_pass(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("airflow_trickle.engine.refresh._refresh_unit", in_passes(None))
    caplog.set_level("INFO", "airflow_trickle")
    heard: list[tuple[str, int, int]] = []
    results = Pipeline.load(world.yaml).tick(progress=lambda unit, one: heard.append((unit, one.number, one.total)))
    assert heard == [("cheap", 1, 1), ("cheap", 2, 0), ("counted", 1, 1), ("counted", 2, 0)]
    assert {result.iterations for result in results.values()} == {2}
    assert "iteration 1 (derive): cheap +1 in 0.00 s" in caplog.messages


def test_what_does_not_settle_is_told_to_the_callback(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = [Iteration(number=1, phase="derive", changes={"cheap": 7})]
    error = NonConvergence("'cheap' did not settle.", unit="cheap", members=["cheap"], trace=trace, hint="Mend it.")
    monkeypatch.setattr("airflow_trickle.engine.refresh._refresh_unit", in_passes(error))
    (world.folder / "its_alerts.py").write_text("heard = []\ndef alert(context): heard.append(context)\n")
    monkeypatch.syspath_prepend(world.folder)
    world.yaml.write_text(world.yaml.read_text() + "on_non_convergence_callback: its_alerts.alert\n")
    with pytest.raises(TickFailed, match="cheap: 'cheap' did not settle"):
        Pipeline.load(world.yaml).tick()
    assert importlib.import_module("its_alerts").heard == [
        {
            "trickle": {
                "pipeline": "p",
                "unit": "cheap",
                "members": ["cheap"],
                "iterations": 1,
                "cap": 100,
                "changes_per_iteration": [{"cheap": 7}],
                "last_delta": 7,
                "hint": "Mend it.",
                "error": "'cheap' did not settle.",
            }
        }
    ]


def test_full_refresh_by_name(world: World) -> None:
    pipeline = Pipeline.load(world.yaml)
    pipeline.tick()
    results = pipeline.tick(full_refresh=["counted"])
    assert {name: result.mode for name, result in results.items()} == {"cheap": Mode.NO_DATA, "counted": Mode.FULL}
    assert not results["counted"].changed
    assert pipeline.tick(full_refresh="counted")["counted"].mode is Mode.FULL
    assert {result.mode for result in pipeline.tick(full_refresh=True).values()} == {Mode.FULL}
    assert {result.mode for result in pipeline.tick(full_refresh=False).values()} == {Mode.NO_DATA}


def test_full_refresh_of_an_unknown_table(world: World) -> None:
    with pytest.raises(TrickleError) as caught:
        Pipeline.load(world.yaml).tick(full_refresh={"chep", "cheap"})
    assert str(caught.value) == "Pipeline 'p' has no stream table 'chep'. It has: cheap, counted."
    assert not world.outside.table_exists("default.cheap")


def test_as_of_reads_the_sources_as_they_were(world: World) -> None:
    before = datetime.now(timezone.utc)
    world.append("t", {"id": 3, "price": 5})
    assert world.tick(as_of=before)["cheap"].rows_inserted == 1
    assert world.tick()["cheap"].rows_inserted == 1
    # A moment without a zone is UTC; a table that has been brought further is left alone.
    assert world.tick(as_of=before.replace(tzinfo=None))["cheap"].mode is Mode.SKIPPED


def test_a_failure_leaves_the_others_and_tells_all(world: World) -> None:
    world.define({**TABLES, "bad": "SELECT 1 DIV (price - 10) AS x FROM t", "after": "SELECT * FROM bad"})
    with pytest.raises(TickFailed) as caught:
        world.tick()
    results = caught.value.results
    assert {name: (result.mode, result.error is None) for name, result in results.items()} == {
        "bad": (Mode.FULL, False),
        "after": (Mode.SKIPPED, True),
        "cheap": (Mode.FULL, True),
        "counted": (Mode.FULL, True),
    }
    assert results["bad"].status is Status.ERROR
    assert "DIVIDE_BY_ZERO" in (results["bad"].error or "")
    assert str(caught.value).startswith("1 of 4 tables of pipeline 'p' failed:\nbad: ")
    assert world.rows("counted") == {(1,): 1}


# --- with a session of the caller's -----------------------------------------------------------------


@pytest.fixture
def own_session(spark_home: Path) -> Iterator[SparkSession]:
    """A session that belongs to somebody else, with settings that no refresh would choose."""
    from airflow_trickle.spark.session import close, connect
    from airflow_trickle.spark.target import SparkTarget

    session = connect(SparkTarget(), app="a notebook")
    yield session
    close(session)


def test_a_session_that_is_handed_in_is_used_and_given_back_as_it_was(
    world: World, own_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.parquet.fieldId.write.enabled": "false",
    }
    for key, value in mine.items():
        own_session.conf.set(key, value)
    # Nobody else may be asked for a session.
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")

    results = Pipeline.load(world.yaml).tick(spark=own_session)

    assert {result.mode for result in results.values()} == {Mode.FULL}
    assert {key: own_session.conf.get(key) for key in mine} == mine
    assert own_session.sql("SELECT 1 + 1").collect()[0][0] == 2, "it must still be open"
    assert [view.name for view in own_session.catalog.listTables()] == []
    assert world.rows("cheap") == {(1,): 1}


def test_its_settings_come_back_after_a_failure_too(world: World, own_session: SparkSession) -> None:
    own_session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    world.define({"bad": "SELECT nothing FROM t"})
    with pytest.raises(TickFailed):
        Pipeline.load(world.yaml).tick(spark=own_session)
    assert own_session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert own_session.sql("SELECT 1").collect()[0][0] == 1
