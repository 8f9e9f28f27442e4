"""The blocks of a query: spans of the user's own text, so that a rewritten query says what the user wrote.

An expression is never taken apart and written anew; only the relations that a block reads are replaced, and
conditions are added beside the user's. So Spark sees the same functions, literals and names as in the query.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from airflow_trickle.algebra.nodes import JoinKind, SetKind


class NotInBlocks(Exception):
    """A part of a query that cannot be refreshed from changes: why, and where it stands."""

    def __init__(self, why: str, offset: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text: ``text[start:end]``."""

    start: int
    end: int

    def holds(self, other: Span) -> bool:
        """Whether another span lies in this one."""
        return self.start <= other.start and other.end <= self.end


def is_within(inner: Span, outer: Span) -> bool:
    """Whether a part of the text is inside another one."""
    return outer.start <= inner.start and inner.end <= outer.end


@dataclass(frozen=True, slots=True)
class TableName:
    """A table or CTE, by the place of its name."""

    span: Span


@dataclass(frozen=True, slots=True)
class Derived:
    """A query in parentheses that is read like a table."""

    span: Span
    query: Query


@dataclass(frozen=True, slots=True)
class Constant:
    """VALUES or a function of literals: the same rows at every time."""

    span: Span


@dataclass(frozen=True, slots=True)
class RowFunction:
    """A table function over the columns of the relations before it: rows out of each row."""

    span: Span


Relation: TypeAlias = TableName | Derived | Constant | RowFunction


@dataclass(frozen=True, slots=True)
class FromItem:
    """One relation of FROM, and how it is joined to all those before it."""

    kind: JoinKind
    #: The words of the join as written: `,`, `LEFT OUTER JOIN`, …; empty for the first.
    words: str
    relation: Relation
    #: Alias with its list of columns, as written; empty if there is none.
    alias: str
    on: Span | None = None
    using: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A column of SELECT: the expression without its alias, and the alias as written."""

    span: Span
    alias: str | None
    #: ``*`` or ``t.*``; its qualifier as written, "" for the plain one.
    star: str | None = None
    #: Where to put another name into its EXCEPT list; None if it has no such list.
    star_except: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an aggregate or window function: its name, the whole span, and what stands in OVER."""

    name: str
    span: Span
    over: Span | None = None
    #: The name of the window behind OVER, if it is one.
    window: str | None = None


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT."""

    span: Span
    distinct: bool
    items: tuple[Item, ...]
    sources: tuple[FromItem, ...]
    #: The LATERAL VIEWs as written.
    laterals: Span | None = None
    where: Span | None = None
    #: GROUP BY as written, and its keys; ``sets`` for ROLLUP, CUBE, GROUPING SETS.
    group: Span | None = None
    keys: tuple[Span, ...] = ()
    group_all: bool = False
    sets: bool = False
    having: Span | None = None
    qualify: Span | None = None
    windows: Span | None = None


@dataclass(frozen=True, slots=True)
class SetOperation:
    """UNION, INTERSECT or EXCEPT of two bodies."""

    kind: SetKind
    all: bool
    left: Query
    right: Query
    span: Span
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """VALUES as a whole query."""

    span: Span


Body: TypeAlias = "Select | SetOperation | ConstantRows | Query"


@dataclass(frozen=True, slots=True)
class CteBlock:
    """A named part of a query; ``name`` is folded. ``recursive``: WITH RECURSIVE, so it may read itself."""

    name: str
    columns: str
    query: Query
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its WITH, ORDER BY and LIMIT."""

    span: Span
    ctes: tuple[CteBlock, ...]
    body: Body
    order: tuple[Span, ...] = ()
    limit: Span | None = None
    skip: Span | None = None
    #: Where the body begins, with its brackets.
    begin: int = 0


class SubqueryKind(str, Enum):
    """How a subquery in an expression is asked."""

    SCALAR = "scalar"
    EXISTS = "exists"
    IN = "in"


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query inside an expression; ``span`` has its parentheses."""

    span: Span
    kind: SubqueryKind
    query: Query
    #: The same with the word EXISTS before it, if it has one.
    whole: Span
