"""The first step of a tick: fix, once, what the whole tick reads."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pyiceberg.table import Table
from sqlalchemy import Connection

from airflow_trickle import clock
from airflow_trickle.errors import SourceMissing, WarehouseUnavailable
from airflow_trickle.lakehouse.catalog import Lakehouse, split_identifier
from airflow_trickle.lakehouse.database import one_at_a_time
from airflow_trickle.lakehouse.leases import forget_dead
from airflow_trickle.lakehouse.owner import renew_marker
from airflow_trickle.lakehouse.snapshots import (
    HistoryExpired,
    Version,
    current_version,
    is_newer,
    version_as_of,
    version_of_tick,
)
from airflow_trickle.lakehouse.state import TickRecord, latest_tick, read_status, read_tick, write_tick
from airflow_trickle.lakehouse.tables import ticks
from airflow_trickle.lakehouse.topology import MutualGroup, Place, record_mutual_groups, record_places
from airflow_trickle.plan.due import is_due
from airflow_trickle.plan.steps import InputKind, InputRef, PinStep
from airflow_trickle.tick import Pin, Tick

log = logging.getLogger("airflow_trickle")

#: Clocks of machines that work together do not differ by so much.
_FAR_AHEAD = timedelta(minutes=5)


def pin(
    lake: Lakehouse, step: PinStep, tick_id: str, as_of: datetime | None = None, *, scheduled: bool = False
) -> Tick:
    """Pin the version of every input from outside the pipeline; the same tick id always gives the same pins.

    A mirror whose first capture failed is not there yet: it is left out, and so is what reads it.

    Args:
        lake: The lakehouse.
        step: What to pin.
        tick_id: The name of the tick.
        as_of: The moment whose state is read; None: now.
        scheduled: Whether it is the run of a schedule at its time. Then the tables whose own schedule is slower may
            rest, what was captured just now is read, and history that is gone is no reason to fail.

    Raises:
        SourceMissing: the catalog lacks a source; all missing ones are named.
        HistoryExpired: a source no longer keeps its state of that moment.
    """
    forget_dead(lake)
    _show_ownership(lake)
    with lake.database.transaction() as connection:
        # One pin at a time in a pipeline, from the look at the sources to the tick's time: a tick that looked earlier
        # must not come out as the later one.
        one_at_a_time(connection, f"pin {lake.name} {step.pipeline}")
        known = read_tick(connection, lake, tick_id)
        if known is not None and all(ref.identifier in known.pins for ref in step.inputs):
            log.info("Tick %s was pinned before: this attempt reads the same snapshots.", tick_id)
            return _tick(known)
        latest = latest_tick(connection, lake, step.pipeline)
        before = latest_tick(connection, lake, step.pipeline, until=as_of) if as_of is not None else latest
        look = _Look(lake, step, tick_id, as_of, latest, before, known, scheduled)
        try:
            record = look.pinned()
        except HistoryExpired as error:
            if not scheduled or known is not None:
                raise
            log.warning("The present is read instead of %s: %s", as_of, error)
            record = replace(look, as_of=None).pinned()
        if known is not None:
            connection.execute(ticks.delete().where(ticks.c.catalog == lake.name, ticks.c.tick_id == tick_id))
        write_tick(connection, lake, record)
        _record_topology(lake, connection, step)
    for ref in step.inputs:
        version = record.pins.get(ref.identifier)
        if version is None:
            log.warning("Source %s was never captured, so it is not pinned; what reads it has to wait.", ref.name)
            continue
        log.info("Pinned %s at snapshot %s.", ref.identifier, version.snapshot_id or "none (empty table)")
        if (early := before_first_snapshot(lake, ref, version.snapshot_id, record.as_of)) is not None:
            log.warning(
                "%s. A scheduled run reads its sources as they were at the end of its interval. The first run whose "
                "interval ends after that snapshot reads its rows; to have them now, trigger the DAG by hand or use "
                "`trickle run`, which read the present.",
                early[0].upper() + early[1:],
            )
    return _tick(record)


def _record_topology(lake: Lakehouse, connection: Connection, step: PinStep) -> None:
    """Note where the tables stand in the graph that this tick follows, and which queries were taken apart."""
    if not step.strata:
        return
    record_places(lake, connection, step.pipeline, {name: Place(*place) for name, place in step.strata.items()})
    now = clock.now()
    groups = [
        MutualGroup(one.table, step.pipeline, tuple(one.members.items()), one.groups, one.query, now)
        for one in step.mutual
    ]
    record_mutual_groups(lake, connection, step.pipeline, step.strata, groups)


def _show_ownership(lake: Lakehouse) -> None:
    """Tell the warehouse that its owner is at work; a copy of the catalog's database ends here."""
    try:
        renew_marker(lake)
    except (WarehouseUnavailable, OSError) as error:
        # Whatever is written later tells better what is wrong with the warehouse, if a tick writes anything.
        log.debug("The owner of the warehouse was not noted, which the next tick does: %s", error)


