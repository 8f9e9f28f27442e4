"""What the rules share: the states of relations, and the text of a query over one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.equalities import ColumnName
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
from airflow_trickle.engine.delta.ranges import Ranges
from airflow_trickle.engine.zset import FILE, POSITION, RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote, unquote

if TYPE_CHECKING:
    import pyarrow as pa


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
    #: Whether it is known that no row went.
    grows: bool = False
    #: By folded name: the types of the columns in Spark's words, where they are known.
    types: Mapping[str, str] | None = None

    def name(self, version: Version) -> str:
        """The view of one state, ready for SQL."""
        if version in (Version.DELTA, Version.PLUS):
            assert self.delta is not None  # noqa: S101 - terms are made of changed relations only
            return quote(self.delta)
        return quote(self.old if version is Version.OLD else self.new)


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

    @property
    def small(self) -> bool:
        """Whether the change is likely to have few rows."""

    def view(self, sql: str, about: str) -> str:
        """Names a query; nothing is computed."""

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""

    def ranges(self, view: str) -> Mapping[str, Ranges]:
        """Between which values the columns of a view lie, by folded name, as far as that is known."""

    def is_large(self, view: str) -> bool:
        """Whether to read all rows of a view takes longer than to find those that few changed rows may meet."""

    def rows_of(self, view: str) -> pa.Table | None:
        """The rows of a view, if they are in this process."""


@dataclass(frozen=True)
class Published:
    """The result before: the view of its rows, the same with their places if there is one, and its columns."""

    rows: str
    columns: tuple[str, ...]
    #: By column, in Spark's words.
    types: tuple[str, ...]
    #: With the columns `FILE` and `POSITION` behind.
    placed: str | None = None


@dataclass(frozen=True)
class Change:
    """Weighted rows as SQL: the weight comes last; ``placed``: behind it the place of every row that goes.

    ``net``: no row both comes and goes.
    """

    sql: str
    placed: bool = False
    net: bool = False


#: The CTEs that a place of the query sees, by folded name.
Scope = Mapping[str, Views]


@dataclass(frozen=True)
class Guard:
    """What stands before and behind a call of an aggregate, so that it fails where it might round."""

    before: str
    behind: str


@dataclass(frozen=True)
class _Reading:
    """How a text is rewritten: which state it reads, what it sees, and which rows are enough."""

    version: Version
    scope: Scope
    enough: Mapping[int, str] = field(default_factory=dict)
    #: The CTEs whose definition is part of the text at hand.
    known: frozenset[str] = frozenset()


#: How a message begins that tells of what is kept, not of the query. The change is then computed without it.
LINES_FAIL = "Kept lines:"


@dataclass
class Tallies:
    """What is kept of a table's groups beside it, and what a refresh adds to that."""

    #: The view of the lines so far; None if there are none.
    lines: str | None = None
    #: Whether lines are worth their keep, should a group lose a row.
    wanted: bool = False
    #: Set by the rules: the view of the lines to add.
    gained: str | None = None
    #: Set by the rules: SQL for all lines, where there are none yet.
    whole: str | None = None
    #: Set by the rules: SQL for all lines with those to add, one for each group.
    folded: str | None = None
    #: Set by the rules: the lines are right as they are.
    unchanged: bool = False
    #: Set by the rules: all lines may be as many as the rows of the inputs, so that their size decides.
    large: bool = False


@dataclass
class Parts:
    """The auxiliary states of parts of a query, such as GROUP BY in a derived table, by the number of the part.

    A part is numbered in the order of the text: another layout of the same query has the same numbers.
    """

    numbers: Mapping[Span, int]
    #: The view of the entries so far, by number.
    lines: Mapping[int, str] = field(default_factory=dict)
    #: Parts of which no state is kept, since it would not pay.
    declined: AbstractSet[int] = frozenset()
    #: Whether state of other parts is to be made.
    wanted: bool = False
    #: Filled by the rules: what a refresh does to the states of the parts that it meets.
    tallies: dict[int, Tallies] = field(default_factory=dict)

    def of(self, span: Span) -> Tallies | None:
        """The state of the part that stands there; None if it has none and is to have none."""
        number = self.numbers.get(span)
        if number is None or number in self.declined:
            return None
        if number not in self.tallies:
            lines = self.lines.get(number)
            if lines is None and not self.wanted:
                return None
            self.tallies[number] = Tallies(lines, wanted=self.wanted)
        return self.tallies[number]


