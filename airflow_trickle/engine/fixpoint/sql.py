"""The SQL of rules: all that a rule gives, what a change of its inputs adds and takes, and by which rank it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_trickle.blocks.check import table_names
from airflow_trickle.blocks.equalities import column_of
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import inner_queries
from airflow_trickle.blocks.shapes import CteBlock, Derived, Query, Select, SetOperation, Span
from airflow_trickle.engine.delta.context import (
    Column,
    Context,
    Guard,
    InputViews,
    Scope,
    Version,
    Views,
    Workbench,
    numbered,
)
from airflow_trickle.engine.delta.groups import require_exact
from airflow_trickle.engine.delta.program import change_inside, cte_views, derived_changes
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.engine.fixpoint.rules import Around, Rule, Text
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, parse_alias, quote, unquote


@dataclass
class World:
    """The tables outside of a cycle in one pair of states, and their CTEs, which are computed once."""

    bench: Workbench
    #: By identifier.
    tables: Mapping[str, Views]
    #: Whether rows are compared with those of an earlier refresh: then queries inside of rules must come out as then.
    from_before: bool = False
    _ctes: dict[tuple[int, int], Views] = field(default_factory=dict)
    _exact: set[tuple[int, int]] = field(default_factory=set)
    _guards: dict[int, dict[Span, Guard]] = field(default_factory=dict)
    _names: dict[int, dict[Span, str]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether anything is different after than before."""
        return any(views.delta is not None for views in self.tables.values())

    def cte(self, text: Text, cte: CteBlock, context: Context, scope: Scope) -> Views:
        """The states of a CTE over these tables."""
        at = (id(text.blocks), cte.query.span.start)
        if at not in self._ctes:
            self.require_exact(text, (cte.query,), context, scope)
            self._ctes[at] = cte_views(context, cte, scope)
        return self._ctes[at]

    def require_exact(self, text: Text, queries: Iterable[Query], context: Context, scope: Scope) -> None:
        """Refuses queries inside of a rule that may come out otherwise than at an earlier refresh."""
        for query in queries if self.from_before else ():
            at = (id(text.blocks), query.span.start)
            if at not in self._exact:
                require_exact(context, query, scope)
                self._exact.add(at)

    def context(self, text: Text, tables: Mapping[int, InputViews], known: Mapping[int, Views]) -> Context:
        """A text over these tables; what makes its averages exact is shared by all that is made of it."""
        if not self.from_before:
            return Context(text.blocks, tables, self.bench, known=known, guards=None)
        at = id(text.blocks)
        guards, names = self._guards.setdefault(at, {}), self._names.setdefault(at, {})
        return Context(text.blocks, tables, self.bench, known=known, guards=guards, names=names)


