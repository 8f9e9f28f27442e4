"""Limits of what is read, checked before anything is parsed: one bad file must not stop the others."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import yaml
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent

from airflow_trickle.errors import Position, Problem

#: Far more than anybody writes by hand, and little enough to be read at once.
MAX_FILE_BYTES = 4 * 1024 * 1024
#: PyYAML builds nested values by recursion, the C parser on the C stack.
MAX_DEPTH = 100
#: Values after every alias and every ``<<`` has been replaced by what it stands for.
MAX_VALUES = 200_000


class TooMuch(Exception):
    """A file that is not read: show ``problem`` to its author."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


def read_bytes(path: Path) -> bytes:
    """The content of a regular file that is not too large.

    Raises:
        OSError: it cannot be read, or is something else: a pipe would be waited for without end.
        ValueError: it is too large.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES // 1024 // 1024} MiB")
    return content


def check_yaml(source: str, file: str, loader: Any) -> None:
    """Looks at the events of a YAML text, which nest nothing, before anybody builds values of them.

    Raises:
        TooMuch: it is nested too deep, or its aliases stand for too much.
        yaml.YAMLError: it is not YAML.
    """
    #: By anchor: how many values it stands for.
    sizes: dict[str, int] = {}
    open_collections: list[tuple[str | None, int]] = []
    count = 0
    for event in yaml.parse(source, Loader=loader):
        if isinstance(event, AliasEvent):
            count += sizes.get(event.anchor or "", 1)
        elif isinstance(event, NodeEvent):
            count += 1
            if isinstance(event, CollectionStartEvent):
                open_collections.append((event.anchor, count))
        elif isinstance(event, CollectionEndEvent):
            anchor, before = open_collections.pop()
            if anchor is not None:
                sizes[anchor] = count - before + 1
        if len(open_collections) > MAX_DEPTH:
            message = f"the file nests lists and mappings more than {MAX_DEPTH} levels deep."
            raise TooMuch(Problem(_at(event, file), message, "Write it flatter."))
        if count > MAX_VALUES:
            message = f"the file has more than {MAX_VALUES:,} values, with what its aliases and '<<' stand for."
            raise TooMuch(Problem(_at(event, file), message, "Use fewer aliases, or split the file."))


def _at(event: Any, file: str) -> Position:
    return Position(file, event.start_mark.line + 1, event.start_mark.column + 1)
