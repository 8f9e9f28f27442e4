"""Runs of pytest one after the other, each in a fork of a process that has the heavy libraries loaded."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from tools.faults.fault import FaultError

#: What most tests import, other than the package. Airflow is not among them: it reads its settings when it is imported.
LIBRARIES = (
    "pytest",
    "hypothesis",
    "hypothesis.strategies",
    "networkx",
    "sqlglot",
    "sqlglot.dialects.spark",
    "sqlglot.dialects.duckdb",
    "pydantic",
    "jsonschema",
    "sqlalchemy",
    "sqlalchemy.dialects.sqlite",
    "sqlalchemy.dialects.postgresql",
    "pyarrow.compute",
    "pyarrow.parquet",
    "duckdb",
    "pandas",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
    "typer.testing",
)
_SCRIPT = Path(__file__).with_name("warm.py")


class Forks:
    """Starts the process when it is first needed; whoever makes one closes it."""

    def __init__(self, folder: Path, output: Path, environment: Mapping[str, str], libraries: Sequence[str]) -> None:
        self._folder, self._output, self._environment = folder, output, environment
        self._libraries = libraries
        self._warm: subprocess.Popen[bytes] | None = None

    def run(self, options: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[int, str] | None:
        """The exit code and the output of pytest; None if it took too long and was ended.

        Raises:
            FaultError: the process that forks has ended.
        """
        warm = self._started()
        call = {"options": list(options), "environment": dict(environment), "output": str(self._output)}
        _written(warm, json.dumps(call).encode() + b"\n")
        process = int(_line(warm))
        try:
            timed_out = not _says_something(warm, seconds)
            if timed_out:
                _end(process)
            code = int(_line(warm))
        except BaseException:
            _end(process)
            self.close()
            raise
        return None if timed_out else (code, self._output.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """End the process that forks, if it runs."""
        if self._warm is not None:
            self._warm.kill()
            self._warm.communicate()
            self._warm = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._warm is None or self._warm.poll() is not None:
            self._warm = subprocess.Popen(
                [sys.executable, str(_SCRIPT), *self._libraries],
                cwd=self._folder,
                env=dict(self._environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        return self._warm


def _written(warm: subprocess.Popen[bytes], line: bytes) -> None:
    with suppress(BrokenPipeError):  # the missing answer tells
        cast("IO[bytes]", warm.stdin).write(line)


def _line(warm: subprocess.Popen[bytes]) -> bytes:
    line = cast("IO[bytes]", warm.stdout).readline()
    if not line:
        raise FaultError("the process that runs pytest has ended")
    return line


def _says_something(warm: subprocess.Popen[bytes], seconds: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(cast("IO[bytes]", warm.stdout), selectors.EVENT_READ)
        return bool(selector.select(seconds))


def _end(process: int) -> None:
    """End a run with all that is in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
