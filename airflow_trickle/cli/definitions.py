"""``trickle init``, ``validate`` and ``plan``: nothing here starts Spark or opens a catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airflow_trickle.cli.output import AsJson, err, out, print_json
from airflow_trickle.errors import TrickleError
from airflow_trickle.plan.build import PlannedProject, plan_path
from airflow_trickle.plan.explain import explain_json, explain_text

PathArgument = Annotated[Path, typer.Argument(help="A pipeline's YAML file, or a folder of them.")]

_DAG_FILE = '''"""Airflow finds the stream tables of this folder here."""

from pathlib import Path

from airflow_trickle.dag_factory import build_dags

build_dags(Path(__file__).parent, globals())
'''

_EXAMPLE = """\
# yaml-language-server: $schema=pipeline.schema.json
pipeline: example
description: What was sold, day by day.
schedule: 1h

sources:
  # The Iceberg table default.sales; `trickle init --sample-data` makes a small one.
  sales: {}

stream_tables:
  daily_sales:
    description: Pieces and revenue of every day.
    query: |
      SELECT sold_on, SUM(pieces) AS pieces, SUM(pieces * price) AS revenue
      FROM sales
      GROUP BY sold_on
"""


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(init)
    app.command()(validate)
    app.command()(plan)


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of the project.")] = Path(),
    sample_data: Annotated[bool, typer.Option("--sample-data", help="Also create the source table.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first pipeline, the file that shows it to Airflow, and the schema for editors."""
    from airflow_trickle.definition.schema import schema_text

    dags = folder / "dags"
    wanted = {
        dags / "trickle_dags.py": _DAG_FILE,
        dags / "example.yaml": _EXAMPLE,
        dags / "pipeline.schema.json": schema_text(),
    }
    written, kept = [], []
    try:
        dags.mkdir(parents=True, exist_ok=True)
        for path, text in wanted.items():
            if path.exists():
                kept.append(str(path))
                continue
            path.write_text(text, encoding="utf-8")
            written.append(str(path))
    except OSError as error:
        raise TrickleError(f"Cannot write below {folder}: {error.strerror}. Choose another folder.") from error
    created = _create_sample() if sample_data else []
    if as_json:
        print_json({"written": written, "kept": kept, "tables": created})
        return
    for path in written:
        out.print(f"wrote   {path}")
    for path in kept:
        out.print(f"kept    {path} (it was there already)")
    for table in created:
        out.print(f"created table {table}")
    steps = f"trickle validate {dags}" + (f", then: trickle run {dags}" if sample_data else "")
    out.print(f"Next: {steps}", highlight=False)


def _create_sample() -> list[str]:
    import datetime as dt

    import pyarrow as pa

    from airflow_trickle.cli.opening import lakehouse

    rows = pa.table(
        {
            "sold_on": [dt.date(2026, 1, 1), dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
            "pieces": pa.array([2, 1, 5], pa.int64()),
            "price": pa.array(["9.50", "20.00", "3.00"]).cast(pa.decimal128(10, 2)),
        }
    )
    with lakehouse(None) as lake:
        if lake.table("default.sales") is not None:
            return []
        lake.ensure_namespace("default.sales")
        lake.catalog.create_table("default.sales", schema=rows.schema).append(rows)
    return ["default.sales"]


def validate(path: PathArgument = Path("dags"), as_json: AsJson = False) -> None:
    """Check definitions: all problems of all files at once. Exit code 1 if there are any."""
    planned = plan_path(path)
    if as_json:
        print_json(
            {
                "valid": not planned.broken,
                "pipelines": [p.pipeline for p in planned.plans],
                "warnings": [warning for p in planned.plans for warning in p.warnings],
                "errors": [problem.as_dict() for problem in planned.problems],
            }
        )
        _exit_if_broken(planned)
        return
    _warn(planned)
    planned.raise_for_problems()
    tables = sum(len(p.tables) for p in planned.plans)
    out.print(f"{len(planned.plans)} pipelines with {tables} stream tables: all valid.")


def plan(path: PathArgument = Path("dags"), as_json: AsJson = False) -> None:
    """Show what a tick would do, in order, and why."""
    planned = plan_path(path)
    if as_json:
        print_json(explain_json(planned))
    else:
        for line in explain_text(planned):
            out.print(line, markup=False, highlight=False)
    _exit_if_broken(planned)


def _warn(planned: PlannedProject) -> None:
    for each in planned.plans:
        for warning in each.warnings:
            err.print(f"warning: {warning}", markup=False)


def _exit_if_broken(planned: PlannedProject) -> None:
    if planned.broken:
        raise typer.Exit(1)
