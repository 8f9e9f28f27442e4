"""Whether a process that wrote its identity into the database is surely gone.

A process id alone tells little: containers count from 1, often under the same host name, and ids are used again. So a
process is named by the start of its machine (boot id), its PID namespace, its id there and the tick it was started at.
Of a process of another machine, another start or another container nothing is known: it counts as alive.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
#: Their place behind the name of the command in /proc/PID/stat.
_STATE, _START = 0, 19


@dataclass(frozen=True)
class Process:
    """A process; without a ``boot_id`` (a system without /proc) it cannot be told from others."""

    pid: int
    boot_id: str | None
    pid_namespace: str | None
    start_ticks: int | None


def this_process() -> Process:
    """The identity of the running process."""
    pid = os.getpid()
    try:
        boot_id = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return Process(pid, None, None, None)
    return Process(pid, boot_id, namespace, _started(pid))


def is_gone(row: Mapping[str, Any]) -> bool:
    """Whether the holder of a lease was a process beside this one, and is no more."""
    me, pid = this_process(), row["pid"]
    if me.boot_id is None or (row["boot_id"], row["pid_namespace"]) != (me.boot_id, me.pid_namespace) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)  # asks only; /proc may hide the processes of other users
    except ProcessLookupError:
        return True
    except OSError:
        pass  # there is one, of somebody else
    started = _started(pid)
    return started is not None and row["start_ticks"] is not None and started != row["start_ticks"]


def _started(pid: int) -> int | None:
    """When a process was started, in ticks since the start of the machine; -1: it is a zombie; None: it is not told."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name is in brackets, and may hold any character.
    fields = stat.rpartition(")")[2].split()
    # A zombie holds nothing.
    return -1 if fields[_STATE] in "ZX" else int(fields[_START])
