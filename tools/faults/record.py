"""Which test found each fault the last time: it is tried first, so that a second run takes minutes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

RECORD = Path(__file__).with_name("found.json")


class Finder(NamedTuple):
    """A test that has found a fault, and its layer."""

    layer: str
    test: str


def read_record(path: Path = RECORD) -> dict[str, Finder]:
    """By id of a fault: what found it."""
    if not path.exists():
        return {}
    return {fault: Finder(*found) for fault, found in json.loads(path.read_text(encoding="utf-8")).items()}


def write_record(found: Mapping[str, Finder], known: Iterable[str], path: Path = RECORD) -> None:
    """Write down what found faults, beside what is known of others; a line for each of the known faults."""
    every = {**read_record(path), **found}
    lines = [f"  {json.dumps(fault)}: {json.dumps(every[fault])}" for fault in sorted(known) if fault in every]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