@dataclass(frozen=True)
class Lookup:
    """A correlated subquery, or an outer join, that is answered by key from auxiliary state, see `lookups`."""

    #: What is looked up: columns of the query around it, as it names them; none for the list of an IN.
    keys: tuple[ColumnName, ...]
    #: The types of the columns that these are compared with.
    types: tuple[str, ...]
    #: SQL of the subquery in one state, over the entries that fulfil a condition.
    answer: Callable[[Version, str | None], str]
    #: The view of the keys for which the answer may have changed; None if there are none.
    delta: str | None
    #: Whether that view has the answers too, before and after.
    answered: bool = True
    #: Whether it is the list of ``key IN (…)``: the answer is that of the whole condition.
    is_list: bool = False

    def text(self, version: Version, enough: str | None = None) -> str:
        """The subquery in one state; ``enough``: which entries it may read."""
        return self.answer(version, enough)


@dataclass
class Context:
    """One query, the states of its inputs, and where its parts are computed."""

    blocks: Blocks
    #: By where the query names the table.
    tables: Mapping[int, InputViews]
    bench: Workbench
    #: By where a derived table begins: the view of its change, None if it has none.
    derived: dict[int, str | None] = field(default_factory=dict)
    #: By where the query of a CTE begins: its states, where somebody else has computed them.
    known: Mapping[int, Views] = field(default_factory=dict)
    tallies: Tallies | None = None
    #: The states of parts of the query; None if no part has any.
    parts: Parts | None = None
    #: By the span of a query inside this one: its states, made of its auxiliary state.
    maintained: dict[Span, Views] = field(default_factory=dict)
    #: By the span of a correlated subquery, or of ON of an outer join: how it is answered from auxiliary state; None
    #: if it is not.
    lookups: dict[Span, Lookup | None] = field(default_factory=dict)
    #: By the span of a subquery: the view of the rows that came or went, None if there are none.
    moved: dict[Span, str | None] = field(default_factory=dict)
    #: Whether state is made and no change is computed: nothing has changed.
    building: bool = False
    #: By the span of a call inside a query: what makes it exact, see `averages`; None where nothing may be added.
    guards: dict[Span, Guard] | None = field(default_factory=dict)
    #: By the span of a column without an alias that has a guard: what Spark calls it without.
    names: dict[Span, str] = field(default_factory=dict)

    def views_of(self, name: TableName, scope: Scope) -> Views:
        """The states of the table or CTE that stands at a place."""
        found = self.tables.get(name.span.start)
        if found is not None:
            return found.views
        folded = fold(unquote(self.blocks.slice(name.span)))
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
        return self._edited(query.span, self._edits(query, _Reading(version, scope)))

    def expression(self, span: Span, version: Version, scope: Scope, enough: Mapping[int, str] | None = None) -> str:
        """An expression whose subqueries read the old or the new state.

        ``enough``: by where a table's name stands, which of its rows are enough to read.
        """
        return self._edited(span, self._in_expressions((span,), _Reading(version, scope, enough or {})))

    def _edited(self, span: Span, edits: Iterator[tuple[Span, str]]) -> str:
        text, at = [], span.start
        replaced = list(edits)
        # What is put at the end of a call stands before what is put at the end of a column.
        for part, replacement in sorted([*self._guarded(span, replaced), *replaced], key=lambda edit: edit[0].start):
            text += [self.blocks.text[at : part.start], replacement]
            at = part.end
        return "".join([*text, self.blocks.text[at : span.end]])

    def _guarded(self, span: Span, replaced: list[tuple[Span, str]]) -> Iterator[tuple[Span, str]]:
        """The guards of the calls in a text, other than those whose text is replaced as a whole."""
        for call, guard in (self.guards or {}).items():
            if span.holds(call) and not any(part.holds(call) for part, _ in replaced):
                yield Span(call.start, call.start), guard.before
                yield Span(call.end, call.end), guard.behind

    def _body_edits(self, body: Body, reading: _Reading) -> Iterator[tuple[Span, str]]:
        if isinstance(body, Query):
            yield from self._edits(body, reading)
        elif isinstance(body, SetOperation):
            yield from self._edits(body.left, reading)
            yield from self._edits(body.right, reading)
        elif isinstance(body, Select):
            for item in body.sources:
                if isinstance(item.relation, Derived):
                    yield from self._edits(item.relation.query, reading)
                elif isinstance(item.relation, TableName) and not self._is_local(item.relation, reading.known):
                    name = self._named(item.relation, reading)
                    yield item.relation.span, name if item.alias else f"{name} {self.alias_of(item)}"
            yield from self._in_expressions(expressions(body), reading)
            for shown in body.items:
                if shown.span in self.names:
                    yield Span(shown.span.end, shown.span.end), f" AS {quote(self.names[shown.span])}"

    def _named(self, table: TableName, reading: _Reading) -> str:
        name = self.views_of(table, reading.scope).name(reading.version)
        enough = reading.enough.get(table.span.start)
        return name if enough is None else f"(SELECT * FROM {name} WHERE {enough})"

    def _edits(self, query: Query, reading: _Reading) -> Iterator[tuple[Span, str]]:
        if (views := self.maintained.get(query.span)) is not None:
            yield query.span, f"SELECT * FROM {views.name(reading.version)}"
            return
        if (lookup := self.lookups.get(query.span)) is not None:
            yield query.span, lookup.text(reading.version, reading.enough.get(query.span.start))
            return
        seen = set(reading.known)  # the CTEs whose definition is part of the text at hand
        for cte in query.ctes:
            if cte.query.span.start in self.known:
                rows = self.known[cte.query.span.start].name(reading.version)
                yield cte.query.span, f"SELECT * FROM {rows}"
            else:
                yield from self._edits(cte.query, replace(reading, known=frozenset(seen)))
            seen.add(cte.name)
        inside = replace(reading, known=frozenset(seen))
        yield from self._body_edits(query.body, inside)
        yield from self._in_expressions((*query.order, query.limit, query.skip), inside)

    def _in_expressions(self, spans: tuple[Span | None, ...], reading: _Reading) -> Iterator[tuple[Span, str]]:
        for subquery in self.blocks.subqueries(*spans):
            yield from self._edits(subquery.query, reading)

    def _is_local(self, name: TableName, known: AbstractSet[str]) -> bool:
        """Whether a name is that of a CTE whose definition is part of the text at hand."""
        if name.span.start in self.tables:
            return False
        return fold(unquote(self.blocks.slice(name.span))) in known

    def reads_change(self, query: Query, scope: Scope) -> bool:
        """Whether anything that a query reads has changed."""
        return any(self._changes(query, scope))

    def _changes(self, query: Query, scope: Scope, known: frozenset[str] = frozenset()) -> Iterator[bool]:
        if (views := self.maintained.get(query.span)) is not None:
            yield views.delta is not None
            return
        if (lookup := self.lookups.get(query.span)) is not None:
            yield lookup.delta is not None
            return
        names = known
        for cte in query.ctes:
            if cte.query.span.start in self.known:
                yield self.known[cte.query.span.start].delta is not None
            else:
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
                elif isinstance(item.relation, TableName) and not self._is_local(item.relation, known):
                    yield self.views_of(item.relation, scope).delta is not None
            yield from self._expression_changes(expressions(body), scope, known)

    def _expression_changes(
        self, spans: tuple[Span | None, ...], scope: Scope, known: frozenset[str] = frozenset()
    ) -> Iterator[bool]:
        for subquery in self.blocks.subqueries(*spans):
            yield from self._changes(subquery.query, scope, known)


