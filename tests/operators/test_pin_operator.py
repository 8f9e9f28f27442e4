from __future__ import annotations

import logging
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.operators.pin import interval_of
from airflow_trickle.tick import Tick
from tools import webshop as sources


def test_it_returns_the_tick(webshop: DAG, lake: Lakehouse) -> None:
    sources.load(lake.catalog)

    pinned = webshop.get_task("pin").execute({"run_id": "manual__1"})

    tick = Tick.model_validate(pinned)
    assert tick.tick_id == "webshop/manual__1"
    assert tick.as_of is None
    assert {name: pin.snapshot_id for name, pin in tick.pins.items()} == {
        f"webshop.{name}": lake.catalog.load_table(f"webshop.{name}").current_snapshot().snapshot_id
        for name in ("customers", "orders", "order_lines")
    }


def test_a_second_attempt_of_a_run_reads_the_same_world(webshop: DAG, lake: Lakehouse) -> None:
    sources.load(lake.catalog)
    pin = webshop.get_task("pin")
    first = pin.execute({"run_id": "manual__1"})

    sources.change(lake.catalog)

    assert pin.execute({"run_id": "manual__1"}) == first
    assert pin.execute({"run_id": "manual__2"})["pins"] != first["pins"]


@pytest.mark.parametrize(("run_type", "of_interval"), [("scheduled", True), ("backfill", True), ("manual", False)])
def test_a_run_of_an_interval_reads_the_sources_as_they_were_at_its_end(run_type: str, of_interval: bool) -> None:
    start, end = (datetime(2026, 1, day, tzinfo=timezone.utc) for day in (1, 2))
    context: Any = {
        "dag_run": SimpleNamespace(run_type=run_type),
        "data_interval_start": start,
        "data_interval_end": end,
    }
    assert interval_of(context) == (run_type, end if of_interval else None)


def test_a_missing_source_fails_at_once_with_its_words(
    webshop: DAG, lake: Lakehouse, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(AirflowFailException) as raised:
        webshop.get_task("pin").execute({"run_id": "manual__1"})

    message = str(raised.value)
    assert "webshop.yaml:11:3: source 'customers' is the Iceberg table webshop.customers, which" in message
    assert message.count("\n") == 2, "all three sources are named"
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage() == message
    assert record.exc_info is None
    assert raised.value.__suppress_context__


MOMENT = "2026-01-31T06:00:00+00:00"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "it is missing"),
        ({"restate_pipeline": None}, "it is missing"),
        ({"restate_pipeline": ""}, "it is missing"),
        ({"restate_pipeline": "Webshop"}, "it is 'Webshop'"),
        ({"restate_pipeline": "other"}, "it is 'other'"),
    ],
)
def test_a_restate_without_the_name_of_the_pipeline_is_refused(
    webshop: DAG, lake: Lakehouse, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], told: str
) -> None:
    from airflow_trickle.engine import restate

    sources.load(lake.catalog)
    monkeypatch.setattr(restate, "restate", lambda *_: pytest.fail("it was done"))
    with pytest.raises(AirflowFailException) as raised:
        webshop.get_task("pin").execute({"run_id": "manual__1", "params": {"restate": MOMENT, **given}})

    message = str(raised.value)
    assert message.startswith("The parameter `restate` takes all tables of pipeline 'webshop' back.")
    assert f"must be the name of the pipeline, webshop; {told}. Nothing was changed." in message


def test_a_restate_with_the_name_of_the_pipeline_is_done_and_nothing_else(
    webshop: DAG, lake: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_trickle.engine import restate

    done: list[tuple[str, str]] = []

    def told(_lake: Lakehouse, plan: Any, moment: Any) -> dict[str, Any]:
        done.append((plan.pipeline, moment.isoformat()))
        return {}

    sources.load(lake.catalog)
    monkeypatch.setattr(restate, "restate", told)
    params = {"restate": MOMENT, "restate_pipeline": "webshop"}
    pin = webshop.get_task("pin")
    monkeypatch.setattr("airflow_trickle.operators.pin.end_skipping", lambda _context, value, _tasks: value)

    assert pin.execute({"run_id": "manual__1", "params": params}) == {"restated": {}}
    assert done == [("webshop", MOMENT)]


def test_the_name_alone_takes_nothing_back(webshop: DAG, lake: Lakehouse) -> None:
    sources.load(lake.catalog)
    pinned = webshop.get_task("pin").execute({"run_id": "manual__1", "params": {"restate_pipeline": "webshop"}})
    assert Tick.model_validate(pinned).tick_id == "webshop/manual__1"


def test_a_run_is_asked_for_the_name_of_the_pipeline(webshop: DAG) -> None:
    assert webshop.params["restate_pipeline"] is None
