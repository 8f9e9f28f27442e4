"""A stream table and its readers, written without Spark, with everything that keeps a snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from airflow_trickle import clock
from airflow_trickle.engine.maintenance.maintain import Rules, maintain
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, Target, commit, data_files, new_target, stage
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.maintenance.policy import MaintenancePolicy
from airflow_trickle.lakehouse.positions import write_position_deletes
from airflow_trickle.lakehouse.snapshots import Version, files_of
from airflow_trickle.lakehouse.state import Frontier, TickRecord, write_status, write_tick
from airflow_trickle.results import MaintainedTable, Maintenance
from airflow_trickle.tuning import tuned
from tests.lakehouse.writing import SCHEMA

#: Nothing but the number decides: all snapshots of a test are of the same minute.
POLICY = MaintenancePolicy(keep_snapshots=2, restate_window=0)


def summary(frontier: Mapping[str, int | None], epoch: int) -> dict[str, str]:
    """What a refresh says of its snapshot."""
    return {
        "trickle.frontier": json.dumps({name: [snapshot, 0] for name, snapshot in frontier.items()}),
        "trickle.world": "{}",
        "trickle.epoch": str(epoch),
        "trickle.tick": f"p/{epoch}",
        "trickle.effective-at": clock.text_of(clock.now()),
        "trickle.definition": "d",
        "trickle.rows-inserted": "1",
        "trickle.rows-deleted": "0",
    }


def staged_rows(
    lake: Lakehouse,
    identifier: str,
    numbers: list[int],
    *,
    frontier: Mapping[str, int | None] | None = None,
    without: tuple[int, ...] = (),
    rewrite: bool = False,
) -> Staged:
    """Stage rows more, and fewer: ``without`` names rows to delete by position; ``rewrite``: only the new ones stay."""
    current = lake.table(identifier)
    target = (
        Target(identifier, current, current.metadata.schema(), is_new=False)
        if current is not None
        else new_target(lake, identifier, SCHEMA)
    )
    record = stagings.begin(
        lake,
        lease=Lease(identifier, "test"),
        table_location=target.table.metadata.location,
        pipeline="p",
        tick_id="p/t",
        spark=None,
        new_table=target.is_new,
    )
    make_folder(target.table.io, record.data_folder)
    path = f"{record.data_folder}/part-0.parquet"
    rows = [{"epoch": number, "name": f"row {number}"} for number in numbers]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(target.schema)), spark_path(path))
    held = list(files_of(target.table, target.table.metadata.current_snapshot_id).values())
    marked = []
    for file in held if without and not rewrite else ():
        values = pq.read_table(spark_path(file.file_path))["epoch"].to_pylist()
        places = [number for number, value in enumerate(values) if value in without]
        already = {position for delete in file.deletes for position in _positions(delete.path)}
        if places := [place for place in places if place not in already]:
            marked.append((file, places))
    deletes = write_position_deletes(target.table, record, marked)
    epoch = len(target.table.metadata.snapshots) + 1
    return stage(
        lake,
        target,
        record,
        added=data_files(target.table, target.schema, [path]) if numbers else [],
        removed=held if rewrite else [],
        deletes=deletes,
        summary=summary(frontier or {}, epoch),
    )


def _positions(path: str) -> list[int]:
    found: list[int] = pq.read_table(spark_path(path))["pos"].to_pylist()
    return found


def publish(
    lake: Lakehouse,
    identifier: str,
    numbers: list[int],
    *,
    pipeline: str = "p",
    frontier: Mapping[str, int | None] | None = None,
    without: tuple[int, ...] = (),
    rewrite: bool = False,
) -> int:
    """Publish a next state with its status; its snapshot."""
    staged = staged_rows(lake, identifier, numbers, frontier=frontier, without=without, rewrite=rewrite)
    versions = {name: Version(snapshot, 0) for name, snapshot in (frontier or {}).items()}
    commit(
        lake,
        [staged],
        lambda connection: write_status(
            lake,
            connection,
            identifier,
            if_new={"name": identifier.rpartition(".")[2], "pipeline": pipeline},
            status="ACTIVE",
            frontier=Frontier(versions, {}),
            snapshot_id=staged.snapshot_id,
            schema_id=0,
            metadata_location=staged.location,
            definition="d",
        ),
    )
    return staged.snapshot_id


def read_up_to(lake: Lakehouse, reader: str, frontier: Mapping[str, int | None], pipeline: str = "q") -> None:
    """A reader of whatever pipeline that stands at some snapshots, and has no rows here."""
    versions = {name: Version(snapshot, 0) for name, snapshot in frontier.items()}
    with lake.database.transaction() as connection:
        known = {"name": reader.rpartition(".")[2], "pipeline": pipeline}
        write_status(lake, connection, reader, if_new=known, frontier=Frontier(versions, {}))


def pinned(lake: Lakehouse, tick_id: str, pins: Mapping[str, int], at: datetime | None = None) -> None:
    """A tick that has pinned some snapshots."""
    moment = at or clock.now()
    versions = {name: Version(snapshot, 0) for name, snapshot in pins.items()}
    record = TickRecord(tick_id, tick_id.partition("/")[0], versions, {}, None, moment)
    with lake.database.transaction() as connection:
        write_tick(connection, lake, record)


def table_of(lake: Lakehouse, identifier: str) -> Table:
    table = lake.table(identifier)
    assert table is not None
    return table


def snapshots_of(lake: Lakehouse, identifier: str) -> set[int]:
    return {one.snapshot_id for one in table_of(lake, identifier).metadata.snapshots}


def rows_at(lake: Lakehouse, identifier: str, snapshot_id: int | None = None) -> list[int]:
    """The rows of a state, read by pyiceberg alone."""
    found: list[int] = table_of(lake, identifier).scan(snapshot_id=snapshot_id).to_arrow()["epoch"].to_pylist()
    return sorted(found)


@contextmanager
def at_once() -> Iterator[None]:
    """Without the hour for which every snapshot stays that somebody may have begun to read."""
    with tuned(maintenance_grace_seconds=0):
        yield


def maintained(
    lake: Lakehouse, policy: MaintenancePolicy = POLICY, only: list[str] | None = None, **options: bool
) -> Maintenance:
    with at_once():
        return maintain(lake, Rules(policy), only, wait=0, **options)


def maintained_table(lake: Lakehouse, identifier: str, policy: MaintenancePolicy = POLICY) -> MaintainedTable:
    (found,) = maintained(lake, policy, [identifier]).tables
    assert found.error is None, found.error
    return found
