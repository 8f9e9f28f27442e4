"""Limits of a query, checked on its tokens: the parser works by recursion, and on some texts for ever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

from airflow_trickle.algebra.syntax import QueryProblem

MAX_CHARACTERS = 1024 * 1024
MAX_TOKENS = 100_000
#: Brackets of any kind inside each other.
MAX_DEPTH = 100
#: ``ARRAY<``, ``MAP<`` and ``STRUCT<`` inside each other: the parser tries each in several ways.
MAX_TYPE_DEPTH = 40
#: What the parser or a reader of its tree takes quadratic time for.
MAX_STEPS = 300

_OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_NESTED_TYPES = {TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT}
_STEPS = {TokenType.DCOLON: "'::'", TokenType.PIPE_GT: "'|>'"}


def check_size(text: str) -> QueryProblem | None:
    """Refuses a text that is too long to be looked at."""
    if len(text) <= MAX_CHARACTERS:
        return None
    return QueryProblem(
        0, f"the query has {len(text):,} characters, but may have {MAX_CHARACTERS:,} at most.", "Split it into tables."
    )


def check_nesting(tokens: Sequence[Token]) -> QueryProblem | None:
    """Refuses a query that nests too deep, or repeats what takes the parser very long."""
    return next(_problems(tokens), None)


def _type_depth(depth: int, kind: TokenType, before: TokenType | None) -> int:
    if kind is TokenType.LT and before in _NESTED_TYPES:
        return depth + 1
    return 0 if kind in _CLOSE else max(0, depth - (kind is TokenType.GT))


def _problems(tokens: Sequence[Token]) -> Iterator[QueryProblem]:
    if len(tokens) > MAX_TOKENS:
        words = f"the query has {len(tokens):,} words and signs, but may have {MAX_TOKENS:,} at most."
        yield QueryProblem(tokens[MAX_TOKENS].start, words, "Split it into tables, or read the values from a table.")
    depth = types = 0
    steps = dict.fromkeys(_STEPS, 0)
    before: TokenType | None = None
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPEN) - (kind in _CLOSE)
        types = _type_depth(types, kind, before)
        if depth > MAX_DEPTH:
            message = f"the query nests brackets more than {MAX_DEPTH} levels deep."
            yield QueryProblem(token.start, message, "Split it with a WITH clause, or into tables.")
        if types > MAX_TYPE_DEPTH:
            message = f"the query has more than {MAX_TYPE_DEPTH} ARRAY<, MAP< and STRUCT< in one type."
            yield QueryProblem(token.start, message, "Use a flatter type.")
        if kind in steps:
            steps[kind] += 1
            if steps[kind] > MAX_STEPS:
                message = f"the query has more than {MAX_STEPS} {_STEPS[kind]}."
                yield QueryProblem(token.start, message, "Split it into tables, or write CAST(… AS …).")
        before = kind
