"""What the tables of a pipeline had published by a moment, and whether they can be taken back to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from airflow_trickle import clock
from airflow_trickle.engine.decide import refuse_two_owners
from airflow_trickle.engine.fixpoint.together import UNIT, agreed
from airflow_trickle.engine.published import Published, from_summary, is_ours, published_state
from airflow_trickle.errors import CannotRestate
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.rollback import Lineage, lineage_of, shown_by, why_not
from airflow_trickle.lakehouse.state import TableStatus, latest_tick, read_status
from airflow_trickle.plan.steps import Plan, RefreshStep, TableStep
from airflow_trickle.results import RestatedTable, Rewind


@dataclass(frozen=True)
class Past:
    """A table, and what becomes of it if its pipeline is taken back."""

    step: TableStep
    status: TableStatus | None
    table: Table | None
    outcome: Rewind
    reason: str
    #: How many states it has published so far.
    epochs: int = 0
    #: What it has to show, if it can be taken back, and of which snapshot.
    state: Published | None = None
    snapshot: Snapshot | None = None
    #: Whether nobody can tell any more, since its snapshots of that time are gone.
    expired: bool = False

    @property
    def moves(self) -> bool:
        """Whether readers will see another snapshot than now."""
        now = self.table.metadata.current_snapshot_id if self.table is not None else None
        return self.snapshot is not None and self.snapshot.snapshot_id != now

    @property
    def epoch(self) -> int:
        """The epoch afterwards: another state than the present one never has the same number."""
        return self.epochs + self.moves

    @property
    def result(self) -> RestatedTable:
        """For whoever asked."""
        current = self.table.metadata.current_snapshot_id if self.table is not None else None
        return RestatedTable(
            table=self.step.name,
            identifier=self.step.identifier,
            outcome=self.outcome,
            reason=self.reason,
            tick_id=self.state.tick_id if self.state else None,
            effective_at=self.state.effective_at if self.state else None,
            snapshot_id=self.snapshot.snapshot_id if self.snapshot else current,
            epoch=self.epoch,
        )


@dataclass(frozen=True)
class LookBack:
    """A pipeline as it was at a moment; ``effective_at`` is that of the last tick until then."""

    effective_at: datetime
    tables: tuple[Past, ...]


def look_back(lake: Lakehouse, plan: Plan, moment: datetime) -> LookBack:
    """Find what each table of a pipeline had published by a moment; touches nothing.

    Raises:
        CannotRestate: the moment makes no sense, lies before the first tick, or is no longer known.
        ForeignTable: a table was made or changed by somebody else, or belongs to another pipeline.
    """
    _refuse_moment(moment)
    wanted = [step.identifier for step in plan.tables]
    statuses, locations = read_status(lake, wanted), lake.locations(wanted)
    found = [
        past
        for unit in plan.refreshes
        for part in unit.parts
        for past in _together(part, [_past(lake, plan, step, statuses, locations, moment) for step in part.tables])
    ]
    _refuse_expired(plan, found, moment)
    _refuse_before_all(plan, found, moment)
    with lake.database.reading() as connection:
        tick = latest_tick(connection, lake, plan.pipeline, until=moment)
    seen = [past.state.effective_at for past in found if past.state is not None]
    moments = [one for one in (*seen, tick.effective_at if tick else None) if one is not None]
    return LookBack(max(moments), tuple(found))


def _refuse_moment(moment: datetime) -> None:
    if moment.tzinfo is None:
        raise CannotRestate(f"The moment {moment.isoformat()} has no time zone. Give it one, such as +00:00 for UTC.")
    if moment > (now := clock.now()):
        raise CannotRestate(f"The moment {_told(moment)} lies in the future; it is {_told(now)}.")


def _past(
    lake: Lakehouse,
    plan: Plan,
    step: TableStep,
    statuses: Mapping[str, TableStatus],
    locations: Mapping[str, str],
    moment: datetime,
) -> Past:
    status = statuses.get(step.identifier)
    refuse_two_owners(step, status, plan.pipeline)
    published = published_state(lake, step.identifier, status, locations)
    if published is None:
        return Past(step, status, None, Rewind.UNTOUCHED, "it was never refreshed")
    table = lake.table_at(step.identifier, published.location)
    lineage = lineage_of(table)
    known = [int(_said(one)["trickle.epoch"]) for one in table.metadata.snapshots if is_ours(one)]
    past = Past(step, status, table, Rewind.UNTOUCHED, "", max([published.epoch, *known]))
    reached = published.effective_at
    if published.frontier is not None and reached is not None and reached <= moment:
        return replace(past, state=published, reason=f"it stands at {_told(reached)}")
    for snapshot in lineage.snapshots:
        if is_ours(snapshot) and clock.moment_of(_said(snapshot)["trickle.effective-at"]) <= moment:
            return _at(past, table, snapshot)
    if not lineage.complete:
        return replace(past, expired=True)
    return replace(past, outcome=Rewind.STARTED_OVER, reason="it did not exist then; the next tick computes it anew")


def _at(past: Past, table: Table, snapshot: Snapshot) -> Past:
    """A table that shows a snapshot of the past."""
    if (why := why_not(table, snapshot)) is not None:
        return replace(past, outcome=Rewind.STARTED_OVER, reason=f"{why}; the next tick computes it anew")
    state = from_summary(snapshot, table.metadata_location, shown_by(table, snapshot))
    found = replace(past, outcome=Rewind.REWOUND, state=state, snapshot=snapshot)
    told = f"published by tick {state.tick_id}"
    return replace(found, reason=told if found.moves else f"its rows have not changed since; {told}")


def _together(unit: RefreshStep, members: Sequence[Past]) -> list[Past]:
    """The tables of a unit, each with how far all of them had read."""
    back = {past.step.identifier: past for past in members if past.snapshot is not None}
    if len(members) < 2 or len(back) < len(members):
        return list(members)
    states = {name: past.state for name, past in back.items() if past.state is not None}
    said = {name: _said(past.snapshot).get(UNIT) for name, past in back.items()}
    found = agreed(unit, states, said)
    return [replace(past, state=found[name]) for name, past in back.items()]


def _refuse_expired(plan: Plan, found: Iterable[Past], moment: datetime) -> None:
    gone = [past for past in found if past.expired]
    if not gone:
        return
    names = ", ".join(past.step.identifier for past in gone)
    moments = [_moments(lineage_of(past.table)) for past in gone if past.table is not None]
    if all(moments):
        hint = f"The oldest moment to which all its tables can be taken back is {_told(max(map(min, moments)))}."
    else:
        hint = f"To compute them anew: trickle reset {' '.join(past.step.name for past in gone)}"
    raise CannotRestate(
        f"Pipeline '{plan.pipeline}' cannot be taken back to {_told(moment)}: the snapshots of that time were expired "
        f"in {names}. {hint}"
    )


def _refuse_before_all(plan: Plan, found: Sequence[Past], moment: datetime) -> None:
    if any(past.state is not None for past in found):
        return
    known = [one for past in found if past.table is not None for one in _moments(lineage_of(past.table))]
    if not known:
        raise CannotRestate(f"Pipeline '{plan.pipeline}' has published nothing yet, so there is nothing to take back.")
    names = " ".join(past.step.name for past in found if past.table is not None)
    raise CannotRestate(
        f"Pipeline '{plan.pipeline}' had published nothing by {_told(moment)}; the first state that it has is of "
        f"{_told(min(known))}. To compute all tables anew: trickle reset {names}"
    )


def _moments(lineage: Lineage) -> list[datetime]:
    return [clock.moment_of(_said(one)["trickle.effective-at"]) for one in lineage.snapshots if is_ours(one)]


def _said(snapshot: Snapshot | None) -> Mapping[str, str]:
    return snapshot.summary.additional_properties if snapshot is not None and snapshot.summary is not None else {}


def _told(moment: datetime) -> str:
    return clock.text_of(moment)
