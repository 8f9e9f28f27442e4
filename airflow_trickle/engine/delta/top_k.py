"""ORDER BY … LIMIT from its published rows and the change of what lies below it.

    V = the rows below;   P = top(V), which is published;   C = P + ΔV, net, where that is positive
    top(V + ΔV) = top(C)    if P has less than k rows, or k rows of C do not come behind the last row of P

Every other row of V + ΔV was there before, outside of P, and so comes behind the last row of P or ties with it. Where
too many rows of P are gone for this, the rows below are read.
"""

from __future__ import annotations

import pyarrow.compute as pc

from airflow_trickle.blocks.ordering import ordered_column
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Query, Span
from airflow_trickle.engine.delta.context import Context, Published
from airflow_trickle.engine.delta.joins import expanded
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote

#: Equal values of these types are the same value, whichever of them a group shows.
_PLAIN_TYPES = frozenset(
    {"tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean"}
)
_WAS, _RANK, _LAST, _COUNT = (f"{RESERVED}{name}" for name in ("was", "rank", "last", "count"))


def top_from_change(context: Context, query: Query, published: Published, delta: str) -> str | None:
    """SQL for the new top rows out of the published ones and a change; None if the rows below have to be read.

    Args:
        context: The query and where its parts are computed.
        query: A query with ORDER BY … LIMIT.
        published: Its result before.
        delta: The view of the change of the rows below, with their weights last.
    """
    limit = _limit(context.blocks, query)
    plain = all(kind in _PLAIN_TYPES or kind.startswith("decimal") for kind in published.types)
    if limit is None or not plain or not _orders_by_columns(context.blocks, query.order, published.columns):
        return None
    candidates = _candidates(context.blocks, query.order, limit, published, delta)
    view = context.bench.keep(candidates, "what may be on top now")
    rows = None if view is None else context.bench.rows_of(view)
    if view is None or rows is None:
        return None
    was_all = rows[_COUNT][0].as_py() < limit
    if not was_all and pc.sum(rows[WEIGHT]).as_py() < limit:
        return None
    columns = ", ".join(quote(name) for name in published.columns)
    tail = context.blocks.text[query.body.span.end : query.span.end]
    return f"SELECT * FROM {expanded(f'(SELECT {columns}, {WEIGHT} FROM {quote(view)})')} {tail}"


def _candidates(blocks: Blocks, order: tuple[Span, ...], limit: int, published: Published, delta: str) -> str:
    """The rows of C that do not come behind the last published row, each with the number of published rows.

    All rows of C, if less rows are published than there is room for: then they are all there were.
    """
    columns = ", ".join(quote(name) for name in published.columns)
    changed = f"(SELECT * FROM {quote(delta)}) AS {RESERVED}d({columns}, {WEIGHT})"
    before = f"SELECT {columns}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(published.rows)}"
    both = f"{before} UNION ALL SELECT {columns}, {WEIGHT} FROM {changed}"
    net = (
        f"SELECT {columns}, CAST(sum({WEIGHT}) AS BIGINT) AS {WEIGHT}, false AS {_WAS} FROM ({both}) "
        f"GROUP BY {columns} HAVING sum({WEIGHT}) > 0"
    )
    ordered = ", ".join(blocks.slice(span) for span in order)
    ranked = (
        f"SELECT *, rank() OVER (ORDER BY {ordered}) AS {_RANK} "
        f"FROM ({net} UNION ALL SELECT *, true AS {_WAS} FROM ({before}))"
    )
    compared = (
        f"SELECT *, max(CASE WHEN {_WAS} THEN {_RANK} END) OVER () AS {_LAST}, "
        f"count(CASE WHEN {_WAS} THEN 1 END) OVER () AS {_COUNT} FROM ({ranked})"
    )
    near = f"NOT {_WAS} AND ({_COUNT} < {limit} OR {_RANK} <= {_LAST})"
    return f"SELECT {columns}, {WEIGHT}, {_COUNT} FROM ({compared}) WHERE {near}"


def _limit(blocks: Blocks, query: Query) -> int | None:
    """The number of a LIMIT without OFFSET, if it is written as one."""
    text = "" if query.limit is None else blocks.slice(query.limit)
    return int(text) if query.skip is None and text.isascii() and text.isdigit() else None


def _orders_by_columns(blocks: Blocks, order: tuple[Span, ...], columns: tuple[str, ...]) -> bool:
    """Whether rows are ordered by columns of the result, which mean the same in the order of a window.

    A number would be a position here, and a constant there.
    """
    names = {fold(name) for name in columns}
    if not order or len(names) < len(columns):
        return False
    ordered = [ordered_column(blocks, span) for span in order]
    return all(name is not None and fold(name) in names for name in ordered)
