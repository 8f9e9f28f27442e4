"""Conditions of the form ``a = b``, where both are names of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import TokenType

from airflow_trickle.algebra.functions import BARE_UNLESS_COLUMN
from airflow_trickle.blocks.cursor import Cursor
from airflow_trickle.blocks.expressions import conjuncts
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Span, Subquery
from airflow_trickle.identifiers import fold, unquote


@dataclass(frozen=True)
class ColumnName:
    """A column as an expression names it; name and qualifier are folded."""

    text: str
    name: str
    qualifier: str | None
    span: Span


def equalities(
    blocks: Blocks, condition: Span | None, *, bare: bool = False
) -> Iterator[tuple[ColumnName, ColumnName]]:
    """The parts ``a = b`` of a conjunction, where both are names.

    ``bare``: also words without a qualifier, which whoever asks has to look up among the columns of the relations.
    """
    if condition is None:
        return
    for part in conjuncts(blocks.cursor(condition)):
        pair = equality_of(part, bare=bare)
        if pair is not None:
            yield pair


def equality_of(part: Cursor, *, bare: bool = False) -> tuple[ColumnName, ColumnName] | None:
    """The two names of a condition ``a = b``; None if it is another one."""
    cursor = Cursor(part.text, part.tokens, part.at, part.end)
    left = _column(cursor, bare=bare)
    if left is None or not cursor.take(TokenType.EQ):
        return None
    right = _column(cursor, bare=bare)
    return (left, right) if right is not None and cursor.done else None


def looked_for(blocks: Blocks, condition: Span | None, subquery: Subquery) -> ColumnName | None:
    """The column of ``column IN (query)``, where that is a part of a conjunction of its own; None if it is not."""
    for part in conjuncts(blocks.cursor(condition)) if condition is not None else ():
        cursor = Cursor(part.text, part.tokens, part.at, part.end)
        column = _column(cursor, bare=True)
        if column is not None and cursor.take(TokenType.IN) and not cursor.done and cursor.span == subquery.span:
            return column
    return None


def column_of(blocks: Blocks, span: Span) -> ColumnName | None:
    """The column that an expression is, if it is one and nothing more."""
    cursor = blocks.cursor(span)
    found = _column(cursor)
    return found if cursor.done else None


def word_or_column(blocks: Blocks, span: Span) -> ColumnName | None:
    """The same, or a bare word: a column if a relation has one of that name, else perhaps a function."""
    cursor = blocks.cursor(span)
    if cursor.kind is TokenType.VAR and cursor.at + 1 == cursor.end:
        word = blocks.slice(span)
        return ColumnName(word, fold(word), None, span)
    return column_of(blocks, span)


def _column(cursor: Cursor, *, bare: bool = False) -> ColumnName | None:
    names: list[str] = []
    begin = cursor.at
    if bare and cursor.kind is TokenType.VAR and not cursor.is_name():
        word = cursor.name()
        span = Cursor(cursor.text, cursor.tokens, begin, cursor.at).span
        # Some words are functions of Spark where no column has their name.
        return None if fold(word) in BARE_UNLESS_COLUMN else ColumnName(word, fold(word), None, span)
    while not cursor.done and cursor.is_name():
        names.append(fold(unquote(cursor.name())))
        if cursor.kind is not TokenType.DOT:
            break
        cursor.take(TokenType.DOT)
    if not 1 <= len(names) <= 2:
        return None
    span = Cursor(cursor.text, cursor.tokens, begin, cursor.at).span
    qualifier = names[0] if len(names) == 2 else None
    return ColumnName(cursor.text[span.start : span.end], names[-1], qualifier, span)
