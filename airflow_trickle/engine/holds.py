"""Units that are not refreshed for the time being: they did not settle, or somebody suspended them.

A unit that did not settle is tried again after ``trickle resume``, or when it is no longer the same: another query,
other tables, another cap. What reads it goes on with its last good state, and says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_trickle.engine.identity import query_of
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.plan.steps import RefreshStep, UnitKind
from airflow_trickle.results import Mode, Status, TableResult


@dataclass(frozen=True)
class Hold:
    """Why a unit is not refreshed, because of which of its tables, and how all of them stand."""

    reason: str
    because: tuple[str, ...]
    statuses: Mapping[str, TableStatus]

    def results(self, step: RefreshStep) -> tuple[TableResult, ...]:
        """What becomes of the tables of the unit in a tick: nothing."""
        found = []
        for table in step.tables:
            status = self.statuses.get(table.identifier)
            found.append(
                TableResult(
                    table=table.name,
                    status=status.status if status else Status.INITIALIZING,
                    mode=Mode.SKIPPED,
                    reason=self.reason,
                    snapshot_id=status.snapshot_id if status else None,
                    epoch=status.epoch if status else 0,
                )
            )
        return tuple(found)


def unit_fingerprint(step: RefreshStep) -> str:
    """What a unit is made of, for telling whether it is still the one that did not settle."""
    # By the query alone: whoever lifts the hold may have another Spark.
    tables = sorted(
        (table.identifier, query_of(table.definition), sorted(table.lattice.items())) for table in step.tables
    )
    return hashlib.sha256(json.dumps([tables, step.max_iterations]).encode()).hexdigest()


def halted_members(lake: Lakehouse, step: RefreshStep) -> tuple[TableStatus, ...]:
    """The tables of a unit that did not settle as it is now; any of them holds the whole unit."""
    return _halted(step, _members(lake, step))


def hold_of(lake: Lakehouse, step: RefreshStep) -> Hold | None:
    """Why a unit must not be refreshed at present; None if it may be."""
    statuses = _members(lake, step)
    if suspended := [status for status in statuses.values() if status.status is Status.SUSPENDED]:
        names = " ".join(status.name for status in suspended)
        because = tuple(status.identifier for status in suspended)
        return Hold(f"suspended, until: trickle resume {names}", because, statuses)
    for part in step.parts:
        if not (halted := _halted(part, statuses)):
            continue
        what = "the cycle" if part.kind is UnitKind.CYCLE else "it"
        query = "a query of it" if part.kind is UnitKind.CYCLE else "its query"
        reason = (
            f"{what} did not settle; left as it is until {query} or max_fixpoint_iterations changes, or until: "
            f"trickle resume {halted[0].name}"
        )
        return Hold(reason, tuple(status.identifier for status in halted), statuses)
    return None


def last_good_state(held: Iterable[TableStatus]) -> str:
    """What to say of a table that was computed from tables that are held."""
    return "; ".join(f"{_why(status)}, so its last good state is read" for status in held)


def no_good_state(held: Iterable[TableStatus]) -> str:
    """Why a table cannot have its first state: tables that are held have none either."""
    return "; ".join(f"{_why(status)} and has no good state yet" for status in held)


def _why(status: TableStatus) -> str:
    return f"{status.name} {'is suspended' if status.status is Status.SUSPENDED else 'did not settle'}"


def _members(lake: Lakehouse, step: RefreshStep) -> dict[str, TableStatus]:
    return read_status(lake, [table.identifier for table in step.tables])


def _halted(step: RefreshStep, statuses: Mapping[str, TableStatus]) -> tuple[TableStatus, ...]:
    present = unit_fingerprint(step)
    known = (statuses[table.identifier] for table in step.tables if table.identifier in statuses)
    return tuple(status for status in known if status.status is Status.ERROR and status.halted == present)
