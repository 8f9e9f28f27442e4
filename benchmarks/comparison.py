"""Rounds of changes: each query is refreshed, and computed anew by plain Spark and DuckDB."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline
from airflow_trickle.results import TableResult
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import target_from_environment
from benchmarks import report
from benchmarks.changes import SourceChanges, load
from benchmarks.report import Measurement, Report
from benchmarks.rivals import PlainFiles
from benchmarks.settings import Settings
from benchmarks.spark_counters import SparkCounters, SparkUse, counted_server


@dataclass(frozen=True)
class Lake:
    """A catalog of TPC-H's tables in a folder that is removed at the end."""

    catalog: SqlCatalog
    folder: Path
    tables: Sequence[str]
    rows: Mapping[str, int]

    def pipeline(self, name: str, query: str, mode: str) -> Pipeline:
        """A pipeline of one stream table of that name."""
        indented = "\n".join(f"      {line}" for line in query.splitlines())
        text = f"pipeline: {name}\nsources: [{', '.join(self.tables)}]\nstream_tables:\n  {name}:\n"
        path = self.folder / "dags" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}    refresh_mode: {mode}\n    query: |\n{indented}\n")
        return Pipeline.load(path)


@contextmanager
def lake_of(scale: float, tables: Sequence[str]) -> Iterator[Lake]:
    """TPC-H's tables at a scale."""
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{folder}/catalog.db"
        os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{folder}/warehouse"
        catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        catalog.create_namespace("default")
        rows = load(catalog, folder, scale, tables)
        print(f"TPC-H scale {scale:g}: " + ", ".join(f"{name} {count:,} rows" for name, count in rows.items()))
        yield Lake(catalog, folder, tables, rows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(benchmark: str, queries: Mapping[str, str], tables: Sequence[str], wanted: Settings) -> None:
    """Run all rounds, print them, and write them to the file of results."""
    with lake_of(wanted.scale, tables) as lake, counted_server(lake.folder / "spark-server") as counters:
        found = Report.begin(benchmark, wanted, lake.rows)
        run = _Comparison(lake, {name: queries[name] for name in wanted.queries}, wanted, counters, found)
        run.first_refreshes()
        for kind in wanted.kinds:
            for share in wanted.shares:
                # The first round builds what later ones use; it is shown, and is no part of the medians.
                for number in range(wanted.rounds + 1):
                    run.round(kind, share, number)
                    found.write(wanted.out)
                report.show(found.summary(kind, share))


class _Comparison:
    """The pipelines of one lake, and what was measured of them."""

    def __init__(
        self, lake: Lake, queries: Mapping[str, str], wanted: Settings, counters: SparkCounters, found: Report
    ) -> None:
        self._lake = lake
        self._queries = queries
        self._wanted = wanted
        self._counters = counters
        self._found = found
        self._pipelines = {name: lake.pipeline(name, query, wanted.mode) for name, query in queries.items()}
        self._changes = SourceChanges(lake.catalog, lake.folder)

    def first_refreshes(self) -> None:
        """The first refresh of every table."""
        for name in self._pipelines:
            result, tick, use = self._refreshed(name)
            one = Measurement.of(result, tick, use, query=name)
            self._found.first.append(one)
            print(f"{name} first refresh {result.seconds:.2f} s {result.phases} {report.short_state(one)}", flush=True)

    def round(self, kind: str, share: float, number: int) -> None:
        """One change of the sources, and what every query makes of it."""
        changed = self._changes.make(kind, share)
        with self._spark() as provider:
            plain = PlainFiles.of(provider.session, self._lake.folder, self._lake.tables)
        for name, query in self._queries.items():
            result, tick, use = self._refreshed(name)
            with self._spark() as provider:
                spark = plain.by_spark(provider.session, name, query)
            one = Measurement.of(
                result,
                tick,
                use,
                query=name,
                change=kind,
                share=share,
                round=number,
                warm_up=number == 0,
                changed_rows=changed,
                spark_seconds=spark,
                duckdb_seconds=plain.by_duckdb(name, query),
                exact=plain.is_exact(self._lake.catalog, name),
            )
            self._found.rounds.append(one)
            report.show_round(one, phases=self._wanted.phases)

    def _refreshed(self, name: str) -> tuple[TableResult, float, SparkUse]:
        started = time.monotonic()
        with self._counters.counting() as use:
            started = time.monotonic()
            result = self._pipelines[name].tick()[name]
            tick = time.monotonic() - started
        return result, tick, use

    def _spark(self) -> SparkProvider:
        return SparkProvider(target_from_environment(next(iter(self._pipelines.values())).plan.spark_conn_id))
