"""What the rules share: the states of relations, and the text of a query over one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import (
    Body,
    Derived,
    FromItem,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    Span,
    TableName,
)
from airflow_trickle.engine.zset import RESERVED, WEIGHT, quoted


class Version(str, Enum):
    """Which rows of a relation: before, after, the change (with weights), those of it that came, or none."""

    OLD = "old"
    NEW = "new"
    DELTA = "delta"
    PLUS = "plus"
    EMPTY = "empty"


@dataclass(frozen=True)
class Views:
    """The states of one relation by the names of views; ``delta`` is None if it did not change."""

    old: str
    new: str
    delta: str | None

    def name(self, version: Version) -> str:
        """The view of one state, ready for SQL."""
        if version in (Version.DELTA, Version.PLUS):
            assert self.delta is not None  # noqa: S101 - terms are made of changed relations only
            return quoted(self.delta)
        return quoted(self.old if version is Version.OLD else self.new)


@dataclass(frozen=True)
class InputViews:
    """A table as one place of the query reads it; ``alias`` is what to call it there if the text has no alias."""

    views: Views
    alias: str | None


@dataclass(frozen=True)
class Column:
    """A column of a result: its name, and its type in Spark's words."""

    name: str
    type: str


class Workbench(Protocol):
    """What the rules need of Spark, so that they can also be shown without running."""

    def view(self, sql: str, about: str) -> str:
        """Names a query; nothing is computed."""

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""


#: The CTEs that a place of the query sees, by folded name.
Scope = Mapping[str, Views]


@dataclass
class Context:
    """One query, the states of its inputs, and where its parts are computed."""

    blocks: Blocks
    #: By where the query names the table.
    tables: Mapping[int, InputViews]
    bench: Workbench
    #: By where a derived table begins: the view of its change, None if it has none.
    derived: dict[int, str | None] = field(default_factory=dict)

    def views_of(self, name: TableName, scope: Scope) -> Views:
        """The states of the table or CTE that stands at a place."""
        found = self.tables.get(name.span.start)
        if found is not None:
            return found.views
        folded = self.blocks.slice(name.span).strip("`").casefold()
        if folded not in scope:
            raise NotInBlocks(f"'{folded}' is read in a place that is not understood", name.span.start)
        return scope[folded]

    def alias_of(self, item: FromItem) -> str:
        """The alias of a relation as written; for a table without one its own name."""
        if item.alias or not isinstance(item.relation, TableName):
            return item.alias
        found = self.tables.get(item.relation.span.start)
        return f"AS {(found.alias if found else None) or self.blocks.slice(item.relation.span)}"

    def render(self, query: Query, version: Version, scope: Scope) -> str:
        """A query over the old or the new state of everything it reads."""
        return self._edited(query.span, self._edits(query, version, scope, set()))

    def expression(self, span: Span, version: Version, scope: Scope) -> str:
        """An expression whose subqueries read the old or the new state."""
        return self._edited(span, self._in_expressions((span,), version, scope))

    def _edited(self, span: Span, edits: Iterator[tuple[Span, str]]) -> str:
        text, at = [], span.start
        for part, replacement in sorted(edits, key=lambda edit: edit[0].start):
            text += [self.blocks.text[at : part.start], replacement]
            at = part.end
        return "".join([*text, self.blocks.text[at : span.end]])

    def _body_edits(self, body: Body, version: Version, scope: Scope, known: set[str]) -> Iterator[tuple[Span, str]]:
        if isinstance(body, Query):
            yield from self._edits(body, version, scope, known)
        elif isinstance(body, SetOperation):
            yield from self._edits(body.left, version, scope, known)
            yield from self._edits(body.right, version, scope, known)
        elif isinstance(body, Select):
            for item in body.sources:
                if isinstance(item.relation, Derived):
                    yield from self._edits(item.relation.query, version, scope, known)
                elif isinstance(item.relation, TableName) and not self._is_local(item.relation, known):
                    name = self.views_of(item.relation, scope).name(version)
                    yield item.relation.span, name if item.alias else f"{name} {self.alias_of(item)}"
            yield from self._in_expressions(expressions(body), version, scope, known)

    def _edits(self, query: Query, version: Version, scope: Scope, known: set[str]) -> Iterator[tuple[Span, str]]:
        seen = set(known)  # the CTEs whose definition is part of the text at hand
        for cte in query.ctes:
            yield from self._edits(cte.query, version, scope, seen)
            seen.add(cte.name)
        yield from self._body_edits(query.body, version, scope, seen)
        yield from self._in_expressions((*query.order, query.limit, query.skip), version, scope, seen)

    def _in_expressions(
        self, spans: tuple[Span | None, ...], version: Version, scope: Scope, known: set[str] | None = None
    ) -> Iterator[tuple[Span, str]]:
        for subquery in self.blocks.subqueries(*spans):
            yield from self._edits(subquery.query, version, scope, known or set())

    def _is_local(self, name: TableName, known: set[str]) -> bool:
        """Whether a name is that of a CTE whose definition is part of the text at hand."""
        if name.span.start in self.tables:
            return False
        return self.blocks.slice(name.span).strip("`").casefold() in known

    def reads_change(self, query: Query, scope: Scope) -> bool:
        """Whether anything that a query reads has changed."""
        return any(self._changes(query, scope))

    def _changes(self, query: Query, scope: Scope, known: frozenset[str] = frozenset()) -> Iterator[bool]:
        names = known
        for cte in query.ctes:
            yield from self._changes(cte.query, scope, names)
            names |= {cte.name}
        yield from self._body_changes(query.body, scope, names)
        yield from self._expression_changes((*query.order, query.limit, query.skip), scope, names)

    def _body_changes(self, body: Body, scope: Scope, known: frozenset[str]) -> Iterator[bool]:
        if isinstance(body, Query):
            yield from self._changes(body, scope, known)
        elif isinstance(body, SetOperation):
            yield from self._changes(body.left, scope, known)
            yield from self._changes(body.right, scope, known)
        elif isinstance(body, Select):
            for item in body.sources:
                if isinstance(item.relation, Derived):
                    yield from self._changes(item.relation.query, scope, known)
                elif isinstance(item.relation, TableName) and not self._is_local(item.relation, set(known)):
                    yield self.views_of(item.relation, scope).delta is not None
            yield from self._expression_changes(expressions(body), scope, known)

    def _expression_changes(
        self, spans: tuple[Span | None, ...], scope: Scope, known: frozenset[str] = frozenset()
    ) -> Iterator[bool]:
        for subquery in self.blocks.subqueries(*spans):
            yield from self._changes(subquery.query, scope, known)


def numbered(count: int) -> list[str]:
    """Names for the columns of a result, by position.

    >>> numbered(2)
    ['`__trickle_c1`', '`__trickle_c2`']
    """
    return [quoted(f"{RESERVED}c{number}") for number in range(1, count + 1)]


def weighted(sql: str, weight: int) -> str:
    """Every row of a query with the same weight."""
    return f"SELECT *, CAST({weight} AS BIGINT) AS {WEIGHT} FROM ({sql})"
