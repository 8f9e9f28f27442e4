"""When a test runs into its time limit: what the Spark server of the run was doing, and a new one for the others.

All tests share that server. One that hangs takes every later test down with it, each after its full time limit, until
nobody waits any longer and nobody has learned why.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time

import pytest

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.spark import embedded

_MOST = 60_000
#: Threads that wait for work say nothing.
_IDLE = re.compile(r"ThreadPoolExecutor\.getTask|ForkJoinPool\.awaitWork|LinkedBlockingQueue\.take\(|EPoll|no stack")


def is_timeout(call: pytest.CallInfo[None]) -> bool:
    """Whether pytest-timeout has ended this part of a test."""
    return call.excinfo is not None and "Timeout (>" in str(call.excinfo.value)


def threads_of_the_server() -> str:
    """The stacks of the server's busy or blocked threads, as Java prints them into the server's log on SIGQUIT."""
    files, state = embedded.server_files(), embedded.running_state()
    if state is None:
        return f"It does not run. The end of its log:\n{files.log_tail(40)}"
    begin = files.log.stat().st_size
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGQUIT)
    time.sleep(3)
    with files.log.open(encoding="utf-8", errors="replace") as log:
        before = log.read(begin)[-4_000:]
        told = log.read()
    stacks = [one for one in told.split("\n\n") if not _IDLE.search(one) and "\tat " in one]
    return f"Its log:\n{before}\n\n" + "\n\n".join(stacks)[:_MOST]


def end_the_server() -> None:
    """Whoever needs it next starts another."""
    if "TRICKLE_SPARK_HOME" in os.environ:  # the one of the run, or one that a test has for itself
        with contextlib.suppress(SparkUnavailable):
            embedded.stop()
