"""``trickle run``: one tick of one or all pipelines, without Airflow."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from airflow_trickle.api import Pipeline
from airflow_trickle.cli.opening import moment_of
from airflow_trickle.cli.output import AsJson, err, print_json, print_results
from airflow_trickle.errors import DefinitionError, Position, Problem, TickFailed
from airflow_trickle.plan.build import plan_path
from airflow_trickle.results import TableResult


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(run)


def run(
    path: Annotated[Path, typer.Argument(help="A pipeline's YAML file, or a folder of them.")] = Path("dags"),
    pipeline: Annotated[str | None, typer.Option("--pipeline", "-p", help="Only this pipeline.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Read the sources as they were then (ISO time; UTC if not said).")
    ] = None,
    full_refresh: Annotated[
        list[str] | None, typer.Option("--full-refresh", help="Recompute this table even if nothing changed; `all` for every one.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what happens as it happens.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one tick: pin the sources, then refresh every table that has something to do."""
    moment = moment_of(as_of)
    if verbose:
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[RichHandler(console=err, show_path=False)])
    said: dict[str, Any] = {}
    failure: TickFailed | None = None
    for chosen in _chosen(path, pipeline):
        wanted: list[str] | bool = True if "all" in (full_refresh or []) else _of(chosen, full_refresh or [])
        try:
            results = _tick(chosen, moment, wanted, quiet=as_json)
        except TickFailed as error:
            results, failure = error.results, error
        said[chosen.name] = {name: result.model_dump(mode="json") for name, result in results.items()}
        if not as_json:
            print_results(f"Pipeline {chosen.name}", results.values())
    if as_json:
        print_json({"ok": failure is None, "pipelines": said})
        if failure is not None:
            raise typer.Exit(1)
    elif failure is not None:
        raise failure


def _chosen(path: Path, name: str | None) -> list[Pipeline]:
    planned = plan_path(path)
    if name is not None:
        return [Pipeline.load(path, name)]
    planned.raise_for_problems()
    if not planned.plans:
        raise DefinitionError(
            [Problem(Position(str(path), 1, 1), "there is no pipeline here.", "`trickle init` writes a first one.")]
        )
    return [Pipeline(plan) for plan in _in_order(planned.plans)]


def _in_order(plans: tuple[Any, ...]) -> list[Any]:
    """Pipelines whose tables others read come first."""
    import networkx as nx

    writer = {table.identifier: plan.pipeline for plan in plans for table in plan.tables}
    by_name = {plan.pipeline: plan for plan in plans}
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(sorted(by_name))
    for plan in plans:
        for ref in plan.pin.inputs:
            if writer.get(ref.identifier, plan.pipeline) != plan.pipeline:
                graph.add_edge(writer[ref.identifier], plan.pipeline)
    return [by_name[name] for name in nx.lexicographical_topological_sort(graph)]


def _of(pipeline: Pipeline, names: list[str]) -> list[str]:
    """The wanted tables that this pipeline has; a name that no table has is an error of `tick`."""
    return [name for name in names if name in pipeline.tables] or names


def _tick(
    pipeline: Pipeline, as_of: datetime | None, full_refresh: list[str] | bool, *, quiet: bool
) -> dict[str, TableResult]:
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=quiet or not err.is_terminal,
    ) as progress:
        bar = progress.add_task(f"{pipeline.name}: pinning the sources", total=len(pipeline.tables))
        return pipeline.tick(
            as_of=as_of,
            full_refresh=full_refresh,
            starting=lambda table: progress.update(bar, description=f"{pipeline.name}: {table}"),
            done=lambda _result: progress.advance(bar),
        )
