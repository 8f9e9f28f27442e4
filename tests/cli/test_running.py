"""``trickle run`` and what ``status``, ``history``, ``show``, ``reset`` and ``drop`` say afterwards, on real Spark."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.conftest import Shell

SALES = pa.schema([("sold_on", pa.date32()), ("pieces", pa.int64())])
NEW = {"sold_on": date(2026, 1, 3), "pieces": 7}
SHOP = """\
pipeline: shop
sources: [sales]
stream_tables:
  days: {query: "SELECT sold_on, SUM(pieces) AS pieces FROM sales GROUP BY sold_on"}
  best: {query: "SELECT * FROM days ORDER BY pieces DESC LIMIT 1"}
"""


@pytest.fixture
def shop(shell: Shell, spark_home: Path) -> Shell:
    """A pipeline of two tables over one source."""
    shell.source("sales", [{"sold_on": date(2026, 1, 1), "pieces": 3}], SALES)
    shell.write("dags/shop.yaml", SHOP)
    return shell


def without_times(text: str) -> str:
    """Moments and durations are never the same."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<moment>", text)
    return re.sub(r" +\d+\.\d\d ", " <s> ", text)


def test_a_table_from_its_first_refresh_to_its_end(shop: Shell) -> None:
    why = "AUTO: full because it reads less than 1 MiB"
    first = shop.ok("run")
    assert without_times(first.out) == (
        "Pipeline shop\n"
        "table  mode  rows in  inserted  deleted  seconds  reason\n"
        "days   FULL        1         1        0 <s>  first refresh\n"
        "best   FULL        1         1        0 <s>  first refresh\n"
    )
    between = datetime.now(timezone.utc).isoformat()
    shop.source("sales", [NEW], SALES)
    assert without_times(shop.ok("run").out) == (
        "Pipeline shop\n"
        "table  mode  rows in  inserted  deleted  seconds  reason\n"
        f"days   FULL        2         1        0 <s>  sales changed; {why}\n"
        f"best   FULL        2         1        1 <s>  days changed; {why}\n"
    )
    again = shop.ok("run", "--json").json
    assert sorted(again) == ["failures", "notes", "ok", "pipelines", "skipped_strata"]
    assert again["skipped_strata"] == {"shop": [1, 2]}
    assert (again["ok"], again["failures"]) == (True, {})
    assert {name: result["mode"] for name, result in again["pipelines"]["shop"].items()} == {
        "days": "NO_DATA",
        "best": "NO_DATA",
    }

    _look(shop, between)
    _steer(shop)


def _look(shop: Shell, between: str) -> None:
    assert shop.ok("show", "best").out == "sold_on     pieces\n2026-01-03       7\n"
    shown = shop.ok("show", "default.best", "--as-of", between, "--json").json
    assert shown.pop("snapshot_id") > 0
    assert shown == {
        "table": "default.best",
        "columns": ["sold_on", "pieces"],
        "rows": [{"sold_on": "2026-01-01", "pieces": 3}],
        "total_rows": 1,
    }
    assert shop.ok("show", "days", "-n", "1").out.endswith("\n(1 of 2 rows)\n")
    assert shop.ok("show", "BEST", "--as-of", "2020-01-01").out == (
        "default.best as of 2020-01-01T00:00:00.000000+00:00: no rows.\n"
    )

    row = without_times(shop.ok("status").out).splitlines()[1].split()
    assert re.fullmatch(r"\d+[smh]", row.pop(5)), "staleness"
    assert row == ["default.best", "shop", "ACTIVE", "2", "2", "<moment>", "<moment>", "FULL", "-"]
    [best] = shop.ok("status", "best", "--json").json
    assert list(best) == [
        "table",
        "identifier",
        "pipeline",
        "status",
        "mode",
        "stratum",
        "scc_id",
        "epoch",
        "group",
        "group_epoch",
        "snapshot_id",
        "definition",
        "frontier",
        "effective_at",
        "tick_id",
        "refreshed_at",
        "changed_at",
        "staleness_seconds",
        "last_fixpoint_iterations",
        "converged_at",
        "behind",
        "error",
    ]
    assert (best["table"], best["status"], best["epoch"], best["error"]) == ("best", "ACTIVE", 2, None)
    assert list(best["frontier"]) == ["default.days"]
    assert shop.ok("status", "-p", "shop", "--json").json[0]["identifier"] == "default.best"
    assert shop("status", "-p", "shap").err == (
        "error: There is no pipeline 'shap' in catalog 'trickle'. Did you mean 'shop'? There is: shop.\n"
    )

    rows = shop.ok("history", "best", "--json").json
    assert [row["action"] for row in rows] == ["REFRESH", "INITIALIZE"]
    assert list(rows[0]) == [
        "table",
        "identifier",
        "pipeline",
        "tick_id",
        "action",
        "mode",
        "reason",
        "rows_in",
        "rows_inserted",
        "rows_deleted",
        "iterations",
        "epoch",
        "snapshot_id",
        "started_at",
        "seconds",
        "bytes_read",
        "bytes_written",
        "phases",
        "error",
        "group_epoch",
        "cause",
        "choice",
        "state",
        "skipped_strata",
    ]
    assert [row["table"] for row in shop.ok("history", "--limit", "3", "--json").json] == ["best", "days", "best"]
    assert shop("history", "-p", "nope").code == 1


