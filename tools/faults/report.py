"""The results of mutation testing as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tools.faults.fault import Fault
from tools.faults.running import Result

_COLOURS = {"found": "green", "timed out": "yellow", "unsure": "red", "not found": "red", "error": "red"}


def print_faults(console: Console, faults: Iterable[Fault]) -> None:
    """List faults without trying them."""
    table = Table("fault", "part", "file", "what is wrong")
    for fault in faults:
        table.add_row(fault.id, fault.part, Text(fault.file.removeprefix("airflow_trickle/")), Text(fault.title))
    console.print(table)


def print_result(console: Console, number: int, count: int, result: Result) -> None:
    """One line for a fault that was just tried."""
    told = f"{number}/{count} {result.fault.id}: {result.outcome}"
    where = f" in layer {result.layer}" if result.layer else ""
    by = f" by {result.test}" if result.test else ""
    console.print(Text(f"{told}{where}{by} ({result.seconds:.1f} s)", _COLOURS[result.outcome]), soft_wrap=True)
    for note in result.notes:
        console.print(Text(f"    {note}", "dim"), soft_wrap=True)


def print_results(console: Console, results: Sequence[Result]) -> None:
    """The table at the end, and how many were found."""
    table = Table("fault", "part", "outcome", "layer", "first test that failed", "seconds")
    for one in results:
        outcome = Text(one.outcome, _COLOURS[one.outcome])
        table.add_row(one.fault.id, one.fault.part, outcome, one.layer, Text(one.test), f"{one.seconds:.1f}")
    console.print(table)
    found = sum(one.found for one in results)
    console.print(f"{found} of {len(results)} faults found.")
    for one in results:
        if not one.found:
            console.print(Text(f"{one.outcome}: {one.fault.id} ({one.fault.file}): {one.fault.title}", "red"))


def write_json(path: Path, tree: Path, results: Sequence[Result]) -> None:
    """All results as JSON."""
    said = [
        {
            "id": one.fault.id,
            "title": one.fault.title,
            "part": one.fault.part,
            "file": one.fault.file,
            "outcome": one.outcome,
            "layer": one.layer,
            "test": one.test,
            "seconds": one.seconds,
            "notes": list(one.notes),
        }
        for one in results
    ]
    path.write_text(json.dumps({"tree": str(tree), "faults": said}, indent=2) + "\n", encoding="utf-8")
