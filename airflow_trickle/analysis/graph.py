"""The graph of a project: what every stream table reads, in which order, and what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import networkx as nx

from airflow_trickle.algebra.references import ParsedQuery, parse_query
from airflow_trickle.analysis.names import Known, Names, StreamTables, UnknownName, written
from airflow_trickle.definition.records import PipelineDef, Project, TableDef
from airflow_trickle.errors import Problem
from airflow_trickle.plan.steps import InputKind


@dataclass(frozen=True)
class Node:
    """A stream table with its query understood and its names resolved."""

    table: TableDef
    query: ParsedQuery
    #: The table behind each reference of the query, in their order; None where the name is unknown.
    reads: tuple[Known | None, ...]


@dataclass(frozen=True)
class Graph:
    """The stream tables of a project, each pipeline upstream first, and what is wrong with them."""

    #: File of a pipeline -> its stream tables in the order of their refresh.
    nodes: Mapping[str, tuple[Node, ...]]
    #: File of a pipeline -> what is wrong with it beyond its YAML.
    problems: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)


def build_graph(project: Project) -> Graph:
    """Parses every query once, resolves its names, and orders the tables of each pipeline."""
    unreadable = project.broken_files - {pipeline.file for pipeline in project.pipelines}
    everywhere = StreamTables((*project.pipelines, *project.context), unreadable)
    problems: dict[str, list[Problem]] = {pipeline.file: [] for pipeline in project.pipelines}
    nodes: dict[str, tuple[Node, ...]] = {}
    for pipeline in project.pipelines:
        names = Names(pipeline, everywhere)
        nodes[pipeline.file] = tuple(_node(table, names, problems[pipeline.file]) for table in pipeline.tables)
    _check_pipeline_names(project.pipelines, problems)
    _check_identifiers(project.pipelines, problems)
    edges = _edges(nodes)
    _check_cycles(project.pipelines, nodes, edges, problems)
    ordered = {file: _ordered(found, edges) for file, found in nodes.items()}
    return Graph(ordered, {file: tuple(sorted(set(found))) for file, found in problems.items() if found})


def _node(table: TableDef, names: Names, problems: list[Problem]) -> Node:
    query = parse_query(table.sql.text)
    whose = f"stream table '{table.name}': "
    for found in query.problems:
        problems.append(Problem(table.sql.position(found.offset), whose + found.message, found.hint))
    reads: list[Known | None] = []
    for ref in query.references:
        try:
            reads.append(names.find(ref.parts))
        except UnknownName as error:
            reads.append(None)
            problems.append(Problem(table.sql.position(ref.start), whose + error.message, error.hint))
    node = Node(table, query, tuple(reads))
    problems.extend(_qualified_columns(node))
    return node


def _qualified_columns(node: Node) -> Iterable[Problem]:
    """Columns as ``namespace.table.column``: the name in front goes when the table is replaced."""
    if not node.query.qualified_columns:
        return
    full_names = {
        name.casefold()
        for ref, known in zip(node.query.references, node.reads, strict=True)
        if ref.alias is not None and known is not None
        for name in (ref.name, f"{known.identifier.rpartition('.')[0]}.{ref.parts[-1]}")
    }
    for namespace, table, offset in node.query.qualified_columns:
        if f"{namespace}.{table}".casefold() in full_names:
            yield Problem(
                node.table.sql.position(offset),
                f"stream table '{node.table.name}': a column is named with the namespace of its table, "
                f"'{namespace}.{table}'.",
                f"Write '{table}.<column>', or give the table an alias.",
            )


def _check_pipeline_names(pipelines: Sequence[PipelineDef], problems: dict[str, list[Problem]]) -> None:
    by_name: dict[str, list[PipelineDef]] = {}
    for pipeline in pipelines:
        if pipeline.name:
            by_name.setdefault(pipeline.name.casefold(), []).append(pipeline)
    for same in by_name.values():
        for pipeline in same if len(same) > 1 else ():
            other = next(one for one in same if one is not pipeline)
            message = f"the pipeline '{pipeline.name}' is also defined at {other.at}."
            problems[pipeline.file].append(Problem(pipeline.at, message, "Rename one of them."))


def _check_identifiers(pipelines: Sequence[PipelineDef], problems: dict[str, list[Problem]]) -> None:
    places: dict[str, list[Known]] = {}
    for pipeline in pipelines:
        for known in written(pipeline):
            places.setdefault(known.identifier.casefold(), []).append(known)
    for same in places.values():
        for known in same:
            other = next((one for one in same if one.writer != known.writer), None)
            if other is not None and known.writer is not None:
                message = f"stream table '{known.name}': the table {known.identifier} is also defined at "
                hint = "Rename one of them, or give the pipelines different namespaces."
                problem = Problem(known.declared_at, f"{message}{other.declared_at}.", hint)
                problems[known.writer].append(problem)


def _edges(nodes: Mapping[str, tuple[Node, ...]]) -> nx.DiGraph[str]:
    """Consumer to input, between stream tables of any pipeline, by folded identifier."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for found in nodes.values():
        for node in found:
            consumer = node.table.identifier.casefold()
            graph.add_node(consumer)
            graph.add_edges_from(
                (consumer, known.identifier.casefold())
                for known in node.reads
                if known is not None and known.kind is not InputKind.SOURCE
            )
    return graph


