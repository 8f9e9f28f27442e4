"""What became of a table in a refresh, before it counts: everything that its commit writes, and nothing else.

An outcome is plain data, so that it can be committed by the process that made it, or be kept beside the catalog and be
committed by another one together with those of other tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from airflow_trickle import clock
from airflow_trickle.errors import CommitConflict, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, commit, require_unmoved
from airflow_trickle.lakehouse.files import delete_files, delete_folder
from airflow_trickle.lakehouse.iterations import write_iterations
from airflow_trickle.lakehouse.leases import Lease, require
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import lock_status, stored_status, write_history, write_status
from airflow_trickle.results import Iteration, TableResult


@dataclass(frozen=True)
class Passes:
    """The passes of a unit that was brought to a fixed point."""

    unit: str
    trace: tuple[Iteration, ...]


@dataclass(frozen=True)
class Unneeded:
    """What nobody needs once a table is published."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The next state of one table."""

    identifier: str
    pipeline: str
    tick_id: str
    result: TableResult
    started_at: datetime
    #: Where the table's metadata was when it was read; None: there was no table.
    expected: str | None
    #: The columns of its status that change.
    status: Mapping[str, Any]
    #: What the history says; None: nothing.
    action: str | None = None
    #: Its next snapshot; None: its rows stay as they are.
    staged: Staged | None = None
    #: Where files were written that count from the commit on, if there is no next snapshot.
    staging: Staging | None = None
    passes: Passes | None = None
    unneeded: Unneeded = Unneeded()

    @property
    def place(self) -> Staging | None:
        """Where its files were written, if any were."""
        return self.staged.staging if self.staged is not None else self.staging

    @property
    def written(self) -> tuple[str, ...]:
        """Every file that its commit makes count: those of its snapshot, and what is kept beside the table."""
        place, kept = self.place, self.status.get("kept")
        if place is None:
            return ()
        beside = json.loads(kept)["files"] if kept is not None else ()
        # What an earlier refresh has kept has another id in its name.
        new = [file for file in beside if place.staging_id in file]
        return tuple(dict.fromkeys((*(self.staged.written if self.staged is not None else ()), *new)))

    def as_json(self) -> str:
        """The outcome as text for a state table."""
        staged, place = self.staged, self.place
        return json.dumps(
            {
                "pipeline": self.pipeline,
                "result": self.result.model_dump(mode="json"),
                "started_at": clock.text_of(self.started_at),
                "expected": self.expected,
                "status": stored_status(self.status),
                "action": self.action,
                "location": staged.location if staged is not None else None,
                "snapshot_id": staged.snapshot_id if staged is not None else None,
                "staging": None if place is None else [place.staging_id, place.table_location, place.spark],
                "written": list(self.written),
                "unit": self.passes.unit if self.passes is not None else None,
                "trace": [one.model_dump() for one in self.passes.trace] if self.passes is not None else [],
                "files": self.unneeded.files,
                "folders": self.unneeded.folders,
            }
        )


def told_of(identifier: str, tick_id: str, text: str) -> Outcome:
    """Of the outcome that `Outcome.as_json` wrote, what is told of it; not what it would publish."""
    said = json.loads(text)
    result, started_at = TableResult.model_validate(said["result"]), clock.moment_of(said["started_at"])
    return Outcome(identifier, said["pipeline"], tick_id, result, started_at, said["expected"], {}, said["action"])


def outcome_from_json(lake: Lakehouse, identifier: str, tick_id: str, text: str) -> Outcome:
    """The outcome that `Outcome.as_json` wrote."""
    said = json.loads(text)
    staging = None
    if said["staging"] is not None:
        staging_id, table_location, spark = said["staging"]
        staging = Staging(staging_id, identifier, table_location, spark)
    staged = None
    if said["location"] is not None and staging is not None:
        location, snapshot = said["location"], said["snapshot_id"]
        table = lake.table_at(identifier, location)
        written = tuple(said["written"])
        staged, staging = Staged(identifier, staging, said["expected"], location, snapshot, table, written), None
    trace = tuple(Iteration(**one) for one in said["trace"])
    return Outcome(
        identifier=identifier,
        pipeline=said["pipeline"],
        tick_id=tick_id,
        result=TableResult.model_validate(said["result"]),
        started_at=clock.moment_of(said["started_at"]),
        expected=said["expected"],
        status=said["status"],
        action=said["action"],
        staged=staged,
        staging=staging,
        passes=Passes(said["unit"], trace) if said["unit"] is not None else None,
        unneeded=Unneeded(tuple(said["files"]), tuple(said["folders"])),
    )


