"""Expressions without names: made of literals, operators and plain functions alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import TokenType

from airflow_trickle.blocks.cursor import Cursor
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, Span, Subquery

#: Functions of values alone: what they answer depends neither on how their arguments are called nor on the time.
_FUNCTIONS = frozenset(
    {"abs", "cast", "ceil", "ceiling", "coalesce", "concat", "date", "day", "exp", "floor", "greatest", "if", "ifnull"}
    | {"isnull", "least", "left", "length", "lower", "lpad", "ltrim", "month", "nullif", "nvl", "power", "replace"}
    | {"right", "round", "rpad", "rtrim", "sign", "sqrt", "substr", "substring", "to_date", "trim", "trunc"}
    | {"try_divide", "upper", "year"}
)
_WORDS = frozenset(
    {"and", "as", "between", "case", "else", "end", "false", "in", "is", "like", "not", "null", "or", "then", "true"}
    | {"when"}
)
#: Types behind AS, where CAST has them.
_TYPES = frozenset(
    {"bigint", "boolean", "char", "date", "decimal", "double", "float", "int", "string", "timestamp", "varchar"}
)
_SIGNS = frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.PLUS}
    | {TokenType.DASH, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE, TokenType.EQ, TokenType.NEQ}
    | {TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ}
)


def has_no_names(blocks: Blocks, span: Span, calls: Sequence[Call | Subquery]) -> bool:
    """Whether an expression is made of literals, operators and plain functions, some calls and subqueries left out.

    Such an expression says the same whatever these are replaced by. A name would not: what it stands for depends
    on where it is looked up, on its dots and on its neighbours.
    """
    cursor = blocks.cursor(span)
    begin = cursor.at
    while not cursor.done:
        start = cursor.tokens[cursor.at].start
        call = next((call for call in calls if call.span.start == start), None)
        if call is not None:
            while not cursor.done and cursor.tokens[cursor.at].start < call.span.end:
                cursor.at += 1
        elif _is_no_name(cursor, cursor.tokens[cursor.at - 1].token_type if cursor.at > begin else None):
            cursor.at += 1
        else:
            return False
    return True


def _is_no_name(cursor: Cursor, before: TokenType | None) -> bool:
    """Whether the next token is a literal, an operator, a plain function or a word of the language."""
    if cursor.kind is TokenType.STAR:
        return before in (TokenType.R_PAREN, TokenType.NUMBER)  # elsewhere it stands for all columns
    if cursor.kind in _SIGNS:
        return True
    if cursor.kind is TokenType.IDENTIFIER:
        return False
    word = cursor.word().lower()
    if before is TokenType.ALIAS:
        return word in _TYPES
    if cursor.peek(1) is TokenType.STRING and word in ("date", "timestamp"):
        return True
    return word in _WORDS or (word in _FUNCTIONS and cursor.peek(1) is TokenType.L_PAREN)
