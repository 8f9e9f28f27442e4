"""Expiring snapshots: new metadata without them, published like any commit, then their files.

pyiceberg's own `expire_snapshots` removes them from the metadata only, leaves all files, and knows nothing of those who
read the table; its update of the metadata is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.table import StagedTable, Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import RemoveSnapshotsUpdate, SetPropertiesUpdate, TableUpdate
from sqlalchemy import Connection, select

from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse
from airflow_trickle.lakehouse.commit import Staged, Target, commit, metadata_location
from airflow_trickle.lakehouse.files import (
    delete_files,
    list_files,
    make_durable,
    remove_empty_folders,
    reported,
    sizes_of,
)
from airflow_trickle.lakehouse.leases import Lease, require
from airflow_trickle.lakehouse.maintenance.reachable import data_and_delete_files, own_folder, snapshot_files
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.tables import status

#: What tables get that were made before these were set.
_METADATA_PROPERTIES = {
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: "20",
}


class SharedFiles(TrickleError):
    """The files of a table may be needed by somebody whom the catalog does not know: find out who."""


@dataclass(frozen=True)
class Removed:
    """Files that are gone, or that would go."""

    files: int = 0
    size: int = 0

    def __add__(self, other: Removed) -> Removed:
        return Removed(self.files + other.files, self.size + other.size)


def unneeded_files(table: Table, expired: Collection[int]) -> list[str]:
    """The files of a table that only some of its snapshots name, in its own folder."""
    metadata = table.metadata
    gone = snapshot_files(table, [one for one in metadata.snapshots if one.snapshot_id in expired])
    stays = snapshot_files(table, [one for one in metadata.snapshots if one.snapshot_id not in expired])
    dead = {path: one for path, one in gone.manifests.items() if path not in stays.manifests}
    # Files that a dead manifest lists as removed were listed by an older one, which may be gone since long.
    candidates = data_and_delete_files(table.io, dead.values(), live_only=False)
    if candidates:
        candidates -= data_and_delete_files(table.io, stays.manifests.values(), live_only=True)
    paths = candidates | dead.keys() | (gone.manifest_lists - stays.manifest_lists) | (gone.beside - stays.beside)
    statistics = (*metadata.statistics, *metadata.partition_statistics)
    paths |= {one.statistics_path for one in statistics if one.snapshot_id in expired}
    return sorted(path for path in paths if path.startswith(own_folder(table)))


def expire(
    lake: Lakehouse,
    table: Table,
    lease: Lease,
    expired: Collection[int],
    *,
    pipeline: str,
    tick_id: str,
    still_unneeded: Callable[[Connection], None],
) -> Removed:
    """Publish metadata without some snapshots, then remove the files that only those named.

    Args:
        lake: The lakehouse.
        table: The table as it is now.
        lease: The right to write it.
        expired: The snapshots.
        pipeline: For the staging record.
        tick_id: For the staging record.
        still_unneeded: Called inside the commit; raises if somebody needs one of them by now.

    Raises:
        CommitConflict: somebody wrote to the table meanwhile, or needs a snapshot; nothing was changed.
    """
    identifier = lease.identifier
    # Before the commit: afterwards nobody could tell which files they were.
    files = unneeded_files(table, expired)
    record = stagings.begin(
        lake,
        lease=lease,
        table_location=table.metadata.location,
        pipeline=pipeline,
        tick_id=tick_id,
        spark=None,
        new_table=False,
    )
    try:
        staged = _stage(lake, identifier, table, record, expired)

        def also(connection: Connection) -> None:
            require(lake, connection, lease)
            still_unneeded(connection)
            moved_metadata(lake, connection, staged)

        commit(lake, [staged], also)
    except BaseException:
        # The first error is the one to show; what cannot be removed now is removed by the next tick.
        with suppress(TrickleError, OSError):
            stagings.discard(lake, record)
        raise
    return remove(table, files)


def remove(table: Table, files: Collection[str]) -> Removed:
    """Delete files of a table, and the folders that are empty then."""
    sizes = sizes_of(table.io, files)
    delete_files(table.io, sorted(sizes))
    remove_empty_folders(table.io, {path.rsplit("/", 1)[0] for path in files}, f"{own_folder(table)}data")
    return Removed(len(sizes), sum(sizes.values()))


def _stage(lake: Lakehouse, identifier: str, table: Table, record: Staging, expired: Collection[int]) -> Staged:
    """Write metadata without some snapshots; nothing is visible yet."""
    target = Target(identifier, table, table.metadata.schema(), is_new=False)
    missing = {key: value for key, value in _METADATA_PROPERTIES.items() if key not in table.metadata.properties}
    updates: list[TableUpdate] = [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": sorted(expired)})]
    if missing:
        updates.append(SetPropertiesUpdate(updates=missing))
    with reported(record.metadata_folder):
        staged = lake.catalog._update_and_stage_table(table, table.name(), (), tuple(updates))
        location = metadata_location(target, staged, record)
        lake.catalog._write_metadata(_with_log(table, staged, expired), staged.io, location)
        make_durable(staged.io, [location])
    snapshot_id = table.metadata.current_snapshot_id
    assert snapshot_id is not None  # noqa: S101 - a table with snapshots to expire has a current one
    return Staged(
        identifier=identifier,
        staging=record,
        expected=target.expected,
        location=location,
        snapshot_id=snapshot_id,
        table=lake.table_at(identifier, location),
        written=(location,),
    )


def _with_log(table: Table, staged: StagedTable, expired: Collection[int]) -> TableMetadata:
    """The next metadata with a log that has no gaps, as the format wants it.

    Who looks for the state of a moment would take the entry before a gap for it.
    """
    log = table.metadata.snapshot_log
    last = max((number for number, entry in enumerate(log) if entry.snapshot_id in expired), default=-1)
    return staged.metadata.model_copy(update={"snapshot_log": log[last + 1 :]})


def moved_metadata(lake: Lakehouse, connection: Connection, staged: Staged, before: int | None = None) -> None:
    """Inside a commit that changes no row: the status of the table goes with it.

    ``before`` is the snapshot whose rows the table still has, if they are in other files now.
    """
    same = staged.snapshot_id if before is None else before
    connection.execute(
        status.update()
        .where(
            status.c.catalog == lake.name,
            status.c.identifier == staged.identifier,
            status.c.snapshot_id == same,
        )
        .values(metadata_location=staged.location, snapshot_id=staged.snapshot_id)
    )


def require_sole_owner(lake: Lakehouse, identifier: str, table: Table) -> None:
    """Refuse to remove anything of a table whose files another table, or another catalog, may need.

    Raises:
        SharedFiles: another table lives in its folder, or its metadata folder holds a later state than the catalog.
    """
    own = own_folder(table)
    with lake.database.reading() as connection:
        rows = connection.execute(
            select(CATALOG_ROWS.c.catalog_name, CATALOG_ROWS.c.table_namespace, CATALOG_ROWS.c.table_name).where(
                CATALOG_ROWS.c.metadata_location.startswith(own, autoescape=True)
            )
        ).all()
    others = sorted(f"{row[1]}.{row[2]}" for row in rows if (row[0], f"{row[1]}.{row[2]}") != (lake.name, identifier))
    if others:
        raise SharedFiles(
            f"Table {identifier} shares its folder with {', '.join(others)}, whose files nobody may remove. Drop the "
            f"other from the catalog, or make a copy of its rows."
        )
    catalog = table.catalog
    present = catalog._parse_metadata_version(table.metadata_location)  # type: ignore[attr-defined]
    live = [one.staging_id for one in stagings.leftovers(lake, identifier=identifier)]
    later = [
        path
        for path in list_files(table.io, f"{own}metadata")
        if path.endswith(".metadata.json")
        and catalog._parse_metadata_version(path) > present  # type: ignore[attr-defined]
        and not any(one in path for one in live)
    ]
    if later:
        raise SharedFiles(
            f"Table {identifier} stands at {table.metadata_location}, but its folder holds a later state, {later[-1]}: "
            f"another catalog writes the same table, or the catalog's database was taken back. Nothing was removed. "
            f"If nobody else uses that state, remove the file."
        )
