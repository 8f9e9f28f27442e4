"""Words that are a column where there is one of that name, and a function of Spark where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import TokenType

from airflow_trickle.algebra.functions import BARE_UNLESS_COLUMN, NON_DETERMINISTIC
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import Select
from airflow_trickle.identifiers import fold


@dataclass(frozen=True)
class BareWord:
    """Such a word: its name as names are compared, where it stands, and of which relation's ON it is part, if any."""

    name: str
    offset: int
    join: int | None = None

    @property
    def why_function(self) -> str:
        """What follows if it is the function."""
        return (
            f"nothing that is read there has a column '{self.name}', so that Spark takes the word for its function "
            f"{self.name}(), which {NON_DETERMINISTIC[self.name]}"
        )


def bare_words(blocks: Blocks, select: Select) -> Iterator[BareWord]:
    """The words of a SELECT that are columns or functions, without those of its subqueries.

    Behind or before a dot a word is a name, and before a parenthesis a function that the text calls.
    """
    spans = [span for span in expressions(select) if span is not None]
    inner = [one.query.span for one in blocks.subqueries(*spans)]
    joins = {source.on: at for at, source in enumerate(select.sources) if source.on is not None}
    for span in spans:
        cursor = blocks.cursor(span)
        for at in range(cursor.at, cursor.end):
            token = cursor.tokens[at]
            name = fold(token.text)
            if name not in BARE_UNLESS_COLUMN or token.token_type is TokenType.STRING:
                continue
            if any(one.start <= token.start < one.end for one in inner):
                continue
            before = cursor.tokens[at - 1].token_type if at else None
            after = cursor.tokens[at + 1].token_type if at + 1 < len(cursor.tokens) else None
            if before is not TokenType.DOT and after not in (TokenType.DOT, TokenType.L_PAREN):
                yield BareWord(name, token.start, joins.get(span))
