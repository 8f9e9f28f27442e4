"""Where in a person's file Spark found an error, by the query context that the error carries."""

from __future__ import annotations

import re

from airflow_trickle.engine.inputs import query_over, view_name
from airflow_trickle.errors import Position
from airflow_trickle.plan.steps import TableStep

_VIEW = re.compile(r"trickle_[0-9a-f]{32}")
_MASK = "trickle_" + "0" * 32


def place_of(error: Exception, step: TableStep) -> Position | None:
    """Where the part of a table's query stands that Spark complains of; None if that is not certain."""
    for context in _contexts(error):
        start, stop, fragment = context
        offset = _in_whole(step, start, stop, fragment)
        if offset is None:
            offset = _only_one(step.query, fragment)
        if offset is not None:
            return step.position(offset)
    offset = _only_one(step.query, _ungrouped(error))
    return None if offset is None else step.position(offset)


def _ungrouped(error: Exception) -> str:
    """The expression that GROUP BY lacks, of which Spark tells no place; empty if the error is another one."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException) or error.getCondition() != "MISSING_AGGREGATION":
        return ""
    return (error.getMessageParameters() or {}).get("expression", "").strip('"')


def _contexts(error: Exception) -> list[tuple[int, int, str]]:
    """First and last character, and the text between them, of what Spark names as the places of an error."""
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.base import QueryContextType

    if not isinstance(error, PySparkException):
        return []
    return [
        (one.startIndex(), one.stopIndex(), one.fragment())
        for one in error.getQueryContext() or []
        if one.contextType() is QueryContextType.SQL
    ]


def _in_whole(step: TableStep, start: int, stop: int, fragment: str) -> int | None:
    """The place in the user's text, if what ran was the whole of it over views of its inputs."""
    ran = query_over(step, dict.fromkeys((ref.identifier for ref in step.references), view_name()))
    if _masked(_java_slice(ran, start, stop)) != _masked(fragment):
        return None
    shift = 0
    for ref in sorted(step.references, key=lambda one: one.start):
        alias = 0 if ref.alias is None else len(f" AS {ref.alias}")
        length = len(_MASK) + 2 + alias
        begin = ref.start + shift
        if start < begin:
            break
        if start < begin + length:
            return ref.start
        shift += length - (ref.end - ref.start)
    return start - shift


def _java_slice(text: str, start: int, stop: int) -> str:
    """Spark counts characters, but cuts the fragment by Java's, of which some characters take two."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * start : 2 * (stop + 1)].decode("utf-16-le", "replace")


def _only_one(query: str, fragment: str) -> int | None:
    """The place of a part of the query that ran inside of another text, if the query has it once."""
    if not fragment.strip():
        return None
    found = [one.start() for one in re.finditer(rf"(?<![\w`.]){re.escape(fragment)}(?![\w`])", query)]
    return found[0] if len(found) == 1 else None


def _masked(text: str) -> str:
    return _VIEW.sub(_MASK, text)
