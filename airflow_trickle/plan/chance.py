"""Whether a stream table's query gives the same rows whenever it runs over the same inputs."""

from __future__ import annotations

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import chances_of
from airflow_trickle.plan.steps import TableStep


def chances(table: TableStep) -> tuple[str, ...]:
    """Why a query may answer differently over the same inputs; empty if nothing in its text says so."""
    query = parse_query(table.query)
    return tuple(dict.fromkeys(one.why for one in chances_of(query.tree, query.doubts)))
