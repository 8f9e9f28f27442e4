"""From a project to the plans of its pipelines; a broken file never takes the others with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from airflow_trickle.analysis.due import ticking
from airflow_trickle.analysis.project import PipelineAnalysis, analyse, zone_of
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.records import PipelineDef, Project
from airflow_trickle.definition.schedules import same_schedule
from airflow_trickle.definition.settings import Settings, load_settings
from airflow_trickle.definition.zones import start_moment, zoned
from airflow_trickle.errors import DefinitionError, Problem
from airflow_trickle.plan.captures import capture_steps
from airflow_trickle.plan.shape import Shape
from airflow_trickle.plan.steps import InputKind, MaintenanceStep, MutualStep, PinStep, Plan
from airflow_trickle.plan.tables import TableSteps, distinct


@dataclass(frozen=True)
class BrokenFile:
    """A pipeline file that gets no plan: the pipeline's name, if it has a good one, and why."""

    file: str
    pipeline: str | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class PlannedProject:
    """The plans of the good pipelines, by name, and the files that have none."""

    plans: tuple[Plan, ...] = ()
    broken: tuple[BrokenFile, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong, in the order of the places."""
        return tuple(sorted({problem for file in self.broken for problem in file.problems}))

    def raise_for_problems(self) -> None:
        """Raises `DefinitionError` if anything is wrong."""
        if self.broken:
            raise DefinitionError(self.problems)


def plan_path(path: str | Path, settings: Settings | None = None) -> PlannedProject:
    """Loads and plans a file or a folder; the settings in force are read if none are given."""
    return build_plans(load_project(path), settings or load_settings())


def build_plans(project: Project, settings: Settings) -> PlannedProject:
    """The plan of every pipeline without a problem of its own; touches nothing."""
    try:
        return _planned(project, settings)
    except Exception:
        # An error that nobody foresaw. If one pipeline makes it by itself, the others are planned without it.
        suspects = {one.file: _failure(one, project, settings) for one in project.pipelines}
        guilty = {file: problem for file, problem in suspects.items() if problem is not None}
        if not guilty:
            raise
    others = replace(
        project,
        pipelines=tuple(one for one in project.pipelines if one.file not in guilty),
        problems_by_file=(*project.problems_by_file, *((file, (problem,)) for file, problem in guilty.items())),
    )
    return _planned(others, settings)


def _failure(pipeline: PipelineDef, project: Project, settings: Settings) -> Problem | None:
    """The error that a pipeline makes by itself, if it makes one."""
    try:
        _planned(replace(project, pipelines=(pipeline,), problems_by_file=(), context=()), settings)
    except Exception as error:
        message = f"pipeline '{pipeline.name}' cannot be understood ({type(error).__name__}: {error})."
        return Problem(pipeline.at, message, "Please report it with the file.")
    return None


def _planned(project: Project, settings: Settings) -> PlannedProject:
    analysis = analyse(project, settings)
    problems: dict[str, list[Problem]] = {}
    for file, found in (
        *project.problems_by_file,
        *((one.pipeline.file, one.problems) for one in analysis.pipelines if one.problems),
    ):
        problems.setdefault(file, []).extend(found)
    names = {pipeline.file: pipeline.name for pipeline in project.pipelines}
    good = [one for one in analysis.pipelines if one.pipeline.file not in problems]
    shape = Shape(analysis, settings, {one.pipeline.file for one in good})
    steps = TableSteps(analysis, shape)
    plans = [_plan(one, steps, shape, settings) for one in good]
    broken = (
        BrokenFile(file, names.get(file) or None, tuple(sorted(set(found)))) for file, found in sorted(problems.items())
    )
    return PlannedProject(tuple(sorted(plans, key=lambda plan: plan.pipeline)), tuple(broken))


def _plan(one: PipelineAnalysis, steps: TableSteps, shape: Shape, settings: Settings) -> Plan:
    pipeline = one.pipeline
    refreshes = steps.refreshes(one.units)
    tables = [table for step in refreshes for table in step.tables]
    outside = distinct(ref for table in tables for ref in table.inputs if ref.kind is not InputKind.STREAM_TABLE)
    captures = capture_steps(pipeline, {ref.identifier for ref in outside})
    zone = zone_of(pipeline, settings)
    schedule = zoned(pipeline.schedule, zone)
    clock = ticking(schedule, [table.schedule for table in tables])
    ticks = clock.clock
    mutual = shape.mutual_of(one)
    return Plan(
        pipeline=pipeline.name,
        namespace=pipeline.namespace,
        file=pipeline.file,
        description=pipeline.description,
        schedule=schedule,
        start_date=start_moment(pipeline.start_date, zone) if pipeline.start_date else None,
        catchup=pipeline.catchup,
        tags=pipeline.tags,
        owner=pipeline.owner,
        catalog=pipeline.overrides.catalog or settings.catalog,
        spark_conn_id=pipeline.overrides.spark_conn_id or settings.spark_conn_id,
        callbacks=dict(pipeline.callbacks),
        ticks=ticks,
        asset_scheduled=clock.asset,
        enable_stratum_skip=_skips(pipeline, settings),
        pin=PinStep(
            pipeline=pipeline.name,
            inputs=outside,
            captured=tuple(capture.identifier for capture in captures),
            schedules={
                table.identifier: table.schedule for table in tables if not same_schedule(table.schedule, ticks)
            },
            strata={table.identifier: (table.stratum, table.scc_id) for table in tables},
            mutual=_by_identifier(mutual, {table.name: table.identifier for table in tables}),
        ),
        refreshes=refreshes,
        captures=captures,
        warnings=one.warnings,
        components=shape.components_of(pipeline.file),
        groups=shape.groups_of(pipeline.file),
        mutual=mutual,
        maintenance=_maintenance(pipeline, zone),
    )


def _by_identifier(mutual: Iterable[MutualStep], identifiers: Mapping[str, str]) -> tuple[MutualStep, ...]:
    return tuple(
        one.model_copy(
            update={
                "table": identifiers[one.table],
                "members": {cte: identifiers[table] for cte, table in one.members.items()},
            }
        )
        for one in mutual
    )


def _maintenance(pipeline: PipelineDef, zone: str) -> MaintenanceStep | None:
    said = pipeline.maintenance
    return None if said is None else MaintenanceStep(schedule=zoned(said.schedule, zone), **asdict(said.policy))


def _skips(pipeline: PipelineDef, settings: Settings) -> bool:
    own = pipeline.overrides.enable_stratum_skip
    return settings.enable_stratum_skip if own is None else own
