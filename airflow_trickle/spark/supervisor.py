"""The process that owns the embedded server: starts the JVM, ends it when nobody uses it, ends with it.

    starter ──(launch as JSON)──> supervisor ──(environment, token)──> JVM
                                     │ holds alive.lock, writes server.json

It is detached from the process that started it and outlives it. It takes its lock before it detaches,
so the starter knows when it returns that somebody is in charge. The JVM dies with the supervisor.
Run as ``python -m airflow_trickle.spark.supervisor <home>``; never imported by anything heavy.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

import psutil

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.folders import private_folder
from airflow_trickle.spark.state import ServerFiles, ServerState, hold, process_started

#: Exit code: another supervisor is there already.
TAKEN = 3
LISTENS = re.compile(rb"Spark Connect server started at: \S+:(\d+)")
_LONGEST_LOG = 20 * 1024 * 1024
_LOOK_EVERY = 15.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Launch:
    """All the supervisor needs to know; written by the starter to its standard input."""

    command: list[str]
    environment: dict[str, str]
    version: str
    settings: str
    idle_seconds: float


@dataclass(frozen=True)
class Server:
    """A running JVM."""

    process: subprocess.Popen[bytes]
    token: str
    #: The read end of a pipe whose other end only the JVM has open: it ends when the JVM ends.
    ended: int
    #: Where in the log its own lines begin.
    log_begins: int

    def wait(self, seconds: float) -> bool:
        """Sleep until the JVM has ended, at most so long; true when it has."""
        select.select([self.ended], [], [], seconds)
        return self.process.poll() is not None


def main(home: str) -> None:
    """Take the lock, detach, and look after a server until its end."""
    launch = Launch(**json.load(sys.stdin))
    files = ServerFiles(Path(home))
    if hold(files.alive) is None:
        sys.exit(TAKEN)
    if os.fork():
        os._exit(0)  # the starter waits for this one only; the lock stays with the child
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server: Server | None = None
    try:
        _empty(files)  # a predecessor may have been killed
        server = _spawn(files, launch)
        state = _introduce(files, launch, server)
        _watch(files, server, state, launch.idle_seconds)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # Nobody shall find the server from here on.
        files.forget()
        if server is not None:
            _end(server.process)
        _empty(files)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def _empty(files: ServerFiles) -> None:
    for name in ("local", "tmp", "warehouse"):
        shutil.rmtree(files.folder / name, ignore_errors=True)


def _spawn(files: ServerFiles, launch: Launch) -> Server:
    for name in ("local", "tmp"):
        private_folder(files.folder / name)
    token = secrets.token_urlsafe(32)
    begin = files.log.stat().st_size
    ended, kept_open = os.pipe()
    process = subprocess.Popen(  # noqa: S603
        launch.command,
        env={**launch.environment, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token},
        cwd=files.folder,
        stdin=subprocess.DEVNULL,
        pass_fds=(kept_open,),
        preexec_fn=_die_with_parent(),  # noqa: PLW1509  (this process has one thread)
    )
    os.close(kept_open)
    return Server(process, token, ended, begin)


def _introduce(files: ServerFiles, launch: Launch, server: Server) -> ServerState:
    """Write down who runs, then also where it listens."""
    me, jvm = os.getpid(), server.process.pid
    state = ServerState(
        supervisor_pid=me,
        supervisor_started=process_started(me) or 0.0,
        pid=jvm,
        pid_started=process_started(jvm) or 0.0,
        token=server.token,
        started_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=launch.version,
        settings=launch.settings,
    )
    files.write(state)
    state = replace(state, port=_port(files, server))
    files.touch()
    files.write(state)
    return state


def _die_with_parent() -> Callable[[], object] | None:
    """On Linux the kernel kills the JVM if the supervisor is killed; elsewhere the next starter does."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _port(files: ServerFiles, server: Server) -> int:
    """Wait for the line of the log that tells the port; the starter gives up if it takes too long."""
    while True:
        ended = server.wait(0.1)
        with files.log.open("rb") as log:
            log.seek(server.log_begins)
            if found := LISTENS.search(log.read()):
                return int(found.group(1))
        if ended:
            sys.exit(1)


def _watch(files: ServerFiles, server: Server, state: ServerState, idle: float) -> None:
    """Return when the server has ended, or when nobody has used it for so long."""
    last_seen = time.time()
    pause = min(_LOOK_EVERY, idle / 4) if idle else _LOOK_EVERY
    while not server.wait(pause):
        _shorten(files.log)
        if not idle:
            continue
        if clients(state):
            last_seen = time.time()
        if time.time() - max(last_seen, files.last_used()) < idle:
            continue
        # Somebody may ask for the server right now: look once more while nobody can.
        with contextlib.suppress(SparkUnavailable), files.locked(1):
            if clients(state) or time.time() - files.last_used() < idle:
                continue
            print(f"Nobody has used the server for {idle / 60:g} minutes: it ends.", flush=True)
            files.forget()
            _end(server.process)
            return


def clients(state: ServerState) -> bool:
    """Whether anybody is connected: a query may run for hours without a new connection."""
    try:
        found = psutil.Process(state.pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, OSError):
        return True  # not to be seen from here: better to leave it alone
    return any(each.status == psutil.CONN_ESTABLISHED and each.laddr.port == state.port for each in found)


def _shorten(log: Path) -> None:
    """Keep a log from growing for ever: it is written in append mode, so it may be cut."""
    if log.stat().st_size > _LONGEST_LOG:
        shutil.copyfile(log, log.with_suffix(".log.1"))
        os.truncate(log, 0)


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1])
