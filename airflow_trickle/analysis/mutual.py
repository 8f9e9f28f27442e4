"""Mutual recursion in a pipeline: a query whose CTEs read each other becomes several stream tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from airflow_trickle.algebra.decompose import Decomposition, decompose
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.proposal import Proposal, wants_suggestion
from airflow_trickle.definition.derived_text import DerivedSql
from airflow_trickle.definition.records import PipelineDef, TableDef
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Problem
from airflow_trickle.plan.suggest import suggestion


@dataclass(frozen=True)
class MutualRecursion:
    """A stream table whose query was taken apart: its CTEs that read each other, and what became of them."""

    table: str
    groups: tuple[tuple[str, ...], ...]
    #: CTE -> stream table.
    members: tuple[tuple[str, str], ...]
    query: str


@dataclass(frozen=True)
class Expanded:
    """A pipeline in which no query has mutual recursion any more."""

    pipeline: PipelineDef
    mutual: tuple[MutualRecursion, ...] = ()
    problems: tuple[Problem, ...] = ()
    #: The tables for which only a suggestion is wanted.
    suggested: tuple[tuple[TableDef, Decomposition], ...] = ()


def names_in_use(pipelines: Iterable[PipelineDef]) -> frozenset[str]:
    """Every bare name that a project has for a table or reads one by; empty if nothing needs a new name.

    A stream table that is made from a CTE must have none of them: it would be read in the place of another one.
    """
    found: set[str] = set()
    known = tuple(pipelines)
    if not any(_may_recur(table) for pipeline in known for table in pipeline.tables):
        return frozenset()
    for pipeline in known:
        found.update(source.name for source in pipeline.sources)
        found.update(_bare(source.identifier) for source in pipeline.sources)
        found.update(_bare(identifier) for identifier, _ in pipeline.unread)
        for table in pipeline.tables:
            found.add(table.name)
            # New names have two underscores, so only those of a query matter.
            if "__" in table.sql.text:
                found.update(ref.parts[-1] for ref in parse_query(table.sql.text).references)
    return frozenset(found)


def expand(pipeline: PipelineDef, in_use: Iterable[str]) -> Expanded:
    """The pipeline with a stream table for every CTE of a mutual recursion.

    Args:
        pipeline: The pipeline.
        in_use: Names that a new stream table must not have.
    """
    if not any(_may_recur(table) for table in pipeline.tables):
        return Expanded(pipeline)
    taken = set(in_use)
    tables: list[TableDef] = []
    mutual: list[MutualRecursion] = []
    problems: list[Problem] = []
    suggested: list[tuple[TableDef, Decomposition]] = []
    for table in pipeline.tables:
        found = decompose(table.sql.text, table.name, taken) if _may_recur(table) else None
        if found is None:
            tables.append(table)
            continue
        wrong = _problems(table, found)
        problems += wrong
        if wrong:
            continue
        if wants_suggestion(pipeline, table):
            suggested.append((table, found))
            continue
        made = [_table(pipeline, table, found, index) for index in range(len(found.members))]
        taken |= {one.name for one in made}
        tables += made
        members = tuple((member.cte, member.name) for member in found.members if member.cte is not None)
        mutual.append(MutualRecursion(table.name, found.groups, members, table.sql.text))
    left_out = [table for table in pipeline.tables if table.name not in {one.name for one in tables}]
    unread = (*pipeline.unread, *((table.identifier, table.at) for table in left_out))
    expanded = replace(pipeline, tables=tuple(tables), unread=unread)
    return Expanded(expanded, tuple(mutual), tuple(problems), tuple(suggested))


def suggested_instead(pipeline: PipelineDef, table: TableDef, found: Decomposition, judged: Proposal | None) -> Problem:
    """The refusal of a mutual recursion where only a suggestion is wanted: what to write, or why that would be refused.

    Args:
        pipeline: The pipeline.
        table: The stream table with the query.
        found: The tables that it would become.
        judged: What these would be in the graph.
    """
    groups = "; ".join(f"the CTEs {listed([repr(name) for name in group])} read each other" for group in found.groups)
    message = f"stream table '{table.name}': {groups}."
    if judged is not None and judged.problems:
        reasons = "\n".join(str(problem) for problem in judged.problems)
        hint = f"Written as stream tables they would be refused, too:\n{reasons}"
        return Problem(table.at, message, hint, table.name)
    hint = "Write this instead, or set mutual_recursion: auto and let it be done for you"
    if judged is not None:
        hint += f" ({judged.sentence}; `trickle decompose {table.name}` shows who reads whom)"
    hint = f"{hint}:\n" + suggestion(found, table, pipeline).rstrip("\n")
    return Problem(table.at, message, hint, table.name)


def _may_recur(table: TableDef) -> bool:
    return "recursive" in table.sql.text.lower()


def _bare(identifier: str) -> str:
    return identifier.rpartition(".")[2]


def _problems(table: TableDef, found: Decomposition) -> list[Problem]:
    whose = f"stream table '{table.name}': "
    if found.problems:
        return [
            Problem(table.sql.position(one.offset), whose + one.message, one.hint, table.name) for one in found.problems
        ]
    if table.lattice:
        return [_lattice_problem(table, found, whose)]
    return []


def _lattice_problem(table: TableDef, found: Decomposition, whose: str) -> Problem:
    ctes = listed([repr(name) for name in found.groups[0]])
    message = f"{whose}its CTEs {ctes} read each other, and a lattice is for a stream table that is part of the cycle."
    hint = "Write the CTEs as stream tables (`trickle decompose` shows how) and give the lattice to one of them."
    return Problem(table.lattice_at or table.at, message, hint, table.name)


def _table(pipeline: PipelineDef, table: TableDef, found: Decomposition, index: int) -> TableDef:
    member = found.members[index]
    pieces = tuple((piece.start, piece.end, piece.origin) for piece in member.pieces)
    sql = DerivedSql(member.query, table.sql, pieces)
    if member.cte is None:
        return replace(table, sql=sql)
    return replace(
        table,
        name=member.name,
        identifier=f"{pipeline.namespace}.{member.name}",
        sql=sql,
        # A member of a cycle is refreshed from changes, whatever the table over it does.
        refresh_mode="AUTO",
        description=f"The CTE '{member.cte}' of '{table.name}'.",
        # They speak of the columns of the table itself.
        partition_by=(),
        cluster_by=(),
        made_from=table.name,
    )
