"""Status, history and ticks: reading and writing the state tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.engine import RowMapping

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.tables import history, status, ticks
from airflow_trickle.results import Cause, Mode, Status, TableResult

#: In the column ``mode`` of a status: the table is the mirror of a captured source.
CAPTURE = "CAPTURE"
#: In the column ``action`` of the history: the table was taken back to an earlier moment.
RESTATE = "RESTATE"


@dataclass(frozen=True)
class Frontier:
    """What a published state was computed from: each input's version, and the pinned world behind it.

    ``world`` names the pinned inputs of the pipeline that reached the table on any path, so that a table
    never mixes inputs that saw different worlds. The one exception are the tables of ``behind``: they were held
    (suspended, or they did not settle), so that their last good state was read, of whatever world.
    """

    inputs: dict[str, Version]
    world: dict[str, Version]
    behind: tuple[str, ...] = ()

    def as_json(self) -> str:
        """The frontier as text for a state table."""
        said: dict[str, Any] = {"inputs": _plain(self.inputs), "world": _plain(self.world)}
        if self.behind:
            said["behind"] = list(self.behind)
        return json.dumps(said, sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Frontier:
        """The frontier that `as_json` wrote."""
        data = json.loads(text)
        return Frontier(versions(data["inputs"]), versions(data["world"]), tuple(data.get("behind", ())))


def _plain(of: dict[str, Version]) -> dict[str, list[int | None]]:
    return {name: [version.snapshot_id, version.schema_id] for name, version in of.items()}


def versions(plain: dict[str, list[int]]) -> dict[str, Version]:
    """Versions by table from their JSON form."""
    return {name: Version(pair[0], pair[1]) for name, pair in plain.items()}


@dataclass(frozen=True)
class TableStatus:
    """The last word on a stream table."""

    identifier: str
    name: str
    pipeline: str
    status: Status
    mode: str | None
    definition: str | None
    frontier: Frontier | None
    effective_at: datetime | None
    tick_id: str | None
    metadata_location: str | None
    snapshot_id: int | None
    schema_id: int | None
    epoch: int
    refreshed_at: datetime | None
    changed_at: datetime | None
    error: str | None
    #: What is kept beside the table to refresh it quickly, as JSON.
    kept: str | None = None
    #: How many passes it took to reach the last fixed point, and when that was.
    last_iterations: int | None = None
    converged_at: datetime | None = None
    #: Fingerprint of the unit that did not settle: as long as it is the same, it is not tried again.
    halted: str | None = None
    #: Tables that are held and without which this one cannot be refreshed; they may be so no longer.
    waits_for: tuple[str, ...] = ()
    #: The atomic group it was last published with, and how many commits that group had then.
    group_name: str | None = None
    group_epoch: int | None = None
    #: The settings and the version of Spark that its rows were computed under, as JSON.
    settings: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether it is not refreshed, because it did not settle or was suspended."""
        return self.status is Status.SUSPENDED or (self.status is Status.ERROR and self.halted is not None)


def read_status(lake: Lakehouse, identifiers: list[str] | None = None) -> dict[str, TableStatus]:
    """The status of some stream tables, or of all."""
    query = select(status).where(status.c.catalog == lake.name).order_by(status.c.identifier)
    if identifiers is not None:
        query = query.where(status.c.identifier.in_(identifiers))
    with lake.database.reading() as connection:
        rows = {row["identifier"]: dict(row) for row in connection.execute(query).mappings()}
    for name, unseen in lake.unseen.items():
        if identifiers is None or name in identifiers:
            rows[name] = {**(rows.get(name) or _blank(name)), **unseen.status}
    return {name: _status(row) for name, row in rows.items()}


def state_of(status: TableStatus) -> dict[str, Any]:
    """What `TableState` tells of a status; the rest follows from the plan."""
    return {
        "pipeline": status.pipeline,
        "status": status.status,
        "mode": status.mode,
        "epoch": status.epoch,
        "group": status.group_name,
        "group_epoch": status.group_epoch,
        "snapshot_id": status.snapshot_id,
        "tick_id": status.tick_id,
        "effective_at": status.effective_at,
        "refreshed_at": status.refreshed_at,
        "changed_at": status.changed_at,
        "last_fixpoint_iterations": status.last_iterations,
        "converged_at": status.converged_at,
        "error": status.error,
    }


def lock_status(lake: Lakehouse, connection: Connection, identifiers: list[str]) -> list[TableStatus]:
    """The status of some stream tables as a transaction sees it; nobody else changes it until that ends."""
    # One after the other in Python's order, as all do who write several: the database may sort names otherwise.
    found = []
    for identifier in sorted(identifiers):
        query = select(status).where(status.c.catalog == lake.name, status.c.identifier == identifier)
        found += [_status(dict(row)) for row in connection.execute(query.with_for_update()).mappings()]
    return found


def _blank(identifier: str) -> dict[str, Any]:
    """The columns of a table's status before anything was written of it."""
    nothing = {column.name: None for column in status.columns}
    return {**nothing, "identifier": identifier, "status": Status.INITIALIZING.value, "epoch": 0}


