"""A SELECT whose rows come one by one: filter, columns, joins, lateral views, subqueries.

Δ(π σ L) = π σ ΔL                                        for every term ΔL of the joins
Δ σ[S] L = σ[S'] ΔL  +  σ[S'] A  -  σ[S] A               where S is a subquery in an expression, and A the
                                                         rows of L for which its answer may have changed
         = σ[S'] ΔL  +  ([S'] - [S]) A                   where auxiliary state tells both answers for every row of A:
                                                         A is read once, and each row counts 1, 0 or -1
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.equalities import equalities
from airflow_trickle.blocks.expressions import conjuncts, probe_of
from airflow_trickle.blocks.refusals import refuse_stars_in_calls, star_in_calls, star_in_rows
from airflow_trickle.blocks.shapes import (
    Derived,
    Item,
    NotInBlocks,
    Query,
    Select,
    Span,
    Subquery,
    SubqueryKind,
    is_within,
)
from airflow_trickle.engine.delta.answers import looked_up_by
from airflow_trickle.engine.delta.context import Column, Context, Lookup, Scope, Version, Views
from airflow_trickle.engine.delta.joins import Joins
from airflow_trickle.engine.delta.narrowing import Narrowing
from airflow_trickle.engine.delta.terms import Term, all_of, uniform
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, parse_alias, quote, split_dotted, unquote


class Block:
    """One SELECT and the terms of its change."""

    def __init__(
        self,
        context: Context,
        select: Select,
        scope: Scope,
        deltas: dict[int, str | None],
        conditions: tuple[str, ...] = (),
    ) -> None:
        self.context = context
        self.select = select
        self.scope = scope
        #: Conditions beside those of the text.
        self.conditions = conditions
        self.joins = Joins(context, select, scope, deltas)
        self.narrowing = Narrowing(context, select, scope)

    @property
    def count(self) -> int:
        """How many relations it reads."""
        return len(self.select.sources)

    def row_terms(self) -> list[Term]:
        """The change of the rows that FROM and WHERE give."""
        refuse_stars_in_calls(self.context.blocks, self.select)
        return [*self._joined_terms(), *self._asked_terms(self._row_expressions())]

    def _joined_terms(self) -> list[Term]:
        """The terms of the joins; subqueries read what their rows can meet."""
        inner = [
            (select, self.scope)
            for subquery in self.context.blocks.subqueries(*expressions(self.select))
            if (select := _plain_select(subquery.query)) is not None
        ]
        asked = {
            subquery.query.span.start: lookup
            for subquery in self.context.blocks.subqueries(*expressions(self.select))
            if (lookup := self.context.lookups.get(subquery.query.span)) is not None
        }
        found = []
        for term in self.joins.terms():
            enough = {**self.narrowing.in_subqueries(term, inner), **self.narrowing.in_lookups(term, asked)}
            found.append(replace(term, enough={**term.enough, **enough}))
        return found

    def plain_terms(self) -> list[Term]:
        """The same, with the subqueries of the columns: all that a SELECT without groups needs."""
        refuse_stars_in_calls(self.context.blocks, self.select)
        return [*self._joined_terms(), *self._asked_terms(expressions(self.select))]

    def star_in_call(self) -> int | None:
        """Where a star stands inside a function."""
        return star_in_calls(self.context.blocks, self.select)

    def only_gains(self, terms: list[Term]) -> bool:
        """Whether it is known beforehand that by some terms no row goes."""
        return all(term.weight == WEIGHT and self.joins.grows(term) for term in terms)

    def changed_elsewhere(self, but: Collection[Span] = ()) -> bool:
        """Whether a subquery changed that stands in the columns, in HAVING or the like; some are left out."""
        others = tuple(span for span in expressions(self.select) if span not in self._row_expressions())
        return any(one.query.span not in but for one in self._changed(others))

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
        self._require_inner_joins()
        at_once = self._by_answers(changed[0]) if len(changed) == 1 else None
        if at_once is not None:
            return at_once
        affected = [affected_by(self, subquery) for subquery in changed]
        tests = [part.condition for part in affected if part.condition != "false"]
        if not tests:
            return []
        condition = "true" if "true" in tests else " OR ".join(f"({part})" for part in tests)
        # With several of them, a row may be affected by one and have to be read in full by another.
        enough = affected[0].enough if len(affected) == 1 else {}
        return [
            replace(uniform(self.count, Version.OLD, weight), conditions=(condition,), inner=version, enough=enough)
            for version, weight in ((Version.NEW, 1), (Version.OLD, -1))
        ]

    def _by_answers(self, subquery: Subquery) -> list[Term] | None:
        """The rows for which a condition with a subquery is true now and was not, or the other way round.

        They are read once: auxiliary state has told both answers for every key that has another one. None if a row has
        to be asked anew.
        """
        context, where = self.context, self.select.where
        lookup = context.lookups.get(subquery.query.span)
        if lookup is None or not lookup.answered or where is None or not is_within(subquery.span, where):
            return None
        met = looked_up_by(context, self.narrowing.relations, lookup)
        if met is None:
            return []
        if not met.one_key:
            return None
        parts = [part.span for part in conjuncts(context.blocks.cursor(where))] or [where]
        around = next(part for part in parts if is_within(subquery.span, part))
        begin, end = Span(around.start, subquery.whole.start), Span(subquery.whole.end, around.end)
        head, tail = (context.expression(span, Version.NEW, self.scope) for span in (begin, end))
        if lookup.is_list:
            head = tail = ""
        before, after = (f"IF({head}{answer}{tail}, 1, 0)" for answer in (met.before, met.after))
        others = tuple(context.expression(part, Version.NEW, self.scope) for part in parts if part is not around)
        term = replace(uniform(self.count, Version.OLD), beside=met.beside)
        return [
            replace(
                term,
                enough=self.narrowing.cut_by(term, met.beside, lookup),
                weight=f"CAST({after} - {before} AS BIGINT)",
                sign=0,
                conditions=(*met.conditions, f"{after} <> {before}"),
                where=others,
            )
        ]

    def _require_inner_joins(self) -> None:
        """Whether a row of an outer join has a partner must not hang on a subquery that changed."""
        for source in self.select.sources:
            if source.kind not in (None, JoinKind.INNER, JoinKind.CROSS) and any(
                True for _ in self._changed((source.on,))
            ):
                why = "a subquery in ON of a join that is not an inner one is recomputed in full"
                raise NotInBlocks(why, source.relation.span.start)

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

        def said(span: Span) -> str:
            return self.context.expression(span, term.inner, self.scope, term.enough)

        if columns is None:
            columns = ", ".join(self.items(term))
        if term.weight:
            columns = f"{columns}, {term.weight} AS {WEIGHT}"
        parts = [f"SELECT {'DISTINCT ' if distinct else ''}{columns}"]
        if term.versions:
            parts.append(f"FROM {self.joins.from_text(term)}")
        if self.select.laterals is not None:
            parts.append(said(self.select.laterals))
        where = [f"({part})" for part in term.conditions if part != "true"]
        if filtered:
            given = term.where
            if given is None:
                given = () if self.select.where is None else (said(self.select.where),)
            where = [*(f"({part})" for part in (*given, *self.conditions)), *where]
        if where:
            parts.append(f"WHERE {' AND '.join(where)}")
        if grouped:
            parts += self._behind_where(term)
        return " ".join(parts)

    def columns_of(self, spans: Sequence[Span], *, over_groups: bool) -> list[Column]:
        """The names and types of some expressions over the rows of the block, or over its groups."""
        if not spans:
            return []
        return self.context.bench.columns(self.columns_sql(spans, over_groups=over_groups))[-len(spans) :]

    def columns_sql(self, spans: Sequence[Span], *, over_groups: bool) -> str:
        """A query whose last columns are some expressions over the rows of the block, or over its groups."""
        everything = all_of(self.count, Version.NEW)
        texts = [self.context.expression(span, Version.NEW, self.scope) for span in spans]
        if over_groups:
            # With the columns of the text, which GROUP BY may name by alias or position.
            texts = [*self.items(everything), *texts]
        # Without WHERE, which may name columns of a query around this one.
        return self.sql(everything, columns=", ".join(texts), grouped=over_groups, filtered=False)

    def items(self, term: Term) -> list[str]:
        """The columns of the text as one term reads them."""
        return [self._item(item, term) for item in self.select.items]

    def _behind_where(self, term: Term) -> list[str]:
        clauses = {
            "GROUP BY": self.select.group,
            "HAVING": self.select.having,
            "QUALIFY": self.select.qualify,
            "WINDOW": self.select.windows,
        }
        # In the order of the text, which is the one that Spark took.
        given = sorted((span.start, words, span) for words, span in clauses.items() if span is not None)
        return [
            f"{words} {self.context.expression(span, term.inner, self.scope, term.enough)}" for _, words, span in given
        ]

    def _item(self, item: Item, term: Term) -> str:
        text = self.context.expression(item.span, term.inner, self.scope, term.enough)
        hidden = ", ".join(self._hidden(item.star, term)) if item.star is not None else ""
        if hidden:
            if item.star_except is None:
                return f"{text} EXCEPT ({hidden})"
            at = item.star_except - item.span.start
            return f"{text[:at]}, {hidden}{text[at:]}"
        named = self.context.names.get(item.span)
        alias = quote(named) if item.alias is None and named is not None else item.alias
        return text if alias is None else f"{text} AS {alias}"

    def _hidden(self, qualifier: str, term: Term) -> list[str]:
        """What a star would show that is not of the text."""
        found = [WEIGHT] if self._shows_weight(qualifier, term) else []
        return [*found, *term.beside.columns] if term.beside is not None and not qualifier else found

    def _shows_weight(self, qualifier: str, term: Term) -> bool:
        """Whether a star would show the weight of the changed rows."""
        if Version.DELTA not in term.versions:
            return False
        if not qualifier:
            # Behind a semi or anti join the right side is not seen.
            return True
        at = term.versions.index(Version.DELTA)
        alias, parts = self.context.alias_of(self.select.sources[at]), split_dotted(qualifier)
        # With more parts it is a star over a struct, or over a relation by its full name.
        return bool(alias) and len(parts) == 1 and fold(parse_alias(alias).name) == fold(unquote(parts[0]))


@dataclass(frozen=True)
class Affected:
    """For which rows the answer of a subquery may have changed ("true": all), and what is enough to answer it there."""

    condition: str
    #: By where a table's name stands in the subquery: which of its rows.
    enough: dict[int, str] = field(default_factory=dict)


def affected_by(block: Block, subquery: Subquery) -> Affected:
    """For which rows the answer of a subquery may have changed.

    The subquery's own text with its relations replaced by their changes: where that has a row, the answer may
    be another one. Names mean what they mean in the query, since the text stands where it stood.
    """
    context, scope = block.context, block.scope
    select, by_state = _plain_select(subquery.query), _affected_by_state(block, subquery)
    if select is None or by_state is not None:
        return by_state or Affected("true")
    inner = Block(context, select, scope, {})
    probe = _probe(block, subquery) if subquery.kind is SubqueryKind.IN and _has_values_of_rows(inner) else None
    if _has_changed_derived(inner) or star_in_rows(context.blocks, select) is not None:
        return Affected("true")  # a star would hold the weight of the changed rows
    if any(True for _ in inner._changed(expressions(select))):
        return Affected("true" if probe is None else _among_moved(inner, subquery.query, probe))
    terms = inner.joins.terms()
    return _where_rows_changed(block, inner, terms) if probe is None else Affected(_affected_in(inner, terms, probe))


def _affected_by_state(block: Block, subquery: Subquery) -> Affected | None:
    """The same, of a subquery that is answered from auxiliary state; None if it is not."""
    context = block.context
    lookup, views = context.lookups.get(subquery.query.span), context.maintained.get(subquery.query.span)
    if lookup is not None and lookup.keys:
        met = looked_up_by(context, block.narrowing.relations, lookup)
        return Affected("false" if met is None else met.affected)
    probe = _probe(block, subquery) if subquery.kind is SubqueryKind.IN else None
    if views is not None:
        if subquery.kind is SubqueryKind.SCALAR:
            return Affected(_answered_otherwise(block, subquery) or "true")
        return Affected("true" if probe is None else _among(probe, [_values(context, views)]))
    if lookup is None:
        return None
    return _affected_by_list(lookup, probe)


def _affected_by_list(lookup: Lookup, probe: str | None) -> Affected:
    """The same, of a list of IN with state: the rows whose value came into the list or went out of it."""
    if lookup.delta is None:
        return Affected("false")
    moved = f"SELECT {quote(f'{RESERVED}k0')} FROM {quote(lookup.delta)}"
    return Affected("true" if probe is None else _among(probe, [moved]))


def _answered_otherwise(block: Block, subquery: Subquery) -> str | None:
    """For which rows the part of WHERE with a scalar subquery says something else than before; None if not by parts.

    All its subqueries have to have state, and to name nothing of this query: then both answers are at hand.
    """
    context, where = block.context, block.select.where
    for part in conjuncts(context.blocks.cursor(where)) if where is not None else ():
        inside = list(context.blocks.subqueries(part.span))
        if not any(one.span == subquery.span for one in inside):
            continue
        if any(one.kind is not SubqueryKind.SCALAR or one.query.span not in context.maintained for one in inside):
            return None
        old, new = (context.expression(part.span, version, block.scope) for version in (Version.OLD, Version.NEW))
        return f"NOT (({old}) <=> ({new}))"
    return None


def _has_values_of_rows(inner: Block) -> bool:
    """Whether the values of a subquery are those of its rows: nothing is done to several rows at once."""
    select = inner.select
    alone = select.group is None and select.having is None and select.qualify is None
    calls = any(True for _ in inner.context.blocks.calls(*(item.span for item in select.items)))
    return alone and not calls and inner.star_in_call() is None


def _where_rows_changed(block: Block, inner: Block, terms: list[Term]) -> Affected:
    """For which rows a subquery has a changed row."""
    tests: list[str] = []
    enough: dict[int, str] = {}
    for term in terms:
        test = f"EXISTS ({inner.sql(replace(term, weight=''), columns='1', grouped=False)})"
        met = _correlated(block, inner, term)
        if met is None:
            continue
        rows, enough = met
        tests.append(" AND ".join([test, *rows]))
    condition = tests[0] if len(tests) == 1 else " OR ".join(f"({test})" for test in tests) or "false"
    return Affected(condition, enough if len(terms) == 1 else {})


def _among_moved(inner: Block, query: Query, probe: str) -> str:
    """x [NOT] IN (…) whose own subqueries changed: rows whose x is among the values that came or went."""
    context = inner.context
    if query.span not in context.moved:
        view = _moved(inner, query)
        if view == "":
            return "true"
        context.moved[query.span] = view
    view = context.moved[query.span]
    return "false" if view is None else _among(probe, [f"SELECT {RESERVED}v FROM {quote(view)}"])


def _moved(inner: Block, query: Query) -> str | None:
    """The view of the rows of a query that came or went, computed once; "" if that would be all of them."""
    context = inner.context
    if not context.bench.resolves(context.render(query, Version.NEW, inner.scope)):
        return ""  # it names something of the query around it
    try:
        terms = inner.plain_terms()
    except NotInBlocks:
        return ""
    if any("true" in term.conditions for term in terms):
        return ""
    if not terms:
        return None
    rows = " UNION ALL ".join(inner.sql(replace(term, weight=""), grouped=False) for term in terms)
    values = f"SELECT DISTINCT * FROM ({rows}) AS {RESERVED}q({RESERVED}v)"
    return context.bench.keep(values, "the changed values of a subquery")


def _correlated(block: Block, inner: Block, term: Term) -> tuple[list[str], dict[int, str]] | None:
    """What ``inner.a = outer.b`` says: of the outer rows that meet the change, and of the inner rows these can meet.

    None if it is certain that no outer row was there that meets the change.
    """
    changed = [at for at, version in enumerate(term.versions) if version is Version.DELTA]
    if len(changed) != 1:
        return [], {}
    at, inside, outside = changed[0], inner.narrowing.relations, block.narrowing.relations
    hidden = inside.hides()
    if hidden is None:
        return [], {}
    rows: list[str] = []
    enough: dict[int, str] = {}
    for pair in equalities(block.context.blocks, inner.select.where, bare=True):
        for one, other in (pair, pair[::-1]):
            known = inside.changed_key(at, one.name) if inside.find(one) == at else None
            if known is None or (other.qualifier or other.name) in hidden:
                continue
            there = outside.find(other)
            if there is None or (outside.types(there) or {}).get(other.name) != known.type:
                continue
            if known.ranges is not None:
                if outside.never_meets(there, Version.OLD, other.name, known.ranges):
                    return None
                rows.append(known.ranges.holds(other.text))
            relation = inner.select.sources[at].relation
            enough[relation.span.start] = inside.holds(known, quote(one.name))
    return rows, enough


def _affected_in(inner: Block, terms: list[Term], probe: str) -> str:
    """x [NOT] IN (…): rows whose x is among the changed values, or for which NULL makes the answer unknown."""
    return _among(probe, [inner.sql(replace(term, weight=""), grouped=False) for term in terms])


def _values(context: Context, views: Views) -> str:
    """The changed values of a subquery of one column that has auxiliary state."""
    rows = views.name(Version.DELTA)
    names = [quote(column.name) for column in context.bench.columns(f"SELECT * FROM {rows}")]
    return f"SELECT {names[0]} FROM {rows}"


def _among(probe: str, values: list[str]) -> str:
    """Whether a value is among others, or it is not known."""
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
