"""Questions about the words of an expression."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import TokenType

from airflow_trickle.algebra.functions import GENERATORS
from airflow_trickle.blocks.cursor import QUERY_STARTS, Cursor
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Call, NotInBlocks, Span, Subquery
from airflow_trickle.identifiers import fold, unquote

_NO_PLAIN_AND = {TokenType.OR, TokenType.CASE}
#: Names that mean functions wherever no column is called so; only then is a query around a subquery asked for them.
_FUNCTIONS_TOO = frozenset(
    {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "GROUPING__ID", "SESSION_USER", "USER"}
)
_BEFORE_STARS = {TokenType.L_PAREN, TokenType.COMMA, TokenType.DOT}
_OF_ALL_ROWS = (TokenType.L_PAREN, TokenType.STAR, TokenType.R_PAREN)


def folded(blocks: Blocks, span: Span) -> str:
    """An expression without layout and case, to be compared with another."""
    cursor = blocks.cursor(span)
    words = (blocks.text[token.start : token.end + 1] for token in cursor.tokens[cursor.at : cursor.end])
    return " ".join(word if "'" in word or '"' in word else fold(word) for word in words)


def is_one_word(blocks: Blocks, span: Span) -> bool:
    """Whether an expression is a single word."""
    cursor = blocks.cursor(span)
    return cursor.end - cursor.at == 1


def may_not_move(blocks: Blocks, span: Span) -> bool:
    """Whether an expression has a column, such as ``user``, that would be a function inside a subquery."""
    cursor = blocks.cursor(span)
    while not cursor.done:
        dotted = cursor.peek(1) is TokenType.DOT or (
            cursor.at and cursor.tokens[cursor.at - 1].token_type is TokenType.DOT
        )
        if cursor.word() in _FUNCTIONS_TOO and cursor.kind is not TokenType.STRING and not dotted:
            return True
        cursor.at += 1
    return False


def position_in(blocks: Blocks, span: Span) -> int | None:
    """The number that an expression is, as in GROUP BY 2; None if it is none."""
    cursor = blocks.cursor(span)
    if is_one_word(blocks, span) and cursor.kind is TokenType.NUMBER and cursor.word().isdecimal():
        return int(cursor.word())
    return None


def star_in_call(blocks: Blocks, spans: Iterable[Span | None]) -> int | None:
    """Where a star stands for all columns inside a function, as in struct(*) or hash(k, t.*); not in other queries.

    In count(*) it stands for a row, whatever its columns.
    """
    for span in spans:
        if span is None:
            continue
        cursor = blocks.cursor(span)
        while not cursor.done:
            if cursor.kind is TokenType.L_PAREN and cursor.peek(1) in QUERY_STARTS:
                cursor.skip_one()  # has rows of its own
                continue
            if cursor.word() == "COUNT" and (cursor.peek(1), cursor.peek(2), cursor.peek(3)) == _OF_ALL_ROWS:
                cursor.at += 4
                continue
            if cursor.kind in _BEFORE_STARS and cursor.peek(1) is TokenType.STAR:
                return cursor.tokens[cursor.at].start
            cursor.at += 1
    return None


def has_generator(blocks: Blocks, span: Span) -> bool:
    """Whether an expression calls a function such as ``explode``, which makes none or several rows of one."""
    cursor = blocks.cursor(span)
    while not cursor.done:
        if cursor.word().lower() in GENERATORS and cursor.peek(1) is TokenType.L_PAREN:
            return True
        cursor.at += 1
    return False


def probe_of(blocks: Blocks, condition: Span, subquery: Subquery) -> Span | None:
    """What an IN looks for, where that is beyond doubt: a name or a call, in a part of a conjunction of its own."""
    for part in conjuncts(blocks.cursor(condition)):
        if part.tokens[part.end - 1].end + 1 != subquery.span.end:
            continue
        probe = Cursor(part.text, part.tokens, part.at, part.end)
        start = probe.at
        if not probe.word().isidentifier() and not probe.is_name():
            return None
        probe.name()
        while probe.take(TokenType.DOT):
            probe.name()
        if probe.kind is TokenType.L_PAREN:
            probe.skip_one()
        end = probe.at
        probe.take(TokenType.NOT)
        is_it = probe.take(TokenType.IN) and not probe.done and probe.span.start == subquery.span.start
        return Cursor(part.text, part.tokens, start, end).span if is_it else None
    return None


def conjuncts(condition: Cursor) -> list[Cursor]:
    """The parts between ANDs, that of BETWEEN left out; none if OR or CASE stands outside of brackets."""
    rest = Cursor(condition.text, condition.tokens, condition.at, condition.end)
    parts, start, between = [], rest.at, False
    while not rest.done:
        if rest.kind in _NO_PLAIN_AND and not rest.is_name():
            return []
        if rest.kind is TokenType.BETWEEN:
            between = True
        elif rest.kind is TokenType.AND and between:
            between = False
        elif rest.kind is TokenType.AND:
            parts.append(Cursor(rest.text, rest.tokens, start, rest.at))
            start = rest.at + 1
        rest.skip_one()
    return [*parts, Cursor(rest.text, rest.tokens, start, rest.at)]


def has_sliding_window(blocks: Blocks, span: Span) -> bool:
    """Whether a key is window(time, length, slide, …), which makes several keys of one row."""
    cursor = blocks.cursor(span)
    while not cursor.done:
        if cursor.word() == "WINDOW" and cursor.peek(1) is TokenType.L_PAREN:
            cursor.at += 1
            return sum(1 for _ in cursor.inside().split()) > 2
        cursor.at += 1
    return False


def partition_keys(blocks: Blocks, over: Span) -> tuple[Span, ...]:
    """The keys of PARTITION BY in OVER (…); empty if there are none, or they are not plain expressions."""
    inside = blocks.cursor(Span(over.start + 1, over.end - 1))
    if inside.done or not inside.take(TokenType.PARTITION_BY):
        return ()
    part = inside.until({TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.ROWS, TokenType.RANGE})
    keys = tuple(one.span for one in part.split())
    return () if any(True for _ in blocks.calls(*keys)) else keys


def window_of(blocks: Blocks, call: Call, windows: Span | None) -> Span:
    """What stands in the OVER of a call, or in the definition of the window that it names."""
    if call.over is not None:
        return call.over
    name = fold(unquote(call.window or ""))
    if windows is not None:
        for part in blocks.cursor(windows).split():
            if fold(unquote(part.name())) == name and part.take(TokenType.ALIAS):
                return part.span
    raise NotInBlocks(f"the window '{name}' is not understood", call.span.start)


def has_rows_frame(blocks: Blocks, over: Span) -> bool:
    """Whether a window counts rows: ROWS BETWEEN …"""
    cursor = blocks.cursor(over)
    return any(cursor.tokens[at].token_type is TokenType.ROWS for at in range(cursor.at, cursor.end))


def has_distinct(blocks: Blocks, call: Call) -> bool:
    """Whether an aggregate takes each value once: count(DISTINCT x)."""
    cursor = blocks.cursor(call.span)
    return cursor.peek(2) is TokenType.DISTINCT


def without_over(blocks: Blocks, call: Call) -> Span:
    """The call of an aggregate without its OVER."""
    return blocks.cursor(call.span).until({TokenType.OVER}).span
