"""From a folder of YAML to Airflow DAGs: one per pipeline, one that maintains its tables, one per broken file.

A file ``dags/trickle_dags.py`` next to the YAML is all it takes:

    from pathlib import Path
    from airflow_trickle.dag_factory import build_dags

    build_dags(Path(__file__).parent, globals())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import (
    DAG,
    Asset,
    AssetAny,
    AssetOrTimeSchedule,
    CronDataIntervalTimetable,
    DeltaDataIntervalTimetable,
    Param,
    get_parsing_context,
)

from airflow_trickle.alerts import ON_NON_CONVERGENCE, BadCallback, callback_at
from airflow_trickle.dag_docs import broken_doc, maintenance_doc, pipeline_doc, seen_from
from airflow_trickle.dag_tasks import PipelineTasks
from airflow_trickle.definition.schedules import is_duration, parse_duration
from airflow_trickle.definition.settings import load_settings
from airflow_trickle.definition.zones import without_zone
from airflow_trickle.errors import DefinitionError, Position, Problem
from airflow_trickle.operators.broken import BrokenDefinitionOperator
from airflow_trickle.operators.maintain import MaintainOperator
from airflow_trickle.operators.pin import RESTATE_PIPELINE
from airflow_trickle.plan.build import BrokenFile, plan_path
from airflow_trickle.plan.steps import InputKind, MaintenanceStep, Plan
from airflow_trickle.translator import Translator, task_id_of

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


def build_dags(
    folder: str | Path,
    namespace: dict[str, Any],
    *,
    strict: bool | None = None,
    translator: Translator | None = None,
) -> list[DAG]:
    """Build the DAGs of every YAML file below ``folder`` and put them where Airflow finds them.

    Args:
        folder: where the YAML is; usually the folder of the calling file.
        namespace: the ``globals()`` of the calling file.
        strict: raise if anything is wrong, for CI; default is the setting ``[trickle] strict``.
        translator: names and options of the tasks, if they should be others than `Translator`'s.

    Raises:
        DefinitionError: in strict mode, with the problems of all files.
        SettingsError: the section ``[trickle]`` itself is wrong, so no file can be understood.
    """
    root = str(Path(folder).resolve())
    settings = load_settings()
    project = plan_path(Path(root), settings)
    broken = list(project.broken)
    dags: dict[str, DAG] = {}
    names = {plan.pipeline for plan in project.plans}
    for plan in _wanted(project.plans):
        try:
            dags[plan.pipeline] = _pipeline(plan, root, translator or Translator())
            if plan.maintenance is not None:
                dag = _maintenance(plan, plan.maintenance, root, names)
                dags[dag.dag_id] = dag
        except DefinitionError as error:
            broken.append(BrokenFile(plan.file, plan.pipeline, error.problems))
    if broken and (settings.strict if strict is None else strict):
        raise DefinitionError(problem for file in broken for problem in file.problems)
    for dag in _broken(broken, root, names | dags.keys()):
        dags[dag.dag_id] = dag
    # The keys are no identifiers, so that a pipeline may be called like a variable of the calling file.
    namespace.update((f"trickle:{dag_id}", dag) for dag_id, dag in dags.items())
    return list(dags.values())


def _wanted(plans: tuple[Plan, ...]) -> tuple[Plan, ...]:
    """All plans, but for a worker, which parses this file for one task, only the one with that task."""
    dag_id = get_parsing_context().dag_id
    names = {plan.pipeline for plan in plans}
    return tuple(plan for plan in plans if dag_id in (plan.pipeline, _maintenance_id(plan, names))) or plans


def _pipeline(plan: Plan, root: str, translator: Translator) -> DAG:
    callbacks = {name: _callback(plan, name, path) for name, path in sorted(plan.callbacks.items())}
    start = datetime.fromisoformat(plan.start_date).astimezone(timezone.utc) if plan.start_date else None
    dag = DAG(
        plan.pipeline,
        description=plan.description or None,
        doc_md=pipeline_doc(plan, root),
        schedule=_schedule(plan, translator),
        start_date=start,
        catchup=plan.catchup,
        # A tick reads what the one before it has published.
        max_active_runs=1,
        tags=["trickle", *plan.tags],
        default_args={"owner": plan.owner or "airflow", **_TASK_DEFAULTS},
        params=_params(),
        on_success_callback=callbacks.get("on_success_callback"),
        on_failure_callback=callbacks.get("on_failure_callback"),
    )
    PipelineTasks(dag, plan, root, translator, callbacks.get(ON_NON_CONVERGENCE)).add()
    return dag


def _maintenance_id(plan: Plan, names: set[str]) -> str:
    """The id of the DAG that maintains the tables of a pipeline; a pipeline may have such a name itself."""
    return _free_id(f"{plan.pipeline}__maintenance", names)


def _maintenance(plan: Plan, step: MaintenanceStep, root: str, names: set[str]) -> DAG:
    """The DAG that keeps the tables of a pipeline small, beside the one that refreshes them."""
    doc = maintenance_doc(plan, step, root)
    dag = DAG(
        _maintenance_id(plan, names),
        description=f"Keeps the tables of {plan.pipeline} small",
        doc_md=doc,
        schedule=_timetable(step.schedule),
        start_date=_LONG_AGO,
        # What one run has removed, another need not.
        catchup=False,
        max_active_runs=1,
        tags=["trickle", "maintenance", *plan.tags],
        default_args={"owner": plan.owner or "airflow", **_TASK_DEFAULTS},
        params={
            "dry_run": Param(
                False, type="boolean", title="Dry run", description="Only tell what would be removed and rewritten."
            )
        },
    )
    MaintainOperator(
        task_id="maintain",
        step=step,
        catalog=plan.catalog,
        pipeline=plan.pipeline,
        tables=plan.maintained,
        cluster_by={table.identifier: table.cluster_by for table in plan.tables if table.cluster_by},
        doc_md=doc,
        dag=dag,
    )
    return dag


def _params() -> dict[str, Param]:
    return {
        "full_refresh": Param(
            False,
            type="boolean",
            title="Full refresh",
            description="Compute every table anew, also where nothing it reads has changed.",
        ),
        "restate": Param(
            None,
            type=["null", "string"],
            format="date-time",
            title="Restate",
            description="Take all tables back together to what they had published by this moment, and do nothing else. "
            "Then backfill, or clear, the runs after it.",
        ),
        RESTATE_PIPELINE: Param(
            None,
            type=["null", "string"],
            title="Restate: name of the pipeline",
            description="To confirm a restate, type the name of the pipeline, as it stands in its file.",
        ),
    }


def _schedule(plan: Plan, translator: Translator) -> Any:
    """A timetable with data intervals, whatever Airflow's default is: a backfill replays them one by one.

    Durations tick on the clock (5m at :00, :05, …), cron on the clock of its time zone. A pipeline without a schedule
    that reads tables of others follows those; one with ``schedule: asset`` follows everything it reads.
    """
    clock = _timetable(plan.ticks)
    follows = [
        ref.identifier
        for ref in plan.pin.inputs
        if plan.asset_scheduled or (clock is None and ref.kind is InputKind.EXTERNAL)
    ]
    uris = (translator.asset_uri(plan, identifier) for identifier in follows)
    assets = [Asset(uri=uri, name=uri) for uri in uris if uri is not None]
    if not assets:
        return clock
    some = AssetAny(*assets)
    return some if clock is None else AssetOrTimeSchedule(timetable=clock, assets=some)


def _timetable(text: str | None) -> CronDataIntervalTimetable | DeltaDataIntervalTimetable | None:
    if text is None:
        return None
    if is_duration(text):
        return DeltaDataIntervalTimetable(parse_duration(text))
    cron, zone = without_zone(text)
    return CronDataIntervalTimetable(cron, timezone=zone)


def _free_id(name: str, taken: set[str]) -> str:
    """An id for a DAG that no other has."""
    wanted = found = task_id_of(name)
    number = 1
    while found in taken:
        number += 1
        found = f"{wanted}_{number}"
    return found


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
