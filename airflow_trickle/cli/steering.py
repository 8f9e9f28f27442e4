"""``trickle reset`` and ``drop``."""

from __future__ import annotations

from typing import Annotated

import typer

from airflow_trickle.cli.opening import find, lakehouse
from airflow_trickle.cli.output import AsJson, CatalogName, out, print_json
from airflow_trickle.errors import TrickleError

Tables = Annotated[list[str], typer.Argument(help="Stream tables, by name or as namespace.name.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(reset)
    app.command()(drop)


def reset(tables: Tables, catalog: CatalogName = None, as_json: AsJson = False) -> None:
    """Recompute tables from their inputs at the next tick; their rows stay visible until then."""
    from airflow_trickle.engine.steer import reset as reset_table

    with lakehouse(catalog) as lake:
        found = [find(lake, name) for name in tables]
        for each in found:
            reset_table(lake, each)
    names = [each.identifier for each in found]
    if as_json:
        print_json({"reset": names})
        return
    for name in names:
        out.print(f"{name}: the next tick recomputes it.", highlight=False)


def drop(
    tables: Tables,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even if other stream tables read it.")] = False,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Remove tables with all their data. A table that is still in the YAML comes back at the next tick."""
    from airflow_trickle.engine.steer import drop as drop_table

    with lakehouse(catalog) as lake:
        found = [find(lake, name) for name in tables]
        names = [each.identifier for each in found]
        if not yes:
            if as_json:
                raise TrickleError("drop --json asks no questions: add --yes to confirm.")
            typer.confirm(f"Remove {', '.join(names)} with all data?", abort=True)
        for each in found:
            drop_table(lake, each, force=force)
    if as_json:
        print_json({"dropped": names})
        return
    for name in names:
        out.print(f"{name}: dropped.", highlight=False)