def _steer(shop: Shell) -> None:
    assert shop.ok("reset", "days").out == "default.days: the next tick computes it anew.\n"
    assert shop.ok("show", "days").out.count("\n") == 3
    results = shop.ok("run", "--json").json["pipelines"]["shop"]
    assert results["days"]["reason"].startswith("it was reset")
    assert (results["days"]["rows_inserted"], results["days"]["rows_deleted"]) == (0, 0)
    assert results["best"]["mode"] == "NO_DATA"
    assert shop.ok("history", "days", "-n", "1", "--json").json[0]["action"] == "NO_CHANGE"

    full = shop.ok("run", "--full-refresh", "best", "--json").json["pipelines"]["shop"]
    assert {name: result["mode"] for name, result in full.items()} == {"days": "NO_DATA", "best": "FULL"}
    assert full["best"]["reason"].startswith("a full refresh was asked for")

    refused = shop("drop", "days", "--yes")
    assert (refused.code, refused.err) == (
        1,
        "error: Table default.days is read by default.best. Drop these first, or use --force.\n",
    )
    asked = shop("drop", "best", typed="n\n")
    assert asked.code == 1
    assert asked.out.startswith("Remove default.best with all data? [y/N]: ")
    assert shop("drop", "best", typed="").code == 1
    assert len(shop.ok("status", "--json").json) == 2
    # In whatever order they are named, readers go first.
    assert shop.ok("drop", "days", "best", "days", "--yes", "--json").json == {
        "dropped": ["default.best", "default.days"],
        "left": [],
    }
    assert shop.ok("status").out == "No stream table was refreshed yet; `trickle run` does it.\n"
    assert [path.name for path in (shop.folder.parent / "home/warehouse/default").iterdir()] == ["sales"]
    assert len(shop.ok("history", "best", "--json").json) == 3
    assert shop("show", "best").err == "error: There is no table 'best' in catalog 'trickle'.\n"


def test_a_table_that_fails_holds_up_only_its_readers(shop: Shell) -> None:
    shop.write(
        "dags/shop.yaml",
        SHOP + '  bad: {query: "SELECT 1 DIV (pieces - 3) AS x FROM sales"}\n  after: {query: SELECT x FROM bad}\n',
    )
    outcome = shop("run")
    assert outcome.code == 1
    assert [line.split()[:2] for line in outcome.out.splitlines()[2:]] == [
        ["bad", "FAILED"],
        ["after", "SKIPPED"],
        ["days", "FULL"],
        ["best", "FULL"],
    ]
    assert "its input bad failed in this tick" in outcome.out
    complaint = (
        "dags/shop.yaml:6:3: stream table 'bad' was not refreshed: its query failed on Spark: [DIVIDE_BY_ZERO] "
        "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead. If necessary set "
        '"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012 Nothing was published.'
    )
    assert outcome.err == f"error: 1 of 4 tables of pipeline 'shop' failed:\n  bad: {complaint}\n"

    outcome = shop("run", "--json", "--verbose")
    assert outcome.code == 1
    assert "Refreshing bad: first refresh." in outcome.err
    assert outcome.json["ok"] is False
    results = outcome.json["pipelines"]["shop"]
    assert {name: result["mode"] for name, result in results.items() if name != "bad"} == {
        "after": "SKIPPED",
        "days": "NO_DATA",
        "best": "NO_DATA",
    }
    assert (results["bad"]["status"], results["bad"]["error"]) == ("ERROR", complaint)
    assert outcome.json["failures"]["shop"]["type"] == "TickFailed"

    [failed, _] = shop.ok("history", "bad", "--json").json
    assert (failed["action"], failed["error"], failed["epoch"]) == ("FAILED", complaint, 0)
    assert "FAILED" in shop.ok("history", "bad").out
    [status] = shop.ok("status", "bad", "--json").json
    assert (status["status"], status["error"], status["snapshot_id"]) == ("ERROR", complaint, None)
    assert shop("show", "bad").err == (
        "error: Stream table default.bad has not been published yet. `trickle history bad` tells why.\n"
    )
    assert shop("history", "after").err == (
        "error: No stream table 'after' was refreshed yet in catalog 'trickle'. `trickle status` lists those that "
        "were.\n"
    )


