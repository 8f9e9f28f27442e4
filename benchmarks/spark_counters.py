"""Counts the Spark jobs, stages, bytes and Connect round trips of a block of code."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from airflow_trickle.spark import channel, embedded, tuning

_MS = 1000.0
#: So long the server's listeners may take to note that the last job has ended.
_SETTLE_SECONDS = 5.0
#: Nobody waits for these: a client tells the server that it has received a result, or looks whether it is there.
_IN_BACKGROUND = frozenset(["ReleaseExecute", "ReleaseSession"])


@dataclass
class SparkUse:
    """What a block of code had Spark do."""

    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    #: Bytes of the column chunks that were read, as opposed to those of files that were opened.
    bytes_read: int = 0
    rows_read: int = 0
    bytes_shuffled: int = 0
    #: Seconds of all cores.
    core_seconds: float = 0.0
    #: Calls of the Connect server that the client waits for, by name.
    calls: dict[str, int] = field(default_factory=dict)

    @property
    def round_trips(self) -> int:
        """How often the client waited for the server."""
        return sum(self.calls.values())

    def as_dict(self) -> dict[str, Any]:
        """For a file of results."""
        return {**asdict(self), "round_trips": self.round_trips}


class SparkCounters:
    """Reads the counters of a server by the REST API of its UI, and those of the client by an interceptor."""

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/api/v1/applications"
        # A proxy of the environment must not be asked for loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._calls: Counter[str] = Counter()
        self._lock = threading.Lock()

    def called(self, method: str) -> None:
        """Count a call of the server."""
        name = method.rpartition("/")[2]
        if name not in _IN_BACKGROUND:
            with self._lock:
                self._calls[name] += 1

    @contextmanager
    def counting(self) -> Iterator[SparkUse]:
        """Fills the record at the end of the block; nothing else may use the server meanwhile."""
        use = SparkUse()
        last = max((job["jobId"] for job in self._jobs()), default=-1)
        with self._lock:
            self._calls.clear()
        yield use
        with self._lock:
            use.calls = dict(sorted(self._calls.items()))
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            jobs = [job for job in self._jobs() if job["jobId"] > last]
            if all(job["status"] != "RUNNING" for job in jobs) or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self._add(use, jobs)

    def _add(self, use: SparkUse, jobs: list[dict[str, Any]]) -> None:
        numbers = {number for job in jobs for number in job["stageIds"]}
        ran = [one for one in self._ask("stages") if one["stageId"] in numbers and one["status"] != "SKIPPED"]
        use.jobs = len(jobs)
        use.stages = len(ran)
        use.tasks = sum(one["numCompleteTasks"] for one in ran)
        use.bytes_read = sum(one["inputBytes"] for one in ran)
        use.rows_read = sum(one["inputRecords"] for one in ran)
        use.bytes_shuffled = sum(one["shuffleWriteBytes"] for one in ran)
        use.core_seconds = round(sum(one["executorRunTime"] for one in ran) / _MS, 3)

    def _jobs(self) -> list[dict[str, Any]]:
        return self._ask("jobs")

    def _ask(self, what: str) -> list[dict[str, Any]]:
        if embedded.running_state() is None:
            return []
        with self._opener.open(self._address, timeout=30) as answer:
            application = json.load(answer)[0]["id"]
        with self._opener.open(f"{self._address}/{application}/{what}", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found


@contextmanager
def counted_server(home: Path) -> Iterator[SparkCounters]:
    """Use an embedded server of one's own whose UI answers on loopback, and stop it at the end."""
    port = _free_port()
    counters = SparkCounters(port)
    environment, settings, builder = dict(os.environ), tuning.server_settings, channel.channel_builder
    ui = {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.port.maxRetries": "0",
        "spark.ui.killEnabled": "false",
        "spark.ui.retainedJobs": "1000",
        "spark.ui.retainedStages": "2000",
    }
    if memory := os.environ.get("TRICKLE_BENCH_DRIVER_MEMORY"):
        ui["spark.driver.memory"] = memory
    os.environ["TRICKLE_SPARK_HOME"] = str(home)
    os.environ.setdefault("TRICKLE_SPARK_IDLE_MINUTES", "15")
    tuning.server_settings = lambda *given: {**settings(*given), **ui}
    channel.channel_builder = _watched(builder, counters.called)
    try:
        yield counters
    finally:
        embedded.stop()
        tuning.server_settings, channel.channel_builder = settings, builder
        os.environ.clear()
        os.environ.update(environment)


def _watched(builder: Callable[..., Any], called: Callable[[str], None]) -> Callable[..., Any]:
    """Make channel builders whose channels report every call."""
    import grpc  # type: ignore[import-untyped]

    class Interceptor(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
        def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            called(details.method)
            return continuation(details, request)

        def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
            called(details.method)
            return continuation(details, request)

    def build(*args: Any, **options: Any) -> Any:
        made = builder(*args, **options)
        made.add_interceptor(Interceptor())
        return made

    return build


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
