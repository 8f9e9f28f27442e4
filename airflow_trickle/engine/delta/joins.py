"""How the joined rows of a FROM clause change: a sum of terms, each of which reads one state of every relation.

With L for all relations before R, ⋉ for "has a partner in", and ' for the state after:

    Δ(L ⋈ R) = ΔL ⋈ R'  +  L ⋈ ΔR
    Δ(L ⟕ R) = ΔL ⟕ R'  +  L ⋈ ΔR  +  A ▷ R'  -  A ▷ R    where A = L ⋉ ΔR: the rows whose partners may have changed,
                                                     and A ▷ R those of them without a partner, with NULLs for it
    Δ(L ⟖ R) = L' ⟖ ΔR  +  L' ⟖ B  -  L ⟖ B          where B = R ⋉ ΔL
    Δ(L ⟗ R) = Δ(L ⟕ R)  +  the change of R without a partner in L
    Δ(L ⋉ R) = ΔL ⋉ R'  +  A ⋉ R'  -  A ⋉ R          as anti joins: R decides only whether rows of L stay

A and B may hold rows too many: what a row yields before and after then cancels out.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.expressions import may_not_move
from airflow_trickle.blocks.refusals import NAME_MAY_BE_A_FUNCTION, refuse_using
from airflow_trickle.blocks.shapes import Derived, FromItem, NotInBlocks, Select, TableName
from airflow_trickle.engine.delta.answers import looked_up_by
from airflow_trickle.engine.delta.context import Context, Lookup, Scope, Version
from airflow_trickle.engine.delta.narrowing import Narrowing
from airflow_trickle.engine.delta.terms import INNER, Term, uniform
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, parse_alias, quote

_ROW_BY_ROW = (JoinKind.INNER, JoinKind.CROSS)
_LEFT_DECIDES = (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def expanded(delta: str) -> str:
    """The rows that came, each as often as it came, without its weight."""
    copies = f"LATERAL VIEW explode(array_repeat(0, CAST({WEIGHT} AS INT))) AS {RESERVED}n"
    return f"(SELECT * EXCEPT ({WEIGHT}, {RESERVED}n) FROM {delta} {copies} WHERE {WEIGHT} > 0)"


class Joins:
    """The terms of one FROM clause."""

    def __init__(self, context: Context, select: Select, scope: Scope, deltas: dict[int, str | None]) -> None:
        self._context = context
        self._select = select
        self._scope = scope
        #: By position: the views of changed derived tables.
        self._deltas = deltas
        self._narrowing = Narrowing(context, select, scope)

    def terms(self) -> list[Term]:
        """The change of all relations joined."""
        found: list[Term] = []
        for position, item in enumerate(self._select.sources):
            found = self._joined(found, position, item)
        return [self._narrowing.narrowed(term) for term in found if not self._narrowing.is_empty(term)]

    def _joined(self, prefix: list[Term], at: int, item: FromItem) -> list[Term]:
        changed = self._is_changed(at)
        if at == 0:
            return [Term((Version.DELTA,))] if changed else []
        if item.kind in _ROW_BY_ROW:
            more = [Term((Version.OLD,) * at).with_(Version.DELTA)] if changed else []
            return [*(term.with_(Version.NEW) for term in prefix), *more]
        refuse_using(item)
        if item.kind in _LEFT_DECIDES:
            return self._left(prefix, at, item, changed, None)
        if item.kind is JoinKind.RIGHT:
            return self._right(prefix, at, item, changed, item.words, None)
        left = self._left(prefix, at, item, changed, "LEFT JOIN")
        return [*left, *self._without_partner(prefix, at, item, changed)]

    def _left(self, prefix: list[Term], at: int, item: FromItem, changed: bool, words: str | None) -> list[Term]:
        join = None if words is None else (at, words)
        terms = [term.with_(Version.NEW, join) for term in prefix]
        affected = self._has_changed_partner(at, item) if changed else "false"
        met = self._narrowing.partners(at, item.on) if affected != "true" else ([], [])
        if not changed or met is None:
            return terms
        enough = self._narrowing.with_changed_keys(at, item.on) if affected != "true" else {}
        if affected != "true" and not item.using and item.kind in (JoinKind.LEFT, JoinKind.FULL):
            pairs = Term((Version.OLD,) * at).with_(Version.DELTA, (at, INNER))
            lookup = self._context.lookups.get(item.on) if item.on is not None else None
            if lookup is not None:
                return [*terms, pairs, *self._alone_by_key(at, lookup, join)]
            return [*terms, pairs, *self._left_alone(at, item, join, (affected, *met[0]), met[1], enough)]
        for version, weight in ((Version.NEW, 1), (Version.OLD, -1)):
            term = uniform(at, Version.OLD, weight).with_(version, join)
            terms.append(replace(term, conditions=(affected, *met[0]), on={at: tuple(met[1])}, enough=enough))
        return terms

    def _left_alone(
        self,
        at: int,
        item: FromItem,
        join: tuple[int, str] | None,
        affected: tuple[str, ...],
        partners: list[str],
        enough: dict[int, str],
    ) -> list[Term]:
        """Of the left side: the affected rows that have no partner now, without those that had none before."""
        changes = [(Version.OLD, -1)]
        relation = item.relation
        if not isinstance(relation, TableName) or not self._context.views_of(relation, self._scope).grows:
            changes.insert(0, (Version.NEW, 1))
        on = "true" if item.on is None else self._context.expression(item.on, Version.NEW, self._scope)
        near = " AND ".join([on if not partners else f"({on})", *partners])
        terms = []
        for version, weight in changes:
            there = self.source(at, version, enough.get(relation.span.start))
            alone = f"NOT EXISTS (SELECT 1 FROM {there} WHERE {near})"
            term = uniform(at, Version.OLD, weight).with_(Version.EMPTY, join)
            terms.append(replace(term, conditions=(*affected, alone)))
        return terms

    def _alone_by_key(self, at: int, lookup: Lookup, join: tuple[int, str] | None) -> list[Term]:
        """The same, if auxiliary state tells which keys have partners: of rows whose key got its first or lost all."""
        met = looked_up_by(self._context, self._narrowing.relations, lookup)
        if met is None:
            return []
        if not met.one_key:
            return [
                replace(
                    uniform(at, Version.OLD, weight).with_(Version.EMPTY, join),
                    conditions=(met.affected, f"NOT EXISTS ({lookup.text(version)})"),
                )
                for version, weight in ((Version.NEW, 1), (Version.OLD, -1))
            ]
        weight = f"CAST(IF({met.before}, 1, 0) - IF({met.after}, 1, 0) AS BIGINT)"
        term = uniform(at, Version.OLD).with_(Version.EMPTY, join)
        return [replace(term, weight=weight, sign=0, conditions=met.conditions, beside=met.beside)]

    def _right(
        self, prefix: list[Term], at: int, item: FromItem, changed: bool, words: str, join: tuple[int, str] | None
    ) -> list[Term]:
        terms = [Term((Version.NEW,) * at).with_(Version.DELTA, join)] if changed else []
        if prefix:
            affected = (self._has_partner_in(prefix, at, item),)
            terms.append(replace(uniform(at, Version.NEW).with_(Version.OLD, join), conditions=affected))
            terms.append(replace(uniform(at, Version.OLD, -1).with_(Version.OLD, join), conditions=affected))
        return terms

    def _without_partner(self, prefix: list[Term], at: int, item: FromItem, changed: bool) -> list[Term]:
        """Of a full join: the rows of the right side that have no partner, with nothing on the left."""
        nothing = Term((Version.EMPTY,) * at)
        join = (at, "RIGHT JOIN")
        alone = {v: f"NOT {self._has_partner_in([uniform(at, v)], at, item)}" for v in (Version.NEW, Version.OLD)}
        terms = []
        if changed:
            terms.append(replace(nothing.with_(Version.DELTA, join), conditions=(alone[Version.NEW],)))
        if prefix:
            affected = self._has_partner_in(prefix, at, item)
            for version, weight in ((Version.NEW, 1), (Version.OLD, -1)):
                sign = replace(nothing, weight=f"CAST({weight} AS BIGINT)", sign=weight)
                term = sign.with_(Version.OLD, join)
                terms.append(replace(term, conditions=(affected, alone[version])))
        return terms

    def _has_changed_partner(self, at: int, item: FromItem) -> str:
        """Whether a row of the left side has a partner among the changed rows of the right one."""
        if item.using:
            if len(self._select.sources) > 2:
                return "true"  # the names may be those of columns of a third relation too
            names = ", ".join(item.using)
            return f"({names}) IN (SELECT {names} FROM {self._bare(at, Version.DELTA)})"
        if self._catches_names([at]) or self._may_not_move(item):
            return "true"
        on = "true" if item.on is None else self._context.expression(item.on, Version.NEW, self._scope)
        return f"EXISTS (SELECT 1 FROM {self.source(at, Version.DELTA)} WHERE {on})"

    def _has_partner_in(self, prefix: list[Term], at: int, item: FromItem) -> str:
        """Whether a row of the right side has a partner in any of some terms over the left side."""
        if self._may_not_move(item):
            raise NotInBlocks(NAME_MAY_BE_A_FUNCTION, item.relation.span.start)
        if self._catches_names(list(range(at))):
            why = "a column has the name of another relation of the join"
            raise NotInBlocks(why, item.relation.span.start)
        on = "true" if item.on is None else self._context.expression(item.on, Version.NEW, self._scope)
        parts = []
        for term in prefix:
            where = " AND ".join(f"({part})" for part in (*term.conditions, on))
            parts.append(f"EXISTS (SELECT 1 FROM {self.from_text(term)} WHERE {where})")
        return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"

    def _may_not_move(self, item: FromItem) -> bool:
        return item.on is not None and may_not_move(self._context.blocks, item.on)

    def _catches_names(self, inside: list[int]) -> bool:
        """Whether ON, moved into a subquery over some relations, could take another relation for a column of theirs."""
        names = {
            fold(parse_alias(self._context.alias_of(source)).name)
            for at, source in enumerate(self._select.sources)
            if at not in inside and self._context.alias_of(source)
        }
        columns = {
            fold(column.name)
            for at in inside
            for column in self._context.bench.columns(f"SELECT * FROM {self._bare(at, Version.NEW)}")
        }
        return bool(names & columns)

    # --- text --------------------------------------------------------------------------------------

    def from_text(self, term: Term) -> str:
        """FROM as the term reads it; of the first relations only, if the term has no more."""
        parts: list[str] = []
        for at, version in enumerate(term.versions):
            item = self._select.sources[at]
            words = term.joins.get(at, item.words)
            text = self.source(at, version, term.enough.get(item.relation.span.start))
            if at == 0:
                parts.append(text)
                continue
            parts.append(f", {text}" if words == "," else f" {words} {text}")
            # Nothing on the left: whatever the condition, no row has a partner.
            if term.joins.get(at) == "RIGHT JOIN":
                parts.append(" ON false")
            elif item.on is not None:
                on = self._context.expression(item.on, term.inner, self._scope, term.enough)
                more = term.on.get(at, ())
                parts.append(f" ON {' AND '.join((f'({on})', *more))}" if more else f" ON {on}")
            elif item.using:
                parts.append(f" USING ({', '.join(item.using)})")
        if term.beside is not None:
            parts.append(f", {quote(term.beside.view)} AS {term.beside.alias}")
        return "".join(parts)

    def source(self, at: int, version: Version, enough: str | None = None) -> str:
        """One relation in one state, with its alias; ``enough``: which of its rows."""
        item = self._select.sources[at]
        alias = self._context.alias_of(item)
        if alias and version is Version.DELTA and (parsed := parse_alias(alias)).columns:
            # The alias names the columns, but not the weight.
            inner = ", ".join([*parsed.columns, WEIGHT])
            return f"(SELECT * FROM {self._bare(at, version)} AS {RESERVED}q({inner})) AS {quote(parsed.name)}"
        text = self._bare(at, version)
        if enough is not None:
            text = f"(SELECT * FROM {text} WHERE {enough})"
        return f"{text} {alias}".rstrip()

    def _bare(self, at: int, version: Version) -> str:
        relation = self._select.sources[at].relation
        if isinstance(relation, TableName):
            views = self._context.views_of(relation, self._scope)
            text = views.name(Version.NEW if version is Version.EMPTY else version)
        elif isinstance(relation, Derived):
            if version in (Version.DELTA, Version.PLUS):
                text = quote(str(self._deltas[at]))
            else:
                state = Version.NEW if version is Version.EMPTY else version
                text = f"({self._context.render(relation.query, state, self._scope)})"
        else:
            text = self._context.blocks.slice(relation.span)
        if version is Version.EMPTY:
            return f"(SELECT * FROM {text} WHERE false)"
        return expanded(text) if version is Version.PLUS else text

    def grows(self, term: Term) -> bool:
        """Whether it is known that the changed relation of a term lost no row."""
        changed = [at for at, version in enumerate(term.versions) if version is Version.DELTA]
        relations = [self._select.sources[at].relation for at in changed]
        return all(
            isinstance(relation, TableName) and self._context.views_of(relation, self._scope).grows
            for relation in relations
        )

    def _is_changed(self, at: int) -> bool:
        relation = self._select.sources[at].relation
        if isinstance(relation, TableName):
            return self._context.views_of(relation, self._scope).delta is not None
        return self._deltas.get(at) is not None
