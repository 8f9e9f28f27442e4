"""Conditions that hold anyway, said aloud: where a change lies tells where its partners lie.

    ΔL ⋈[l = r] R = ΔL ⋈[l = r] σ[low ≤ r ≤ high] R            for low and high of l in ΔL

Spark then leaves out the row groups and files of R that hold no such value. If by the metadata of its files R holds
none at all, the term has no rows and is left out altogether: new orders with new lines meet nothing old. Where R is
large and more is joined, it is cut to the rows with an l of ΔL (a semi-join), so that Spark need not sort R. Only
equalities of two plain columns of one type are used, and only those that every row of the term fulfils: in WHERE, in ON
of inner joins, and in ON of the outer join that reads R itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.equalities import ColumnName, equalities
from airflow_trickle.blocks.shapes import Select, Span, TableName
from airflow_trickle.engine.delta.context import Context, Lookup, Scope, Version
from airflow_trickle.engine.delta.ranges import Ranges
from airflow_trickle.engine.delta.terms import INNER, Beside, Term
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import fold, parse_alias, quote, unquote

_ROW_BY_ROW = (JoinKind.INNER, JoinKind.CROSS)
_LEFT_DECIDES = (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def is_plain(kind: str) -> bool:
    """Whether IN compares values of a type as ``=`` does: it takes structs apart.

    >>> is_plain("bigint"), is_plain("struct<a:int>")
    (True, False)
    """
    return "<" not in kind


@dataclass(frozen=True)
class Known:
    """What is known of a column in every row of a term: it has one of the values of a changed column."""

    #: The position of the changed relation, and the folded name of its column.
    at: int
    origin: str
    type: str
    ranges: Ranges | None


class Relations:
    """The relations of one SELECT, to tell which of them a name means."""

    def __init__(self, context: Context, select: Select, scope: Scope) -> None:
        self._context = context
        self._select = select
        self._scope = scope

    def find(self, column: ColumnName) -> int | None:
        """The position of the relation whose column a name is; None if that is not beyond doubt."""
        if column.qualifier is not None:
            found = [at for at in range(len(self._select.sources)) if self.alias(at) == column.qualifier]
        else:
            known = [self.types(at) for at in range(len(self._select.sources))]
            if None in known or self._select.laterals is not None:
                return None
            found = [at for at, types in enumerate(known) if types is not None and column.name in types]
        return found[0] if len(found) == 1 else None

    def hides(self) -> set[str] | None:
        """The first words of names that mean something of this SELECT, not of one around it; None if not all are known.

        Besides the names of relations these are columns: before a dot, of a struct, fields are taken.
        """
        found: set[str] = set()
        for at in range(len(self._select.sources)):
            types, alias = self.types(at), self.alias(at)
            if types is None or alias is None or self._select.laterals is not None:
                return None
            found |= {alias, *types}
        return found

    def alias(self, at: int) -> str | None:
        """What a relation is called; None if it has a list of columns or no name."""
        words = self._context.alias_of(self._select.sources[at])
        parsed = parse_alias(words) if words else None
        return fold(parsed.name) if parsed is not None and not parsed.columns else None

    def types(self, at: int) -> Mapping[str, str] | None:
        """The types of a relation's columns by folded name, if it is a table."""
        relation = self._select.sources[at].relation
        if not isinstance(relation, TableName) or self.alias(at) is None:
            return None
        return self._context.views_of(relation, self._scope).types

    def changes(self, at: int) -> Mapping[str, Ranges]:
        """The ranges of a relation's change."""
        relation = self._select.sources[at].relation
        if not isinstance(relation, TableName) or self.alias(at) is None:
            return {}
        delta = self._context.views_of(relation, self._scope).delta
        return self._context.bench.ranges(delta) if delta is not None else {}

    def holds(self, known: Known, expression: str) -> str:
        """That an expression has one of the values of a changed column, as SQL."""
        relation = self._select.sources[known.at].relation
        assert isinstance(relation, TableName)  # noqa: S101 - only of tables the columns are known
        delta = self._context.views_of(relation, self._scope).name(Version.DELTA)
        among = f"{expression} IN (SELECT {quote(known.origin)} FROM {delta})"
        return among if known.ranges is None else f"{known.ranges.holds(expression)} AND {among}"

    def changed_key(self, at: int, column: str) -> Known | None:
        """What is known of a column of a relation in its changed rows; None if values are not compared as they are."""
        kind = (self.types(at) or {}).get(column)
        return None if kind is None or not is_plain(kind) else Known(at, column, kind, self.changes(at).get(column))

    def never_meets(self, at: int, version: Version, column: str, known: Ranges) -> bool:
        """Whether it is certain that a column of a table in one state has no value of some ranges."""
        relation = self._select.sources[at].relation
        if not isinstance(relation, TableName) or version not in (Version.OLD, Version.NEW):
            return False
        views = self._context.views_of(relation, self._scope)
        there = self._context.bench.ranges(views.old if version is Version.OLD else views.new).get(column)
        return there is not None and there.is_apart_from(known)


