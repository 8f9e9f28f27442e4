"""``trickle init`` and ``plan``: nothing here starts Spark; only sample data needs a catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_trickle.cli.ahead import notes_of, print_notes
from airflow_trickle.cli.opening import PathArgument, lakehouse, planned
from airflow_trickle.cli.output import AsJson, out, print_json
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.plan.build import PlannedProject

_DAG_FILE = '''"""Turns every pipeline file of this folder into an Airflow DAG."""

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
    app.command()(plan)


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the project.")] = Path(),
    sample_data: Annotated[
        bool, typer.Option("--sample-data", help="Also create the source table of the example.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a first pipeline.

    Writes below FOLDER/dags an example pipeline, the file that shows it to Airflow, and the JSON Schema
    with which editors complete and check pipeline files. Files that are there already are kept.
    """
    from airflow_trickle.definition.schema import schema_text

    dags = folder / "dags"
    wanted = {
        dags / "trickle_dags.py": _DAG_FILE,
        dags / "example.yaml": _EXAMPLE,
        dags / "pipeline.schema.json": schema_text(),
    }
    written, kept = _write(folder, wanted)
    created = _create_sample() if sample_data else []
    if as_json:
        print_json({"written": written, "kept": kept, "tables": created})
        return
    for path in written:
        out.print(f"wrote    {path}")
    for path in kept:
        out.print(f"kept     {path} (it was there already)")
    for table in created:
        out.print(f"created  table {table}")
    if sample_data and not created:
        out.print("kept     table default.sales (it was there already)")
    out.print(f"Next: trickle {'run' if sample_data else 'validate'} {dags}")


def _write(folder: Path, wanted: dict[Path, str]) -> tuple[list[str], list[str]]:
    written: list[str] = []
    kept: list[str] = []
    try:
        for path, text in wanted.items():
            if path.exists():
                kept.append(str(path))
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(str(path))
    except OSError as error:
        raise TrickleError(f"Cannot write below '{folder}': {error.strerror}. Choose another folder.") from error
    return written, kept


def _create_sample() -> list[str]:
    from airflow_trickle.lakehouse.sample import SAMPLE, create_sample

    with lakehouse(None) as lake:
        return [SAMPLE] if create_sample(lake) else []


def plan(path: PathArgument = Path("dags"), as_json: AsJson = False) -> None:
    """Show what a tick does, in order, and why."""
    from airflow_trickle.plan.explain import explain_json, explain_text

    project = planned(path)
    notes = notes_of(project)
    if as_json:
        print_json({**explain_json(project), "notes": notes})
    else:
        for line in explain_text(project):
            out.print(line)
        print_notes(notes)
    _exit_if_broken(project)


def _exit_if_broken(project: PlannedProject) -> None:
    if project.broken:
        raise typer.Exit(1)
