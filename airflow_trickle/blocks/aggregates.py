"""The calls of aggregates taken apart."""

from __future__ import annotations

from sqlglot import TokenType

from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, Span


def argument_of(blocks: Blocks, call: Call, *, distinct: bool = False) -> tuple[Span | None, Span | None] | None:
    """The only argument of an aggregate (None for ``*``) and the condition of its FILTER; None if it has others.

    ``distinct``: of an aggregate of distinct values; None if it is none.
    """
    cursor = blocks.cursor(call.span)
    cursor.at += 1
    inside = cursor.inside()
    if inside.take(TokenType.DISTINCT) is not distinct or inside.kind is TokenType.ALL:
        return None
    values = [one.span for one in inside.split()]
    only: Span | None = None
    if not cursor.done:
        if cursor.word() != "FILTER":
            return None
        cursor.at += 1
        condition = cursor.inside()
        if not cursor.done or not condition.take(TokenType.WHERE):
            return None
        only = condition.span
    if len(values) != 1:
        return None
    return (None if blocks.slice(values[0]).strip() == "*" else values[0]), only


def averaged(blocks: Blocks, call: Call) -> tuple[Span, str] | None:
    """The only argument of an aggregate, DISTINCT or not, and the text behind its brackets; None if it has others."""
    cursor = blocks.cursor(call.span)
    cursor.at += 1
    inside = cursor.inside()
    _ = inside.take(TokenType.DISTINCT) or inside.take(TokenType.ALL)
    values = [one.span for one in inside.split()]
    if len(values) != 1 or blocks.slice(values[0]).strip() == "*":
        return None
    return values[0], blocks.text[blocks.tokens[inside.end].end + 1 : call.span.end]
