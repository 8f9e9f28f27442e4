"""What ORDER BY orders by."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType

from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Span
from airflow_trickle.identifiers import unquote

_DIRECTIONS = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})


@dataclass(frozen=True)
class Ordered:
    """An item of ORDER BY that names a column: by a name, by its relation and a name, or by its position."""

    #: One or two names, without quotes; none if it is a position.
    names: tuple[str, ...]
    position: int | None
    #: The item without its direction.
    span: Span
    #: ASC, DESC, NULLS FIRST and the like, in upper case.
    direction: str


def ordered_by(blocks: Blocks, span: Span) -> Ordered | None:
    """What an item of ORDER BY names; None if it is an expression."""
    cursor = blocks.cursor(span)
    begin, names, position = cursor.tokens[cursor.at].start, list[str](), None
    if cursor.kind is TokenType.NUMBER and cursor.word().isdecimal():
        position = int(cursor.word())
        cursor.skip_one()
    else:
        while cursor.kind in (TokenType.VAR, TokenType.IDENTIFIER):
            names.append(unquote(cursor.name()))
            if not cursor.take(TokenType.DOT):
                break
    if position is None and not 1 <= len(names) <= 2:
        return None
    end = cursor.tokens[cursor.at - 1].end + 1
    words = []
    while not cursor.done:
        if cursor.word() not in _DIRECTIONS or cursor.kind is TokenType.IDENTIFIER:
            return None
        words.append(cursor.word())
        cursor.skip_one()
    return Ordered(tuple(names), position, Span(begin, end), " ".join(words))
