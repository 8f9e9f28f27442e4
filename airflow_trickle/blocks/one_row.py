"""LIMIT of a query that gives one row at most takes nothing away, and is left out of what the rules of change see."""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.expressions import has_generator
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Body, Derived, FromItem, Query, Select, SetOperation

#: Aggregates whose names mean nothing else before a bracket: not ``any``, as in LIKE ANY ('a%', 'b%').
_AGGREGATES = frozenset(["avg", "count", "count_if", "max", "min", "stddev", "stddev_samp", "sum", "variance"])


def without_idle_limits(blocks: Blocks, query: Query) -> Query:
    """A query without the ORDER BY and LIMIT of its parts that give one row at most; subqueries of expressions stay.

    The text keeps them: there they say the same as nothing.
    """
    ctes = tuple(replace(cte, query=without_idle_limits(blocks, cte.query)) for cte in query.ctes)
    found = replace(query, ctes=ctes, body=_body(blocks, query.body))
    if found.limit is None or found.skip is not None or not _is_one_or_more(blocks.slice(found.limit)):
        return found
    return replace(found, order=(), limit=None) if _gives_one_row(blocks, found.body) else found


def _body(blocks: Blocks, body: Body) -> Body:
    if isinstance(body, Query):
        return without_idle_limits(blocks, body)
    if isinstance(body, SetOperation):
        sides = (without_idle_limits(blocks, side) for side in (body.left, body.right))
        left, right = sides
        return replace(body, left=left, right=right)
    if isinstance(body, Select):
        return replace(body, sources=tuple(_source(blocks, source) for source in body.sources))
    return body


def _source(blocks: Blocks, source: FromItem) -> FromItem:
    relation = source.relation
    if not isinstance(relation, Derived):
        return source
    return replace(source, relation=replace(relation, query=without_idle_limits(blocks, relation.query)))


def _is_one_or_more(limit: str) -> bool:
    return limit.strip().isdecimal() and int(limit) >= 1


def _gives_one_row(blocks: Blocks, body: Body) -> bool:
    """Whether a SELECT aggregates without GROUP BY, or joins only such."""
    if not isinstance(body, Select) or any(has_generator(blocks, item.span) for item in body.items):
        return False
    if body.group is not None or body.group_all or body.sets or body.qualify is not None:
        return False
    calls = blocks.calls(*(item.span for item in body.items), body.having)
    if any(call.name in _AGGREGATES and call.over is None and call.window is None for call in calls):
        return True
    return bool(body.sources) and body.laterals is None and all(_is_row(blocks, source) for source in body.sources)


def _is_row(blocks: Blocks, source: FromItem) -> bool:
    relation = source.relation
    plain = isinstance(relation, Derived) and source.kind in (JoinKind.INNER, JoinKind.CROSS)
    return plain and isinstance(relation, Derived) and _gives_one_row(blocks, relation.query.body)
