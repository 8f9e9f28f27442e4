"""Where the time of a refresh goes, and how many bytes it moves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class Phase(str, Enum):
    """The parts of a refresh, in their order."""

    PIN = "pin"
    READ = "read"
    COMPUTE = "compute"
    #: Making notes of all groups, by which later refreshes are quicker.
    KEEP = "keep"
    WRITE = "write"
    COMMIT = "commit"


class Phases:
    """A stopwatch with a hand for every phase; nested phases count for the inner one only."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.bytes_written = 0
        self._seconds: dict[Phase, float] = {}
        self._running: list[Phase] = []
        self._since = 0.0

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Counts the block for a phase."""
        self._stop()
        self._running.append(name)
        try:
            yield
        finally:
            self._stop()
            self._running.pop()

    def _stop(self) -> None:
        now = time.monotonic()
        if self._running:
            name = self._running[-1]
            self._seconds[name] = self._seconds.get(name, 0.0) + now - self._since
        self._since = now

    @property
    def seconds(self) -> dict[str, float]:
        """By phase, as far as it was gone through."""
        self._stop()
        return {phase.value: round(self._seconds[phase], 3) for phase in Phase if phase in self._seconds}
