"""Recursion: from nothing against Spark's own and DuckDB's, and small changes against computing from nothing.

``TRICKLE_BENCH_NODES`` sets the size (default 1,100: a closure of more than a million rows on the cyclic graph), and
``TRICKLE_BENCH_WHERE=spark`` leaves all rows to Spark, as for tables that are too large for the refreshing process.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline, TableResult
from airflow_trickle.tuning import Tuning, tuned

Edge = tuple[int, int]
CHANGED = 10


@dataclass(frozen=True)
class Recursion:
    """Tables that read each other, and the number of their rows by the words of DuckDB and of Spark."""

    tables: Mapping[str, str]
    duckdb: str
    spark: str


CLOSURE = Recursion(
    {"reach": "SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.dst"},
    "WITH RECURSIVE r AS (SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges AS e "
    "ON e.src = r.dst) SELECT count(*) FROM r",
    "WITH RECURSIVE r(src, dst) MAX RECURSION LEVEL 2000 AS (SELECT src, dst FROM edges UNION ALL "
    "SELECT r.src, e.dst FROM r JOIN edges AS e ON e.src = r.dst) SELECT count(*) FROM (SELECT DISTINCT * FROM r)",
)
_BOTH = "(SELECT src, dst, 0 AS c FROM red UNION ALL SELECT src, dst, 1 AS c FROM blue)"
TURNS = Recursion(
    {
        "by_red": "SELECT src, dst FROM red UNION SELECT r.src, e.dst FROM by_blue AS r JOIN red AS e ON e.src = r.dst",
        "by_blue": "SELECT src, dst FROM blue UNION SELECT r.src, e.dst FROM by_red AS r "
        "JOIN blue AS e ON e.src = r.dst",
    },
    f"WITH RECURSIVE r AS (SELECT src, dst, c FROM {_BOTH} UNION SELECT r.src, e.dst, e.c FROM r "
    f"JOIN {_BOTH} AS e ON e.src = r.dst AND e.c <> r.c) SELECT count(*) FROM r",
    f"WITH RECURSIVE r(src, dst, c) MAX RECURSION LEVEL 2000 AS (SELECT src, dst, c FROM {_BOTH} UNION ALL "
    f"SELECT r.src, e.dst, e.c FROM r JOIN {_BOTH} AS e ON e.src = r.dst AND e.c <> r.c) "
    f"SELECT count(*) FROM (SELECT DISTINCT * FROM r)",
)


def forest(nodes: int, chance: random.Random) -> list[Edge]:
    """Every node has a parent among those before it, near enough for paths of some length."""
    return [(max(0, node - 1 - chance.randrange(node)) if node < 50 else node // 3, node) for node in range(1, nodes)]


def one_cycle(nodes: int, chance: random.Random) -> list[Edge]:
    """A random graph of three edges a node, of which nearly all nodes reach each other."""
    return sorted({(node, chance.randrange(nodes)) for node in range(nodes) for _ in range(3)})


def chain(length: int) -> list[Edge]:
    """A way without a branch."""
    return [(node, node + 1) for node in range(length)]


def sparse(nodes: int, chance: random.Random, *, acyclic: bool) -> list[Edge]:
    """Fewer edges than nodes."""
    found = sorted({(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(nodes * 9 // 10)})
    return [(min(edge), max(edge)) for edge in found if edge[0] != edge[1]] if acyclic else found


class Bench:
    """One pipeline over a catalog of its own."""

    def __init__(self, folder: Path, name: str, recursion: Recursion, sources: Mapping[str, list[Edge]]) -> None:
        self.recursion, self.sources = recursion, {key: list(edges) for key, edges in sources.items()}
        home = folder / name
        home.mkdir()
        os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{home}/catalog.db"
        os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{home}/warehouse"
        self._catalog = SqlCatalog("trickle", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/warehouse")
        self._catalog.create_namespace("default")
        for key, edges in sources.items():
            self._catalog.create_table(f"default.{key}", schema=_arrow([]).schema).append(_arrow(edges))
        lines = ["pipeline: p", "allow_circular: true", "max_fixpoint_iterations: 5000"]
        lines += [f"sources: [{', '.join(sources)}]", "stream_tables:"]
        for table, query in recursion.tables.items():
            lines += [f"  {table}:", f"    query: {query}"]
        path = home / "p.yaml"
        path.write_text("\n".join(lines) + "\n")
        self.pipeline = Pipeline.load(path)

    @property
    def edges(self) -> list[Edge]:
        """Those of the only source."""
        return self.sources["edges"]

    def refresh(self, *, full: bool = False) -> TableResult:
        """One tick; the result of the first table, with the rows of all."""
        results = self.pipeline.tick(full_refresh=list(self.recursion.tables) if full else [])
        first = results[next(iter(self.recursion.tables))]
        inserted = sum(results[name].rows_inserted or 0 for name in self.recursion.tables)
        return first.model_copy(update={"rows_inserted": inserted})

    def insert(self, edges: list[Edge]) -> None:
        """More edges."""
        self.sources["edges"] += edges
        self._catalog.load_table("default.edges").append(_arrow(edges))

    def delete(self, edges: list[Edge]) -> None:
        """Fewer edges."""
        self.sources["edges"] = [edge for edge in self.edges if edge not in set(edges)]
        self._catalog.load_table("default.edges").overwrite(_arrow(self.edges))

    def ducks(self) -> tuple[float, int]:
        """How long DuckDB takes for the same, and how many rows it finds."""
        with duckdb.connect() as connection:
            for name, edges in self.sources.items():
                connection.register(name, _arrow(edges))
            began = time.monotonic()
            found = connection.execute(self.recursion.duckdb).fetchone()
            return time.monotonic() - began, int(found[0]) if found else 0

    def sparks(self) -> str:
        """Spark's own WITH RECURSIVE, over the same rows; how long, or why not."""
        from airflow_trickle.spark.session import SparkProvider
        from airflow_trickle.spark.target import target_from_environment

        with SparkProvider(target_from_environment(self.pipeline.plan.spark_conn_id)) as provider:
            spark = provider.session
            for name, edges in self.sources.items():
                spark.createDataFrame(_arrow(edges)).createOrReplaceTempView(name)
            began = time.monotonic()
            try:
                spark.sql(self.recursion.spark).collect()
            except Exception as error:
                return f"did not end ({str(error).splitlines()[0][:60]})"
            return f"{time.monotonic() - began:.2f} s"


