"""What the shape of a query says of the member that it defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from airflow_trickle.algebra.nodes import SetKind
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import (
    CteBlock,
    Derived,
    Item,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    Span,
    TableName,
)
from airflow_trickle.engine.fixpoint.rules import Best
from airflow_trickle.identifiers import fold, unquote


def folded(blocks: Blocks, relation: TableName) -> str:
    """A name of a table as names are compared."""
    return fold(unquote(blocks.slice(relation.span)))


def with_ctes(blocks: Blocks, query: Query) -> Iterator[Query]:
    """Every query with WITH, wherever it stands."""
    if query.ctes:
        yield query
    for cte in query.ctes:
        yield from with_ctes(blocks, cte.query)
    body = query.body
    if isinstance(body, Query):
        yield from with_ctes(blocks, body)
    elif isinstance(body, SetOperation):
        yield from with_ctes(blocks, body.left)
        yield from with_ctes(blocks, body.right)
    elif isinstance(body, Select):
        for source in body.sources:
            if isinstance(source.relation, Derived):
                yield from with_ctes(blocks, source.relation.query)
        for subquery in blocks.subqueries(*expressions(body)):
            yield from with_ctes(blocks, subquery.query)


def only_shown(blocks: Blocks, query: Query) -> CteBlock | None:
    """The last CTE, if the query is just ``SELECT * FROM`` it."""
    select = query.body
    if not query.ctes or not isinstance(select, Select) or query.limit is not None or query.skip is not None:
        return None
    plain = replace(select, items=(), sources=(), span=Span(0, 0)) == Select(Span(0, 0), False, (), ())
    if not plain or len(select.items) != 1 or len(select.sources) != 1:
        return None
    item, relation = select.items[0], select.sources[0].relation
    if item.star != "" or item.star_except is not None or not isinstance(relation, TableName):
        return None
    last = query.ctes[-1]
    return last if folded(blocks, relation) == last.name and not select.sources[0].alias else None


def is_distinct(query: Query) -> bool:
    """Whether a query gives no row twice, by its outermost words."""
    body = query.body
    if isinstance(body, Query):
        return is_distinct(body)
    if isinstance(body, SetOperation):
        return not body.all
    return isinstance(body, Select) and body.distinct


def is_sum(query: Query) -> bool:
    """Whether a query is just the sum of its SELECTs, copies included."""
    body = query.body
    if isinstance(body, Query):
        return is_sum(body)
    if isinstance(body, SetOperation):
        return body.kind is SetKind.UNION and body.all and is_sum(body.left) and is_sum(body.right)
    return not (isinstance(body, Select) and body.distinct)


def stripped(blocks: Blocks, select: Select, lattice: Mapping[str, str]) -> tuple[tuple[Span, ...], Best]:
    """The columns with the argument of the aggregate in its place, and which of them is the best value."""
    ((name, way),) = ((fold(column), way) for column, way in lattice.items())
    shown, best = [], None
    for at, item in enumerate(select.items):
        calls = list(blocks.calls(item.span))
        if not calls:
            shown.append(item.span)
            continue
        if best is not None or calls[0].span != item.span or calls[0].name != way or _named(blocks, item) != name:
            raise NotInBlocks(f"a lattice needs {way}(…) AS {name} as a column of its own", item.span.start)
        inside = blocks.cursor(item.span)
        inside.at += 1
        shown.append(inside.inside().span)
        best = Best(at, way)
    if best is None:
        raise NotInBlocks(f"a lattice needs {way}(…) AS {name}", select.span.start)
    return tuple(shown), best


def _named(blocks: Blocks, item: Item) -> str:
    return fold(unquote(item.alias or blocks.slice(item.span)))
