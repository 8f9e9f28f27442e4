"""``trickle status``, ``history`` and ``show``: looking without touching."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from airflow_trickle import clock
from airflow_trickle.cli.auxiliary_state import state_of_row
from airflow_trickle.cli.cycles import print_traces, traces_of
from airflow_trickle.cli.opening import (
    UnknownTable,
    did_you_mean,
    find,
    lakehouse,
    matching,
    moment_of,
    require_pipeline,
)
from airflow_trickle.cli.output import AsJson, CatalogName, counted, out, print_json
from airflow_trickle.cli.skips import print_skips
from airflow_trickle.cli.tables import print_table, seconds
from airflow_trickle.errors import TrickleError, WarehouseUnavailable

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.state import TableStatus
    from airflow_trickle.lakehouse.topology import Place

_STATUS_COLOURS = {"ACTIVE": "green", "INITIALIZING": "yellow", "ERROR": "red", "SUSPENDED": "yellow"}
_ACTION_COLOURS = {"INITIALIZE": "green", "REFRESH": "green", "CAPTURE": "green", "RESTATE": "yellow"}
_ACTION_COLOURS |= {"NO_CHANGE": "dim", "FAILED": "red"}
#: How far back the history is searched for a table that was dropped.
_FAR_BACK = 100_000

OnlyPipeline = Annotated[str | None, typer.Option("--pipeline", "-p", metavar="NAME", help="Only this pipeline.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(status)
    app.command()(history)
    app.command()(show)


def status(
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Only these stream tables.")] = None,
    pipeline: OnlyPipeline = None,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Show the state of every stream table.

    Stratum and cycle (scc) are those of the last tick of the table's pipeline, numbered as `trickle sccs` does.
    Mirrors of captured sources are listed too, with mode CAPTURE. Staleness is the age of the sources' state that a
    table shows. All times are UTC.
    """
    from airflow_trickle.lakehouse.state import read_status
    from airflow_trickle.lakehouse.topology import read_places

    with lakehouse(catalog) as lake:
        places = read_places(lake)
        everything = list(read_status(lake).values())
        found = [find(lake, name) for name in tables] if tables else everything
    if everything:
        require_pipeline(pipeline, (each.pipeline for each in everything), f"in catalog '{lake.name}'")
    found = [each for each in found if pipeline is None or each.pipeline == pipeline]
    if as_json:
        print_json([_status_json(each, places.get(each.identifier)) for each in found])
    elif not found:
        out.print("No stream table was refreshed yet; `trickle run` does it.")
    else:
        _print_statuses(found, places)


def _print_statuses(found: list[TableStatus], places: Mapping[str, Place]) -> None:
    """A line for each table; what none of them has gets no column."""
    columns: dict[str, Callable[[TableStatus], Any]] = {
        "table": lambda one: one.identifier,
        "pipeline": lambda one: one.pipeline,
        "status": lambda one: Text(str(one.status), _STATUS_COLOURS[str(one.status)]),
        "stratum": lambda one: places[one.identifier].stratum if one.identifier in places else None,
        "scc": lambda one: places[one.identifier].scc_id if one.identifier in places else None,
        "epoch": lambda one: one.epoch,
        "staleness": _age,
        "refreshed": lambda one: _time(one.refreshed_at),
        "changed": lambda one: _time(one.changed_at),
        "mode": lambda one: one.mode,
        "group": lambda one: f"{one.group_name}, epoch {one.group_epoch}" if one.group_epoch is not None else None,
        # Only cycles and recursive queries are refreshed in passes.
        "iterations": lambda one: one.last_iterations,
        "last error": lambda one: Text(" ".join(one.error.split()), "red") if one.error else None,
    }
    may_lack = ("stratum", "scc", "group", "iterations")
    shown = [name for name in columns if name not in may_lack or any(columns[name](one) is not None for one in found)]
    print_table(out, shown, (tuple(columns[name](one) for name in shown) for one in found))


