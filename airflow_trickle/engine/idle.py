"""Which units have nothing to compute in a tick, found from metadata alone: no Spark, mostly no file is opened."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.fixpoint.decide import decide_unit
from airflow_trickle.engine.group import GroupRefresh
from airflow_trickle.engine.holds import hold_of
from airflow_trickle.engine.refresh import not_due, refresh
from airflow_trickle.errors import TrickleError
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


def find_idle(
    lake: Lakehouse,
    steps: Sequence[RefreshStep],
    tick: Tick,
    spark: SparkProvider,
    full_refresh: bool = False,
    stale: Collection[str] = (),
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
        full_refresh: Whether all is computed anew.
        stale: Identifiers of sources whose capture failed: what reads one has to show that, and counts as busy.
    """
    busy: set[str] = set()
    results: dict[str, tuple[TableResult, ...]] = {}
    for step in steps:
        reads = {ref.identifier for table in step.tables for ref in table.inputs}
        held_up = not busy.isdisjoint(step.upstream) or not reads.isdisjoint(stale)
        if held_up or _has_work(lake, step, tick, spark, full_refresh):
            busy.add(step.unit)
            continue
        try:
            # It notes how far the inputs were read, who rests, and removes what a dead process left.
            results[step.unit] = refresh(lake, step, tick, spark)
        except TrickleError as error:
            log.warning("Whether %s has anything to do is left to its own task: %s", step.unit, error)
            busy.add(step.unit)
    return Idle(results, frozenset(busy))


def _has_work(lake: Lakehouse, step: RefreshStep, tick: Tick, spark: SparkProvider, full_refresh: bool) -> bool:
    """Whether a unit computes something, or may fail: its own refresh will tell."""
    if not_due(lake, step, tick) is not None or hold_of(lake, step) is not None:
        return False
    try:
        if step.kind is UnitKind.GROUP:
            return GroupRefresh(lake, step, tick, spark, full_refresh).has_work()
        decision = decide_unit(lake, step, tick, full_refresh=full_refresh)
    except TrickleError:
        return True
    return decision.kind == Decision.WORK or decision.stray


def note_skipped_strata(lake: Lakehouse, pipeline: str, tick: Tick, strata: Collection[int]) -> None:
    """Count strata of which no table has anything to do in a tick."""
    if strata:
        with lake.database.transaction() as connection:
            count_skipped(lake, connection, pipeline, tick.tick_id, strata, clock.now())