def _arrow(edges: list[Edge]) -> pa.Table:
    return pa.table({name: pa.array([e[at] for e in edges], pa.int64()) for at, name in enumerate(("src", "dst"))})


def _from_nothing(folder: Path, nodes: int) -> None:
    chance = random.Random(7)
    dag, two = sparse(3000, chance, acyclic=True), sparse(3000, chance, acyclic=True)
    cases: dict[str, tuple[Recursion, dict[str, list[Edge]]]] = {
        "warm-up": (CLOSURE, {"edges": chain(20)}),
        "sparse, acyclic": (CLOSURE, {"edges": dag}),
        "sparse, cyclic": (CLOSURE, {"edges": sparse(3000, chance, acyclic=False)}),
        "red and blue": (TURNS, {"red": dag, "blue": two}),
        "chain of 300": (CLOSURE, {"edges": chain(300)}),
    }
    if nodes >= 1000:
        cases["chain of 1,000"] = (CLOSURE, {"edges": chain(1000)})
    print(
        f"{'from nothing':<18}{'rows':>9}{'passes':>8}{'seconds':>9}{'a pass':>8}{'DuckDB':>8}  Spark's own", flush=True
    )
    for name, (recursion, sources) in cases.items():
        bench = Bench(folder, name.replace(" ", "_").replace(",", ""), recursion, sources)
        result = bench.refresh()
        seconds, rows = bench.ducks()
        assert rows == result.rows_inserted, (rows, result)
        each = result.phases["compute"] / result.iterations
        ours = f"{rows:>9}{result.iterations:>8}{result.seconds:>9.2f}{each:>8.3f}"
        known = {"sparse, cyclic": "never ends on cyclic data", "chain of 1,000": "not waited for"}
        own = known.get(name) or bench.sparks()
        print(f"{name:<18}{ours}{seconds:>8.2f}  {own}", flush=True)


def _changes(folder: Path, nodes: int) -> None:
    chance = random.Random(11)
    graphs = {"forest": forest(nodes * 110, chance), "one big cycle": one_cycle(nodes, chance)}
    columns = f"{'rows':>9}{'moved':>8}{'passes':>7}{'from before':>12}{'from nothing':>13}{'ratio':>7}"
    print(f"{'small changes':<16}{'what':<10}{columns}", flush=True)
    for name, edges in graphs.items():
        bench = Bench(folder, name.replace(" ", "_"), CLOSURE, {"edges": edges})
        bench.refresh()
        most = max(max(edge) for edge in edges)
        for number in range(3):  # the first time is for warming up
            some = chance.sample(bench.edges, CHANGED)
            bench.insert([(most + 10 * (number + 1) + at, edge[0]) for at, edge in enumerate(some)])
            _told(bench, name, "insert", shown=number > 0)
        for number in range(3):
            bench.delete(chance.sample(bench.edges, CHANGED))
            _told(bench, name, "delete", shown=number > 0)


def _told(bench: Bench, name: str, what: str, *, shown: bool) -> None:
    result = bench.refresh()
    if not shown:
        return
    full = bench.refresh(full=True)
    assert not full.changed, full
    _, rows = bench.ducks()
    moved = (result.rows_inserted or 0) + (result.rows_deleted or 0)
    ours = f"{rows:>9}{moved:>8}{result.iterations:>7}{result.seconds:>12.2f}{full.seconds:>13.2f}"
    print(f"{name:<16}{what:<10}{ours}{full.seconds / result.seconds:>7.1f}  {result.mode} {result.phases}", flush=True)


def main() -> None:
    """Print what recursion costs."""
    nodes = int(os.environ.get("TRICKLE_BENCH_NODES", "1100"))
    on_spark = os.environ.get("TRICKLE_BENCH_WHERE") == "spark"
    record = Tuning(arrow_fixpoint_input_rows=-1) if on_spark else Tuning()
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        parts = os.environ.get("TRICKLE_BENCH_PARTS", "nothing,changes").split(",")
        with tuned(record):
            if "nothing" in parts:
                _from_nothing(folder, nodes)
            if "changes" in parts:
                _changes(folder, nodes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
