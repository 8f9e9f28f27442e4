"""The embedded Spark: one Spark Connect server per machine and home folder, shared by all processes.

`ensure_running` finds it through ``server.json`` or starts it; a supervisor (see ``supervisor.py``) owns
it from then on. It listens on loopback only and wants the token that stands in that file.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import airflow_trickle
from airflow_trickle.definition.settings import trickle_home
from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.spark import supervisor
from airflow_trickle.spark.launch import prepare_launch, server_properties, settings_hash
from airflow_trickle.spark.state import ServerFiles, ServerState, end_process, is_process
from airflow_trickle.tuning import tuning

log = logging.getLogger(__name__)

#: Long enough for a cold disk and a busy machine; usually it takes 5 to 10 s.
START_SECONDS = 180.0
STOP_SECONDS = 20.0


@dataclass(frozen=True)
class ServerInfo:
    """A server that answers, and what a client needs to reach it."""

    port: int
    pid: int
    supervisor_pid: int
    started_at: str
    version: str
    log: str
    token: str = field(repr=False)
    #: Whether this very call has started it.
    started: bool = False
    host: str = "127.0.0.1"

    def as_dict(self) -> dict[str, Any]:
        """Everything but the token."""
        return {key: value for key, value in asdict(self).items() if key != "token"}


@dataclass(frozen=True)
class ServerStatus:
    """How it stands with the embedded server."""

    state: Literal["running", "starting", "unresponsive", "stopped"]
    detail: str
    folder: str
    info: ServerInfo | None = None

    def as_dict(self) -> dict[str, Any]:
        """As ``trickle spark … --json`` prints it."""
        return {**asdict(self), "info": self.info.as_dict() if self.info else None}


def server_files() -> ServerFiles:
    """The files of the server of this home; ``TRICKLE_SPARK_HOME`` lets several homes share one server."""
    own = os.environ.get("TRICKLE_SPARK_HOME", "").strip()
    home = Path(own).expanduser() if own else trickle_home() / "spark"
    return ServerFiles(home.absolute())  # the supervisor works in another folder


def ensure_running() -> ServerInfo:
    """The embedded server, started if it does not run; several processes may call this at once.

    Raises:
        SparkUnavailable: it cannot be started; the message has the end of its log.
    """
    from airflow_trickle.spark import channel  # imported before the lock: it takes a second

    files = server_files()
    with files.locked():
        # Under the lock: from here on the supervisor knows that the server is wanted.
        files.touch()
        state = _alive(files)
        if state is not None and state.port == 0:  # its starter was killed
            state = _await_start(files)
        if state is not None and _fits(files, state) and channel.answers(state, tuning().spark_answer_seconds, tries=2):
            return _info(files, state)
        # Also when nothing runs: what a killed one left behind, its record first of all, must not be found.
        _end(files)
        return _start(files)


def status() -> ServerStatus:
    """How it stands with the server; starts and changes nothing."""
    from airflow_trickle.spark import channel

    files = server_files()
    folder = str(files.folder)
    state = _alive(files)
    if state is None:
        return ServerStatus("stopped", "The embedded Spark server does not run.", folder)
    if state.port == 0:
        return ServerStatus("starting", f"The embedded Spark server is starting (pid {state.pid}).", folder)
    info = _info(files, state)
    if not channel.answers(state, tuning().spark_answer_seconds):
        detail = f"The embedded Spark server (pid {state.pid}) does not answer. See {files.log}."
        return ServerStatus("unresponsive", detail, folder, info)
    detail = f"The embedded Spark server runs (pid {state.pid}, port {state.port}, since {state.started_at})."
    return ServerStatus("running", detail, folder, info)


def stop() -> ServerStatus:
    """Stop the server, and with it every query that runs on it; harmless if it does not run."""
    files = server_files()
    folder = str(files.folder)
    if not files.folder.exists():
        return ServerStatus("stopped", "The embedded Spark server did not run.", folder)
    with files.locked():
        state = files.read()
        ran = files.supervised() or (state is not None and is_process(state.pid, state.pid_started))
        _end(files)
    pid = f" (pid {state.pid})" if state and ran else ""
    detail = f"The embedded Spark server{pid} {'was stopped' if ran else 'did not run'}."
    return ServerStatus("stopped", detail, folder)


def running_state() -> ServerState | None:
    """The record of a server whose processes live and which listens; asks it nothing."""
    state = _alive(server_files())
    return state if state is not None and state.port else None


def _alive(files: ServerFiles) -> ServerState | None:
    """The record, if its supervisor and its JVM live: a record alone proves nothing."""
    state = files.read()
    if state is None or not is_process(state.pid, state.pid_started):
        return None
    return state if files.supervised() else None


def _fits(files: ServerFiles, state: ServerState) -> bool:
    """Whether the server is the one we would start now; one that others use is taken as it is."""
    if state.settings == settings_hash(server_properties(files)):
        return True
    if not supervisor.clients(state):
        log.info("The settings of the embedded Spark server have changed.")
        return False
    log.warning("The embedded Spark server runs with older settings; it is in use, so it was not restarted.")
    return True


def _info(files: ServerFiles, state: ServerState, started: bool = False) -> ServerInfo:
    return ServerInfo(
        port=state.port,
        pid=state.pid,
        supervisor_pid=state.supervisor_pid,
        started_at=state.started_at,
        version=state.version,
        log=str(files.log),
        token=state.token,
        started=started,
    )


def _start(files: ServerFiles) -> ServerInfo:
    from airflow_trickle.spark import channel

    began = time.monotonic()
    launch = prepare_launch(files)
    log.info("Starting the embedded Spark server; its log is %s.", files.log)
    if files.log.exists():
        files.log.replace(files.log.with_suffix(".log.1"))
    package = str(Path(airflow_trickle.__file__).parents[1])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    with os.fdopen(os.open(files.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", supervisor.__name__, str(files.home)],
            input=json.dumps(asdict(launch)).encode(),
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONPATH": path},
            cwd=files.folder,
            start_new_session=True,
            check=False,
        )
    if done.returncode not in (0, supervisor.TAKEN):
        raise _failed(files, "its supervisor could not be started")
    state = _await_start(files)
    if not channel.answers(state, tuning().spark_answer_seconds, tries=4):
        _end(files)
        raise _failed(files, "it does not answer")
    log.info("The embedded Spark server was started in %.1f s (pid %d).", time.monotonic() - began, state.pid)
    return _info(files, state, started=True)


def _await_start(files: ServerFiles) -> ServerState:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        state = files.read()
        if state is not None and state.port:
            return state
        if not files.supervised():
            raise _failed(files, "it ended at once")
        time.sleep(0.1)
    _end(files)
    raise _failed(files, f"it was not ready after {START_SECONDS:.0f} s")


def _failed(files: ServerFiles, why: str) -> SparkUnavailable:
    tail = files.log_tail()
    return SparkUnavailable(
        f"The embedded Spark server did not start: {why}. The last lines of its log {files.log}:\n{tail}"
    )


def _end(files: ServerFiles) -> None:
    """End supervisor and JVM, gently first; the caller holds the lock."""
    state = files.read()
    if state is not None:
        supervisor_id = (state.supervisor_pid, state.supervisor_started)
        if not end_process(*supervisor_id, signal.SIGTERM, STOP_SECONDS):
            end_process(*supervisor_id, signal.SIGKILL, STOP_SECONDS)
        end_process(state.pid, state.pid_started, signal.SIGKILL, STOP_SECONDS)
    deadline = time.monotonic() + STOP_SECONDS
    while files.supervised():
        if time.monotonic() > deadline:
            raise SparkUnavailable(
                f"The embedded Spark server cannot be stopped: a process that is not in {files.state} "
                f"holds {files.alive}. Find it with: fuser {files.alive}"
            )
        time.sleep(0.05)
    files.forget()
