"""The edges of the graph: how each stream table reads each of its inputs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from airflow_trickle.algebra.references import ParsedQuery
from airflow_trickle.analysis.monotonicity import Read, outermost_aggregate, reads_of
from airflow_trickle.analysis.names import Known
from airflow_trickle.analysis.places import place_of
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.identifiers import fold


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


def edges_of(query: ParsedQuery, reads: tuple[Known | None, ...], improving: Collection[str] = ()) -> dict[str, Edge]:
    """One edge per input of a query, by folded identifier; one place that is not monotone decides.

    Args:
        query: The query.
        reads: The table behind each of its references.
        improving: Inputs of which a row more only improves the values of the outermost aggregate.
    """
    found = {} if query.tree is None else reads_of(query.tree)
    better = {} if query.tree is None or not improving else reads_of(query.tree, outermost_aggregate(query.tree))
    edges: dict[str, Edge] = {}
    for ref, known in zip(query.references, reads, strict=True):
        if known is None:
            continue
        key = fold(known.identifier)
        read = (better if key in improving else found).get(ref.start)
        edge = _edge(key, ref.start, read, query, "improves values" if key in improving else "adds rows")
        old = edges.get(key)
        edges[key] = edge if old is None else _merged(old, edge)
    return edges


def _edge(key: str, scan: int, read: Read | None, query: ParsedQuery, does: str) -> Edge:
    if read is None:
        if query.tree is None:
            return Edge(key, EdgeType.NON_MONOTONE, "the query could not be read", scan, scan)
        return Edge(key, EdgeType.MONOTONE, "only a CTE that nothing reads names it", scan, scan, False)
    if read.operator is None:
        because = f"a row more only ever {does}: {read.because}"
        return Edge(key, read.type, because, scan, scan, read.keeps_duplicates)
    return Edge(key, read.type, read.because, scan, place_of(read.operator, query.text), read.keeps_duplicates)


def _merged(one: Edge, other: Edge) -> Edge:
    first = other if one.type is EdgeType.MONOTONE and other.type is EdgeType.NON_MONOTONE else one
    keeps = one.keeps_duplicates or other.keeps_duplicates
    if keeps is first.keeps_duplicates:
        return first
    return Edge(first.input, first.type, first.because, first.scan, first.place, keeps)
