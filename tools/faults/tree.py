"""A copy of a source tree in which faults are planted, so that nobody's working tree is touched."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.faults.fault import Fault

#: What no test reads, and what is large.
_LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv",
    ".demo",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    "dist",
    "build",
)


def copied(tree: Path, folder: Path) -> Path:
    """Copy a tree into a folder; returns the root of the copy."""
    copy = folder / "tree"
    shutil.copytree(tree, copy, ignore=_LEFT_OUT, symlinks=True)
    return copy


@contextmanager
def planted(fault: Fault, copy: Path) -> Iterator[None]:
    """The copy has a fault for the length of a block."""
    path = copy / fault.file
    before, times = path.read_bytes(), path.stat()
    _write(path, fault.planted(before.decode("utf-8")).encode("utf-8"))
    try:
        yield
    finally:
        _write(path, before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    # Bytecode is told apart by the second and the size of its source: both may be the same with a fault as without.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
