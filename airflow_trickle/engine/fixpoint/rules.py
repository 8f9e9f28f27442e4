"""A cycle as rules: every member a union of SELECTs over members and other tables.

    reach(a, b) :- edge(a, b)
    reach(a, c) :- reach(a, b), edge(b, c)

A CTE or derived table that reads a member becomes a member of its own, which nobody sees. What does not have this form
is not refused: it is computed without rules, see `naive`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import CteBlock, Query, Select, Span
from airflow_trickle.plan.steps import TableStep

#: What a name of a CTE stands for where a rule reads it: the key of a member, or a CTE over other tables.
Names = Mapping[str, "str | CteBlock"]


@dataclass(frozen=True)
class Text:
    """The query of one table and what its names of tables stand for, by their places."""

    step: TableStep
    blocks: Blocks
    query: Query


@dataclass(frozen=True)
class Best:
    """A member of which only the best value is kept for each combination of the other columns."""

    column: int
    #: ``min`` or ``max``.
    way: str


@dataclass(frozen=True)
class Around:
    """A SELECT over one relation, said around the rules of that relation."""

    select: Select
    #: The columns to show: of an aggregate only its argument.
    items: tuple[Span, ...]


@dataclass(frozen=True)
class Rule:
    """One SELECT of a member, or a query that reads no member at all (``outside``), and what it reads."""

    text: Text
    select: Select | None
    names: Names
    #: By place: the member that FROM reads there.
    reads: Mapping[int, str]
    #: Members that it reads otherwise: in a subquery, or behind a semi join.
    deep: frozenset[str] = frozenset()
    outside: Query | None = None
    around: tuple[Around, ...] = ()
    #: Other columns than those of the text.
    items: tuple[Span, ...] | None = None

    @property
    def members(self) -> frozenset[str]:
        """All members that it reads."""
        return frozenset(self.reads.values()) | self.deep


@dataclass
class Member:
    """A table of the cycle, or a part of a query that is recursive by itself (``step`` is None)."""

    key: str
    name: str
    step: TableStep | None
    text: Text
    #: The part of the text that defines it.
    query: Query
    names: Names
    #: What the CTEs of its query stand for, and those around it.
    inside: Names = field(default_factory=dict)
    #: All members that its query reads.
    members_inside: frozenset[str] = frozenset()
    #: The list of columns behind its name, as written.
    columns: str = ""
    #: Whether no row of it is there twice.
    distinct: bool = False
    #: Whether it is just the sum of its rules, copies included.
    is_sum: bool = False
    best: Best | None = None
    rules: tuple[Rule, ...] = ()
    #: Why it has no rules; ``typing`` then has what tells the types of its columns.
    why_not: str = ""
    typing: tuple[Rule, ...] = ()
    #: Where the query of the CTE begins that the member is, if it is one.
    stands_for: int | None = None

    @property
    def whole(self) -> Rule:
        """The defining query as it is, without being taken apart."""
        query = self.query
        span = Span(query.begin or query.span.start, query.span.end)
        behind = Query(span, (), query.body, query.order, query.limit, query.skip)
        return Rule(self.text, None, self.inside, {}, self.members_inside, outside=behind)

    @property
    def reads(self) -> frozenset[str]:
        """All members that its rules read."""
        return frozenset(key for rule in self.rules for key in rule.members)


def text_of(step: TableStep) -> Text:
    """The blocks of a table's query.

    Raises:
        NotInBlocks: it cannot be taken apart.
    """
    blocks, query = blocks_of(step.query, recursion=True)
    return Text(step, blocks, query)
