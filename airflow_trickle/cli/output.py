"""How the command speaks: text and colours for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from airflow_trickle import clock
from airflow_trickle.errors import DefinitionError, Problem

# Lines are not broken: a terminal does that itself, and a pipe gets them whole.
out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
err = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
CatalogName = Annotated[
    str | None, typer.Option("--catalog", metavar="NAME", help="The Iceberg catalog; default from the settings.")
]


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """What JSON can hold: moments as ISO text, bytes as hexadecimal, other strangers as their text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, datetime):
        return clock.text_of(value) if value.tzinfo else value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def counted(number: int, word: str) -> str:
    """A number with its word.

    >>> counted(1, "table"), counted(2, "table")
    ('1 table', '2 tables')
    """
    return f"{number} {word}" + ("" if number == 1 else "s")


def error_json(error: Exception) -> dict[str, Any]:
    """An error as programs get it; a wrong definition with the place of every problem."""
    said: dict[str, Any] = {"error": {"type": type(error).__name__, "message": str(error)}}
    if isinstance(error, DefinitionError):
        said["errors"] = [problem.as_dict() for problem in error.problems]
    return said


def complain(error: Exception, *, as_json: bool) -> None:
    """Say what went wrong: on standard error to people, on standard output to programs."""
    if as_json:
        print_json(error_json(error))
        return
    several = isinstance(error, DefinitionError) and error.problems
    for told in several or [error]:
        first, *others = str(told).splitlines() or [type(error).__name__]
        err.print(Text.assemble(("error: ", "bold red"), first))
        for line in others:
            err.print(Text(f"  {line}".rstrip()))


def print_not_planned(console: Console, problems: Iterable[Problem]) -> None:
    """Say which definitions are left out of what was printed, and why; nothing if none is."""
    for number, problem in enumerate(problems):
        if number == 0:
            console.print(Text("Not planned:", "bold red"))
        first, *others = str(problem).splitlines()
        console.print(f"  {first}")
        for line in others:
            console.print(f"    {line}".rstrip())


@contextmanager
def waiting(what: str, *, quiet: bool = False) -> Iterator[None]:
    """A spinner on a terminal while something takes its time."""
    if quiet or not err.is_terminal:
        yield
        return
    with err.status(what):
        yield
