"""FULL against DIFFERENTIAL: whole refreshes, from pin to commit, at several shares of changed rows.

Data are TPC-H's (the package ``tpchgen-cli`` makes them). Changes are appended rows of the same kind, or with
``TRICKLE_BENCH_CHANGES=mixed`` half of them rows that go, from all over the tables. Both modes refresh the same queries
over the same sources in the same tick, so a ratio compares like with like.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline
from benchmarks.changes import TABLES, append, delete, load

QUERIES = {
    "scan_filter": "SELECT l_orderkey, l_extendedprice FROM lineitem WHERE l_quantity > 45",
    "join": "SELECT o.o_orderdate, l.l_partkey, l.l_quantity FROM lineitem AS l "
    "JOIN orders AS o ON o.o_orderkey = l.l_orderkey WHERE l.l_quantity > 45",
    "aggregate": "SELECT l_suppkey, count(*) AS n, sum(l_quantity) AS q FROM lineitem GROUP BY l_suppkey",
    "join_aggregate": "SELECT o.o_custkey, sum(l.l_extendedprice) AS paid FROM lineitem AS l "
    "JOIN orders AS o ON o.o_orderkey = l.l_orderkey GROUP BY o.o_custkey",
    "window": "SELECT l_suppkey, l_orderkey, l_linenumber, "
    "rank() OVER (PARTITION BY l_suppkey ORDER BY l_extendedprice) AS r FROM lineitem WHERE l_quantity > 45",
    "distinct": "SELECT DISTINCT l_suppkey, l_partkey FROM lineitem",
    "anti_join": "SELECT o_orderkey FROM orders AS o WHERE NOT EXISTS "
    "(SELECT 1 FROM lineitem AS l WHERE l.l_orderkey = o.o_orderkey AND l.l_quantity > 40)",
}


def main() -> None:
    """Print seconds and ratios for every query and share of changes."""
    scale = float(os.environ.get("TRICKLE_BENCH_SCALE", "1"))
    shares = [float(one) for one in os.environ.get("TRICKLE_BENCH_SHARES", "0.0001,0.001,0.01,0.1,0.5").split(",")]
    wanted = os.environ.get("TRICKLE_BENCH_QUERIES", ",".join(QUERIES)).split(",")
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        _run(folder, scale, shares, wanted)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, scale: float, shares: list[float], wanted: list[str]) -> None:
    os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{folder}/catalog.db"
    os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{folder}/warehouse"
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("default")
    rows = load(catalog, folder, scale)
    print(f"TPC-H scale {scale:g}: " + ", ".join(f"{name} {count:,} rows" for name, count in rows.items()), flush=True)
    pipelines = {name: _pipeline(folder, name) for name in wanted}
    for pipeline in pipelines.values():
        pipeline.tick()
    print(
        f"{'query':<16}{'changed':>9}{'FULL s':>9}{'DIFF s':>9}{'ratio':>8}{'AUTO s':>9}  {'best/AUTO':>9}", flush=True
    )
    mixed = os.environ.get("TRICKLE_BENCH_CHANGES", "append") == "mixed"
    for number, share in enumerate([shares[0], *shares]):  # the first once more: the first time is for warming up
        if mixed:
            append(catalog, folder, share / 2)
            delete(share / 2, number)
        else:
            append(catalog, folder, share)
        for name, pipeline in pipelines.items():
            results = pipeline.tick()
            full, diff = results[f"{name}_full"], results[f"{name}_diff"]
            assert (str(full.mode), str(diff.mode)) == ("FULL", "DIFFERENTIAL"), (full, diff)
            assert (full.rows_inserted, full.rows_deleted) == (diff.rows_inserted, diff.rows_deleted)
            auto = results[f"{name}_then_auto"]
            ratio, best = full.seconds / diff.seconds, min(full.seconds, diff.seconds) / auto.seconds
            shown = f"{name:<16}{share:>9.2%}{full.seconds:>9.2f}{diff.seconds:>9.2f}{ratio:>8.1f}"
            print(f"{shown}{auto.seconds:>9.2f}  {best:>9.2f} {auto.mode}", flush=True)
            if os.environ.get("TRICKLE_BENCH_PHASES"):
                print(f"    DIFF {diff.phases}\n    AUTO {auto.phases}", flush=True)


def _pipeline(folder: Path, name: str) -> Pipeline:
    lines = [f"pipeline: {name}", f"sources: [{', '.join(TABLES)}]", "stream_tables:"]
    for suffix, mode in (("full", "FULL"), ("diff", "DIFFERENTIAL"), ("then_auto", "AUTO")):
        lines += [f"  {name}_{suffix}:", f"    refresh_mode: {mode}", f"    query: {QUERIES[name]}"]
    path = folder / "dags" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return Pipeline.load(path)
