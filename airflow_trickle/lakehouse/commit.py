"""Publishing: stage new metadata for any number of tables, then make all of it visible at once.

This is the one place that touches pyiceberg's internals (pinned exactly; ``tests/lakehouse`` holds the
seam): its SQL catalog commits one table at a time.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StagedTable, Table, TableProperties, Transaction
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
)
from pyiceberg.utils.properties import property_as_bool
from sqlalchemy import Connection, select, update
from sqlalchemy import insert as sql_insert
from sqlalchemy.exc import IntegrityError

from airflow_trickle.errors import CatalogUnavailable, CommitConflict, CommitUnanswered, TrickleError, UnsupportedTable
from airflow_trickle.lakehouse.catalog import CATALOG_ROWS, Lakehouse, split_identifier
from airflow_trickle.lakehouse.columns import has_collections, same_columns
from airflow_trickle.lakehouse.compacted import COMPACTED
from airflow_trickle.lakehouse.files import delete_files, make_durable, reported
from airflow_trickle.lakehouse.owner import require_owner
from airflow_trickle.lakehouse.partition_values import partition_of
from airflow_trickle.lakehouse.partitions import Layout, same_parts
from airflow_trickle.lakehouse.positions import check_deletes
from airflow_trickle.lakehouse.producers import (
    AppendProducer,
    ChangeTransaction,
    CompactionProducer,
    CreationTransaction,
    ReplaceProducer,
)
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.staging import Staging, finish, is_pending, is_published, require_files
from airflow_trickle.tuning import tuning

NAME_MAPPING = "schema.name-mapping.default"

#: Ours; also what says that a table is a stream table.
OWNED = "trickle.stream-table"
#: Beside it: the table is the mirror of a captured source, and of what.
CAPTURED = "trickle.captured-from"

#: So often a database that went away at a commit is asked what became of it.
_ASK_SECONDS = 0.5

#: The place of the partition among the values of a `DataFile`.
_PARTITION = 3

_PROPERTIES = {
    OWNED: "true",
    # One manifest a tick adds up: let pyiceberg merge them.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    # One metadata file a tick adds up too; who has just looked up a table still finds its file for 20 commits.
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
    TableProperties.METADATA_PREVIOUS_VERSIONS_MAX: "20",
}


@dataclass(frozen=True)
class Target:
    """A table about to be written: the one that exists, or a new one that nobody sees yet."""

    identifier: str
    table: Table
    schema: Schema
    is_new: bool
    #: How its next files are parted; None: as the table is now.
    parted: PartitionSpec | None = None
    #: By which columns the rows are sorted that are written.
    order: tuple[str, ...] = ()

    @property
    def spec(self) -> PartitionSpec:
        """The partition spec of the files to write."""
        return self.table.metadata.spec() if self.parted is None else self.parted

    @property
    def is_parted_anew(self) -> bool:
        """Whether no file that the table has fits the partitions it gets: then all are written anew."""
        return not self.is_new and not same_parts(self.spec, self.table.metadata, self.schema)

    @property
    def expected(self) -> str | None:
        """The metadata location that must still be current at the commit; None: must not exist."""
        return None if self.is_new else self.table.metadata_location


@dataclass(frozen=True)
class Staged:
    """A table whose next state is written and waits for its commit."""

    identifier: str
    staging: Staging
    expected: str | None
    location: str
    snapshot_id: int
    table: Table = field(compare=False, repr=False)
    #: Every file that was written for it, and that its commit makes visible.
    written: tuple[str, ...] = ()


def new_target(
    lake: Lakehouse,
    identifier: str,
    schema: Schema,
    more: Mapping[str, str] | None = None,
    layout: Layout | None = None,
) -> Target:
    """A table that does not exist yet; its final schema (with field ids) is in the result."""
    spec = layout.spec(schema, None) if layout and layout.partition_by else UNPARTITIONED_PARTITION_SPEC
    order = layout.order(schema) if layout else ()
    lake.ensure_namespace(identifier)
    properties = {**_PROPERTIES, **(more or {})}
    # A folder of its own: a table that was renamed or dropped before may still live in the folder of that name.
    location = f"{lake.catalog._get_default_warehouse_location(*split_identifier(identifier))}-{uuid.uuid4().hex[:12]}"
    staged = lake.catalog._create_staged_table(identifier, schema, location, spec, UNSORTED_SORT_ORDER, properties)
    final = staged.metadata.schema()
    if has_collections(final):
        # Spark writes no field ids inside lists and maps: readers find these columns by name.
        staged.metadata.properties[NAME_MAPPING] = create_mapping_from_schema(final).model_dump_json()
    return Target(identifier, staged, final, is_new=True, order=order)


def data_files(
    table: Table, schema: Schema, locations: Iterable[str], spec: PartitionSpec | None = None
) -> list[DataFile]:
    """Written Parquet files with their row counts, column bounds and partitions; empty ones are left out."""
    spec = table.metadata.spec() if spec is None else spec
    metadata = table.metadata.model_copy(
        update={
            "schemas": [schema],
            "current_schema_id": schema.schema_id,
            # From bounds alone, which may be missing or cut short, no partition is told.
            "partition_specs": [UNPARTITIONED_PARTITION_SPEC],
            "default_spec_id": UNPARTITIONED_PARTITION_SPEC.spec_id,
        }
    )
    locations = list(locations)
    if locations:
        _check_field_ids(table, schema, locations[0])
    files = [parquet_file_to_data_file(table.io, metadata, location) for location in locations]
    files = [file for file in files if file.record_count > 0]
    for file in files:
        file[_PARTITION] = partition_of(table.io, file.file_path, schema, spec)
        file.spec_id = spec.spec_id
    return files


def _check_field_ids(table: Table, schema: Schema, location: str) -> None:
    """A file whose columns lack their ids would be read as NULLs by every Iceberg client."""
    with table.io.new_input(location).open() as stream:
        written = pq.read_schema(stream)
    ids = {field.name: (field.metadata or {}).get(b"PARQUET:field_id") for field in written}
    wrong = [field.name for field in schema.fields if ids.get(field.name) != str(field.field_id).encode()]
    if wrong:
        raise UnsupportedTable(
            f"Spark wrote {location} without the right field ids (columns {', '.join(wrong)}); nothing was published. "
            f"Check that spark.sql.parquet.fieldId.write.enabled is true."
        )


def stage(
    lake: Lakehouse,
    target: Target,
    staging: Staging,
    *,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    summary: Mapping[str, str],
    deletes: Sequence[DataFile] = (),
    beside: Sequence[str] = (),
) -> Staged:
    """Write manifests and metadata of a table's next state; nothing is visible yet.

    ``deletes`` are what `positions.write_position_deletes` made, for files that stay or for new ones; ``beside`` are
    further files that the snapshot names. If the summary says that it is a compaction, the added files have the very
    rows of the removed ones.
    """
    transaction = _transaction(target)
    producer = _producer(target, staging, transaction, added, removed, deletes, summary)
    with reported(staging.metadata_folder):
        producer.commit()
        staged = lake.catalog._update_and_stage_table(
            None if target.is_new else target.table,
            target.table.name(),
            () if target.is_new else transaction._requirements,
            transaction._updates,
        )
        location = metadata_location(target, staged, staging)
        lake.catalog._write_metadata(staged.metadata, staged.io, location)
        metadata = [*_listed_manifests(staged, producer), *producer._written_manifest_lists, location]
        written = [*(file.file_path for file in (*added, *deletes)), *metadata]
        make_durable(staged.io, written)
    return Staged(
        identifier=target.identifier,
        staging=staging,
        expected=target.expected,
        location=location,
        snapshot_id=producer.snapshot_id,
        table=lake.table_at(target.identifier, location),
        written=(*written, *beside),
    )


def _listed_manifests(staged: StagedTable, producer: AppendProducer | ReplaceProducer) -> list[str]:
    """The manifests that a new snapshot lists; those that were merged into others at once are removed.

    No snapshot would ever name them.
    """
    if len(producer._written_manifests) < 2:
        return list(producer._written_manifests)
    snapshot = staged.metadata.snapshot_by_id(producer.snapshot_id)
    assert snapshot is not None  # noqa: S101 - it was just made
    listed = {manifest.manifest_path for manifest in snapshot.manifests(staged.io)}
    delete_files(staged.io, [path for path in producer._written_manifests if path not in listed])
    return [path for path in producer._written_manifests if path in listed]


def _producer(
    target: Target,
    staging: Staging,
    transaction: Transaction,
    added: Sequence[DataFile],
    removed: Sequence[DataFile],
    deletes: Sequence[DataFile],
    summary: Mapping[str, str],
) -> AppendProducer | ReplaceProducer:
    """The maker of a snapshot, with all its files."""
    settings: dict[str, Any] = {
        "transaction": transaction,
        "io": target.table.io,
        "commit_uuid": uuid.UUID(staging.staging_id),
        "snapshot_properties": dict(summary),
    }
    producer: AppendProducer | ReplaceProducer
    if COMPACTED in summary:
        producer = CompactionProducer(operation=Operation.OVERWRITE, **settings)
    elif added and not removed and not deletes:
        producer = AppendProducer(operation=Operation.APPEND, **settings)
    else:
        only_deletes = deletes and not added
        producer = ReplaceProducer(operation=Operation.DELETE if only_deletes else Operation.OVERWRITE, **settings)
        producer.added_deletes = tuple(deletes)
    if deletes:
        gone = {file.file_path for file in removed}
        held = files_of(target.table, target.table.metadata.current_snapshot_id)
        check_deletes(target.identifier, deletes, [*(held[path] for path in held.keys() - gone), *added])
    for file in removed:
        producer.delete_data_file(file)
    for file in added:
        producer.append_data_file(file)
    return producer


def stage_together(stagings: Sequence[Callable[[], Staged]]) -> list[Staged]:
    """Run several calls of `stage` side by side; each waits mostly for its own files.

    If one fails, the others are done all the same, and the first error is raised.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(stagings))) as pool:
        return [future.result() for future in [pool.submit(copy_context().run, call) for call in stagings]]


