"""What a table held at a snapshot: which one, which files, which columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from pyiceberg.manifest import DataFile, FileFormat, ManifestContent, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, SnapshotLogEntry
from pyiceberg.transforms import IdentityTransform

from airflow_trickle import clock
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.deletes import DeleteIndex, LiveFile, holds_column
from airflow_trickle.lakehouse.files import is_hidden
from airflow_trickle.lakehouse.manifests import live_entries, manifests_in


@dataclass(frozen=True)
class Version:
    """One state of a table: a snapshot (None: the table is still empty) seen through a schema."""

    snapshot_id: int | None
    schema_id: int


class HistoryExpired(UnsupportedTable):
    """The wanted snapshot is no longer kept: recompute from a snapshot that is."""


def current_version(table: Table) -> Version:
    """The newest state of a table."""
    return Version(table.metadata.current_snapshot_id, table.metadata.current_schema_id)


def version_as_of(table: Table, moment: datetime) -> Version:
    """The state that a reader saw at ``moment``.

    Raises:
        HistoryExpired: the table is older than ``moment``, but its snapshots of that time are gone.
    """
    millis = int(moment.timestamp() * 1000)
    log = _log(table)
    seen = [entry for entry in log if entry.timestamp_ms <= millis]
    later = log[len(seen) :]
    if seen:
        snapshot = table.metadata.snapshot_by_id(seen[-1].snapshot_id)
        if snapshot is None:
            raise _expired(table, f"the snapshot of {moment.isoformat()}")
        if later and not _lasted(table, seen[-1], later[0]):
            raise _expired(table, f"the state at {moment.isoformat()}")
        return _version_of(table, snapshot)
    if later and not _is_first(table.metadata.snapshot_by_id(later[0].snapshot_id)):
        raise _expired(table, f"the state at {moment.isoformat()}")
    return Version(None, table.metadata.current_schema_id)


def is_newer(table: Table, one: Version, other: Version) -> bool:
    """Whether a state of a table came after another one on the way to the present state.

    A state that was taken back, and one of which nobody can tell any more, is not newer than anything.
    """
    snapshot = table.metadata.current_snapshot()
    while snapshot is not None and snapshot.snapshot_id != other.snapshot_id:
        if snapshot.snapshot_id == one.snapshot_id:
            return True
        parent = snapshot.parent_snapshot_id
        snapshot = table.metadata.snapshot_by_id(parent) if parent is not None else None
    return False


def version_of_tick(table: Table, moment: datetime) -> Version:
    """The state of a stream table of another pipeline that tells of the world at ``moment``, or of the last before it.

    It may have been published a little later: computing takes time. What is not of ours counts from when it was made.

    Raises:
        HistoryExpired: no snapshot of that time is kept.
    """
    log = _log(table)
    told = [(entry, table.metadata.snapshot_by_id(entry.snapshot_id)) for entry in log]
    seen = [
        (number, snapshot)
        for number, (entry, snapshot) in enumerate(told)
        if snapshot is not None and _tells_of(snapshot, entry) <= moment
    ]
    if seen:
        number, snapshot = seen[-1]
        later = log[number + 1 :]
        if later and _has_lost_snapshots(table) and not _lasted(table, log[number], later[0]):
            # Between the two there was another one, which may be of that moment.
            raise _expired(table, f"the state at {moment.isoformat()}")
        return _version_of(table, snapshot)
    if log and not _is_first(told[0][1]):
        raise _expired(table, f"the state at {moment.isoformat()}")
    return Version(None, table.metadata.current_schema_id)


def _tells_of(snapshot: Snapshot, entry: SnapshotLogEntry) -> datetime:
    said = snapshot.summary.additional_properties if snapshot.summary else {}
    if "trickle.effective-at" in said:
        return clock.moment_of(said["trickle.effective-at"])
    return datetime.fromtimestamp(entry.timestamp_ms / 1000, timezone.utc)


def _log(table: Table) -> list[SnapshotLogEntry]:
    """When which snapshot became the current one; a table may have been made without such a log."""
    current = table.current_snapshot()
    if table.metadata.snapshot_log or current is None:
        return table.metadata.snapshot_log
    return [SnapshotLogEntry(**{"snapshot-id": current.snapshot_id, "timestamp-ms": current.timestamp_ms})]


def _is_first(snapshot: Snapshot | None) -> bool:
    """Whether a table began with this snapshot. Some writers forget the parent of one that was expired."""
    if snapshot is None or snapshot.parent_snapshot_id is not None or (snapshot.sequence_number or 0) > 1:
        return False
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    return summary.get("total-data-files", "0") == summary.get("added-data-files", "0")


def _lasted(table: Table, state: SnapshotLogEntry, until: SnapshotLogEntry) -> bool:
    """Whether a state was current until the next entry of the log: expiry takes its entries away.

    A commit names the state before it. A rollback does not, so nothing must ever have been expired.
    """
    metadata = table.metadata
    following = metadata.snapshot_by_id(until.snapshot_id)
    if following is not None and following.timestamp_ms == until.timestamp_ms:
        return following.parent_snapshot_id == state.snapshot_id
    return not _has_lost_snapshots(table)


def _has_lost_snapshots(table: Table) -> bool:
    """Whether snapshots of a table were expired."""
    return len(table.metadata.snapshots) != table.metadata.next_sequence_number() - 1


def _version_of(table: Table, snapshot: Snapshot) -> Version:
    if snapshot.snapshot_id == table.metadata.current_snapshot_id or snapshot.schema_id is None:
        return Version(snapshot.snapshot_id, table.metadata.current_schema_id)
    return Version(snapshot.snapshot_id, snapshot.schema_id)


def schema_of(table: Table, version: Version) -> Schema:
    """The columns of a state."""
    for schema in table.metadata.schemas:
        if schema.schema_id == version.schema_id:
            return schema
    raise _expired(table, f"schema {version.schema_id}")


def has_snapshot(table: Table, snapshot_id: int | None) -> bool:
    """Whether the table still knows a snapshot (None, the empty state, is always known)."""
    return snapshot_id is None or table.metadata.snapshot_by_id(snapshot_id) is not None


def manifests_of(table: Table, snapshot_id: int | None) -> dict[str, ManifestFile]:
    """The manifests of a snapshot by path, those of delete files too."""
    if snapshot_id is None:
        return {}
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        raise _expired(table, f"snapshot {snapshot_id}")
    return {
        manifest.manifest_path: manifest
        for manifest in manifests_in(snapshot, table.io)
        # Others only remember files that are gone.
        if manifest.has_added_files() or manifest.has_existing_files()
    }


def files_of(table: Table, snapshot_id: int | None) -> dict[str, LiveFile]:
    """The live data files of a snapshot by path, each with the delete files that take rows from it."""
    return live_files(table, manifests_of(table, snapshot_id).values())


def live_files(table: Table, manifests: Iterable[ManifestFile]) -> dict[str, LiveFile]:
    """The live data files of some manifests by path, with those deletes that are in manifests among them."""
    manifests = list(manifests)
    deletes = DeleteIndex(table, [one for one in manifests if one.content == ManifestContent.DELETES])
    files: dict[str, LiveFile] = {}
    for manifest in manifests:
        if manifest.content == ManifestContent.DELETES:
            continue
        for entry in live_entries(manifest, table.io):
            path = entry.data_file.file_path
            _check_readable(table, entry.data_file)
            if path in files:
                raise UnsupportedTable(
                    f"Table {name_of(table)} lists the data file {path} twice, and so counts its rows twice; Spark "
                    f"would read them once. Remove one of the two entries (rewrite_data_files)."
                )
            applied = deletes.of(entry.data_file, entry.sequence_number)
            files[path] = LiveFile(entry.data_file, applied, entry.sequence_number or 0)
    return files


def _check_readable(table: Table, file: DataFile) -> None:
    if file.file_format != FileFormat.PARQUET:
        raise UnsupportedTable(
            f"Table {name_of(table)} has a data file in format {file.file_format.value}; this version reads "
            f"Parquet only: {file.file_path}"
        )
    if is_hidden(file.file_path):
        raise UnsupportedTable(
            f"Table {name_of(table)} has the data file {file.file_path}, whose name Spark takes for a hidden file and "
            f"does not read. Rewrite the file under another name."
        )
    spec = table.metadata.specs().get(file.spec_id)
    counted = file.value_counts or {}
    for field in spec.fields if spec else ():
        # Files taken over from Hive keep such columns in folder names only; reading them would give NULL.
        uncounted = counted and isinstance(field.transform, IdentityTransform) and field.source_id not in counted
        if uncounted and not holds_column(table, file.file_path, field.source_id):
            raise UnsupportedTable(
                f"Table {name_of(table)}: the data file {file.file_path} does not hold its partition column "
                f"'{field.name}' (it stands in the folder's name only), which this version does not read. "
                f"Rewrite the file with its writer."
            )


def name_of(table: Table) -> str:
    """The identifier of a table as text."""
    return ".".join(table.name())


def _expired(table: Table, what: str) -> HistoryExpired:
    return HistoryExpired(
        f"Table {name_of(table)} no longer keeps {what}: it was expired. Keep snapshots longer "
        f"(history.expire.max-snapshot-age-ms), or refresh from the present state."
    )
