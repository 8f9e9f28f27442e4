"""Refreshing one unit of a pipeline in one tick: decide, compute, stage, commit.

Whatever kills the process on the way, the published state is either the old one or the new one: data,
frontier, status and history become visible in the same database transaction.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from airflow_trickle import clock
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.decide import Decision, decide
from airflow_trickle.engine.differential import changed_inputs, published_change, why_full_is_cheaper
from airflow_trickle.engine.failures import explained, fails_on_rows
from airflow_trickle.engine.full import Difference, Input, difference, input_at, input_views, shaped, target_of
from airflow_trickle.engine.inputs import query_over
from airflow_trickle.engine.record import Refresh, add_history, note_progress, record_failure, summary_of
from airflow_trickle.engine.write import Written, write_all, write_difference
from airflow_trickle.errors import LeaseHeld, RefreshFailed, TrickleError, UnsupportedTable, WarehouseUnavailable
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.commit import Target, commit, stage
from airflow_trickle.lakehouse.deletes import total_rows
from airflow_trickle.lakehouse.files import make_folder
from airflow_trickle.lakehouse.leases import Lease, holding, require
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import published_by
from airflow_trickle.plan.steps import RefreshStep, TableStep, UnitKind
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.spark.active import activated, configured
from airflow_trickle.spark.session import SparkProvider, interrupt_session
from airflow_trickle.spark.tuning import SESSION_SETTINGS, session_conf
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("airflow_trickle")


def refresh(
    lake: Lakehouse, step: RefreshStep, tick: Tick, spark: SparkProvider, full_refresh: bool = False
) -> tuple[TableResult, ...]:
    """Bring the tables of one unit to the world that ``tick`` pinned.

    Running it again for the same tick publishes nothing and tells what the first run did.

    Raises:
        TrickleError: the unit could not be refreshed; nothing of it was published.
    """
    if step.kind is not UnitKind.TABLE:
        raise UnsupportedTable(f"Unit '{step.unit}' is a {step.kind.value}; this version refreshes single tables only.")
    run = Refresh(lake, step.tables[0], tick, spark, clock.now(), time.monotonic())
    try:
        result = _refresh_table(run, full_refresh)
    except LeaseHeld:
        raise
    except TrickleError as error:
        record_failure(run, error)
        raise
    except Exception as error:
        told = _told(run.step, error)
        record_failure(run, told)
        raise told from error
    log.info(describe(result))
    return (result,)


def _told(step: TableStep, error: Exception) -> TrickleError:
    """An error that nobody foresaw: still one table's failure, with its cause in words."""
    cause = f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"
    if isinstance(error, OSError):
        return WarehouseUnavailable(
            f"Stream table '{step.name}' was not refreshed: a file of the warehouse cannot be read or written "
            f"({cause}). Check that nothing was removed from it and that it is reachable; nothing was published."
        )
    return RefreshFailed(
        f"{step.declared_at}: stream table '{step.name}' was not refreshed because of an error that should not happen "
        f"({cause}). Nothing was published. Please report it with the traceback below."
    )


def describe(result: TableResult) -> str:
    """One sentence for the log of a task."""
    if result.mode in (Mode.NO_DATA, Mode.SKIPPED):
        return f"{result.table}: nothing to do: {result.reason}."
    if not result.changed:
        return f"{result.table}: recomputed in {result.seconds:.1f} s ({result.reason}); the result is the same."
    return (
        f"{result.table}: {result.mode} refresh in {result.seconds:.1f} s ({result.reason}): "
        f"{result.rows_inserted} rows inserted, {result.rows_deleted} deleted, published as snapshot "
        f"{result.snapshot_id}, epoch {result.epoch}."
    )


def _refresh_table(run: Refresh, full_refresh: bool) -> TableResult:
    step = run.step
    decision = decide(run.lake, step, run.tick, full_refresh=full_refresh)
    if (done := _already_done(run, decision)) is not None:
        return done
    leftovers = stagings.leftovers(run.lake, identifier=step.identifier)
    if decision.kind in (Decision.IDLE, Decision.SKIP) and not leftovers:
        return _untouched(run, decision)
    with holding(run.lake, [step.identifier], run.holder) as leases:
        lease = leases[step.identifier]
        stagings.clean_table(run.lake, lease, lambda session: interrupt_session(run.spark.target, session))
        # Somebody may have refreshed the table between the first look and the lease.
        decision = decide(run.lake, step, run.tick, full_refresh=full_refresh)
        if (done := _already_done(run, decision)) is not None:
            return done
        if decision.kind == Decision.WORK:
            return _recompute(run, decision, lease)
        if decision.kind == Decision.ADVANCE:
            with run.lake.database.transaction() as connection:
                require(run.lake, connection, lease)
                note_progress(run, connection, decision)
        return _untouched(run, decision)