def _status(row: Mapping[str, Any]) -> TableStatus:
    def moment(column: str) -> datetime | None:
        return clock.moment_of(row[column]) if row[column] else None

    return TableStatus(
        identifier=row["identifier"],
        name=row["name"],
        pipeline=row["pipeline"],
        status=Status(row["status"]),
        mode=row["mode"],
        definition=row["definition"],
        frontier=Frontier.from_json(row["frontier"]) if row["frontier"] else None,
        effective_at=moment("effective_at"),
        tick_id=row["tick_id"],
        metadata_location=row["metadata_location"],
        snapshot_id=row["snapshot_id"],
        schema_id=row["schema_id"],
        epoch=row["epoch"],
        refreshed_at=moment("refreshed_at"),
        changed_at=moment("changed_at"),
        error=row["error"],
        kept=row["kept"],
        last_iterations=row["last_iterations"],
        converged_at=moment("converged_at"),
        halted=row["halted"],
        waits_for=tuple(json.loads(row["waits_for"])) if row["waits_for"] else (),
        group_name=row["group_name"],
        group_epoch=row["group_epoch"],
        settings=row["settings"],
    )


def write_status(
    lake: Lakehouse, connection: Connection, identifier: str, if_new: Mapping[str, Any] | None = None, **values: Any
) -> None:
    """Set columns of a table's status, creating the row if need be (then with those of ``if_new`` too)."""
    stored = stored_status(values)
    key = (status.c.catalog == lake.name) & (status.c.identifier == identifier)
    if connection.execute(update(status).where(key).values(**stored)).rowcount == 0:
        stored = {"status": Status.INITIALIZING.value, "epoch": 0, **(if_new or {}), **stored}
        connection.execute(insert(status).values(catalog=lake.name, identifier=identifier, **stored))


