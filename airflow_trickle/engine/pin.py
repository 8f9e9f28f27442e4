"""The first step of a tick: fix, once, what the whole tick reads."""

from __future__ import annotations

import difflib
import logging
from datetime import datetime, timedelta

from airflow_trickle import clock
from airflow_trickle.errors import SourceMissing
from airflow_trickle.lakehouse.catalog import Lakehouse, split_identifier
from airflow_trickle.lakehouse.database import one_at_a_time
from airflow_trickle.lakehouse.leases import forget_dead
from airflow_trickle.lakehouse.snapshots import Version, current_version, version_as_of
from airflow_trickle.lakehouse.state import TickRecord, latest_tick, read_tick, write_tick
from airflow_trickle.lakehouse.tables import ticks
from airflow_trickle.plan.steps import InputKind, InputRef, PinStep
from airflow_trickle.tick import Pin, Tick

log = logging.getLogger("airflow_trickle")


def pin(lake: Lakehouse, step: PinStep, tick_id: str, as_of: datetime | None = None) -> Tick:
    """Pin the version of every input from outside the pipeline; the same tick id always gives the same pins.

    A mirror whose first capture failed is not there yet: it is left out, and so is what reads it.

    Raises:
        SourceMissing: the catalog lacks a source; all missing ones are named.
    """
    forget_dead(lake)
    with lake.database.transaction() as connection:
        # One pin at a time in a pipeline, from the look at the sources to the tick's time: a tick that looked earlier
        # must not come out as the later one.
        one_at_a_time(connection, f"pin {lake.name} {step.pipeline}")
        known = read_tick(connection, lake, tick_id)
        if known is not None and all(ref.identifier in known.pins for ref in step.inputs):
            log.info("Tick %s was pinned before: this attempt reads the same snapshots.", tick_id)
            return _tick(known)
        record = _pinned(lake, step, tick_id, as_of, latest_tick(connection, lake, step.pipeline), known)
        if known is not None:
            connection.execute(ticks.delete().where(ticks.c.catalog == lake.name, ticks.c.tick_id == tick_id))
        write_tick(connection, lake, record)
    for ref in step.inputs:
        version = record.pins.get(ref.identifier)
        if version is None:
            log.warning("Source %s was never captured, so it is not pinned; what reads it has to wait.", ref.name)
            continue
        log.info("Pinned %s at snapshot %s.", ref.identifier, version.snapshot_id or "none (empty table)")
    return _tick(record)


def _pinned(
    lake: Lakehouse,
    step: PinStep,
    tick_id: str,
    as_of: datetime | None,
    latest: TickRecord | None,
    known: TickRecord | None,
) -> TickRecord:
    locations = lake.locations(ref.identifier for ref in step.inputs)
    missing = [
        ref
        for ref in step.inputs
        # At a past moment nothing is captured, so nothing could still bring a mirror.
        if ref.identifier not in locations and (as_of is not None or ref.identifier not in step.captured)
    ]
    if missing:
        raise SourceMissing("\n".join(_missing(lake, step, ref) for ref in missing))
    if known is not None:
        # The pipeline gained an input between two attempts: keep what was pinned, add what is new.
        as_of = known.as_of
    pins: dict[str, Version] = {}
    for identifier, location in locations.items():
        if (
            latest is not None
            and as_of is None
            and latest.as_of is None
            and latest.locations.get(identifier) == location
        ):
            # The same metadata file as at the last tick: no need to open it.
            pins[identifier] = latest.pins[identifier]
            continue
        table = lake.table_at(identifier, location)
        pins[identifier] = current_version(table) if as_of is None else version_as_of(table, as_of)
    now = clock.now()
    if known is not None:
        return TickRecord(
            tick_id, step.pipeline, pins | known.pins, locations | known.locations, as_of, known.effective_at
        )
    if as_of is not None:
        effective = min(as_of, now)
    else:
        # Clocks of different machines disagree a little; ticks must not.
        effective = max(now, latest.effective_at + timedelta(microseconds=1)) if latest else now
    return TickRecord(tick_id, step.pipeline, pins, locations, as_of, effective)


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
    )


def _missing(lake: Lakehouse, step: PinStep, ref: InputRef) -> str:
    if ref.identifier in step.captured:
        return (
            f"{ref.declared_at}: source '{ref.name}' was never captured, so it has no history to read. Run a tick "
            f"without a past moment first."
        )
    namespace, name = split_identifier(ref.identifier)
    if ref.kind is InputKind.EXTERNAL:
        return (
            f"{ref.declared_at}: '{ref.name}' is a stream table of another pipeline ({ref.identifier}) that has "
            f"not been published yet. Run that pipeline first."
        )
    others = (
        [table for *_, table in lake.catalog.list_tables(namespace)] if lake.catalog.namespace_exists(namespace) else []
    )
    near = difflib.get_close_matches(name, others, n=1)
    hint = f"Did you mean {namespace}.{near[0]}? " if near else ""
    return (
        f"{ref.declared_at}: source '{ref.name}' is the Iceberg table {ref.identifier}, which catalog "
        f"'{lake.name}' does not have. {hint}Create the table, or point the source elsewhere with "
        f"`table: namespace.name`."
    )
