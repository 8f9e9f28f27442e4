"""The visible state of a stream table, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from airflow_trickle import clock
from airflow_trickle.errors import ForeignTable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import CAPTURE, Frontier, TableStatus, versions
from airflow_trickle.spark.meaning import SPARK_VERSION


@dataclass(frozen=True)
class Published:
    """The visible state of a stream table and where it came from.

    ``frontier`` and ``definition`` are None after a reset: the next refresh compares with whatever
    the table holds and trusts none of it.
    """

    location: str
    version: Version
    epoch: int
    frontier: Frontier | None
    definition: str | None
    effective_at: datetime | None
    tick_id: str | None
    #: What is kept beside the table to refresh it quickly, as JSON.
    kept: str | None = None
    #: The settings and the version of Spark that its rows were computed under, as JSON; None: nobody wrote them down.
    settings: str | None = None

    @property
    def settings_of_session(self) -> dict[str, str]:
        """The settings of a session under which its rows were computed."""
        known: dict[str, str] = json.loads(self.settings) if self.settings else {}
        return {key: value for key, value in known.items() if key != SPARK_VERSION}


def published_state(
    lake: Lakehouse, identifier: str, status: TableStatus | None, locations: Mapping[str, str]
) -> Published | None:
    """The visible state of a stream table; from the state tables when they know it, else from its snapshot."""
    location = locations.get(identifier)
    if location is None:
        return None
    if status is not None and status.mode == CAPTURE:
        raise ForeignTable(
            f"Table {identifier} is the mirror of a captured source; it is left alone. Give the stream table another "
            f"name or namespace, or drop the mirror: trickle drop {identifier}"
        )
    if status is not None and status.metadata_location == location and status.schema_id is not None:
        return _from_status(status, location, Version(status.snapshot_id, status.schema_id))
    table = lake.table_at(identifier, location)
    snapshot = table.metadata.current_snapshot()
    version = Version(table.metadata.current_snapshot_id, table.metadata.current_schema_id)
    if status is not None and status.metadata_location and status.snapshot_id == version.snapshot_id:
        # Only properties, tags or old snapshots changed: the rows are the ones we published.
        return _from_status(status, location, version)
    if snapshot is None or not is_ours(snapshot):
        raise ForeignTable(_foreign(table))
    return from_summary(snapshot, location, version)


def _from_status(status: TableStatus, location: str, version: Version) -> Published:
    return Published(
        location,
        version,
        status.epoch,
        status.frontier,
        status.definition,
        status.effective_at,
        status.tick_id,
        status.kept,
        status.settings,
    )


def is_ours(snapshot: Snapshot | None) -> bool:
    """Whether a snapshot was published by a refresh."""
    return bool(snapshot and snapshot.summary and "trickle.frontier" in snapshot.summary.additional_properties)


def from_summary(snapshot: Snapshot, location: str, version: Version) -> Published:
    """The state that one of our snapshots says it is."""
    assert snapshot.summary is not None  # noqa: S101 - for the type checker
    said = snapshot.summary.additional_properties
    return Published(
        location=location,
        version=version,
        epoch=int(said["trickle.epoch"]),
        frontier=Frontier(
            versions(json.loads(said["trickle.frontier"])),
            versions(json.loads(said["trickle.world"])),
            tuple(json.loads(said.get("trickle.behind", "[]"))),
        ),
        definition=said["trickle.definition"],
        effective_at=clock.moment_of(said["trickle.effective-at"]),
        tick_id=said["trickle.tick"],
        settings=said.get("trickle.settings"),
    )


def not_ours(table: Table) -> str | None:
    """Why a table of the catalog cannot be that of a stream table: somebody else made it; None if we did."""
    if OWNED in table.metadata.properties:
        return None
    return (
        f"Table {'.'.join(table.name())} exists in the catalog and was not made by airflow-trickle; it is left alone. "
        f"Give the stream table another name or namespace, or drop that table."
    )


def _foreign(table: Table) -> str:
    return not_ours(table) or (
        f"Table {'.'.join(table.name())} was changed by another writer (snapshot "
        f"{table.metadata.current_snapshot_id} is not one of ours); it is left alone. To recompute it from its inputs "
        f"and undo those changes: trickle reset {table.name()[-1]}"
    )
