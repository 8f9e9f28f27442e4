"""The members and rules of tables, found in their queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_trickle.algebra.nodes import JoinKind, SetKind
from airflow_trickle.blocks.check import expressions, selects
from airflow_trickle.blocks.shapes import (
    Body,
    CteBlock,
    Derived,
    FromItem,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    TableName,
)
from airflow_trickle.engine.fixpoint.queries import folded, is_distinct, is_sum, only_shown, stripped, with_ctes
from airflow_trickle.engine.fixpoint.rules import Around, Member, Names, Rule, Text
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import parse_alias

#: Joins in which a row more on the right may take a row away, and those in which one more on the left may.
_MAY_TAKE = (JoinKind.LEFT, JoinKind.ANTI, JoinKind.FULL)
_RIGHT_DECIDES = (JoinKind.RIGHT, JoinKind.FULL)


@dataclass
class Finder:
    """Finds the members and rules of some tables.

    Attributes:
        keys: The tables of the cycle: identifier -> key of the member.
        found: The members, hidden ones before those that read them.
    """

    keys: Mapping[str, str]
    found: dict[str, Member] = field(default_factory=dict)
    _known: dict[tuple[str, int, int], Names] = field(default_factory=dict)
    #: How many members are being defined around the place at hand.
    _depth: int = 0

    def add(self, text: Text, *, is_member: bool = True) -> Member | None:
        """A table with the recursion inside of its query; the table itself only if it is part of the cycle."""
        step = text.step
        if not is_member:
            for query in with_ctes(text.blocks, text.query):
                self._names(text, query, {}, step.name)
            return None
        member = Member(step.identifier, step.name, step, text, text.query, {})
        self.found[member.key] = member
        self._define(member, text.query, {})
        for query in with_ctes(text.blocks, text.query):
            if query is not text.query and any(cte.recursive for cte in query.ctes):
                self._names(text, query, {}, step.name)
        # Hidden members come first: they are found on the way.
        self.found[member.key] = self.found.pop(member.key)
        return member

    # --- members -----------------------------------------------------------------------------------

    def _define(self, member: Member, query: Query, names: Names) -> None:
        self._depth += 1
        try:
            core, inner, columns = self._unwrapped(member, query, names)
            member.names, member.columns = inner, columns or member.columns
            member.query = core
            member.inside = self._names(member.text, core, inner, member.name)
            member.members_inside = frozenset(self._members_in(member.text, core, member.inside))
            member.distinct, member.is_sum = is_distinct(core), is_sum(core)
            lattice = member.step.lattice if member.step is not None else {}
            if lattice:
                member.rules = tuple(self._best_rules(member, core, inner, lattice))
            else:
                member.rules = tuple(self._rules(member.text, core, inner, member.name))
        except NotInBlocks as error:
            member.rules, member.why_not = (), error.why
            member.typing = tuple(self._parts(member.text, member.query, member.names, member.name))
        finally:
            self._depth -= 1

    def _unwrapped(self, member: Member, query: Query, names: Names) -> tuple[Query, Names, str]:
        """The defining query and what its CTEs stand for; of ``WITH m AS (…) SELECT * FROM m`` what stands inside."""
        last = only_shown(member.text.blocks, query)
        if last is None:
            return query, names, ""
        outer = replace(query, ctes=query.ctes[:-1])
        inner = dict(self._names(member.text, outer, names, member.name))
        if last.recursive:
            inner[last.name] = member.key
        member.stands_for = last.query.span.start
        return last.query, inner, last.columns

    def _names(self, text: Text, query: Query, names: Names, path: str) -> Names:
        """What the CTEs of a query stand for; those that read members, or themselves, are members."""
        at = (text.step.identifier, query.span.start, query.span.end)
        if at not in self._known or not query.ctes:
            self._known[at] = self._new_names(text, query, names, path)
        return self._known[at]

    def _new_names(self, text: Text, query: Query, names: Names, path: str) -> Names:
        inner = dict(names)
        needed = self._needed(text, query)
        for cte in query.ctes:
            key = _key(text, cte)
            if cte.recursive and self._reads_itself(text, cte):
                inner[cte.name] = key
            elif cte.name not in needed or not self._reads_member(text, cte.query, inner):
                inner[cte.name] = cte
                continue
            member = Member(key, f"{path}.{cte.name}", None, text, cte.query, inner, columns=cte.columns)
            self.found[key] = member
            self._define(member, cte.query, dict(inner))
            member.stands_for = cte.query.span.start
            self.found[key] = self.found.pop(key)
            inner[cte.name] = key
        return inner

    def _needed(self, text: Text, query: Query) -> set[str]:
        """The CTEs that may have to be members: in a cycle all, else only those that a recursive one reads."""
        if self.keys or self._depth:
            return {cte.name for cte in query.ctes}
        needed: set[str] = set()
        for cte in reversed(query.ctes):
            if cte.name in needed or (cte.recursive and self._reads_itself(text, cte)):
                needed |= {
                    folded(text.blocks, source.relation)
                    for select in selects(text.blocks, cte.query)
                    for source in select.sources
                    if isinstance(source.relation, TableName)
                }
        return needed

    def _reads_itself(self, text: Text, cte: CteBlock) -> bool:
        return any(
            isinstance(source.relation, TableName) and folded(text.blocks, source.relation) == cte.name
            for select in selects(text.blocks, cte.query)
            for source in select.sources
        )

    def member_at(self, text: Text, relation: TableName, names: Names) -> str | None:
        """The member that a name of a table stands for, if it is one."""
        for reference in text.step.references:
            if reference.start == relation.span.start:
                return self.keys.get(reference.identifier)
        known = names.get(folded(text.blocks, relation))
        return known if isinstance(known, str) else None

    def _reads_member(self, text: Text, query: Query, names: Names) -> bool:
        return any(True for _ in self._members_in(text, query, names))

    def _members_in(self, text: Text, query: Query, names: Names) -> Iterator[str]:
        for select in selects(text.blocks, query):
            for source in select.sources:
                if isinstance(source.relation, TableName):
                    key = self.member_at(text, source.relation, names)
                    if key is not None:
                        yield key
        for inner in with_ctes(text.blocks, query):
            for cte in inner.ctes:
                if cte.recursive and self._reads_itself(text, cte):
                    yield _key(text, cte)

    # --- rules -------------------------------------------------------------------------------------

    def _rules(self, text: Text, query: Query, names: Names, path: str) -> Iterator[Rule]:
        if not self._reads_member(text, query, names):
            yield Rule(text, None, names, {}, outside=query)
            return
        if query.limit is not None or query.skip is not None:
            raise NotInBlocks("it has a LIMIT", query.span.start)
        inner = self._names(text, query, names, path)
        yield from self._body_rules(text, query.body, inner, path)

    def _body_rules(self, text: Text, body: Body, names: Names, path: str) -> Iterator[Rule]:
        if isinstance(body, Query):
            yield from self._rules(text, body, names, path)
        elif isinstance(body, SetOperation):
            if body.kind is not SetKind.UNION:
                raise NotInBlocks(f"it has {body.kind.value.upper()}", body.span.start)
            yield from self._rules(text, body.left, names, path)
            yield from self._rules(text, body.right, names, path)
        elif isinstance(body, Select):
            yield self._rule(text, body, names, path)

    def _parts(self, text: Text, query: Query, names: Names, path: str) -> Iterator[Rule]:
        """What a query is made of by set operations of any kind, to tell the types of its columns."""
        body = query.body
        if not self._reads_member(text, query, names):
            yield Rule(text, None, names, {}, outside=query)
        elif isinstance(body, Query):
            yield from self._parts(text, body, names, path)
        elif isinstance(body, SetOperation):
            yield from self._parts(text, body.left, names, path)
            yield from self._parts(text, body.right, names, path)
        elif isinstance(body, Select):
            yield Rule(text, body, names, {}, deep=frozenset(self._members_in(text, query, names)))

    def _rule(self, text: Text, select: Select, names: Names, path: str) -> Rule:
        calls = list(text.blocks.calls(*(item.span for item in select.items), select.having, select.qualify))
        if calls or select.group is not None or select.having is not None:
            raise NotInBlocks("it groups rows of the cycle or numbers them", select.span.start)
        sources: list[FromItem] = []
        reads: dict[int, str] = {}
        deep: set[str] = set()
        for source in select.sources:
            key, lifted = self._source(text, source, names, path)
            sources.append(lifted)
            if source.kind in _RIGHT_DECIDES and (reads or deep or key is not None):
                raise NotInBlocks(f"it reads the cycle in a {source.kind.value} join", source.relation.span.start)
            if key is None:
                continue
            if source.kind in _MAY_TAKE:
                raise NotInBlocks(f"a {source.kind.value} join looks for rows of the cycle", source.relation.span.start)
            if source.kind is JoinKind.SEMI:
                deep.add(key)
            else:
                reads[lifted.relation.span.start] = key
        changed = replace(select, sources=tuple(sources))
        deep |= set(self._in_subqueries(text, changed, names))
        return Rule(text, changed, names, reads, frozenset(deep))

    def _source(self, text: Text, source: FromItem, names: Names, path: str) -> tuple[str | None, FromItem]:
        relation = source.relation
        if isinstance(relation, TableName):
            return self.member_at(text, relation, names), source
        if not isinstance(relation, Derived) or not self._reads_member(text, relation.query, names):
            return None, source
        key = f"{text.step.identifier}#{relation.span.start}"
        name = parse_alias(source.alias).name if source.alias else "subquery"
        member = Member(key, f"{path}.{name}", None, text, relation.query, names)
        self.found[key] = member
        self._define(member, relation.query, names)
        self.found[key] = self.found.pop(key)
        alias = source.alias or f"AS {RESERVED}d{relation.span.start}"
        return key, replace(source, relation=TableName(relation.span), alias=alias)

    def _in_subqueries(self, text: Text, select: Select, names: Names) -> Iterator[str]:
        for subquery in text.blocks.subqueries(*expressions(select)):
            yield from self._members_in(text, subquery.query, names)

    # --- best values -------------------------------------------------------------------------------

    def _best_rules(self, member: Member, query: Query, names: Names, lattice: Mapping[str, str]) -> Iterator[Rule]:
        """The rules of ``SELECT keys, MIN(x) AS value FROM … GROUP BY keys``, without the aggregate."""
        text, select = member.text, query.body
        names = self._names(text, query, names, member.name)
        if not isinstance(select, Select):
            raise NotInBlocks("a lattice needs SELECT … GROUP BY outside", query.span.start)
        shown, best = stripped(text.blocks, select, lattice)
        member.best, member.distinct = best, True
        plain = replace(select, group=None, keys=(), having=None)
        source = select.sources[0] if len(select.sources) == 1 else None
        inside = self._inlined(text, source, names, member.name) if source is not None else None
        if inside is None:
            yield replace(self._rule(text, replace(plain, items=()), names, member.name), items=shown)
            return
        for rule in inside:
            yield replace(rule, around=(*rule.around, Around(plain, shown)))

    def _inlined(self, text: Text, source: FromItem, names: Names, path: str) -> list[Rule] | None:
        """The rules of the one relation that a SELECT reads, where that is a query of its own."""
        relation = source.relation
        if isinstance(relation, Derived):
            return list(self._rules(text, relation.query, names, path))
        return None


def _key(text: Text, cte: CteBlock) -> str:
    return f"{text.step.identifier}#{cte.query.span.start}"
