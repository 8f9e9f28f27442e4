"""Passing over tasks whose tables have nothing to do, so that they show as skipped and cost no process."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException, DownstreamTasksSkipped

from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Mode
from airflow_trickle.tick import Tick

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.results import TableResult
    from airflow_trickle.spark.session import SparkProvider

log = logging.getLogger("airflow_trickle")

#: The XCom with what a task returned; pushed by hand where a task ends by passing over others.
RETURNED = "return_value"


@dataclass(frozen=True)
class Watched:
    """A unit whose tasks may be passed over, and its layer."""

    step: RefreshStep
    task_ids: tuple[str, ...]
    layer: int
    #: The last tasks of the units of lower layers that it reads.
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class Look:
    """What a task needs to see which units have nothing to do.

    ``stale`` are the sources whose capture failed, ``failed`` the tasks that did, or could not run because of others.
    """

    tick: Tick
    full_refresh: bool
    stale: frozenset[str]
    failed: frozenset[str] = frozenset()


def look_of(context: Context, tick: Tick, captures: Mapping[str, str]) -> Look:
    """The look of a task; ``captures`` are the tasks that capture sources, by identifier."""
    full = bool((context.get("params") or {}).get("full_refresh", False))
    # A capture that succeeded has told what it did.
    failed = {name for name, task in captures.items() if context["ti"].xcom_pull(task_ids=task) is None}
    return Look(tick, full, frozenset(failed))


def failed_of(context: Context, dag_id: str, task_ids: Iterable[str]) -> list[str]:
    """Of some tasks of this run, those that failed, or could not run because of others."""
    wanted = sorted(task_ids)
    if not wanted:
        return []
    run_id = context["run_id"]
    found = context["ti"].get_task_states(dag_id=dag_id, task_ids=wanted, run_ids=[run_id]).get(run_id, {})
    return sorted(task for task, state in found.items() if state in ("failed", "upstream_failed"))


def pass_over(
    lake: Lakehouse, watched: Sequence[Watched], sensors: Mapping[int, str], look: Look, spark: SparkProvider
) -> list[str]:
    """The ids of tasks that need not run: of units with nothing to do, and of sensors with nothing left to watch."""
    from airflow_trickle.engine.idle import Watch, find_idle, note_skipped_strata

    tick = look.tick
    # A unit that reads one that failed has to show that, and is no matter of ours.
    held_up = {one.step.unit for one in watched if not look.failed.isdisjoint(one.below)}
    watch = Watch(look.full_refresh, look.stale, frozenset(held_up))
    idle = find_idle(lake, [one.step for one in watched], tick, spark, watch)
    busy = {one.layer for one in watched if one.step.unit in idle.busy}
    passed = {one.layer for one in watched} - busy
    note_skipped_strata(lake, tick.pipeline, tick, passed)
    if passed:
        log.info("Strata with nothing to do: %s.", ", ".join(str(layer) for layer in sorted(passed)))
    tasks = [task for one in watched if one.step.unit not in idle.busy for task in one.task_ids]
    return tasks + [task for layer, task in sensors.items() if layer in passed]


def end_skipping(context: Context, returned: Any, tasks: Iterable[str]) -> Any:
    """End a task well, with some of the tasks behind it passed over."""
    listed = sorted(tasks)
    if not listed:
        return returned
    log.info("Nothing to do for: %s.", ", ".join(listed))
    context["ti"].xcom_push(key=RETURNED, value=returned)
    raise DownstreamTasksSkipped(tasks=listed)  # type: ignore[no-untyped-call]


def end_of(context: Context, results: Sequence[TableResult]) -> list[dict[str, Any]]:
    """What a task returns about its tables; if none of them had anything to do, it shows as skipped."""
    told = [result.model_dump(mode="json") for result in results]
    if all(result.mode in (Mode.NO_DATA, Mode.SKIPPED) for result in results):
        context["ti"].xcom_push(key=RETURNED, value=told)
        raise AirflowSkipException("; ".join(dict.fromkeys(f"{one.table}: {one.reason}" for one in results)))
    return told
