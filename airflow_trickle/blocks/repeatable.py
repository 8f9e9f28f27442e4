"""Which parts of a query come out the same each time they are computed from the same rows, as far as its text tells.

A part that is not the outermost SELECT is computed at every refresh anew, over the rows before and after. If it may
come out differently, the rows that it made at an earlier refresh cannot be found again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_trickle.blocks.check import expressions, selects
from airflow_trickle.blocks.expressions import has_rows_frame, window_of
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import (
    Call,
    Derived,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    SubqueryKind,
)

#: Aggregates whose answer does not depend on the order of the rows, whatever the type.
EXACT = frozenset(
    ["any", "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "count_if"]
).union(["every", "grouping", "grouping_id", "max", "min", "regr_count", "some"])
#: Those whose answer does not if it is not a floating-point number.
EXACT_UNLESS_FLOAT = frozenset({"sum", "try_sum", "avg", "mean", "try_avg"})
_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


def calls_of(blocks: Blocks, select: Select) -> list[Call]:
    """The aggregates and window functions of a SELECT."""
    return list(blocks.calls(*(item.span for item in select.items), select.having, select.qualify, select.windows))


def why_unrepeatable(blocks: Blocks, select: Select) -> str | None:
    """Why a SELECT may come out otherwise each time, whatever the types of its columns; None if nothing tells so."""
    for call in calls_of(blocks, select):
        over = call.over is not None or call.window is not None
        if over and call.name in _RANKS:
            continue
        if over and _ties_matter(blocks, select, call):
            return f"{call.name}() over rows that tie in its ORDER BY"
        if call.name not in EXACT and call.name not in EXACT_UNLESS_FLOAT:
            return f"{call.name}()"
    return None


def _ties_matter(blocks: Blocks, select: Select, call: Call) -> bool:
    """Whether a window function counts rows rather than values, so that it matters how ties fall."""
    if call.name not in EXACT and call.name not in EXACT_UNLESS_FLOAT:
        return True
    return has_rows_frame(blocks, window_of(blocks, call, select.windows))


def require_repeatable(blocks: Blocks, query: Query) -> None:
    """Refuses a part of a query, other than its outermost SELECT, that by its text may come out otherwise each time."""
    for one in all_queries(blocks, query):
        if one.limit is not None or one.skip is not None:
            raise NotInBlocks("LIMIT inside a query takes any of the rows that tie", one.span.start)
    for select in selects(blocks, query):
        refuse(why_unrepeatable(blocks, select), select)


def refuse(why: str | None, select: Select) -> None:
    """Refuses a SELECT inside a query for a reason; nothing if there is none."""
    if why is not None:
        raise NotInBlocks(f"{why} inside a query may come out otherwise each time", select.span.start)


def require_repeatable_inside(blocks: Blocks, query: Query) -> None:
    """The same for everything inside a whole query, which may end in LIMIT itself.

    Raises:
        NotInBlocks: a part of it may come out otherwise each time.
    """
    for cte in query.ctes:
        require_repeatable(blocks, cte.query)
    if isinstance(query.body, Query):
        require_repeatable_inside(blocks, query.body)
    elif isinstance(query.body, SetOperation):
        require_repeatable(blocks, query.body.left)
        require_repeatable(blocks, query.body.right)
    elif isinstance(query.body, Select):
        for part in inner_queries(blocks, query.body):
            require_repeatable(blocks, part)


def all_queries(blocks: Blocks, query: Query) -> Iterator[Query]:
    """A query and all queries inside it, in the order of the text."""
    yield query
    for cte in query.ctes:
        yield from all_queries(blocks, cte.query)
    if isinstance(query.body, Query):
        yield from all_queries(blocks, query.body)
    elif isinstance(query.body, SetOperation):
        yield from all_queries(blocks, query.body.left)
        yield from all_queries(blocks, query.body.right)
    elif isinstance(query.body, Select):
        for part in inner_queries(blocks, query.body):
            yield from all_queries(blocks, part)


def inner_queries(blocks: Blocks, select: Select) -> Iterator[Query]:
    """The queries inside a SELECT: derived tables, and subqueries of expressions."""
    for source in select.sources:
        if isinstance(source.relation, Derived):
            yield source.relation.query
    for subquery in blocks.subqueries(*expressions(select)):
        one = subquery.query
        # Whether there is a row does not depend on which rows LIMIT takes.
        if subquery.kind is SubqueryKind.EXISTS and one.limit is not None and one.skip is None:
            one = replace(one, limit=None)
        yield one
