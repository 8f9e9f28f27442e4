"""How the command speaks: tables and colours for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airflow_trickle import clock
from airflow_trickle.errors import DefinitionError, TickFailed, TrickleError
from airflow_trickle.results import Mode, TableResult

# Width is only limited where a person looks: a pipe gets whole lines.
out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
CatalogName = Annotated[str | None, typer.Option("--catalog", help="The Iceberg catalog; default from the settings.")]

_COLOURS = {Mode.FULL: "green", Mode.DIFFERENTIAL: "green", Mode.NO_DATA: "dim", Mode.SKIPPED: "yellow"}


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.text_of(value)
    return str(value)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
    """Print rows under headings, or ``empty`` when there are none."""
    listed = [[_cell(cell) for cell in row] for row in rows]
    if not listed:
        out.print(empty)
        return
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in listed:
        table.add_row(*row)
    # A table is laid out for the terminal's width, or as wide as it needs for a pipe.
    Console(width=None if out.is_terminal else max(160, out.width)).print(table)


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return Text("-", style="dim")
    if isinstance(value, datetime):
        return Text(value.strftime("%Y-%m-%d %H:%M:%S"))
    return Text(str(value))


def mode_text(result: TableResult) -> Text:
    """A mode in its colour."""
    if result.error:
        return Text("FAILED", style="red")
    return Text(str(result.mode), style=_COLOURS[result.mode])


def print_results(title: str, results: Iterable[TableResult]) -> None:
    """What a tick did, table by table."""
    print_table(
        title,
        ["table", "mode", "rows in", "inserted", "deleted", "seconds", "reason"],
        (
            (r.table, mode_text(r), r.rows_in, r.rows_inserted, r.rows_deleted, f"{r.seconds:.2f}", r.reason)
            for r in results
        ),
        empty="The pipeline has no stream tables.",
    )


def complain(error: TrickleError, *, as_json: bool) -> None:
    """Say what went wrong, on standard error for people, on standard output for programs."""
    if as_json:
        said: dict[str, Any] = {"error": {"type": type(error).__name__, "message": str(error)}}
        if isinstance(error, DefinitionError):
            said["errors"] = [problem.as_dict() for problem in error.problems]
        if isinstance(error, TickFailed):
            said["results"] = {name: result.model_dump(mode="json") for name, result in error.results.items()}
        print_json(said)
        return
    for line in str(error).splitlines():
        err.print(Text.assemble(("error: ", "bold red"), line))
