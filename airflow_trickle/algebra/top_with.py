"""The WITH RECURSIVE at the top of a query: what it defines, and where the query names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from sqlglot import Token, TokenType, exp

from airflow_trickle.algebra.parsing import Statement, parse_statement
from airflow_trickle.algebra.scope import cte_seen
from airflow_trickle.identifiers import fold

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class CteSpan:
    """A CTE as it is written: ``text[start:end]`` goes from its name to its closing parenthesis."""

    #: Without its quotes.
    name: str
    #: Behind the comma or keyword before the name: comments on the CTE begin there.
    lead: int
    start: int
    name_end: int
    end: int
    node: exp.Expr = field(repr=False, compare=False)


@dataclass(frozen=True)
class CteUse:
    """A place where the query reads a CTE of its top WITH: ``text[start:end]`` is the name as written."""

    #: The CTE that is read, and the one whose definition reads it (None: the query behind WITH).
    cte: int
    reader: int | None
    start: int
    end: int
    #: The name to add as an alias when it is replaced; None where the text has an alias.
    alias: str | None


@dataclass(frozen=True)
class TopWith:
    """A query that begins with WITH RECURSIVE, taken apart."""

    text: str
    tree: exp.Expr = field(repr=False, compare=False)
    #: Where the word WITH begins and ends, and where RECURSIVE ends.
    keyword: tuple[int, int, int]
    ctes: tuple[CteSpan, ...]
    uses: tuple[CteUse, ...]


def parse_recursive(text: str) -> Statement | None:
    """A query that says RECURSIVE somewhere; None if it does not, or if it does not parse, which others tell."""
    if "recursive" not in fold(text):
        return None
    statement = parse_statement(text)
    return statement if isinstance(statement, Statement) else None


def top_with(text: str, statement: Statement) -> TopWith | None:
    """The WITH RECURSIVE that the query begins with, or None."""
    tree, tokens = statement.tree, statement.tokens
    with_ = tree.args.get("with_")
    if with_ is None or [token.token_type for token in tokens[:2]] != [TokenType.WITH, TokenType.RECURSIVE]:
        return None
    places = {token.start: index for index, token in enumerate(tokens)}
    ctes = tuple(_span(cte, tokens, places) for cte in with_.expressions if _is_written(cte, text))
    return TopWith(
        text=text,
        tree=tree,
        keyword=(tokens[0].start, tokens[0].end + 1, tokens[1].end + 1),
        ctes=ctes,
        uses=_uses(text, tree, ctes, {token.start: token for token in tokens}),
    )


def definition_of(table: exp.Expr) -> exp.Expr | None:
    """The CTE that a table of the tree stands for, or None."""
    if not _is_read(table) or len(table.parts) > 1:
        return None
    seen = cte_seen(table, fold(table.name))
    return None if seen is None else seen.definition


def _is_read(table: exp.Expr) -> TypeGuard[exp.Table]:
    """Whether the node names a table that is read; hints and table functions do not."""
    if not isinstance(table, exp.Table) or isinstance(table.parent, (exp.Into, exp.JoinHint)):
        return False
    return all(isinstance(part, exp.Identifier) for part in table.parts)


def _is_written(cte: exp.Expr, text: str) -> bool:
    """The pipe syntax makes CTEs that nobody wrote; something else stands at the places of their names."""
    meta = cte.args["alias"].this.meta
    there = text[meta.get("start", 0) : meta.get("end", 0) + 1]
    return there in (cte.alias, f"`{cte.alias.replace('`', '``')}`")


def _span(cte: exp.Expr, tokens: Sequence[Token], places: dict[int, int]) -> CteSpan:
    alias = cte.args["alias"]
    name = places[alias.this.meta["start"]]
    # Before the body there may be a list of columns, in parentheses as well.
    last = _closing(tokens, name)
    if alias.args.get("columns"):
        last = _closing(tokens, last + 1)
    return CteSpan(
        name=cte.alias,
        lead=tokens[name - 1].end + 1,
        start=tokens[name].start,
        name_end=tokens[name].end + 1,
        end=tokens[last].end + 1,
        node=cte,
    )


def _closing(tokens: Sequence[Token], index: int) -> int:
    """The parenthesis that closes the first one that opens from ``index`` on."""
    depth = 0
    while True:
        kind = tokens[index].token_type
        if kind is TokenType.L_PAREN:
            depth += 1
        elif kind is TokenType.R_PAREN:
            depth -= 1
            if depth == 0:
                return index
        index += 1


def _uses(text: str, tree: exp.Expr, ctes: Sequence[CteSpan], tokens: dict[int, Token]) -> tuple[CteUse, ...]:
    numbers = {id(cte.node): number for number, cte in enumerate(ctes)}
    # By start: the pipe syntax may show one place twice.
    uses: dict[int, CteUse] = {}
    for table in tree.find_all(exp.Table):
        number = numbers.get(id(definition_of(table)))
        start = None if number is None else table.this.meta.get("start")
        if number is None or start is None:
            continue
        end = table.this.meta["end"] + 1
        reader = next((index for index, cte in enumerate(ctes) if cte.start <= start < cte.end), None)
        alias = None if _has_alias(table) else _as_alias(text[start:end], tokens[start])
        uses[start] = CteUse(number, reader, start, end, alias)
    return tuple(uses[start] for start in sorted(uses))


def _has_alias(table: exp.Expr) -> bool:
    # TABLESAMPLE and VERSION AS OF are refused; an alias before them would only hide why.
    return any(table.args.get(key) for key in ("alias", "sample", "version"))


def _as_alias(name: str, token: Token) -> str:
    """A name as it was written, in quotes if it is a word that cannot be an alias."""
    plain = token.token_type is TokenType.VAR and _PLAIN.fullmatch(name)
    return name if plain or name.startswith("`") else f"`{name}`"
