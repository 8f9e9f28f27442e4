"""One tick without Airflow: walks the same steps that the DAG's tasks execute."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from airflow_trickle import clock
from airflow_trickle.alerts import alert, non_convergence_details
from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.idle import note_skipped_strata
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.record import failed
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import CatalogUnavailable, NonConvergence, TickFailed, TrickleError
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.plan.layers import layers_of
from airflow_trickle.plan.steps import Plan, RefreshStep
from airflow_trickle.plan.tolerance import tolerates
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from airflow_trickle.spark.session import SparkProvider

log = logging.getLogger("airflow_trickle")


@dataclass(frozen=True)
class Listeners:
    """Who is told what during a tick: a table before its refresh, its result, each pass over a unit, idle strata."""

    starting: Callable[[str], None] = lambda _table: None
    done: Callable[[TableResult], None] = lambda _result: None
    progress: Callable[[str, Iteration], None] = lambda _unit, _iteration: None
    #: The strata none of whose tables had anything to do.
    passed_over: Callable[[tuple[int, ...]], None] = lambda _strata: None


def new_tick_id(pipeline: str) -> str:
    """A tick id for a run that Airflow did not start; sorts by time."""
    return f"{pipeline}/manual__{clock.text_of(clock.now())}__{uuid.uuid4().hex[:8]}"


def run_tick(
    lake: Lakehouse,
    plan: Plan,
    spark: SparkProvider,
    *,
    as_of: datetime | None = None,
    full_refresh: Collection[str] = (),
    tick_id: str | None = None,
    tell: Listeners = Listeners(),  # noqa: B008 - it is frozen
) -> dict[str, TableResult]:
    """Capture, pin, then refresh every unit upstream first; a failure holds up only what is downstream of it.

    A tick at a past moment captures nothing: the mirrors of captured sources have a history of their own.

    Raises:
        TickFailed: at least one table failed; its ``results`` tell of every table.
    """
    tick_id = tick_id or new_tick_id(plan.pipeline)
    results: dict[str, TableResult] = {}
    stale = {} if as_of is not None else _capture_all(lake, plan, tick_id, spark, results, tell)
    tick = pin(lake, plan.pin, tick_id, as_of)
    broken: dict[str, str] = {}
    units = {step.unit: step for step in plan.refreshes}
    for step in plan.refreshes:
        for table in step.tables:
            tell.starting(table.name)
        reads = (ref.identifier for table in step.tables for ref in table.inputs)
        held_up_by = (unit for unit in step.upstream if unit in broken and not tolerates(step, units[unit]))
        causes = [*(broken[unit] for unit in held_up_by), *(stale[i] for i in reads if i in stale)]
        cause = next(iter(causes), None)
        if cause is not None:
            broken[step.unit] = cause
            outcome = _held_up(step, cause)
        else:
            wanted = any(table.name in full_refresh for table in step.tables)
            began = time.monotonic()
            try:
                outcome = refresh(lake, step, tick, spark, wanted, partial(tell.progress, step.unit))
            except TrickleError as error:
                _alert_of(plan, step, error)
                broken[step.unit] = step.unit
                seconds = round(time.monotonic() - began, 3)
                outcome = tuple(failed(table.name, error, seconds) for table in step.tables)
        for result in outcome:
            results[result.table] = result
            tell.done(result)
    if plan.enable_stratum_skip:
        passed = _passed_over(plan, results, broken)
        try:
            note_skipped_strata(lake, plan.pipeline, tick, passed)
        except CatalogUnavailable as error:
            # Everything is published; it is a number that nobody computes with.
            log.warning("That strata %s had nothing to do was not counted: %s", passed, error)
        tell.passed_over(passed)
    _raise_if_failed(plan, results)
    return results


def _passed_over(plan: Plan, results: Mapping[str, TableResult], broken: Collection[str]) -> tuple[int, ...]:
    """The strata none of whose tables had anything to do: those that Airflow's sensors pass over.

    What failed, or waits for what failed (``broken``), is not idle.
    """
    layers = layers_of(plan.refreshes)
    idle = (Mode.NO_DATA, Mode.SKIPPED)
    busy = {
        layers[step.unit]
        for step in plan.refreshes
        if step.unit in broken or any(results[table.name].mode not in idle for table in step.tables)
    }
    return tuple(sorted(set(layers.values()) - busy))


def _capture_all(
    lake: Lakehouse,
    plan: Plan,
    tick_id: str,
    spark: SparkProvider,
    results: dict[str, TableResult],
    tell: Listeners,
) -> dict[str, str]:
    """Capture every source that needs it; those that failed, as identifier -> name."""
    failures: dict[str, str] = {}
    for step in plan.captures:
        tell.starting(step.name)
        began = time.monotonic()
        try:
            result = capture(lake, step, tick_id, spark)
        except TrickleError as error:
            failures[step.identifier] = step.name
            result = failed(step.name, error, round(time.monotonic() - began, 3))
        results[step.name] = result
        tell.done(result)
    return failures


def _alert_of(plan: Plan, step: RefreshStep, error: TrickleError) -> None:
    """Call the callback that the pipeline has for a unit that did not settle."""
    if isinstance(error, NonConvergence):
        alert(plan.callbacks, non_convergence_details(error, pipeline=plan.pipeline, cap=step.max_iterations))


def _held_up(step: RefreshStep, cause: str) -> tuple[TableResult, ...]:
    return tuple(
        TableResult(
            table=table.name,
            status=Status.ACTIVE,
            mode=Mode.SKIPPED,
            reason=f"its input {cause} failed in this tick",
        )
        for table in step.tables
    )


def _raise_if_failed(plan: Plan, results: dict[str, TableResult]) -> None:
    errors = [result for result in results.values() if result.error is not None]
    if not errors:
        return
    # The tables of one unit fail together, of the same error.
    tables: dict[str | None, list[str]] = {}
    for result in errors:
        tables.setdefault(result.error, []).append(result.table)
    lines = [f"{', '.join(names)}: {error}" for error, names in tables.items()]
    raise TickFailed(
        f"{len(errors)} of {len(results)} tables of pipeline '{plan.pipeline}' failed:\n" + "\n".join(lines),
        results,
    )
