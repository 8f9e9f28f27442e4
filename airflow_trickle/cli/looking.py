"""``trickle status``, ``history`` and ``show``: looking without touching."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from airflow_trickle import clock
from airflow_trickle.cli.opening import find, lakehouse
from airflow_trickle.cli.output import AsJson, CatalogName, print_json, print_table
from airflow_trickle.cli.opening import moment_of
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.state import TableStatus

_STATUS_COLOURS = {"ACTIVE": "green", "INITIALIZING": "yellow", "ERROR": "red", "SUSPENDED": "yellow"}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(status)
    app.command()(history)
    app.command()(show)


def status(
    tables: Annotated[list[str] | None, typer.Argument(help="Only these stream tables.")] = None,
    pipeline: Annotated[str | None, typer.Option("--pipeline", "-p", help="Only this pipeline.")] = None,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """What state every stream table is in, how far it has read and how old it is."""
    from airflow_trickle.lakehouse.state import read_status

    with lakehouse(catalog) as lake:
        found = [find(lake, name) for name in tables] if tables else list(read_status(lake).values())
    found = [each for each in found if pipeline is None or each.pipeline == pipeline]
    if as_json:
        print_json([_status_json(each) for each in found])
        return
    print_table(
        "Stream tables",
        ["table", "pipeline", "status", "mode", "epoch", "refreshed", "changed", "staleness", "last error"],
        (
            (
                each.identifier,
                each.pipeline,
                Text(str(each.status), style=_STATUS_COLOURS[str(each.status)]),
                each.mode,
                each.epoch,
                each.refreshed_at,
                each.changed_at,
                _age(each),
                each.error,
            )
            for each in found
        ),
        empty="No stream table was refreshed yet. `trickle run` does it.",
    )


def _status_json(status: TableStatus) -> dict[str, Any]:
    return {
        "table": status.name,
        "identifier": status.identifier,
        "pipeline": status.pipeline,
        "status": status.status.value,
        "mode": status.mode,
        "epoch": status.epoch,
        "snapshot_id": status.snapshot_id,
        "definition": status.definition,
        "frontier": {name: version.snapshot_id for name, version in status.frontier.inputs.items()}
        if status.frontier
        else None,
        "effective_at": status.effective_at,
        "tick_id": status.tick_id,
        "refreshed_at": status.refreshed_at,
        "changed_at": status.changed_at,
        "staleness_seconds": _seconds(status.effective_at),
        "error": status.error,
    }


def _seconds(since: datetime | None) -> float | None:
    return round((clock.now() - since).total_seconds(), 1) if since else None


def _age(status: TableStatus) -> str | None:
    seconds = _seconds(status.effective_at)
    if seconds is None:
        return None
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.0f}s"


def history(
    table: Annotated[str | None, typer.Argument(help="Only this stream table.")] = None,
    pipeline: Annotated[str | None, typer.Option("--pipeline", "-p", help="Only this pipeline.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many refreshes.")] = 20,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """The latest refreshes, newest first: what each did, why, and how long it took."""
    from airflow_trickle.lakehouse.state import read_history

    with lakehouse(catalog) as lake:
        identifier = find(lake, table).identifier if table else None
        rows = read_history(lake, identifier=identifier, pipeline=pipeline, limit=limit)
    if as_json:
        print_json(rows)
        return
    print_table(
        "History",
        ["started", "table", "action", "mode", "rows in", "inserted", "deleted", "epoch", "seconds", "reason"],
        (
            (
                clock.moment_of(row["started_at"]),
                row["name"],
                row["action"],
                row["mode"],
                row["rows_in"],
                row["rows_inserted"],
                row["rows_deleted"],
                row["epoch"],
                f"{row['seconds']:.2f}",
                row["error"] or row["reason"],
            )
            for row in rows
        ),
        empty="Nothing was refreshed yet. `trickle run` does it.",
    )


def show(
    table: Annotated[str, typer.Argument(help="A stream table, or any table of the catalog as namespace.name.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many rows.")] = 20,
    as_of: Annotated[str | None, typer.Option("--as-of", help="The rows as they were then (ISO time).")] = None,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Print rows of a table; Spark is not needed for it."""
    moment = moment_of(as_of)
    with lakehouse(catalog) as lake:
        names, rows, total = _rows(lake, table, limit, moment)
    if as_json:
        print_json({"columns": names, "rows": rows, "total_rows": total})
        return
    print_table(
        f"{table}: {len(rows)} of {total} rows", names, ([row[name] for name in names] for row in rows), empty=f"{table} has no rows."
    )


def _rows(lake: Any, name: str, limit: int, moment: datetime | None) -> tuple[list[str], list[dict[str, Any]], int]:
    from airflow_trickle.lakehouse.snapshots import current_version, files_of, schema_of, version_as_of

    found = lake.table(name) if "." in name else None
    if found is None:
        identifier = find(lake, name).identifier
        found = lake.table(identifier)
        if found is None:
            raise TrickleError(f"Stream table {identifier} is not published yet. `trickle history` tells why.")
    version = version_as_of(found, moment) if moment else current_version(found)
    names = [field.name for field in schema_of(found, version).fields]
    if version.snapshot_id is None:
        return names, [], 0
    total = sum(file.record_count for file in files_of(found, version.snapshot_id).values())
    arrow = found.scan(snapshot_id=version.snapshot_id, limit=limit).to_arrow()
    return names, arrow.to_pylist(), total
