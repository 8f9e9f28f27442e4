"""``trickle restate``: take the tables of a pipeline back together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from airflow_trickle import clock
from airflow_trickle.cli.opening import moment_of, planned, require_pipeline
from airflow_trickle.cli.output import AsJson, out, print_json
from airflow_trickle.cli.tables import print_table
from airflow_trickle.errors import DefinitionError

if TYPE_CHECKING:
    from airflow_trickle.plan.steps import Plan
    from airflow_trickle.results import RestatedTable

_COLOURS = {"REWOUND": "green", "STARTED_OVER": "yellow", "UNTOUCHED": "dim"}


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(restate)


def restate(
    pipeline: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline by its name, or its YAML file.")],
    to: Annotated[
        str, typer.Option("--to", metavar="TIME", help="The last moment that counts (ISO; UTC if not said).")
    ],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="Where to look for a name: a folder of YAML files.")
    ] = Path("dags"),
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take all tables of a pipeline back to a past moment.

    In one commit, to what they had published by then. The ticks after it can then run again: clear their runs
    in Airflow, or `trickle run`. Sources and tables of other pipelines stay as they are.
    """
    from airflow_trickle.api import Pipeline
    from airflow_trickle.engine.look_back import look_back
    from airflow_trickle.lakehouse.catalog import open_lakehouse

    moment = moment_of(to, "--to")
    assert moment is not None  # noqa: S101 - for the type checker
    if as_json and not yes:
        raise typer.BadParameter("with --json nothing is asked: add --yes to confirm.", param_hint="--json")
    plan = _plan_of(pipeline, path)
    if not yes:
        with open_lakehouse(plan.catalog) as lake:
            found = look_back(lake, plan, moment)
        _print(plan, (past.result for past in found.tables))
        typer.confirm(f"Take pipeline {plan.pipeline} back to {clock.text_of(found.effective_at)}?", abort=True)
    results = Pipeline(plan).restate(moment)
    if as_json:
        print_json({"pipeline": plan.pipeline, "to": moment, "tables": _as_json(results)})
    elif yes:
        _print(plan, results.values())
    else:
        out.print("Done.")


def _plan_of(name: str, folder: Path) -> Plan:
    """The plan of a pipeline, by its name in a folder or by its file.

    Raises:
        UnknownPipeline: there is none of that name, or the file has several.
        DefinitionError: its file is wrong.
    """
    file = Path(name)
    if len(file.parts) != 1 or file.suffix in (".yaml", ".yml"):
        project = planned(file)
        project.raise_for_problems()
        return project.plans[0] if len(project.plans) == 1 else _several(project.plans, file)
    project = planned(folder)
    if own := [problem for broken in project.broken if broken.pipeline == name for problem in broken.problems]:
        raise DefinitionError(own)
    require_pipeline(name, (plan.pipeline for plan in project.plans), f"in '{folder}'")
    return next(plan for plan in project.plans if plan.pipeline == name)


def _several(plans: Iterable[Plan], path: Path) -> Plan:
    names = ", ".join(plan.pipeline for plan in plans)
    raise typer.BadParameter(f"'{path}' has several pipelines: {names}. Name one of them.", param_hint="PIPELINE")


def _as_json(results: dict[str, RestatedTable]) -> dict[str, object]:
    return {name: result.model_dump() for name, result in results.items()}


def _print(plan: Plan, results: Iterable[RestatedTable]) -> None:
    """What becomes of the tables of a pipeline."""
    out.print(Text(f"Pipeline {plan.pipeline}", "bold"))
    rows = (
        (
            each.table,
            Text(str(each.outcome), _COLOURS[str(each.outcome)]),
            clock.text_of(each.effective_at) if each.effective_at else None,
            each.epoch,
            each.reason,
        )
        for each in results
    )
    print_table(out, ["table", "outcome", "state of", "epoch", "reason"], rows)
