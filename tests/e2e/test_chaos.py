"""Ticks in a real Airflow whose tasks, Spark server and scheduler are killed: the end is right all the same."""

from __future__ import annotations

import contextlib
import math
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_history
from tests import budgets
from tools.stack import Stack

# It waits for Airflow to notice what was killed: too long for every change.
pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.soak]

FACTORY = Path(__file__).parents[2] / "dags" / "trickle_dags.py"
NUMBERS = pa.schema([("k", pa.int64()), ("x", pa.int64())])
#: A chain, a diamond and a cycle.
PIPELINE = """
pipeline: chaos
allow_circular: true
sources: [s]
defaults: {retries: 4, retry_delay: 1s}
stream_tables:
  kept: {query: "SELECT k, x FROM s WHERE x > 0"}
  totals: {query: "SELECT k, SUM(x) AS total FROM kept GROUP BY k"}
  counts: {query: "SELECT k, COUNT(*) AS n FROM kept GROUP BY k"}
  both: {query: "SELECT t.k, t.total, c.n FROM totals AS t JOIN counts AS c ON c.k = t.k"}
  up: {query: "SELECT DISTINCT x AS n FROM s UNION SELECT n FROM down"}
  down: {query: "SELECT DISTINCT n - 1 AS n FROM up WHERE n > 0"}
"""
JUDGES = {
    "kept": "SELECT k, x FROM s WHERE x > 0",
    "totals": "SELECT k, SUM(x) AS total FROM kept GROUP BY k",
    "counts": "SELECT k, COUNT(*) AS n FROM kept GROUP BY k",
    "both": "SELECT t.k, t.total, c.n FROM totals AS t JOIN counts AS c ON c.k = t.k",
    "up": "WITH RECURSIVE u AS (SELECT DISTINCT x AS n FROM s UNION SELECT n - 1 FROM u WHERE n > 0) SELECT n FROM u",
    "down": "SELECT DISTINCT n - 1 AS n FROM up WHERE n > 0",
}
_SECONDS = 600


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    dags = tmp_path / "dags"
    dags.mkdir()
    shutil.copy(FACTORY, dags)
    (dags / "chaos.yaml").write_text(PIPELINE)
    env = {
        "TRICKLE_HOME": str(tmp_path / "trickle"),
        "TRICKLE_SPARK_HOME": str(tmp_path / "spark"),
        "PYICEBERG_CATALOG__TRICKLE__URI": f"sqlite:///{tmp_path}/catalog.db",
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": f"file://{tmp_path}/warehouse",
        # So soon a task without a sign of life is given up: its supervisor may have been killed with it.
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "15",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
        # The tasks of a scheduler that was killed are given back after this; a shorter time than a busy machine's
        # scheduler may be silent takes them from a living one.
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "3",
    }
    stack = Stack(tmp_path / "airflow", dags, env=env)
    with stack:
        stack.api.wait_for_dag("chaos")
        stack.api.unpause("chaos")
        yield stack
    assert stack.processes() == []


def victims(stack: Stack, what: str) -> list[psutil.Process]:
    """The processes of the tasks that run now, or of their Spark."""
    found = []
    for process in stack.processes():
        with contextlib.suppress(psutil.Error):
            # The process of a task calls itself "airflow worker -- <its id>", the executor's own has its name there.
            line = " ".join(process.cmdline())
            is_task = line.startswith("airflow worker -- ") and "LocalExecutor" not in line
            if is_task if what == "task" else process.name() == "java":
                found.append(process)
    return found


