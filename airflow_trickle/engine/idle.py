"""Which units have nothing to compute in a tick, found from metadata alone: no Spark, mostly no file is opened."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from sqlalchemy.exc import IntegrityError

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.fixpoint.decide import decide_unit
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.holds import hold_of
from airflow_trickle.engine.identity import identified
from airflow_trickle.engine.refresh import not_due, refresh
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.strata import count_skipped
from airflow_trickle.plan.steps import RefreshStep, UnitKind
from airflow_trickle.results import TableResult
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tick import Tick

log = logging.getLogger("airflow_trickle")


@dataclass(frozen=True)
class Idle:
    """What became of the units that have nothing to compute, and which others there are."""

    results: dict[str, tuple[TableResult, ...]] = field(default_factory=dict)
    busy: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Watch:
    """What is known of a tick beforehand.

    ``stale`` are identifiers of sources whose capture failed: what reads one has to show that, and counts as busy. So
    do the units of ``held_up``, which read one that failed.
    """

    full_refresh: bool = False
    stale: frozenset[str] = frozenset()
    held_up: frozenset[str] = frozenset()


def find_idle(
    lake: Lakehouse,
    steps: Sequence[RefreshStep],
    tick: Tick,
    spark: SparkProvider,
    watch: Watch = Watch(),  # noqa: B008 - it is frozen
) -> Idle:
    """Settle the units that have nothing to compute, as their own refresh would.

    Only how far their inputs were read is noted, if that moved without a change. A unit that reads one with something
    to compute may have to follow it, and one that cannot be judged is left to its own refresh: both count as busy. What
    is not among ``steps`` is taken to be done.

    Args:
        lake: The lakehouse.
        steps: The units, upstream first.
        tick: What this tick reads.
        spark: Not used, unless somebody resets a table at this very moment.
        watch: What is known beforehand.
    """
    busy: set[str] = set()
    results: dict[str, tuple[TableResult, ...]] = {}
    for step in steps:
        reads = {ref.identifier for table in step.tables for ref in table.inputs}
        held_up = step.unit in watch.held_up or not reads.isdisjoint(watch.stale)
        found = None
        if not held_up and busy.isdisjoint(step.upstream):
            found = _settled(lake, step, tick, spark, watch.full_refresh)
        if found is None:
            busy.add(step.unit)
        else:
            results[step.unit] = found
    return Idle(results, frozenset(busy))


def _settled(
    lake: Lakehouse, step: RefreshStep, tick: Tick, spark: SparkProvider, full_refresh: bool
) -> tuple[TableResult, ...] | None:
    """What becomes of a unit with nothing to compute; None if it has something, or is to be judged by its own task."""
    try:
        step = identified(lake, step, spark)
        if _has_work(lake, step, tick, spark, full_refresh):
            return None
        # It notes how far the inputs were read, who rests, and removes what a dead process left.
        if step.kind is UnitKind.GROUP:
            found = GroupRefresh(lake, step, tick, spark).begin()
        else:
            found = refresh(lake, step, tick, spark)
    except Exception as error:
        # Whatever it is: it is the failure of one unit, and the others must not suffer from it.
        log.warning("Whether %s has anything to do is left to its own task: %s", step.unit, error)
        return None
    # A change that an earlier attempt of this tick has published is still to be told by its task.
    return None if found is None or any(result.changed for result in found) else found


def _has_work(lake: Lakehouse, step: RefreshStep, tick: Tick, spark: SparkProvider, full_refresh: bool) -> bool:
    """Whether a unit computes something, or may fail: its own refresh will tell."""
    if not_due(lake, step, tick) is not None or hold_of(lake, step) is not None:
        return False
    if step.kind is UnitKind.GROUP:
        return GroupRefresh(lake, step, tick, spark, full_refresh).has_work()
    decision = decide_unit(lake, step, tick, full_refresh=full_refresh)
    return decision.kind == Decision.WORK or decision.stray


def note_skipped_strata(lake: Lakehouse, pipeline: str, tick: Tick, strata: Collection[int]) -> None:
    """Count strata of which no table has anything to do in a tick."""
    if strata:
        # A run beside this one may count the same for the first time: then it is counted once.
        with suppress(IntegrityError), lake.database.transaction() as connection:
            count_skipped(lake, connection, pipeline, tick.tick_id, strata, clock.now())
