"""`make demo` and `make up`: the example pipeline in a real Airflow, from empty sources to a second tick."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.spark import embedded
from tools import webshop
from tools.airflow_api import AirflowApi, ApiError
from tools.stack import Stack, StackError

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".demo"
NAMESPACE = PIPELINE = "webshop"
FULFILMENT, BOARD = "fulfilment", "board"
TABLES = ("order_totals", "daily_revenue", "customer_revenue", "top_customers", "product_demand")

console = Console(highlight=False)


def main() -> int:
    """Run the demo; the exit code is 0 only if both ticks succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stay", action="store_true", help="keep everything running until Ctrl-C")
    stay: bool = parser.parse_args().stay
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    stack = Stack(HOME / "airflow", ROOT / "dags", say=_say, env=_isolated())
    try:
        stack.end_leftovers()
        shutil.rmtree(HOME, ignore_errors=True)
        _prepare()
        # The mark of the stack's processes: the Spark server that we start is found and ended with them.
        os.environ.update(stack.env)
        with ThreadPoolExecutor(1) as aside:
            # While Airflow starts, mostly on one core; so the first tick need not wait for it.
            spark = aside.submit(_start_spark)
            with stack:
                spark.result()
                _two_ticks(stack)
                console.print(f"\n[bold green]Done[/] in {time.monotonic() - began:.0f} s.")
                _how_to_look(stack, stay)
                if stay:
                    _wait_for_ctrl_c()
                _say("Stopping Airflow and Spark")
                embedded.stop()
    except (ApiError, StackError, TrickleError) as error:
        console.print("[bold red]The demo failed:[/]", escape(str(error)), soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("\nStopped by Ctrl-C; nothing is left running.")
        return 0 if stay else 130
    left = stack.processes()
    if left:
        console.print(f"[bold red]Still running:[/] {left}")
        return 1
    _say("Everything is stopped")
    return 0


def _start_spark() -> None:
    began = time.monotonic()
    embedded.ensure_running()
    _say(f"  embedded Spark is up ({time.monotonic() - began:.0f} s)")


def _isolated() -> dict[str, str]:
    """The demo works on its own folder, whatever catalog or Spark this machine is set up for."""
    for name in list(os.environ):
        if name.startswith(("PYICEBERG_", "TRICKLE_", "AIRFLOW_CONN_TRICKLE", "AIRFLOW__")):
            del os.environ[name]
    mine = {
        "AIRFLOW_HOME": str(HOME / "airflow"),
        "TRICKLE_HOME": str(HOME / "airflow" / "trickle"),
        # The .pyiceberg.yaml there hides one in the user's home.
        "PYICEBERG_HOME": str(HOME),
    }
    os.environ.update(mine)
    return mine


def _prepare() -> None:
    HOME.mkdir(parents=True)
    (HOME / ".pyiceberg.yaml").write_text("catalog:\n  unused:\n    type: sql\n", encoding="utf-8")
    _say("Loading the sources with plain pyiceberg: customers, orders, order_lines")
    with _catalog() as catalog:
        webshop.load(catalog)


@contextmanager
def _catalog() -> Iterator[Any]:
    with open_lakehouse("trickle") as lake:
        yield lake.catalog


def _two_ticks(stack: Stack) -> None:
    api = stack.api
    for dag in (PIPELINE, FULFILMENT, BOARD):
        api.wait_for_dag(dag)
        api.unpause(dag)
    console.rule("First tick: every table is new")
    _say("Triggering a run through the REST API")
    _tick(api, PIPELINE, api.trigger(PIPELINE), TABLES)
    console.rule("A diamond, three strata, and a pipeline that follows another one")
    _fulfil(api)
    console.rule("Changing the sources")
    with _catalog() as catalog:
        for words in webshop.change(catalog):
            _say(words)
    console.rule("Second tick: what changed")
    _tick(api, PIPELINE, api.trigger(PIPELINE), TABLES)
    _say("The backlog changes, and is published with its two inputs in one commit. Those who never bought: see below")
    _fulfil(api)
    console.rule("Third tick: nothing has changed")
    _tick(api, FULFILMENT, api.trigger(FULFILMENT), ())


def _fulfil(api: AirflowApi) -> None:
    """Run the second pipeline, and wait for the third, which nobody triggers."""
    before = api.count_runs(BOARD)
    _tick(api, FULFILMENT, api.trigger(FULFILMENT), ("backlog", "window_shoppers_by_country"))
    _say("The board reads the backlog: its run starts by itself")
    _tick(api, BOARD, api.wait_for_next_run(BOARD, before), ("headline",))


def _tick(api: AirflowApi, dag: str, run: str, tables: Iterable[str]) -> None:
    began = time.monotonic()
    try:
        state = api.wait_for_run(dag, run, seconds=300, on_state=_task_state)
    except ApiError as error:
        raise ApiError(f"{error}\n{_failed_log(api, dag, run)}") from None
    if state != "success":
        raise ApiError(f"run {run} of {dag} ended as {state}\n{_failed_log(api, dag, run)}")
    _say(f"The run of {dag} took {time.monotonic() - began:.1f} s")
    _report(api, dag, run)
    with _catalog() as catalog:
        for name in tables:
            _show(catalog, name)


def _task_state(task: str, state: str) -> None:
    if state in ("success", "failed", "up_for_retry", "skipped"):
        _say(f"  {task}: {state}")


def _failed_log(api: AirflowApi, dag: str, run: str) -> str:
    """The log of the first task that failed, or waits for its next attempt."""
    for task in api.tasks(dag, run):
        if task["state"] in ("failed", "up_for_retry"):
            lines = api.log(dag, run, task["task_id"], max(1, task["try_number"]))
            return f"log of task {task['task_id']}:\n" + "\n".join(_line(line) for line in lines)
    return "no task has failed by itself"


def _line(line: dict[str, Any]) -> str:
    causes = (f"{cause['exc_type']}: {cause['exc_value']}" for cause in line.get("error_detail") or ())
    return "\n    ".join((str(line.get("event", "")), *causes))


def _report(api: AirflowApi, dag: str, run: str) -> None:
    table = Table(title="What the tick did", title_justify="left")
    table.add_column("table")
    table.add_column("mode")
    table.add_column("why", overflow="fold")
    for heading in ("rows in", "inserted", "deleted", "seconds"):
        table.add_column(heading, justify="right")
    # Of a group, its commit tells of all tables.
    telling = ("RefreshOperator", "FixpointOperator", "GroupCommitOperator")
    for task in api.tasks(dag, run):
        if task["operator"] not in telling or task["state"] != "success":
            continue
        for result in api.xcom(dag, run, task["task_id"]):
            rows = (result["rows_in"], result["rows_inserted"], result["rows_deleted"])
            counts = ("" if count is None else str(count) for count in rows)
            table.add_row(result["table"], result["mode"], result["reason"], *counts, f"{result['seconds']:.1f}")
    if table.row_count:
        console.print(table)


def _show(catalog: Any, name: str) -> None:
    rows = catalog.load_table(f"{NAMESPACE}.{name}").scan().to_arrow()
    table = Table(title=f"{NAMESPACE}.{name}", title_justify="left")
    for column in rows.column_names:
        table.add_column(column)
    for row in sorted(tuple(str(value) for value in row.values()) for row in rows.to_pylist()):
        table.add_row(*row)
    console.print(table)


def _how_to_look(stack: Stack, stay: bool) -> None:
    tables = (HOME / "airflow" / "trickle").relative_to(ROOT)
    lines = [f"The tables are Iceberg tables in {tables}."]
    if stay:
        lines += [
            f"Airflow's UI: [bold]{stack.url}[/]  user {stack.user}  password {stack.password}",
            f"(the password is in {stack.passwords_file.relative_to(ROOT)})",
            f"Its command line: AIRFLOW_HOME={stack.home} .venv/bin/airflow dags list",
            "Ctrl-C stops Airflow and Spark.",
        ]
    else:
        lines += [
            "To look at it in Airflow's UI, run [bold]make up[/]: the same, but it stays up, and tells where",
            "the UI is, who may log in and with which password.",
        ]
    for line in lines:
        console.print(line, soft_wrap=True)


def _wait_for_ctrl_c() -> None:
    while True:
        signal.pause()


def _say(words: str) -> None:
    console.print(f"[dim]{time.strftime('%H:%M:%S')}[/] {words}", soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
