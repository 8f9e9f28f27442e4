"""Whether a stream table's query gives the same rows whenever it runs over the same inputs."""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.algebra.functions import BARE_UNLESS_COLUMN
from airflow_trickle.algebra.references import parse_query
from airflow_trickle.algebra.survey import Doubt
from airflow_trickle.analysis.modes import chances_of, obstacles_of_query
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.steps import TableStep


def chances(table: TableStep) -> tuple[str, ...]:
    """Why a query may answer differently over the same inputs; empty if nothing in its text says so."""
    query = parse_query(table.query)
    return tuple(dict.fromkeys(one.why for one in chances_of(query.tree, query.doubts)))


def columns_in_doubt(table: TableStep) -> frozenset[str]:
    """Words such as ``current_date`` because of which alone a query is computed in full: columns, if there are such.

    Empty if there is another reason too.
    """
    query = parse_query(table.query)
    if not query.doubts or not all(_is_bare(doubt, table.query) for doubt in query.doubts):
        return frozenset()
    if obstacles_of_query(replace(query, doubts=())):
        return frozenset()
    return frozenset(doubt.name for doubt in query.doubts)


def _is_bare(doubt: Doubt, text: str) -> bool:
    """Whether the text has just the name of the function, without parentheses."""
    end = doubt.offset + len(doubt.name)
    written = fold(text[doubt.offset : end]) == doubt.name
    return written and doubt.name in BARE_UNLESS_COLUMN and not text[end:].lstrip().startswith("(")
