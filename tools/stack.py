"""A real Airflow on this machine: api-server, scheduler and dag-processor, started and stopped together.

Each part runs in a session of its own, so that a Ctrl-C at the terminal reaches only us. At the end
everything is found again in two ways: by its session (tasks are put into groups of their own, and rename
themselves over their environment) and by a mark in its environment (what a task started in a further
session, such as a Spark server). So nothing outlives us.
"""

from __future__ import annotations

import configparser
import contextlib
import io
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

import psutil

from tools.airflow_api import AirflowApi

_USER = "admin"
_MARK = "TRICKLE_STACK_HOME"
_PARTS: dict[str, tuple[str, ...]] = {
    "api-server": ("api-server",),
    # The api-server reads the log files itself: no second log server on a fixed port.
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
}
#: What Airflow's health report calls our parts.
_HEALTHY = ("metadatabase", "scheduler", "dag_processor")


class StackError(RuntimeError):
    """Airflow did not come up; the message holds the end of the log that tells why."""


class Stack:
    """One Airflow in one folder.

    >>> with Stack(Path(".demo/airflow"), Path("dags")) as stack:   # doctest: +SKIP
    ...     run = stack.api.trigger("webshop")
    """

    def __init__(
        self,
        home: Path,
        dags: Path,
        say: Callable[[str], None] = print,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home.resolve()
        self.dags = dags.resolve()
        self.user = _USER
        self.password = secrets.token_urlsafe(12)
        self.url = f"http://127.0.0.1:{_free_port()}"
        self.api = AirflowApi(self.url, self.user, self.password)
        #: The environment of every part, for whoever wants to see what its tasks see.
        self.env = {
            # Settings of an Airflow that the user has elsewhere must not leak into this one.
            **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW__")},
            **(env or {}),
            "AIRFLOW_HOME": str(self.home),
            _MARK: str(self.home),
            # By which we find our Spark again.
            "TRICKLE_SPARK_ENVIRONMENT": _MARK,
        }
        self._say = say
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._replaced: set[int] = set()

    @property
    def passwords_file(self) -> Path:
        """Where Airflow's SimpleAuthManager keeps the generated password."""
        return self.home / "simple_auth_manager_passwords.json.generated"

    def __enter__(self) -> Stack:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, seconds: float = 120.0) -> None:
        """Set up the folder and the database, start the parts and wait until all are healthy."""
        began = time.monotonic()
        self.end_leftovers()
        self._write_files()
        self._say(f"Creating Airflow's database, starting {', '.join(_PARTS)} on {self.url}")
        # The slowest to start goes first: it wants the database only with the first request.
        self._processes["api-server"] = self._spawn("api-server")
        self._migrate()
        self._processes.update((part, self._spawn(part)) for part in _PARTS if part != "api-server")
        self._remember()
        self._wait(began, began + seconds)
        self._say(f"Airflow is ready after {time.monotonic() - began:.0f} s")

    def stop(self, grace: float = 10.0) -> None:
        """End all that was started: TERM to each part, then KILL to what is left. Safe to call twice."""
        with _undisturbed():
            self.api.close()
            for process in self._processes.values():
                process.terminate()
            deadline = time.monotonic() + grace
            for process in self._processes.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.1, deadline - time.monotonic()))
            _end(self.processes(), grace=3.0)
            for process in self._processes.values():
                process.wait()

    def replace(self, part: str) -> None:
        """Kill a part of Airflow as a machine that fails would (SIGKILL), and start it again."""
        self._processes[part].kill()
        self._processes[part].wait()
        # What it had started may live on, in its session.
        self._replaced.add(self._processes[part].pid)
        self._processes[part] = self._spawn(part)
        self._remember()

    def processes(self) -> list[psutil.Process]:
        """Every living process, but this one, that was started for our folder."""
        sessions = {process.pid for process in self._processes.values()} | self._replaced
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                ours = os.getsid(process.pid) in sessions
                ours = ours or process.environ().get(_MARK) == str(self.home)
                if ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def end_leftovers(self) -> None:
        """End what an earlier start in the same folder left behind because it was killed itself."""
        file = self.home / "out" / "processes.json"
        sessions = set()
        for pid, born in json.loads(file.read_text(encoding="utf-8")).values() if file.exists() else ():
            with contextlib.suppress(psutil.NoSuchProcess):
                if psutil.Process(pid).create_time() == born:
                    sessions.add(pid)
        leftovers = self.processes()
        for process in psutil.process_iter():
            with contextlib.suppress(OSError):
                if os.getsid(process.pid) in sessions:
                    leftovers.append(process)
        _end(leftovers, grace=1.0)

    def _remember(self) -> None:
        """Write down what runs, for the next start if this process is killed before it can stop it."""
        started = {
            part: [process.pid, psutil.Process(process.pid).create_time()] for part, process in self._processes.items()
        }
        (self.home / "out" / "processes.json").write_text(json.dumps(started), encoding="utf-8")

    def _write_files(self) -> None:
        (self.home / "out").mkdir(parents=True, exist_ok=True)
        config = configparser.ConfigParser(interpolation=None)
        config.read_dict(self._settings())
        text = io.StringIO()
        config.write(text)
        _write_private(self.home / "airflow.cfg", text.getvalue())
        _write_private(self.passwords_file, json.dumps({self.user: self.password}))

    def _settings(self) -> dict[str, dict[str, str]]:
        """Settings for one machine and a quick answer; kept in airflow.cfg so that its CLI works too."""
        home, dags = (str(path).replace("%", "%%") for path in (self.home, self.dags))
        port = self.url.rpartition(":")[2]
        return {
            "core": {
                "dags_folder": dags,
                "plugins_folder": f"{home}/plugins",
                "executor": "LocalExecutor",
                # Each worker is forked at start, and two cores run no more than a few tasks at a time.
                "parallelism": "4",
                "load_examples": "False",
                "fernet_key": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "simple_auth_manager_users": f"{self.user}:admin",
                "execution_api_server_url": f"{self.url}/execution/",
                "min_serialized_dag_update_interval": "1",
            },
            "database": {
                "sql_alchemy_conn": f"sqlite:///{home}/airflow.db",
                # The api-server starts while the database is being created.
                "check_migrations": "False",
            },
            "api": {
                "host": "127.0.0.1",
                "port": port,
                "base_url": self.url,
                "workers": "1",
                "secret_key": secrets.token_hex(32),
            },
            "api_auth": {"jwt_secret": secrets.token_hex(32)},
            "logging": {"base_log_folder": f"{home}/logs"},
            # Quick enough for somebody who waits, and little enough to leave the cores to the tasks.
            "scheduler": {"scheduler_idle_sleep_time": "0.4"},
            "dag_processor": {
                "parsing_processes": "1",
                "refresh_interval": "10",
                "min_file_process_interval": "20",
            },
            "usage_data_collection": {"enabled": "False"},
        }

    def _command(self, arguments: Iterable[str]) -> list[str]:
        return [sys.executable, "-m", "airflow", *arguments]

    def _migrate(self) -> None:
        log = self._log("db-migrate")
        with open(log, "wb") as out:
            code = subprocess.run(
                self._command(("db", "migrate")), env=self.env, stdout=out, stderr=out, check=False
            ).returncode
        if code:
            raise StackError(f"`airflow db migrate` ended with {code}:\n{_tail(log)}")

    def _spawn(self, part: str) -> subprocess.Popen[bytes]:
        with open(self._log(part), "ab") as out:
            return subprocess.Popen(
                self._command(_PARTS[part]),
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _log(self, part: str) -> Path:
        return self.home / "out" / f"{part}.log"

    def _wait(self, began: float, deadline: float) -> None:
        ready: set[str] = set()
        while True:
            for part, process in self._processes.items():
                if process.poll() is not None:
                    raise StackError(f"the {part} ended with {process.returncode} at start:\n{_tail(self._log(part))}")
            health = self.api.health()
            for part in _HEALTHY:
                if health.get(part) == "healthy" and part not in ready:
                    ready.add(part)
                    self._say(f"  {part.replace('_', '-')} is up ({time.monotonic() - began:.0f} s)")
            if len(ready) == len(_HEALTHY):
                self.api.warm_up()
                return
            if time.monotonic() > deadline:
                missing = [part for part in _HEALTHY if part not in ready]
                logs = "\n".join(f"--- {part}\n{_tail(self._log(part))}" for part in _PARTS)
                raise StackError(f"not healthy in time: {', '.join(missing)}\n{logs}")
            time.sleep(0.25)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


def _tail(path: Path, lines: int = 25) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave half of the processes behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(processes: list[psutil.Process], grace: float) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=grace)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=grace)
