"""What the tests of edge types ask about a query."""

from __future__ import annotations

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.edges import edges_of
from airflow_trickle.analysis.monotonicity import reads_of
from airflow_trickle.analysis.names import Known
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.errors import Position


def edges(text):
    """The edges of a query, by table."""
    parsed = parse_query(text)
    assert parsed.problems == ()
    known = (Known(ref.name, ref.name, None, Position("p.yml", 1, 1)) for ref in parsed.references)
    return edges_of(parsed, tuple(known))


def signs(text):
    """The tables of a query, each with + if it is monotone and - if not, in the order of the text."""
    found = edges(text)
    return " ".join(f"{table}{'+' if edge.type is EdgeType.MONOTONE else '-'}" for table, edge in found.items())


def because(text, table):
    """Why the query does not read the table monotonically."""
    edge = edges(text)[table]
    assert edge.type is EdgeType.NON_MONOTONE
    return edge.because


def read_of(text, number=0):
    """How the query reads the table it names first, or at another place."""
    parsed = parse_query(text)
    return reads_of(parsed.tree)[parsed.references[number].start]


def recursion_of(text):
    """The recursion of the first recursive CTE."""
    tree = parse_query(text).tree
    return next(cte.node for cte in tree.ctes if isinstance(cte.node, nodes.Recursion))


def recursive(step, union="UNION ALL", query="SELECT * FROM r"):
    """A query with a recursive CTE that begins with a table of its own."""
    return f"WITH RECURSIVE r AS (SELECT s, d FROM e {union} {step}) {query}"
