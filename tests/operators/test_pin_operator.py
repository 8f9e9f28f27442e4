from __future__ import annotations

import logging

import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException

from airflow_trickle.lakehouse.catalog import Lakehouse
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
