"""How long Airflow takes to parse a folder of stream tables, beyond importing Airflow itself."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (100, 1_000, 4_000)
ROUNDS = 5

#: One process a measurement, as the dag-processor does it: imports first, then one parse. CPU seconds, so that
#: a busy machine does not count.
_MEASURE = """
import json, sys, time
import airflow.sdk, airflow.models.dag
from airflow_trickle.dag_factory import build_dags
start, cpu = time.perf_counter(), time.process_time()
dags = build_dags(sys.argv[1], {})
print(json.dumps({"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu,
                  "tasks": sum(len(dag.tasks) for dag in dags)}))
"""


def write_pipeline(folder: Path, tables: int) -> None:
    """A pipeline of chains of ten: filters, joins and aggregates over twenty sources."""
    lines = [
        "pipeline: bench",
        "diamond_consistency: none",
        "sources:",
        *(f"  src_{n}: {{}}" for n in range(20)),
        "stream_tables:",
    ]
    for number in range(tables):
        source = f"src_{number // 10 % 20}" if number % 10 == 0 else f"t_{number - 1}"
        other = f"src_{(number // 10 + 7) % 20}"
        lines += [
            f"  t_{number}:",
            "    query: |",
            f"      SELECT a.id, a.grp, COUNT(*) AS n_{number}, SUM(b.value) AS total",
            f"      FROM {source} AS a JOIN {other} AS b ON a.id = b.id",
            f"      WHERE b.value > {number} AND b.kind IN ('x', 'y')",
            "      GROUP BY a.id, a.grp",
        ]
    (folder / "bench.yaml").write_text("\n".join(lines) + "\n")


def measure(folder: Path) -> dict[str, float]:
    """One parse in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _MEASURE, str(folder)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the times and how they grow."""
    cpu: dict[int, float] = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory(prefix="trickle-bench-") as scratch:
            write_pipeline(Path(scratch), size)
            runs = [measure(Path(scratch)) for _ in range(ROUNDS)]
        cpu[size] = statistics.median(run["cpu"] for run in runs)
        wall = statistics.median(run["wall"] for run in runs)
        tasks = int(runs[0]["tasks"])
        print(
            f"{size:>5} tables ({tasks} tasks): {wall:.2f} s beyond `import airflow`, {cpu[size]:.2f} s of CPU",
            flush=True,
        )
    for small, large in itertools.pairwise(SIZES):
        growth = cpu[large] / cpu[small] / (large / small)
        print(f"growth {small} -> {large}: x{growth:.2f} of linear (aim: at most x1.3)")
    print(f"1,000 tables: {cpu[1_000]:.2f} s (aim: under 2 s)")
