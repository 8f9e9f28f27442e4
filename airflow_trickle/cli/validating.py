"""``trickle validate``: the text alone, and with ``--catalog`` every query over the columns of the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from airflow_trickle.cli.opening import PathArgument, SparkUrl, planned, use_spark
from airflow_trickle.cli.output import AsJson, complain, counted, err, out, print_json, waiting
from airflow_trickle.errors import DefinitionError, TrickleError

if TYPE_CHECKING:
    from airflow_trickle.engine.validation.report import Report
    from airflow_trickle.plan.build import PlannedProject


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(validate)


def validate(
    path: PathArgument = Path("dags"),
    catalog: Annotated[
        bool,
        typer.Option(
            "--catalog", help="Also ask Spark whether it accepts every query over the columns that the catalog has."
        ),
    ] = False,
    spark: SparkUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check definitions: all problems of all files at once.

    Without --catalog only files are read: no catalog and no Spark is needed.
    """
    if spark is not None and not catalog:
        raise typer.BadParameter("Spark is asked only with --catalog.", param_hint="--spark")
    project = planned(path)
    report = _checked(project, spark, as_json=as_json) if catalog else None
    if as_json:
        _print_json(project, report)
    else:
        _print_text(project, report)
    if project.broken or (report is not None and not report.is_good):
        raise typer.Exit(1)


def _checked(project: PlannedProject, spark: str | None, *, as_json: bool) -> Report:
    from airflow_trickle.api import check_queries

    use_spark(spark)
    try:
        with waiting("asking Spark about the queries", quiet=as_json):
            return check_queries(project)
    except TrickleError:
        # What the files alone tell is known all the same.
        if project.broken and not as_json:
            complain(DefinitionError(project.problems), as_json=False)
        raise


def _print_json(project: PlannedProject, report: Report | None) -> None:
    problems = {*project.problems, *(report.problems if report is not None else ())}
    said = {
        "valid": not problems and (report is None or report.is_good),
        "pipelines": [plan.pipeline for plan in project.plans],
        "warnings": [warning for plan in project.plans for warning in plan.warnings],
        "errors": [problem.as_dict() for problem in sorted(problems)],
    }
    if report is not None:
        said["not_checked"] = [one.as_dict() for one in report.unchecked]
        said["notes"] = [note.as_dict() for note in report.notes]
    print_json(said)


def _print_text(project: PlannedProject, report: Report | None) -> None:
    for each in project.plans:
        for warning in each.warnings:
            err.print(Text.assemble(("warning: ", "bold yellow"), f"pipeline '{each.pipeline}': {warning}"))
    for note in report.notes if report is not None else ():
        err.print(Text.assemble(("note: ", "bold"), str(note)))
    problems = {*project.problems, *(report.problems if report is not None else ())}
    if problems:
        complain(DefinitionError(problems), as_json=False)
    for one in report.unchecked if report is not None else ():
        err.print(Text.assemble(("not checked: ", "bold yellow"), str(one)))
    if problems or (report is not None and report.unchecked):
        return
    tables = sum(len(each.tables) for each in project.plans)
    what = f"{counted(len(project.plans), 'pipeline')} with {counted(tables, 'stream table')}"
    checked = "" if report is None else ", and Spark accepts every query over the columns of the catalog"
    out.print(f"{what}: all valid{checked}.")
