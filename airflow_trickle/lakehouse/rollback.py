"""Taking a table back to a snapshot that it had: which there are, and new metadata in which one of them is current.

As with Iceberg's own rollback, the snapshots that came later stay in the metadata: whoever reads one of them goes on
doing so, until somebody expires it. Unlike it, columns and partitions go back too: the rows are shown as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
)

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import has_collections
from airflow_trickle.lakehouse.commit import NAME_MAPPING, Staged, Target, metadata_location
from airflow_trickle.lakehouse.files import make_durable, reported
from airflow_trickle.lakehouse.snapshots import Version, manifests_of, schema_of
from airflow_trickle.lakehouse.staging import Staging

_KEEPS = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}


@dataclass(frozen=True)
class Lineage:
    """The current snapshot of a table, the one it was made from, and so on; the newest first.

    Snapshots that were left behind by a rollback are not among them.
    """

    snapshots: tuple[Snapshot, ...]
    #: Whether it reaches back to the first snapshot; if not, those before were expired.
    complete: bool


def lineage_of(table: Table) -> Lineage:
    """How the rows of a table came about, as far as its metadata tell."""
    found: list[Snapshot] = []
    snapshot = table.metadata.current_snapshot()
    while snapshot is not None:
        found.append(snapshot)
        parent = snapshot.parent_snapshot_id
        snapshot = table.metadata.snapshot_by_id(parent) if parent is not None else None
    # Who expires a snapshot may forget that another had it as its parent; numbers are never given twice.
    oldest = found[-1] if found else None
    begins = oldest is None or (oldest.parent_snapshot_id is None and (oldest.sequence_number or 0) <= 1)
    return Lineage(tuple(found), begins)


def shown_by(table: Table, snapshot: Snapshot) -> Version:
    """A snapshot under the columns that it was published with."""
    schema_id = table.metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id
    return Version(snapshot.snapshot_id, schema_id)


def why_not(table: Table, snapshot: Snapshot) -> str | None:
    """Why a table cannot be shown as it was at a snapshot; None if it can.

    Many readers bind every partition spec of a table, however old, to its present columns.
    """
    present = {field.field_id for field in schema_of(table, shown_by(table, snapshot)).fields}
    for spec in table.metadata.partition_specs:
        for part in spec.fields:
            if part.source_id not in present:
                names = (f.name for one in table.metadata.schemas for f in one.fields if f.field_id == part.source_id)
                return f"it was parted by column '{next(names, part.name)}' since, which it did not have then"
    return None


def stage_rollback(lake: Lakehouse, identifier: str, table: Table, snapshot: Snapshot, staging: Staging) -> Staged:
    """Write metadata in which a snapshot of the past is the current one; nothing is visible yet."""
    version = shown_by(table, snapshot)
    target = Target(identifier, table, schema_of(table, version), is_new=False)
    with reported(staging.metadata_folder):
        staged = lake.catalog._update_and_stage_table(table, table.name(), (), _updates(target, version))
        location = metadata_location(target, staged, staging)
        lake.catalog._write_metadata(staged.metadata, staged.io, location)
        make_durable(staged.io, [location])
    return Staged(
        identifier=identifier,
        staging=staging,
        expected=target.expected,
        location=location,
        snapshot_id=snapshot.snapshot_id,
        table=lake.table_at(identifier, location),
        written=(location,),
    )


def _updates(target: Target, version: Version) -> tuple[TableUpdate, ...]:
    """What differs between a table now and then."""
    table, schema = target.table, target.schema
    updates: list[TableUpdate] = []
    if version.schema_id != table.metadata.current_schema_id:
        updates.append(SetCurrentSchemaUpdate(schema_id=version.schema_id))  # type: ignore[call-arg]
        if has_collections(schema) or NAME_MAPPING in table.metadata.properties:
            mapping = create_mapping_from_schema(schema).model_dump_json()
            updates.append(SetPropertiesUpdate(updates={NAME_MAPPING: mapping}))
    specs = {manifest.partition_spec_id for manifest in manifests_of(table, version.snapshot_id).values()}
    # All files of a stream table are parted alike; one without files takes whatever comes next.
    if len(specs) == 1 and specs != {table.metadata.default_spec_id}:
        updates.append(SetDefaultSpecUpdate(spec_id=specs.pop()))  # type: ignore[call-arg]
    updates.append(_main_at(table, version))
    return tuple(updates)


def _main_at(table: Table, version: Version) -> SetSnapshotRefUpdate:
    """The main branch at a snapshot, with what it says of how long its snapshots are kept."""
    before = table.metadata.refs.get(MAIN_BRANCH)
    kept = before.model_dump(include=_KEEPS, by_alias=True) if before is not None else {}
    said = {"ref-name": MAIN_BRANCH, "type": SnapshotRefType.BRANCH, "snapshot-id": version.snapshot_id, **kept}
    return SetSnapshotRefUpdate.model_validate(said)
