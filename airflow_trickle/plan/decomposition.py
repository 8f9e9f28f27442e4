"""What becomes of a query with mutual recursion, told without planning the project it is in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow_trickle.algebra.decompose import Decomposition, decompose
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.mutual import expand, names_in_use
from airflow_trickle.analysis.project import analyse
from airflow_trickle.analysis.proposal import Proposal, expanding_all, proposal_of
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.records import PipelineDef, Project, SourceDef, TableDef
from airflow_trickle.definition.settings import Settings, load_settings
from airflow_trickle.definition.sql_text import SqlText
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Position, Problem
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.suggest import suggestion

#: The pipeline of a query that is in none.
_OF_A_QUERY = "query"


@dataclass(frozen=True)
class DecomposedTable:
    """A stream table as it was written, and the stream tables that stand for it; none if it stays one."""

    pipeline: PipelineDef
    table: TableDef
    found: Decomposition | None
    #: What the tables will be in the graph; None if it stays one.
    proposal: Proposal | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why its mutual recursion cannot be taken apart, or would be refused when it is."""
        whose = f"stream table '{self.table.name}': "
        wrong = parse_query(self.table.sql.text).problems if self.found is None else self.found.problems
        name, sql = self.table.name, self.table.sql
        told = (Problem(sql.position(one.offset), whose + one.message, one.hint, name) for one in wrong)
        return (*told, *(self.proposal.problems if self.proposal is not None else ()))

    @property
    def suggestion(self) -> str | None:
        """The YAML to write in place of the table's entry; None where there is nothing to write."""
        if self.found is None or not self.found.members or self.problems:
            return None
        return suggestion(self.found, self.table, self.pipeline)


def declared_tables(project: Project) -> tuple[str, ...]:
    """The identifiers of all stream tables that could be read, those of broken files included."""
    return tuple(table.identifier for pipeline in project.pipelines for table in pipeline.tables)


def decomposition_of(
    where: Project | str | Path, table: str, settings: Settings | None = None
) -> DecomposedTable | None:
    """What becomes of the table of that name or identifier; None if there is none.

    Args:
        where: A project, or the file or folder that it is in.
        table: The table's identifier, or its bare name.
        settings: The settings; those of the environment if none are given.
    """
    project = where if isinstance(where, Project) else load_project(where)
    for pipeline in project.pipelines:
        for index, one in enumerate(pipeline.tables):
            if fold(table) in (fold(one.identifier), fold(one.name)):
                found = decompose(one.sql.text, one.name, _taken(project, pipeline, index))
                proposal = None
                if found is not None and found.members:
                    analysis = analyse(expanding_all(project), settings or load_settings())
                    proposal = proposal_of(analysis, pipeline.file, one.name)
                return DecomposedTable(pipeline, one, found, proposal)
    return None


def decomposition_of_query(text: str, name: str, file: str, settings: Settings | None = None) -> DecomposedTable:
    """What becomes of a query that is in no pipeline; what it reads is taken for sources.

    Args:
        text: The query.
        name: The name of the stream table that it would define.
        file: What places in it begin with: its file, or a word.
        settings: The settings; those of the environment if none are given.
    """
    at = Position(file, 1, 1)
    read = dict.fromkeys(".".join(ref.parts) for ref in parse_query(text).references)
    sources = tuple(SourceDef(one.rpartition(".")[2], one if "." in one else f"default.{one}", at) for one in read)
    table = TableDef(name, f"default.{name}", SqlText(text, file), at)
    pipeline = PipelineDef(_OF_A_QUERY, "default", file, at, sources, (table,))
    told = decomposition_of(Project(file, (pipeline,)), name, settings)
    assert told is not None  # noqa: S101 - it is the one table
    return told


def decomposition_json(told: DecomposedTable) -> dict[str, Any]:
    """What ``trickle decompose --json`` prints."""
    members = () if told.found is None else told.found.members
    return {
        "table": told.table.name,
        "identifier": told.table.identifier,
        "pipeline": told.pipeline.name,
        "declared_at": str(told.table.at),
        "mutual_recursion": told.found is not None,
        "groups": [list(group) for group in told.found.groups] if told.found is not None else [],
        "members": [{"table": one.name, "cte": one.cte, "query": one.query} for one in members],
        "cycle": _proposal_json(told.proposal),
        "suggestion": told.suggestion,
    }


def _proposal_json(proposal: Proposal | None) -> dict[str, Any] | None:
    if proposal is None:
        return None
    return {
        "cycles": [{"stratum": stratum, "tables": list(names)} for stratum, names in proposal.cycles],
        "others": [{"stratum": stratum, "table": name} for name, stratum in proposal.others],
        "reads": [
            {"table": one.table, "reads": one.reads, "edge": one.type, "because": one.because, "in_cycle": one.inside}
            for one in proposal.reads
        ],
    }


def decomposition_text(told: DecomposedTable) -> list[str]:
    """The lines that ``trickle decompose`` prints before the suggestion."""
    name = told.table.name
    if told.found is None and told.problems:
        return [f"Stream table {name} ({told.table.at}): its query is not understood."]
    if told.found is None:
        return [f"Stream table {name} has no mutual recursion: it stays one table."]
    lines = [f"Stream table {name} ({told.table.at})"]
    lines += (f"  The CTEs {listed(list(group))} read each other." for group in told.found.groups)
    for member in told.found.members:
        what = f"the CTE {member.cte}" if member.cte is not None else "the query behind WITH"
        lines += ["", f"{member.name}: {what}"]
        lines += (f"  {line}".rstrip() for line in member.query.strip("\n").split("\n"))
    return lines + _proposal_lines(told)


def _proposal_lines(told: DecomposedTable) -> list[str]:
    """Who reads whom, and how to watch it."""
    if told.proposal is None:
        return []
    lines = ["", "Cycles and strata", f"  {told.proposal.sentence}"]
    for one in told.proposal.reads:
        where = ", inside the cycle" if one.inside else ""
        lines.append(f"  {one.table} reads {one.reads}{where}: {one.type}, {one.because}")
    if told.problems:
        return lines
    member = told.proposal.cycles[0][1][0] if told.proposal.cycles else told.table.name
    lines += ["", "To watch it", "  trickle sccs   the passes of its last refresh, when and whether it settled"]
    return [*lines, f"  trickle history --iterations {member}   what each pass changed"]


def _taken(project: Project, pipeline: PipelineDef, index: int) -> set[str]:
    """The names that new tables must not have: all of the project's, and those made from the tables before."""
    in_use = names_in_use((*project.pipelines, *project.context))
    before = expand(replace(pipeline, tables=pipeline.tables[:index]), in_use).pipeline
    return {*in_use, *(table.name for table in before.tables)}