def _status_json(status: TableStatus, place: Place | None) -> dict[str, Any]:
    frontier = status.frontier
    return {
        "table": status.name,
        "identifier": status.identifier,
        "pipeline": status.pipeline,
        "status": status.status.value,
        "mode": status.mode,
        "stratum": place.stratum if place is not None else None,
        "scc_id": place.scc_id if place is not None else None,
        "epoch": status.epoch,
        "group": status.group_name,
        "group_epoch": status.group_epoch,
        "snapshot_id": status.snapshot_id,
        "definition": status.definition,
        "frontier": {name: version.snapshot_id for name, version in frontier.inputs.items()} if frontier else None,
        "effective_at": status.effective_at,
        "tick_id": status.tick_id,
        "refreshed_at": status.refreshed_at,
        "changed_at": status.changed_at,
        "staleness_seconds": _seconds(status.effective_at),
        "last_fixpoint_iterations": status.last_iterations,
        "converged_at": status.converged_at,
        "behind": list(frontier.behind) if frontier else [],
        "error": status.error,
    }


def _time(moment: datetime | None) -> str | None:
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else None


def _seconds(since: datetime | None) -> float | None:
    return round((clock.now() - since).total_seconds(), 1) if since else None


def _age(status: TableStatus) -> str | None:
    age = _seconds(status.effective_at)
    if age is None:
        return None
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if age >= 2 * length:
            return f"{age / length:.0f}{unit}"
    return f"{age:.0f}s"


def history(
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help="Only this stream table.")] = None,
    pipeline: OnlyPipeline = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="NUMBER", help="At most so many refreshes.")
    ] = 20,
    iterations: Annotated[
        bool, typer.Option("--iterations", help="Show what each pass over a cycle or a recursive query changed.")
    ] = False,
    strata: Annotated[
        bool, typer.Option("--strata", help="Show the ticks that passed over strata with nothing to do.")
    ] = False,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Show the latest refreshes, newest first.

    Refreshes that had nothing to do are not in it. Tables that were dropped are. All times are UTC.
    """
    from airflow_trickle.lakehouse.state import read_history, skipped_strata_of

    if strata:
        _refuse_with_strata(table, iterations=iterations)
        with lakehouse(catalog) as lake:
            print_skips(lake, pipeline, limit, as_json=as_json)
        return
    with lakehouse(catalog) as lake:
        identifier = _with_history(lake, table) if table else None
        rows = read_history(lake, identifier=identifier, pipeline=pipeline, limit=limit)
        traces = traces_of(lake, identifier, pipeline, limit) if iterations else []
        skipped = skipped_strata_of(lake, {row["tick_id"] for row in rows}) if as_json else {}
        if not rows and pipeline is not None:
            known = (row["pipeline"] for row in read_history(lake, identifier=identifier, limit=_FAR_BACK))
            require_pipeline(pipeline, known, f"in the history of catalog '{lake.name}'")
    if iterations:
        print_traces(traces, as_json=as_json)
    elif as_json:
        print_json([_history_json(row, skipped.get(row["tick_id"], ())) for row in rows])
    elif not rows:
        out.print("Nothing was refreshed yet; `trickle run` does it.")
    else:
        kept = any(state_of_row(row) is not None for row in rows)
        columns = ["started", "table", "action", "rows in", "inserted", "deleted", "seconds", "mode", "epoch"]
        columns += [*(["state"] if kept else []), "reason"]
        print_table(out, columns, (_history_row(row, kept=kept) for row in rows))


def _refuse_with_strata(table: str | None, *, iterations: bool) -> None:
    if table is not None:
        raise typer.BadParameter("a stratum is passed over as a whole: leave TABLE out.", param_hint="--strata")
    if iterations:
        raise typer.BadParameter("show either --strata or --iterations.", param_hint="--strata")


def _with_history(lake: Lakehouse, name: str) -> str:
    """The identifier of a stream table that exists, or of one that was dropped."""
    from airflow_trickle.lakehouse.state import read_history

    try:
        return find(lake, name).identifier
    except UnknownTable:
        gone = matching({row["identifier"] for row in read_history(lake, limit=_FAR_BACK)}, name)
        if gone is None:
            raise
        return gone


def _history_row(row: dict[str, Any], *, kept: bool) -> tuple[Any, ...]:
    why = row["error"] or row["reason"]
    return (
        _time(clock.moment_of(row["started_at"])),
        row["name"],
        Text(row["action"], _ACTION_COLOURS.get(row["action"], "")),
        row["rows_in"],
        row["rows_inserted"],
        row["rows_deleted"],
        seconds(row["seconds"]),
        row["mode"],
        row["epoch"],
        *((state_of_row(row),) if kept else ()),
        Text(" ".join(why.split()), "red" if row["error"] else ""),
    )


def _history_json(row: dict[str, Any], skipped: Sequence[int]) -> dict[str, Any]:
    rest = {key: value for key, value in row.items() if key not in ("id", "name", "identifier")}
    # Of the whole tick.
    return {"table": row["name"], "identifier": row["identifier"], **rest, "skipped_strata": list(skipped)}


def show(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table of the catalog; with its namespace if need be.")
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="NUMBER", help="At most so many rows.")] = 20,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="TIME", help="The rows as they were then (ISO; UTC if not said)."),
    ] = None,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Print rows of a stream table or a source; needs no Spark."""
    moment = moment_of(as_of)
    with lakehouse(catalog) as lake:
        said = _rows(lake, _readable(lake, table), limit, moment)
    if as_json:
        print_json(said)
        return
    rows = said["rows"]
    when = f" as of {clock.text_of(moment)}" if moment else ""
    title = f"{said['table']}{when}"
    if not rows:
        out.print(f"{title}: no rows.")
        return
    print_table(out, said["columns"], ([row[name] for name in said["columns"]] for row in rows), null="NULL")
    if len(rows) < said["total_rows"]:
        out.print(Text(f"({len(rows)} of {counted(said['total_rows'], 'row')})", "dim"))


