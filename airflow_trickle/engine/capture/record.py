"""What is written down about a capture: in the mirror's snapshot, in the status, in the history."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from airflow_trickle import clock
from airflow_trickle.engine.capture.mirror import Mirror
from airflow_trickle.engine.capture.state import DEFINITION, EPOCH, STATE
from airflow_trickle.engine.capture.task import Captured
from airflow_trickle.engine.record import failed
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged
from airflow_trickle.lakehouse.state import CAPTURE, write_history, write_status
from airflow_trickle.plan.steps import CaptureStep
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.spark.session import SparkProvider


@dataclass(frozen=True)
class Run:
    """What the parts of one capture share."""

    lake: Lakehouse
    step: CaptureStep
    tick_id: str
    spark: SparkProvider
    started_at: datetime
    clock: float

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return round(time.monotonic() - self.clock, 3)


def summary_of(run: Run, captured: Captured, state: str, epoch: int) -> dict[str, str]:
    """What a snapshot of a mirror says of itself."""
    return {
        DEFINITION: run.step.definition,
        STATE: state,
        EPOCH: str(epoch),
        "trickle.tick": run.tick_id,
        "trickle.mode": captured.mode.value,
        "trickle.rows-inserted": str(captured.inserted),
        "trickle.rows-deleted": str(captured.deleted),
    }


def result_of(run: Run, mirror: Mirror, mode: Mode, reason: str, captured: Captured | None = None) -> TableResult:
    """What became of the source in this tick, as long as nothing was published."""
    table = mirror.table
    return TableResult(
        table=run.step.name,
        status=Status.ACTIVE,
        mode=mode,
        reason=reason,
        rows_in=captured.rows_in if captured else None,
        rows_inserted=captured.inserted if captured else 0,
        rows_deleted=captured.deleted if captured else 0,
        snapshot_id=table.metadata.current_snapshot_id if table is not None else None,
        epoch=mirror.epoch,
        seconds=run.seconds,
    )


def note(run: Run, connection: Connection, mirror: Mirror, staged: Staged | None, epoch: int) -> None:
    """Write the status that goes with a commit, or with finding that nothing changed."""
    now = clock.now()
    values: dict[str, Any] = {
        "name": run.step.name,
        "pipeline": run.step.pipeline,
        "status": Status.ACTIVE.value,
        "mode": CAPTURE,
        "definition": run.step.definition,
        "effective_at": run.started_at,
        "tick_id": run.tick_id,
        "refreshed_at": now,
        "epoch": epoch,
        "error": None,
        "error_at": None,
    }
    if staged is not None:
        values |= {
            "metadata_location": staged.location,
            "snapshot_id": staged.snapshot_id,
            "schema_id": staged.table.metadata.current_schema_id,
            "changed_at": now,
        }
    write_status(run.lake, connection, run.step.identifier, **values)


def add_history(run: Run, connection: Connection, result: TableResult, action: str) -> None:
    """Add the outcome to the history."""
    write_history(
        run.lake,
        connection,
        result,
        identifier=run.step.identifier,
        pipeline=run.step.pipeline,
        tick_id=run.tick_id,
        action=action,
        started_at=run.started_at,
    )


def record_failure(run: Run, error: TrickleError) -> None:
    """Note a failure beside the mirror, which stays as it is."""
    # The catalog may be what failed: the error itself is then all there is to say.
    with suppress(TrickleError, IntegrityError), run.lake.database.transaction() as connection:
        write_status(
            run.lake,
            connection,
            run.step.identifier,
            if_new={"name": run.step.name, "pipeline": run.step.pipeline, "mode": CAPTURE},
            error=str(error),
            error_at=clock.now(),
        )
        add_history(run, connection, failed(run.step.name, error, run.seconds), "FAILED")
