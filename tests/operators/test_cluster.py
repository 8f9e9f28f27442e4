"""The same pipelines on the embedded Spark and, by spark-submit, on a real cluster of a master and two workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk.exceptions import AirflowException, DownstreamTasksSkipped
from sqlalchemy import create_engine, select

from airflow_trickle.dag_factory import build_dags
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.staging import leftovers
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.operators.failures import DidNotSettle
from tests.databases import new_database
from tests.engine.world import World
from tests.spark.standalone import Cluster, running

pytestmark = [pytest.mark.spark, pytest.mark.server]

ORDER = pa.schema(
    [("id", pa.int64()), ("customer", pa.int64()), ("total", pa.decimal128(9, 2)), ("at", pa.timestamp("us", "UTC"))]
)
EDGE = pa.schema([("src", pa.int64()), ("dst", pa.int64())])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running() as started:
        yield started


class TaskInstance:
    """As much of Airflow's as the operators ask for."""

    def __init__(self, returned: dict[str, Any]) -> None:
        self.returned = returned
        self.pushed: dict[str, Any] = {}

    def xcom_pull(self, task_ids: str) -> Any:
        return self.returned.get(task_ids)

    def get_task_states(self, dag_id: str, task_ids: list[str], run_ids: list[str]) -> dict[str, dict[str, str]]:
        """The states of the tasks that have ended, by run."""
        states = {name: "failed" if isinstance(self.returned[name], Exception) else "success" for name in self.returned}
        return {run: {name: states[name] for name in task_ids if name in states} for run in run_ids}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def run_dag(folder: Path, run_id: str) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """By task: what it has returned or the error it ended with, and the passes that it has told."""
    (dag,) = build_dags(folder, {}, strict=True)
    ended: dict[str, Any] = {}
    passes: dict[str, list[dict[str, Any]]] = {}
    left = sorted(dag.tasks, key=lambda task: task.task_id)
    while task := next((one for one in left if one.upstream_task_ids <= ended.keys()), None):
        left.remove(task)
        instance = TaskInstance(ended)
        context = {"run_id": run_id, "ti": instance, "params": {}, "outlet_events": defaultdict(SimpleNamespace)}
        try:
            ended[task.task_id] = task.execute(context)  # type: ignore[arg-type]
        except DownstreamTasksSkipped as skipped:
            ended[task.task_id] = instance.pushed.get("return_value")
            passed = {name if isinstance(name, str) else name[0] for name in skipped.tasks}
            ended.update(dict.fromkeys(passed))
            left = [one for one in left if one.task_id not in passed]
        except AirflowException as error:
            ended[task.task_id] = error
        passes[task.task_id] = instance.pushed.get("iterations", [])
    return ended, passes


