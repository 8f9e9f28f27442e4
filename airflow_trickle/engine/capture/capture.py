"""Bringing the mirror of one source up to date: look, read, stage, commit.

As with a refresh, whatever kills the process on the way, the mirror is either the old one or the new one, and the
record of what was captured is published by the same transaction.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from airflow_trickle import clock
from airflow_trickle.engine.capture import by_files, by_snapshot, by_watermark
from airflow_trickle.engine.capture.contents import SourceMoved
from airflow_trickle.engine.capture.failures import told
from airflow_trickle.engine.capture.mirror import Mirror, mirror_of, under_settings
from airflow_trickle.engine.capture.record import Run, add_history, note, record_failure, result_of, summary_of
from airflow_trickle.engine.capture.secrets import Connections, Options, connections_in_environment, resolved
from airflow_trickle.engine.capture.state import write_state
from airflow_trickle.engine.capture.task import Captured, Prepared, Subject, Task
from airflow_trickle.errors import CaptureFailed, LeaseHeld, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import commit, stage
from airflow_trickle.lakehouse.files import make_folder
from airflow_trickle.lakehouse.leases import Lease, check, holding, require
from airflow_trickle.lakehouse.state import published_by, read_tick
from airflow_trickle.plan.steps import CaptureStep
from airflow_trickle.results import Mode, TableResult
from airflow_trickle.spark.active import activated, configured, lent
from airflow_trickle.spark.meaning import SPARK_VERSION
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.tuning import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("airflow_trickle")

_LOOKS = {"files": by_files.look, "snapshot": by_snapshot.look, "append_only": by_watermark.look}
#: How often a source that is being changed is read again before giving up.
_ATTEMPTS = 3


def capture(
    lake: Lakehouse,
    step: CaptureStep,
    tick_id: str,
    spark: SparkProvider,
    connections: Connections = connections_in_environment,
) -> TableResult:
    """Bring a mirror to the present state of its source.

    A tick that was pinned before keeps its pins, so nothing is captured for it again. ``connections`` finds the Airflow
    connections that options refer to.

    Raises:
        TrickleError: the source could not be captured; its mirror is as it was.
    """
    run = Run(lake, step, tick_id, spark, clock.now(), time.monotonic())
    try:
        result = _of_pinned_tick(run) or _captured(run, connections)
    except LeaseHeld:
        raise
    except TrickleError as error:
        record_failure(run, error)
        raise
    log.info(describe(result))
    return result


def describe(result: TableResult) -> str:
    """One sentence for the log of a task."""
    if result.mode is Mode.NO_DATA:
        return f"Source {result.table}: nothing to capture: {result.reason}."
    if not result.changed:
        return f"Source {result.table}: read in {result.seconds:.1f} s ({result.reason}); its rows are the same."
    return (
        f"Source {result.table}: captured in {result.seconds:.1f} s ({result.reason}): {result.rows_inserted} rows "
        f"inserted, {result.rows_deleted} deleted, published as snapshot {result.snapshot_id}, epoch {result.epoch}."
    )


def _of_pinned_tick(run: Run) -> TableResult | None:
    with run.lake.database.reading() as connection:
        known = read_tick(connection, run.lake, run.tick_id)
    if known is None or run.step.identifier not in known.pins:
        return None
    done = published_by(run.lake, run.step.identifier, run.tick_id)
    mirror = Mirror(run.lake.table(run.step.identifier), None, "")
    return done or result_of(run, mirror, Mode.NO_DATA, "this tick was pinned before")


def _captured(run: Run, connections: Connections) -> TableResult:
    options = resolved(run.step, connections)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _attempt(run, options)
        except SourceMoved as error:
            log.info("Source %s: %s; attempt %s of %s.", run.step.name, error, attempt, _ATTEMPTS)
            moved = str(error)
    raise CaptureFailed(
        f"{run.step.declared_at}: source '{run.step.name}' was not captured: it is being changed: {moved}, at each of "
        f"{_ATTEMPTS} attempts. Nothing was published. Write files under a name that begins with '_' or '.', and "
        f"rename them when they are complete."
    )


def _attempt(run: Run, options: Options) -> TableResult:
    lake, step = run.lake, run.step
    with told(step, options, _warehouse(lake)):
        mirror, task = _look(run, options)
        if task is None and not stagings.leftovers(lake, identifier=step.identifier):
            return result_of(run, mirror, Mode.NO_DATA, "no file changed")
        with holding(lake, [step.identifier], f"tick {run.tick_id}") as leases:
            lease = leases[step.identifier]
            stagings.clean_table(lake, lease, run.spark.end_left_behind)
            # Somebody may have captured it between the first look and the lease.
            mirror, task = _look(run, options)
            if task is None:
                return result_of(run, mirror, Mode.NO_DATA, "no file changed")
            log.info("Capturing source %s: %s.", step.name, task.reason)
            return _work(run, mirror, task, lease)


def _look(run: Run, options: Options) -> tuple[Mirror, Task | None]:
    mirror = under_settings(run.step, mirror_of(run.lake, run.step), _settings(run))
    return mirror, _LOOKS[run.step.method](Subject(run.lake, run.step, options, mirror))


def _settings(run: Run) -> dict[str, str]:
    """What decides how this run reads the text of a source."""
    return {key: value for key, value in run.spark.meaning("").items() if key != SPARK_VERSION}


def _warehouse(lake: Lakehouse) -> str:
    return str(lake.catalog.properties.get("warehouse", ""))


def _work(run: Run, mirror: Mirror, task: Task, lease: Lease) -> TableResult:
    if not task.needs_spark:
        return _publish(run, mirror, task, task.prepare(None), lease, None)
    # Connect first: a Spark that cannot be reached must not leave anything behind.
    session = run.spark.session
    settings = session_conf(task.size)
    borrowed = run.spark.borrowed
    with (
        activated(session),
        lent(run.spark),
        configured(session, settings, put_back=borrowed, lazily=True),
        _checked(task),
    ):
        return _publish(run, mirror, task, task.prepare(session), lease, session)


@contextmanager
def _checked(task: Task) -> Iterator[None]:
    """When reading fails, a source that moved meanwhile is the reason to tell."""
    try:
        yield
    except TrickleError:
        raise
    except Exception:
        task.check()
        raise


def _publish(
    run: Run, mirror: Mirror, task: Task, prepared: Prepared, lease: Lease, session: SparkSession | None
) -> TableResult:
    target = prepared.target
    record = stagings.begin(
        run.lake,
        lease=lease,
        table_location=target.table.metadata.location,
        pipeline=run.step.pipeline,
        tick_id=run.tick_id,
        spark=run.spark.session_id if session is not None else None,
        new_table=target.is_new,
    )
    try:
        make_folder(target.table.io, record.data_folder)
        check(run.lake, lease)
        captured = task.write(session, prepared, record)
        task.check()
        check(run.lake, lease)
        if captured is None:
            return _same(run, mirror, task, lease, record)
        return _commit(run, mirror, task, prepared, lease, record, captured)
    except BaseException:
        # The first error is the one to show; what cannot be removed now is removed by the next tick.
        with suppress(TrickleError, OSError):
            stagings.discard(run.lake, record)
        raise


def _same(run: Run, mirror: Mirror, task: Task, lease: Lease, record: stagings.Staging) -> TableResult:
    """The source was read, and has the rows that the mirror has."""
    stagings.discard(run.lake, record)
    result = result_of(run, mirror, Mode.FULL, task.reason)

    def also(connection: Connection) -> None:
        require(run.lake, connection, lease)
        note(run, connection, mirror, None, mirror.epoch)
        add_history(run, connection, result, "NO_CHANGE")

    run.lake.database.run(also)
    return result


def _commit(
    run: Run,
    mirror: Mirror,
    task: Task,
    prepared: Prepared,
    lease: Lease,
    record: stagings.Staging,
    captured: Captured,
) -> TableResult:
    epoch = mirror.epoch + 1
    known = replace(captured.state, settings=_settings(run))
    state = write_state(prepared.target.table.io, record, known)
    staged = stage(
        run.lake,
        prepared.target,
        record,
        added=captured.written.added,
        removed=captured.written.removed,
        summary=summary_of(run, captured, state, epoch),
        beside=[state],
    )
    found = result_of(run, mirror, captured.mode, task.reason, captured)
    result = found.model_copy(update={"snapshot_id": staged.snapshot_id, "epoch": epoch})

    def also(connection: Connection) -> None:
        require(run.lake, connection, lease)
        note(run, connection, mirror, staged, epoch)
        add_history(run, connection, result, "CAPTURE" if mirror.table is not None else "INITIALIZE")

    commit(run.lake, [staged], also)
    return result
