"""Restating a pipeline: all its tables go back together to what they had published by a moment.

The ticks after that moment can then run again, each from the state before it. A state of the past comes with what it
was computed from, so the next tick reads what has changed since. If its rows had not changed for some ticks, that is
further back than the table had read, which is as true.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, update

from airflow_trickle import clock
from airflow_trickle.engine.kept import superfluous
from airflow_trickle.engine.look_back import LookBack, Past, look_back
from airflow_trickle.engine.steer import released
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, commit
from airflow_trickle.lakehouse.files import delete_files
from airflow_trickle.lakehouse.leases import Lease, holding, require
from airflow_trickle.lakehouse.rollback import stage_rollback
from airflow_trickle.lakehouse.state import RESTATE, lock_status, write_history, write_status
from airflow_trickle.lakehouse.tables import status as status_rows
from airflow_trickle.plan.steps import Plan
from airflow_trickle.results import Mode, RestatedTable, Rewind, Status, TableResult

log = logging.getLogger("airflow_trickle")


def restate(
    lake: Lakehouse,
    plan: Plan,
    moment: datetime,
    *,
    interrupt: Callable[[str], object] | None = None,
    wait: float | None = None,
) -> dict[str, RestatedTable]:
    """Take all stream tables of a pipeline back, in one commit, to what they had published by a moment.

    Sources, mirrors of captured sources and tables of other pipelines stay as they are.

    Args:
        lake: The catalog.
        plan: The pipeline as it is defined now.
        moment: The last tick whose effective time is not after it is the last that counts.
        interrupt: Gets the Spark session of every refresh that a dead process left behind.
        wait: For so many seconds for refreshes that are under way; as `holding` does if None.

    Raises:
        CannotRestate: the moment makes no sense, lies before the first tick, or is no longer known.
        ForeignTable: a table was made or changed by somebody else, or belongs to another pipeline.
        LeaseHeld: a table is being refreshed.
        CommitConflict: somebody wrote to a table meanwhile; nothing was changed.
    """
    began = clock.now(), time.monotonic()
    # Before any lease: what is to be refused need not wait for anybody.
    look_back(lake, plan, moment)
    identifiers = [step.identifier for step in plan.tables]
    with holding(lake, identifiers, f"trickle restate {plan.pipeline}", wait) as leases:
        found = look_back(lake, plan, moment)
        for lease in leases.values():
            stagings.clean_table(lake, lease, interrupt)
        if any(past.outcome is not Rewind.UNTOUCHED for past in found.tables):
            _Restating(lake, plan, found, leases, *began).commit()
    for past in found.tables:
        log.info("%s: %s, %s.", past.step.name, past.outcome.value.lower().replace("_", " "), past.reason)
    return {past.step.name: past.result for past in found.tables}


class _Restating:
    """One restatement under way, with the leases of all tables in hand."""

    def __init__(
        self,
        lake: Lakehouse,
        plan: Plan,
        found: LookBack,
        leases: Mapping[str, Lease],
        started_at: datetime,
        counter: float,
    ) -> None:
        self.lake, self.plan, self.found, self.leases = lake, plan, found, leases
        self.started_at, self.counter = started_at, counter
        # Of its own: no tick that runs again must take it for an earlier attempt of itself.
        self.tick_id = f"{plan.pipeline}/restate__{clock.text_of(started_at)}__{uuid.uuid4().hex[:8]}"

    @property
    def _touched(self) -> list[Past]:
        return [past for past in self.found.tables if past.outcome is not Rewind.UNTOUCHED]

    def commit(self) -> None:
        """Write new metadata, then make all of them current together with what the state tables say."""
        records: list[stagings.Staging] = []
        try:
            staged = {past.step.identifier: self._stage(past, records) for past in self._touched if past.moves}

            def also(connection: Connection) -> None:
                self._note(connection, staged)

            commit(self.lake, list(staged.values()), also)
        except BaseException:
            # The first error is the one to show; what cannot be removed now is removed by the next tick.
            for record in records:
                with suppress(TrickleError, OSError):
                    stagings.discard(self.lake, record)
            raise
        for past in self._touched:
            if past.status is not None and past.table is not None:
                with suppress(TrickleError, OSError):  # what cannot be removed is in nobody's way
                    delete_files(past.table.io, list(superfluous(past.status.kept, ())))

    def _stage(self, past: Past, records: list[stagings.Staging]) -> Staged:
        assert past.table is not None and past.snapshot is not None  # noqa: S101, PT018 - it moves
        record = stagings.begin(
            self.lake,
            lease=self.leases[past.step.identifier],
            table_location=past.table.metadata.location,
            pipeline=self.plan.pipeline,
            tick_id=self.tick_id,
            spark=None,
            new_table=False,
        )
        records.append(record)
        return stage_rollback(self.lake, past.step.identifier, past.table, past.snapshot, record)

    def _note(self, connection: Connection, staged: Mapping[str, Staged]) -> None:
        for name in sorted(self.leases):
            require(self.lake, connection, self.leases[name])
        lock_status(self.lake, connection, [past.step.identifier for past in self.found.tables])
        for past in self._touched:
            values = self._status(past, staged.get(past.step.identifier))
            known = {"name": past.step.name, "pipeline": self.plan.pipeline}
            write_status(self.lake, connection, past.step.identifier, if_new=known, **values)
            self._add_history(connection, past)
        for past in self.found.tables:
            if past.outcome is Rewind.UNTOUCHED and past.status is not None and past.status.halted is not None:
                # The ticks that did not settle are run again too.
                suspended = past.status.status is Status.SUSPENDED
                values = {"halted": None} if suspended else released(past.status)
                write_status(self.lake, connection, past.step.identifier, **values)
        # What an atomic group shows has changed, so its epoch must too.
        connection.execute(
            update(status_rows)
            .where(
                status_rows.c.catalog == self.lake.name,
                status_rows.c.pipeline == self.plan.pipeline,
                status_rows.c.group_epoch.is_not(None),
            )
            .values(group_epoch=status_rows.c.group_epoch + 1)
        )

    def _status(self, past: Past, staged: Staged | None) -> dict[str, Any]:
        """The columns of a table that was taken back, or that starts over."""
        assert past.table is not None  # noqa: S101 - it is touched
        state = past.state
        table = past.table if staged is None else staged.table
        return {
            "status": self._present(past).value,
            "frontier": state.frontier if state else None,
            "definition": state.definition if state else None,
            "settings": state.settings if state else None,
            # For all tables the same: no tick before the one that they went back to moves one of them alone.
            "effective_at": self.found.effective_at,
            "tick_id": self.tick_id,
            "metadata_location": table.metadata_location,
            "snapshot_id": table.metadata.current_snapshot_id,
            "schema_id": table.metadata.current_schema_id,
            "epoch": past.epoch,
            "kept": None,
            "error": None,
            "error_at": None,
            "halted": None,
            "waits_for": (),
            **({"changed_at": clock.now()} if staged is not None else {}),
        }

    def _present(self, past: Past) -> Status:
        """Who suspended a table decides when that ends; one that did not settle is tried again."""
        if past.status is not None and past.status.status is Status.SUSPENDED:
            return Status.SUSPENDED
        return Status.INITIALIZING if past.state is None else Status.ACTIVE

    def _add_history(self, connection: Connection, past: Past) -> None:
        result = TableResult(
            table=past.step.name,
            status=self._present(past),
            mode=Mode.NO_DATA,
            reason=f"taken back to {clock.text_of(self.found.effective_at)}: {past.reason}",
            snapshot_id=past.result.snapshot_id,
            epoch=past.epoch,
            seconds=round(time.monotonic() - self.counter, 3),
        )
        write_history(
            self.lake,
            connection,
            result,
            identifier=past.step.identifier,
            pipeline=self.plan.pipeline,
            tick_id=self.tick_id,
            action=RESTATE,
            started_at=self.started_at,
        )
