"""Which files of the warehouse the snapshots and the records of a table name."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from sqlalchemy import select

from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse
from airflow_trickle.lakehouse.files import place_of
from airflow_trickle.lakehouse.maintenance.needs import said_by
from airflow_trickle.lakehouse.tables import prepared, staging, status


@dataclass
class SnapshotFiles:
    """The files of some snapshots: manifest lists, manifests, data and delete files, and what a summary names."""

    manifest_lists: set[str] = field(default_factory=set)
    manifests: dict[str, ManifestFile] = field(default_factory=dict)
    #: Named by summaries, such as the record of a capture.
    beside: set[str] = field(default_factory=set)


def snapshot_files(table: Table, snapshots: Iterable[Snapshot]) -> SnapshotFiles:
    """What some snapshots name directly; their manifests are not opened."""
    found = SnapshotFiles()
    own = own_folder(table)
    for snapshot in snapshots:
        found.manifest_lists.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            found.manifests[manifest.manifest_path] = manifest
        found.beside |= {value for value in said_by(snapshot).values() if value.startswith(own)}
    return found


def data_and_delete_files(io: FileIO, manifests: Iterable[ManifestFile], *, live_only: bool) -> set[str]:
    """The data and delete files that manifests list; ``live_only``: without those that they list as removed."""
    return {
        entry.data_file.file_path
        for manifest in manifests
        for entry in manifest.fetch_manifest_entry(io, discard_deleted=live_only)
    }


def own_folder(table: Table) -> str:
    """The folder of a table, with a slash: files elsewhere are never removed."""
    return f"{table.metadata.location.rstrip('/')}/"


@dataclass(frozen=True)
class Named:
    """Everything that is named by somebody: places of files, and ids of stagings that may write at any moment."""

    places: frozenset[str]
    staging_ids: tuple[str, ...]

    def __contains__(self, place: str) -> bool:
        return (
            place in self.places
            # Spark escapes names in its own way.
            or unquote(place) in self.places
            or any(one in place for one in self.staging_ids)
        )


def named_files(lake: Lakehouse, identifier: str, table: Table) -> Named:
    """What the catalog, the metadata, staged work and kept state of a table name."""
    io, metadata = table.io, table.metadata
    found = snapshot_files(table, metadata.snapshots)
    paths = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    paths |= found.manifest_lists | found.manifests.keys() | found.beside
    paths |= data_and_delete_files(io, found.manifests.values(), live_only=True)
    paths |= {one.statistics_path for one in (*metadata.statistics, *metadata.partition_statistics)}
    records, staging_ids = _recorded(lake, identifier)
    return Named(frozenset(place_of(io, path) for path in paths | records), staging_ids)


def _recorded(lake: Lakehouse, identifier: str) -> tuple[set[str], tuple[str, ...]]:
    """What the state tables name of a table; every text in their records that may be a path counts as one."""
    of_table = [
        select(status.c.kept).where(status.c.catalog == lake.name, status.c.identifier == identifier),
        select(prepared.c.payload).where(prepared.c.catalog == lake.name, prepared.c.identifier == identifier),
    ]
    rows = CATALOG_ROWS
    with lake.database.reading() as connection:
        texts = [text for query in of_table for text in connection.execute(query).scalars() if text]
        ids = select(staging.c.staging_id).where(staging.c.catalog == lake.name, staging.c.identifier == identifier)
        staging_ids = tuple(connection.execute(ids).scalars())
        pointers = connection.execute(select(rows.c.metadata_location, rows.c.previous_metadata_location)).all()
    said = {path for text in texts for path in _texts(json.loads(text)) if "/" in path}
    return said | {path for pair in pointers for path in pair if path}, staging_ids


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        # A column that is JSON itself, inside an outcome.
        if value[:1] in ("{", "["):
            try:
                yield from _texts(json.loads(value))
            except ValueError:
                return
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
