"""Refreshing one unit of a pipeline in one tick: decide, compute, stage, commit.

Whatever kills the process on the way, the published state is either the old one or the new one: data,
frontier, status and history become visible in the same database transaction.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision, decide
from airflow_trickle.engine.holds import hold_of
from airflow_trickle.engine.identity import StaleIdentity, identified
from airflow_trickle.engine.kept import carried, superfluous
from airflow_trickle.engine.outcome import Unneeded
from airflow_trickle.engine.phases import Phase
from airflow_trickle.engine.publish import publish
from airflow_trickle.engine.publishing import AT_ONCE, Publishing
from airflow_trickle.engine.record import (
    Refresh,
    note_hold,
    note_waiting,
    outcome_of,
    record_failure,
    record_non_convergence,
)
from airflow_trickle.engine.state_policy import StatePolicy
from airflow_trickle.errors import (
    LeaseHeld,
    NonConvergence,
    RefreshFailed,
    TrickleError,
    WarehouseUnavailable,
)
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.plan.steps import RefreshStep, TableStep, UnitKind
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tick import Tick

log = logging.getLogger("airflow_trickle")


#: Is told of every pass over a cycle.
Progress = Callable[[Iteration], None]


def refresh(
    lake: Lakehouse,
    step: RefreshStep,
    tick: Tick,
    spark: SparkProvider,
    full_refresh: bool = False,
    progress: Progress = lambda _: None,
    publishing: Publishing = AT_ONCE,
) -> tuple[TableResult, ...]:
    """Bring the tables of one unit to the world that ``tick`` pinned.

    Running it again for the same tick publishes nothing and tells what the first run did. ``publishing`` is how: at
    once, or with others later.

    Raises:
        TrickleError: the unit could not be refreshed; nothing of it was published.
    """
    if step.kind is UnitKind.GROUP:
        from airflow_trickle.engine.group import refresh_group

        try:
            return refresh_group(lake, step, tick, spark, full_refresh, progress)
        except OSError as error:
            # Between its members: those tell of their own.
            raise _told(step.tables[0], error) from error
    step = identified(lake, step, spark)
    try:
        return _refreshed(lake, step, tick, spark, full_refresh, progress, publishing)
    except StaleIdentity:
        log.info("%s: Spark is of another version than when it was refreshed last.", step.unit)
        return _refreshed(lake, identified(lake, step, spark), tick, spark, full_refresh, progress, publishing)


def _refreshed(
    lake: Lakehouse,
    step: RefreshStep,
    tick: Tick,
    spark: SparkProvider,
    full_refresh: bool,
    progress: Progress,
    publishing: Publishing,
) -> tuple[TableResult, ...]:
    began, counter = clock.now(), time.monotonic()
    runs = [Refresh(lake, table, tick, spark, began, counter, publishing=publishing) for table in step.tables]
    try:
        results = _refresh_unit(step, runs, full_refresh, _telling(progress))
    except (LeaseHeld, StaleIdentity):
        raise
    except NonConvergence as error:
        record_non_convergence(lake, step, tick, error, runs[0].started_at, runs[0].seconds)
        raise
    except TrickleError as error:
        for run in runs:
            record_failure(run, error)
        raise
    except Exception as error:
        told = _told(step.tables[0], error)
        for run in runs:
            record_failure(run, told)
        raise told from error
    for result in results:
        log.info(describe(result, publishing.word))
        if result.phases:
            log.info(describe_cost(result))
    return results


def _telling(progress: Progress) -> Progress:
    """Tell of every pass in the log too."""

    def tell(iteration: Iteration) -> None:
        log.info(describe_pass(iteration))
        progress(iteration)

    return tell


def _refresh_unit(
    step: RefreshStep, runs: Sequence[Refresh], full_refresh: bool, progress: Progress
) -> tuple[TableResult, ...]:
    """Refresh the tables of a unit, unless it rests."""
    if (rest := not_due(runs[0].lake, step, runs[0].tick)) is not None:
        return rest
    if (hold := hold_of(runs[0].lake, step)) is not None:
        note_hold(runs, hold)
        return hold.results(step)
    if step.kind is UnitKind.CYCLE or (step.kind is UnitKind.TABLE and step.tables[0].recursive):
        from airflow_trickle.engine.fixpoint.cycle import refresh_cycle

        first = runs[0]
        return refresh_cycle(first.lake, step, first.tick, first.spark, full_refresh, progress, first.publishing)
    return (_refresh_table(runs[0], step, full_refresh),)


def not_due(lake: Lakehouse, step: RefreshStep, tick: Tick) -> tuple[TableResult, ...] | None:
    """What becomes of a unit whose schedule lets it rest in this tick; None if it does not."""
    names = [table.identifier for table in step.tables]
    if not tick.not_due or not set(tick.not_due) >= set(names):
        return None
    known = read_status(lake, names)
    if any(name not in known or known[name].frontier is None for name in names):
        # It was reset since the tick was pinned: who reads it waits for it.
        return None
    if any(known[table.identifier].definition != table.definition for table in step.tables):
        # A query that was changed is run by the next tick, whatever the schedule.
        return None
    return tuple(
        TableResult(
            table=table.name,
            status=known[table.identifier].status,
            mode=Mode.SKIPPED,
            reason=f"not due in this tick: its schedule is {table.schedule}",
            snapshot_id=known[table.identifier].snapshot_id,
            epoch=known[table.identifier].epoch,
        )
        for table in step.tables
    )


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


def describe(result: TableResult, done: str = "published") -> str:
    """One sentence for the log of a task; ``done`` is what was done with the snapshot."""
    if result.mode is Mode.NO_DATA:
        return f"{result.table}: nothing to do: {result.reason}."
    if result.mode is Mode.SKIPPED:
        return f"{result.table}: not refreshed: {result.reason}."
    if not result.changed:
        return f"{result.table}: recomputed in {result.seconds:.1f} s ({result.reason}); the result is the same."
    return (
        f"{result.table}: {result.mode} refresh in {result.seconds:.1f} s ({result.reason}): "
        f"{result.rows_inserted} rows inserted, {result.rows_deleted} deleted, {done} as snapshot "
        f"{result.snapshot_id}, epoch {result.epoch}."
    )


def describe_pass(iteration: Iteration) -> str:
    """One line for the log of a task.

    >>> describe_pass(Iteration(number=3, phase="derive", changes={"reach_red": 2, "reach_blue": 0}, seconds=0.208))
    'iteration 3 (derive): reach_red +2, reach_blue 0 in 0.21 s'
    """
    sign = "-" if iteration.phase == "retract" else "+"
    changes = ", ".join(f"{table} {sign if count else ''}{count}" for table, count in iteration.changes.items())
    return f"iteration {iteration.number} ({iteration.phase}): {changes} in {iteration.seconds:.2f} s"


def describe_cost(result: TableResult) -> str:
    """Where the time of a refresh went and how much it moved, for the log of a task."""
    phases = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in result.phases.items())
    sizes = [f"{(size or 0) / 1024 / 1024:.1f} MiB" for size in (result.bytes_read, result.bytes_written)]
    return f"{result.table}: {phases}; {sizes[0]} of files read, {sizes[1]} written."


def _refresh_table(run: Refresh, unit: RefreshStep, full_refresh: bool) -> TableResult:
    step = run.step
    with run.phases.phase(Phase.PIN):
        decision = decide(run.lake, step, run.tick, full_refresh=full_refresh)
    if (done := _already_done(run, decision)) is not None:
        return done
    leftovers = stagings.leftovers(run.lake, identifier=step.identifier)
    looked = {step.identifier: decision}
    if not leftovers and (
        decision.kind == Decision.SKIP
        or (decision.kind == Decision.IDLE and run.publishing.note_idle(run.lake, run.tick, looked))
    ):
        return _untouched(run, decision)
    with run.publishing.holding(run.lake, [step.identifier], run.holder) as leases:
        return _refresh_leased(run, unit, leases[step.identifier], full_refresh)


def _refresh_leased(run: Refresh, unit: RefreshStep, lease: Lease, full_refresh: bool) -> TableResult:
    # Somebody may have refreshed or suspended the table between the first look and the lease.
    if (hold := hold_of(run.lake, unit)) is not None:
        return hold.results(unit)[0]
    with run.phases.phase(Phase.PIN):
        decision = decide(run.lake, run.step, run.tick, full_refresh=full_refresh)
    if (done := _already_done(run, decision)) is not None:
        return done
    stagings.clean_table(run.lake, lease, run.spark.end_left_behind)
    if decision.kind == Decision.WORK:
        return publish(run, decision, lease)
    if decision.kind == Decision.IDLE:
        run.publishing.note_idle(run.lake, run.tick, {run.step.identifier: decision})
    result = _untouched(run, decision)
    if decision.kind == Decision.ADVANCE:
        outcome = outcome_of(
            run, decision, result, kept=_still_kept(run, decision), unneeded=_kept_no_longer(run, decision)
        )
        run.publishing.publish(run.lake, [outcome], {lease.identifier: lease})
    return result


def _kept_no_longer(run: Refresh, decision: Decision) -> Unneeded:
    """The auxiliary state of a table that is to have none any more."""
    published = decision.published
    if published is None or StatePolicy.of(run.step).keeps_any:
        return Unneeded()
    return Unneeded(superfluous(published.kept, ()))


def _still_kept(run: Refresh, decision: Decision) -> str | None:
    """What is kept beside a table whose inputs moved without a change."""
    published = decision.published
    if published is None or published.frontier is None or published.definition is None:
        return None
    if not StatePolicy.of(run.step).keeps_any:
        return None
    return carried(published.kept, published.definition, published.frontier, decision.target)


def _already_done(run: Refresh, decision: Decision) -> TableResult | None:
    """What an earlier attempt of this very tick did, if it got as far as the commit."""
    result = run.publishing.done(run.lake, run.step, run.tick, decision)
    if result is not None:
        log.info("%s was already refreshed by an earlier attempt of this tick.", run.step.name)
    return result


def _untouched(run: Refresh, decision: Decision) -> TableResult:
    if decision.waits_for:
        note_waiting(run, decision.waits_for)
    return TableResult(
        table=run.step.name,
        status=Status.ACTIVE if decision.published else Status.INITIALIZING,
        mode=Mode.SKIPPED if decision.kind == Decision.SKIP else Mode.NO_DATA,
        reason=decision.reason,
        snapshot_id=decision.published.version.snapshot_id if decision.published else None,
        epoch=decision.published.epoch if decision.published else 0,
        seconds=run.seconds,
    )
