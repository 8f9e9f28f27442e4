"""Recursion: from nothing against Spark's own and DuckDB's, and small changes against computing from nothing.

``TRICKLE_BENCH_NODES`` sets the size (default 1,100: a closure of more than a million rows on the cyclic graph).
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline, TableResult

Edge = tuple[int, int]

CLOSURE = "SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM {0} AS r JOIN edges AS e ON e.src = r.dst"
SPARKS = (
    "WITH RECURSIVE r(src, dst) MAX RECURSION LEVEL 2000 AS (SELECT src, dst FROM {0} UNION ALL "
    "SELECT r.src, e.dst FROM r JOIN {0} AS e ON e.src = r.dst) SELECT count(*) FROM (SELECT DISTINCT * FROM r)"
)
DUCKS = (
    "WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges AS e "
    "ON e.src = r.dst) SELECT count(*) FROM r"
)
CHANGED = 10


def forest(nodes: int, chance: random.Random) -> list[Edge]:
    """Every node has a parent among those before it, near enough for paths of some length."""
    return [(max(0, node - 1 - chance.randrange(node)) if node < 50 else node // 3, node) for node in range(1, nodes)]


def one_cycle(nodes: int, chance: random.Random) -> list[Edge]:
    """A random graph of three edges a node, of which nearly all nodes reach each other."""
    return sorted({(node, chance.randrange(nodes)) for node in range(nodes) for _ in range(3)})


def chain(length: int) -> list[Edge]:
    return [(node, node + 1) for node in range(length)]


class Bench:
    """One pipeline with the closure of a graph, over a catalog of its own."""

    def __init__(self, folder: Path, name: str, edges: list[Edge]) -> None:
        self.name, self.edges = name, list(edges)
        home = folder / name
        home.mkdir()
        os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{home}/catalog.db"
        os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{home}/warehouse"
        self._catalog = SqlCatalog("trickle", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")
        self._catalog.create_namespace("default")
        self._catalog.create_table("default.edges", schema=self._arrow([]).schema).append(self._arrow(edges))
        path = home / "p.yaml"
        lines = ["pipeline: p", "allow_circular: true", "max_fixpoint_iterations: 5000", "sources: [edges]"]
        lines += ["stream_tables:", "  reach:", f"    query: {CLOSURE.format('reach')}"]
        path.write_text("\n".join(lines) + "\n")
        self.pipeline = Pipeline.load(path)

    def _arrow(self, edges: list[Edge]) -> pa.Table:
        return pa.table({name: pa.array([e[at] for e in edges], pa.int64()) for at, name in enumerate(("src", "dst"))})

    def refresh(self, *, full: bool = False) -> TableResult:
        return self.pipeline.tick(full_refresh=["reach"] if full else [])["reach"]

    def insert(self, edges: list[Edge]) -> None:
        self.edges += edges
        self._catalog.load_table("default.edges").append(self._arrow(edges))

    def delete(self, edges: list[Edge]) -> None:
        self.edges = [edge for edge in self.edges if edge not in set(edges)]
        self._catalog.load_table("default.edges").overwrite(self._arrow(self.edges))

    def ducks(self) -> tuple[float, int]:
        with duckdb.connect() as connection:
            connection.register("edges", self._arrow(self.edges))
            began = time.monotonic()
            found = connection.execute(DUCKS).fetchone()
            return time.monotonic() - began, int(found[0]) if found else 0

    def sparks(self) -> str:
        """Spark's own WITH RECURSIVE, over the same rows; how long, or why not."""
        from airflow_trickle.spark.session import SparkProvider
        from airflow_trickle.spark.target import target_from_environment

        with SparkProvider(target_from_environment(self.pipeline.plan.spark_conn_id)) as provider:
            spark = provider.session
            spark.createDataFrame(self._arrow(self.edges)).createOrReplaceTempView("bench_edges")
            began = time.monotonic()
            try:
                spark.sql(SPARKS.format("bench_edges")).collect()
            except Exception as error:
                return f"did not end ({str(error).splitlines()[0][:60]})"
            return f"{time.monotonic() - began:.2f} s"


def _from_nothing(folder: Path, nodes: int) -> None:
    chance = random.Random(7)
    sparse = sorted({(chance.randrange(3000), chance.randrange(3000)) for _ in range(2700)})
    dag = [(min(edge), max(edge)) for edge in sparse if edge[0] != edge[1]]
    graphs = {"warm-up": chain(20), "sparse, acyclic": dag, "sparse, cyclic": sparse, "chain of 300": chain(300)}
    if nodes >= 1000:
        graphs["chain of 1,000"] = chain(1000)
    print(
        f"{'from nothing':<18}{'rows':>9}{'passes':>8}{'seconds':>9}{'a pass':>8}{'DuckDB':>8}  Spark's own", flush=True
    )
    for name, edges in graphs.items():
        bench = Bench(folder, name.replace(" ", "_").replace(",", ""), edges)
        result = bench.refresh()
        seconds, rows = bench.ducks()
        assert rows == result.rows_inserted, (rows, result)
        each = result.phases["compute"] / result.iterations
        ours = f"{result.rows_inserted:>9}{result.iterations:>8}{result.seconds:>9.2f}{each:>8.3f}"
        own = bench.sparks() if "acyclic" in name or "chain" in name else "never ends on cyclic data"
        print(f"{name:<18}{ours}{seconds:>8.2f}  {own}", flush=True)


def _changes(folder: Path, nodes: int) -> None:
    chance = random.Random(11)
    graphs = {"forest": forest(nodes * 110, chance), "one big cycle": one_cycle(nodes, chance)}
    columns = f"{'rows':>9}{'moved':>8}{'passes':>7}{'from before':>12}{'from nothing':>13}{'ratio':>7}"
    print(f"{'small changes':<16}{'what':<10}{columns}", flush=True)
    for name, edges in graphs.items():
        bench = Bench(folder, name.replace(" ", "_"), edges)
        bench.refresh()
        most = max(max(edge) for edge in edges)
        for number in range(2):  # the first time is for warming up
            some = chance.sample(bench.edges, CHANGED)
            bench.insert([(most + 10 * (number + 1) + at, edge[0]) for at, edge in enumerate(some)])
            _told(bench, name, "insert", shown=number > 0)
        for number in range(2):
            bench.delete(chance.sample(bench.edges, CHANGED))
            _told(bench, name, "delete", shown=number > 0)


def _told(bench: Bench, name: str, what: str, *, shown: bool) -> None:
    result = bench.refresh()
    if not shown:
        return
    full = bench.refresh(full=True)
    assert not full.changed, full
    _, rows = bench.ducks()
    moved = result.rows_inserted + result.rows_deleted
    ours = f"{rows:>9}{moved:>8}{result.iterations:>7}{result.seconds:>12.2f}{full.seconds:>13.2f}"
    print(f"{name:<16}{what:<10}{ours}{full.seconds / result.seconds:>7.1f}  {result.mode}", flush=True)


def main() -> None:
    """Print what recursion costs."""
    nodes = int(os.environ.get("TRICKLE_BENCH_NODES", "1100"))
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        parts = os.environ.get("TRICKLE_BENCH_PARTS", "nothing,changes").split(",")
        if "nothing" in parts:
            _from_nothing(folder, nodes)
        if "changes" in parts:
            _changes(folder, nodes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
