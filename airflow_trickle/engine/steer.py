"""Steering stream tables by hand: suspend, resume, reset and drop."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from pyiceberg.table import Table
from sqlalchemy import delete, select

from airflow_trickle.errors import CommitConflict, ForeignTable, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse, split_identifier
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.files import delete_folder
from airflow_trickle.lakehouse.leases import holding, require
from airflow_trickle.lakehouse.owner import require_owner
from airflow_trickle.lakehouse.prepared import drop_prepared
from airflow_trickle.lakehouse.state import CAPTURE, TableStatus, forget, read_status, write_status
from airflow_trickle.lakehouse.topology import forget_topology, mutual_group_of, read_mutual_groups
from airflow_trickle.results import Status


class NoStreamTable(TrickleError):
    """This cannot be done to the mirror of a captured source: name a stream table."""


class StillRead(TrickleError):
    """Other stream tables read this one: change their queries first, or drop them too."""


def suspend(lake: Lakehouse, status: TableStatus) -> None:
    """Leave a table, and what is refreshed together with it, as it is until it is resumed.

    Raises:
        NoStreamTable: it is the mirror of a captured source.
    """
    if status.mode == CAPTURE:
        raise NoStreamTable(
            f"Table {status.identifier} is the mirror of a captured source; only stream tables can be suspended. "
            f"To hold up everything, pause the DAG."
        )
    # A refresh that is at work would end the suspension with its commit.
    with holding(lake, [status.identifier], "trickle suspend") as leases, lake.database.transaction() as connection:
        require(lake, connection, leases[status.identifier])
        # Nor must a group whose tick was given up publish what it had staged before.
        drop_prepared(lake, connection, [status.identifier])
        write_status(lake, connection, status.identifier, status=Status.SUSPENDED.value)


def resume(lake: Lakehouse, tables: Iterable[TableStatus]) -> list[TableStatus]:
    """Let the next tick refresh tables again; returns those that were held.

    A cycle that did not settle is resumed as a whole, whichever of its tables is named; but a table of it that was
    suspended besides stays so until it is named itself.
    """
    wanted = {status.identifier: status for status in tables}
    halted = {status.halted for status in wanted.values() if status.halted is not None}
    held = [
        status
        for status in read_status(lake).values()
        if status.halted in halted or (status.identifier in wanted and status.is_held)
    ]
    resumed = []
    for status in held:
        stays = status.status is Status.SUSPENDED and status.identifier not in wanted
        with holding(lake, [status.identifier], "trickle resume") as leases, lake.database.transaction() as connection:
            require(lake, connection, leases[status.identifier])
            write_status(lake, connection, status.identifier, **({"halted": None} if stays else released(status)))
        if not stays:
            resumed.append(status)
    return resumed


def released(status: TableStatus) -> dict[str, Any]:
    """The columns of a table that is held no longer."""
    present = Status.INITIALIZING if status.frontier is None else Status.ACTIVE
    mended = {"error": None, "error_at": None} if status.halted is not None else {}
    return {"status": present.value, "halted": None, **mended}


def reset(lake: Lakehouse, status: TableStatus) -> None:
    """Forget how far a table has read: the next tick recomputes it and publishes what differs.

    The rows stay visible meanwhile. Also the way to take over after somebody else wrote to the table. A table that
    was held is so no longer, nor is the cycle that it is part of.
    """
    if status.halted is not None:
        resume(lake, [status])
    with holding(lake, [status.identifier], "trickle reset") as leases:
        table = _ours(lake, status.identifier)
        with lake.database.transaction() as connection:
            require(lake, connection, leases[status.identifier])
            drop_prepared(lake, connection, [status.identifier])
            write_status(
                lake,
                connection,
                status.identifier,
                status=Status.INITIALIZING.value,
                frontier=None,
                definition=None,
                settings=None,
                effective_at=None,
                tick_id=None,
                error=None,
                error_at=None,
                kept=None,
                halted=None,
                waits_for=(),
                metadata_location=table.metadata_location if table else None,
                snapshot_id=table.metadata.current_snapshot_id if table else None,
                schema_id=table.metadata.current_schema_id if table else None,
            )


def drop(lake: Lakehouse, status: TableStatus, *, force: bool = False, along: Collection[str] = ()) -> None:
    """Remove a table with its data, its unfinished work and its status; its history stays.

    Args:
        lake: The lakehouse.
        status: The table.
        force: Even if other stream tables read it.
        along: Identifiers of tables that are dropped with it, such as those of its cycle: they may read it.

    Raises:
        StillRead: other stream tables read it and ``force`` was not given.
        NotTheOwner: the warehouse belongs to another catalog database.
    """
    readers = [name for name in readers_of(lake, status.identifier) if name not in along]
    if readers and not force:
        raise still_read(lake, status.identifier, readers)
    with holding(lake, [status.identifier], "trickle drop") as leases:
        lease = leases[status.identifier]
        table = _ours(lake, status.identifier)
        if table is not None:
            require_owner(lake, table.metadata.location)
        stagings.clean_table(lake, lease)
        namespace, name = split_identifier(status.identifier)
        rows = CATALOG_ROWS
        with lake.database.transaction() as connection:
            require(lake, connection, lease)
            forget(lake, connection, status.identifier)
            forget_topology(lake, connection, status.identifier)
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


def still_read(lake: Lakehouse, identifier: str, readers: Collection[str]) -> StillRead:
    """The refusal to drop a table that others read; of a mutual group, how to drop all of it."""
    message = f"Table {identifier} is read by {', '.join(readers)}. Drop these first, or use --force."
    group = mutual_group_of(lake, identifier)
    if group is not None and group.identifier != identifier:
        message += (
            f" It is the CTE {group.cte_of(identifier)} of the mutual recursion in the query of {group.identifier}: "
            f"drop that table to remove all of them ({', '.join(group.tables)})."
        )
    return StillRead(message)


def with_mutual_groups(lake: Lakehouse, tables: Iterable[TableStatus]) -> list[TableStatus]:
    """Some tables, and for each whose query had mutual recursion those that were made from it, each once."""
    known, groups = read_status(lake), read_mutual_groups(lake)
    found: dict[str, TableStatus] = {}
    for status in tables:
        found[status.identifier] = status
        group = groups.get(status.identifier)
        found |= {name: known[name] for name in (group.tables if group is not None else ()) if name in known}
    return list(found.values())


def left_of_mutual_groups(lake: Lakehouse, identifiers: Collection[str]) -> list[str]:
    """What becomes of the rest of the mutual groups of which only some tables are dropped, a sentence for each."""
    known = read_status(lake)
    told = []
    for group in read_mutual_groups(lake).values():
        gone = [name for name in group.tables if name in identifiers]
        rest = [name for name in group.tables if name in known and name not in identifiers]
        if not gone or not rest:
            continue
        told.append(
            f"{', '.join(rest)} of the mutual recursion of {group.identifier} stay with their rows. As long as the "
            f"YAML of pipeline '{group.pipeline}' has {group.identifier}, the next tick makes {', '.join(gone)} again "
            f"and computes the cycle anew; without it nothing refreshes them any more, and "
            f"`trickle drop {' '.join(rest)}` removes them."
        )
    return told


def _others_live_in(lake: Lakehouse, folder: str) -> bool:
    """Whether another table of the catalog keeps its metadata below a folder."""
    with lake.database.reading() as connection:
        found = connection.execute(select(CATALOG_ROWS.c.metadata_location)).scalars()
        return any(location and location.startswith(folder.rstrip("/") + "/") for location in found)


def readers_of(lake: Lakehouse, identifier: str) -> list[str]:
    """The stream tables whose last refresh read a table; one that was reset since will read it again."""
    return [
        status.identifier
        for status in read_status(lake).values()
        if status.identifier != identifier and identifier in _inputs_of(lake, status)
    ]


def _inputs_of(lake: Lakehouse, status: TableStatus) -> Collection[str]:
    """What the last refresh of a table read; after a reset only its snapshots tell."""
    if status.frontier is not None:
        return status.frontier.inputs
    table = lake.table(status.identifier) if status.metadata_location is not None else None
    snapshots = table.metadata.snapshots if table is not None else []
    for snapshot in sorted(snapshots, key=lambda one: one.sequence_number or 0, reverse=True):
        frontier = snapshot.summary.additional_properties.get("trickle.frontier") if snapshot.summary else None
        if frontier is not None:
            found: dict[str, Any] = json.loads(frontier)
            return found
    return ()


def _ours(lake: Lakehouse, identifier: str) -> Table | None:
    table = lake.table(identifier)
    if table is not None and OWNED not in table.metadata.properties:
        raise ForeignTable(f"Table {identifier} was not made by airflow-trickle; it is left alone.")
    return table
