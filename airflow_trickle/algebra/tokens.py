"""Work on a query's tokens: is it one statement that reads, and what is its text without its looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import Token, TokenType

from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import unquote

_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.L_PAREN}
#: Two spellings of one operator.
_SAME = {"!=": "<>", "==": "="}
_REFERENCE = "\x01"


class Span(Protocol):
    """A table reference as far as the normal form needs it."""

    @property
    def start(self) -> int:
        """Where the name begins."""

    @property
    def end(self) -> int:
        """Where the name ends."""

    @property
    def alias(self) -> str | None:
        """The bare name, where it serves as alias."""


def check_statement(tokens: Sequence[Token]) -> QueryProblem | None:
    """Refuses what is not exactly one query, before it is parsed.

    sqlglot takes much for a statement (EXPLAIN, SHOW, a bare expression) that is no query.
    """
    rest = iter(tokens)
    first = next((token for token in rest if token.token_type is not TokenType.SEMICOLON), None)
    if first is None:
        return QueryProblem(0, "the query is empty.", "Write a SELECT.")
    if first.token_type not in _STARTS:
        return QueryProblem(
            first.start,
            f"the query must be a SELECT, but begins with '{first.text}'.",
            "Write a SELECT that returns the rows of the table.",
        )
    ended = False
    for token in rest:
        if token.token_type is TokenType.SEMICOLON:
            ended = True
        elif ended:
            return QueryProblem(
                token.start,
                f"a second statement begins with '{token.text}'.",
                "Keep one SELECT per stream table.",
            )
    return None


def normal_form(
    text: str, tokens: Sequence[Token], references: Sequence[Span], names: set[int], aliases: set[int]
) -> str:
    """The query without comments, layout, case of keywords, optional AS; references are a mark each.

    The tokens are kept rather than the tree, because a tree may lose a difference that matters, and a
    difference too many costs one recomputation, a difference too few wrong rows.

    Args:
        text: The query.
        tokens: Its tokens.
        references: Its table references, in order.
        names: Where identifiers begin, whose case is kept.
        aliases: Where aliases begin that may do without AS.
    """
    words: list[str] = []
    spans = iter(references)
    span = next(spans, None)
    last = len(tokens) - 1
    for index, token in enumerate(tokens):
        start = token.start
        if span is not None and start >= span.start:
            if start == span.start:
                # A bare name is its own alias: `FROM orders` is `FROM orders AS orders`.
                words.append(_REFERENCE if span.alias is None else f"{_REFERENCE}\n{unquote(span.alias)}")
            if index == last or tokens[index + 1].start >= span.end:
                span = next(spans, None)
            continue
        kind = token.token_type
        if kind is TokenType.SEMICOLON:
            continue
        if kind is TokenType.ALIAS and index < last and tokens[index + 1].start in aliases:
            continue
        word = text[start : token.end + 1]
        if start in names or "'" in word or '"' in word:
            words.append(word)
        elif word.isalnum() or len(word) == 1:
            words.append(word.upper())
        else:
            # `GROUP BY` is one token, but two with a comment in between.
            words.extend(_SAME.get(part, part) for part in word.upper().split())
    return "\n".join(words)