@dataclass(frozen=True)
class _Look:
    """One look at the inputs of a pipeline."""

    lake: Lakehouse
    step: PinStep
    tick_id: str
    as_of: datetime | None
    latest: TickRecord | None
    #: The latest of those that are not of a later moment than this one.
    before: TickRecord | None
    known: TickRecord | None
    scheduled: bool

    def pinned(self) -> TickRecord:
        step, known = self.step, self.known
        locations = self.lake.locations(ref.identifier for ref in step.inputs)
        self._refuse_missing(locations)
        # If the pipeline gained an input between two attempts: keep what was pinned, add what is new.
        as_of = known.as_of if known is not None else self.as_of
        pins = {
            ref.identifier: self._version(ref, locations[ref.identifier], as_of)
            for ref in step.inputs
            if ref.identifier in locations
        }
        if known is not None:
            pins, locations = pins | known.pins, locations | known.locations
            return replace(known, pins=pins, locations=locations)
        effective = self._effective(as_of)
        not_due = self._not_due(effective) if self.scheduled else ()
        return TickRecord(self.tick_id, step.pipeline, pins, locations, as_of, effective, not_due)

    def _refuse_missing(self, locations: Mapping[str, str]) -> None:
        # At a past moment nothing is captured, so nothing could still bring a mirror.
        may_come = () if self.as_of is not None and not self.scheduled else self.step.captured
        missing = [
            ref for ref in self.step.inputs if ref.identifier not in locations and ref.identifier not in may_come
        ]
        if missing:
            captured = self.step.captured
            lines = (f"{ref.declared_at}: {' '.join(why_missing(self.lake, ref, captured))}" for ref in missing)
            raise SourceMissing("\n".join(lines))

    def _version(self, ref: InputRef, location: str, as_of: datetime | None) -> Version:
        if self.scheduled and ref.identifier in self.step.captured:
            # It was captured just now, for this very tick.
            as_of = None
        latest = self.latest
        seen = latest is not None and latest.as_of is None and latest.locations.get(ref.identifier) == location
        if as_of is None and latest is not None and seen:
            # The same metadata file as at the last tick: no need to open it.
            return latest.pins[ref.identifier]
        table = self.lake.table_at(ref.identifier, location)
        if as_of is None:
            return current_version(table)
        found = version_of_tick(table, as_of) if ref.kind is InputKind.EXTERNAL else version_as_of(table, as_of)
        return self._not_behind(table, ref.identifier, found)

    def _not_behind(self, table: Table, identifier: str, found: Version) -> Version:
        """What the tick before this one has read, if that is newer.

        Clocks of writers go ahead, and what is captured for a tick is there a little after its moment.
        """
        read = self.before.pins.get(identifier) if self.before is not None else None
        return read if read is not None and is_newer(table, read, found) else found

    def _effective(self, as_of: datetime | None) -> datetime:
        now = clock.now()
        if self.latest is not None and self.latest.effective_at - now > _FAR_AHEAD:
            log.warning(
                "The latest tick of pipeline '%s' (%s) is of %s, but the clock of this machine says %s. If a clock was "
                "wrong: tables that have seen that tick are passed over by the schedule until then. To go on now, take "
                "them back with `trickle restate %s --to TIME`, and run no tick by hand before that moment: it would "
                "be of a later one.",
                self.step.pipeline,
                self.latest.tick_id,
                self.latest.effective_at.isoformat(timespec="seconds"),
                now.isoformat(timespec="seconds"),
                self.step.pipeline,
            )
        if as_of is not None:
            return min(as_of, now)
        # Clocks of different machines disagree a little; ticks must not.
        return max(now, self.latest.effective_at + timedelta(microseconds=1)) if self.latest else now

    def _not_due(self, moment: datetime) -> tuple[str, ...]:
        """The tables whose own schedule lets them rest; those that were never refreshed, or failed, do not."""
        schedules = self.step.schedules
        known = read_status(self.lake, sorted(schedules)) if schedules else {}
        found = []
        for identifier, schedule in sorted(schedules.items()):
            status = known.get(identifier)
            if status is None or status.frontier is None or status.effective_at is None or status.error is not None:
                continue
            if not is_due(schedule, status.effective_at, moment):
                found.append(identifier)
        return tuple(found)


def _tick(record: TickRecord) -> Tick:
    return Tick(
        tick_id=record.tick_id,
        pipeline=record.pipeline,
        pins={
            name: Pin(snapshot_id=version.snapshot_id, schema_id=version.schema_id)
            for name, version in record.pins.items()
        },
        effective_at=record.effective_at,
        as_of=record.as_of,
        not_due=record.not_due,
    )


def before_first_snapshot(
    lake: Lakehouse, ref: InputRef, snapshot_id: int | None, as_of: datetime | None
) -> str | None:
    """That an input is read as empty because the moment of a tick lies before its first snapshot; None if not so."""
    if as_of is None or snapshot_id is not None:
        return None
    table = lake.table(ref.identifier)
    if table is None or table.metadata.current_snapshot_id is None:
        return None
    first = clock.moment_of_millis(min(snapshot.timestamp_ms for snapshot in table.metadata.snapshots))
    moment, then = (one.isoformat(timespec="seconds") for one in (as_of, first))
    return f"{ref.name} had no snapshot yet at {moment}, the moment of this tick, and is read as empty (first: {then})"


def why_missing(lake: Lakehouse, ref: InputRef, captured: Collection[str] = ()) -> tuple[str, str]:
    """What is wrong with an input that the catalog does not have, and what to do; ``captured``: which are mirrors."""
    if ref.identifier in captured:
        return (
            f"source '{ref.name}' was never captured, so it has no history to read.",
            "Run a tick without a past moment first.",
        )
    namespace, name = split_identifier(ref.identifier)
    if ref.kind is InputKind.EXTERNAL:
        return (
            f"'{ref.name}' is a stream table of another pipeline ({ref.identifier}) that has not been published yet.",
            "Run that pipeline first.",
        )
    others = (
        [table for *_, table in lake.catalog.list_tables(namespace)] if lake.catalog.namespace_exists(namespace) else []
    )
    near = difflib.get_close_matches(name, others, n=1)
    hint = f"Did you mean {namespace}.{near[0]}? " if near else ""
    return (
        f"source '{ref.name}' is the Iceberg table {ref.identifier}, which catalog '{lake.name}' does not have.",
        f"{hint}Create the table, or point the source elsewhere with `table: namespace.name`.",
    )
