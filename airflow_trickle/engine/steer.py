"""Steering stream tables by hand: reset and drop."""

from __future__ import annotations

from pyiceberg.table import Table
from sqlalchemy import delete, select

from airflow_trickle.errors import CommitConflict, ForeignTable, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse, split_identifier
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.files import delete_folder
from airflow_trickle.lakehouse.leases import holding, require
from airflow_trickle.lakehouse.state import TableStatus, forget, read_status, write_status
from airflow_trickle.results import Status


class StillRead(TrickleError):
    """Other stream tables read this one: change their queries first, or drop them too."""


def reset(lake: Lakehouse, status: TableStatus) -> None:
    """Forget how far a table has read: the next tick recomputes it and publishes what differs.

    The rows stay visible meanwhile. Also the way to take over after somebody else wrote to the table.
    """
    with holding(lake, [status.identifier], "trickle reset") as leases:
        table = _ours(lake, status.identifier)
        with lake.database.transaction() as connection:
            require(lake, connection, leases[status.identifier])
            write_status(
                lake,
                connection,
                status.identifier,
                status=Status.INITIALIZING.value,
                frontier=None,
                definition=None,
                effective_at=None,
                tick_id=None,
                error=None,
                error_at=None,
                kept=None,
                metadata_location=table.metadata_location if table else None,
                snapshot_id=table.metadata.current_snapshot_id if table else None,
                schema_id=table.metadata.current_schema_id if table else None,
            )


def drop(lake: Lakehouse, status: TableStatus, *, force: bool = False) -> None:
    """Remove a table with its data, its unfinished work and its status; its history stays.

    Raises:
        StillRead: other stream tables read it and ``force`` was not given.
    """
    readers = readers_of(lake, status.identifier)
    if readers and not force:
        raise StillRead(f"Table {status.identifier} is read by {', '.join(readers)}. Drop these first, or use --force.")
    with holding(lake, [status.identifier], "trickle drop") as leases:
        lease = leases[status.identifier]
        stagings.clean_table(lake, lease)
        table = _ours(lake, status.identifier)
        namespace, name = split_identifier(status.identifier)
        rows = CATALOG_ROWS
        with lake.database.transaction() as connection:
            require(lake, connection, lease)
            forget(lake, connection, status.identifier)
            if table is not None:
                gone = connection.execute(
                    delete(rows).where(
                        rows.c.catalog_name == lake.name,
                        rows.c.table_namespace == namespace,
                        rows.c.table_name == name,
                        rows.c.metadata_location == table.metadata_location,
                    )
                )
                if gone.rowcount != 1:
                    raise CommitConflict(
                        f"Table {status.identifier} changed while it was being dropped; try again.",
                        [status.identifier],
                    )
        if table is not None and not _others_live_in(lake, table.metadata.location):
            delete_folder(table.io, table.metadata.location)


def _others_live_in(lake: Lakehouse, folder: str) -> bool:
    """Whether another table of the catalog keeps its metadata below a folder."""
    with lake.database.reading() as connection:
        found = connection.execute(select(CATALOG_ROWS.c.metadata_location)).scalars()
        return any(location and location.startswith(folder.rstrip("/") + "/") for location in found)


def readers_of(lake: Lakehouse, identifier: str) -> list[str]:
    """The stream tables whose last refresh read a table."""
    return [
        status.identifier
        for status in read_status(lake).values()
        if status.identifier != identifier and status.frontier and identifier in status.frontier.inputs
    ]


def _ours(lake: Lakehouse, identifier: str) -> Table | None:
    table = lake.table(identifier)
    if table is not None and OWNED not in table.metadata.properties:
        raise ForeignTable(f"Table {identifier} was not made by airflow-trickle; it is left alone.")
    return table