def _already_done(run: Refresh, decision: Decision) -> TableResult | None:
    """What an earlier attempt of this very tick did, if it got as far as the commit."""
    published = decision.published
    if published is None or published.frontier is None or published.tick_id != run.tick.tick_id:
        return None
    if published.definition != run.step.definition:
        return None
    result = published_by(run.lake, run.step.identifier, run.tick.tick_id)
    if result is not None:
        log.info("%s was already refreshed by an earlier attempt of this tick.", run.step.name)
    return result


def _untouched(run: Refresh, decision: Decision) -> TableResult:
    return TableResult(
        table=run.step.name,
        status=Status.ACTIVE if decision.published else Status.INITIALIZING,
        mode=Mode.SKIPPED if decision.kind == Decision.SKIP else Mode.NO_DATA,
        reason=decision.reason,
        snapshot_id=decision.published.version.snapshot_id if decision.published else None,
        epoch=decision.published.epoch if decision.published else 0,
        seconds=run.seconds,
    )


@dataclass(frozen=True)
class _Work:
    """A query that has been analysed and whose result is to be published."""

    session: SparkSession
    target: Target
    inputs: dict[str, Input]
    #: By identifier: the view of each input.
    names: dict[str, str]
    result: DataFrame
    #: Fills with the views made on the way.
    views: list[str]

    @property
    def size(self) -> int:
        """Bytes of all inputs."""
        return sum(source.size for source in self.inputs.values())

    @property
    def rows_in(self) -> int | None:
        """Rows of all inputs, if metadata alone can tell."""
        return total_rows(file for source in self.inputs.values() for file in source.files)

    @property
    def same_schema(self) -> bool:
        """Whether the table keeps its columns."""
        return not self.target.is_new and same_columns(self.target.schema, self.target.table.metadata.schema())


def _recompute(run: Refresh, decision: Decision, lease: Lease) -> TableResult:
    log.info("Refreshing %s: %s.", run.step.name, decision.reason)
    # Connect first: a Spark that cannot be reached must not leave anything behind.
    session = run.spark.session
    views: list[str] = []
    inputs = {name: input_at(run.lake, name, version) for name, version in decision.target.inputs.items()}
    settings = session_conf(sum(source.size for source in inputs.values()))
    if run.spark.borrowed:
        settings = {**SESSION_SETTINGS, **settings}
    try:
        with (
            explained(run.step, run.lake.catalog.properties.get("warehouse", "")),
            activated(session),
            configured(session, settings, put_back=run.spark.borrowed),
        ):
            work = _analysed(run, decision, session, inputs, views)
            return _publish(run, decision, lease, work)
    finally:
        for view in views:
            with suppress(Exception):  # the session may be gone; its views went with it
                session.catalog.dropTempView(view)


def _analysed(
    run: Refresh, decision: Decision, session: SparkSession, inputs: dict[str, Input], views: list[str]
) -> _Work:
    lake, step = run.lake, run.step
    names = input_views(session, inputs, views)
    result = session.sql(query_over(step, names))
    published = decision.published
    current = lake.table_at(step.identifier, published.location) if published else None
    return _Work(session, target_of(lake, step, result, current), inputs, names, result, views)


def _publish(run: Refresh, decision: Decision, lease: Lease, work: _Work) -> TableResult:
    lake, target = run.lake, work.target
    record = stagings.begin(
        lake,
        lease=lease,
        table_location=target.table.metadata.location,
        pipeline=run.tick.pipeline,
        tick_id=run.tick.tick_id,
        spark=run.spark.session_id,
        new_table=target.is_new,
    )
    try:
        make_folder(target.table.io, record.data_folder)
        way, change = _write(run, work, decision, record)
        if change is None:
            return _same_result(run, decision, lease, way, record)
        return _commit(run, decision, lease, work, way, record, change)
    except BaseException:
        # The first error is the one to show; what cannot be removed now is removed by the next tick.
        with suppress(TrickleError, OSError):
            stagings.discard(lake, record)
        raise


@dataclass(frozen=True)
class _Way:
    """How the new state was found, why so, and how many rows were read for it."""

    mode: Mode
    reason: str
    rows_in: int | None


@dataclass(frozen=True)
class _Change:
    written: Written
    inserted: int
    deleted: int


