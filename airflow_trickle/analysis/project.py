"""Everything that follows from the queries of a project: order, cycles, strata, groups, schedules, modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_trickle.analysis.captures import check_captures
from airflow_trickle.analysis.components import Component, components
from airflow_trickle.analysis.consistency import ConsistencyGroup, consistency_groups
from airflow_trickle.analysis.cycles import CycleReport, CycleRules, check_cycles
from airflow_trickle.analysis.graph import Node, Problems, read_nodes
from airflow_trickle.analysis.lattices import with_lattices
from airflow_trickle.analysis.modes import ModeChoice, Obstacle, choose_mode
from airflow_trickle.analysis.mutual import Expanded, MutualRecursion, expand, names_in_use, suggested_instead
from airflow_trickle.analysis.proposal import expanding_all, proposal_of
from airflow_trickle.analysis.schedules import POLICIES, ScheduleGroup, effective_schedules
from airflow_trickle.analysis.strata import Strata, assign_strata
from airflow_trickle.analysis.units import Unit, units
from airflow_trickle.definition.records import PipelineDef, Project
from airflow_trickle.definition.settings import Settings
from airflow_trickle.definition.zones import zoned
from airflow_trickle.errors import Problem


@dataclass(frozen=True)
class PipelineAnalysis:
    """One pipeline, its mutual recursions taken apart, and its units, upstream first."""

    pipeline: PipelineDef
    #: Tables by folded identifier.
    units: tuple[Unit, ...]
    mutual: tuple[MutualRecursion, ...] = ()
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """A project, understood; tables go by their folded identifier."""

    pipelines: tuple[PipelineAnalysis, ...]
    nodes: Mapping[str, Node]
    #: Components of all tables, upstream first.
    order: tuple[Component, ...]
    strata: Strata
    groups: tuple[ConsistencyGroup, ...]
    schedules: Mapping[str, str | None]
    modes: Mapping[str, ModeChoice]


def analyse(project: Project, settings: Settings) -> Analysis:
    """Looks at all pipelines of a project together; nothing is run and nothing is opened."""
    in_use = names_in_use((*project.pipelines, *project.context))
    expanded = [expand(pipeline, in_use) for pipeline in (*project.pipelines, *project.context)]
    pipelines = [one.pipeline for one in expanded]
    unreadable = project.broken_files - {pipeline.file for pipeline in project.pipelines}
    problems: Problems = {one.pipeline.file: list(one.problems) for one in expanded}
    for file, problem in _suggestions(project, settings, expanded):
        problems[file].append(problem)
    count = len(project.pipelines)
    allow_code = settings.allow_code_in_queries
    nodes = read_nodes(pipelines[:count], pipelines[count:], unreadable, problems, allow_code=allow_code)
    check_captures(pipelines[:count], pipelines[count:], problems)
    reads = {key: tuple(node.edges) for key, node in nodes.items()}
    order = components(reads)
    nodes = with_lattices(order, nodes, problems)
    report = check_cycles(order, nodes, {pipeline.file: _cycle_rules(pipeline, settings) for pipeline in pipelines})
    for file, problem in report.problems:
        problems[file].append(problem)
    cyclic = {key for part in order if part.cyclic for key in part.members}
    anew = {pipeline.file for pipeline in pipelines if not _stratified_dred(pipeline, settings)}
    modes = {
        key: _mode(node, problems[node.file], cyclic=key in cyclic, anew=node.file in anew)
        for key, node in nodes.items()
    }
    consistency = {pipeline.file: _consistency(pipeline, settings) for pipeline in pipelines}
    groups = consistency_groups(order, reads, nodes, consistency)
    types = {key: {edge.input: edge.type for edge in node.edges.values()} for key, node in nodes.items()}
    warnings = _warnings(report, groups)
    built = _units(order, reads, nodes, groups)
    found = [
        PipelineAnalysis(
            one.pipeline,
            built.get(one.pipeline.file, ()),
            one.mutual,
            tuple(warnings.get(one.pipeline.file, ())),
            tuple(sorted(set(problems[one.pipeline.file]))),
        )
        for one in expanded[:count]
    ]
    schedules = _schedules(order, reads, nodes, pipelines, groups, settings)
    return Analysis(tuple(found), nodes, order, assign_strata(order, types), groups, schedules, modes)


def _suggestions(project: Project, settings: Settings, expanded: Sequence[Expanded]) -> Iterator[tuple[str, Problem]]:
    """What to write in the place of each mutual recursion that is not to be taken apart, judged as if it were."""
    if not any(one.suggested for one in expanded):
        return
    judged = analyse(expanding_all(project), settings)
    own = {pipeline.file for pipeline in project.pipelines}
    for one in expanded:
        for table, found in one.suggested:
            file = one.pipeline.file
            proposal = proposal_of(judged, file, table.name) if file in own else None
            yield file, suggested_instead(one.pipeline, table, found, proposal)


def _cycle_rules(pipeline: PipelineDef, settings: Settings) -> CycleRules:
    own = pipeline.overrides
    allow = settings.allow_circular if own.allow_circular is None else own.allow_circular
    stratified = own.stratified_cycle_validation
    return CycleRules(allow, settings.stratified_cycle_validation if stratified is None else stratified)


def _consistency(pipeline: PipelineDef, settings: Settings) -> str:
    return pipeline.overrides.diamond_consistency or settings.diamond_consistency


def zone_of(pipeline: PipelineDef, settings: Settings) -> str:
    """The time zone of a pipeline's schedules."""
    return pipeline.overrides.timezone or settings.timezone


