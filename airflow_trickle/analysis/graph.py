"""The stream tables of a project: their queries parsed, the names in them resolved, their edges typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_trickle.algebra.references import ParsedQuery, parse_query
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.analysis.edges import Edge, edges_of
from airflow_trickle.analysis.modes import Obstacle, is_recursive, obstacles_of_query
from airflow_trickle.analysis.names import Known, Names, StreamTables, UnknownName, written
from airflow_trickle.definition.records import PipelineDef, TableDef
from airflow_trickle.errors import Problem
from airflow_trickle.identifiers import fold

#: File of a pipeline -> what is wrong with it beyond its YAML.
Problems = dict[str, list[Problem]]


@dataclass(frozen=True)
class Node:
    """A stream table with its query understood and its names resolved."""

    file: str
    #: Folded identifier, which tells it from all others.
    key: str
    table: TableDef
    query: ParsedQuery
    #: The table behind each reference of the query, in their order; None where the name is unknown.
    reads: tuple[Known | None, ...]
    #: By folded identifier of the input.
    edges: Mapping[str, Edge]
    #: What keeps it from being refreshed from changes, in the order of the text.
    obstacles: tuple[Obstacle, ...]
    #: Whether its query has a CTE that reads itself.
    recursive: bool = False


def read_nodes(
    pipelines: Sequence[PipelineDef],
    context: Sequence[PipelineDef],
    unreadable: Iterable[str],
    problems: Problems,
    *,
    allow_code: bool = False,
) -> dict[str, Node]:
    """Parses every query once and resolves its names; the tables by folded identifier, in the order of files.

    Args:
        pipelines: The pipelines to plan.
        context: Those beside them, which may be other versions of the same.
        unreadable: Files that may define more tables, but could not be read.
        problems: Fills with what is wrong.
        allow_code: Whether queries may run methods of Java and scripts.
    """
    everywhere = StreamTables((*pipelines, *context), unreadable)
    nodes: dict[str, Node] = {}
    for pipeline in (*pipelines, *context):
        names = Names(pipeline, everywhere)
        found = problems.setdefault(pipeline.file, [])
        for table in pipeline.tables:
            node = _node(pipeline.file, table, names, found)
            if not allow_code:
                found.extend(_told(table, node.query.code))
            # Of two tables with one identifier the first counts; that there are two is told below.
            nodes.setdefault(node.key, node)
    _check_pipeline_names(pipelines, problems)
    _check_identifiers(pipelines, problems)
    return nodes


def _node(file: str, table: TableDef, names: Names, problems: list[Problem]) -> Node:
    query = parse_query(table.sql.text)
    whose = f"stream table '{table.name}': "
    problems.extend(_told(table, query.problems))
    reads: list[Known | None] = []
    for ref in query.references:
        try:
            reads.append(names.find(ref.parts))
        except UnknownName as error:
            reads.append(None)
            problems.append(Problem(table.sql.position(ref.start), whose + error.message, error.hint, table.name))
    node = Node(
        file,
        fold(table.identifier),
        table,
        # Trees are large, and everything that is asked of them is known now.
        replace(query, tree=None, statement=None),
        tuple(reads),
        edges_of(query, tuple(reads)),
        obstacles_of_query(query),
        is_recursive(query.tree),
    )
    problems.extend(_qualified_columns(node))
    return node


def _told(table: TableDef, found: Iterable[QueryProblem]) -> Iterable[Problem]:
    for one in found:
        message = f"stream table '{table.name}': {one.message}"
        yield Problem(table.sql.position(one.offset), message, one.hint, table.name)


def _qualified_columns(node: Node) -> Iterable[Problem]:
    """Columns as ``namespace.table.column``: the name in front goes when the table is replaced."""
    if not node.query.qualified_columns:
        return
    full_names = {
        fold(name)
        for ref, known in zip(node.query.references, node.reads, strict=True)
        if ref.alias is not None and known is not None
        for name in (ref.name, f"{known.identifier.rpartition('.')[0]}.{ref.parts[-1]}")
    }
    for namespace, table, offset in node.query.qualified_columns:
        if fold(f"{namespace}.{table}") in full_names:
            yield Problem(
                node.table.sql.position(offset),
                f"stream table '{node.table.name}': a column is named with the namespace of its table, "
                f"'{namespace}.{table}'.",
                f"Write '{table}.<column>', or give the table an alias.",
                node.table.name,
            )


def _check_pipeline_names(pipelines: Sequence[PipelineDef], problems: Problems) -> None:
    by_name: dict[str, list[PipelineDef]] = {}
    for pipeline in pipelines:
        if pipeline.name:
            by_name.setdefault(fold(pipeline.name), []).append(pipeline)
    for same in by_name.values():
        for pipeline in same if len(same) > 1 else ():
            other = next(one for one in same if one is not pipeline)
            message = f"the pipeline '{pipeline.name}' is also defined at {other.at}."
            problems[pipeline.file].append(Problem(pipeline.at, message, "Rename one of them."))


def _check_identifiers(pipelines: Sequence[PipelineDef], problems: Problems) -> None:
    places: dict[str, list[Known]] = {}
    for pipeline in pipelines:
        for known in written(pipeline):
            places.setdefault(fold(known.identifier), []).append(known)
    for same in places.values():
        for known in same:
            other = next((one for one in same if one.writer != known.writer), None)
            if other is not None and known.writer is not None:
                message = f"stream table '{known.name}': the table {known.identifier} is also defined at "
                hint = "Rename one of them, or give the pipelines different namespaces."
                problem = Problem(known.declared_at, f"{message}{other.declared_at}.", hint, known.name)
                problems[known.writer].append(problem)
