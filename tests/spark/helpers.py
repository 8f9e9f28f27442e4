"""Python processes of their own, as Airflow's tasks are."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

#: Keeps both cores busy until it is interrupted.
ENDLESS = "SELECT sum(id % 7) FROM range(0, 1000000000000000, 1, 2)"


def python(code: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str], seconds: float = 240) -> str:
    out, err = process.communicate(timeout=seconds)
    assert out, err
    return out


def eventually(check: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)


@contextlib.contextmanager
def in_thread(work: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Run something beside the body; the list gets its error."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield errors
    thread.join(60)
    assert not thread.is_alive()
