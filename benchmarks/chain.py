"""A chain of ten tables of which one source row changes: seconds, jobs and round trips for each table.

Plain Spark beside it computes all ten anew, each from the files of the one before, in the same session settings. The
source has ``TRICKLE_BENCH_CHAIN_ROWS`` rows (a million), and each kind of change is measured
``TRICKLE_BENCH_ROUNDS`` times (5) after one that warms up; `TRICKLE_BENCH_OUT` names a JSON file for all figures.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Mode, Pipeline
from airflow_trickle.spark.session import SparkProvider
from benchmarks.rivals import PlainFiles
from benchmarks.spark_counters import SparkCounters, SparkUse, counted_server

TABLES = 10
_MIXED = {
    3: "SELECT p.id, p.k, p.v, d.name FROM {before} AS p JOIN dim AS d ON p.k = d.k",
    6: "SELECT id, k, v, upper(name) AS name FROM {before}",
    9: "SELECT name, count(*) AS n, sum(v) AS s FROM {before} GROUP BY name",
}


def queries(kind: str) -> dict[str, str]:
    """Ten tables, each over the one before: filters alone, or with a join and a GROUP BY among them."""
    found = {}
    for number in range(TABLES):
        before = f"{kind}_{number - 1}" if number else "src"
        columns = "id, k, v + 1 AS v" + (", name" if kind == "mixed" and number > 3 else "")
        query = _MIXED.get(number) if kind == "mixed" else None
        found[f"{kind}_{number}"] = (query or f"SELECT {columns} FROM {{before}} WHERE v >= 0").format(before=before)
    return found


@dataclass(frozen=True)
class Round:
    """One tick of a chain, and plain Spark's recomputation of the same tables."""

    kind: str
    change: str
    seconds: float
    plain_seconds: float
    use: SparkUse

    def as_dict(self) -> dict[str, object]:
        """For a file of results."""
        return {
            "kind": self.kind,
            "change": self.change,
            "seconds": self.seconds,
            "plain_spark_seconds": self.plain_seconds,
            "tables": TABLES,
            **self.use.as_dict(),
        }


def main() -> None:
    """Print medians of each chain and kind of change."""
    rows = int(os.environ.get("TRICKLE_BENCH_CHAIN_ROWS", "1000000"))
    rounds = int(os.environ.get("TRICKLE_BENCH_ROUNDS", "5"))
    with _lake(rows) as (catalog, folder), counted_server(folder / "spark-server") as counters:
        found = []
        for kind in ("filters", "mixed"):
            found += _Chain(kind, catalog, folder, counters).measured(rounds)
        if out := os.environ.get("TRICKLE_BENCH_OUT"):
            Path(out).write_text(json.dumps({"rows": rows, "rounds": [one.as_dict() for one in found]}, indent=1))
        _show(found)


def _show(found: list[Round]) -> None:
    print("| chain | change | seconds a table | round trips a tick | jobs a tick | plain Spark, seconds a table |")
    print("|---|---|---|---|---|---|")
    for kind, change in sorted({(one.kind, one.change) for one in found}):
        these = [one for one in found if (one.kind, one.change) == (kind, change)]
        ours = statistics.median(one.seconds for one in these) / TABLES
        plain = statistics.median(one.plain_seconds for one in these) / TABLES
        trips = statistics.median(one.use.round_trips for one in these)
        jobs = statistics.median(one.use.jobs for one in these)
        print(f"| {kind} | {change} | {ours:.2f} | {trips:.0f} | {jobs:.0f} | {plain:.2f} |")


class _Chain:
    """Ten tables, and what was measured of them."""

    def __init__(self, kind: str, catalog: SqlCatalog, folder: Path, counters: SparkCounters) -> None:
        self._kind = kind
        self._queries = queries(kind)
        self._catalog = catalog
        self._folder = folder
        self._counters = counters
        #: The key of the row that came last, and the value of the row that changes next.
        self._last, self._value = 10**9, 1
        self._pipeline = Pipeline.load(_written(folder, kind, self._queries))

    def measured(self, rounds: int) -> list[Round]:
        """The rounds that count; rows are compared with plain Spark's in each."""
        self._pipeline.tick()
        found = []
        for change in ("append", "update"):
            for number in range(rounds + 1):
                self._changed(again=change == "update")
                one = self._round(change)
                print(f"{self._kind} {change}: {one.seconds:.2f} s, plain Spark {one.plain_seconds:.2f} s", flush=True)
                found += [one] if number else []
        return found

    def _changed(self, *, again: bool) -> None:
        """Append a row, or give the one that came last another value."""
        table = self._catalog.load_table("default.src")
        schema = table.schema().as_arrow()
        if again:
            self._value += 1
            table.overwrite(
                pa.table(_row(self._last, self._value), schema=schema), overwrite_filter=f"id = {self._last}"
            )
        else:
            self._last += 1
            table.append(pa.table(_row(self._last, self._value), schema=schema))

    def _round(self, change: str) -> Round:
        with self._counters.counting() as use:
            began = time.monotonic()
            results = self._pipeline.tick()
            seconds = time.monotonic() - began
        if {one.mode for one in results.values()} != {Mode.DIFFERENTIAL}:
            raise AssertionError(f"a table was not refreshed from changes: {results}")
        plain = self._plain()
        return Round(self._kind, change, seconds, plain, use)

    def _plain(self) -> float:
        """Seconds in which plain Spark computes all tables anew; their rows are ours."""
        with SparkProvider() as provider:
            files = PlainFiles.of(provider.session, self._folder, ["src", "dim"])
            seconds = 0.0
            for name, query in self._queries.items():
                seconds += files.by_spark(provider.session, name, query)
                made = sorted(str(path) for path in (self._folder / "spark" / name).glob("*.parquet"))
                files = PlainFiles({**files.paths, name: made}, self._folder)
        for name in self._queries:
            if not files.is_exact(self._catalog, name):
                raise AssertionError(f"{name} has other rows than plain Spark")
        return seconds


def _row(number: int, value: int) -> Mapping[str, list[int]]:
    return {"id": [number], "k": [number % 100], "v": [value]}


def _written(folder: Path, kind: str, tables: Mapping[str, str]) -> Path:
    lines = [f"pipeline: {kind}", "sources: [src, dim]", "stream_tables:"]
    for name, query in tables.items():
        lines += [f"  {name}:", "    refresh_mode: DIFFERENTIAL", f"    query: {query}"]
    path = folder / f"{kind}.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def _lake(rows: int) -> Iterator[tuple[SqlCatalog, Path]]:
    """A catalog with the source and a small table to join with, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{folder}/catalog.db"
        os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{folder}/warehouse"
        catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        catalog.create_namespace("default")
        ids = pa.array(range(rows), pa.int64())
        source = {
            "id": ids,
            "k": pa.array((n % 100 for n in range(rows)), pa.int64()),
            "v": pa.array((n % 997 for n in range(rows)), pa.int64()),
        }
        names = {"k": pa.array(range(100), pa.int64()), "name": pa.array(f"name {n % 20}" for n in range(100))}
        for name, columns in (("src", source), ("dim", names)):
            table = pa.table(columns)
            catalog.create_table(f"default.{name}", schema=table.schema).append(table)
        yield catalog, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
