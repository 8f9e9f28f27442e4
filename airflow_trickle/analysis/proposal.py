"""Judges the stream tables that a mutual recursion would become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_trickle.analysis.names import Known
from airflow_trickle.definition.records import PipelineDef, Project, TableDef
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Problem
from airflow_trickle.identifiers import fold

if TYPE_CHECKING:
    from airflow_trickle.analysis.graph import Node
    from airflow_trickle.analysis.project import Analysis


@dataclass(frozen=True)
class ProposedRead:
    """One of the proposed tables reads an input."""

    table: str
    reads: str
    type: str
    because: str
    #: Whether both are part of one cycle.
    inside: bool


@dataclass(frozen=True)
class Proposal:
    """What the tables that stand for one query will be in the graph, and what will be refused of them."""

    #: Stratum and tables of each cycle, in the order in which they are refreshed.
    cycles: tuple[tuple[int, tuple[str, ...]], ...]
    #: The other tables and their strata, in that order.
    others: tuple[tuple[str, int], ...]
    reads: tuple[ProposedRead, ...]
    problems: tuple[Problem, ...]

    @property
    def sentence(self) -> str:
        """Cycles and strata in a sentence without its full stop.

        >>> Proposal(((0, ("a", "b")),), (("c", 1),), (), ()).sentence
        'a and b form a cycle at stratum 0; c will be at stratum 1'
        """
        told = [f"{listed(list(names))} form a cycle at stratum {stratum}" for stratum, names in self.cycles]
        return "; ".join([*told, *(f"{name} will be at stratum {stratum}" for name, stratum in self.others)])


def expanding_all(project: Project) -> Project:
    """A project in which every mutual recursion is taken apart, also where only a suggestion is wanted."""
    pipelines = (
        replace(
            pipeline,
            tables=tuple(replace(table, mutual_recursion="auto") for table in pipeline.tables),
            overrides=replace(pipeline.overrides, mutual_recursion="auto"),
        )
        for pipeline in project.pipelines
    )
    return replace(project, pipelines=tuple(pipelines))


def wants_suggestion(pipeline: PipelineDef, table: TableDef) -> bool:
    """Whether a mutual recursion is refused with the YAML to write instead."""
    return (table.mutual_recursion or pipeline.overrides.mutual_recursion or "auto") != "auto"


def proposal_of(analysis: Analysis, file: str, table: str) -> Proposal | None:
    """What an analysis in which everything was taken apart says of one table; None if it has no mutual recursion.

    Args:
        analysis: The analysis of `expanding_all`.
        file: The file of its pipeline.
        table: The name of the table.
    """
    one = next(one for one in analysis.pipelines if one.pipeline.file == file)
    mutual = next((each for each in one.mutual if each.table == table), None)
    if mutual is None:
        return None
    names = {*(name for _, name in mutual.members), table}
    own = {node.key: node for node in analysis.nodes.values() if node.file == file and node.table.name in names}
    cycles: list[tuple[int, tuple[str, ...]]] = []
    others: list[tuple[str, int]] = []
    cycle_of: dict[str, tuple[str, ...]] = {}
    for part in analysis.order:
        members = [own[key] for key in part.members if key in own]
        if not members:
            continue
        level = analysis.strata.level[part.members[0]]
        if part.cyclic:
            cycle_of |= dict.fromkeys(part.members, part.members)
            tables = tuple(analysis.nodes[key].table.name for key in part.members)
            cycles.append((level, tables))
        else:
            others.append((members[0].table.name, level))
    reads = [read for key in own for read in _reads(own[key], analysis, cycle_of.get(key, ()))]
    problems = tuple(problem for problem in one.problems if problem.table in names)
    return Proposal(tuple(cycles), tuple(others), tuple(reads), problems)


def _reads(node: Node, analysis: Analysis, cycle: Sequence[str]) -> list[ProposedRead]:
    known = {fold(one.identifier): one for one in node.reads if one is not None}
    return [
        ProposedRead(node.table.name, _name(key, known, analysis), edge.type.value, edge.because, key in cycle)
        for key, edge in sorted(node.edges.items())
    ]


def _name(key: str, known: dict[str, Known], analysis: Analysis) -> str:
    return known[key].name if key in known else analysis.nodes[key].table.name