def _transaction(target: Target) -> Transaction:
    if target.is_new:
        assert isinstance(target.table, StagedTable)  # noqa: S101 - for the type checker
        return CreationTransaction(target.table)
    transaction = ChangeTransaction(target.table)
    if not same_columns(target.schema, target.table.metadata.schema()):
        transaction._apply(
            (AddSchemaUpdate(schema=target.schema), SetCurrentSchemaUpdate(schema_id=-1)),  # type: ignore[call-arg]
        )
        if has_collections(target.schema) or NAME_MAPPING in target.table.metadata.properties:
            mapping = create_mapping_from_schema(target.schema).model_dump_json()
            transaction._apply((SetPropertiesUpdate(updates={NAME_MAPPING: mapping}),))
    if target.spec.spec_id != target.table.metadata.default_spec_id:
        if target.spec.spec_id not in target.table.metadata.specs():
            transaction._apply((AddPartitionSpecUpdate(spec=target.spec),))
        transaction._apply((SetDefaultSpecUpdate(spec_id=target.spec.spec_id),))  # type: ignore[call-arg]
    return transaction


def metadata_location(target: Target, staged: StagedTable, staging: Staging) -> str:
    """Where the next metadata of a table go: like pyiceberg's own, but with the staging's id in the name."""
    version = 0
    if not target.is_new:
        version = target.table.catalog._parse_metadata_version(target.table.metadata_location) + 1  # type: ignore[attr-defined]
    provider = load_location_provider(staged.metadata.location, staged.metadata.properties)
    return provider.new_metadata_location(f"{version:05d}-{staging.staging_id}.metadata.json")


