"""The FROM clause as blocks: relations and how they are joined, in the order of the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import TokenType

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.cursor import QUERY_STARTS, Cursor
from airflow_trickle.blocks.shapes import (
    Constant,
    Derived,
    FromItem,
    NotInBlocks,
    Relation,
    RowFunction,
    Span,
    TableName,
)

if TYPE_CHECKING:
    from airflow_trickle.blocks.parse import Blocks

_JOIN_WORDS = {
    TokenType.JOIN,
    TokenType.INNER,
    TokenType.CROSS,
    TokenType.LEFT,
    TokenType.RIGHT,
    TokenType.FULL,
    TokenType.NATURAL,
    TokenType.SEMI,
    TokenType.ANTI,
    TokenType.OUTER,
}
_ENDS = _JOIN_WORDS | {TokenType.COMMA, TokenType.LATERAL}
_KINDS = {
    "": JoinKind.INNER,
    "INNER": JoinKind.INNER,
    "CROSS": JoinKind.CROSS,
    "LEFT": JoinKind.LEFT,
    "LEFT OUTER": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "RIGHT OUTER": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "FULL OUTER": JoinKind.FULL,
    "SEMI": JoinKind.SEMI,
    "LEFT SEMI": JoinKind.SEMI,
    "ANTI": JoinKind.ANTI,
    "LEFT ANTI": JoinKind.ANTI,
}
_SET_WORDS = {TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.ORDER_BY, TokenType.LIMIT}
_STRANGE = {TokenType.PIVOT: "PIVOT", TokenType.UNPIVOT: "UNPIVOT", TokenType.TABLE_SAMPLE: "TABLESAMPLE"}


def parse(blocks: Blocks, cursor: Cursor) -> tuple[tuple[FromItem, ...], Span | None]:
    """The relations of FROM, and its LATERAL VIEWs as written."""
    items = [_relation(blocks, cursor, JoinKind.CROSS, "")]
    while not cursor.done:
        if cursor.kind is TokenType.LATERAL and cursor.word(1) == "VIEW":
            return tuple(items), _laterals(cursor)
        items.append(_joined(blocks, cursor))
    return tuple(items), None


def _laterals(cursor: Cursor) -> Span:
    span = cursor.span
    if any(cursor.tokens[at].token_type in _JOIN_WORDS - {TokenType.OUTER} for at in range(cursor.at, cursor.end)):
        raise NotInBlocks("a join behind a LATERAL VIEW is recomputed in full", span.start)
    return span


def _joined(blocks: Blocks, cursor: Cursor) -> FromItem:
    if cursor.kind is TokenType.COMMA:
        cursor.at += 1
        return _relation(blocks, cursor, JoinKind.CROSS, ",")
    start = cursor.at
    words: list[str] = []
    while cursor.kind in _JOIN_WORDS and cursor.kind is not TokenType.JOIN:
        words.append(cursor.word())
        cursor.at += 1
    kind = _KINDS.get(" ".join(words))
    if kind is None or cursor.kind is not TokenType.JOIN:
        if "NATURAL" in words:
            raise NotInBlocks("NATURAL JOIN is recomputed in full", cursor.tokens[start].start)
        raise cursor.lost()
    cursor.at += 1
    text = cursor.text[cursor.tokens[start].start : cursor.tokens[cursor.at - 1].end + 1]
    return _relation(blocks, cursor, kind, text)


def _relation(blocks: Blocks, cursor: Cursor, kind: JoinKind, words: str) -> FromItem:
    lateral = cursor.kind is TokenType.LATERAL
    start = cursor.tokens[cursor.at].start if not cursor.done else 0
    if lateral:
        cursor.at += 1
    relation: Relation
    if cursor.kind is TokenType.L_PAREN:
        relation = _parenthesized(blocks, cursor, lateral=lateral)
    elif cursor.take(TokenType.VALUES):
        relation = _values(cursor)
    else:
        relation = _named(cursor, start, lateral=lateral)
    _refuse_strange(cursor)
    alias = _alias(blocks, cursor)
    _refuse_strange(cursor)
    on: Span | None = None
    using: tuple[str, ...] = ()
    if cursor.take(TokenType.ON):
        on = cursor.until(_ENDS | set(_STRANGE)).span
        # Behind the condition of a join it is one of all relations joined.
        _refuse_strange(cursor)
    elif cursor.take(TokenType.USING):
        using = tuple(blocks.slice(part.span) for part in cursor.inside().split())
    if kind is JoinKind.CROSS and words not in ("", ",") and on is not None:
        kind = JoinKind.INNER
    return FromItem(kind, words, relation, alias, on, using)


def _refuse_strange(cursor: Cursor) -> None:
    """Refuses what makes other rows of a relation."""
    if cursor.kind in _STRANGE:
        raise NotInBlocks(f"{_STRANGE[cursor.kind]} is recomputed in full", cursor.tokens[cursor.at].start)


def _values(cursor: Cursor) -> Constant:
    """The rows behind VALUES."""
    start = cursor.tokens[cursor.at - 1].start
    while cursor.kind is TokenType.L_PAREN:
        cursor.skip_one()
        if cursor.peek(1) is TokenType.L_PAREN:
            cursor.take(TokenType.COMMA)
    return Constant(Span(start, cursor.tokens[cursor.at - 1].end + 1))


def _parenthesized(blocks: Blocks, cursor: Cursor, *, lateral: bool) -> Relation:
    start = cursor.tokens[cursor.at].start
    inside = cursor.inside()
    span = Span(start, cursor.tokens[cursor.at - 1].end + 1)
    if lateral:
        raise NotInBlocks("a LATERAL query is recomputed in full", start)
    if _holds_joins(inside):
        raise NotInBlocks("joins in parentheses are recomputed in full", start)
    if inside.kind is TokenType.VALUES:
        return Constant(span)
    return Derived(span, blocks.query(inside))


def _named(cursor: Cursor, start: int, *, lateral: bool) -> Relation:
    first = cursor.at
    cursor.name()
    while cursor.take(TokenType.DOT):
        cursor.name()
    if cursor.kind is TokenType.L_PAREN:
        cursor.skip_one()
        span = Span(start, cursor.tokens[cursor.at - 1].end + 1)
        return RowFunction(span) if lateral else Constant(span)
    return TableName(Span(cursor.tokens[first].start, cursor.tokens[cursor.at - 1].end + 1))


def _alias(blocks: Blocks, cursor: Cursor) -> str:
    start = cursor.at
    if cursor.take(TokenType.ALIAS) or (not cursor.done and cursor.tokens[cursor.at].start in blocks.aliases):
        cursor.name()
        if cursor.kind is TokenType.L_PAREN:
            cursor.skip_one()
        return cursor.text[cursor.tokens[start].start : cursor.tokens[cursor.at - 1].end + 1]
    return ""


def _holds_joins(inside: Cursor) -> bool:
    """Whether parentheses hold relations and joins rather than a query."""
    rest = Cursor(inside.text, inside.tokens, inside.at, inside.end)
    if rest.kind in QUERY_STARTS:
        return False
    if rest.kind is not TokenType.L_PAREN:
        return True
    # (query) AS a JOIN …, or (query) UNION …
    within = rest.inside()
    return _holds_joins(within) or (not rest.done and rest.kind not in _SET_WORDS)
