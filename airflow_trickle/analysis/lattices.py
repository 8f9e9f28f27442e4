"""Lattice columns of cycles: MIN and MAX that count as monotone, once their queries are checked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_trickle.algebra.lattice.flow import Member, check_uses
from airflow_trickle.algebra.lattice.shape import LatticeShape, NotALattice, shape_of
from airflow_trickle.algebra.references import ParsedQuery, parse_query
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.analysis.components import Component
from airflow_trickle.analysis.edges import edges_of
from airflow_trickle.analysis.graph import Node, Problems
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.errors import Problem
from airflow_trickle.identifiers import fold


@dataclass(frozen=True)
class _Read:
    """A table of a cycle with its query at hand, and its outermost SELECT if it has a lattice column."""

    node: Node
    query: ParsedQuery
    shape: LatticeShape | None


def with_lattices(order: Sequence[Component], nodes: Mapping[str, Node], problems: Problems) -> dict[str, Node]:
    """The tables; of those with a lattice column, the reads inside their cycle count as monotone.

    Args:
        order: The components of all stream tables.
        nodes: The tables by folded identifier.
        problems: Fills with what is wrong.
    """
    found = dict(nodes)
    if not any(node.table.lattice for node in nodes.values()):
        return found
    for part in order:
        members = [nodes[key] for key in part.members]
        if not any(node.table.lattice for node in members):
            continue
        if part.cyclic:
            found.update((node.key, node) for node in _of_cycle(members, problems))
        else:
            problems[members[0].file].append(_in_no_cycle(members[0]))
    return found


def _in_no_cycle(node: Node) -> Problem:
    table = node.table
    return Problem(
        table.lattice_at or table.at,
        f"stream table '{table.name}' has a lattice, but is part of no cycle: it reads neither itself nor a table that "
        "reads it.",
        "Leave 'lattice' out: outside of a cycle MIN and MAX need none. A recursive CTE becomes a cycle when the table "
        "reads itself instead.",
        table.name,
    )


def _of_cycle(members: Sequence[Node], problems: Problems) -> list[Node]:
    if any(node.query.problems for node in members):
        return list(members)
    reads = [_read(node, problems[node.file]) for node in members]
    keys = {node.key for node in members}
    known = {read.node.key: _member(read) for read in reads if read.shape is not None}
    # Of a lattice of the wrong form it is not known what its columns are; that is told already.
    sure = all(read.shape is not None for read in reads if read.node.table.lattice)
    made: list[Node] = []
    for read in reads:
        node = read.node
        if node.table.lattice:
            node = replace(node, edges=edges_of(read.query, node.reads, keys))
        made.append(node)
        inner = (edge for edge in node.edges.values() if edge.input in keys)
        if sure and all(edge.type is EdgeType.MONOTONE for edge in inner):
            problems[node.file].extend(_told(node, one) for one in _wrong_uses(read, known))
    return made


def _read(node: Node, problems: list[Problem]) -> _Read:
    query = parse_query(node.table.sql.text)
    if not node.table.lattice or query.statement is None:
        return _Read(node, query, None)
    ((column, best),) = node.table.lattice
    try:
        shape = shape_of(query.statement.tree, column, best)
    except NotALattice as error:
        problems.append(_told(node, error.problem))
        return _Read(node, query, None)
    # As the query spells it, which is what the table's column is called.
    table = replace(node.table, lattice=((shape.column, best),))
    return _Read(replace(node, table=table), query, shape)


def _member(read: _Read) -> Member:
    shape = read.shape
    assert shape is not None  # noqa: S101  asked only of those that have one
    return Member(read.node.table.name, shape.columns, shape.column, shape.best)


def _wrong_uses(read: _Read, known: Mapping[str, Member]) -> tuple[QueryProblem, ...]:
    if read.query.statement is None:
        return ()
    at = {
        ref.start: known[fold(table.identifier)]
        for ref, table in zip(read.node.query.references, read.node.reads, strict=True)
        if table is not None and fold(table.identifier) in known
    }
    return check_uses(read.query.statement.tree, read.node.table.name, read.shape, at)


def _told(node: Node, problem: QueryProblem) -> Problem:
    table = node.table
    message = f"stream table '{table.name}': {problem.message}"
    return Problem(table.sql.position(problem.offset), message, problem.hint, table.name)
