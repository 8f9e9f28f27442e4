"""What Airflow adds to a tick: pipelines of several sizes in a real Airflow, against DAGs of tasks that do nothing.

For each size: a tick in which nothing changed, with strata passed over in one look and with every task looking for
itself; one in which one of ten sources changed; and a DAG of as many tasks that only return.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from tools.stack import Stack

SIZES = (10, 50, 200)
#: A tick of 200 tasks takes minutes: the larger the pipeline, the fewer rounds.
ROUNDS = {10: 3, 50: 2}
_SECONDS = 3600
_NUMBERS = pa.schema([("id", pa.int64()), ("value", pa.int64())])
_FACTORY = Path(__file__).parents[1] / "dags" / "trickle_dags.py"
_NOTHING = """
from airflow.sdk import DAG, BaseOperator


class Nothing(BaseOperator):
    def execute(self, context):
        return None


for size in {sizes}:
    with DAG(f"nothing_{{size}}", schedule=None) as dag:
        first = Nothing(task_id="first")
        for number in range(size):
            first >> Nothing(task_id=f"t{{number}}")
    globals()[dag.dag_id] = dag
"""


def main() -> None:
    """Print the seconds of each run, and per task."""
    sizes = tuple(int(one) for one in os.environ.get("TRICKLE_BENCH_SIZES", "").split(",") if one) or SIZES
    folder = Path(tempfile.mkdtemp(prefix="trickle-bench-"))
    try:
        _measure(folder, sizes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _measure(folder: Path, sizes: tuple[int, ...]) -> None:
    catalog = SqlCatalog("trickle", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("default")
    for number in range(10):
        catalog.create_table(f"default.s{number}", schema=_NUMBERS)
        _append(catalog, number)
    dags = folder / "dags"
    dags.mkdir()
    shutil.copy(_FACTORY, dags)
    (dags / "nothing.py").write_text(_NOTHING.format(sizes=sizes))
    for size in sizes:
        for name, more in (("look", ""), ("each", "enable_stratum_skip: false\n")):
            (dags / f"{name}_{size}.yaml").write_text(_pipeline(f"{name}_{size}", size, more))
    env = {
        "TRICKLE_HOME": str(folder / "trickle"),
        "TRICKLE_SPARK_HOME": str(folder / "spark"),
        "PYICEBERG_CATALOG__TRICKLE__URI": f"sqlite:///{folder}/catalog.db",
        "PYICEBERG_CATALOG__TRICKLE__WAREHOUSE": f"file://{folder}/warehouse",
        "AIRFLOW__TRICKLE__PRELOAD": os.environ.get("AIRFLOW__TRICKLE__PRELOAD", "True"),
        # A file that is wrong is to be told at once, not as a DAG that never comes.
        "AIRFLOW__TRICKLE__STRICT": "True",
    }
    with Stack(folder / "airflow", dags, env=env) as stack:
        print(f"{'tables':>7}{'what':>34}{'run s':>9}{'tasks run':>11}{'s a task':>10}", flush=True)
        for size in sizes:
            _one_size(stack, catalog, size)


def _one_size(stack: Stack, catalog: SqlCatalog, size: int) -> None:
    for dag in (f"nothing_{size}", f"look_{size}", f"each_{size}"):
        stack.api.wait_for_dag(dag, seconds=300)
        stack.api.unpause(dag)
    _tell(size, "first tick", stack, f"look_{size}")
    _tell(size, "first tick, the other pipeline", stack, f"each_{size}")
    for _ in range(ROUNDS.get(size, 1)):
        _tell(size, "tasks that do nothing", stack, f"nothing_{size}")
        _tell(size, "idle, passed over in one look", stack, f"look_{size}")
        _tell(size, "idle, each task looks for itself", stack, f"each_{size}")
    _append(catalog, 0)
    _tell(size, "one of ten sources changed", stack, f"look_{size}")
    _tell(size, "the same, each looks for itself", stack, f"each_{size}")


def _tell(size: int, what: str, stack: Stack, dag: str) -> None:
    run = stack.api.trigger(dag)
    state = stack.api.wait_for_run(dag, run, seconds=_SECONDS)
    assert state == "success", (dag, run, state)
    told = stack.api.call("GET", f"/dags/{dag}/dagRuns/{run}")
    seconds = (datetime.fromisoformat(told["end_date"]) - datetime.fromisoformat(told["start_date"])).total_seconds()
    # What was passed over never had a process.
    ran = sum(bool(task["pid"]) for task in stack.api.tasks(dag, run))
    print(f"{size:>7}{what:>34}{seconds:>9.1f}{ran:>11}{seconds / max(1, ran):>10.2f}", flush=True)


def _append(catalog: SqlCatalog, number: int) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "value": pa.array([1], pa.int64())}, schema=_NUMBERS)
    catalog.load_table(f"default.s{number}").append(rows)


def _pipeline(name: str, size: int, more: str) -> str:
    tables = "".join(
        f'  {name}_t{number}: {{query: "SELECT id, value FROM s{number % 10} WHERE value > {number // 10 - 100}"}}\n'
        for number in range(size)
    )
    sources = ", ".join(f"s{number}" for number in range(10))
    return f"pipeline: {name}\n{more}sources: [{sources}]\nstream_tables:\n{tables}"
