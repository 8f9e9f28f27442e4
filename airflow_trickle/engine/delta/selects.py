"""A SELECT whose rows come one by one: filter, columns, joins, lateral views, subqueries.

Δ(π σ L) = π σ ΔL                                        for every term ΔL of the joins
Δ σ[S] L = σ[S'] ΔL  +  σ[S'] A  -  σ[S] A               where S is a subquery in an expression, and A the
                                                         rows of L for which its answer may have changed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.expressions import probe_of, star_in_call
from airflow_trickle.blocks.shapes import Derived, Item, NotInBlocks, Query, Select, Span, Subquery, SubqueryKind
from airflow_trickle.engine.delta.context import Context, Scope, Version
from airflow_trickle.engine.delta.joins import Joins, Term, uniform
from airflow_trickle.engine.zset import RESERVED, WEIGHT


class Block:
    """One SELECT and the terms of its change."""

    def __init__(self, context: Context, select: Select, scope: Scope, deltas: dict[int, str | None]) -> None:
        self.context = context
        self.select = select
        self.scope = scope
        self.joins = Joins(context, select, scope, deltas)

    @property
    def count(self) -> int:
        """How many relations it reads."""
        return len(self.select.sources)

    def row_terms(self) -> list[Term]:
        """The change of the rows that FROM and WHERE give."""
        return [*self.joins.terms(), *self._asked_terms(self._row_expressions())]

    def plain_terms(self) -> list[Term]:
        """The same, with the subqueries of the columns: all that a SELECT without groups needs."""
        star = self.star_in_call()
        if star is not None:
            # It would hold the weight of the changed rows.
            raise NotInBlocks("a star inside a function is recomputed in full", star)
        return [*self.joins.terms(), *self._asked_terms(expressions(self.select))]

    def star_in_call(self) -> int | None:
        """Where a star stands inside a function."""
        stars = {item.span for item in self.select.items if item.star is not None}
        return star_in_call(self.context.blocks, (span for span in expressions(self.select) if span not in stars))

    def changed_elsewhere(self) -> bool:
        """Whether a subquery changed that stands in the columns, in HAVING or the like."""
        others = tuple(span for span in expressions(self.select) if span not in self._row_expressions())
        return any(True for _ in self._changed(others))

    def _row_expressions(self) -> tuple[Span | None, ...]:
        return (self.select.where, self.select.laterals, *(source.on for source in self.select.sources))

    def _changed(self, spans: tuple[Span | None, ...]) -> Iterator[Subquery]:
        for subquery in self.context.blocks.subqueries(*spans):
            if self.context.reads_change(subquery.query, self.scope):
                yield subquery

    def _asked_terms(self, spans: tuple[Span | None, ...]) -> list[Term]:
        changed = list(self._changed(spans))
        if not changed:
            return []
        affected = [affected_by(self, subquery) for subquery in changed]
        condition = "true" if "true" in affected else " OR ".join(f"({part})" for part in affected)
        return [
            replace(uniform(self.count, Version.OLD, weight), conditions=(condition,), inner=version)
            for version, weight in ((Version.NEW, 1), (Version.OLD, -1))
        ]

    # --- text --------------------------------------------------------------------------------------

    def sql(
        self,
        term: Term,
        *,
        columns: str | None = None,
        grouped: bool = True,
        distinct: bool = False,
        filtered: bool = True,
    ) -> str:
        """The SELECT as one term reads it; the weight comes last, if the term has one.

        Args:
            term: The state of every relation.
            columns: Other columns than those of the text.
            grouped: With GROUP BY and what follows it.
            distinct: With DISTINCT.
            filtered: With WHERE.
        """
        said = self.context.expression
        if columns is None:
            columns = ", ".join(self._item(item, term) for item in self.select.items)
        if term.weight:
            columns = f"{columns}, {term.weight} AS {WEIGHT}"
        parts = [f"SELECT {'DISTINCT ' if distinct else ''}{columns}"]
        if term.versions:
            parts.append(f"FROM {self.joins.from_text(term)}")
        if self.select.laterals is not None:
            parts.append(said(self.select.laterals, term.inner, self.scope))
        where = [f"({part})" for part in term.conditions if part != "true"]
        if self.select.where is not None and filtered:
            where.insert(0, f"({said(self.select.where, term.inner, self.scope)})")
        if where:
            parts.append(f"WHERE {' AND '.join(where)}")
        if grouped:
            parts += self._behind_where(term)
        return " ".join(parts)

    def _behind_where(self, term: Term) -> list[str]:
        clauses = {
            "GROUP BY": self.select.group,
            "HAVING": self.select.having,
            "QUALIFY": self.select.qualify,
            "WINDOW": self.select.windows,
        }
        # In the order of the text, which is the one that Spark took.
        given = sorted((span.start, words, span) for words, span in clauses.items() if span is not None)
        return [f"{words} {self.context.expression(span, term.inner, self.scope)}" for _, words, span in given]

    def _item(self, item: Item, term: Term) -> str:
        text = self.context.expression(item.span, term.inner, self.scope)
        if item.star is not None and self._shows_weight(item.star, term):
            if item.star_except is None:
                return f"{text} EXCEPT ({WEIGHT})"
            at = item.star_except - item.span.start
            return f"{text[:at]}, {WEIGHT}{text[at:]}"
        return text if item.alias is None else f"{text} AS {item.alias}"

    def _shows_weight(self, qualifier: str, term: Term) -> bool:
        """Whether a star would show the weight of the changed rows."""
        if Version.DELTA not in term.versions:
            return False
        if not qualifier:
            # Behind a semi or anti join the right side is not seen.
            return True
        at = term.versions.index(Version.DELTA)
        alias = self.context.alias_of(self.select.sources[at]).partition("(")[0].split()
        named = "".join(qualifier.split()).strip(".").strip("`").casefold()
        return bool(alias) and alias[-1].strip("`").casefold() == named


def affected_by(block: Block, subquery: Subquery) -> str:
    """For which rows the answer of a subquery may have changed; "true" for all.

    The subquery's own text with its relations replaced by their changes: where that has a row, the answer may
    be another one. Names mean what they mean in the query, since the text stands where it stood.
    """
    context, scope = block.context, block.scope
    select = _plain_select(subquery.query)
    if select is None:
        return "true"
    inner = Block(context, select, scope, {})
    if any(True for _ in inner._changed(expressions(select))) or _has_changed_derived(inner):
        return "true"
    terms = inner.joins.terms()
    # Its values are those of its rows only if nothing is done to several rows at once.
    alone = select.group is None and select.having is None and select.qualify is None
    calls = any(True for _ in context.blocks.calls(*(item.span for item in select.items)))
    if subquery.kind is SubqueryKind.IN and alone and not calls and inner.star_in_call() is None:
        probe = _probe(block, subquery)
        if probe is not None:
            return _affected_in(inner, terms, probe)
    tests = [f"EXISTS ({inner.sql(replace(term, weight=''), columns='1', grouped=False)})" for term in terms]
    return " OR ".join(tests) or "false"


def _affected_in(inner: Block, terms: list[Term], probe: str) -> str:
    """x [NOT] IN (…): rows whose x is among the changed values, or for which NULL makes the answer unknown."""
    values = [inner.sql(replace(term, weight=""), grouped=False) for term in terms]
    name = f"{RESERVED}v"
    tests = [f"{probe} IN ({value})" for value in values]
    tests += [f"EXISTS (SELECT 1 FROM ({value}) AS {RESERVED}n({name}) WHERE {name} IS NULL)" for value in values]
    return " OR ".join([*tests, f"{probe} IS NULL"])


def _plain_select(query: Query) -> Select | None:
    if query.ctes or query.limit is not None or query.skip is not None:
        return None
    return query.body if isinstance(query.body, Select) else None


def _has_changed_derived(block: Block) -> bool:
    return any(
        isinstance(source.relation, Derived) and block.context.reads_change(source.relation.query, block.scope)
        for source in block.select.sources
    )


def _probe(block: Block, subquery: Subquery) -> str | None:
    """What an IN looks for, where that can be told."""
    select, where = _plain_select(subquery.query), block.select.where
    if where is None or select is None or len(select.items) != 1 or select.items[0].star is not None:
        return None
    probe = probe_of(block.context.blocks, where, subquery)
    return None if probe is None else f"({block.context.expression(probe, Version.NEW, block.scope)})"
