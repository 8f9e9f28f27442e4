"""Captured sources in the DAG: a task each before the pin, which holds up only what reads the source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from airflow_trickle.dag_factory import build_dags

Write = Callable[[dict[str, str]], Path]

LAKE = """\
pipeline: lake
sources:
  plain: {}
  orders: {path: /data/orders, format: parquet, description: Every order.}
  prices:
    format: jdbc
    options: {url: 'jdbc:postgresql://db/shop', dbtable: prices, user: me, password: '${SHOP_PASSWORD}'}
  unread: {path: /data/unread, format: parquet}
stream_tables:
  a: {query: SELECT * FROM orders}
  b: {query: "SELECT a.id, p.price FROM a JOIN prices AS p ON p.id = a.id"}
  c: {query: SELECT * FROM plain}
"""


def test_a_capture_is_a_task_before_the_pin(write: Write) -> None:
    (dag,) = build_dags(write({"lake.yaml": LAKE}), {}, strict=True)

    assert {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks} == {
        "capture_orders": [],
        "capture_prices": [],
        "pin": ["capture_orders", "capture_prices"],
        "a": ["capture_orders", "pin"],
        "b": ["a", "capture_prices"],
        "c": ["pin"],
    }
    # What does not read the source goes on when its capture failed.
    assert dag.get_task("pin").trigger_rule == "all_done"
    assert dag.get_task("a").trigger_rule == "none_failed"


def test_the_documentation_names_options_and_shows_no_value(write: Write) -> None:
    (dag,) = build_dags(write({"lake.yaml": LAKE}), {}, strict=True)

    prices = dag.get_task("capture_prices").doc_md or ""
    assert "Captures jdbc, compared row by row into the Iceberg table `default.prices`." in prices
    assert "- options `dbtable`, `password`, `url`, `user`" in prices
    assert "- captures `default.orders`: parquet files in /data/orders" in (dag.doc_md or "")
    assert "Every order." in (dag.get_task("capture_orders").doc_md or "")
    for text in (dag.doc_md or "", *(task.doc_md or "" for task in dag.tasks)):
        assert "SHOP_PASSWORD" not in text
        assert "postgresql" not in text


def test_without_captures_the_pin_is_as_it_was(write: Write) -> None:
    text = "pipeline: p\nsources: [s]\nstream_tables: {t: {query: SELECT * FROM s}}\n"
    (dag,) = build_dags(write({"p.yaml": text}), {}, strict=True)

    assert dag.get_task("pin").trigger_rule == "all_success"
