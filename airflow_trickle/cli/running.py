"""``trickle run``: one tick of one or all pipelines, without Airflow."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from airflow_trickle.cli.ahead import notes_of_spark, print_notes
from airflow_trickle.cli.opening import (
    PathArgument,
    SparkUrl,
    UnknownTable,
    did_you_mean,
    moment_of,
    planned,
    use_spark,
)
from airflow_trickle.cli.opening import require_pipeline as require
from airflow_trickle.cli.output import AsJson, complain, counted, err, error_json, out, print_json
from airflow_trickle.cli.tables import print_table, seconds
from airflow_trickle.errors import DefinitionError, SourceMissing, TickFailed, TrickleError

if TYPE_CHECKING:
    from airflow_trickle.api import Pipeline
    from airflow_trickle.plan.build import PlannedProject
    from airflow_trickle.plan.steps import Plan
    from airflow_trickle.results import TableResult

_COLOURS = {"FULL": "green", "DIFFERENTIAL": "green", "NO_DATA": "dim", "SKIPPED": "yellow"}
_ALL = "all"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(run)


def run(
    path: PathArgument = Path("dags"),
    pipeline: Annotated[
        str | None, typer.Option("--pipeline", "-p", metavar="NAME", help="Only this pipeline.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="Read the sources as they were then (ISO; UTC if not said)."),
    ] = None,
    full_refresh: Annotated[
        list[str] | None,
        typer.Option(
            "--full-refresh",
            metavar="TABLE",
            help="Compute this table anew even if nothing changed; may be given several times; 'all': every one.",
        ),
    ] = None,
    spark: SparkUrl = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what happens as it happens.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one tick: refresh every table that has something to do.

    First sources that are no Iceberg tables are captured, then the snapshots of all sources are pinned,
    then the tables are refreshed, upstream first. What fails holds up only those that read it. Exit code 1
    if anything failed.
    """
    moment = moment_of(as_of)
    use_spark(spark)
    project = planned(path)
    plans = _in_order(_chosen(project, pipeline, path))
    wanted = _wanted(plans, full_refresh or [])
    notes = notes_of_spark(plans)
    if not as_json:
        print_notes(notes)
    said: dict[str, Any] = {}
    skipped: dict[str, list[int]] = {}
    failures: dict[str, Any] = {}
    with _telling(verbose):
        for plan in plans:
            strata: list[int] = []
            results, error = _tick(plan, moment, wanted, strata, quiet=as_json)
            skipped[plan.pipeline] = strata
            said[plan.pipeline] = {name: result.model_dump(mode="json") for name, result in results.items()}
            if not as_json:
                _print(plan, results.values(), error, strata)
            if error is not None:
                failures[plan.pipeline] = error_json(error)["error"]
                if not isinstance(error, (TickFailed, SourceMissing)):
                    break  # the catalog or a setting: the other pipelines would say the same
    if as_json:
        told = {"ok": not failures, "pipelines": said, "failures": failures}
        print_json({**told, "skipped_strata": skipped, "notes": notes})
    if failures:
        raise typer.Exit(1)


