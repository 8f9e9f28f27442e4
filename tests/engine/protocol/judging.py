"""What must be true of the house at any moment, and once everything is done; by plain pyiceberg and plain files."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.snapshots import Snapshot
from sqlalchemy import func, select

from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse
from airflow_trickle.lakehouse.tables import history, leases, prepared, staging, status
from tests.engine.protocol.house import GROUP, TABLES, WINDOW, House

#: A list of manifests, or a manifest -> the files that it names.
Named = dict[str, frozenset[str]]


class Judge:
    """Watches a house: what is published exists, is right, and never goes back."""

    def __init__(self, house: House, lake: Lakehouse) -> None:
        self.house, self.lake = house, lake
        self.seen: dict[str, str] = {}
        self.values: dict[str, int] = {}
        self.files: dict[str, list[str]] = {}
        self.publishes = 0
        #: Metadata files that were current once.
        self.once: set[str] = set()
        #: What lists of files name: none of them ever changes, so each is read once.
        self.named: Named = {}

    def look(self) -> None:
        """At any moment."""
        rows = CATALOG_ROWS
        with self.lake.database.engine.connect() as connection:
            query = select(rows.c.table_name, rows.c.metadata_location).where(rows.c.table_name != "src")
            now = {f"default.{name}": location for name, location in connection.execute(query)}
        moved = [name for name, location in now.items() if self.seen.get(name) != location]
        assert not self.seen.keys() - now.keys(), "a table is gone"
        for name in moved:
            self._read(name, now[name])
        self.once |= {local(location) for location in now.values()}
        self.publishes += len(moved)
        self.seen = now
        for name, files in self.files.items():
            gone = [file for file in files if not os.path.exists(file)]
            assert not gone, f"{name} is published, but {gone} is not there"
        if moved:
            group = {name: self.values.get(name) for name in GROUP}
            assert len(set(group.values())) == 1, f"members of two epochs: {group}"
            self._one_publish_per_tick()

    def _read(self, name: str, location: str) -> None:
        table = StaticTable.from_metadata(location)
        rows = sorted(table.scan().to_arrow()["n"].to_pylist())
        value = rows[-1]
        wanted = list(range(value - WINDOW + 1, value + 1)) if name == "default.solo" else [value]
        assert rows == wanted, f"{name} holds {rows}, not {wanted}"
        assert value >= self.values.get(name, 0), f"{name} went back from {self.values[name]} to {value}"
        self.values[name] = value
        self.files[name] = [local(path) for path in named_by(table, self.named, current_only=True)]

    def _one_publish_per_tick(self) -> None:
        with self.lake.database.engine.connect() as connection:
            # A source that changes between two attempts of a tick is captured twice, until the tick is pinned.
            query = select(history.c.identifier, history.c.tick_id).where(
                history.c.action.in_(("INITIALIZE", "REFRESH")), history.c.identifier != "default.m"
            )
            times = Counter((row.identifier, row.tick_id) for row in connection.execute(query))
            epochs = select(func.count(func.distinct(status.c.group_epoch))).where(status.c.identifier.in_(GROUP))
            assert (connection.execute(epochs).scalar() or 0) <= 1, "members of two epochs"
        assert all(count == 1 for count in times.values()), f"published twice in one tick: {times}"

    def look_at_the_end(self, tolerated: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """When everything is done and cleaned: all is new, and no file is without an owner."""
        self.look()
        assert set(self.values) == set(TABLES)
        assert {self.values[name] for name in GROUP} == {self.house.rows}
        assert (self.values["default.solo"], self.values["default.m"]) == (self.house.number, self.house.number)
        with self.lake.database.engine.connect() as connection:
            for table in (staging, prepared, leases):
                assert connection.execute(select(table)).all() == [], table.name
        left = self.orphans()
        kept = {path for path in left if any(staging_id in path for staging_id in tolerated)}
        assert left - kept == set(), f"files without an owner: {sorted(left - kept)}"

    def orphans(self) -> set[str]:
        """Files of the warehouse that no table names, nor did once."""
        return self._orphans(TABLES)

    def orphans_now(self) -> set[str]:
        """The same while some tables may not be there yet."""
        return self._orphans(tuple(self.seen))

    def _orphans(self, tables: tuple[str, ...]) -> set[str]:
        outside = SqlCatalog("trickle", uri=self.house.uri, warehouse=self.house.warehouse)
        owned = set(self.once)
        for name in (*tables, "default.src"):
            owned |= {local(path) for path in named_by(outside.load_table(name), self.named)}
        outside.engine.dispose()
        home = Path(local(self.house.warehouse))
        there = {str(path) for path in home.rglob("*") if path.is_file()}
        # What others write is theirs: pyiceberg drops old metadata of the source from its log, and leaves the files.
        return {path for path in there - owned if "/_trickle_owner.json" not in path and "/default/src/" not in path}


def local(location: str) -> str:
    """The path of a location."""
    return location.removeprefix("file://")


def named_by(table: Table, known: Named, current_only: bool = False) -> set[str]:
    """Every file that the metadata of a table name."""
    metadata = table.metadata
    found = {table.metadata_location}
    snapshots = metadata.snapshots
    if current_only:
        snapshots = [one for one in snapshots if one.snapshot_id == metadata.current_snapshot_id]
    else:
        found |= {entry.metadata_file for entry in metadata.metadata_log}
    for snapshot in snapshots:
        said = snapshot.summary.additional_properties if snapshot.summary else {}
        if "trickle.capture-state" in said:
            found.add(said["trickle.capture-state"])
        if snapshot.manifest_list not in known:
            known[snapshot.manifest_list] = frozenset(_named_by_snapshot(table, snapshot, known))
        found |= known[snapshot.manifest_list]
    return found


def _named_by_snapshot(table: Table, snapshot: Snapshot, known: Named) -> set[str]:
    found = {snapshot.manifest_list}
    for manifest in snapshot.manifests(table.io):
        path = manifest.manifest_path
        if path not in known:
            entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
            known[path] = frozenset(entry.data_file.file_path for entry in entries)
        found |= {path} | known[path]
    return found
