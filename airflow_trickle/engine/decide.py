"""What a tick has to do for a table, decided from metadata alone: no Spark, mostly no file is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from airflow_trickle import clock
from airflow_trickle.errors import ForeignTable, RefreshFailed
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.changes import certainly_no_change, file_changes
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.snapshots import Version, has_snapshot, schema_of
from airflow_trickle.lakehouse.state import CAPTURE, Frontier, TableStatus, read_status, versions
from airflow_trickle.plan.steps import InputKind, InputRef, TableStep
from airflow_trickle.tick import Tick

#: Why all files of a table are written anew though its rows may be the same.
PARTED_ANEW = "partition_by changed"


@dataclass(frozen=True)
class Published:
    """The visible state of a stream table and where it came from.

    ``frontier`` and ``definition`` are None after a reset: the next refresh compares with whatever
    the table holds and trusts none of it.
    """

    location: str
    version: Version
    epoch: int
    frontier: Frontier | None
    definition: str | None
    effective_at: datetime | None
    tick_id: str | None
    #: What is kept beside the table to refresh it quickly, as JSON.
    kept: str | None = None


@dataclass(frozen=True)
class Decision:
    """What to do: ``work`` (recompute), ``advance`` (only note how far the inputs were read) or nothing."""

    kind: str
    reason: str
    target: Frontier
    published: Published | None
    #: Whether the published rows are those of this very query at the old frontier, and every input's way from
    #: there to the new one is known: then the change of the inputs is enough to know.
    from_changes: bool = False

    IDLE = "idle"
    SKIP = "skip"
    ADVANCE = "advance"
    WORK = "work"


def decide(lake: Lakehouse, step: TableStep, tick: Tick, *, full_refresh: bool = False) -> Decision:
    """Compare what the table was computed from with what this tick reads.

    Raises:
        ForeignTable: the table was made or changed by somebody else.
        RefreshFailed: an input of the same pipeline has no published state.
    """
    own = [ref.identifier for ref in step.inputs if ref.kind is InputKind.STREAM_TABLE]
    wanted = [step.identifier, *own]
    statuses = read_status(lake, wanted)
    locations = lake.locations(wanted)
    published = published_state(lake, step.identifier, statuses.get(step.identifier), locations)
    refuse_two_owners(step, statuses.get(step.identifier), tick.pipeline)
    inputs = {ref.identifier: _input_state(lake, ref, tick, statuses, locations) for ref in step.inputs}
    target = Frontier(
        inputs={name: version for name, (version, _) in inputs.items()},
        world=_merge_worlds([world for _, world in inputs.values()]),
    )
    if published and published.effective_at and published.effective_at > tick.effective_at:
        return Decision(Decision.SKIP, "a later tick has already brought it further", target, published)
    stray = [ref.name for ref in step.inputs if not _sees_the_pins(inputs[ref.identifier][1], tick)]
    if stray:
        reason = f"its input {', '.join(stray)} stands at the world of another tick; left for that tick"
        return Decision(Decision.SKIP, reason, target, published)
    return _compare(lake, step, target, published, full_refresh=full_refresh)


def refuse_two_owners(step: TableStep, status: TableStatus | None, pipeline: str) -> None:
    """Raises `ForeignTable` for a table of another pipeline: the two would undo each other at every tick."""
    if status is not None and status.frontier is not None and status.pipeline != pipeline:
        raise ForeignTable(
            f"{step.declared_at}: stream table '{step.name}' ({step.identifier}) belongs to pipeline "
            f"'{status.pipeline}', and pipeline '{pipeline}' defines it too. Give one of them another name or "
            f"namespace. If the table was moved here: trickle reset {step.name}"
        )


def _compare(
    lake: Lakehouse, step: TableStep, target: Frontier, published: Published | None, *, full_refresh: bool
) -> Decision:
    cause = _plain_cause(step, published, full_refresh=full_refresh)
    if cause is not None or published is None or published.frontier is None:
        return Decision(Decision.WORK, cause or "first refresh", target, published)
    before = published.frontier
    moved = [ref for ref in step.inputs if before.inputs.get(ref.identifier) != target.inputs[ref.identifier]]
    if not moved:
        if before == target:
            return Decision(Decision.IDLE, "no input changed", target, published)
        return Decision(Decision.ADVANCE, "no input changed", target, published)
    changes = [_change_of(lake, ref, before.inputs.get(ref.identifier), target.inputs[ref.identifier]) for ref in moved]
    causes = [change.cause for change in changes if change is not None]
    if not causes:
        return Decision(Decision.ADVANCE, "inputs moved without a net change", target, published)
    known = all(change is None or change.is_known for change in changes)
    return Decision(Decision.WORK, "; ".join(causes), target, published, from_changes=known)


def _plain_cause(step: TableStep, published: Published | None, *, full_refresh: bool) -> str | None:
    """Why a table is recomputed whatever its inputs did, if so."""
    if published is None:
        return "first refresh"
    if published.frontier is None:
        return "it was reset"
    if published.definition != step.definition:
        # Behind the dot stands how it is parted, see `TableStep.definition`.
        same_query = (published.definition or "").partition(".")[0] == step.definition.partition(".")[0]
        return PARTED_ANEW if same_query else "its query changed"
    return "a full refresh was asked for" if full_refresh else None


@dataclass(frozen=True)
class _Change:
    """What happened to an input in words; ``is_known``: row by row, under the same columns."""

    cause: str
    is_known: bool = False


def _change_of(lake: Lakehouse, ref: InputRef, before: Version | None, after: Version) -> _Change | None:
    """How an input changed; None only if it certainly holds the same rows under the same columns."""
    if before is None:
        return _Change(f"{ref.name} is a new input")
    table = lake.table(ref.identifier)
    if table is None or not has_snapshot(table, before.snapshot_id) or not has_snapshot(table, after.snapshot_id):
        return _Change(f"the history of {ref.name} was expired or replaced")
    if before.schema_id != after.schema_id:
        return _Change(f"the columns of {ref.name} changed")
    changes = file_changes(table, before.snapshot_id, after.snapshot_id)
    if certainly_no_change(table, changes, schema_of(table, after)):
        return None
    return _Change(f"{ref.name} changed", is_known=True)


def _input_state(
    lake: Lakehouse,
    ref: InputRef,
    tick: Tick,
    statuses: Mapping[str, TableStatus],
    locations: Mapping[str, str],
) -> tuple[Version, dict[str, Version]]:
    """The version of an input that this tick reads, and the pinned world it was computed from."""
    if ref.kind is not InputKind.STREAM_TABLE:
        pinned = tick.pins.get(ref.identifier)
        if pinned is None:
            raise RefreshFailed(
                f"Input '{ref.name}' ({ref.identifier}) was not pinned by tick {tick.tick_id}: the pipeline changed "
                f"after the tick began. Run the pin task again."
            )
        version = Version(pinned.snapshot_id, pinned.schema_id)
        return version, {ref.identifier: version}
    state = published_state(lake, ref.identifier, statuses.get(ref.identifier), locations)
    if state is None or state.frontier is None:
        raise RefreshFailed(f"Input '{ref.name}' ({ref.identifier}) has no published state yet; refresh it first.")
    return state.version, state.frontier.world


def _merge_worlds(worlds: list[dict[str, Version]]) -> dict[str, Version]:
    merged: dict[str, Version] = {}
    for world in worlds:
        merged |= world
    return merged


def _sees_the_pins(world: Mapping[str, Version], tick: Tick) -> bool:
    """Whether a world agrees with this tick's pins (an input the pipeline no longer reads has no say)."""
    return all(
        name not in tick.pins
        or (tick.pins[name].snapshot_id, tick.pins[name].schema_id) == (v.snapshot_id, v.schema_id)
        for name, v in world.items()
    )


