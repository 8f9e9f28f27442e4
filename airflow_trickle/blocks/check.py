"""Do the blocks of a query agree with what the parser says of it? Two readings of one text judge each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from airflow_trickle.algebra.parsing import Statement, parse_statement
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.blocks.one_row import without_idle_limits
from airflow_trickle.blocks.parse import Blocks, take_apart
from airflow_trickle.blocks.shapes import Body, Derived, NotInBlocks, Query, Select, SetOperation, Span, TableName

#: What both know of a SELECT: columns, relations, and which clauses it has.
Signature = tuple[int, int, bool, bool, bool, bool, bool]


def blocks_of(text: str, *, recursion: bool = False) -> tuple[Blocks, Query]:
    """The blocks of a query, if they tell the same as the tree that the parser makes of it.

    A column with the name of a clause (``SELECT offset FROM t``) is what tokens alone may get wrong. Without
    ``recursion`` a query with WITH RECURSIVE is refused.

    Raises:
        NotInBlocks: the query cannot be taken apart, or not with certainty.
    """
    statement = parse_statement(text)
    if isinstance(statement, QueryProblem):
        raise NotInBlocks(statement.message, statement.offset)
    return checked(statement, recursion=recursion)


def checked(statement: Statement, *, recursion: bool = False) -> tuple[Blocks, Query]:
    """The same for a query that is parsed already."""
    blocks, query = take_apart(statement, recursion=recursion)
    ours = Counter(_of_block(select) for select in selects(blocks, query))
    theirs = Counter(_of_tree(select) for select in statement.tree.find_all(exp.Select) if not _is_made_up(select))
    if ours != theirs:
        raise NotInBlocks("the query could not be taken apart with certainty")
    return blocks, without_idle_limits(blocks, query)


def selects(blocks: Blocks, query: Query) -> Iterator[Select]:
    """Every SELECT of a query, those in subqueries and CTEs too."""
    for cte in query.ctes:
        yield from selects(blocks, cte.query)
    yield from _of_body(blocks, query.body)
    yield from _in_expressions(blocks, *query.order, query.limit, query.skip)


def _of_body(blocks: Blocks, body: Body) -> Iterator[Select]:
    if isinstance(body, Query):
        yield from selects(blocks, body)
    elif isinstance(body, SetOperation):
        yield from selects(blocks, body.left)
        yield from selects(blocks, body.right)
    elif isinstance(body, Select):
        yield body
        for source in body.sources:
            if isinstance(source.relation, Derived):
                yield from selects(blocks, source.relation.query)
        yield from _in_expressions(blocks, *expressions(body))


def _in_expressions(blocks: Blocks, *spans: Span | None) -> Iterator[Select]:
    for subquery in blocks.subqueries(*spans):
        yield from selects(blocks, subquery.query)


def expressions(select: Select) -> tuple[Span | None, ...]:
    """All expressions of a SELECT."""
    return (
        *(item.span for item in select.items),
        *(source.on for source in select.sources),
        select.laterals,
        select.where,
        select.group,
        select.having,
        select.qualify,
        select.windows,
    )


def table_names(blocks: Blocks, query: Query) -> Iterator[TableName]:
    """Every place where a query names a table or a CTE."""
    for select in selects(blocks, query):
        for source in select.sources:
            if isinstance(source.relation, TableName):
                yield source.relation


def _of_block(select: Select) -> Signature:
    return (
        len(select.items),
        len(select.sources),
        select.distinct,
        select.where is not None,
        select.group is not None,
        select.having is not None,
        select.qualify is not None,
    )


def _is_made_up(select: exp.Select) -> bool:
    """Whether the parser has made a SELECT of ``UNION ALL VALUES (1)``: its alias stands nowhere in the text."""
    from_ = select.args.get("from_")
    values = from_.this if from_ is not None else None
    alias = values.args.get("alias") if isinstance(values, exp.Values) else None
    return isinstance(alias, exp.TableAlias) and "start" not in alias.this.meta


def _of_tree(select: exp.Expr) -> Signature:
    args = select.args
    from_ = args.get("from_")
    relations = 0 if from_ is None else 1 + len(args.get("joins") or ()) + len(from_.this.args.get("joins") or ())
    return (
        len(select.expressions),
        relations,
        args.get("distinct") is not None,
        args.get("where") is not None,
        args.get("group") is not None,
        args.get("having") is not None,
        args.get("qualify") is not None,
    )
