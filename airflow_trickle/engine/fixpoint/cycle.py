"""Refreshing what is recursive: decide, bring to the fixed point, publish all tables in one commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.failures import explained
from airflow_trickle.engine.fixpoint import ranks
from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint, SubmissionOver, open_checkpoint
from airflow_trickle.engine.fixpoint.decide import UnitDecision, decide_unit
from airflow_trickle.engine.fixpoint.publish import publish_unit
from airflow_trickle.engine.fixpoint.solve import Solver
from airflow_trickle.engine.fixpoint.system import system_of
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.engine.full import input_at
from airflow_trickle.engine.holds import hold_of
from airflow_trickle.engine.identity import require_identity
from airflow_trickle.engine.phases import Phase, Phases
from airflow_trickle.engine.publishing import AT_ONCE, Publishing
from airflow_trickle.engine.record import Refresh, note_waiting, outcome_of
from airflow_trickle.engine.unreadable import require_readable_inputs
from airflow_trickle.errors import NonConvergence
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.leases import Lease, check
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from airflow_trickle.spark.active import activated, configured, lent
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.tuning import loop_conf
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("airflow_trickle")


def refresh_cycle(
    lake: Lakehouse,
    step: RefreshStep,
    tick: Tick,
    spark: SparkProvider,
    full_refresh: bool,
    progress: Callable[[Iteration], None],
    publishing: Publishing = AT_ONCE,
) -> tuple[TableResult, ...]:
    """Bring the tables of a cycle, or one with recursion in its query, to their fixed point at the pinned world.

    After ``passes_per_submission`` passes everything is given back, looked at again and gone on with.

    Raises:
        SubmissionOver: the same, where each submission is an application of its own.
        NonConvergence: it did not settle; nothing was published.
        TrickleError: it could not be refreshed; nothing was published.
    """
    began, counter, phases = clock.now(), time.monotonic(), Phases()
    tables = {
        table.identifier: Refresh(lake, table, tick, spark, began, counter, phases, publishing) for table in step.tables
    }
    while True:
        run = UnitRun(lake, step, tick, spark, tables, phases, progress, publishing)
        try:
            return _submission(run, full_refresh)
        except SubmissionOver:
            if spark.is_application:
                raise
            log.info("%s has not settled yet: submitting it again.", step.unit)


def _submission(run: UnitRun, full_refresh: bool) -> tuple[TableResult, ...]:
    """The passes of one submission; the results, if the cycle has settled."""
    lake, step, tick, spark, tables = run.lake, run.step, run.tick, run.spark, run.tables
    phases, publishing = run.phases, run.publishing
    with phases.phase(Phase.PIN):
        decision = decide_unit(lake, step, tick, full_refresh=full_refresh)
    if (done := _already_done(run, decision)) is not None:
        return done
    left = [one for name in tables for one in stagings.leftovers(lake, identifier=name)]
    if not left and (
        decision.kind == Decision.SKIP
        or (decision.kind == Decision.IDLE and publishing.note_idle(lake, tick, decision.tables))
    ):
        return _untouched(run, decision)
    with publishing.holding(lake, list(tables), run.first.holder) as leases:
        # Somebody may have suspended a table between the first look and the lease.
        if (hold := hold_of(lake, step)) is not None:
            return hold.results(step)
        with phases.phase(Phase.PIN):
            decision = decide_unit(lake, step, tick, full_refresh=full_refresh)
        point = open_checkpoint(run, decision, leases, spark.end_left_behind)
        for lease in leases.values():
            stagings.clean_table(lake, lease, spark.end_left_behind, keep=point.adopted)
        if (done := _already_done(run, decision)) is not None:
            point.discard()
            return done
        if decision.kind == Decision.WORK:
            return _work(run, decision, leases, point)
        point.discard()
        if decision.kind == Decision.ADVANCE:
            _advance(run, decision, leases)
        elif decision.kind == Decision.IDLE:
            publishing.note_idle(lake, tick, decision.tables)
        return _untouched(run, decision)


def _work(
    run: UnitRun, decision: UnitDecision, leases: Mapping[str, Lease], point: Checkpoint
) -> tuple[TableResult, ...]:
    log.info("Refreshing %s: %s.", run.step.unit, decision.reason)
    with run.phases.phase(Phase.READ), _session(run, decision) as session:
        check(run.lake, *leases.values())
        solver = Solver(run, decision, system_of(run.step), session, point)
        try:
            with run.phases.phase(Phase.COMPUTE):
                solution = solver.solve()
        except NonConvergence:
            point.discard()
            raise
        passes = len(solution.trace)
        log.info("%s converged after %d pass%s.", run.step.unit, passes, "" if passes == 1 else "es")
        return publish_unit(run, decision, leases, solution, session, point)


@contextmanager
def _session(run: UnitRun, decision: UnitDecision) -> Iterator[SparkSession]:
    """A session that is set up for the refresh; its views are dropped at the end."""
    session = run.spark.session
    for table in run.step.tables:
        require_identity(table, run.spark)
    target = next(iter(decision.tables.values())).target
    inputs = {name: input_at(run.lake, name, version) for name, version in target.inputs.items()}
    for table in run.step.tables:
        require_readable_inputs(table, inputs)
    size = sum(one.size for one in inputs.values())
    # Plans inside a loop are small and many: what adapting them costs is more than what it gains.
    settings = {**loop_conf(size), "spark.sql.adaptive.enabled": "false"}
    own = {key: value for table in run.step.tables for key, value in table.spark_conf.items()}
    try:
        with (
            explained(run.first.step, run.lake.catalog.properties.get("warehouse", "")),
            activated(session),
            lent(run.spark),
            configured(session, settings, put_back=run.spark.borrowed, lazily=True),
            configured(session, own, put_back=True),
        ):
            yield session
    finally:
        run.spark.leave(run.views)


def _advance(run: UnitRun, decision: UnitDecision, leases: Mapping[str, Lease]) -> None:
    """Note how far the inputs were read; no row changed."""
    results = {result.table: result for result in _untouched(run, decision)}
    outcomes = []
    for name, one in decision.tables.items():
        published, kept, table = one.published, None, run.tables[name]
        if published is not None and published.frontier is not None and published.definition is not None:
            kept = ranks.carried(published.kept, published.definition, published.frontier, one.target)
        outcomes.append(outcome_of(table, one, results[table.step.name], kept=kept))
    run.publishing.publish(run.lake, outcomes, leases)


def _already_done(run: UnitRun, decision: UnitDecision) -> tuple[TableResult, ...] | None:
    """What an earlier attempt of this very tick did, if it got as far as the commit."""
    found = []
    for name, one in decision.tables.items():
        result = run.publishing.done(run.lake, run.tables[name].step, run.tick, one)
        if result is None:
            return None
        found.append(result)
    log.info("%s was already refreshed by an earlier attempt of this tick.", run.step.unit)
    return tuple(found)


def _untouched(run: UnitRun, decision: UnitDecision) -> tuple[TableResult, ...]:
    mode = Mode.SKIPPED if decision.kind == Decision.SKIP else Mode.NO_DATA
    for name, one in decision.tables.items():
        if one.waits_for:
            note_waiting(run.tables[name], one.waits_for)
    return tuple(
        TableResult(
            table=run.tables[name].step.name,
            status=Status.ACTIVE if one.published else Status.INITIALIZING,
            mode=mode,
            reason=decision.reason,
            snapshot_id=one.published.version.snapshot_id if one.published else None,
            epoch=one.published.epoch if one.published else 0,
            seconds=run.first.seconds,
        )
        for name, one in decision.tables.items()
    )
