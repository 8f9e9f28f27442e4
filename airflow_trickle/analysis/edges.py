"""The edges of the graph: how each stream table reads each of its inputs."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_trickle.algebra.references import ParsedQuery
from airflow_trickle.analysis.monotonicity import Read, reads_of
from airflow_trickle.analysis.names import Known
from airflow_trickle.analysis.places import place_of
from airflow_trickle.analysis.strata import EdgeType


@dataclass(frozen=True)
class Edge:
    """A stream table reads an input, over all places of its query together."""

    #: Folded identifier of the input.
    input: str
    type: EdgeType
    because: str
    #: Where the query names the input.
    scan: int
    #: Where the operator stands that makes it non-monotone; else where it is named.
    place: int
    keeps_duplicates: bool = True


def edges_of(query: ParsedQuery, reads: tuple[Known | None, ...]) -> dict[str, Edge]:
    """One edge per input of a query, by folded identifier; one place that is not monotone decides."""
    found = {} if query.tree is None else reads_of(query.tree)
    edges: dict[str, Edge] = {}
    for ref, known in zip(query.references, reads, strict=True):
        if known is None:
            continue
        key = known.identifier.casefold()
        edge = _edge(key, ref.start, found.get(ref.start), query)
        old = edges.get(key)
        edges[key] = edge if old is None else _merged(old, edge)
    return edges


def _edge(key: str, scan: int, read: Read | None, query: ParsedQuery) -> Edge:
    if read is None:
        if query.tree is None:
            return Edge(key, EdgeType.NON_MONOTONE, "the query could not be read", scan, scan)
        return Edge(key, EdgeType.MONOTONE, "only a CTE that nothing reads names it", scan, scan, False)
    if read.operator is None:
        because = f"a row more only ever adds rows: {read.because}"
        return Edge(key, read.type, because, scan, scan, read.keeps_duplicates)
    return Edge(key, read.type, read.because, scan, place_of(read.operator, query.text), read.keeps_duplicates)


def _merged(one: Edge, other: Edge) -> Edge:
    first = other if one.type is EdgeType.MONOTONE and other.type is EdgeType.NON_MONOTONE else one
    keeps = one.keeps_duplicates or other.keeps_duplicates
    if keeps is first.keeps_duplicates:
        return first
    return Edge(first.input, first.type, first.because, first.scan, first.place, keeps)