class Narrowing:
    """Adds such conditions to the terms of one SELECT."""

    def __init__(self, context: Context, select: Select, scope: Scope) -> None:
        self._context = context
        self._select = select
        self._scope = scope
        self.relations = Relations(context, select, scope)

    def narrowed(self, term: Term) -> Term:
        """The same rows, told with more conditions."""
        where: list[str] = []
        on: dict[int, list[str]] = {}
        cut: dict[int, list[str]] = {}
        for at, column, known, join in self._said(term):
            if self.is_cut(term, at):
                cut.setdefault(at, []).append(self.relations.holds(known, quote(column.name)))
            if known.ranges is None:
                continue
            if join is None:
                where.append(known.ranges.holds(column.text))
            else:
                on.setdefault(at, []).append(known.ranges.holds(column.text))
        more = {at: (*term.on.get(at, ()), *texts) for at, texts in on.items()}
        cutting = {self._select.sources[at].relation.span.start: " AND ".join(tests) for at, tests in cut.items()}
        return replace(
            term,
            conditions=(*term.conditions, *where),
            on={**term.on, **more},
            enough={**cutting, **term.enough},
        )

    def is_cut(self, term: Term, at: int) -> bool:
        """Whether a relation is to be cut to the rows with changed keys before it is joined.

        Spark joins in the order of the text where it knows no better: a large relation may be joined with another one
        before it meets the change. With two relations there is no other order.
        """
        relation = self._select.sources[at].relation
        read = term.versions[at] in (Version.OLD, Version.NEW)
        if len(term.versions) < 3 - (term.beside is not None) or not read or not isinstance(relation, TableName):
            return False
        views = self._context.views_of(relation, self._scope)
        return self._context.bench.is_large(views.old if term.versions[at] is Version.OLD else views.new)

    def cut_by(self, term: Term, beside: Beside, lookup: Lookup) -> dict[int, str]:
        """Of the relations that are to be cut: the rows with a key of what is joined beside, by equal columns."""
        found: dict[int, list[str]] = {}
        ranges = self._context.bench.ranges(beside.view)
        for name, column, kind in zip(beside.columns, lookup.keys, lookup.types, strict=False):
            at = self.relations.find(column)
            if at is None or not is_plain(kind) or (self.relations.types(at) or {}).get(column.name) != kind:
                continue
            for there, other in self._equal_to(term, Known(at, column.name, kind, None)):
                if there == at or not self.is_cut(term, there):
                    continue
                test, known = quote(other.name), ranges.get(unquote(name))
                among = f"{test} IN (SELECT {name} FROM {quote(beside.view)})"
                within = [known.holds(test)] if known is not None and known.type == kind else []
                found.setdefault(self._select.sources[there].relation.span.start, []).extend([*within, among])
        return {start: " AND ".join(tests) for start, tests in found.items()}

    def _equal_to(self, term: Term, known: Known) -> list[tuple[int, ColumnName]]:
        """The columns that are equal to one in every row of a term."""
        found, equal = {(known.at, known.origin): known}, []
        while self._is_plain() and (more := next(self._more(term, found), None)):
            found[more[0], more[1].name] = known
            equal.append(more[:2])
        return equal

    def is_empty(self, term: Term) -> bool:
        """Whether it is certain that no row fulfils the equalities that every row of a term has to fulfil."""
        return any(
            join is None
            and known.ranges is not None
            and self.relations.never_meets(at, term.versions[at], column.name, known.ranges)
            for at, column, known, join in self._said(term)
        )

    def known(self, term: Term) -> dict[tuple[int, str], Known]:
        """By relation and folded column: which values it has in every row of a term."""
        return self._of_change(term) | {(at, column.name): known for at, column, known, _ in self._said(term)}

    def _of_change(self, term: Term) -> dict[tuple[int, str], Known]:
        at = self._changed(term)
        types = {} if at is None else self.relations.types(at) or {}
        if at is None:
            return {}
        ranges = self.relations.changes(at)
        return {(at, name): Known(at, name, kind, ranges.get(name)) for name, kind in types.items() if is_plain(kind)}

    def _changed(self, term: Term) -> int | None:
        changed = [at for at, version in enumerate(term.versions) if version is Version.DELTA]
        whole = len(term.versions) == len(self._select.sources)
        return changed[0] if len(changed) == 1 and whole and self._is_plain() else None

    def _said(self, term: Term) -> list[tuple[int, ColumnName, Known, int | None]]:
        known, said = self._of_change(term), []
        while found := next(self._more(term, known), None):
            known[found[0], found[1].name] = found[2]
            said.append(found)
        return said

    def _is_plain(self) -> bool:
        kinds = {source.kind for source in self._select.sources[1:]}
        return kinds <= {*_ROW_BY_ROW, *_LEFT_DECIDES}

    def _more(
        self, term: Term, found: Mapping[tuple[int, str], Known]
    ) -> Iterator[tuple[int, ColumnName, Known, int | None]]:
        """Columns that are equal to one with known ranges; with the position of the outer join that says so."""
        said: list[tuple[int | None, Span | None]] = [(None, self._select.where)]
        for at, source in enumerate(self._select.sources):
            if source.kind in _ROW_BY_ROW or term.joins.get(at) == INNER:
                said.append((None, source.on))
            elif source.kind in _LEFT_DECIDES:
                said.append((at, source.on))
        for join, condition in said:
            for pair in equalities(self._context.blocks, condition, bare=True):
                for one, other in (pair, pair[::-1]):
                    here, there = self.relations.find(one), self.relations.find(other)
                    known = found.get((here, one.name)) if here is not None else None
                    if known is None or there is None or (there, other.name) in found:
                        continue
                    if (self.relations.types(there) or {}).get(other.name) != known.type:
                        continue
                    if join is None or there == join:
                        yield there, other, known, join

    def partners(self, at: int, condition: Span | None) -> tuple[list[str], list[str]] | None:
        """For rows that have a partner in the change of a relation: what that says of them, and of the partners.

        None if it is certain that there are no such rows in the state before.
        """
        ranges, rows, partners = self.relations.changes(at), [], []
        for pair in equalities(self._context.blocks, condition, bare=True):
            for one, other in (pair, pair[::-1]):
                known = ranges.get(one.name) if self.relations.find(one) == at else None
                there = self.relations.find(other)
                if known is None or there is None or there == at:
                    continue
                if (self.relations.types(there) or {}).get(other.name) == known.type:
                    if self.relations.never_meets(there, Version.OLD, other.name, known):
                        return None
                    rows.append(known.holds(other.text))
                    partners.append(known.holds(one.text))
        return rows, partners

    def with_changed_keys(self, at: int, condition: Span | None) -> dict[int, str]:
        """Of a relation that changed, by where its name stands: the rows with a key that a changed row has too.

        For rows with a partner in its change these are all partners there can be: ``l.a = r.b`` holds for both.
        """
        tests = []
        for pair in equalities(self._context.blocks, condition, bare=True):
            for one, other in (pair, pair[::-1]):
                there = self.relations.find(other)
                if self.relations.find(one) != at or there is None or there == at:
                    continue
                known = self.relations.changed_key(at, one.name)
                if known is not None and (self.relations.types(there) or {}).get(other.name) == known.type:
                    tests.append(self.relations.holds(known, quote(one.name)))
        return {self._select.sources[at].relation.span.start: " AND ".join(tests)} if tests else {}

    def in_subqueries(self, term: Term, subqueries: Iterable[tuple[Select, Scope]]) -> dict[int, str]:
        """By where a table's name stands in a subquery: which of its rows can meet a row of the term.

        For ``outer.a = inner.b`` in the WHERE of the subquery, these are the rows whose b is one of the values of a.
        """
        found, enough = self.known(term), {}
        for select, scope in subqueries if found else ():
            inner = Relations(self._context, select, scope)
            hidden = inner.hides()
            if hidden is None:
                continue
            for pair in equalities(self._context.blocks, select.where, bare=True):
                for one, other in (pair, pair[::-1]):
                    here, there = inner.find(one), self.relations.find(other)
                    if here is None or there is None or (other.qualifier or other.name) in hidden:
                        continue
                    known = found.get((there, other.name))
                    if known is not None and (inner.types(here) or {}).get(one.name) == known.type:
                        enough[select.sources[here].relation.span.start] = self.relations.holds(known, quote(one.name))
        return enough

    def in_lookups(self, term: Term, lookups: Mapping[int, Lookup]) -> dict[int, str]:
        """By where a subquery stands that is answered from auxiliary state: the entries that a term may ask for."""
        found, enough = self.known(term) if lookups else {}, {}
        for start, lookup in lookups.items():
            tests = []
            for number, (column, kind) in enumerate(zip(lookup.keys, lookup.types, strict=True)):
                there = self.relations.find(column)
                known = found.get((there, column.name)) if there is not None else None
                if known is not None and known.type == kind:
                    tests.append(self.relations.holds(known, quote(f"{RESERVED}k{number}")))
            if tests:
                enough[start] = " AND ".join(tests)
        return enough
