"""A cycle as rules: every member a union of SELECTs over members and other tables.

    reach(a, b) :- edge(a, b)
    reach(a, c) :- reach(a, b), edge(b, c)

A CTE or derived table that reads a member becomes a member of its own, which nobody sees. What does not have this form
is not refused: it is computed without rules, see `naive`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from airflow_trickle.algebra.nodes import JoinKind, SetKind
from airflow_trickle.blocks.check import blocks_of, expressions, selects
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.shapes import (
    Body,
    CteBlock,
    Derived,
    FromItem,
    Item,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    Span,
    TableName,
)
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.plan.steps import TableStep

#: Joins in which a row more on the right may take a row away, and those in which one more on the left may.
_MAY_TAKE = (JoinKind.LEFT, JoinKind.ANTI, JoinKind.FULL)
_RIGHT_DECIDES = (JoinKind.RIGHT, JoinKind.FULL)

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
        behind = Query(Span(query.begin or query.span.start, query.span.end), (), query.body, *_tail(query))
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
            for query in _with_ctes(text.blocks, text.query):
                self._names(text, query, {}, step.name)
            return None
        member = Member(step.identifier, step.name, step, text, text.query, {})
        self.found[member.key] = member
        self._define(member, text.query, {})
        for query in _with_ctes(text.blocks, text.query):
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
            member.distinct, member.is_sum = _is_distinct(core), _is_sum(core)
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
        last = _only_shown(member.text.blocks, query)
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
                    _folded(text.blocks, source.relation)
                    for select in selects(text.blocks, cte.query)
                    for source in select.sources
                    if isinstance(source.relation, TableName)
                }
        return needed

    def _reads_itself(self, text: Text, cte: CteBlock) -> bool:
        return any(
            isinstance(source.relation, TableName) and _folded(text.blocks, source.relation) == cte.name
            for select in selects(text.blocks, cte.query)
            for source in select.sources
        )

    def member_at(self, text: Text, relation: TableName, names: Names) -> str | None:
        """The member that a name of a table stands for, if it is one."""
        for reference in text.step.references:
            if reference.start == relation.span.start:
                return self.keys.get(reference.identifier)
        known = names.get(_folded(text.blocks, relation))
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
        for inner in _with_ctes(text.blocks, query):
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
        name = source.alias.split("(")[0].split()[-1].strip("`") if source.alias else "subquery"
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
        shown, best = _stripped(text.blocks, select, lattice)
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


def _folded(blocks: Blocks, relation: TableName) -> str:
    return blocks.slice(relation.span).strip("`").casefold()


def _with_ctes(blocks: Blocks, query: Query) -> Iterator[Query]:
    """Every query with WITH, wherever it stands."""
    if query.ctes:
        yield query
    for cte in query.ctes:
        yield from _with_ctes(blocks, cte.query)
    body = query.body
    if isinstance(body, Query):
        yield from _with_ctes(blocks, body)
    elif isinstance(body, SetOperation):
        yield from _with_ctes(blocks, body.left)
        yield from _with_ctes(blocks, body.right)
    elif isinstance(body, Select):
        for source in body.sources:
            if isinstance(source.relation, Derived):
                yield from _with_ctes(blocks, source.relation.query)
        for subquery in blocks.subqueries(*expressions(body)):
            yield from _with_ctes(blocks, subquery.query)


def _only_shown(blocks: Blocks, query: Query) -> CteBlock | None:
    """The last CTE, if the query is just ``SELECT * FROM`` it."""
    select = query.body
    if not query.ctes or not isinstance(select, Select) or query.limit is not None or query.skip is not None:
        return None
    plain = replace(select, items=(), sources=(), span=Span(0, 0)) == Select(Span(0, 0), False, (), ())
    if not plain or len(select.items) != 1 or len(select.sources) != 1:
        return None
    item, relation = select.items[0], select.sources[0].relation
    if item.star != "" or item.star_except is not None or not isinstance(relation, TableName):
        return None
    last = query.ctes[-1]
    return last if _folded(blocks, relation) == last.name and not select.sources[0].alias else None


def _is_distinct(query: Query) -> bool:
    body = query.body
    if isinstance(body, Query):
        return _is_distinct(body)
    if isinstance(body, SetOperation):
        return not body.all
    return isinstance(body, Select) and body.distinct


def _is_sum(query: Query) -> bool:
    body = query.body
    if isinstance(body, Query):
        return _is_sum(body)
    if isinstance(body, SetOperation):
        return body.kind is SetKind.UNION and body.all and _is_sum(body.left) and _is_sum(body.right)
    return not (isinstance(body, Select) and body.distinct)


def _stripped(blocks: Blocks, select: Select, lattice: Mapping[str, str]) -> tuple[tuple[Span, ...], Best]:
    """The columns with the argument of the aggregate in its place, and which of them is the best value."""
    ((name, way),) = ((column.casefold(), way) for column, way in lattice.items())
    shown, best = [], None
    for at, item in enumerate(select.items):
        calls = list(blocks.calls(item.span))
        if not calls:
            shown.append(item.span)
            continue
        if best is not None or calls[0].span != item.span or calls[0].name != way or _named(blocks, item) != name:
            raise NotInBlocks(f"a lattice needs {way}(…) AS {name} as a column of its own", item.span.start)
        inside = blocks.cursor(item.span)
        inside.at += 1
        shown.append(inside.inside().span)
        best = Best(at, way)
    if best is None:
        raise NotInBlocks(f"a lattice needs {way}(…) AS {name}", select.span.start)
    return tuple(shown), best


def _tail(query: Query) -> tuple[tuple[Span, ...], Span | None, Span | None]:
    return query.order, query.limit, query.skip


def _named(blocks: Blocks, item: Item) -> str:
    return (item.alias or blocks.slice(item.span)).strip("`").casefold()
