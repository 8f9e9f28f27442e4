"""A tick of 100 tables with nothing to do: no Spark, and how long it takes."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from unittest import mock

import pyarrow as pa
from pyiceberg.table import Table

from airflow_trickle import Mode, Pipeline
from airflow_trickle.spark import embedded

TABLES = 100
ROUNDS = 7


def main() -> None:
    """Print the idle time, against a tick in which one source changed."""
    with tempfile.TemporaryDirectory(prefix="trickle-bench-") as scratch:
        settings = {
            "TRICKLE_HOME": f"{scratch}/home",
            "PYICEBERG_CATALOG__TRICKLE__URI": f"sqlite:///{scratch}/catalog.db",
            "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": f"file://{scratch}/warehouse",
        }
        with mock.patch.dict(os.environ, settings):
            try:
                _measure(Path(scratch))
            finally:
                embedded.stop()


def _measure(folder: Path) -> None:
    sources = _prepare(folder)
    start = time.perf_counter()
    Pipeline.load(folder / "idle.yaml").tick()
    first = time.perf_counter() - start
    print(f"first tick of {TABLES} tables: {first:.1f} s", flush=True)
    idle = [_idle_tick(folder) for _ in range(ROUNDS)]
    sources[0].append(pa.table({"id": pa.array([1], pa.int64()), "value": pa.array([1], pa.int64())}))
    start = time.perf_counter()
    results = Pipeline.load(folder / "idle.yaml").tick()
    changed = time.perf_counter() - start
    busy = sum(result.mode is Mode.FULL for result in results.values())
    middle = statistics.median(idle)
    print(f"idle tick: {middle:.2f} s, no Spark session opened (aim: under 1 s)")
    ratio = changed / middle
    print(f"a tick in which one of 10 sources moved ({busy} tables recomputed): {changed:.1f} s = {ratio:.0f}x idle")


def _idle_tick(folder: Path) -> float:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("an idle tick opened a Spark session")

    with mock.patch("airflow_trickle.spark.session.connect", refuse):
        start = time.perf_counter()
        results = Pipeline.load(folder / "idle.yaml").tick()
        seconds = time.perf_counter() - start
    if {result.mode for result in results.values()} != {Mode.NO_DATA}:
        raise AssertionError("an idle tick had something to do")
    return seconds


def _prepare(folder: Path) -> list[Table]:
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    rows = pa.table({"id": pa.array(range(100), pa.int64()), "value": pa.array(range(100), pa.int64())})
    lines = ["pipeline: idle", "sources:", *(f"  src_{n}: {{}}" for n in range(10)), "stream_tables:"]
    for number in range(TABLES):
        # Chains of five over ten sources.
        origin = f"src_{number // 5 % 10}" if number % 5 == 0 else f"t_{number - 1}"
        lines += [
            f"  t_{number}:",
            f"    query: SELECT id, value + {number} AS value FROM {origin} WHERE value > 0",
        ]
    (folder / "idle.yaml").write_text("\n".join(lines) + "\n")
    made = []
    with open_lakehouse("trickle") as lake:
        lake.ensure_namespace("default.x")
        for number in range(10):
            table = lake.catalog.create_table(f"default.src_{number}", schema=rows.schema)
            table.append(rows)
            made.append(table)
    return made
