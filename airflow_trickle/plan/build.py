"""From a project to the plans of its pipelines; a broken file never takes the others with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from airflow_trickle.algebra.references import fingerprint
from airflow_trickle.analysis.diamonds import find_diamonds
from airflow_trickle.analysis.graph import Node, build_graph
from airflow_trickle.analysis.names import Known
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.records import PipelineDef, Project
from airflow_trickle.definition.settings import Settings, load_settings
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import DefinitionError, Problem
from airflow_trickle.plan.steps import InputKind, InputRef, PinStep, Plan, Reference, RefreshStep, TableStep

#: What becomes of a requested mode in this version, and why.
_MODES = {
    "AUTO": ("FULL", "AUTO: every query is recomputed in full in this version"),
    "FULL": ("FULL", "refresh_mode: FULL"),
}
_SHOWN_MEMBERS = 6


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
    graph = build_graph(project)
    problems: dict[str, list[Problem]] = {}
    for file, found in (*project.problems_by_file, *graph.problems.items()):
        problems.setdefault(file, []).extend(found)
    names = {pipeline.file: pipeline.name for pipeline in project.pipelines}
    plans = [
        _plan(pipeline, graph.nodes[pipeline.file], settings)
        for pipeline in project.pipelines
        if pipeline.file not in problems
    ]
    broken = (
        BrokenFile(file, names.get(file) or None, tuple(sorted(set(found)))) for file, found in sorted(problems.items())
    )
    return PlannedProject(tuple(sorted(plans, key=lambda plan: plan.pipeline)), tuple(broken))


def _plan(pipeline: PipelineDef, nodes: tuple[Node, ...], settings: Settings) -> Plan:
    known = {read for node in nodes for read in node.reads if read is not None}
    refs = {read: _input(read) for read in known}
    steps = tuple(_refresh(node, refs) for node in nodes)
    outside = (ref for step in steps for ref in step.tables[0].inputs if ref.kind is not InputKind.STREAM_TABLE)
    return Plan(
        pipeline=pipeline.name,
        namespace=pipeline.namespace,
        file=pipeline.file,
        description=pipeline.description,
        schedule=pipeline.schedule,
        start_date=pipeline.start_date,
        catchup=pipeline.catchup,
        tags=pipeline.tags,
        owner=pipeline.owner,
        catalog=pipeline.overrides.catalog or settings.catalog,
        spark_conn_id=pipeline.overrides.spark_conn_id or settings.spark_conn_id,
        callbacks=dict(pipeline.callbacks),
        pin=PinStep(pipeline=pipeline.name, inputs=_distinct(outside)),
        refreshes=steps,
        warnings=_warnings(pipeline, nodes, settings),
    )


def _refresh(node: Node, refs: Mapping[Known, InputRef]) -> RefreshStep:
    table = node.table
    reads = [known for known in node.reads if known is not None]
    mode, reason = _MODES[table.refresh_mode]
    step = TableStep(
        name=table.name,
        identifier=table.identifier,
        query=table.sql.text,
        references=tuple(
            Reference(start=ref.start, end=ref.end, identifier=known.identifier, alias=ref.alias)
            for ref, known in zip(node.query.references, reads, strict=True)
        ),
        inputs=_distinct(refs[known] for known in set(reads)),
        requested_mode=table.refresh_mode,
        mode=mode,
        reason=reason,
        definition=fingerprint(node.query, (known.identifier for known in reads)),
        declared_at=str(table.at),
        description=table.description,
        owner=table.owner,
        tags=table.tags,
    )
    upstream = (ref.name for ref in step.inputs if ref.kind is InputKind.STREAM_TABLE)
    return RefreshStep(unit=table.name, tables=(step,), upstream=tuple(upstream))


def _input(known: Known) -> InputRef:
    return InputRef(name=known.name, identifier=known.identifier, kind=known.kind, declared_at=str(known.declared_at))


def _distinct(inputs: Iterable[InputRef]) -> tuple[InputRef, ...]:
    """One input per Iceberg table, by name; a table with two names keeps the first of them."""
    by_name = sorted(inputs, key=lambda ref: (ref.name, ref.identifier, ref.declared_at))
    by_identifier: dict[str, InputRef] = {}
    for ref in by_name:
        by_identifier.setdefault(ref.identifier, ref)
    return tuple(by_identifier.values())


def _warnings(pipeline: PipelineDef, nodes: tuple[Node, ...], settings: Settings) -> tuple[str, ...]:
    inputs = {node.table.identifier: [known.identifier for known in node.reads if known is not None] for node in nodes}
    tables = {node.table.identifier: node.table for node in nodes}
    default = pipeline.overrides.diamond_consistency or settings.diamond_consistency
    warnings: list[str] = []
    for group in find_diamonds(list(inputs), inputs):
        members = [tables[identifier] for identifier in group]
        if all((table.diamond_consistency or default) == "atomic" for table in members):
            names = [table.name for table in members[:_SHOWN_MEMBERS]]
            more = [f"{len(members) - len(names)} more"] if len(members) > len(names) else []
            warnings.append(
                f"{listed(names + more)} form a diamond, but this version publishes them one after the "
                "other: for a moment a reader may see them at different versions."
            )
    return tuple(warnings)
