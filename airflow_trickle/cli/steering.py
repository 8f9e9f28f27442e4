"""``trickle suspend``, ``resume``, ``reset``, ``drop`` and ``take-over``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from airflow_trickle.cli.opening import find, lakehouse
from airflow_trickle.cli.output import AsJson, CatalogName, out, print_json

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.state import TableStatus

Tables = Annotated[list[str], typer.Argument(metavar="TABLE", help="Stream tables, by name or as namespace.name.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(suspend)
    app.command()(resume)
    app.command()(reset)
    app.command()(drop)
    app.command()(take_over)


def suspend(tables: Tables, catalog: CatalogName = None, as_json: AsJson = False) -> None:
    """Leave tables as they are until they are resumed.

    The tables of a cycle are refreshed together: with one of them suspended none is. What reads a suspended
    table goes on with its last good state, and says so.
    """
    from airflow_trickle.engine.steer import suspend as suspend_table

    with lakehouse(catalog) as lake:
        found = _found(lake, tables)
        for each in found:
            suspend_table(lake, each)
    names = [each.identifier for each in found]
    if as_json:
        print_json({"suspended": names})
        return
    for each in found:
        out.print(f"{each.identifier}: suspended, until: trickle resume {each.name}")


def resume(
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="TABLE", help="Stream tables, by name or as namespace.name.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are held.")] = False,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Refresh tables again that were suspended or halted.

    The next tick does it. A cycle that did not settle is resumed as a whole, whichever of its tables is named.
    """
    from airflow_trickle.engine.steer import resume as resume_tables
    from airflow_trickle.lakehouse.state import read_status

    if bool(tables) == everything:
        raise typer.BadParameter("name the stream tables to resume, or give --all for all.", param_hint="TABLE")
    with lakehouse(catalog) as lake:
        found = list(read_status(lake).values()) if everything else _found(lake, tables or [])
        resumed = [each.identifier for each in resume_tables(lake, found)]
    if as_json:
        print_json({"resumed": resumed})
        return
    for name in resumed:
        out.print(f"{name}: the next tick refreshes it again.")
    if everything and not resumed:
        out.print("No stream table is suspended or halted.")
    for name in (each.identifier for each in found if not everything and each.identifier not in resumed):
        out.print(f"{name}: it was neither suspended nor halted.")


def reset(tables: Tables, catalog: CatalogName = None, as_json: AsJson = False) -> None:
    """Let the next tick compute tables anew.

    Their rows stay until then. What was suspended or halted is resumed. Also the way to take over a stream
    table that somebody else wrote to: the next tick publishes what its query says, and undoes those changes.
    """
    from airflow_trickle.engine.steer import reset as reset_table

    with lakehouse(catalog) as lake:
        found = _found(lake, tables)
        for each in found:
            reset_table(lake, each)
    names = [each.identifier for each in found]
    if as_json:
        print_json({"reset": names})
        return
    for name in names:
        out.print(f"{name}: the next tick computes it anew.")


def drop(
    tables: Tables,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Even if other stream tables read it.")] = False,
    alone: Annotated[
        bool, typer.Option("--alone", help="Leave the tables that were made from its mutual recursion.")
    ] = False,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Remove tables with all their data; their history stays.

    With a table whose query has mutual recursion go the tables that were made from its CTEs. A table that is still in
    a pipeline's YAML comes back at the next tick.
    """
    from airflow_trickle.engine.steer import drop as drop_table
    from airflow_trickle.engine.steer import left_of_mutual_groups, with_mutual_groups

    if as_json and not yes:
        raise typer.BadParameter("with --json nothing is asked: add --yes to confirm.", param_hint="--json")
    with lakehouse(catalog) as lake:
        named = _found(lake, tables)
        whole = named if alone else with_mutual_groups(lake, named)
        found = _readers_first(lake, whole, force=force)
        names = [each.identifier for each in found]
        left = left_of_mutual_groups(lake, names)
        if not yes:
            typer.confirm(_question(named, names, left), abort=True)
        for each in found:
            drop_table(lake, each, force=force, along=names)
    if as_json:
        print_json({"dropped": names, "left": left})
        return
    for name in names:
        out.print(f"{name}: dropped.")
    for sentence in left:
        out.print(sentence)


def _question(named: list[TableStatus], names: list[str], left: list[str]) -> str:
    """What is asked before tables are dropped: also those that were not named, and what is left."""
    more = [name for name in names if name not in {each.identifier for each in named}]
    told = (
        [f"Made from mutual recursion, and dropped with it (--alone leaves them): {', '.join(more)}."] if more else []
    )
    return "\n".join([*told, *left, f"Remove {', '.join(names)} with all data?"])


def take_over(
    warehouse: Annotated[
        str | None, typer.Option("--warehouse", metavar="LOCATION", help="Another folder than the catalog's warehouse.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Make this catalog's database the owner of its warehouse.

    For a database that was restored or moved. Stop everything that uses the one that owned it before: that one can
    neither write nor clean there any more.
    """
    from airflow_trickle.lakehouse.owner import take_over as take

    if as_json and not yes:
        raise typer.BadParameter("with --json nothing is asked: add --yes to confirm.", param_hint="--json")
    with lakehouse(catalog) as lake:
        if not yes:
            folder = warehouse or lake.catalog.properties["warehouse"]
            typer.confirm(f"Is the database that owned {folder} before out of use for good?", abort=True)
        folder = take(lake, warehouse)
    if as_json:
        print_json({"warehouse": folder})
        return
    out.print(f"{folder}: it belongs to this catalog's database now.")


def _found(lake: Lakehouse, names: list[str]) -> list[TableStatus]:
    """The tables of some names, each once, in the order given."""
    return list({status.identifier: status for status in (find(lake, name) for name in names)}.values())


def _readers_first(lake: Lakehouse, tables: list[TableStatus], *, force: bool) -> list[TableStatus]:
    """Tables in an order in which each may be dropped.

    Raises:
        StillRead: a table that stays reads one of them, and ``force`` was not given.
    """
    from airflow_trickle.engine.steer import readers_of, still_read

    readers = {status.identifier: set(readers_of(lake, status.identifier)) for status in tables}
    for identifier, found in readers.items():
        if (staying := sorted(found - readers.keys())) and not force:
            raise still_read(lake, identifier, staying)
    ordered: list[TableStatus] = []
    left = list(tables)
    while left:
        remaining = {status.identifier for status in left}
        free = [status for status in left if not readers[status.identifier] & remaining] or left
        ordered += free
        left = [status for status in left if status not in free]
    return ordered
