"""From a folder of YAML to Airflow DAGs: one per pipeline, and one that fails per broken file.

A file ``dags/trickle_dags.py`` next to the YAML is all it takes:

    from pathlib import Path
    from airflow_trickle.dag_factory import build_dags

    build_dags(Path(__file__).parent, globals())
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    BaseOperator,
    CronDataIntervalTimetable,
    DeltaDataIntervalTimetable,
    Param,
    TaskGroup,
    get_parsing_context,
)

from airflow_trickle.alerts import ON_NON_CONVERGENCE, BadCallback, callback_at
from airflow_trickle.dag_docs import broken_doc, capture_doc, pin_doc, pipeline_doc, refresh_doc, seen_from
from airflow_trickle.definition.schedules import is_duration, parse_duration
from airflow_trickle.definition.settings import load_settings
from airflow_trickle.errors import DefinitionError, Position, Problem
from airflow_trickle.notifications.non_convergence import OnNonConvergence
from airflow_trickle.operators.broken import BrokenDefinitionOperator
from airflow_trickle.operators.capture import CaptureOperator
from airflow_trickle.operators.fixpoint import FixpointOperator
from airflow_trickle.operators.pin import PinOperator
from airflow_trickle.operators.refresh import RefreshOperator
from airflow_trickle.plan.build import BrokenFile, plan_path
from airflow_trickle.plan.steps import Plan, RefreshStep, UnitKind

#: What every task starts from.
_TASK_DEFAULTS: Mapping[str, Any] = {
    # A conflict, a lease or a starting Spark server is over in seconds; what lasts should be seen soon.
    "retries": 2,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=2),
    # The default adds up all tasks downstream of each: quadratic work for every run of a large pipeline.
    "weight_rule": "absolute",
}
#: Airflow wants a start before it runs anything by itself.
_LONG_AGO = datetime(2024, 1, 1, tzinfo=timezone.utc)
_NOT_IN_AN_ID = re.compile(r"[^\w.-]", re.ASCII)


def build_dags(folder: str | Path, namespace: dict[str, Any], *, strict: bool | None = None) -> list[DAG]:
    """Build the DAGs of every YAML file below ``folder`` and put them where Airflow finds them.

    Args:
        folder: where the YAML is; usually the folder of the calling file.
        namespace: the ``globals()`` of the calling file.
        strict: raise if anything is wrong, for CI; default is the setting ``[trickle] strict``.

    Raises:
        DefinitionError: in strict mode, with the problems of all files.
        SettingsError: the section ``[trickle]`` itself is wrong, so no file can be understood.
    """
    root = str(Path(folder).resolve())
    settings = load_settings()
    project = plan_path(Path(root), settings)
    broken = list(project.broken)
    dags: dict[str, DAG] = {}
    for plan in _wanted(project.plans):
        try:
            dags[plan.pipeline] = _pipeline(plan, root)
        except DefinitionError as error:
            broken.append(BrokenFile(plan.file, plan.pipeline, error.problems))
    if broken and (settings.strict if strict is None else strict):
        raise DefinitionError(problem for file in broken for problem in file.problems)
    for dag in _broken(broken, root, {plan.pipeline for plan in project.plans}):
        dags[dag.dag_id] = dag
    # The keys are no identifiers, so that a pipeline may be called like a variable of the calling file.
    namespace.update((f"trickle:{dag_id}", dag) for dag_id, dag in dags.items())
    return list(dags.values())


def _wanted(plans: tuple[Plan, ...]) -> tuple[Plan, ...]:
    """All plans, but for a worker, which parses this file for one task, only the one with that task."""
    dag_id = get_parsing_context().dag_id
    return tuple(plan for plan in plans if plan.pipeline == dag_id) or plans


def _pipeline(plan: Plan, root: str) -> DAG:
    plan.refuse_if_blocked()
    callbacks = {name: _callback(plan, name, path) for name, path in sorted(plan.callbacks.items())}
    start = datetime.fromisoformat(plan.start_date).astimezone(timezone.utc) if plan.start_date else None
    dag = DAG(
        plan.pipeline,
        description=plan.description or None,
        doc_md=pipeline_doc(plan, root),
        schedule=_schedule(plan.schedule),
        start_date=start,
        catchup=plan.catchup,
        # A tick reads what the one before it has published.
        max_active_runs=1,
        tags=["trickle", *plan.tags],
        default_args={"owner": plan.owner or "airflow", **_TASK_DEFAULTS},
        params={
            "full_refresh": Param(
                False,
                type="boolean",
                title="Full refresh",
                description="Compute every table anew, also where nothing it reads has changed.",
            )
        },
        on_success_callback=callbacks.get("on_success_callback"),
        on_failure_callback=callbacks.get("on_failure_callback"),
    )
    _add_tasks(dag, plan, root, callbacks.get(ON_NON_CONVERGENCE))
    return dag


def _schedule(text: str | None) -> CronDataIntervalTimetable | DeltaDataIntervalTimetable | None:
    """A timetable with data intervals, whatever Airflow's default is: a backfill replays them one by one.

    Durations tick on the clock (5m at :00, :05, …), cron is read in UTC.
    """
    if text is None:
        return None
    if is_duration(text):
        return DeltaDataIntervalTimetable(parse_duration(text))
    return CronDataIntervalTimetable(text, timezone="UTC")


def _add_tasks(dag: DAG, plan: Plan, root: str, on_non_convergence: Callable[..., Any] | None) -> None:
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for step in plan.refreshes:
        ids[step.unit] = _free_id(step.unit, taken)
        taken.add(ids[step.unit])
    pin_id = _free_id("pin", taken)
    taken.add(pin_id)
    captures = _captures(dag, plan, root, taken)
    # A capture that failed holds up only what reads its source; the rest is pinned and refreshed all the same.
    rule = {"trigger_rule": "all_done"} if captures else {}
    pin = PinOperator(task_id=pin_id, step=plan.pin, catalog=plan.catalog, doc_md=pin_doc(plan.pin), dag=dag, **rule)
    _after(pin, captures.values())
    tasks: dict[str, BaseOperator] = {}
    strata = _strata(dag, plan, taken)
    # On the tasks: callbacks of the run are not told what went wrong. A recursive query may fail to settle too.
    alerts = {"on_failure_callback": OnNonConvergence(on_non_convergence)} if on_non_convergence else {}
    for step in plan.refreshes:
        operator = FixpointOperator if step.kind is UnitKind.CYCLE else RefreshOperator
        task = tasks[step.unit] = operator(
            task_id=ids[step.unit],
            task_group=strata.get(step.tables[0].stratum),
            step=step,
            catalog=plan.catalog,
            spark_conn_id=plan.spark_conn_id,
            pin_task_id=pin_id,
            doc_md=refresh_doc(step, root),
            dag=dag,
            **_owner(step),
            **alerts,
        )
        _after(task, [tasks[unit] for unit in step.upstream] or [pin])
        reads = {ref.identifier for table in step.tables for ref in table.inputs}
        _after(task, [captures[identifier] for identifier in sorted(reads & captures.keys())])


def _captures(dag: DAG, plan: Plan, root: str, taken: set[str]) -> dict[str, BaseOperator]:
    """By identifier: the task that captures a source, before the pin; adds its id to those taken."""
    found: dict[str, BaseOperator] = {}
    for step in plan.captures:
        task_id = _free_id(f"capture_{step.name}", taken)
        taken.add(task_id)
        found[step.identifier] = CaptureOperator(
            task_id=task_id,
            step=step,
            catalog=plan.catalog,
            spark_conn_id=plan.spark_conn_id,
            doc_md=capture_doc(step, root),
            dag=dag,
        )
    return found


def _strata(dag: DAG, plan: Plan, taken: set[str]) -> dict[int, TaskGroup]:
    """A task group per stratum, so that the graph shows them as layers; none where there is only one."""
    levels = sorted({table.stratum for table in plan.tables})
    if len(levels) < 2:
        return {}
    return {
        level: TaskGroup(
            # Groups and tasks share their ids, and a table may have any name.
            _free_id(f"stratum_{level}", taken),
            # A task keeps the name of its table, in whatever stratum that is.
            prefix_group_id=False,
            dag=dag,
            tooltip=f"Stratum {level}: complete before what subtracts from it or aggregates it begins.",
        )
        for level in levels
    }


def _after(task: BaseOperator, upstream: Iterable[BaseOperator]) -> None:
    """What ``upstream >> task`` does, but Airflow's own looks at every task of the DAG for each edge."""
    for before in upstream:
        before.downstream_task_ids.add(task.task_id)
        task.upstream_task_ids.add(before.task_id)