class Killer(threading.Thread):
    """Kills one or two things with SIGKILL while a run is under way."""

    def __init__(self, stack: Stack, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self.stack, self.chance = stack, chance
        self.done: Counter[str] = Counter()
        self._end = threading.Event()

    def run(self) -> None:
        for _ in range(self.chance.choice((1, 1, 2))):
            what = self.chance.choice(["task"] * 5 + ["spark"] * 2 + ["scheduler"])
            if self._end.wait(self.chance.uniform(1.0, 12.0)):
                return
            while not self.kill(what):
                if self._end.wait(0.1):
                    return
            self.done[what] += 1

    def kill(self, what: str) -> bool:
        """Whether there was one to be killed."""
        if what == "scheduler":
            self.stack.replace("scheduler")
            return True
        found = victims(self.stack, what)
        if not found:
            return False
        try:
            os.kill(self.chance.choice(found).pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def stop(self) -> None:
        self._end.set()
        self.join()


class Reader(threading.Thread):
    """Reads the diamond as any client would, all of it at one moment, and remembers what did not fit together."""

    def __init__(self, database: Path) -> None:
        super().__init__(daemon=True)
        self.database = database
        self.states = 0
        self.torn: list[dict[str, str]] = []
        self._end = threading.Event()

    def run(self) -> None:
        before: dict[str, str] = {}
        while not self._end.wait(0.1):
            now = self.locations()
            if now == before or len(now) < 3:
                continue
            before, self.states = now, self.states + 1
            read = {name: StaticTable.from_metadata(place).scan().to_arrow() for name, place in now.items()}
            counts = dict(zip(*(read["counts"].column(name).to_pylist() for name in ("k", "n")), strict=True))
            joined = [(one["k"], one["total"], counts.get(one["k"])) for one in read["totals"].to_pylist()]
            if Counter(joined) != rows(read["both"]) or len(joined) != len(counts):
                self.torn.append(now)

    def locations(self) -> dict[str, str]:
        """Where the metadata of each member is, by one statement of plain SQL."""
        asked = "SELECT table_name, metadata_location FROM iceberg_tables"
        with contextlib.closing(sqlite3.connect(self.database, timeout=60)) as connection:
            found = dict(connection.execute(asked).fetchall())
        return {name: found[name] for name in ("totals", "counts", "both") if name in found}

    def stop(self) -> None:
        self._end.set()
        self.join()


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def are_right(catalog: SqlCatalog) -> None:
    with duckdb.connect() as judge:
        judge.register("s", catalog.load_table("default.s").scan().to_arrow())
        for name, query in JUDGES.items():
            expected = judge.execute(query).to_arrow_table()
            assert rows(catalog.load_table(f"default.{name}").scan().to_arrow()) == rows(expected), name
            judge.register(name, expected)


def nothing_twice(catalog: SqlCatalog) -> None:
    where = {key: catalog.properties[key] for key in ("uri", "warehouse")}
    with open_lakehouse("trickle", **where) as lake:
        history = read_history(lake, pipeline="chaos", limit=100_000)
    published = Counter((row["name"], row["tick_id"]) for row in history if row["action"] in ("INITIALIZE", "REFRESH"))
    assert [key for key, times in published.items() if times > 1] == []
    for name in JUDGES:
        epochs = [row["epoch"] for row in reversed(history) if row["name"] == name and row["action"] == "REFRESH"]
        assert epochs == sorted(set(epochs)), name


def no_leftovers(catalog: SqlCatalog) -> None:
    with catalog.engine.connect() as connection:
        for name in ("trickle_staging", "trickle_prepared"):
            assert connection.exec_driver_sql(f"SELECT COUNT(*) FROM {name}").scalar_one() == 0, name


def chaos(stack: Stack, folder: Path, ticks: int, seed: int, seconds: float = math.inf) -> None:
    """So many ticks, or as many as begin in so many seconds."""
    until = time.monotonic() + seconds
    chance = random.Random(seed)
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace_if_not_exists("default")
    source = catalog.create_table("default.s", schema=NUMBERS)
    states: Counter[str] = Counter()
    done: Counter[str] = Counter()
    reader = Reader(folder / "catalog.db")
    reader.start()
    for number in range(1, ticks + 1):
        if time.monotonic() > until:
            break
        new = [(chance.randrange(5), chance.randrange(-2, 12)) for _ in range(chance.randrange(1, 5))]
        source.refresh()
        source.append(pa.table({"k": [k for k, _ in new], "x": [x for _, x in new]}, schema=NUMBERS))
        if chance.random() < 0.4:
            source.delete(f"k = {chance.randrange(5)} AND x > {chance.randrange(12)}")
        run = stack.api.trigger("chaos")
        killer = Killer(stack, random.Random(chance.random()))
        killer.start()
        try:
            state = stack.api.wait_for_run("chaos", run, seconds=_SECONDS)
        finally:
            killer.stop()
        states[state] += 1
        done += killer.done
        print(f"tick {number}: {state}, killed {dict(killer.done)}", flush=True)
        if state == "success":
            are_right(catalog)
    # The last one undisturbed, to come to the sources as they are.
    assert stack.api.wait_for_run("chaos", stack.api.trigger("chaos"), seconds=_SECONDS) == "success"
    assert reader.is_alive()
    reader.stop()
    print(
        f"{states.total()} ticks, seed {seed}: runs {dict(states)}, killed {dict(done)}; a reader saw {reader.states} "
        f"states of the diamond, {len(reader.torn)} torn"
    )
    assert reader.torn == []
    are_right(catalog)
    nothing_twice(catalog)
    no_leftovers(catalog)
    assert sum(done.values()) > 0


def test_whatever_is_killed_the_tables_end_right(stack: Stack, tmp_path: Path) -> None:
    chaos(stack, tmp_path, ticks=2, seed=20261117)


def test_a_hundred_ticks_of_chaos(stack: Stack, tmp_path: Path) -> None:
    chaos(stack, tmp_path, ticks=100, seed=budgets.SEED, seconds=budgets.soak_seconds(math.inf))
