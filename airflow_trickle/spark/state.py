"""The files of the embedded server, and the record by which every process finds it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from filelock import FileLock, Timeout

from airflow_trickle.errors import SparkUnavailable
from airflow_trickle.folders import private_folder, require_own


@dataclass(frozen=True)
class ServerState:
    """What the supervisor writes down about the server it runs."""

    supervisor_pid: int
    supervisor_started: float
    #: The JVM; with its start, since a pid is given out again after its process has ended.
    pid: int
    pid_started: float
    token: str = field(repr=False)
    started_at: str
    version: str
    settings: str
    #: 0 until the server listens.
    port: int = 0


@dataclass(frozen=True)
class ServerFiles:
    """The folder of one server. Each machine has its own, since homes may lie on a shared disk."""

    home: Path

    @property
    def folder(self) -> Path:
        """Where everything of this machine's server is."""
        return self.home / re.sub(r"[^\w.-]", "_", socket.gethostname())

    @property
    def state(self) -> Path:
        """The `ServerState` as JSON."""
        return self.folder / "server.json"

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.folder / "server.log"

    @property
    def used(self) -> Path:
        """Its time of change is when somebody last asked for the server."""
        return self.folder / "used"

    @property
    def alive(self) -> Path:
        """Locked by the supervisor as long as it lives: the kernel frees it whatever ends the process."""
        return self.folder / "alive.lock"

    @property
    def user_settings(self) -> Path:
        """A spark-defaults.conf of the user."""
        return self.home / "spark-defaults.conf"

    def prepare(self) -> None:
        """Make the folder, readable by nobody else; one that is there must not be open to other users' files."""
        try:
            require_own(private_folder(self.folder))
        except OSError as error:
            raise SparkUnavailable(
                f"The folder of the embedded Spark cannot be used: {error}. Set TRICKLE_HOME to a folder of yours."
            ) from error

    @contextlib.contextmanager
    def locked(self, seconds: float = 300) -> Iterator[None]:
        """Only one process at a time starts, stops or judges the server."""
        self.prepare()
        try:
            with FileLock(self.folder / "server.lock", timeout=seconds, mode=0o600):
                yield
        except Timeout:
            raise SparkUnavailable(
                f"Another process has been starting or stopping the embedded Spark for {seconds:.0f} s "
                f"(lock {self.folder / 'server.lock'}). See {self.log}."
            ) from None

    def touch(self) -> None:
        """Note that the server is in use now."""
        self.used.touch()

    def last_used(self) -> float:
        """When the server was last asked for, in seconds since 1970."""
        try:
            return self.used.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def read(self) -> ServerState | None:
        """The record, or nothing if there is none or it cannot be understood."""
        try:
            found = json.loads(self.state.read_text(encoding="utf-8"))
            return ServerState(**{item.name: found[item.name] for item in fields(ServerState)})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, state: ServerState) -> None:
        """Replace the record in one step; it holds the token, so only its owner may read it."""
        draft = self.state.with_suffix(f".{os.getpid()}.tmp")
        write_private(draft, json.dumps(asdict(state)))
        draft.replace(self.state)

    def forget(self) -> None:
        """Remove the record."""
        self.state.unlink(missing_ok=True)

    def supervised(self) -> bool:
        """Whether a supervisor lives."""
        held = hold(self.alive)
        if held is None:
            return True
        os.close(held)
        return False

    def log_tail(self, lines: int = 15) -> str:
        """The end of the server's log."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.rstrip().splitlines()[-lines:])


def write_private(path: Path, text: str) -> None:
    """Write a new file that nobody else may read, not even for a moment."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def hold(path: Path) -> int | None:
    """Lock a file for as long as the returned descriptor is open; nothing if somebody else holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def process_started(pid: int) -> float | None:
    """When a process started, on a clock that nobody sets; nothing if it has ended.

    A process that has ended but was not yet collected by its parent (a zombie) counts as ended.
    """
    import psutil

    try:
        if os.path.exists("/proc/self/stat"):
            # After the name in brackets: field 3 is the state, field 22 the start in ticks since boot.
            # psutil turns that into a date, which moves when the machine's clock is corrected.
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            rest = text.rpartition(")")[2].split()
            return None if rest[0] in "ZX" else float(rest[19])
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
    except (OSError, psutil.Error):
        return None


def is_process(pid: int, started: float) -> bool:
    """Whether this very process still runs, and not another one that was given its pid."""
    return pid > 0 and process_started(pid) == started


def end_process(pid: int, started: float, signal: int, seconds: float) -> bool:
    """Send a signal to this very process and wait for its end; true when it has ended."""
    deadline = time.monotonic() + seconds
    if is_process(pid, started):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal)
    while is_process(pid, started):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
