"""SQL laid out for people: line breaks where clauses begin, and not a word changed."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Dialect, Token, TokenType

from airflow_trickle.blocks.cursor import QUERY_STARTS

_INDENT = "  "
_CLAUSES = {
    TokenType.FROM,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.QUALIFY,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
}
_SETS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT}


def laid_out(sql: str) -> str:
    """A query with each clause on a line of its own, those of inner queries further in.

    Only the blanks between words are changed, so it means what it meant; a comment keeps its place.

    >>> print(laid_out("SELECT a FROM (SELECT a FROM t WHERE a > 1) UNION ALL SELECT b FROM u"))
    SELECT a
    FROM (
      SELECT a
      FROM t
      WHERE a > 1)
    UNION ALL
    SELECT b
    FROM u
    """
    tokens = Dialect.get_or_raise("spark").tokenize(sql)
    parts, end = [], 0
    for token, line in _lines(tokens):
        if token.start < end:
            continue  # 0L is one word to Spark, and several tokens of the same place to the parser
        gap = sql[end : token.start]
        if gap.strip():
            parts.append(gap)  # a comment
        elif line is not None:
            parts.append(f"\n{_INDENT * line}" if parts else "")
        else:
            parts.append(" " if gap else "")
        parts.append(sql[token.start : token.end + 1])
        end = token.end + 1
    return "".join(parts)


def _lines(tokens: list[Token]) -> Iterator[tuple[Token, int | None]]:
    """Every token, with its indentation if it begins a line."""
    open_queries: list[bool] = []
    for at, token in enumerate(tokens):
        kind, before = token.token_type, tokens[at - 1].token_type if at else None
        in_query = not open_queries or open_queries[-1]
        begins = in_query and before is not TokenType.DOT and _begins(tokens, at)
        yield token, sum(open_queries) if begins else None
        if kind is TokenType.L_PAREN:
            open_queries.append(at + 1 < len(tokens) and tokens[at + 1].token_type in QUERY_STARTS)
        elif kind is TokenType.R_PAREN and open_queries:
            open_queries.pop()


def _begins(tokens: list[Token], at: int) -> bool:
    kind, before = tokens[at].token_type, tokens[at - 1].token_type if at else None
    if kind in _SETS:
        return before is not TokenType.STAR  # SELECT * EXCEPT (a)
    if kind in _CLAUSES:
        return not (kind is TokenType.FROM and before is TokenType.DISTINCT)  # IS DISTINCT FROM
    return kind in QUERY_STARTS
