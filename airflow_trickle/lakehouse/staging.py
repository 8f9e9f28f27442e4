"""Unfinished work: every file that is not visible yet belongs to a staging record.

The record is written before the first file. A commit removes it in the transaction that makes the
files visible; whoever finds a record without a living owner removes its files. All names of one staging hold
its id, so leftovers are found without a list.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from airflow_trickle import clock
from airflow_trickle.errors import CommitConflict, CommitUnanswered, StagedFilesMissing
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.files import delete_files, delete_folder, exists, list_files, missing
from airflow_trickle.lakehouse.leases import Lease, release, try_acquire
from airflow_trickle.lakehouse.owner import require_owner
from airflow_trickle.lakehouse.prepared import forget_prepared
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.lakehouse.tables import staging

log = logging.getLogger("airflow_trickle")


@dataclass(frozen=True)
class Staging:
    """A place for the files of one table in one refresh."""

    staging_id: str
    identifier: str
    table_location: str
    spark: str | None = None

    @property
    def data_folder(self) -> str:
        """Where the data files go."""
        return f"{self.table_location.rstrip('/')}/data/{self.staging_id}"

    @property
    def deletes_folder(self) -> str:
        """Where the position delete files go; Spark empties the folder of the data files when it writes."""
        return f"{self.data_folder}-deletes"

    @property
    def kept_folder(self) -> str:
        """Where goes what is kept beside the table to refresh it quickly."""
        return f"{self.data_folder}-kept"

    @property
    def metadata_folder(self) -> str:
        """Where the table keeps manifests and metadata."""
        return f"{self.table_location.rstrip('/')}/metadata"


def begin(
    lake: Lakehouse,
    *,
    lease: Lease,
    table_location: str,
    pipeline: str,
    tick_id: str,
    spark: str | None,
    new_table: bool,
) -> Staging:
    """Write the record of a staging, before any file of it exists.

    Raises:
        NotTheOwner: the warehouse belongs to another catalog database.
    """
    require_owner(lake, table_location)
    record = Staging(str(uuid.uuid4()), lease.identifier, table_location, spark)
    row = insert(staging).values(
        catalog=lake.name,
        staging_id=record.staging_id,
        identifier=record.identifier,
        pipeline=pipeline,
        tick_id=tick_id,
        owner=lease.owner,
        table_location=table_location,
        spark=spark,
        new_table=new_table,
        discarding=False,
        created_at=clock.text_of(clock.now()),
    )
    lake.database.run(lambda connection: connection.execute(row))
    return record


def adopt(lake: Lakehouse, lease: Lease, record: Staging, spark: str | None) -> None:
    """Under the lease of its table, go on with what a dead process has staged."""
    mine = update(staging).where(_is(lake, record), staging.c.discarding.is_(False))
    lake.database.run(lambda connection: connection.execute(mine.values(owner=lease.owner, spark=spark)))


def finish(lake: Lakehouse, connection: Connection, record: Staging) -> None:
    """Inside a commit: the files become visible, so the record goes; refuse if they were discarded."""
    gone = connection.execute(delete(staging).where(_is(lake, record), staging.c.discarding.is_(False)))
    if gone.rowcount != 1:
        raise _discarded(record)


def _discarded(record: Staging) -> CommitConflict:
    return CommitConflict(
        f"The staged files of table {record.identifier} were discarded by another process; nothing was "
        f"published. The next tick goes on from the published state.",
        [record.identifier],
    )


def require_files(lake: Lakehouse, identifier: str, record: Staging, written: Sequence[str]) -> None:
    """Just before a commit: fail unless every file that it would make visible is there.

    Somebody who knows nothing of our records may have removed them: a copy of the catalog's database, or a person.
    """
    gone = missing(lake.io({}, record.table_location), written)
    if gone:
        with lake.database.reading() as connection:
            if (
                connection.execute(select(staging).where(_is(lake, record), staging.c.discarding.is_(False))).first()
                is None
            ):
                raise _discarded(record)
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise StagedFilesMissing(
            f"Table {identifier} was not published: a file that was written for it is gone: {gone[0]}{more}. Nothing "
            f"was published; the next tick writes it again. If nobody removed it by hand, look for a second process "
            f"that cleans the same warehouse, such as one with a copy of the catalog's database.",
            [identifier],
        )


def discard(lake: Lakehouse, record: Staging) -> None:
    """Remove the files of a staging, then its record.

    The record is marked first: a slow owner that comes back can then no longer commit. Without a record it was either
    committed, by a commit whose answer was lost, and its files are left alone; or somebody else has discarded it while
    its owner stood still, and what that one wrote afterwards is removed.

    Raises:
        NotTheOwner: the warehouse belongs to another catalog database; everything is left as it is.
    """
    require_owner(lake, record.table_location)
    mark = update(staging).where(_is(lake, record)).values(discarding=True)
    # Waits for a commit of it that the server may still be at.
    marked = _written(lake, lambda connection: connection.execute(mark).rowcount)
    if marked != 1 and is_published(lake, record):
        return
    remove_staged_files(lake.io({}, record.table_location), record)
    _written(lake, lambda connection: connection.execute(delete(staging).where(_is(lake, record))).rowcount)


def _written(lake: Lakehouse, work: Callable[[Connection], int]) -> int:
    """A write that may be made twice: once more if its answer was lost.

    Where another process has discarded the same work, no record is left by which the next tick would find what was
    written since.
    """
    try:
        return lake.database.run(work)
    except CommitUnanswered:
        return lake.database.run(work)


def is_pending(lake: Lakehouse, record: Staging) -> bool:
    """Whether the record of a staging is there, after the end of every transaction that may be about to remove it."""
    query = select(staging.c.staging_id).where(_is(lake, record)).with_for_update()
    return lake.database.run(lambda connection: connection.execute(query).first()) is not None


def is_published(lake: Lakehouse, record: Staging) -> bool:
    """Of a staging without a record: whether the table, or what is kept beside it, names one of its files."""
    known = read_status(lake.seeing({}), [record.identifier]).get(record.identifier)
    if known is not None and record.staging_id in (known.kept or ""):
        return True
    table = lake.seeing({}).table(record.identifier)
    if table is None:
        return False
    metadata = table.metadata
    names = [table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)]
    names += [snapshot.manifest_list for snapshot in metadata.snapshots]
    if any(record.staging_id in name for name in names):
        return True
    # Its own snapshot may be expired, while later ones still have its files.
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path in seen:
                continue
            seen.add(manifest.manifest_path)
            entries = manifest.fetch_manifest_entry(table.io, discard_deleted=True)
            if any(record.staging_id in entry.data_file.file_path for entry in entries):
                return True
    return False


def remove_staged_files(io: FileIO, record: Staging) -> None:
    """Delete every file that bears the staging's id."""
    delete_folder(io, record.data_folder)
    delete_folder(io, record.deletes_folder)
    delete_folder(io, record.kept_folder)
    if exists(io, record.metadata_folder):
        delete_files(
            io,
            [path for path in list_files(io, record.metadata_folder) if record.staging_id in path.rsplit("/", 1)[-1]],
        )


