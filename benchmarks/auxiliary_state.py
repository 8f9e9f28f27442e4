"""The auxiliary state of a stream table, as its status names it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status


@dataclass(frozen=True)
class State:
    """One auxiliary state: the part of the query (-1 is the outermost operation), its files and bytes."""

    part: int
    files: int
    bytes: int


def state_of(name: str) -> tuple[State, ...]:
    """The states of a table."""
    with open_lakehouse("trickle") as lake:
        known = read_status(lake, [f"default.{name}"]).get(f"default.{name}")
    if known is None or known.kept is None:
        return ()
    states = json.loads(known.kept).get("states", {})
    return tuple(
        State(
            int(part),
            len(one["files"]),
            sum(Path(file.removeprefix("file://")).stat().st_size for file in one["files"]),
        )
        for part, one in sorted(states.items(), key=lambda pair: int(pair[0]))
    )
