"""ORDER BY … LIMIT from its published rows and the change of what lies below it.

    V = the rows below;   P = top(V), which is published;   C = P + ΔV, net, where that is positive
    top(V + ΔV) = top(C)    if P has less than k rows, or k rows of C do not come behind the last row of P

Every other row of V + ΔV was there before, outside of P, and so comes behind the last row of P or ties with it. Where
too many rows of P are gone for this, the rows below are read: all of them, or the state of their groups.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from airflow_trickle.algebra.nodes import SetKind
from airflow_trickle.blocks.expressions import folded
from airflow_trickle.blocks.ordering import Ordered, ordered_by
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import calls_of
from airflow_trickle.blocks.shapes import Body, Query, Select, SetOperation
from airflow_trickle.engine.delta.context import Context, Published
from airflow_trickle.engine.delta.joins import expanded
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote

#: Equal values of these types are the same value, whichever of them a group shows.
_PLAIN_TYPES = frozenset(
    {"tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean"}
)
_WAS, _RANK, _LAST, _COUNT = (f"{RESERVED}{name}" for name in ("was", "rank", "last", "count"))


def is_of_rows(blocks: Blocks, body: Body) -> bool:
    """Whether rows come one by one: no groups, windows or DISTINCT, whose change may cost more than they do."""
    if isinstance(body, Query):
        return not body.ctes and body.limit is None and body.skip is None and is_of_rows(blocks, body.body)
    if isinstance(body, SetOperation):
        every = body.kind is SetKind.UNION and body.all
        return every and is_of_rows(blocks, body.left) and is_of_rows(blocks, body.right)
    if not isinstance(body, Select) or body.distinct or not body.sources:
        return False
    clauses = (body.group, body.having, body.qualify, body.windows)
    return not body.group_all and all(clause is None for clause in clauses) and not calls_of(blocks, body)


def may_merge(context: Context, query: Query, published: Published) -> bool:
    """Whether the published rows of ORDER BY … LIMIT can be merged with a change."""
    plain = all(kind in _PLAIN_TYPES or kind.startswith("decimal") for kind in published.types)
    return plain and _limit(context.blocks, query) is not None and _order(context.blocks, query, published) is not None


def top_from_change(context: Context, query: Query, published: Published, delta: str) -> str | None:
    """SQL for the new top rows out of the published ones and a change; None if the rows below have to be read.

    Args:
        context: The query and where its parts are computed.
        query: A query with ORDER BY … LIMIT.
        published: Its result before.
        delta: The view of the change of the rows below, with their weights last.
    """
    limit, order = _limit(context.blocks, query), _order(context.blocks, query, published)
    if limit is None or order is None or not may_merge(context, query, published):
        return None
    view = context.bench.keep(_candidates(order, limit, published, delta), "what may be on top now")
    rows = None if view is None else context.bench.rows_of(view)
    if view is None or rows is None:
        return None
    if pc.min(rows[WEIGHT]).as_py() < 0:
        return None
    was_all = rows[_COUNT][0].as_py() < limit
    if not was_all and pc.sum(rows[WEIGHT]).as_py() < limit:
        return None
    columns = ", ".join(quote(name) for name in published.columns)
    rows_on_top = expanded(f"(SELECT {columns}, {WEIGHT} FROM {quote(view)})")
    return f"SELECT * FROM {rows_on_top} ORDER BY {order} LIMIT {limit}"


def _candidates(order: str, limit: int, published: Published, delta: str) -> str:
    """The rows of C that do not come behind the last published row, each with the number of published rows.

    All rows of C, if less rows are published than there is room for: then they are all there were. A negative weight
    means that a row went that should have been published, and was not.
    """
    columns = ", ".join(quote(name) for name in published.columns)
    changed = f"(SELECT * FROM {quote(delta)}) AS {RESERVED}d({columns}, {WEIGHT})"
    before = f"SELECT {columns}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(published.rows)}"
    both = f"{before} UNION ALL SELECT {columns}, {WEIGHT} FROM {changed}"
    net = (
        f"SELECT {columns}, CAST(sum({WEIGHT}) AS BIGINT) AS {WEIGHT}, false AS {_WAS} FROM ({both}) "
        f"GROUP BY {columns} HAVING sum({WEIGHT}) <> 0"
    )
    ranked = (
        f"SELECT *, rank() OVER (ORDER BY {order}) AS {_RANK} "
        f"FROM ({net} UNION ALL SELECT *, true AS {_WAS} FROM ({before}))"
    )
    compared = (
        f"SELECT *, max(CASE WHEN {_WAS} THEN {_RANK} END) OVER () AS {_LAST}, "
        f"count(CASE WHEN {_WAS} THEN 1 END) OVER () AS {_COUNT} FROM ({ranked})"
    )
    # What goes from before the last published row has to be published.
    near = f"NOT {_WAS} AND ({_COUNT} < {limit} OR {_RANK} < {_LAST} OR ({_RANK} = {_LAST} AND {WEIGHT} > 0))"
    return f"SELECT {columns}, {WEIGHT}, {_COUNT} FROM ({compared}) WHERE {near}"


def _limit(blocks: Blocks, query: Query) -> int | None:
    """The number of a LIMIT without OFFSET, if it is written as one."""
    text = "" if query.limit is None else blocks.slice(query.limit)
    return int(text) if query.skip is None and text.isascii() and text.isdigit() else None


def _order(blocks: Blocks, query: Query, published: Published) -> str | None:
    """ORDER BY of a query by the columns of its result, so that it says the same in a window; None if it names others.

    Spark looks for a name among the columns of the result first; a number is a position there.
    """
    at_name = {fold(name): at for at, name in enumerate(published.columns)}
    if not query.order or len(at_name) < len(published.columns):
        return None
    found = []
    for span in query.order:
        ordered = ordered_by(blocks, span)
        at = None if ordered is None else _column_at(blocks, query.body, ordered, at_name)
        if ordered is None or at is None:
            return None
        found.append(f"{quote(published.columns[at])} {ordered.direction}".rstrip())
    return ", ".join(found)


def _column_at(blocks: Blocks, body: Body, ordered: Ordered, at_name: Mapping[str, int]) -> int | None:
    """The position of the column of the result that an item of ORDER BY means."""
    if ordered.position is not None:
        return ordered.position - 1 if 1 <= ordered.position <= len(at_name) else None
    if len(ordered.names) == 1:
        return at_name.get(fold(ordered.names[0]))
    # A column with its relation: the item of SELECT that says the same, unless a field of another column is meant.
    if not isinstance(body, Select) or fold(ordered.names[0]) in at_name or len(body.items) != len(at_name):
        return None
    texts = [folded(blocks, item.span) if item.star is None else None for item in body.items]
    wanted = folded(blocks, ordered.span)
    return texts.index(wanted) if wanted in texts else None