def _check_cycles(
    pipelines: Sequence[PipelineDef],
    nodes: Mapping[str, tuple[Node, ...]],
    edges: nx.DiGraph[str],
    problems: dict[str, list[Problem]],
) -> None:
    cyclic = [part for part in nx.strongly_connected_components(edges) if _is_cyclic(part, edges)]
    if not cyclic:
        return
    owners = {
        node.table.identifier.casefold(): (pipeline, node)
        for pipeline in reversed(pipelines)
        for node in nodes[pipeline.file]
    }
    for part in cyclic:
        path = _cycle(part, edges)
        told: set[str] = set()
        for member, following in pairwise(path):
            pipeline, node = owners[member]
            if pipeline.file not in told:
                told.add(pipeline.file)
                problems[pipeline.file].append(_cycle_problem(path, node, following, owners))
        # Members beside the path shown are as cyclic as it.
        for member in sorted(part - set(path)):
            pipeline, node = owners[member]
            if pipeline.file not in told:
                told.add(pipeline.file)
                problems[pipeline.file].append(_cycle_problem(path, node, None, owners))


def _is_cyclic(part: set[str], edges: nx.DiGraph[str]) -> bool:
    return len(part) > 1 or any(edges.has_edge(member, member) for member in part)


def _cycle(part: set[str], edges: nx.DiGraph[str]) -> list[str]:
    """The shortest way from the first member, by name, back to itself."""
    first = min(part)
    inside = edges.subgraph(part)
    ways = (nx.shortest_path(inside, after, first) for after in sorted(inside.successors(first)))
    return [first, *min(ways, key=len)]


def _cycle_problem(
    path: list[str],
    node: Node,
    following: str | None,
    owners: Mapping[str, tuple[PipelineDef, Node]],
) -> Problem:
    files = {owners[member][0].file for member in path}
    shown = [owners[member][1].table.name if len(files) == 1 else owners[member][1].table.identifier for member in path]
    at = node.table.at
    for ref, known in zip(node.query.references, node.reads, strict=True):
        if known is not None and known.identifier.casefold() == following:
            at = node.table.sql.position(ref.start)
            break
    what = "reads itself" if len(path) == 2 else "is part of a cycle"
    return Problem(
        at,
        f"stream table '{node.table.name}' {what}: {' -> '.join(shown)}. "
        "Cyclic stream tables are not supported yet in this version.",
        "Take one of these reads out.",
    )


def _ordered(nodes: tuple[Node, ...], edges: nx.DiGraph[str]) -> tuple[Node, ...]:
    """Upstream first, and by name where the graph leaves a choice; as given if there is a cycle."""
    by_key = {node.table.identifier.casefold(): node for node in nodes}
    # Not a view of `edges`: networkx asks a view about every single edge again and again.
    inside: nx.DiGraph[str] = nx.DiGraph()
    inside.add_nodes_from(by_key)
    inside.add_edges_from((known, key) for key in by_key for known in edges[key] if known in by_key)
    try:
        order = list(nx.lexicographical_topological_sort(inside))
    except nx.NetworkXUnfeasible:
        return nodes
    return tuple(by_key[key] for key in order)