class _Teller(logging.Handler):
    """Log lines on standard error, above a progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        err.print(Text.assemble((f"{time.strftime('%H:%M:%S')} ", "dim"), record.getMessage()))


@contextmanager
def _telling(verbose: bool) -> Iterator[None]:
    """Show what this package logs, if wanted."""
    logger = logging.getLogger("airflow_trickle")
    before = logger.level, logger.propagate
    teller = _Teller()
    if verbose:
        logger.addHandler(teller)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(teller)
        logger.level, logger.propagate = before


def _chosen(project: PlannedProject, name: str | None, path: Path) -> list[Plan]:
    """The plans to run; what is wrong with other files matters only when all are wanted."""
    if name is None:
        project.raise_for_problems()
        return list(project.plans)
    if own := [problem for file in project.broken if file.pipeline == name for problem in file.problems]:
        raise DefinitionError(own)
    require(name, (plan.pipeline for plan in project.plans), f"in '{path}'")
    return [plan for plan in project.plans if plan.pipeline == name]


def _in_order(plans: list[Plan]) -> list[Plan]:
    """Pipelines whose tables or mirrors others read come first; by name where that leaves a choice."""
    writer = {capture.identifier: plan.pipeline for plan in reversed(plans) for capture in plan.captures}
    writer |= {table.identifier: plan.pipeline for plan in plans for table in plan.tables}
    by_name = {plan.pipeline: plan for plan in plans}
    reads = {
        plan.pipeline: sorted({writer.get(ref.identifier, plan.pipeline) for ref in plan.pin.inputs} - {plan.pipeline})
        for plan in plans
    }
    sorter = TopologicalSorter(reads)
    try:
        sorter.prepare()
    except CycleError:
        # Their tables form no cycle, but the pipelines read each other: each sees the other's last state.
        return plans
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        ordered += ready
        sorter.done(*ready)
    return [by_name[name] for name in ordered]


def _wanted(plans: Iterable[Plan], names: list[str]) -> frozenset[str]:
    """The tables to compute anew, all of them known."""
    tables = [table.name for plan in plans for table in plan.tables]
    if _ALL in names:
        return frozenset(tables)
    for name in names:
        if name not in tables:
            raise UnknownTable(
                f"--full-refresh: there is no stream table '{name}' in what is run.{did_you_mean(name, tables)}"
            )
    return frozenset(names)


def _tick(
    plan: Plan, as_of: datetime | None, full_refresh: frozenset[str], skipped: list[int], *, quiet: bool
) -> tuple[dict[str, TableResult], TrickleError | None]:
    from airflow_trickle.api import Pipeline

    pipeline = Pipeline(plan)
    wanted = full_refresh.intersection(pipeline.tables)
    try:
        with _progress(pipeline, quiet=quiet) as listeners:
            return pipeline.tick(as_of=as_of, full_refresh=wanted, passed_over=skipped.extend, **listeners), None
    except TickFailed as error:
        return error.results, error
    except TrickleError as error:
        return {}, error


@contextmanager
def _progress(pipeline: Pipeline, *, quiet: bool) -> Iterator[dict[str, Any]]:
    """A bar on a terminal that tells which table is being refreshed."""
    if quiet or not err.is_terminal:
        yield {}
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as progress:
        steps = len(pipeline.tables) + len(pipeline.plan.captures)
        bar = progress.add_task(f"{pipeline.name}: pinning the sources", total=steps)
        yield {
            "starting": lambda table: progress.update(bar, description=f"{pipeline.name}: {table}"),
            "done": lambda _result: progress.advance(bar),
            "progress": lambda unit, one: progress.update(
                bar, description=f"{pipeline.name}: {unit}, pass {one.number}: {counted(one.total, 'row')} changed"
            ),
        }


def _print(plan: Plan, results: Iterable[TableResult], error: TrickleError | None, skipped: Sequence[int]) -> None:
    """What a tick did, table by table, and what went wrong."""
    if listed := list(results):
        out.print(Text(f"Pipeline {plan.pipeline}", "bold"))
        # Only cycles and recursive queries are refreshed in passes.
        passes = any(result.iterations for result in listed)
        columns = ["table", "mode", "rows in", "inserted", "deleted", *(["iterations"] if passes else [])]
        print_table(out, [*columns, "seconds", "reason"], (_row(result, passes=passes) for result in listed))
    if skipped:
        some = "Stratum" if len(skipped) == 1 else "Strata"
        out.print(f"{some} {', '.join(map(str, skipped))} passed over: nothing to refresh.")
    if error is not None:
        complain(error, as_json=False)


def _row(result: TableResult, *, passes: bool) -> tuple[Any, ...]:
    return (
        result.table,
        _mode(result),
        result.rows_in,
        result.rows_inserted,
        result.rows_deleted,
        *((result.iterations or None,) if passes else ()),
        seconds(result.seconds),
        _why(result),
    )


def _mode(result: TableResult) -> Text:
    if result.error:
        return Text("FAILED", "red")
    return Text(str(result.mode), _COLOURS[str(result.mode)])


def _why(result: TableResult) -> str:
    return "see the error below" if result.error else result.reason
