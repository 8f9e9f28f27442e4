"""What becomes of a query with mutual recursion, told without planning the project it is in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airflow_trickle.algebra.decompose import Decomposition, decompose
from airflow_trickle.analysis.mutual import expand, names_in_use
from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.records import PipelineDef, Project, TableDef
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Problem
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.suggest import suggestion


@dataclass(frozen=True)
class DecomposedTable:
    """A stream table as it was written, and the stream tables that stand for it; none if it stays one."""

    pipeline: PipelineDef
    table: TableDef
    found: Decomposition | None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why its mutual recursion cannot be taken apart."""
        whose = f"stream table '{self.table.name}': "
        wrong = () if self.found is None else self.found.problems
        return tuple(Problem(self.table.sql.position(one.offset), whose + one.message, one.hint) for one in wrong)

    @property
    def suggestion(self) -> str | None:
        """The YAML to write in place of the table's entry; None where there is nothing to write."""
        if self.found is None or not self.found.members:
            return None
        return suggestion(self.found, self.table, self.pipeline)


def declared_tables(project: Project) -> tuple[str, ...]:
    """The identifiers of all stream tables that could be read, those of broken files included."""
    return tuple(table.identifier for pipeline in project.pipelines for table in pipeline.tables)


def decomposition_of(where: Project | str | Path, table: str) -> DecomposedTable | None:
    """What becomes of the table of that name or identifier; None if there is none.

    Args:
        where: A project, or the file or folder that it is in.
        table: The table's identifier, or its bare name.
    """
    project = where if isinstance(where, Project) else load_project(where)
    for pipeline in project.pipelines:
        for index, one in enumerate(pipeline.tables):
            if fold(table) in (fold(one.identifier), fold(one.name)):
                found = decompose(one.sql.text, one.name, _taken(project, pipeline, index))
                return DecomposedTable(pipeline, one, found)
    return None


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
        "suggestion": told.suggestion,
    }


def decomposition_text(told: DecomposedTable) -> list[str]:
    """The lines that ``trickle decompose`` prints before the suggestion."""
    name = told.table.name
    if told.found is None:
        return [f"Stream table {name} has no mutual recursion: it stays one table."]
    lines = [f"Stream table {name} ({told.table.at})"]
    lines += (f"  The CTEs {listed(list(group))} read each other." for group in told.found.groups)
    for member in told.found.members:
        what = f"the CTE {member.cte}" if member.cte is not None else "the query behind WITH"
        lines += ["", f"{member.name}: {what}"]
        lines += (f"  {line}".rstrip() for line in member.query.strip("\n").split("\n"))
    return lines


def _taken(project: Project, pipeline: PipelineDef, index: int) -> set[str]:
    """The names that new tables must not have: all of the project's, and those made from the tables before."""
    in_use = names_in_use((*project.pipelines, *project.context))
    before = expand(replace(pipeline, tables=pipeline.tables[:index]), in_use).pipeline
    return {*in_use, *(table.name for table in before.tables)}