def commit(
    lake: Lakehouse,
    staged: Sequence[Staged],
    also: Callable[[Connection], None] = lambda _connection: None,
    beside: Sequence[Staging] = (),
) -> None:
    """Make every staged table visible in one database transaction, or none of them.

    ``also`` writes what belongs to the commit (status, history, leases) in the same transaction; an error it
    raises undoes everything. It may be called again. ``beside`` are stagings without a snapshot that it ends.

    Raises:
        CommitConflict: a table was changed by somebody else since it was read; it is named.
        StagedFilesMissing: a file that would become visible is gone; it is named.
        NotTheOwner: the warehouse belongs to another catalog database.
        CommitUnanswered: the connection was lost at COMMIT, and the database does not say what became of it.
    """
    # Before the transaction, which is to be short: it refuses what was discarded by its staging record.
    for table in staged:
        require_owner(lake, table.staging.table_location)
        require_files(lake, table.identifier, table.staging, table.written)

    def flip(connection: Connection) -> None:
        # In one order everywhere: two commits that overlap wait for each other, never in a circle.
        for table in sorted(staged, key=lambda item: item.identifier):
            _flip(lake, connection, table)
            finish(lake, connection, table.staging)
        also(connection)

    try:
        lake.database.run(flip)
    except CommitUnanswered as error:
        if not did_commit(lake, [*(table.staging for table in staged), *beside], error):
            raise
    for table in staged:
        # The commit counts, whatever becomes of these files.
        with suppress(TrickleError, OSError):
            _delete_old_metadata(lake, table)