def commit_outcomes(
    lake: Lakehouse,
    outcomes: Sequence[Outcome],
    leases: Mapping[str, Lease],
    also: Callable[[Connection], None] = lambda _connection: None,
) -> None:
    """Make the next states of some tables count, all in one transaction, and remove what nobody needs then.

    Raises:
        CommitConflict: a table was changed or taken over by somebody else meanwhile; nothing was published.
        StagedFilesMissing: a file that would count is gone; nothing was published.
    """
    for outcome in outcomes:
        if outcome.staged is None and outcome.staging is not None:
            stagings.require_files(lake, outcome.identifier, outcome.staging, outcome.written)

    def noted(connection: Connection) -> None:
        for outcome in sorted(outcomes, key=lambda one: one.identifier):
            _note(lake, connection, outcome, leases[outcome.identifier])
        also(connection)

    staged = [replace(one.staged, written=one.written) for one in outcomes if one.staged is not None]
    # Of these, only what is kept beside the table is new.
    beside = [one.staging for one in outcomes if one.staged is None and one.staging is not None]
    commit(lake, staged, noted, beside)
    for outcome in outcomes:
        forget_unneeded(lake, outcome)


def _note(lake: Lakehouse, connection: Connection, outcome: Outcome, lease: Lease) -> None:
    require(lake, connection, lease)
    if outcome.staged is None:
        require_unmoved(lake, connection, outcome.identifier, outcome.expected)
    if outcome.staging is not None:
        stagings.finish(lake, connection, outcome.staging)
    if outcome.status:
        _refuse_to_go_back(lake, connection, outcome)
        write_status(lake, connection, outcome.identifier, **outcome.status)
    if outcome.action is not None:
        write_history(
            lake,
            connection,
            outcome.result,
            identifier=outcome.identifier,
            pipeline=outcome.pipeline,
            tick_id=outcome.tick_id,
            action=outcome.action,
            started_at=outcome.started_at,
        )
    if outcome.passes is not None:
        write_iterations(
            lake,
            connection,
            pipeline=outcome.pipeline,
            tick_id=outcome.tick_id,
            unit=outcome.passes.unit,
            trace=outcome.passes.trace,
        )


def _refuse_to_go_back(lake: Lakehouse, connection: Connection, outcome: Outcome) -> None:
    """Refuse what an earlier tick has computed of a table that a later one has found to be as it should be.

    That one takes no lease, since it changes no row.
    """
    said = stored_status(outcome.status).get("effective_at")
    if said is None:
        return
    moment = clock.moment_of(said)
    for known in lock_status(lake, connection, [outcome.identifier]):
        if known.effective_at is not None and known.effective_at > moment:
            raise CommitConflict(
                f"Table {outcome.identifier} was refreshed for a tick of {said}, and meanwhile a later tick, of "
                f"{clock.text_of(known.effective_at)}, found nothing to do for it. Nothing was published; the later "
                f"tick counts.",
                [outcome.identifier],
            )


def forget_unneeded(lake: Lakehouse, outcome: Outcome) -> None:
    """Delete what a committed outcome made superfluous; what cannot be deleted is in nobody's way."""
    files, folders = outcome.unneeded.files, outcome.unneeded.folders
    for folder in folders:
        with suppress(OSError, TrickleError):
            delete_folder(lake.io({}, folder), folder)
    if files:
        with suppress(OSError, TrickleError):
            delete_files(lake.io({}, files[0]), list(files))
