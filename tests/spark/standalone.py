"""A real Spark standalone cluster on loopback: a master and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
_READY_SECONDS = 60.0
#: For a Java that lives for seconds: what it would gain by compiling well comes too late.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
#: As in docker/compose.yaml: who does not know the secret is not let in, and what is sent is encrypted.
SECRET = "the secret of the tests' cluster"
AUTHENTICATED = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


@dataclass(frozen=True)
class Cluster:
    """Where the master is, and where its list of workers and applications is."""

    master: str
    page: str

    def state(self) -> dict[str, Any]:
        """What the master says of itself: workers, applications that run, those that have ended."""
        # Not by way of a proxy of the environment.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.page}/json/", timeout=5) as answer:
            return json.loads(answer.read())

    def applications(self) -> list[dict[str, Any]]:
        """Every application so far, those that have ended too."""
        state = self.state()
        return [*state["activeapps"], *state["completedapps"]]

    def connection(self, **conf: str) -> str:
        """An Airflow connection to it, with settings for small drivers and executors."""
        settings = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.ui.enabled": "false",
            **AUTHENTICATED,
            "spark.authenticate.secret": SECRET,
            # Executors have Spark and nothing else: a Python there would be missed at once.
            "spark.pyspark.python": "/there/is/no/python",
            "spark.pyspark.driver.python": sys.executable,
            # Few rows, read once: compiling takes longer than running.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            **conf,
        }
        return json.dumps({"conn_type": "spark", "host": self.master, "extra": {"conf": settings}})


@contextmanager
def running() -> Iterator[Cluster]:
    """Starts the cluster, and leaves nothing of it behind."""
    folder = Path(tempfile.mkdtemp(prefix="trickle-cluster-"))
    port, page = _free_ports(2)
    cluster = Cluster(f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}")
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(_start(folder, "master", "master.Master", "--port", str(port), "--webui-port", str(page)))
        for number in (1, 2):
            sizes = ("--cores", "1", "--memory", "600m", "--webui-port", "0", "--port", "0")
            place = ("--work-dir", str(folder / f"work-{number}"))
            started.append(_start(folder, f"worker-{number}", "worker.Worker", *sizes, *place, cluster.master))
        _wait(cluster, folder, started)
        yield cluster
    finally:
        for process in started:
            # The executors belong to the groups of their workers.
            _end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    environment = {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": " ".join(
            [SHORT_LIVED, *(f"-D{key}={value}" for key, value in AUTHENTICATED.items())]
        ),
        "_SPARK_AUTH_SECRET": SECRET,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }
    command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1"]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, *arguments],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait(cluster: Cluster, folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in started), _logs(folder)
        try:
            if cluster.state()["aliveworkers"] == 2:
                return
        except (OSError, json.JSONDecodeError):
            pass  # a master that is starting has its page before it has what it says in JSON
        time.sleep(0.2)
    raise AssertionError(f"the cluster did not come up:\n{_logs(folder)}")


def _logs(folder: Path) -> str:
    return "\n".join(f"{log.name}:\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
