"""Processes that stand still before each of their operations until they are let go on; one goes on at a time.

A process is a thread that runs the real code. It stops at each operation on a file and at each transaction of its own,
before and after, but never inside of a transaction, whose locks would hold up the others.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextvars import copy_context
from enum import Enum

import psycopg2

from airflow_trickle.lakehouse.catalog import Lakehouse
from tests.engine.protocol import hooks

#: So long a step may take on a busy machine before the test gives up: it would be a deadlock.
_STUCK_SECONDS = 300


class Killed(BaseException):
    """The process does nothing any more; what its code still tries has no effect."""


class Loss(Enum):
    """What becomes of the connection at the next COMMIT."""

    NONE = "nothing"
    BEFORE = "it is lost before"
    AFTER = "it is lost after"


class Process:
    """One process; `start` gives it something to do, `step` lets it do one operation."""

    def __init__(self, number: int, lake: Lakehouse) -> None:
        #: The number that leases have of it.
        self.pid = number
        self.lake = lake
        self.loss = Loss.NONE
        self.error: BaseException | None = None
        self.killed = False
        self.did = ""
        self.at = ""
        self._thread: threading.Thread | None = None
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)

    @property
    def busy(self) -> bool:
        return self._thread is not None

    def start(self, what: str, work: Callable[[], object]) -> None:
        """Begin something, and stop before its first operation."""
        assert not self.busy
        self.did, self.error = what, None
        self._thread = threading.Thread(target=copy_context().run, args=(self._run, work), daemon=True)
        self._thread.start()
        self._wait()

    def _run(self, work: Callable[[], object]) -> None:
        CURRENT.process = self
        try:
            with hooks.hooked(self._hook):
                work()
        except BaseException as error:
            self.error = error
        finally:
            self._thread = None
            self.at = "the end"
            self._stopped.release()

    def _hook(self, kind: str, what: str, done: bool) -> None:
        if self.killed:
            raise Killed
        if kind == "COMMIT":
            self._commit(done)
        if kind in ("statement", "COMMIT") or hooks.in_transaction():
            return
        self.at = f"{kind} {what} {'after' if done else 'before'}"
        self._stopped.release()
        self._go.acquire()
        if self.killed:
            raise Killed

    def _commit(self, done: bool) -> None:
        if self.loss is (Loss.AFTER if done else Loss.BEFORE):
            self.loss = Loss.NONE
            if self.lake.database.is_sqlite:
                raise sqlite3.OperationalError("disk I/O error")
            hooks.cut()
            raise psycopg2.OperationalError("server closed the connection unexpectedly")

    def step(self) -> None:
        """One operation."""
        self._go.release()
        self._wait()

    def kill(self) -> None:
        """End it at once: from here on nothing of it has an effect."""
        self.killed = True
        thread = self._thread
        if thread is not None:
            self._go.release()
            self._wait()
        self.lake.close()

    def _wait(self) -> None:
        assert self._stopped.acquire(timeout=_STUCK_SECONDS), f"process {self.pid} is stuck: {self.did}, {self.at}"


class _Current(threading.local):
    process: Process | None = None


CURRENT = _Current()
