"""``trickle verify`` on real Spark: what it prints, as text and as JSON, and its exit codes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle.lakehouse.catalog import open_lakehouse
from tests.cli.conftest import Shell
from tests.test_docs import MARK, blocks

SALES = pa.schema([("sold_on", pa.date32()), ("pieces", pa.int64()), ("price", pa.decimal128(10, 2))])
SHOP = """\
pipeline: shop
sources: [sales]
stream_tables:
  days: {query: "SELECT sold_on, SUM(pieces) AS pieces FROM sales GROUP BY sold_on"}
  best: {query: "SELECT * FROM days ORDER BY pieces DESC LIMIT 1"}
"""
OTHER = "pipeline: other\nnamespace: elsewhere\nstream_tables:\n  days: {query: SELECT 1 AS x}\n"
HEADINGS = "table  verdict  rows  missing  surplus  rounding  reason\n"


def sale(day: int, pieces: int) -> dict[str, Any]:
    return {"sold_on": date(2026, 1, day), "pieces": pieces, "price": None}


@pytest.fixture
def shop(shell: Shell, spark_home: Path) -> Shell:
    """A pipeline of two tables over one source, refreshed."""
    shell.source("sales", [sale(1, 3), sale(2, 4)], SALES)
    shell.write("dags/shop.yaml", SHOP)
    shell.ok("run")
    return shell


def tamper(name: str, rows: list[dict[str, Any]]) -> None:
    """Replace a table's rows in a snapshot that claims to be one of ours."""
    with open_lakehouse("trickle") as lake:
        table = lake.catalog.load_table(f"default.{name}")
        summary = table.metadata.snapshots[-1].summary
        assert summary is not None
        said = {key: value for key, value in summary.additional_properties.items() if key.startswith("trickle.")}
        table.overwrite(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()), snapshot_properties=said)


def test_tables_that_are_right(shop: Shell) -> None:
    expected = (
        "Pipeline shop\n"
        f"{HEADINGS}"
        "days   OK          2        0        0         0\n"
        "best   OK          1        0        0         0\n"
    )
    assert shop.ok("verify").out == expected
    shop.source("sales", [sale(3, 9)], SALES)
    assert shop.ok("verify").out == expected
    only_best = f"Pipeline shop\n{HEADINGS}best   OK          1        0        0         0\n"
    assert shop.ok("verify", "default.BEST", "dags").out == only_best
    assert shop.ok("verify", "best", "dags/shop.yaml").out == only_best
    assert shop.ok("verify", "days", "best", "dags/").out == expected
    told = shop.ok("verify", "--json").json
    assert (told["ok"], list(told["pipelines"]["shop"])) == (True, ["days", "best"])
    best = told["pipelines"]["shop"]["best"]
    assert best.pop("snapshot_id") > 0
    assert best.pop("seconds") > 0
    assert best == {
        "table": "best",
        "identifier": "default.best",
        "verdict": "OK",
        "reason": "",
        "rows": 1,
        "missing": 0,
        "surplus": 0,
        "rounding": 0,
        "differences": [],
        "epoch": 1,
    }


def test_a_table_that_is_wrong(shop: Shell) -> None:
    tamper("days", [{"sold_on": None, "pieces": 3}] * 2 + [{"sold_on": date(2026, 1, 2), "pieces": 4}])
    outcome = shop("verify")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out == (
        "Pipeline shop\n"
        "table  verdict    rows  missing  surplus  rounding  reason\n"
        "days   DIFFERENT     3        1        2         0  "
        "To publish what its query says: trickle run --full-refresh days\n"
        "best   OK            1        0        0         0\n"
        "\n"
        "days: + is missing in the table, - is surplus\n"
        "weight  sold_on     pieces\n"
        "-2      NULL             3\n"
        "+1      2026-01-01       3\n"
    )
    assert shop("verify", "days", "--limit", "1").out.endswith(
        "weight  sold_on  pieces\n-2         NULL       3\n(2 of 3 rows; --limit shows more)\n"
    )
    outcome = shop("verify", "days", "--json")
    assert (outcome.code, outcome.err, outcome.json["ok"]) == (1, "", False)
    days = outcome.json["pipelines"]["shop"]["days"]
    assert (days["verdict"], days["missing"], days["surplus"]) == ("DIFFERENT", 1, 2)
    assert days["differences"] == [
        {"weight": -2, "row": {"sold_on": None, "pieces": 3}},
        {"weight": 1, "row": {"sold_on": "2026-01-01", "pieces": 3}},
    ]
    assert shop("verify", "best").code == 0


def test_what_cannot_be_told_is_no_success(shell: Shell) -> None:
    shell.write("dags/shop.yaml", SHOP)
    outcome = shell("verify", "best")
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out == (
        "Pipeline shop\n"
        "table  verdict      rows  missing  surplus  rounding  reason\n"
        "best   CANNOT_TELL     -        0        0         0  It was never refreshed; `trickle run` does it.\n"
    )
    told = shell("verify", "--json")
    assert (told.code, told.json["ok"]) == (1, False)
    assert {table["verdict"] for table in told.json["pipelines"]["shop"].values()} == {"CANNOT_TELL"}


def test_which_tables_and_which_files(shell: Shell) -> None:
    assert shell("verify", "nowhere.yaml").err.startswith("error: There is no file or folder 'nowhere.yaml'.")
    shell.write("dags/shop.yaml", SHOP)
    shell.write("dags/other.yaml", OTHER)
    assert shell("verify", "bst").err == "error: There is no stream table 'bst' in 'dags'. Did you mean 'best'?\n"
    assert shell("verify", "sales").err.startswith("error: 'sales' is not a stream table of 'dags', but one that ")
    assert shell("verify", "days").err == (
        "error: There are several tables 'days': elsewhere.days, default.days. Use one of these.\n"
    )
    assert list(shell("verify", "elsewhere.days", "--json").json["pipelines"]) == ["other"]
    assert list(shell("verify", "--json").json["pipelines"]) == ["other", "shop"]

    shell.write("dags/slip.yaml", "pipeline: slip\nstream_tables:\n  s: {query: SELECT 1 FROM}\n")
    assert shell("verify").err.startswith("error: dags/slip.yaml:3:")
    assert shell("verify", "s").err == "error: Stream table 's' is not planned: its file has errors.\n"
    assert list(shell("verify", "best", "--json").json["pipelines"]) == ["shop"]


def test_spark_that_does_not_answer(shop: Shell) -> None:
    outcome = shop("verify", "--spark", "sc://127.0.0.1:1")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: Spark Connect at 127.0.0.1:1 cannot be reached: ")


def test_the_page_about_operations_shows_what_it_prints(shell: Shell, spark_home: Path) -> None:
    pages = blocks()
    [pipeline] = [block.body for block in pages if block.page.name == "README.md" and block.info == MARK]
    [printed] = [block.body for block in pages if block.body.startswith("$ trickle verify\nPipeline example\n")]
    rows = [(1, 2, "9.50"), (2, 5, "3.00"), (3, 4, "12.50")]
    shell.source("sales", [{**sale(day, pieces), "price": Decimal(price)} for day, pieces, price in rows], SALES)
    shell.write("dags/example.yaml", pipeline)
    shell.ok("run")
    with open_lakehouse("trickle") as lake:
        published = lake.catalog.load_table("default.daily_sales").scan().to_arrow().to_pylist()
    lost = [row for row in published if row["sold_on"] != date(2026, 1, 2)]
    tamper("daily_sales", lost)
    assert f"$ trickle verify\n{shell('verify').out}" == printed