def _readable(lake: Lakehouse, name: str) -> str:
    """The table of the catalog that a user means: a stream table first, then any other."""
    from airflow_trickle.lakehouse.state import read_status

    if "." in name and lake.table(name) is not None:
        return name
    streams = read_status(lake)
    tables = _catalog_tables(lake)
    identifier = matching(streams, name)
    if identifier is not None and identifier not in tables:
        raise TrickleError(f"Stream table {identifier} has not been published yet. `trickle history {name}` tells why.")
    identifier = identifier or matching(tables, name)
    if identifier is None:
        raise UnknownTable(f"There is no table '{name}' in catalog '{lake.name}'.{did_you_mean(name, tables)}")
    return identifier


def _catalog_tables(lake: Lakehouse) -> list[str]:
    """The identifiers of all tables of the catalog."""
    found: list[str] = []
    waiting = [tuple(each) for each in lake.catalog.list_namespaces()]
    while waiting:
        namespace = waiting.pop()
        found += [".".join(each) for each in lake.catalog.list_tables(namespace)]
        waiting += [tuple(each) for each in lake.catalog.list_namespaces(namespace)]
    return sorted(found)


def _rows(lake: Lakehouse, identifier: str, limit: int, moment: datetime | None) -> dict[str, Any]:
    from airflow_trickle.lakehouse.snapshots import current_version, schema_of, version_as_of

    found = lake.table(identifier)
    if found is None:
        raise UnknownTable(f"Table {identifier} was dropped just now.")
    version = version_as_of(found, moment) if moment else current_version(found)
    said: dict[str, Any] = {
        "table": identifier,
        "snapshot_id": version.snapshot_id,
        "columns": [field.name for field in schema_of(found, version).fields],
        "rows": [],
        "total_rows": 0,
    }
    if version.snapshot_id is not None:
        try:
            said["total_rows"] = found.scan(snapshot_id=version.snapshot_id).count()
            said["rows"] = found.scan(snapshot_id=version.snapshot_id, limit=limit).to_arrow().to_pylist()
        except OSError as error:
            raise WarehouseUnavailable(f"The files of table {identifier} cannot be read: {error}.") from error
    return said
