"""Mutually recursive CTEs as stream tables that read each other, made by slicing the user's own text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from airflow_trickle.algebra.mutual_recursion import groups_of, names_of, problems_of
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.algebra.top_with import TopWith, parse_recursive, top_with
from airflow_trickle.identifiers import fold

_STRANGE = re.compile(r"[^A-Za-z0-9_]")
_ALL_OF = "SELECT * FROM "
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Piece:
    """A part of a derived text that stands, letter for letter, at ``origin`` of the user's text.

    An empty piece only marks a place: what is written there stands for what is at ``origin``.
    """

    start: int
    end: int
    origin: int


@dataclass(frozen=True)
class Member:
    """A stream table made from a query: one of its CTEs, or (``cte`` is None) the query behind WITH."""

    name: str
    cte: str | None
    query: str
    pieces: tuple[Piece, ...]

    def origin(self, offset: int) -> int:
        """The place in the user's text; for what was added, where the next part of it begins.

        >>> Member("t", None, "new old", (Piece(4, 7, 20),)).origin(5)
        21
        """
        for piece in self.pieces:
            if offset < piece.end or offset <= piece.start:
                return piece.origin + max(0, offset - piece.start)
        last = self.pieces[-1]
        return last.origin + last.end - last.start


@dataclass(frozen=True)
class Decomposition:
    """What becomes of a query with mutual recursion; where there are problems there are no members."""

    table: str
    #: The CTEs that read each other, by their order in the text.
    groups: tuple[tuple[str, ...], ...]
    #: The CTEs by their order in the text; last the table itself.
    members: tuple[Member, ...]
    problems: tuple[QueryProblem, ...]


def decompose(text: str, table: str, taken: Collection[str]) -> Decomposition | None:
    """The stream tables that stand for a query with mutual recursion; None if it has none.

    >>> text = "WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b"
    >>> for member in decompose(text, "t", ()).members:
    ...     print(f"{member.name}: {member.query}")
    t__a: WITH a AS (SELECT 1 UNION SELECT * FROM t__b AS b) SELECT * FROM a
    t__b: WITH b AS (SELECT * FROM t__a AS a) SELECT * FROM b
    t: SELECT * FROM t__b AS b

    Args:
        text: The query.
        table: The stream table it defines.
        taken: Names that the new stream tables must not have, in any case of letters.
    """
    parsed = parse_recursive(text)
    if parsed is None:
        return None
    tree = parsed.tree
    top = top_with(text, parsed)
    problems = problems_of(top, tree)
    groups = () if top is None else groups_of(top)
    if top is None or problems or not groups:
        shown = () if top is None else tuple(names_of(top, group) for group in groups)
        return Decomposition(table, shown, (), problems) if problems else None
    numbers = sorted(number for group in groups for number in group)
    # A name that the query has already, as a CTE or a table, would mean that one.
    used = {cte.alias for cte in tree.find_all(exp.CTE)} | {read.name for read in tree.find_all(exp.Table)}
    names = _new_names(top, numbers, table, {*taken, *used, table})
    members = (_member(top, names, number, names[number]) for number in numbers)
    last = _member(top, names, None, table)
    return Decomposition(table, tuple(names_of(top, group) for group in groups), (*members, last), ())


def _new_names(top: TopWith, numbers: Iterable[int], table: str, taken: Iterable[str]) -> dict[int, str]:
    used = {fold(name) for name in taken}
    names: dict[int, str] = {}
    for number in numbers:
        stem = name = f"{table}__{_STRANGE.sub('_', top.ctes[number].name)}"
        count = 1
        while fold(name) in used:
            count += 1
            name = f"{stem}_{count}"
        used.add(fold(name))
        names[number] = name
    return names


def _member(top: TopWith, names: Mapping[int, str], number: int | None, name: str) -> Member:
    """The query of one CTE, or of the part behind WITH (``number`` is None)."""
    kept = _needed(top, names, number)
    writer = _Writer(top, names, number)
    if number is None:
        writer.copy(0, top.keyword[0])
    if kept:
        writer.copy(top.keyword[0], top.keyword[2 if _is_recursive(top, kept, names) else 1])
    for index, each in enumerate(kept):
        writer.definition(each, first=index == 0)
    if number is None:
        end = top.ctes[-1].end
        blanks = 0 if kept else len(top.text[end:]) - len(top.text[end:].lstrip())
        writer.copy(end + blanks, len(top.text))
    else:
        writer.select(number)
    cte = None if number is None else top.ctes[number].name
    return Member(name, cte, writer.text, tuple(writer.pieces))


def _needed(top: TopWith, names: Mapping[int, str], number: int | None) -> list[int]:
    """The CTEs that stay CTEs in a derived query, by their order in the text."""
    needed: set[int] = set() if number is None else {number}
    readers: list[int | None] = [number]
    while readers:
        reader = readers.pop()
        for use in top.uses:
            if use.reader == reader and use.cte not in names and use.cte not in needed:
                needed.add(use.cte)
                readers.append(use.cte)
    return sorted(needed)


def _is_recursive(top: TopWith, kept: Sequence[int], names: Mapping[int, str]) -> bool:
    """Whether a CTE reads itself, or a later one: without RECURSIVE that would be another table."""
    return any(
        use.reader in kept and use.cte >= use.reader and (use.cte == use.reader or use.cte not in names)
        for use in top.uses
        if use.reader is not None
    )


class _Writer:
    """Puts a derived query together and notes where each part of it came from."""

    def __init__(self, top: TopWith, names: Mapping[int, str], number: int | None) -> None:
        self.text = ""
        self.pieces: list[Piece] = []
        self._top = top
        self._names = names
        self._number = number

    def copy(self, start: int, end: int) -> None:
        """A part of the user's text, with stream tables in the place of CTEs that are some now."""
        for use in self._top.uses:
            if start <= use.start < end and use.cte in self._names and use.cte != self._number:
                self._verbatim(start, use.start)
                self.pieces.append(Piece(len(self.text), len(self.text), use.start))
                self.text += _quoted(self._names[use.cte])
                if use.alias is not None:
                    self.text += " AS "
                    self._alias(use.alias, use.start, use.end)
                start = use.end
        self._verbatim(start, end)

    def definition(self, number: int, *, first: bool) -> None:
        """A CTE with the comments before it."""
        cte = self._top.ctes[number]
        if not first:
            self.text += ","
        if not self._top.text[cte.lead].isspace():
            self.text += " "
        self.copy(cte.lead, cte.end)

    def select(self, number: int) -> None:
        """The query that returns all of a CTE, laid out like the user's text."""
        cte = self._top.ctes[number]
        self.text += f"\n{_ALL_OF}" if "\n" in self._top.text else f" {_ALL_OF}"
        self._verbatim(cte.start, cte.name_end)
        if self._top.text.endswith("\n"):
            self.text += "\n"

    def _alias(self, alias: str, start: int, end: int) -> None:
        if alias == self._top.text[start:end]:
            self._verbatim(start, end)
        else:
            self.text += alias

    def _verbatim(self, start: int, end: int) -> None:
        if start < end:
            self.pieces.append(Piece(len(self.text), len(self.text) + end - start, start))
            self.text += self._top.text[start:end]


def _quoted(name: str) -> str:
    # No word of SQL has two underscores in a row, so a plain name needs no quotes.
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"