def _write(run: Refresh, work: _Work, decision: Decision, record: stagings.Staging) -> tuple[_Way, _Change | None]:
    """Write the files of the new state; no change when it is the published one."""
    version = decision.published.version if decision.published else None
    held = list(files_of(work.target.table, version.snapshot_id).values()) if version else []
    way, change = _from_changes(run, work, decision)
    if way.mode is Mode.FULL:
        new = shaped(work.result, work.target)
        if not held:
            written = write_all(new, work.target, record, work.size)
            if decision.published is not None and not written.added and work.same_schema:
                return way, None
            return way, _Change(written, written.net_rows, 0)
        change = difference(work.session, new, work.target, held)
    if change is None or (not change.inserted and not change.deleted and work.same_schema):
        return way, None
    written = write_difference(work.session, change, work.target, record, held, work.size)
    return way, _Change(written, change.inserted, change.deleted)


def _from_changes(run: Refresh, work: _Work, decision: Decision) -> tuple[_Way, Difference | None]:
    """The change of the table from those of its inputs, if that is possible and worth it; else the way is FULL."""
    step, published = run.step, decision.published

    def full(*why: str) -> tuple[_Way, None]:
        return _Way(Mode.FULL, "; ".join((decision.reason, *why)), work.rows_in), None

    if step.mode == Mode.FULL.value:
        return full(step.reason)
    if not decision.from_changes or published is None or published.frontier is None:
        return full()
    asked = step.requested_mode == Mode.DIFFERENTIAL.value
    inputs = changed_inputs(run.lake, work.inputs, published.frontier)
    why = None if asked else why_full_is_cheaper(inputs)
    if why is None and not work.same_schema:
        why = "the columns of its result are others now"
    if why is None:
        try:
            change = published_change(
                work.session, step, inputs, work.names, work.target, published.version, work.views
            )
        except NotInBlocks as error:
            why = error.why
        except Exception as error:
            if asked or not fails_on_rows(error):
                raise
            # Rows of before meet rows of after on the way; the query itself may well run.
            log.warning("%s: computing its change failed, so it is computed in full: %s", step.name, error)
            why = "computing the change failed on rows that the query itself may not have"
        else:
            changed = sum(one.changes.rows for one in inputs.values())
            how = "refresh_mode: DIFFERENTIAL" if asked else "AUTO: from changes"
            return _Way(Mode.DIFFERENTIAL, f"{decision.reason}; {how}", changed), change
    if asked:
        raise RefreshFailed(
            f"{step.declared_at}: stream table '{step.name}' cannot be refreshed from changes, because {why}. Nothing "
            f"was published. Set refresh_mode: AUTO to have it recomputed in full when needed."
        )
    return full(f"AUTO: full because {why}")


def _same_result(run: Refresh, decision: Decision, lease: Lease, way: _Way, record: stagings.Staging) -> TableResult:
    """Nothing to publish: note only how far the inputs were read."""
    assert decision.published is not None  # noqa: S101 - a first refresh always publishes
    published = decision.published
    result = _result(run, way, epoch=published.epoch, snapshot=published.version.snapshot_id)
    stagings.discard(run.lake, record)
    with run.lake.database.transaction() as connection:
        require(run.lake, connection, lease)
        note_progress(run, connection, decision, mode=way.mode)
        add_history(run, connection, result, "NO_CHANGE")
    return result


def _commit(
    run: Refresh,
    decision: Decision,
    lease: Lease,
    work: _Work,
    way: _Way,
    record: stagings.Staging,
    change: _Change,
) -> TableResult:
    epoch = (decision.published.epoch if decision.published else 0) + 1
    staged = stage(
        run.lake,
        work.target,
        record,
        added=change.written.added,
        removed=change.written.removed,
        summary=summary_of(
            run, decision.target, mode=way.mode, inserted=change.inserted, deleted=change.deleted, epoch=epoch
        ),
    )
    result = _result(run, way, epoch=epoch, snapshot=staged.snapshot_id, change=change)

    def also(connection: Connection) -> None:
        require(run.lake, connection, lease)
        note_progress(run, connection, decision, staged, epoch, mode=way.mode)
        add_history(run, connection, result, "REFRESH" if decision.published else "INITIALIZE")

    commit(run.lake, [staged], also)
    return result


def _result(run: Refresh, way: _Way, *, epoch: int, snapshot: int | None, change: _Change | None = None) -> TableResult:
    return TableResult(
        table=run.step.name,
        status=Status.ACTIVE,
        mode=way.mode,
        reason=way.reason,
        rows_in=way.rows_in,
        rows_inserted=change.inserted if change else 0,
        rows_deleted=change.deleted if change else 0,
        snapshot_id=snapshot,
        epoch=epoch,
        seconds=run.seconds,
    )