@dataclass(frozen=True)
class RuleSql:
    """The SQL of one rule over the states of tables and members."""

    rule: Rule
    world: World
    #: By key.
    members: Mapping[str, Views]
    #: Identifier -> key of the member.
    keys: Mapping[str, str]
    #: Which rows are wanted: a view of such rows and its columns. Others may come out all the same.
    among: tuple[str, Sequence[Column]] | None = None

    def whole(self) -> str:
        """All rows that the rule gives, as everything is after."""
        if self.rule.outside is not None:
            context, scope = self._context()
            self.world.require_exact(self.rule.text, (self.rule.outside,), context, scope)
            return self._wrapped(context.render(self.rule.outside, Version.NEW, scope), weighted=False)
        block = self.block()
        return self._shown(block, all_of(block.count, Version.NEW))

    def changes(self) -> list[str]:
        """What the rule gives more (positive weight) and less, term by term.

        Nothing is added up: a row that comes by one way and goes by another is in it twice, and what goes may be more
        than what was there.
        """
        if self.rule.outside is not None:
            context, scope = self._context()
            change = change_inside(context, self.rule.outside, scope)
            return [] if change is None else [self._wrapped(change.sql, weighted=True)]
        block = self.block()
        return [self._shown(block, term) for term in block.plain_terms()]

    def ranked(self) -> str | None:
        """All rows with a rank in the place of the weight: that of the one member's row that each comes from.

        The view that stands for the change of that member has all its rows, with their ranks as weights. None if the
        rule reads several rows of members for one.
        """
        if not self.rule.members:
            return f"SELECT *, CAST(0 AS BIGINT) AS {WEIGHT} FROM ({self.whole()})"
        if self.rule.deep or len(self.rule.reads) != 1:
            return None
        block = self.block()
        (place,) = self.rule.reads
        versions = [
            Version.DELTA if source.relation.span.start == place else Version.NEW for source in block.select.sources
        ]
        return self._shown(block, Term(tuple(versions)))

    # --- text --------------------------------------------------------------------------------------

    def block(self) -> Block:
        """The SELECT of the rule over these states."""
        context, scope = self._context()
        select = self._select
        self.world.require_exact(self.rule.text, inner_queries(context.blocks, select), context, scope)
        return Block(context, select, scope, derived_changes(context, select, scope))

    @property
    def _select(self) -> Select:
        assert self.rule.select is not None  # noqa: S101 - asked before
        return self.rule.select

    def _context(self) -> tuple[Context, Scope]:
        text = self.rule.text
        tables = {
            place: InputViews(self.members[key], None)
            for place, key in self.rule.reads.items()
            if place not in {reference.start for reference in text.step.references}
        }
        for reference in text.step.references:
            key = self.keys.get(reference.identifier)
            views = self.world.tables.get(reference.identifier) if key is None else self.members.get(key)
            if views is not None:
                tables[reference.start] = InputViews(views, reference.alias)
        # Recursive CTEs inside of the text stand for members too.
        mine = f"{text.step.identifier}#"
        known = {int(key.removeprefix(mine)): views for key, views in self.members.items() if key.startswith(mine)}
        context = self.world.context(text, tables, known)
        scope: dict[str, Views] = {}
        needed = self._needed_names()
        for name, what in self.rule.names.items():
            if isinstance(what, CteBlock):
                if name not in needed:
                    continue
                scope[name] = self.world.cte(text, what, context, dict(scope))
            elif what in self.members:
                scope[name] = self.members[what]
        return context, scope

    def _needed_names(self) -> set[str]:
        """The CTEs that the rule reads, and those that these read."""
        blocks, rule = self.rule.text.blocks, self.rule
        query = rule.outside if rule.outside is not None else Query(self._select.span, (), self._select)
        needed = set(_names_read(blocks, query))
        for around in rule.around:
            needed |= set(_names_read(blocks, Query(around.select.span, (), around.select)))
        for name, what in reversed(list(rule.names.items())):
            if name in needed and isinstance(what, CteBlock):
                needed |= set(_names_read(blocks, what.query))
        return needed

    def _wanted(self, block: Block) -> Iterator[str]:
        """What wanted rows have in columns that are columns of an input: then only that is read of the input."""
        if self.among is None or self.rule.around:
            return
        view, columns = self.among
        spans = self.rule.items or [item.span for item in block.select.items]
        stars = any(item.star is not None for item in block.select.items)
        if stars or len(spans) != len(columns):
            return
        relations, value = block.narrowing.relations, f"{RESERVED}v"
        for span, column in zip(spans, columns, strict=True):
            found = column_of(block.context.blocks, span)
            at = None if found is None else relations.find(found)
            if found is None or at is None or (relations.types(at) or {}).get(found.name) != column.type:
                continue
            values = f"SELECT {quote(column.name)} AS {value} FROM {quote(view)}"
            yield f"EXISTS (SELECT 1 FROM ({values}) AS {RESERVED}r WHERE {RESERVED}r.{value} <=> {found.text})"

    def _shown(self, block: Block, term: Term) -> str:
        term = replace(term, conditions=(*term.conditions, *self._wanted(block)))
        columns = None
        if self.rule.items is not None:
            said = (block.context.expression(span, term.inner, block.scope, term.enough) for span in self.rule.items)
            names = numbered(len(self.rule.items))
            columns = ", ".join(f"{item} AS {name}" for item, name in zip(said, names, strict=True))
        return self._wrapped(block.sql(term, columns=columns), weighted=bool(term.weight))

    def _wrapped(self, sql: str, *, weighted: bool) -> str:
        for around in self.rule.around:
            sql = self._around(sql, around, weighted=weighted)
        return sql

    def _around(self, sql: str, around: Around, *, weighted: bool) -> str:
        source = around.select.sources[0]
        context, scope = self._context()
        alias = parse_alias(source.alias) if source.alias else None
        if alias is not None and alias.columns:
            names = list(alias.columns)
        else:
            assert isinstance(source.relation, Derived)  # noqa: S101 - only such are said around
            names = self._names_inside(context, scope, source.relation.query)
        weight = [WEIGHT] if weighted else []
        inner = f"SELECT * FROM ({sql}) AS {RESERVED}q({', '.join([*names, *weight])})"
        said = (context.expression(span, Version.NEW, scope) for span in around.items)
        items = [f"{item} AS {name}" for item, name in zip(said, numbered(len(around.items)), strict=True)]
        where = around.select.where
        condition = "" if where is None else f" WHERE {context.expression(where, Version.NEW, scope)}"
        named = "" if alias is None else f" AS {quote(alias.name)}"
        return f"SELECT {', '.join([*items, *weight])} FROM ({inner}){named}{condition}"

    def _names_inside(self, context: Context, scope: Scope, query: Query) -> list[str]:
        """What the columns of a query are called: by its first SELECT."""
        written = written_names(context.blocks, query)
        if written is None:
            first = _first_query(query)
            written = [column.name for column in context.bench.columns(context.render(first, Version.NEW, scope))]
        return [quote(name) for name in written]


def _names_read(blocks: Blocks, query: Query) -> Iterator[str]:
    for name in table_names(blocks, query):
        yield fold(unquote(blocks.slice(name.span)))


def written_names(blocks: Blocks, query: Query) -> list[str] | None:
    """The names that the first SELECT of a query gives to its columns; None if the text alone does not tell."""
    select = _first_query(query).body
    if not isinstance(select, Select) or any(item.star is not None for item in select.items):
        return None
    names = []
    for item in select.items:
        word = item.alias if item.alias is not None else blocks.slice(item.span).rpartition(".")[2]
        plain = unquote(word.strip())
        if item.alias is None and not plain.isidentifier():
            return None
        names.append(plain)
    return names


def _first_query(query: Query) -> Query:
    body = query.body
    if isinstance(body, Query):
        return _first_query(body)
    return _first_query(body.left) if isinstance(body, SetOperation) else query
