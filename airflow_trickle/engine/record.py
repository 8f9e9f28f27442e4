"""What is written down about a refresh: in the snapshot, in the status, in the history."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.holds import Hold, unit_fingerprint
from airflow_trickle.engine.outcome import Outcome, Passes, Unneeded
from airflow_trickle.engine.phases import Phases
from airflow_trickle.engine.publishing import AT_ONCE, Publishing
from airflow_trickle.errors import NonConvergence, TrickleError
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged
from airflow_trickle.lakehouse.iterations import write_iterations
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import Frontier, lock_status, write_history, write_status
from airflow_trickle.plan.steps import RefreshStep, TableStep
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tick import Tick

#: What the history says of a table whose work was not published because of another one.
DISCARDED = "DISCARDED"


@dataclass(frozen=True)
class Refresh:
    """What the parts of one refresh share."""

    lake: Lakehouse
    step: TableStep
    tick: Tick
    spark: SparkProvider
    started_at: datetime
    clock: float
    phases: Phases = field(default_factory=Phases)
    publishing: Publishing = AT_ONCE

    @property
    def seconds(self) -> float:
        """How long the refresh has taken so far."""
        return round(time.monotonic() - self.clock, 3)

    @property
    def holder(self) -> str:
        """How the lease names this refresh."""
        return f"tick {self.tick.tick_id}"


def summary_of(
    run: Refresh, frontier: Frontier, *, mode: Mode, inserted: int, deleted: int, epoch: int
) -> dict[str, str]:
    """What a snapshot says of itself: the truth about how far the table has read."""
    said = json.loads(frontier.as_json())
    behind = {"trickle.behind": json.dumps(said["behind"])} if frontier.behind else {}
    return {
        "trickle.frontier": json.dumps(said["inputs"], sort_keys=True),
        "trickle.world": json.dumps(said["world"], sort_keys=True),
        "trickle.epoch": str(epoch),
        "trickle.tick": run.tick.tick_id,
        "trickle.effective-at": clock.text_of(run.tick.effective_at),
        "trickle.definition": run.step.definition,
        "trickle.settings": json.dumps(run.step.settings, sort_keys=True),
        "trickle.mode": mode.value,
        "trickle.rows-inserted": str(inserted),
        "trickle.rows-deleted": str(deleted),
        **behind,
        **run.publishing.summary,
    }


def outcome_of(
    run: Refresh,
    decision: Decision,
    result: TableResult,
    *,
    action: str | None = None,
    wrote: Staged | Staging | None = None,
    kept: str | None = None,
    passes: Passes | None = None,
    unneeded: Unneeded = Unneeded(),  # noqa: B008 - it is frozen
) -> Outcome:
    """What a table's commit will write, or what is noted when nothing changed.

    ``wrote`` is the table's next snapshot, or where files are that count without one; ``passes`` are those it took to
    get to a fixed point, where that is what was done.
    """
    staged = wrote if isinstance(wrote, Staged) else None
    published = decision.published
    return Outcome(
        identifier=run.step.identifier,
        pipeline=run.tick.pipeline,
        tick_id=run.tick.tick_id,
        result=result,
        started_at=run.started_at,
        expected=published.location if published is not None else None,
        status=_progress(run, decision, result, staged, passes) | {"kept": kept},
        action=action,
        staged=staged,
        staging=wrote if isinstance(wrote, Staging) else None,
        passes=passes,
        unneeded=unneeded,
    )


def _progress(
    run: Refresh, decision: Decision, result: TableResult, staged: Staged | None, passes: Passes | None
) -> dict[str, Any]:
    """The columns of the status that change."""
    published = decision.published
    now = clock.now()
    values: dict[str, Any] = {
        "name": run.step.name,
        "pipeline": run.tick.pipeline,
        "status": Status.ACTIVE.value,
        "definition": run.step.definition,
        "settings": json.dumps(run.step.settings, sort_keys=True),
        "frontier": decision.target,
        "effective_at": run.tick.effective_at,
        "tick_id": run.tick.tick_id,
        "refreshed_at": now,
        "error": None,
        "error_at": None,
        "halted": None,
        "waits_for": (),
    }
    if result.mode in (Mode.FULL, Mode.DIFFERENTIAL):
        values["mode"] = result.mode.value
    if passes is not None:
        values |= {"last_iterations": len(passes.trace), "converged_at": now}
    if staged is not None:
        values |= {
            "metadata_location": staged.location,
            "snapshot_id": staged.snapshot_id,
            "schema_id": staged.table.metadata.current_schema_id,
            "epoch": result.epoch,
            "changed_at": now,
        }
    elif published is not None:
        values |= {
            "metadata_location": published.location,
            "snapshot_id": published.version.snapshot_id,
            "schema_id": published.version.schema_id,
            "epoch": published.epoch,
        }
    return values


def add_history(run: Refresh, connection: Connection, result: TableResult, action: str) -> None:
    """Add the outcome to the history."""
    write_history(
        run.lake,
        connection,
        result,
        identifier=run.step.identifier,
        pipeline=run.tick.pipeline,
        tick_id=run.tick.tick_id,
        action=action,
        started_at=run.started_at,
    )


def record_failure(run: Refresh, error: TrickleError) -> None:
    """Note a failure beside the table; its published state and frontier stay as they are."""
    result = failed(run.step.name, error, run.seconds)
    # The catalog may be what failed: the error itself is then all there is to say.
    with suppress(TrickleError, IntegrityError), run.lake.database.transaction() as connection:
        known = lock_status(run.lake, connection, [run.step.identifier])
        # A table with rows keeps its status: they are good, only not new.
        waiting = all(one.status is Status.INITIALIZING and one.frontier is None for one in known)
        write_status(
            run.lake,
            connection,
            run.step.identifier,
            if_new={"name": run.step.name, "pipeline": run.tick.pipeline},
            error=str(error),
            error_at=clock.now(),
            **({"status": Status.ERROR.value} if waiting else {}),
        )
        add_history(run, connection, result, "FAILED")


def record_discarded(lake: Lakehouse, outcomes: Iterable[Outcome], why: str) -> None:
    """Note of tables that were refreshed, and could not be published since another table of their group failed."""
    said = why.strip().splitlines()[0] if why.strip() else "stopped"
    with suppress(TrickleError, IntegrityError), lake.database.transaction() as connection:
        for outcome in outcomes:
            result = outcome.result.model_copy(update={"reason": f"staged, and not published: {said}"})
            write_history(
                lake,
                connection,
                result,
                identifier=outcome.identifier,
                pipeline=outcome.pipeline,
                tick_id=outcome.tick_id,
                action=DISCARDED,
                started_at=outcome.started_at,
            )


def record_non_convergence(
    lake: Lakehouse, step: RefreshStep, tick: Tick, error: NonConvergence, started_at: datetime, seconds: float
) -> None:
    """Note that a unit did not settle: it is not tried again as it is; published state and frontiers stay.

    Its lease was given back before: a table that was suspended since, or brought further by a later tick, is left so.
    """
    halted, now = unit_fingerprint(step), clock.now()
    with suppress(TrickleError, IntegrityError), lake.database.transaction() as connection:
        left = _moved_on(lake, connection, step, tick)
        for table in step.tables:
            if not left:
                write_status(
                    lake,
                    connection,
                    table.identifier,
                    if_new={"name": table.name, "pipeline": tick.pipeline},
                    status=Status.ERROR.value,
                    error=str(error),
                    error_at=now,
                    halted=halted,
                )
            write_history(
                lake,
                connection,
                failed(table.name, error, seconds),
                identifier=table.identifier,
                pipeline=tick.pipeline,
                tick_id=tick.tick_id,
                action="FAILED",
                started_at=started_at,
            )
        write_iterations(
            lake, connection, pipeline=tick.pipeline, tick_id=tick.tick_id, unit=step.unit, trace=error.trace
        )


def _moved_on(lake: Lakehouse, connection: Connection, step: RefreshStep, tick: Tick) -> bool:
    """Whether a table of a unit was suspended, or refreshed by a later tick."""
    known = lock_status(lake, connection, [table.identifier for table in step.tables])
    return any(
        one.status is Status.SUSPENDED or (one.effective_at is not None and one.effective_at > tick.effective_at)
        for one in known
    )


def note_hold(runs: Iterable[Refresh], hold: Hold) -> None:
    """Note of the tables of a unit that rest only because others of it are held, that they do."""
    for run in runs:
        status = hold.statuses.get(run.step.identifier)
        if status is None or not (status.is_held or status.waits_for == hold.because):
            note_waiting(run, hold.because)


def note_waiting(run: Refresh, waits_for: tuple[str, ...]) -> None:
    """Note that a table stays as it is as long as some others are held, for those that read it."""
    with run.lake.database.transaction() as connection:
        known = {"name": run.step.name, "pipeline": run.tick.pipeline}
        write_status(run.lake, connection, run.step.identifier, if_new=known, waits_for=waits_for)


def failed(table: str, error: TrickleError, seconds: float = 0.0) -> TableResult:
    """The result of a table whose refresh failed."""
    return TableResult(
        table=table,
        status=Status.ERROR,
        mode=Mode.FULL,
        reason="failed",
        iterations=len(error.trace) if isinstance(error, NonConvergence) else 0,
        seconds=seconds,
        error=str(error),
    )