def named(sql: str, columns: str, *, weight: bool = False) -> str:
    """A query whose columns have the names of a list, if there is one; with ``weight`` the last is the weight.

    >>> named("SELECT 1", "`a b`")
    'SELECT * FROM (SELECT 1) AS __trickle_q(`a b`)'
    """
    if not columns:
        return sql
    names = f"{columns}, {WEIGHT}" if weight else columns
    return f"SELECT * FROM ({sql}) AS {RESERVED}q({names})"


def numbered(count: int) -> list[str]:
    """Names for the columns of a result, by position.

    >>> numbered(2)
    ['`__trickle_c1`', '`__trickle_c2`']
    """
    return [quote(f"{RESERVED}c{number}") for number in range(1, count + 1)]


def replaced(published: Published, which: str, *after: str) -> Change:
    """The published rows that fulfil a condition go, and others come.

    Args:
        published: The result before; in the condition it is called `__trickle_p`.
        which: The condition.
        after: Queries for the rows that come.
    """
    alias, names = f"AS {RESERVED}p", ", ".join(quote(name) for name in published.columns)
    if published.placed is None:
        parts = [weighted(sql, 1) for sql in after]
        before = weighted(f"SELECT * FROM {quote(published.rows)} {alias} WHERE {which}", -1)
        return Change(" UNION ALL ".join([*parts, before]))
    nowhere = f"CAST(NULL AS STRING) AS {FILE}, CAST(NULL AS BIGINT) AS {POSITION}"
    parts = [f"SELECT *, CAST(1 AS BIGINT) AS {WEIGHT}, {nowhere} FROM ({sql})" for sql in after]
    placed = f"{names}, CAST(-1 AS BIGINT) AS {WEIGHT}, {FILE}, {POSITION} FROM {quote(published.placed)}"
    return Change(" UNION ALL ".join([*parts, f"SELECT {placed} {alias} WHERE {which}"]), placed=True)


def weighted(sql: str, weight: int) -> str:
    """Every row of a query with the same weight."""
    return f"SELECT *, CAST({weight} AS BIGINT) AS {WEIGHT} FROM ({sql})"