def did_commit(lake: Lakehouse, records: Sequence[Staging], error: CommitUnanswered) -> bool:
    """After a connection was lost at COMMIT: whether the transaction that ends these stagings counts.

    Raises:
        CommitUnanswered: the database cannot be asked; what became of the commit is found out by the next tick.
    """
    if not records:
        return False
    deadline = time.monotonic() + tuning().commit_outcome_seconds
    while True:
        try:
            # All of them were to go with one transaction, so that one tells of all.
            return not is_pending(lake, records[0]) and any(is_published(lake, record) for record in records)
        except CatalogUnavailable:
            if time.monotonic() >= deadline:
                break
            time.sleep(_ASK_SECONDS)
    names = ", ".join(record.identifier for record in records)
    raise CommitUnanswered(
        f"{error} The connection was lost at the very commit, so that it is not known whether {names} was published; "
        f"no file was removed. The next tick looks at the published state and goes on from there."
    ) from error


def _delete_old_metadata(lake: Lakehouse, staged: Staged) -> None:
    """Remove the metadata files that a commit has dropped from the table's log, if the table says so."""
    new = staged.table.metadata
    if staged.expected is None:
        return
    if not property_as_bool(new.properties, TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED, False):
        return
    before = lake.table_at(staged.identifier, staged.expected).metadata
    kept = {entry.metadata_file for entry in new.metadata_log} | {staged.expected, staged.location}
    own = f"{new.location.rstrip('/')}/"
    gone = {entry.metadata_file for entry in before.metadata_log} - kept
    delete_files(staged.table.io, sorted(path for path in gone if path.startswith(own)))


def _flip(lake: Lakehouse, connection: Connection, table: Staged) -> None:
    namespace, name = split_identifier(table.identifier)
    rows = CATALOG_ROWS
    if table.expected is None:
        row = lake.catalog._create_table_row(namespace, name, table.location)
        try:
            connection.execute(sql_insert(rows).values(**row))
        except IntegrityError:
            raise _conflict(table.identifier, "it was created by another writer meanwhile") from None
        return
    changed = connection.execute(
        update(rows)
        .where(
            rows.c.catalog_name == lake.name,
            rows.c.table_namespace == namespace,
            rows.c.table_name == name,
            rows.c.metadata_location == table.expected,
        )
        .values(metadata_location=table.location, previous_metadata_location=table.expected)
    )
    if changed.rowcount != 1:
        raise _conflict(table.identifier, "it was changed or dropped by another writer since this refresh read it")


def require_unmoved(lake: Lakehouse, connection: Connection, identifier: str, expected: str | None) -> None:
    """Inside a commit: fail unless a table that is not written is still as it was when it was read."""
    namespace, name = split_identifier(identifier)
    rows = CATALOG_ROWS
    found = connection.execute(
        select(rows.c.metadata_location).where(
            rows.c.catalog_name == lake.name, rows.c.table_namespace == namespace, rows.c.table_name == name
        )
    ).scalar()
    if found != expected:
        raise _conflict(identifier, "it was changed or dropped by another writer since this refresh read it")


def _conflict(identifier: str, why: str) -> CommitConflict:
    return CommitConflict(
        f"Table {identifier} could not be published: {why}. None of the tables of this commit was changed; try again.",
        [identifier],
    )
