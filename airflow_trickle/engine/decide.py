"""What a tick has to do for a table, decided from metadata alone: no Spark, mostly no file is opened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_trickle.engine.holds import no_good_state
from airflow_trickle.engine.identity import query_of, settings_cause
from airflow_trickle.engine.pin import before_first_snapshot
from airflow_trickle.engine.published import Published, published_state
from airflow_trickle.engine.rests import Rests, sees_the_pins
from airflow_trickle.errors import ForeignTable, RefreshFailed
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.net_change import same_rows
from airflow_trickle.lakehouse.snapshots import Version, has_snapshot, schema_of
from airflow_trickle.lakehouse.state import Frontier, TableStatus, read_status
from airflow_trickle.plan.steps import InputKind, InputRef, TableStep
from airflow_trickle.results import Cause
from airflow_trickle.tick import Tick

#: Why all files of a table are written anew though its rows may be the same.
PARTED_ANEW = "partition_by changed"
#: Why a table is computed in full that has no rows yet.
FIRST_REFRESH = "first refresh"
#: Why a table is computed in full whose earlier rows were those of another query.
QUERY_CHANGED = "its query changed"


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
    #: The tables that are held and have no state yet, without which this one cannot be computed.
    waits_for: tuple[str, ...] = ()
    #: Whether nothing can be done because an input was not brought to the world of this tick.
    stray: bool = False
    #: Why there is something to do, for programs.
    cause: Cause | None = None

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
    seen = look_at(lake, step.inputs, tick, statuses, locations, step.tolerates)
    target = seen.target
    if published and published.effective_at and published.effective_at > tick.effective_at:
        return Decision(Decision.SKIP, "a later tick has already brought it further", target, published)
    if seen.obstacle is not None:
        stray = not seen.waits_for
        return Decision(Decision.SKIP, seen.obstacle, target, published, waits_for=seen.waits_for, stray=stray)
    found = _compare(lake, step, target, published, full_refresh=full_refresh)
    return replace(found, reason="; ".join((found.reason, *seen.notes)))


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
    plain = _plain_cause(step, published, full_refresh=full_refresh)
    if plain is not None or published is None or published.frontier is None:
        cause, why = plain or (Cause.FIRST_REFRESH, FIRST_REFRESH)
        return Decision(Decision.WORK, why, target, published, cause=cause)
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
    why = "; ".join(causes)
    return Decision(Decision.WORK, why, target, published, from_changes=known, cause=Cause.INPUTS_CHANGED)


def _plain_cause(step: TableStep, published: Published | None, *, full_refresh: bool) -> tuple[Cause, str] | None:
    """Why a table is recomputed whatever its inputs did, if so."""
    if published is None:
        return Cause.FIRST_REFRESH, FIRST_REFRESH
    if published.frontier is None:
        return Cause.RESET, "it was reset"
    if published.definition != step.definition:
        before, now = query_of(published.definition or ""), query_of(step.definition)
        if before == now:
            return Cause.SETTINGS_CHANGED, settings_cause(published.settings, step.settings)
        # Behind the dot stands how it is parted, see `TableStep.definition`.
        if before.partition(".")[0] == now.partition(".")[0]:
            return Cause.PARTITIONS_CHANGED, PARTED_ANEW
        return Cause.QUERY_CHANGED, QUERY_CHANGED
    return (Cause.ASKED, "a full refresh was asked for") if full_refresh else None


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
    if same_rows(table, changes, schema_of(table, after)):
        return None
    return _Change(f"{ref.name} changed", is_known=True)


@dataclass(frozen=True)
class Seen:
    """What a tick reads of some inputs, and what is to be said of it."""

    target: Frontier
    #: Why nothing can be done with them in this tick; None if all is well.
    obstacle: str | None = None
    #: If that is so because tables are held that have no good state yet: which.
    waits_for: tuple[str, ...] = ()
    #: For the reason of whatever is done: inputs that are not of this tick, and why they are read all the same.
    notes: tuple[str, ...] = ()


def look_at(
    lake: Lakehouse,
    refs: Sequence[InputRef],
    tick: Tick,
    statuses: Mapping[str, TableStatus],
    locations: Mapping[str, str],
    tolerates: Collection[str] = (),
) -> Seen:
    """What this tick reads of some inputs; ``statuses`` and ``locations`` are those of the stream tables among them.

    Those of ``tolerates`` are read as they are if they were not refreshed in this tick.

    Raises:
        RefreshFailed: an input of the same pipeline has no published state, and nobody holds it.
    """
    published = {
        ref.identifier: published_state(lake, ref.identifier, statuses.get(ref.identifier), locations)
        for ref in refs
        if ref.kind is InputKind.STREAM_TABLE
    }
    rests = Rests(_held(lake, published, statuses), tick, frozenset(tolerates))
    states = [(ref, _input_state(ref, tick, published.get(ref.identifier), statuses, rests)) for ref in refs]
    target = Frontier(
        inputs={ref.identifier: state.version for ref, state in states if state.version is not None},
        world=_merge_worlds(state.world for _, state in states),
        behind=tuple(sorted({name for _, state in states for name in state.behind if rests.may(name)})),
    )
    if waits_for := sorted({name for _, state in states if state.version is None for name in state.behind}):
        return Seen(target, no_good_state(rests.held[name] for name in waits_for), tuple(waits_for))
    stray = [
        ref.name
        for ref, state in states
        if not sees_the_pins(state.world, tick) or not all(rests.may(name) for name in state.behind)
    ]
    if stray:
        return Seen(target, f"its input {', '.join(stray)} stands at the world of another tick; left for that tick")
    notes = [rests.told(target.behind)] if target.behind else []
    return Seen(target, notes=(*notes, *_read_as_empty(lake, refs, tick)))


def _read_as_empty(lake: Lakehouse, refs: Sequence[InputRef], tick: Tick) -> Iterator[str]:
    """The inputs that had no snapshot yet at the moment of the tick, but have one now."""
    for ref in refs:
        pinned = tick.pins.get(ref.identifier)
        if pinned is not None and ref.kind is not InputKind.STREAM_TABLE:
            told = before_first_snapshot(lake, ref, pinned.snapshot_id, tick.as_of)
            if told is not None:
                yield told


@dataclass(frozen=True)
class _InputState:
    """The version of an input that this tick reads, and the pinned world it was computed from.

    ``behind`` as in `Frontier`. There is no version if the tables in it are what keeps it from having a state.
    """

    version: Version | None
    world: Mapping[str, Version]
    behind: tuple[str, ...] = ()


def _held(
    lake: Lakehouse, published: Mapping[str, Published | None], statuses: Mapping[str, TableStatus]
) -> dict[str, TableStatus]:
    """The tables that are held, among the inputs and those that they were computed from or wait for."""
    inputs = {name: statuses[name] for name in published if name in statuses}
    frontiers = [state.frontier for state in published.values() if state is not None and state.frontier is not None]
    concerned = {name for frontier in frontiers for name in frontier.behind}
    concerned |= {name for status in inputs.values() for name in status.waits_for}
    known = {**read_status(lake, sorted(concerned)), **inputs} if concerned else inputs
    return {name: status for name, status in known.items() if status.is_held}


def _input_state(
    ref: InputRef, tick: Tick, state: Published | None, statuses: Mapping[str, TableStatus], rests: Rests
) -> _InputState:
    if ref.kind is not InputKind.STREAM_TABLE:
        pinned = tick.pins.get(ref.identifier)
        if pinned is None:
            raise RefreshFailed(
                f"Input '{ref.name}' ({ref.identifier}) was not pinned by tick {tick.tick_id}: the pipeline changed "
                f"after the tick began. Run the pin task again."
            )
        version = Version(pinned.snapshot_id, pinned.schema_id)
        return _InputState(version, {ref.identifier: version})
    status = statuses.get(ref.identifier)
    held = rests.held
    waits_for = tuple(name for name in (status.waits_for if status else ()) if name in held)
    resting = (ref.identifier,) if ref.identifier in held else waits_for
    if state is None or state.frontier is None:
        if resting:
            return _InputState(None, {}, resting)
        raise RefreshFailed(f"Input '{ref.name}' ({ref.identifier}) has no published state yet; refresh it first.")
    if not resting and rests.is_behind(ref.identifier, state.frontier):
        resting = (ref.identifier,)
    if resting:
        # Whatever world it has seen: it will not see another one, and who reads it must go on.
        return _InputState(state.version, {}, resting)
    return _InputState(state.version, state.frontier.world, state.frontier.behind)


def _merge_worlds(worlds: Iterable[Mapping[str, Version]]) -> dict[str, Version]:
    merged: dict[str, Version] = {}
    for world in worlds:
        merged |= world
    return merged
