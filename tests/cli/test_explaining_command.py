"""``trickle explain --delta`` at the command line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Shell

PIPELINE = """
pipeline: shop
sources: [orders]
stream_tables:
  totals:
    query: SELECT customer, count(*) AS n FROM orders GROUP BY customer HAVING count(*) > 1
  lucky:
    query: SELECT customer, rand() AS luck FROM orders
  chain:
    query: |
      WITH RECURSIVE r AS (SELECT id FROM orders UNION SELECT r.id + 1 FROM r WHERE r.id < 9) SELECT id FROM r
"""


@pytest.fixture
def shop(shell: Shell) -> Shell:
    shell.write("dags/shop.yaml", PIPELINE)
    shell.source("orders", [], pa.schema([("id", pa.int64()), ("customer", pa.string())]))
    return shell


def test_programs_get_every_part_by_name(shop: Shell, spark_home: Path) -> None:
    told = shop.ok("explain", "totals", "--delta", "--json").json
    assert {key: told[key] for key in ("table", "identifier", "full_because", "passes", "published", "errors")} == {
        "table": "totals",
        "identifier": "default.totals",
        "full_because": None,
        "passes": False,
        "published": "published",
        "errors": [],
    }
    assert told["inputs"] == [
        {
            "name": "orders",
            "identifier": "default.orders",
            "before": "orders_before",
            "after": "orders_after",
            "changes": "orders_changes",
        }
    ]
    assert told["steps"] == [
        {
            "name": "keys_1",
            "about": "the keys of the changed rows",
            "kept": True,
            "sql": "SELECT DISTINCT customer AS `__trickle_k0`\nFROM orders_changes AS orders",
        }
    ]
    assert told["change"].startswith("SELECT *, CAST(1 AS BIGINT) AS __trickle_weight\nFROM (\n  SELECT customer,")


def test_a_table_that_is_computed_in_full_says_why_without_spark(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")
    assert shop.ok("explain", "lucky", "--delta").out == (
        "Change of stream table lucky (default.lucky)\n"
        "  It is computed in full: AUTO: full because rand() answers differently on every run (line 1 of the query).\n"
    )
    told = shop.ok("explain", "lucky", "--delta", "--json").json
    assert (told["change"], told["passes"]) == (None, False)


def test_a_table_that_is_followed_in_passes_says_so_without_spark(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")
    assert shop.ok("explain", "chain", "--delta").out == (
        "Change of stream table chain (default.chain)\n"
        "  No single query tells it: it is recursive, and brought to its fixed point as a whole.\n"
        "  `trickle history --iterations` shows the passes of its refreshes.\n"
    )
    told = shop.ok("explain", "chain", "--delta", "--json").json
    assert (told["change"], told["passes"]) == (None, True)
    assert told["full_because"] == "it is recursive, and brought to its fixed point as a whole"


def test_an_input_that_is_not_read(shop: Shell) -> None:
    outcome = shop("explain", "totals", "--delta", "--changed", "order")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "error: Stream table 'totals' does not read 'order', so it cannot be said to have changed. It reads: orders.\n"
    )


def test_changed_inputs_without_delta(shop: Shell) -> None:
    outcome = shop("explain", "totals", "--changed", "orders")
    assert outcome.code == 2
    assert "It tells which inputs changed for --delta, which is missing." in " ".join(outcome.err.split())
