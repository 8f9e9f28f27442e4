"""How much memory the worker process needs when one row of a dimension changes every row of a large join.

A fact table of ``TRICKLE_BENCH_ROWS`` rows (a million by default) is joined with a dimension of one row; the row gets
another name, so that every row of the result goes and another one comes. Each case runs in a process of its own, which
reports its highest resident memory (``VmHWM``) before and after the refresh.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

#: What differs is how many distinct rows the result has, and how wide they are.
QUERIES = {
    "few rows, large weights": "SELECT d.name, f.g FROM fact AS f JOIN dim AS d ON d.k = f.k",
    "every row once": "SELECT f.id, d.name, f.g FROM fact AS f JOIN dim AS d ON d.k = f.k",
    "wide rows": "SELECT f.id, d.name, repeat(d.name, 1000) AS w FROM fact AS f JOIN dim AS d ON d.k = f.k "
    "WHERE f.id < 50000",
}


def main() -> None:
    """Print the peak memory and the seconds of every case."""
    rows = int(os.environ.get("TRICKLE_BENCH_ROWS", "1000000"))
    print(f"{'case':<26}{'before MB':>11}{'peak MB':>9}{'seconds':>9}{'rows out':>11}{'rows in':>11}", flush=True)
    for name, query in QUERIES.items():
        folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
        try:
            prepare(folder, rows, query)
            found = measured(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(
            f"{name:<26}{found['before']:>11.0f}{found['peak']:>9.0f}{found['seconds']:>9.1f}"
            f"{found['deleted']:>11,}{found['inserted']:>11,}",
            flush=True,
        )


def prepare(folder: Path, rows: int, query: str) -> None:
    """Make the sources and the pipeline."""
    catalog = _catalog(folder)
    catalog.create_namespace("default")
    numbers = pa.array(range(rows), pa.int64())
    groups = pa.array([number % 10 for number in range(rows)], pa.int64())
    fact = pa.table({"id": numbers, "k": pa.repeat(pa.scalar(1, pa.int64()), rows), "g": groups})
    catalog.create_table("default.fact", schema=fact.schema).append(fact)
    dim = _dimension("old")
    catalog.create_table("default.dim", schema=dim.schema).append(dim)
    (folder / "dags").mkdir()
    (folder / "dags" / "p.yaml").write_text(
        f"pipeline: p\nsources: [fact, dim]\nstream_tables:\n  joined:\n    refresh_mode: DIFFERENTIAL\n"
        f"    query: {json.dumps(query)}\n"
    )


def measured(folder: Path) -> dict[str, float]:
    """Run the two ticks in a process of its own; what it reports of the second."""
    environment = os.environ | {
        "PYICEBERG_CATALOG__TRICKLE__URI": f"sqlite:///{folder}/catalog.db",
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": f"file://{folder}/warehouse",
    }
    command = [sys.executable, "-m", "benchmarks.memory", str(folder)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(folder: Path) -> None:
    """Refresh, change the dimension, refresh again: prints the memory before and at its highest."""
    from airflow_trickle import Pipeline

    pipeline = Pipeline.load(folder / "dags" / "p.yaml")
    pipeline.tick()
    before = peak()
    _catalog(folder).load_table("default.dim").overwrite(_dimension("new"))
    result = pipeline.tick()["joined"]
    found = {"before": before, "peak": peak(), "seconds": result.seconds, "mode": str(result.mode)}
    print(json.dumps(found | {"inserted": result.rows_inserted, "deleted": result.rows_deleted}))


def peak() -> float:
    """The highest resident memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def _dimension(name: str) -> pa.Table:
    return pa.table({"k": pa.array([1], pa.int64()), "name": [name]})


def _catalog(folder: Path) -> SqlCatalog:
    return SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
