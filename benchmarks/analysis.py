"""How long it takes to understand a folder: queries to trees, edges, components, strata, groups, plan."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from airflow_trickle.analysis.components import components
from airflow_trickle.analysis.groups import find_groups

#: Tables -> the aim in seconds.
AIMS = {100: None, 1_000: 1.5, 4_000: 6.0}
ROUNDS = 5
LATTICE_AIM = 2.0

#: One process a measurement: imports first, then one plan. CPU seconds, so that a busy machine does not count.
_MEASURE = """
import json, sys, time
from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
start, cpu = time.perf_counter(), time.process_time()
planned = plan_path(sys.argv[1], Settings())
print(json.dumps({"wall": time.perf_counter() - start, "cpu": time.process_time() - cpu,
                  "problems": len(planned.problems), "tables": sum(len(plan.tables) for plan in planned.plans)}))
"""

#: Queries of many shapes; {a} is a table upstream, {b} and {c} are sources.
_QUERIES = (
    "SELECT a.id, a.grp, SUM(b.value) AS total FROM {a} AS a JOIN {b} AS b ON a.id = b.id WHERE b.kind IN ('x', 'y') "
    "GROUP BY a.id, a.grp",
    "SELECT a.id, a.grp, b.value AS total FROM {a} AS a LEFT JOIN {b} AS b ON a.id = b.id AND b.value > 3",
    "SELECT id, grp, total FROM {a} AS a WHERE NOT EXISTS (SELECT 1 FROM {b} AS b WHERE b.id = a.id)",
    "WITH big AS (SELECT id, grp, total FROM {a} WHERE total > 10), small AS (SELECT id, grp, 0 AS total FROM {b}) "
    "SELECT * FROM big UNION ALL SELECT * FROM small",
    "SELECT id, grp, total FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY grp ORDER BY total DESC) AS n FROM {a}) "
    "WHERE n <= 3",
    "SELECT DISTINCT a.id, a.grp, a.total FROM {a} AS a WHERE a.id IN (SELECT id FROM {c}) OR a.total > 100",
    "SELECT id, grp, total FROM {a} EXCEPT SELECT id, grp, value FROM {b}",
    "SELECT grp AS id, grp, MAX(total) AS total FROM {a} GROUP BY grp HAVING COUNT(*) > 1",
    "SELECT a.id, a.grp, CASE WHEN a.total > (SELECT AVG(value) FROM {b}) THEN 1 ELSE 0 END AS total FROM {a} AS a",
    "SELECT id, grp, total FROM {a} ORDER BY total DESC LIMIT 10",
)


def write_project(folder: Path, tables: int) -> None:
    """Pipelines of a hundred tables, in chains of ten, over twenty sources."""
    for first in range(0, tables, 100):
        sources = (f"  src_{number}: {{}}" for number in range(20))
        lines = [f"pipeline: p_{first}", "sources:", *sources, "stream_tables:"]
        for number in range(first, min(first + 100, tables)):
            upstream = f"src_{number // 10 % 20}" if number % 10 == 0 else f"t_{number - 1}"
            query = _QUERIES[number % len(_QUERIES)]
            text = query.format(a=upstream, b=f"src_{(number + 7) % 20}", c=f"src_{(number + 11) % 20}")
            lines += [f"  t_{number}:", "    query: |", f"      {text}"]
        (folder / f"p_{first}.yaml").write_text("\n".join(lines) + "\n")


def measure(folder: Path) -> dict[str, float]:
    """One plan in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _MEASURE, str(folder)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def lattice(layers: int, width: int, inputs: int) -> dict[str, list[str]]:
    """Layers of tables, each of which reads several of the layer before."""
    reads: dict[str, list[str]] = {}
    for layer in range(layers):
        for place in range(width):
            above = [f"t_{layer - 1}_{(place + step) % width}" for step in range(inputs)] if layer else ["source"]
            reads[f"t_{layer}_{place}"] = above
    return reads


def main() -> None:
    """Print the times and how they grow."""
    cpu: dict[int, float] = {}
    for size, aim in AIMS.items():
        with tempfile.TemporaryDirectory(prefix="trickle-bench-") as scratch:
            write_project(Path(scratch), size)
            runs = [measure(Path(scratch)) for _ in range(ROUNDS)]
        if any(run["problems"] or run["tables"] != size for run in runs):
            raise SystemExit(f"the project of {size} tables is not planned as a whole")
        cpu[size] = statistics.median(run["cpu"] for run in runs)
        wall = statistics.median(run["wall"] for run in runs)
        aimed = f" (aim: under {aim} s)" if aim else ""
        print(f"plan of {size:>5} tables: {wall:.2f} s, {cpu[size]:.2f} s of CPU{aimed}", flush=True)
    for small, large in itertools.pairwise(AIMS):
        print(f"growth {small} -> {large}: x{cpu[large] / cpu[small] / (large / small):.2f} of linear")
    for inputs in (3, 20):
        reads = lattice(200, 20, inputs)
        order = components(reads)
        start = time.process_time()
        groups = find_groups(order, reads)
        seconds = time.process_time() - start
        print(
            f"groups of a lattice of 200 x 20 tables with {inputs} inputs each: {seconds:.2f} s of CPU, "
            f"{len(groups)} group (aim: under {LATTICE_AIM} s)",
            flush=True,
        )
