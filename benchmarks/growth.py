"""How the cost of a small change grows with the table: 1,000 changed rows in 1, 10 and 60 million."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle import Pipeline
from benchmarks.changes import TABLES, SourceChanges, load
from benchmarks.differential import QUERIES

#: Scales of TPC-H at which lineitem has so many million rows.
SCALES = {"1M": 1 / 6, "10M": 10 / 6, "60M": 10.0}
CHANGED = 1000
TIMES = 4


def main() -> None:
    """Print the median seconds of a differential refresh by query and size."""
    wanted = os.environ.get("TRICKLE_BENCH_QUERIES", ",".join(QUERIES)).split(",")
    sizes = os.environ.get("TRICKLE_BENCH_SIZES", ",".join(SCALES)).split(",")
    found: dict[str, list[float]] = {name: [] for name in wanted}
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
        try:
            for name, seconds in _measured(folder, SCALES[size], wanted).items():
                found[name].append(seconds)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{size} rows done", flush=True)
    print(f"{'query':<16}" + "".join(f"{size:>9}" for size in sizes) + f"{'growth':>9}", flush=True)
    for name, those in found.items():
        shown = "".join(f"{one:>9.2f}" for one in those)
        print(f"{name:<16}{shown}{those[-1] / those[0]:>8.1f}x", flush=True)


def _measured(folder: Path, scale: float, wanted: list[str]) -> dict[str, float]:
    os.environ["PYICEBERG_CATALOG__TRICKLE__URI"] = f"sqlite:///{folder}/catalog.db"
    os.environ["PYICEBERG_CATALOG__TRICKLE__WAREHOUSE"] = f"file://{folder}/warehouse"
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("default")
    rows = load(catalog, folder, scale)
    pipelines = {name: _pipeline(folder, name) for name in wanted}
    for pipeline in pipelines.values():
        pipeline.tick()
    seconds: dict[str, list[float]] = {name: [] for name in wanted}
    changes = SourceChanges(catalog, folder)
    for number in range(TIMES):
        changes.make("append", CHANGED / rows["lineitem"])
        for name, pipeline in pipelines.items():
            result = pipeline.tick()[name]
            assert str(result.mode) == "DIFFERENTIAL", result
            if number:  # the first time is for warming up
                seconds[name].append(result.seconds)
    return {name: statistics.median(those) for name, those in seconds.items()}


def _pipeline(folder: Path, name: str) -> Pipeline:
    lines = [f"pipeline: {name}", f"sources: [{', '.join(TABLES)}]", "stream_tables:"]
    lines += [f"  {name}:", "    refresh_mode: DIFFERENTIAL", f"    query: {QUERIES[name]}"]
    path = folder / "dags" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return Pipeline.load(path)
