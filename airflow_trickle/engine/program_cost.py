"""Estimates how many bytes a refresh from changes reads, from the query and file metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from airflow_trickle.blocks.equalities import ColumnName, equalities
from airflow_trickle.blocks.expressions import has_distinct
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import all_queries, calls_of
from airflow_trickle.blocks.shapes import (
    Body,
    Derived,
    Query,
    Select,
    SetOperation,
    Span,
    Subquery,
    SubqueryKind,
    TableName,
    is_within,
)
from airflow_trickle.engine.delta.top_k import is_of_rows
from airflow_trickle.engine.kept import ROOT
from airflow_trickle.identifiers import fold, parse_alias, unquote

#: Of a relation that is read for changed keys only, Spark reads the columns of the keys and leaves most rows out.
_KEYED = 0.5
#: How often the published top of a query is not enough when rows have gone.
_READ_ON = 0.1
#: Aggregates that are added to the published rows as long as rows only come.
_MERGED = frozenset(["count", "count_if", "sum", "min", "max"])


@dataclass(frozen=True)
class Relation:
    """An input: its bytes, those of its change, and whether rows only came; no change is 0 bytes."""

    size: int
    changed: int = 0
    grew: bool = True
    #: Its columns, folded.
    columns: frozenset[str] = frozenset()


#: Which share of a relation's bytes may hold partners of another one's changed rows, by their columns.
Overlap = Callable[[str, str, str, str], float]


@dataclass(frozen=True)
class Reads:
    """What a part of a query costs: whether it changes, the bytes for its change, and for all its rows."""

    changes: bool
    change: float
    whole: float
    #: Whether rows only come.
    grows: bool = True
    #: The input that it is, if it is one, and its columns.
    identifier: str | None = None
    columns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ProgramCost:
    """The bytes that a refresh from changes reads, and whether partitions of windows are computed again."""

    bytes: float
    windows: bool


def program_cost(
    blocks: Blocks,
    query: Query,
    inputs: Mapping[int, tuple[str, Relation]],
    states: Mapping[int, int],
    overlap: Overlap = lambda *_: 1.0,
) -> ProgramCost:
    """What a refresh of a query from changes reads.

    Args:
        blocks: The query in blocks.
        query: Its outermost part.
        inputs: By where the query names it: the identifier of a table, and its bytes.
        states: The bytes of each auxiliary state, by the number of the part.
        overlap: Which share of a relation may hold partners of a change.
    """
    numbers: dict[Span, int] = {}
    for number, part in enumerate(all_queries(blocks, query)):
        numbers.setdefault(part.span, number)
    found = _Costs(blocks, inputs, states, overlap, numbers)
    read = found.query(query, {}, outermost=True)
    return ProgramCost(read.change if read.changes else 0.0, found.windows)


@dataclass
class _Costs:
    blocks: Blocks
    inputs: Mapping[int, tuple[str, Relation]]
    states: Mapping[int, int]
    overlap: Overlap
    numbers: Mapping[Span, int]
    windows: bool = field(default=False)

    def query(self, query: Query, scope: Mapping[str, Reads], *, outermost: bool = False) -> Reads:
        """A query with its CTEs; the outermost one has the published rows."""
        inner = dict(scope)
        for cte in query.ctes:
            inner[cte.name] = Reads(False, 0, 0) if cte.recursive else self.query(cte.query, inner)
        state = self.states.get(self.numbers.get(query.span, -2))
        body = self.body(query.body, inner, outermost=outermost, state=state)
        if query.limit is not None and body.changes and state is None:
            return Reads(True, self._top(query, body), body.whole, grows=False)
        return body

    def _top(self, query: Query, body: Reads) -> float:
        """ORDER BY … LIMIT: what the change of rows reads, and now and then all rows, if some go; else all rows."""
        if query.limit is None or query.skip is not None or not is_of_rows(self.blocks, query.body):
            return body.whole
        return body.change if body.grows else body.change + _READ_ON * body.whole

    def body(self, body: Body, scope: Mapping[str, Reads], *, outermost: bool, state: int | None) -> Reads:
        """A SELECT, a set operation or a query in brackets."""
        if isinstance(body, Query):
            return self.query(body, scope, outermost=outermost)
        if isinstance(body, SetOperation):
            left, right = self.query(body.left, scope), self.query(body.right, scope)
            plain = Reads(
                left.changes or right.changes,
                left.change + right.change,
                left.whole + right.whole,
                grows=left.grows and right.grows,
            )
            return plain if body.all else self._counted(plain, outermost=outermost)
        if isinstance(body, Select):
            return self.select(body, scope, outermost=outermost, state=state)
        return Reads(False, 0, 0)

    def _counted(self, plain: Reads, *, outermost: bool) -> Reads:
        """DISTINCT and set operations: how often each row is there, by state, by published rows or counted again."""
        if not plain.changes:
            return plain
        if outermost and ROOT in self.states:
            return Reads(True, plain.change + self.states[ROOT], plain.whole, plain.grows)
        if outermost and plain.grows:
            return plain
        return Reads(True, plain.change + plain.whole, plain.whole, plain.grows)

    def select(self, select: Select, scope: Mapping[str, Reads], *, outermost: bool, state: int | None) -> Reads:
        """One SELECT: its joins, then its groups or windows."""
        sources = [self.relation(source.relation, scope) for source in select.sources]
        asked = [(one, self.query(one.query, scope)) for one in self._subqueries(select)]
        whole = sum(one.whole for one in sources) + sum(one.whole for _, one in asked)
        if not any(one.changes for one in (*sources, *(one for _, one in asked))):
            return Reads(False, 0, whole)
        grows = all(one.grows for one in sources) and not any(one.changes for _, one in asked)
        kept = self.states.get(ROOT) if outermost else None
        held = state if state is not None else kept
        over_groups = () if held is None else (*(item.span for item in select.items), select.having)
        rows = self._joined(select, sources) + self._asked(sources, asked, over_groups)
        calls = calls_of(self.blocks, select)
        windows = any(call.over is not None or call.window is not None for call in calls)
        self.windows |= windows
        below = sum(one.whole for one in sources)
        if windows or select.sets:
            return Reads(True, rows + below, whole, grows=False)
        if select.group is not None or select.group_all or calls:
            merged = grows and select.having is None and all(self._is_merged(call.name) for call in calls)
            merged = merged and not any(has_distinct(self.blocks, call) for call in calls)
            again = held if held is not None else 0 if merged and outermost else _KEYED * below
            return Reads(True, rows + again, whole, grows=False)
        plain = Reads(True, rows, whole, grows)
        return self._counted(plain, outermost=outermost) if select.distinct else plain

    def _is_merged(self, name: str) -> bool:
        return name in _MERGED

    def _subqueries(self, select: Select) -> Iterator[Subquery]:
        spans = (*(item.span for item in select.items), *(one.on for one in select.sources), select.where)
        yield from self.blocks.subqueries(*spans, select.having, select.qualify)

    def relation(self, relation: object, scope: Mapping[str, Reads]) -> Reads:
        """A table, a CTE or a derived table."""
        if isinstance(relation, Derived):
            return self.query(relation.query, scope)
        if not isinstance(relation, TableName):
            return Reads(False, 0, 0)
        found = self.inputs.get(relation.span.start)
        if found is None:
            return scope.get(fold(unquote(self.blocks.slice(relation.span))), Reads(False, 0, 0))
        identifier, one = found
        return Reads(one.changed > 0, one.changed, one.size, one.grew, identifier, one.columns)

    def _joined(self, select: Select, sources: list[Reads]) -> float:
        """The changed rows of each relation, and what they are joined with."""
        partners = self._partners(select, sources)
        total = 0.0
        for at, one in enumerate(sources):
            if not one.changes:
                continue
            total += one.change
            for other, partner in enumerate(sources):
                if other != at:
                    total += self._partner(sources, at, other, partners) if partner.whole else 0
        return total

    def _partner(
        self, sources: list[Reads], at: int, other: int, partners: Mapping[tuple[int, int], list[tuple[str, str]]]
    ) -> float:
        """The bytes of a relation in which partners of another one's changed rows are looked for."""
        columns, whole = partners.get((at, other)), sources[other].whole
        if not columns:
            return whole
        here, there = sources[at].identifier, sources[other].identifier
        if here is None or there is None:
            return _KEYED * whole
        return _KEYED * whole * min(self.overlap(here, mine, there, theirs) for mine, theirs in columns)

    def _asked(
        self, sources: list[Reads], asked: Iterable[tuple[Subquery, Reads]], over_groups: tuple[Span | None, ...]
    ) -> float:
        """What subqueries of expressions read: themselves for changed rows, the rows around for their own change.

        ``over_groups``: expressions over groups with state, of which the rows around need not be read.
        """
        around = sum(one.whole for one in sources)
        changes = any(one.changes for one in sources)
        total = 0.0
        for subquery, one in asked:
            keyed = _KEYED if self._is_keyed(subquery) else 1.0
            state = self.states.get(self.numbers.get(subquery.query.span, -2))
            by_state = any(span is not None and is_within(subquery.span, span) for span in over_groups)
            if one.changes:
                # Without state the rows around are asked twice, by what the subquery reads before and after.
                total += one.change + (0 if by_state else keyed * around * (1 if state is not None else 2))
            if changes or one.changes:
                total += state if state is not None else keyed * one.whole
        return total

    def _is_keyed(self, subquery: Subquery) -> bool:
        """Whether changed keys tell which rows a subquery answers otherwise for."""
        if subquery.kind is SubqueryKind.IN:
            return True
        body = subquery.query.body
        return isinstance(body, Select) and any(True for _ in equalities(self.blocks, body.where, bare=True))

    def _partners(self, select: Select, sources: list[Reads]) -> dict[tuple[int, int], list[tuple[str, str]]]:
        """By two positions: the columns by which the relations there are joined, straight or by a third one."""
        names = [self._name(one.alias, one.relation) for one in select.sources]
        classes: list[set[tuple[int, str]]] = []
        for condition in (select.where, *(one.on for one in select.sources)):
            for left, right in equalities(self.blocks, condition, bare=True):
                places = [_position(column, names, sources) for column in (left, right)]
                if None not in places:
                    _merge(
                        classes,
                        {(at, one.name) for at, one in zip(places, (left, right), strict=True) if at is not None},
                    )
        for at, one in enumerate(select.sources):
            for name in one.using:
                _merge(classes, {(before, fold(unquote(name))) for before in range(at + 1)})
        found: dict[tuple[int, int], list[tuple[str, str]]] = {}
        for equal in classes:
            for at, mine in sorted(equal):
                for other, theirs in sorted(equal):
                    if at != other:
                        found.setdefault((at, other), []).append((mine, theirs))
        return found

    def _name(self, alias: str, relation: object) -> str | None:
        if alias:
            parsed = parse_alias(alias)
            return fold(parsed.name) if parsed is not None else None
        if isinstance(relation, TableName):
            return fold(unquote(self.blocks.slice(relation.span).rpartition(".")[2]))
        return None


def _position(column: ColumnName, names: list[str | None], sources: list[Reads]) -> int | None:
    """The position of the relation that a column belongs to, as far as its name tells."""
    if column.qualifier is not None:
        return names.index(column.qualifier) if column.qualifier in names else None
    known = [at for at, one in enumerate(sources) if column.name in one.columns]
    # A name of no table may be that of a derived table or CTE.
    known = known or [at for at, one in enumerate(sources) if not one.columns]
    return known[0] if len(known) == 1 else None


def _merge(classes: list[set[tuple[int, str]]], more: set[tuple[int, str]]) -> None:
    """Add what is equal to the classes of what is equal."""
    touched = [one for one in classes if one & more]
    for one in touched:
        classes.remove(one)
        more = more | one
    classes.append(more)
