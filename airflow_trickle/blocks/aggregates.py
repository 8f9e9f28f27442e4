"""The calls of aggregates taken apart, and what else stands in an expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import TokenType

from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, Span


def argument_of(blocks: Blocks, call: Call) -> tuple[Span | None, Span | None] | None:
    """The only argument of an aggregate (None for ``*``) and the condition of its FILTER; None if it has others."""
    cursor = blocks.cursor(call.span)
    cursor.at += 1
    inside = cursor.inside()
    if inside.kind in (TokenType.DISTINCT, TokenType.ALL):
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


def functions_beside(blocks: Blocks, span: Span, calls: Sequence[Call]) -> Iterator[str]:
    """The words before brackets in an expression, in lower case, those inside some calls left out."""
    cursor = blocks.cursor(span)
    while not cursor.done:
        start = cursor.tokens[cursor.at].start
        call = next((call for call in calls if call.span.start == start), None)
        if call is not None:
            while not cursor.done and cursor.tokens[cursor.at].start < call.span.end:
                cursor.at += 1
            continue
        if cursor.peek(1) is TokenType.L_PAREN and cursor.word().isidentifier():
            yield cursor.word().lower()
        cursor.at += 1
