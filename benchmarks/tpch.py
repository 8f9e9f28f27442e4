"""The 22 queries of TPC-H: a refresh from changes beside what one would do instead, plain Spark and DuckDB.

Every round changes orders and lineitems, refreshes one stream table a query, and then lets plain Spark overwrite a
folder with the same query's result and DuckDB write the same to a file, all over the same rows. The rows that were
published are compared with those of plain Spark. A round's change is ``append`` (new orders with their lineitems),
``delete`` (old orders with theirs) or ``mixed`` (half of each).

Settings, all from the environment: ``TRICKLE_BENCH_SCALE``, ``TRICKLE_BENCH_SHARES`` (of the rows, such as 0.001),
``TRICKLE_BENCH_CHANGES``, ``TRICKLE_BENCH_QUERIES``, ``TRICKLE_BENCH_ROUNDS``, ``TRICKLE_BENCH_MODE`` (DIFFERENTIAL or
AUTO), ``TRICKLE_BENCH_PHASES`` (also print where the seconds go).
"""

from __future__ import annotations

import math
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.results import TableResult
from airflow_trickle.spark.active import configured
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import target_from_environment
from airflow_trickle.spark.tuning import session_conf
from benchmarks.changes import append, delete, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
CHANGED = ("orders", "lineitem")
_FOLDER = Path(__file__).resolve().parent.parent / "tests" / "tpch" / "queries"
QUERIES = {path.stem: path.read_text() for path in sorted(_FOLDER.glob("q*.sql"))}


@dataclass
class _Line:
    """What one query took in every round."""

    ours: list[TableResult] = field(default_factory=list)
    spark: list[float] = field(default_factory=list)
    duckdb: list[float] = field(default_factory=list)
    exact: bool = True

    @property
    def changed(self) -> bool:
        """Whether any round moved a row."""
        return any(one.changed for one in self.ours)

    @property
    def ratio(self) -> float:
        """How many times as long plain Spark takes, by medians."""
        return statistics.median(self.spark) / statistics.median(one.seconds for one in self.ours)