def test_pipelines_that_read_each_other(shell: Shell, spark_home: Path) -> None:
    shell.source("sales", [NEW], SALES)
    # By name `a` comes first, but it reads a table of `z`.
    shell.write("dags/a.yaml", "pipeline: a\nnamespace: top\nstream_tables:\n  x: {query: SELECT * FROM y}\n")
    shell.write("dags/z.yaml", "pipeline: z\nsources: [sales]\nstream_tables:\n  y: {query: SELECT * FROM sales}\n")
    shell.write("dags/m.yaml", "pipeline: m\nsources: [sails]\nstream_tables:\n  w: {query: SELECT * FROM sails}\n")
    outcome = shell("run")
    assert outcome.code == 1
    assert [line for line in outcome.out.splitlines() if line.startswith("Pipeline")] == ["Pipeline z", "Pipeline a"]
    assert outcome.err == (
        "error: dags/m.yaml:2:11: source 'sails' is the Iceberg table default.sails, which catalog 'trickle' does not "
        "have. Did you mean default.sales? Create the table, or point the source elsewhere with "
        "`table: namespace.name`.\n"
    )
    told = shell("run", "--full-refresh", "x", "--json").json
    assert list(told["pipelines"]) == ["m", "z", "a"]
    assert told["pipelines"]["m"] == {}
    assert told["failures"]["m"]["type"] == "SourceMissing"
    assert told["pipelines"]["z"]["y"]["mode"] == "NO_DATA"
    assert told["pipelines"]["a"]["x"]["mode"] == "FULL"
    assert list(shell.ok("run", "-p", "z", "--json").json["pipelines"]) == ["z"]


def test_what_is_wrong_is_told_before_anything_runs(shell: Shell) -> None:
    shell.write("dags/shop.yaml", SHOP)
    shell.write("dags/slip.yaml", "pipeline: slip\nstream_tables:\n  s: {query: SELECT 1 FROM}\n")
    outcome = shell("run")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: dags/slip.yaml:3:")
    told = shell("run", "-p", "slip", "--json").json
    assert (told["error"]["type"], told["errors"][0]["file"]) == ("DefinitionError", "dags/slip.yaml")
    assert shell("run", "-p", "shap").err == (
        "error: There is no pipeline 'shap' in 'dags'. Did you mean 'shop'? There is: shop.\n"
    )
    assert shell("run", "-p", "shop", "--full-refresh", "dais").err == (
        "error: --full-refresh: there is no stream table 'dais' in what is run. Did you mean 'days'?\n"
    )
    assert not (shell.folder.parent / "home").exists()


def test_spark_that_does_not_answer(shell: Shell) -> None:
    shell.source("sales", [NEW], SALES)
    shell.write("shop.yaml", SHOP)
    outcome = shell("run", "shop.yaml", "--spark", "sc://127.0.0.1:1/;token=secret")
    assert outcome.code == 1
    assert outcome.err == (
        "note: pipeline 'shop': this command uses Spark Connect at 127.0.0.1:1 (TRICKLE_SPARK_URL or --spark), and the "
        "tasks of Airflow use Airflow's connection 'trickle_spark'.\n"
        "error: 1 of 2 tables of pipeline 'shop' failed:\n"
        "  days: Spark Connect at 127.0.0.1:1 cannot be reached: nothing listens there. Check the host and port of "
        "the Spark connection, and that the server runs and speaks TLS.\n"
    )