def published_state(
    lake: Lakehouse, identifier: str, status: TableStatus | None, locations: Mapping[str, str]
) -> Published | None:
    """The visible state of a stream table; from the state tables when they know it, else from its snapshot."""
    location = locations.get(identifier)
    if location is None:
        return None
    if status is not None and status.mode == CAPTURE:
        raise ForeignTable(
            f"Table {identifier} is the mirror of a captured source; it is left alone. Give the stream table another "
            f"name or namespace, or drop the mirror: trickle drop {identifier}"
        )
    if status is not None and status.metadata_location == location and status.schema_id is not None:
        return _from_status(status, location, Version(status.snapshot_id, status.schema_id))
    table = lake.table_at(identifier, location)
    snapshot = table.metadata.current_snapshot()
    version = Version(table.metadata.current_snapshot_id, table.metadata.current_schema_id)
    if status is not None and status.metadata_location and status.snapshot_id == version.snapshot_id:
        # Only properties, tags or old snapshots changed: the rows are the ones we published.
        return _from_status(status, location, version)
    if snapshot is None or snapshot.summary is None or "trickle.frontier" not in snapshot.summary.additional_properties:
        raise ForeignTable(_foreign(table))
    return _from_summary(snapshot, location, version)


def _from_status(status: TableStatus, location: str, version: Version) -> Published:
    return Published(
        location,
        version,
        status.epoch,
        status.frontier,
        status.definition,
        status.effective_at,
        status.tick_id,
        status.kept,
    )


def _from_summary(snapshot: Snapshot, location: str, version: Version) -> Published:
    assert snapshot.summary is not None  # noqa: S101 - for the type checker
    said = snapshot.summary.additional_properties
    return Published(
        location=location,
        version=version,
        epoch=int(said["trickle.epoch"]),
        frontier=Frontier(versions(json.loads(said["trickle.frontier"])), versions(json.loads(said["trickle.world"]))),
        definition=said["trickle.definition"],
        effective_at=clock.moment_of(said["trickle.effective-at"]),
        tick_id=said["trickle.tick"],
    )


def _foreign(table: Table) -> str:
    name = ".".join(table.name())
    if OWNED not in table.metadata.properties:
        return (
            f"Table {name} exists in the catalog and was not made by airflow-trickle; it is left alone. Give the "
            f"stream table another name or namespace, or drop that table."
        )
    return (
        f"Table {name} was changed by another writer (snapshot {table.metadata.current_snapshot_id} is not one of "
        f"ours); it is left alone. To recompute it from its inputs and undo those changes: "
        f"trickle reset {table.name()[-1]}"
    )
