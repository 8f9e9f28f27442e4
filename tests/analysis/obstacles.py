"""What the tests of refresh modes ask about a query."""

from __future__ import annotations

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of


def obstacles(text):
    """What keeps the query from being refreshed from changes."""
    query = parse_query(text)
    assert query.problems == ()
    return obstacles_of(query.tree, query.doubts)


def at(text):
    """The query without the mark ^, and where the mark was."""
    place = text.index("^")
    return text[:place] + text[place + 1 :], place


def whys(text):
    """The same, in words alone."""
    return [one.why for one in obstacles(text)]