def test_names_of_tables(shell: Shell) -> None:
    shell.source("sales", [NEW], SALES)
    with_namespace = "There is no table 'default.salse' in catalog 'trickle'. Did you mean 'default.sales'?"
    assert shell("show", "default.salse").err == f"error: {with_namespace}\n"
    assert shell("show", "salse").err == (
        "error: There is no table 'salse' in catalog 'trickle'. Did you mean 'sales'?\n"
    )
    for command in ("reset", "drop", "status", "history"):
        assert shell(command, "sales").err == (
            "error: No stream table 'sales' was refreshed yet in catalog 'trickle'. `trickle status` lists those that "
            "were.\n"
        )
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    with open_lakehouse("trickle") as lake:
        lake.catalog.create_namespace("eu.north")
        lake.catalog.create_table("eu.north.sales", schema=SALES)
    assert shell("show", "sales").err == (
        "error: There are several tables 'sales': default.sales, eu.north.sales. Use one of these.\n"
    )
    assert shell.ok("show", "eu.north.sales").out == "eu.north.sales: no rows.\n"


def test_an_empty_catalog(shell: Shell) -> None:
    assert shell.ok("status").out == "No stream table was refreshed yet; `trickle run` does it.\n"
    assert shell.ok("history").out == "Nothing was refreshed yet; `trickle run` does it.\n"
    assert shell.ok("status", "--json").json == []
    assert shell.ok("history", "--json").json == []
    assert shell("history", "-p", "x").err == (
        "error: There is no pipeline 'x' in the history of catalog 'trickle'. There are: none.\n"
    )


def test_json_of_any_value(shell: Shell) -> None:
    values = pa.table(
        {
            "number": pa.array([float("nan"), float("-inf")]),
            "bytes": pa.array([b"\x00\xff", None], pa.binary()),
            "local": pa.array([datetime(2026, 1, 1, 12), None], pa.timestamp("us")),
            "utc": pa.array([datetime(2026, 1, 1, 12), None], pa.timestamp("us", "UTC")),
            "list": pa.array([[1, None], []], pa.list_(pa.int32())),
        }
    )
    shell.source("values", values.to_pylist(), values.schema)
    assert shell.ok("show", "values", "--json").json["rows"] == [
        {
            "number": "NaN",
            "bytes": "00ff",
            "local": "2026-01-01T12:00:00",
            "utc": "2026-01-01T12:00:00.000000+00:00",
            "list": [1, None],
        },
        {"number": "-Infinity", "bytes": None, "local": None, "utc": None, "list": []},
    ]


def test_files_that_are_gone(shell: Shell) -> None:
    shell.source("sales", [NEW], SALES)
    [file] = (shell.folder.parent / "home" / "warehouse").rglob("*.parquet")
    file.unlink()
    outcome = shell("show", "sales")
    assert outcome.code == 1
    assert outcome.err.startswith("error: The files of table default.sales cannot be read: ")


def test_the_embedded_server(shell: Shell, spark_home: Path) -> None:
    told = shell.ok("spark", "start", "--json").json
    assert sorted(told) == ["detail", "folder", "info", "state"]
    assert (told["state"], told["info"]["started"]) == ("running", False)
    assert "token" not in told["info"]
    pid, port = told["info"]["pid"], told["info"]["port"]
    assert shell.ok("spark", "start").out == f"The embedded Spark 4.2.0 runs already (pid {pid}, port {port}).\n"
    assert shell.ok("spark", "status").out.startswith(f"The embedded Spark server runs (pid {pid}, port {port}, since ")
    assert shell.ok("spark", "status", "--json").json["info"]["pid"] == pid


def test_no_embedded_server(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRICKLE_SPARK_HOME", str(tmp_path / "spark"))
    assert shell.ok("spark", "status").out == "The embedded Spark server does not run.\n"
    assert shell.ok("spark", "stop").out == "The embedded Spark server did not run.\n"
    told = shell.ok("spark", "stop", "--json").json
    assert (told["state"], told["info"]) == ("stopped", None)


def test_a_pipeline_that_captures_a_source_comes_before_those_that_read_its_mirror(tmp_path: Path) -> None:
    from airflow_trickle.cli.running import _in_order
    from airflow_trickle.plan.build import plan_path

    captured = "sources:\n  s: {path: /data/s, format: parquet}\n"
    for name, sources in (("a", "sources: [s]\n"), ("b", captured), ("c", captured)):
        text = f"pipeline: {name}\n{sources}stream_tables:\n  t_{name}: {{query: SELECT * FROM s}}\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    plans = list(plan_path(tmp_path).plans)

    assert [plan.pipeline for plan in _in_order(plans)] == ["b", "a", "c"]