def main() -> None:
    """Print seconds and ratios for every query and share of changes."""
    scale = float(os.environ.get("TRICKLE_BENCH_SCALE", "1"))
    shares = [float(one) for one in os.environ.get("TRICKLE_BENCH_SHARES", "0.001").split(",")]
    wanted = os.environ.get("TRICKLE_BENCH_QUERIES", ",".join(QUERIES)).split(",")
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        _Bench(folder, scale, wanted).run(shares)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Bench:
    """One catalog with the sources, a pipeline a query, and the two others."""

    def __init__(self, folder: Path, scale: float, wanted: list[str]) -> None:
        os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{folder}/catalog.db"
        os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{folder}/warehouse"
        self._folder = folder
        self._catalog = SqlCatalog(
            "trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse"
        )
        self._catalog.create_namespace("default")
        rows = load(self._catalog, folder, scale, TABLES)
        print(f"TPC-H scale {scale:g}: " + ", ".join(f"{name} {count:,} rows" for name, count in rows.items()))
        self._mode = os.environ.get("TRICKLE_BENCH_MODE", "DIFFERENTIAL")
        self._kind = os.environ.get("TRICKLE_BENCH_CHANGES", "append")
        self._rounds = int(os.environ.get("TRICKLE_BENCH_ROUNDS", "3"))
        self._number = 0
        self._pipelines = {name: self._pipeline(name) for name in wanted}

    def run(self, shares: list[float]) -> None:
        """The first refresh of every table, then rounds of changes for every share."""
        for name, pipeline in self._pipelines.items():
            result = pipeline.tick()[name]
            print(f"{name} first refresh {result.seconds:.2f} s {result.phases}", flush=True)
        for share in shares:
            lines = {name: _Line() for name in self._pipelines}
            # The first round builds what later ones use; it is shown, and is no part of the medians.
            for number in range(self._rounds + 1):
                self._round(share, lines, number)
                if number == 0:
                    for line in lines.values():
                        for taken in (line.ours, line.spark, line.duckdb):
                            taken.clear()
            self._print(share, lines)

    def _round(self, share: float, lines: Mapping[str, _Line], number: int) -> None:
        self._change(share)
        plain = self._plain()
        for name, pipeline in self._pipelines.items():
            result = pipeline.tick()[name]
            line = lines[name]
            line.ours.append(result)
            with SparkProvider(target_from_environment(pipeline.plan.spark_conn_id)) as provider:
                line.spark.append(self._by_spark(provider.session, name, plain))
            line.duckdb.append(self._by_duckdb(name, plain))
            line.exact = line.exact and self._is_exact(name)
            said = f"round {number} {name} {result.mode} {result.seconds:.2f} s, Spark {line.spark[-1]:.2f} s"
            print(f"{said}, DuckDB {line.duckdb[-1]:.2f} s, +{result.rows_inserted} -{result.rows_deleted}", flush=True)
            if os.environ.get("TRICKLE_BENCH_PHASES"):
                print(f"    {result.phases} {(result.bytes_read or 0) // 2**20} MiB {result.reason}", flush=True)

    def _change(self, share: float) -> None:
        self._number += 1
        if self._kind in ("append", "mixed"):
            append(self._catalog, self._folder, share if self._kind == "append" else share / 2)
        if self._kind in ("delete", "mixed"):
            delete(share if self._kind == "delete" else share / 2, self._number)

    def _plain(self) -> dict[str, list[str]]:
        """The rows of every source as plain Parquet files; those with deleted rows are written anew, untimed."""
        found: dict[str, list[str]] = {}
        with open_lakehouse("trickle") as lake:
            for name in TABLES:
                table = lake.table(f"default.{name}")
                assert table is not None
                files = files_of(table, table.metadata.current_snapshot_id)
                found[name] = [path.removeprefix("file://") for path in files]
                if name in CHANGED and self._kind != "append":
                    place = self._folder / "plain" / name
                    shutil.rmtree(place, ignore_errors=True)
                    pipeline = next(iter(self._pipelines.values()))
                    with SparkProvider(target_from_environment(pipeline.plan.spark_conn_id)) as provider:
                        rows = read_files(provider.session, table, table.schema(), list(files.values()))
                        rows.write.parquet(str(place))
                    found[name] = sorted(str(path) for path in place.glob("*.parquet"))
        return found

    def _by_spark(self, spark: SparkSession, name: str, plain: Mapping[str, list[str]]) -> float:
        place = str(self._folder / "spark" / name)
        size = sum(Path(path).stat().st_size for paths in plain.values() for path in paths)
        with configured(spark, {**session_conf(size), "spark.sql.adaptive.enabled": "true"}, put_back=True):
            started = time.monotonic()
            for table, paths in plain.items():
                spark.read.parquet(*paths).createOrReplaceTempView(table)
            spark.sql(QUERIES[name]).write.mode("overwrite").parquet(place)
            return time.monotonic() - started

    def _by_duckdb(self, name: str, plain: Mapping[str, list[str]]) -> float:
        place = self._folder / f"duckdb-{name}.parquet"
        with duckdb.connect() as connection:
            started = time.monotonic()
            for table, paths in plain.items():
                connection.read_parquet(list(paths)).create_view(table)
            connection.execute(f"COPY ({QUERIES[name]}) TO '{place}' (FORMAT parquet)")
            return time.monotonic() - started

    def _is_exact(self, name: str) -> bool:
        """Whether the published rows are those of plain Spark, as a bag."""
        ours = self._catalog.load_table(f"default.{name}").scan().to_arrow()
        plain = pq.read_table(self._folder / "spark" / name)
        return _bag(ours.to_pylist()) == _bag(plain.to_pylist())

    def _pipeline(self, name: str) -> Pipeline:
        query = "\n".join(f"      {line}" for line in QUERIES[name].splitlines())
        text = f"pipeline: {name}\nsources: [{', '.join(TABLES)}]\nstream_tables:\n  {name}:\n"
        path = self._folder / "dags" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text}    refresh_mode: {self._mode}\n    query: |\n{query}\n")
        return Pipeline.load(path)

    def _print(self, share: float, lines: Mapping[str, _Line]) -> None:
        print(f"\n{self._kind} {share:.2%}, medians of {self._rounds} rounds")
        print(f"{'query':<6}{'ours s':>8}{'Spark s':>9}{'DuckDB s':>10}{'ratio':>7}  mode")
        for name, line in lines.items():
            ours = statistics.median(one.seconds for one in line.ours)
            told = "" if line.exact else "  WRONG ROWS"
            told += "" if line.changed else "  (did not change)"
            modes = "/".join(sorted({str(one.mode) for one in line.ours}))
            spark, duck = statistics.median(line.spark), statistics.median(line.duckdb)
            print(f"{name:<6}{ours:>8.2f}{spark:>9.2f}{duck:>10.2f}{line.ratio:>7.2f}  {modes}{told}", flush=True)
        ratios = [line.ratio for line in lines.values() if line.changed]
        if ratios:
            mean = math.exp(statistics.mean(math.log(one) for one in ratios))
            below = sum(one < 1 for one in ratios)
            print(f"geometric mean of the {len(ratios)} that changed: {mean:.2f}; below 1: {below}", flush=True)


def _bag(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(str(value) for value in row.values()) for row in rows)
