"""What ORDER BY orders by."""

from __future__ import annotations

from sqlglot import TokenType

from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Span
from airflow_trickle.identifiers import unquote

_DIRECTIONS = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})


def ordered_column(blocks: Blocks, span: Span) -> str | None:
    """The name of an item of ORDER BY that is one name without a qualifier; None for everything else."""
    cursor = blocks.cursor(span)
    if cursor.kind not in (TokenType.VAR, TokenType.IDENTIFIER):
        return None
    name = unquote(cursor.name())
    while not cursor.done:
        if cursor.word() not in _DIRECTIONS or cursor.kind is TokenType.IDENTIFIER:
            return None
        cursor.skip_one()
    return name