def stored_status(values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of a status as the database has them, which is also what JSON has; what is so already stays."""
    stored = dict(values)
    for name in ("effective_at", "refreshed_at", "changed_at", "error_at", "converged_at"):
        if isinstance(stored.get(name), datetime):
            stored[name] = clock.text_of(stored[name])
    if isinstance(stored.get("frontier"), Frontier):
        stored["frontier"] = stored["frontier"].as_json()
    if isinstance(stored.get("waits_for"), tuple):
        stored["waits_for"] = json.dumps(sorted(stored["waits_for"])) if stored["waits_for"] else None
    if stored.get("error") is not None:
        stored["error"] = _storable(stored["error"])
    return stored


def forget(lake: Lakehouse, connection: Connection, identifier: str) -> None:
    """Remove a table's status (its history stays)."""
    connection.execute(delete(status).where(status.c.catalog == lake.name, status.c.identifier == identifier))


def write_history(
    lake: Lakehouse,
    connection: Connection,
    result: TableResult,
    *,
    identifier: str,
    pipeline: str,
    tick_id: str,
    action: str,
    started_at: datetime,
) -> None:
    """Add what became of a table in a tick."""
    connection.execute(
        insert(history).values(
            catalog=lake.name,
            identifier=identifier,
            name=result.table,
            pipeline=pipeline,
            tick_id=tick_id,
            action=action,
            mode=result.mode.value,
            reason=_storable(result.reason),
            rows_in=result.rows_in,
            rows_inserted=result.rows_inserted,
            rows_deleted=result.rows_deleted,
            iterations=result.iterations,
            epoch=result.epoch,
            snapshot_id=result.snapshot_id,
            started_at=clock.text_of(started_at),
            seconds=result.seconds,
            bytes_read=result.bytes_read,
            bytes_written=result.bytes_written,
            phases=json.dumps(result.phases),
            error=_storable(result.error) if result.error is not None else None,
            group_epoch=result.group_epoch,
            cause=result.cause.value if result.cause is not None else None,
            choice=_storable(result.choice.model_dump_json()) if result.choice is not None else None,
            state=json.dumps([one.model_dump() for one in result.state]) if result.state else None,
        )
    )


def _storable(text: str) -> str:
    """A message as every database takes it: PostgreSQL stores no NUL, and none stores half a character."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")


def read_history(
    lake: Lakehouse,
    *,
    identifier: str | None = None,
    pipeline: str | None = None,
    tick_id: str | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """The latest refreshes, newest first."""
    query = select(history).where(history.c.catalog == lake.name)
    for column, wanted in (
        (history.c.identifier, identifier),
        (history.c.pipeline, pipeline),
        (history.c.tick_id, tick_id),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    with lake.database.reading() as connection:
        rows = connection.execute(query.order_by(history.c.id.desc()).limit(limit)).mappings()
        shown = [{key: value for key, value in row.items() if key != "catalog"} for row in rows]
    return [{**row, **_plain_values(row)} for row in shown]


def _plain_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row of the history that hold JSON."""
    return {
        "phases": _phases(row["phases"]),
        "choice": json.loads(row["choice"]) if row["choice"] else None,
        "state": json.loads(row["state"]) if row["state"] else [],
    }


def skipped_strata_of(lake: Lakehouse, tick_ids: Collection[str]) -> dict[str, tuple[int, ...]]:
    """The strata that some ticks passed over, by tick; of ticks that are no longer known nothing."""
    columns = ticks.c
    found: dict[str, tuple[int, ...]] = {}
    wanted = sorted(set(tick_ids))
    with lake.database.reading() as connection:
        for start in range(0, len(wanted), 500):
            query = select(columns.tick_id, columns.skipped_strata).where(
                columns.catalog == lake.name, columns.tick_id.in_(wanted[start : start + 500])
            )
            found |= {row.tick_id: tuple(json.loads(row.skipped_strata or "[]")) for row in connection.execute(query)}
    return found


def _phases(text: str | None) -> dict[str, float]:
    return json.loads(text) if text else {}


def published_by(lake: Lakehouse, identifier: str, tick_id: str) -> TableResult | None:
    """The result that an earlier attempt of a tick already published for a table.

    What was published before the table was taken back to an earlier moment counts no longer.
    """
    of_table = (history.c.catalog == lake.name) & (history.c.identifier == identifier)
    restated = select(func.max(history.c.id)).where(of_table, history.c.action == RESTATE).scalar_subquery()
    query = (
        select(history)
        .where(
            of_table,
            history.c.tick_id == tick_id,
            history.c.action.not_in(("FAILED", "DISCARDED")),
            history.c.id > func.coalesce(restated, 0),
        )
        .order_by(history.c.id.desc())
        .limit(1)
    )
    with lake.database.reading() as connection:
        row = connection.execute(query).mappings().first()
    if row is None:
        return None
    return TableResult(
        table=row["name"],
        status=Status.ACTIVE,
        mode=Mode(row["mode"]),
        reason=row["reason"],
        rows_in=row["rows_in"],
        rows_inserted=row["rows_inserted"],
        rows_deleted=row["rows_deleted"],
        iterations=row["iterations"],
        snapshot_id=row["snapshot_id"],
        epoch=row["epoch"],
        seconds=row["seconds"],
        bytes_read=row["bytes_read"],
        bytes_written=row["bytes_written"],
        **_plain_values(dict(row)),
        cause=Cause(row["cause"]) if row["cause"] else None,
        group_epoch=row["group_epoch"],
    )


@dataclass(frozen=True)
class TickRecord:
    """A tick as it is stored."""

    tick_id: str
    pipeline: str
    pins: dict[str, Version]
    locations: dict[str, str]
    as_of: datetime | None
    effective_at: datetime
    #: The tables that rest in it.
    not_due: tuple[str, ...] = ()
    #: The strata that it passed over.
    skipped_strata: tuple[int, ...] = ()


def read_tick(connection: Connection, lake: Lakehouse, tick_id: str) -> TickRecord | None:
    """A tick by its id."""
    row = connection.execute(select(ticks).where(ticks.c.catalog == lake.name, ticks.c.tick_id == tick_id))
    return _tick(row.mappings().first())


def latest_tick(
    connection: Connection, lake: Lakehouse, pipeline: str, until: datetime | None = None
) -> TickRecord | None:
    """The tick of a pipeline that saw the newest world; ``until``: of those up to a moment."""
    query = select(ticks).where(ticks.c.catalog == lake.name, ticks.c.pipeline == pipeline)
    if until is not None:
        query = query.where(ticks.c.effective_at <= clock.text_of(until))
    query = query.order_by(ticks.c.effective_at.desc()).limit(1)
    return _tick(connection.execute(query).mappings().first())


def _tick(row: RowMapping | None) -> TickRecord | None:
    if row is None:
        return None
    return TickRecord(
        tick_id=row["tick_id"],
        pipeline=row["pipeline"],
        pins=versions(json.loads(row["pins"])),
        locations=json.loads(row["locations"]),
        as_of=clock.moment_of(row["as_of"]) if row["as_of"] else None,
        effective_at=clock.moment_of(row["effective_at"]),
        not_due=tuple(json.loads(row["not_due"])) if row["not_due"] else (),
        skipped_strata=tuple(json.loads(row["skipped_strata"])) if row["skipped_strata"] else (),
    )


def write_tick(connection: Connection, lake: Lakehouse, record: TickRecord) -> None:
    """Store a new tick."""
    connection.execute(
        insert(ticks).values(
            catalog=lake.name,
            tick_id=record.tick_id,
            pipeline=record.pipeline,
            pins=json.dumps(_plain(record.pins), sort_keys=True),
            locations=json.dumps(record.locations, sort_keys=True),
            as_of=clock.text_of(record.as_of) if record.as_of else None,
            effective_at=clock.text_of(record.effective_at),
            not_due=json.dumps(record.not_due) if record.not_due else None,
            skipped_strata=json.dumps(record.skipped_strata) if record.skipped_strata else None,
            created_at=clock.text_of(clock.now()),
        )
    )