class Deployment:
    """A world with its own catalog and Spark, whose DAG is run task by task through its operators."""

    def __init__(self, world: World, spark: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.spark = spark
        self.monkeypatch = monkeypatch
        self.passes: dict[str, list[dict[str, Any]]] = {}

    def run(self, run_id: str) -> dict[str, Any]:
        """What each task has returned, or the error it ended with."""
        self.use()
        ended, self.passes = run_dag(self.world.yaml.parent, run_id)
        return ended

    def use(self) -> None:
        """Let this process use its catalog and its Spark."""
        self.monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", self.world.uri)
        self.monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", self.world.warehouse)
        if self.spark is None:
            self.monkeypatch.delenv("AIRFLOW_CONN_TRICKLE_SPARK", raising=False)
        else:
            self.monkeypatch.setenv("AIRFLOW_CONN_TRICKLE_SPARK", self.spark)


@pytest.fixture
def near(tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """On the embedded Spark Connect."""
    return Deployment(World(tmp_path / "near", f"sqlite:///{tmp_path}/near.db"), None, monkeypatch)


@pytest.fixture
def far(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """On the cluster, with the catalog that is for production."""
    return Deployment(World(tmp_path / "far", new_database()), cluster.connection(), monkeypatch)


def order(number: int, customer: int, total: str) -> dict[str, Any]:
    at = datetime(2026, 1, 1 + number, tzinfo=timezone.utc)
    return {"id": number, "customer": customer, "total": Decimal(total), "at": at}


TABLES = {
    "sales": "SELECT c.country, count(*) AS n, sum(o.total) AS total, max(o.at) AS last FROM orders AS o "
    "LEFT JOIN customers AS c ON c.id = o.customer GROUP BY c.country",
    "red": "SELECT src, dst FROM edges UNION SELECT b.src, e.dst FROM blue AS b JOIN edges AS e ON e.src = b.dst",
    "blue": "SELECT src, dst FROM red WHERE src <> dst",
}


def shop(world: World) -> None:
    """Orders, customers that are captured from a folder, and edges with a cycle in them."""
    folder = world.folder / "customers"
    folder.mkdir()
    people = pa.table({"id": pa.array([1, 2], pa.int64()), "country": ["DE", "FR"]})
    pq.write_table(people, folder / "people.parquet")
    world.source("orders", ORDER, [order(1, 1, "10.50"), order(2, 2, "7.25"), order(3, 9, "1.00"), order(3, 9, "1.00")])
    world.source("edges", EDGE, [{"src": n, "dst": n + 1} for n in range(5)] + [{"src": 5, "dst": 0}])
    world.define(TABLES, sales={"refresh_mode": "DIFFERENTIAL"})
    text = world.yaml.read_text().replace("sources:\n", f"sources:\n  customers: {{path: {folder}, format: parquet}}\n")
    world.yaml.write_text(f"{text}allow_circular: true\n")


def change(world: World) -> None:
    world.append("orders", order(4, 1, "100.00"), order(5, 2, "0.75"))
    world.delete("orders", "id = 3")
    world.delete("edges", "src = 2")
    world.append("edges", {"src": 7, "dst": 0})


@pytest.mark.timeout(1500)
def test_a_pipeline_gives_the_same_tables_on_connect_and_on_a_cluster(
    near: Deployment, far: Deployment, cluster: Cluster
) -> None:
    submitted: list[int] = []
    for number, step in enumerate((shop, change, lambda _: None)):
        before = len(cluster.applications())
        for deployment in (near, far):
            step(deployment.world)
            ended = deployment.run(f"manual__{number}")
            assert not [error for error in ended.values() if isinstance(error, Exception)], ended
        assert {name: far.world.rows(name) for name in TABLES} == {name: near.world.rows(name) for name in TABLES}
        assert far.passes.keys() == near.passes.keys()
        for task, passes in near.passes.items():
            assert [one["changes"] for one in far.passes[task]] == [one["changes"] for one in passes]
        submitted.append(len(cluster.applications()) - before)
    # The capture, the join with its aggregate, and the cycle. Then no file had come: nothing was submitted for that.
    # At last nothing moved at all.
    assert submitted == [3, 2, 0]
    assert far.world.rows("red") == far.world.judge(
        "WITH RECURSIVE r AS (SELECT * FROM edges UNION SELECT r.src, e.dst FROM r JOIN edges AS e ON e.src = r.dst "
        "WHERE r.src <> r.dst) SELECT * FROM r"
    )
    far.use()
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []


@pytest.mark.soak
def test_errors_are_the_same_on_connect_and_on_a_cluster(near: Deployment, far: Deployment) -> None:
    told: list[dict[str, Any]] = []
    for deployment in (near, far):
        world = deployment.world
        world.source("edges", EDGE, [{"src": 1, "dst": 2}])
        world.define(
            {
                "grows": "SELECT src, dst FROM edges UNION SELECT src + 1, dst FROM grows",
                "unknown": "SELECT nope FROM edges",
                "zero": "SELECT src / (dst - 2) AS x FROM edges",
            }
        )
        world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\nmax_fixpoint_iterations: 3\n")
        ended = deployment.run("manual__1")
        ended.pop("pin")
        told.append({task: (type(error), str(error).replace(str(world.folder), "")) for task, error in ended.items()})
        settled = ended["cycle_grows"]
        assert isinstance(settled, DidNotSettle)
        assert settled.trickle["changes_per_iteration"][:2] == [{"grows": 1}, {"grows": 1}]
    assert told[0] == told[1]


REACH = "SELECT src, dst FROM edges UNION SELECT r.src, e.dst FROM reach AS r JOIN edges AS e ON e.src = r.dst"
CHAIN = 20


@pytest.fixture
def chain(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """A cycle that takes many passes, each of which is written down."""
    monkeypatch.setenv("TRICKLE_CHECKPOINT_SECONDS", "0")
    world = World(tmp_path / "world", f"sqlite:///{tmp_path}/catalog.db")
    world.source("edges", EDGE, [{"src": n, "dst": n + 1} for n in range(CHAIN)])
    world.define({"reach": REACH})
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")
    return Deployment(world, cluster.connection(), monkeypatch)


def driver_at_work(world: World) -> int:
    """The process of the driver, once it has written down some passes."""
    points = Path(world.folder / "warehouse" / "_trickle_checkpoints")
    deadline = time.monotonic() + 300
    while len(list(points.glob("default.reach/data/*/*.json"))) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    engine = create_engine(world.uri)
    with engine.connect() as connection:
        (found,) = connection.execute(select(leases.c.pid)).scalars()
    engine.dispose()
    assert found != os.getpid()
    return int(found)


def assert_complete(deployment: Deployment) -> None:
    """The table is whole, and nothing was left behind."""
    world = deployment.world
    assert world.rows("reach") == {(n, m): 1 for n in range(CHAIN) for m in range(n + 1, CHAIN + 1)}
    assert world.snapshots("reach") == 1
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []


@pytest.mark.soak
def test_a_driver_that_is_killed_is_gone_on_with_by_the_next_attempt(chain: Deployment) -> None:
    killer = threading.Thread(target=lambda: os.kill(driver_at_work(chain.world), signal.SIGKILL), daemon=True)
    killer.start()

    first = chain.run("manual__1")

    assert not killer.is_alive()
    assert "ended without saying what became of its work (exit code" in str(first["cycle_reach"])
    assert not chain.world.outside.table_exists("default.reach")

    (result,) = chain.run("manual__1")["cycle_reach"]

    assert (result["mode"], result["rows_inserted"]) == ("FULL", CHAIN * (CHAIN + 1) // 2)
    numbers = [one["iteration"] for one in chain.passes["cycle_reach"]]
    assert numbers[0] > 1, "it went on, it did not begin anew"
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert_complete(chain)


#: A worker of Airflow's, which runs the tasks of a DAG.
WORKER = """
import sys
from pathlib import Path
from airflow.sdk.bases.operator import ExecutorSafeguard
from tests.operators.test_cluster import run_dag
ExecutorSafeguard.test_mode = True
run_dag(Path(sys.argv[1]), "manual__1")
"""


@pytest.mark.soak
def test_a_driver_whose_worker_is_killed_does_the_work_and_the_retry_finds_it_done(
    chain: Deployment, cluster: Cluster, tmp_path: Path
) -> None:
    chain.use()
    before = len(cluster.applications())
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(chain.world.yaml.parent)],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path / "airflow"), "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    submitted: list[psutil.Process] = []
    try:
        driver = driver_at_work(chain.world)
        submitted = psutil.Process(worker.pid).children(recursive=True)
    finally:
        worker.kill()
        worker.wait()
    assert driver in {process.pid for process in submitted}

    try:
        ended = chain.run("manual__1")["cycle_reach"]
        while "is being refreshed by" in str(ended):  # as long as the driver is at it, Airflow tries again
            ended = chain.run("manual__1")["cycle_reach"]
    finally:
        # A driver that has lost its cluster would wait for it for ever.
        for process in submitted:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    (result,) = ended

    assert result["rows_inserted"] == CHAIN * (CHAIN + 1) // 2
    assert len(cluster.applications()) - before == 1
    assert_complete(chain)