def leftovers(lake: Lakehouse, *, identifier: str | None = None, pipeline: str | None = None) -> list[Staging]:
    """Staging records of a table or a pipeline, whoever made them."""
    query = select(staging).where(staging.c.catalog == lake.name)
    if identifier is not None:
        query = query.where(staging.c.identifier == identifier)
    if pipeline is not None:
        query = query.where(staging.c.pipeline == pipeline)
    with lake.database.reading() as connection:
        return [
            Staging(row["staging_id"], row["identifier"], row["table_location"], row["spark"])
            for row in connection.execute(query.order_by(staging.c.created_at)).mappings()
        ]


def clean_table(
    lake: Lakehouse, lease: Lease, interrupt: Callable[[str], object] | None = None, keep: str | None = None
) -> int:
    """Under its lease, remove what earlier refreshes of a table left; returns how many there were.

    ``keep`` is the id of one that is gone on with. ``interrupt`` gets the Spark session of each leftover: a client
    that died leaves its query running, and that query would go on writing files.
    """
    found = leftovers(lake, identifier=lease.identifier)
    for record in found:
        require_owner(lake, record.table_location)
    # First what names the files: nobody must take for staged what is about to go.
    forget_prepared(lake, lease.identifier)
    for record in found:
        if record.staging_id == keep:
            continue
        log.info("Removing files that an unfinished refresh of %s left behind.", record.identifier)
        if record.spark and interrupt is not None:
            interrupt(record.spark)
        discard(lake, record)
    return len(found)


def clean_pipeline(lake: Lakehouse, pipeline: str, interrupt: Callable[[str], object] | None = None) -> int:
    """Remove what dead processes left in a pipeline; tables that are being refreshed are left alone."""
    cleaned = 0
    for identifier in sorted({record.identifier for record in leftovers(lake, pipeline=pipeline)}):
        lease = try_acquire(lake, identifier, "cleaning")
        if isinstance(lease, Lease):
            try:
                cleaned += clean_table(lake, lease, interrupt)
            finally:
                release(lake, lease)
    return cleaned


def _is(lake: Lakehouse, record: Staging) -> ColumnElement[bool]:
    return (staging.c.catalog == lake.name) & (staging.c.staging_id == record.staging_id)
