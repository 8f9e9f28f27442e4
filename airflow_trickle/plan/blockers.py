"""What this version understands but cannot run: told before anything is run, never run wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_trickle.analysis.project import PipelineAnalysis
from airflow_trickle.definition.records import PipelineDef
from airflow_trickle.definition.schedules import ASSET, same_schedule
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Position
from airflow_trickle.plan.steps import Blocker, RefreshStep, TableStep, UnitKind

_SHOWN = 6


def blockers_of(one: PipelineAnalysis, refreshes: Sequence[RefreshStep]) -> tuple[Blocker, ...]:
    """Why a pipeline cannot be run yet; empty if it can."""
    return tuple(_found(one.pipeline, refreshes))


def _found(pipeline: PipelineDef, refreshes: Sequence[RefreshStep]) -> Iterator[Blocker]:
    at = {table.name: table.at for table in pipeline.tables}
    if pipeline.schedule == ASSET:
        yield _blocker(pipeline.at, "schedule: asset cannot be run by this version yet.", "Give a duration or cron.")
    for step in refreshes:
        if step.kind is UnitKind.GROUP:
            yield _blocker(
                at[step.tables[0].name],
                f"{_names(step.tables)} form a diamond that is to be published in one commit, which this version "
                "cannot do yet.",
                "Set diamond_consistency: none to publish its tables one by one.",
            )
        for table in step.tables:
            yield from _of_table(table, at[table.name], pipeline)


def _of_table(table: TableStep, at: Position, pipeline: PipelineDef) -> Iterator[Blocker]:
    whose = f"stream table '{table.name}': "
    if not same_schedule(table.schedule, pipeline.schedule):
        ours = f"'{pipeline.schedule}'" if pipeline.schedule else "none"
        message = (
            f"{whose}its schedule is '{table.schedule}' and the pipeline's is {ours}; "
            "this version cannot run a schedule per table yet."
        )
        yield _blocker(at, message, "Leave it out.")


def _blocker(at: Position, message: str, hint: str) -> Blocker:
    return Blocker(file=at.file, line=at.line, column=at.column, message=message, hint=hint)


def _names(tables: Sequence[TableStep]) -> str:
    shown = [f"'{table.name}'" for table in tables[:_SHOWN]]
    return listed(shown + ([f"{len(tables) - _SHOWN} more"] if len(tables) > _SHOWN else []))