def _stratified_dred(pipeline: PipelineDef, settings: Settings) -> bool:
    own = pipeline.overrides.stratified_dred
    return settings.stratified_dred if own is None else own


def _mode(node: Node, problems: list[Problem], *, cyclic: bool, anew: bool) -> ModeChoice:
    """The mode of a table; that DIFFERENTIAL is not possible is told, of a cycle by `cycles`.

    ``anew``: whether recursive queries are to be computed from nothing each time.
    """
    table = node.table
    if cyclic:
        return ModeChoice("DIFFERENTIAL", "it is part of a cycle, which is brought to its fixed point by changes")
    obstacles = node.obstacles
    if anew and node.recursive:
        obstacles = (*obstacles, Obstacle(0, "stratified_dred: false derives recursive queries from nothing"))
    if table.refresh_mode == "DIFFERENTIAL" and not node.query.problems:
        for obstacle in obstacles:
            problems.append(
                Problem(
                    table.sql.position(obstacle.offset),
                    f"stream table '{table.name}': refresh_mode: DIFFERENTIAL is not possible, because {obstacle.why}.",
                    "Take that out of the query, or set refresh_mode: AUTO or FULL.",
                    table.name,
                )
            )
    return choose_mode(table.refresh_mode, obstacles, node.query.text)


def _units(
    order: Sequence[Component],
    reads: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Node],
    groups: Sequence[ConsistencyGroup],
) -> dict[str, tuple[Unit, ...]]:
    """The units of each pipeline, by file; a cycle over several pipelines is in none."""
    parts: dict[str, list[Component]] = {}
    for part in order:
        files = {nodes[key].file for key in part.members}
        if len(files) == 1:
            parts.setdefault(files.pop(), []).append(part)
    atomic: dict[str, list[Sequence[str]]] = {}
    for group in groups:
        for piece in group.parts:
            if piece.atomic:
                atomic.setdefault(piece.file, []).append(piece.members)
    found: dict[str, tuple[Unit, ...]] = {}
    for file, own in parts.items():
        inside = {key for part in own for key in part.members}
        inner = {key: [one for one in reads[key] if one in inside] for key in inside}
        found[file] = units(own, inner, atomic.get(file, ()))
    return found


def _warnings(report: CycleReport, groups: Sequence[ConsistencyGroup]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file, text in (*report.warnings, *(warning for group in groups for warning in group.warnings)):
        found.setdefault(file, []).append(text)
    return found


def _schedules(
    order: Sequence[Component],
    reads: Mapping[str, Sequence[str]],
    nodes: Mapping[str, Node],
    pipelines: Sequence[PipelineDef],
    groups: Sequence[ConsistencyGroup],
    settings: Settings,
) -> dict[str, str | None]:
    zones = {pipeline.file: zone_of(pipeline, settings) for pipeline in pipelines}
    fallback = {pipeline.file: zoned(pipeline.schedule, zones[pipeline.file]) for pipeline in pipelines}
    # Of a group over several pipelines, tables of others may lie between the members of a part.
    whole = [part for group in groups for part in group.parts if part.atomic and part.members == group.members]
    pieces = [part for group in groups for part in group.parts if part.atomic and part.members != group.members]
    together = [ScheduleGroup(part.members, part.policy) for part in whole]
    found = effective_schedules(
        order,
        reads,
        {key: zoned(node.table.schedule, zones[node.file]) or fallback[node.file] for key, node in nodes.items()},
        {key: fallback[node.file] for key, node in nodes.items()},
        together,
    )
    for part in pieces:
        found.update(dict.fromkeys(part.members, POLICIES[part.policy]([found[key] for key in part.members])))
    return found