def _free_id(name: str, taken: set[str]) -> str:
    """An id for a task or DAG, of what Airflow allows there."""
    wanted = found = _NOT_IN_AN_ID.sub("_", name)[:200]
    number = 1
    while found in taken:
        number += 1
        found = f"{wanted}_{number}"
    return found


def _owner(step: RefreshStep) -> dict[str, str]:
    owners = sorted({table.owner for table in step.tables if table.owner})
    return {"owner": ", ".join(owners)} if owners else {}


def _callback(plan: Plan, name: str, path: str) -> Callable[..., Any]:
    """What a dotted path stands for.

    It is looked up at once: that an alert cannot be imported would otherwise show when it is needed.
    """
    try:
        return callback_at(path)
    except BadCallback as error:
        raise DefinitionError([Problem(Position(plan.file, 1, 1), f"{name}: {error}", error.hint)]) from None


def _broken(files: Iterable[BrokenFile], root: str, taken: set[str]) -> Iterator[DAG]:
    """One DAG per file that has problems; it runs once by itself, so that it is seen to fail."""
    for file in sorted(files, key=lambda file: file.file):
        name = seen_from(root, file.file)
        dag_id = _free_id(f"trickle_broken__{Path(name).with_suffix('').as_posix()}", taken)
        taken.add(dag_id)
        doc = broken_doc(name, file.problems)
        dag = DAG(
            dag_id,
            description=f"{name} cannot be run",
            doc_md=doc,
            schedule="@once",
            start_date=_LONG_AGO,
            is_paused_upon_creation=False,
            tags=["trickle", "broken"],
        )
        BrokenDefinitionOperator(task_id="broken", problems=file.problems, doc_md=doc, dag=dag)
        yield dag
