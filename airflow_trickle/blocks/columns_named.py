"""Which columns a query may name: a change of its inputs need hold no others."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import Token, TokenType

from airflow_trickle.blocks.check import expressions, selects
from airflow_trickle.blocks.expressions import star_in_call
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Query, Select, SubqueryKind, TableName
from airflow_trickle.identifiers import fold, parse_alias, unquote


def columns_named(blocks: Blocks, query: Query) -> frozenset[str] | None:
    """The folded words of a query, among which are all columns that it reads; None if it may read others too.

    It does by a star, by an alias that names columns by their position, and by IDENTIFIER(…), whose names are computed.
    What EXISTS selects is not read.
    """
    every = list(selects(blocks, query))
    asked = {
        subquery.query.body.span
        for select in every
        for subquery in blocks.subqueries(*expressions(select))
        if subquery.kind is SubqueryKind.EXISTS and isinstance(subquery.query.body, Select)
    }
    if any(_reads_unnamed(blocks, select, asked=select.span in asked) for select in every):
        return None
    if any(map(_is_of_distinct_rows, pairwise(blocks.tokens))):
        return None
    words = {fold(word) for token in blocks.tokens for word in (token.text, unquote(token.text))}
    return None if "identifier" in words else frozenset(words)


def _is_of_distinct_rows(tokens: tuple[Token, Token]) -> bool:
    """Whether a star stands for all columns as in count(DISTINCT *)."""
    return tokens[0].token_type in (TokenType.DISTINCT, TokenType.ALL) and tokens[1].token_type is TokenType.STAR


def _reads_unnamed(blocks: Blocks, select: Select, *, asked: bool) -> bool:
    stars = [item.span for item in select.items if item.star is not None]
    if stars and not asked:
        return True
    if star_in_call(blocks, (span for span in expressions(select) if span not in stars)) is not None:
        return True
    tables = (source for source in select.sources if isinstance(source.relation, TableName))
    return any(source.alias and parse_alias(source.alias).columns for source in tables)
