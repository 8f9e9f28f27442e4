"""``trickle verify``: whether stream tables hold what their queries say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from airflow_trickle.cli.opening import SparkUrl, UnknownTable, matching, planned, unknown_table, use_spark
from airflow_trickle.cli.output import AsJson, counted, out, print_json, waiting
from airflow_trickle.cli.tables import print_table

if TYPE_CHECKING:
    from airflow_trickle.plan.build import PlannedProject
    from airflow_trickle.plan.steps import Plan
    from airflow_trickle.results import Verification

_COLOURS = {"OK": "green", "DIFFERENT": "red", "CANNOT_TELL": "yellow"}


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(verify)


def verify(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TABLE|PATH",
            help="Stream tables, by default all; then a pipeline's YAML file, or a folder of them, by default 'dags'.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, metavar="NUMBER", help="Show at most so many rows of each table.")
    ] = 10,
    spark: SparkUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check that tables hold exactly what their queries say.

    Each query is run over the inputs as they were when its table was refreshed, and its result is compared
    with the table, row by row. Nothing is published. Exit code 0 only if every table is OK.
    """
    use_spark(spark)
    names, path = _tables_and_path(words or [])
    project = planned(path)
    said: dict[str, Any] = {}
    ok = True
    for plan, tables in _chosen(project, names, path):
        results = _verified(plan, tables, limit, quiet=as_json)
        ok = ok and all(result.ok for result in results)
        said[plan.pipeline] = {result.table: result.model_dump() for result in results}
        if not as_json:
            _print(plan, results)
    if as_json:
        print_json({"ok": ok, "pipelines": said})
    if not ok:
        raise typer.Exit(1)


def _tables_and_path(words: list[str]) -> tuple[list[str], Path]:
    """The last word is the path if it looks like one, or if there is such a file or folder."""
    if words:
        last = Path(words[-1])
        if len(last.parts) != 1 or last.suffix in (".yaml", ".yml") or last.exists():
            return words[:-1], last
    return words, Path("dags")


def _chosen(project: PlannedProject, names: list[str], path: Path) -> list[tuple[Plan, tuple[str, ...]]]:
    """The tables to verify, by plan; what is wrong with other files matters only when all are wanted."""
    if not names:
        project.raise_for_problems()
    identifiers = [table.identifier for plan in project.plans for table in plan.tables]
    wanted = set() if names else set(identifiers)
    for name in names:
        identifier = matching(identifiers, name)
        if identifier is None:
            raise UnknownTable(unknown_table(name, path, identifiers, project))
        wanted.add(identifier)
    chosen = [(plan, tuple(t.name for t in plan.tables if t.identifier in wanted)) for plan in project.plans]
    return [(plan, tables) for plan, tables in chosen if tables]


def _verified(plan: Plan, tables: tuple[str, ...], limit: int, *, quiet: bool) -> list[Verification]:
    from airflow_trickle.api import Pipeline

    with waiting(f"verifying {counted(len(tables), 'table')} of pipeline {plan.pipeline}", quiet=quiet):
        return list(Pipeline(plan).verify(tables, limit=limit).values())


def _print(plan: Plan, results: Iterable[Verification]) -> None:
    """The verdicts on the tables of a pipeline, then the rows that differ."""
    listed = list(results)
    out.print(Text(f"Pipeline {plan.pipeline}", "bold"))
    print_table(
        out,
        ["table", "verdict", "rows", "missing", "surplus", "rounding", "reason"],
        ((r.table, _verdict(r), r.rows, r.missing, r.surplus, r.rounding, _one_line(r.reason)) for r in listed),
    )
    for result in listed:
        if result.differences:
            _print_rows(result)


def _verdict(result: Verification) -> Text:
    return Text(str(result.verdict), _COLOURS[str(result.verdict)])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _print_rows(result: Verification) -> None:
    out.print(Text(f"\n{result.table}: + is missing in the table, - is surplus", "bold"))
    names = list(result.differences[0].row)
    rows = ([f"{each.weight:+}", *(each.row[name] for name in names)] for each in result.differences)
    print_table(out, ["weight", *names], rows, null="NULL")
    shown = sum(abs(each.weight) for each in result.differences)
    total = result.missing + result.surplus
    if shown < total:
        out.print(Text(f"({shown} of {counted(total, 'row')}; --limit shows more)", "dim"))
