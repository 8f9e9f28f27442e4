"""Correlated subqueries, lists of IN, and outer joins, answered by key from auxiliary state.

    T = γ[r.b] σ[c] R                                     groups as entries that add up, see `tally`
    (SELECT f(…) FROM R WHERE r.b = l.a AND c)  =  f of the entries of T with the key l.a
    EXISTS (… FROM R WHERE r.b = l.a AND c)     =  T has rows for the key l.a
    L ⟕ R ON l.a = r.b AND c                    :  l has a partner if T has rows for the key l.a
    l.a [NOT] IN (SELECT r.b FROM R WHERE c)    :  the list is the keys of T that have rows

Of R only its change is read. Rows of L may have another answer if their key has another one in T + ΔT than in T; for
EXISTS, IN and outer joins, if their key came into T or went out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.aggregates import argument_of
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.equalities import ColumnName, column_of, equality_of, looked_for
from airflow_trickle.blocks.expressions import (
    conjuncts,
    folded,
    has_generator,
    may_not_move,
    position_in,
    star_in_call,
)
from airflow_trickle.blocks.nameless import has_no_names
from airflow_trickle.blocks.refusals import star_in_calls
from airflow_trickle.blocks.shapes import (
    Call,
    FromItem,
    NotInBlocks,
    Query,
    Select,
    Span,
    Subquery,
    SubqueryKind,
    TableName,
)
from airflow_trickle.engine.delta.answers import AFTER, BEFORE
from airflow_trickle.engine.delta.context import LINES_FAIL, Context, Lookup, Scope, Tallies, Version
from airflow_trickle.engine.delta.groups import calls_of
from airflow_trickle.engine.delta.keys import key_name
from airflow_trickle.engine.delta.narrowing import Relations, is_plain
from airflow_trickle.engine.delta.ranges import RangesOfFiles
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally import Tally
from airflow_trickle.engine.delta.tally_parts import WHOLE, Part, part_of, typed
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import fold, parse_alias, quote

_ROWS = f"{RESERVED}n"
#: Types of answers that come to this process and go back as they are.
_CARRIED = frozenset({*WHOLE, "boolean", "date", "double", "string"})
#: Types of values that are equal if they are in one group, and only then.
_LISTED = frozenset({*WHOLE, "boolean", "date", "string", "timestamp", "timestamp_ntz"})


@dataclass(frozen=True)
class _Correlation:
    """A condition taken apart: pairs of an inner and an outer column, and parts about the inner relation alone."""

    inner: tuple[ColumnName, ...]
    outer: tuple[ColumnName, ...]
    #: The types of the inner columns.
    types: tuple[str, ...]
    conditions: tuple[str, ...]


def find_lookups(context: Context, select: Select, scope: Scope) -> None:
    """Note which correlated subqueries and outer joins of a SELECT are answered from auxiliary state."""
    if context.parts is None:
        return
    for subquery in context.blocks.subqueries(*expressions(select)):
        query = subquery.query
        if query.span in context.maintained or not isinstance(query.body, Select) or _is_dressed(query):
            continue
        find_lookups(context, query.body, scope)
        if query.span not in context.lookups:
            if subquery.kind is SubqueryKind.IN:
                column = looked_for(context.blocks, select.where, subquery)
                context.lookups[query.span] = _of_list(context, subquery, query.body, scope, column)
            else:
                context.lookups[query.span] = _of_subquery(context, subquery, query.body, scope)
    for at, item in enumerate(select.sources):
        if item.kind in (JoinKind.LEFT, JoinKind.FULL) and item.on is not None and item.on not in context.lookups:
            context.lookups[item.on] = _of_join(context, select, at, item, scope)


def _is_dressed(query: Query) -> bool:
    return bool(query.ctes or query.order) or query.limit is not None or query.skip is not None


# --- what can be looked up -------------------------------------------------------------------------


def _of_subquery(context: Context, subquery: Subquery, select: Select, scope: Scope) -> Lookup | None:
    """How a correlated subquery is answered by key; None if it cannot be, or has no state yet."""
    calls = calls_of(context, select)
    if not _is_plain(context, select) or select.where is None:
        return None
    if (subquery.kind is SubqueryKind.EXISTS) is bool(calls) or (calls and len(select.items) != 1):
        return None
    generates = any(has_generator(context.blocks, item.span) for item in select.items)
    if generates or star_in_calls(context.blocks, select) is not None:
        return None
    inner = Relations(context, select, scope)
    hidden = inner.hides()
    correlation = None if hidden is None else _correlation(context, select, scope, select.where, inner, hidden, None)
    if correlation is None:
        return None
    grouped = _grouped(context, select, scope, correlation)
    tally = _tally(grouped, correlation, calls, select.items[0].span) if calls else Tally(*_bare(grouped, correlation))
    if tally is None:
        return None
    item = select.items[0].span if calls else None
    return _looked_up(context, subquery.query.span, grouped, tally, correlation, item)


def _of_list(
    context: Context, subquery: Subquery, select: Select, scope: Scope, column: ColumnName | None
) -> Lookup | None:
    """The values that IN looks among, from how often each is there; None if they have no state, or none yet.

    ``column``: what it looks for, if a row has to have it among the values. Then it does not matter whether NULL is.
    """
    tallies = _state(context, subquery.query.span)
    if tallies is None or not _lists_rows(context, select):
        return None
    block, item = Block(context, select, scope, {}), select.items[0].span
    terms, kind = _terms(block), _type_of_list(block, subquery)
    if terms is None or kind is None:
        return None
    tally = Tally(block, (item,), [], {})
    if tallies.lines is None:
        value = column_of(context.blocks, item)
        if value is None or len(select.sources) > 1 or not _is_found_by_range(block, [value.name]):
            tallies.whole = tally.whole()
        return None
    before = tally.with_gained(tallies)
    gained = tally.gained(terms, tallies, "what the changed rows add to each key")
    after = tally.with_gained(tallies)

    def answer(version: Version, enough: str | None) -> str:
        return _present(1, _among(before if version is Version.OLD else after, enough))

    moved, _ = _moved(context, tally, 1, tallies, gained, None)
    if column is None:
        return Lookup((), (), answer, moved, answered=False)
    return Lookup((column,), (kind,), answer, moved, is_list=True)


def _terms(block: Block) -> list[Term] | None:
    try:
        return block.row_terms()
    except NotInBlocks:
        return None  # whoever needs its change says why there is none


def _type_of_list(block: Block, subquery: Subquery) -> str | None:
    """The type of the values of a list; None if equal ones may be in two groups, or it names the row around it."""
    bench = block.context.bench
    if not bench.resolves(block.context.render(subquery.query, Version.NEW, block.scope)):
        return None
    kind = bench.columns(block.sql(all_of(block.count, Version.NEW)))[0].type
    return kind if kind in _LISTED or kind.startswith("decimal(") else None


def _lists_rows(context: Context, select: Select) -> bool:
    """Whether a SELECT gives one column of the rows of some tables, each row by itself."""
    blocks = context.blocks
    clauses = (select.laterals, select.group, select.having, select.qualify, select.windows)
    tables = all(isinstance(source.relation, TableName) for source in select.sources)
    if any(clause is not None for clause in clauses) or not tables or not select.sources or len(select.items) != 1:
        return False
    item = select.items[0]
    odd = item.star is not None or has_generator(blocks, item.span) or may_not_move(blocks, item.span)
    odd = odd or position_in(blocks, item.span) is not None or bool(calls_of(context, select))
    odd = odd or any(True for _ in blocks.subqueries(item.span))
    return not odd and star_in_calls(blocks, select) is None


def _of_join(context: Context, select: Select, at: int, item: FromItem, scope: Scope) -> Lookup | None:
    """How rows of the left side of an outer join learn whether they have a partner; None if not from state."""
    assert item.on is not None  # noqa: S101 - asked before
    source = replace(item, kind=JoinKind.CROSS, words="", on=None)
    alone = Select(select.span, distinct=False, items=(), sources=(source,))
    inner, every = Relations(context, alone, scope), Relations(context, select, scope)
    hidden = inner.hides()
    aliases = [context.alias_of(one) for one in select.sources if one is not item]
    others = {fold(parse_alias(alias).name) for alias in aliases if alias}
    if hidden is None or others & hidden or not isinstance(item.relation, TableName):
        return None
    odd = may_not_move(context.blocks, item.on) or star_in_call(context.blocks, (item.on,)) is not None
    if odd or any(True for _ in context.blocks.subqueries(item.on)):
        return None
    correlation = _correlation(context, alone, scope, item.on, every, hidden, at)
    if correlation is None:
        return None
    grouped = _grouped(context, alone, scope, correlation)
    return _looked_up(context, item.on, grouped, Tally(*_bare(grouped, correlation)), correlation, None)


def _is_plain(context: Context, select: Select) -> bool:
    """Whether a SELECT reads one table, and has nothing but columns and conditions."""
    odd = select.distinct or select.sets or select.group_all or len(select.sources) != 1
    clauses = (select.laterals, select.group, select.having, select.qualify, select.windows)
    if odd or any(clause is not None for clause in clauses):
        return False
    inside = any(True for _ in context.blocks.subqueries(*expressions(select)))
    return isinstance(select.sources[0].relation, TableName) and not inside


def _correlation(
    context: Context,
    select: Select,
    scope: Scope,
    condition: Span,
    relations: Relations,
    hidden: set[str],
    at: int | None,
) -> _Correlation | None:
    """A condition taken apart; None if one of its parts is of another kind.

    Args:
        context: The query.
        select: What reads the inner relation.
        scope: The CTEs that it sees.
        condition: WHERE of the subquery, or ON of the join.
        relations: Tell what the names mean.
        hidden: Names that the inner relation hides.
        at: Of a join: the position of the inner relation among the ``relations``.
    """
    blocks, pairs, rest = context.blocks, [], []
    types = Relations(context, select, scope).types(0) or {}
    for part in conjuncts(blocks.cursor(condition)):
        pair = equality_of(part, bare=True)
        found = None if pair is None else _inner_and_outer(pair, relations, hidden, at)
        if found is None:
            rest.append(blocks.slice(part.span))
        elif is_plain(types.get(found[0].name, "<>")):
            pairs.append(found)
        else:
            return None
    block = Block(context, select, scope, {})
    source = block.joins.source(0, Version.NEW)
    alone = all(context.bench.resolves(f"SELECT 1 FROM {source} WHERE {text}") for text in rest)
    if not pairs or not alone or any(may_not_move(blocks, pair[1].span) for pair in pairs):
        return None
    inner, outer = (tuple(pair[side] for pair in pairs) for side in (0, 1))
    return _Correlation(inner, outer, tuple(types[column.name] for column in inner), tuple(rest))


def _inner_and_outer(
    pair: tuple[ColumnName, ColumnName], relations: Relations, hidden: set[str], at: int | None
) -> tuple[ColumnName, ColumnName] | None:
    for one, other in (pair, pair[::-1]):
        there = relations.find(other)
        # Of a subquery, what it does not hide is a column of the query around it.
        hides = (other.qualifier or other.name) in hidden
        outside = not hides if at is None else there is not None and there < at
        if relations.find(one) == (at or 0) and outside:
            return one, other
    return None


# --- the state -------------------------------------------------------------------------------------


def _grouped(context: Context, select: Select, scope: Scope, correlation: _Correlation) -> Block:
    """The rows of the inner relation that can be asked for."""
    return Block(context, replace(select, where=None), scope, {}, correlation.conditions)


def _bare(block: Block, correlation: _Correlation) -> tuple[Block, tuple[Span, ...], list[Part], dict[Span, Part]]:
    return block, tuple(column.span for column in correlation.inner), [], {}


def _tally(block: Block, correlation: _Correlation, calls: list[Call], item: Span) -> Tally | None:
    """The aggregates of a subquery as entries that add up; None if they do not."""
    blocks, bench = block.context.blocks, block.context.bench
    if not has_no_names(blocks, item, calls):
        return None
    parts: dict[tuple[str, str, str], Part] = {}
    found: dict[Span, Part] = {}
    for call in calls:
        part = part_of(blocks, call, len(parts)) if argument_of(blocks, call) is not None else None
        if part is None or part.is_extreme:
            return None
        value, only = ("" if span is None else folded(blocks, span) for span in (part.value, part.only))
        found[call.span] = parts.setdefault((part.name, value, only), part)
    known = typed(block, list(parts.values()))
    if known is None:
        return None
    keys = tuple(column.span for column in correlation.inner)
    tally = Tally(block, keys, known, {span: known[part.number] for span, part in found.items()})
    text = bench.columns(block.sql(all_of(block.count, Version.NEW), columns=blocks.slice(item), grouped=False))
    state = tally.for_key(item, f"({tally.whole()})", "true")
    same = bench.resolves(state) and [one.type for one in bench.columns(state)] == [one.type for one in text]
    return tally if same else None


def _looked_up(
    context: Context, span: Span, block: Block, tally: Tally, correlation: _Correlation, item: Span | None
) -> Lookup | None:
    """The lookup by the state of a part; None if there is no state yet, which is then made if that is wanted."""
    tallies = _state(context, span)
    if tallies is None:
        return None
    if tallies.lines is None:
        if not _is_found_by_range(block, [column.name for column in correlation.inner]):
            tallies.whole = tally.whole()
        return None
    before = tally.with_gained(tallies)
    gained = tally.gained(block.row_terms(), tallies, "what the changed rows add to each key")
    after, count, same = tally.with_gained(tallies), len(correlation.outer), _same(correlation.outer)

    def answer(version: Version, enough: str | None) -> str:
        rows = _among(before if version is Version.OLD else after, enough)
        if item is not None:
            return tally.for_key(item, f"({rows})", same)
        return f"SELECT 1 FROM ({_present(count, rows)}) WHERE {same}"

    moved, answered = _moved(context, tally, count, tallies, gained, item)
    return Lookup(correlation.outer, correlation.types, answer, moved, answered)


def _state(context: Context, span: Span) -> Tallies | None:
    """The state of a part that no other place of the query has used yet."""
    assert context.parts is not None  # noqa: S101 - asked before
    tallies = context.parts.of(span)
    return None if tallies is None or tallies.gained is not None or tallies.unchanged else tallies


def _moved(
    context: Context, tally: Tally, count: int, tallies: Tallies, gained: str | None, item: Span | None
) -> tuple[str | None, bool]:
    """The view of the keys with another answer, and whether it has the answers; None if there are none."""
    lines = str(tallies.lines)
    if gained is None:
        return None, True
    if item is None:
        return context.bench.keep(_came_or_went(count, lines, gained), "the keys that came or went"), True
    within = [
        known.holds_or_null(f"l.{quote(name)}")
        for name, known in context.bench.ranges(gained).items()
        if name.startswith(f"{RESERVED}k")
    ]
    same = " AND ".join(f"d.{name} <=> l.{name}" for name in _keys(count))
    among = " AND ".join([f"EXISTS (SELECT 1 FROM {quote(gained)} AS d WHERE {same})", *within])
    old = f"SELECT * FROM {quote(lines)} AS l WHERE {among}"
    answers = tally.answers(item, old, f"SELECT * FROM {quote(gained)}", BEFORE, AFTER)
    kind = context.bench.columns(answers)[-1].type
    if kind not in _CARRIED and not kind.startswith("decimal("):
        return gained, False
    return context.bench.keep(answers, "the keys with another answer"), True


def _among(rows: str, enough: str | None) -> str:
    return rows if enough is None else f"SELECT * FROM ({rows}) WHERE {enough}"


def _is_found_by_range(block: Block, names: Sequence[str]) -> bool:
    """Whether the rows of a few keys are found without state: the files are sorted by a key."""
    relation = block.select.sources[0].relation
    assert isinstance(relation, TableName)  # noqa: S101 - asked before
    ranges = block.context.bench.ranges(block.context.views_of(relation, block.scope).new)
    return isinstance(ranges, RangesOfFiles) and any(ranges.is_apart(name) for name in names)


def _same(columns: tuple[ColumnName, ...]) -> str:
    return " AND ".join(f"{quote(key_name(number))} = {column.text}" for number, column in enumerate(columns))


def _keys(count: int, of: str = "") -> list[str]:
    return [f"{of}{quote(key_name(number))}" for number in range(count)]


def _present(count: int, lines: str) -> str:
    """The keys that have rows."""
    listed = ", ".join(_keys(count))
    return f"SELECT {listed} FROM ({lines}) GROUP BY {listed} HAVING sum({_ROWS}) <> 0"


def _came_or_went(count: int, lines: str, gained: str) -> str:
    """The keys that have rows now and had none, or the other way round; with whether they had and have any."""
    pairs = zip(_keys(count, "d."), _keys(count, "l."), strict=True)
    same = " AND ".join(f"{here} <=> {there}" for here, there in pairs)
    listed, mine = ", ".join(_keys(count, "l.")), ", ".join(_keys(count, "d."))
    before = (
        f"SELECT {listed}, sum(l.{_ROWS}) AS {_ROWS} FROM {quote(lines)} AS l "
        f"WHERE EXISTS (SELECT 1 FROM {quote(gained)} AS d WHERE {same}) GROUP BY {listed}"
    )
    had, has = f"coalesce(l.{_ROWS}, 0)", f"coalesce(l.{_ROWS}, 0) + d.{_ROWS}"
    failing = f"CAST(raise_error('{LINES_FAIL} the rows of a key do not add up') AS BOOLEAN)"
    return (
        f"SELECT {mine}, {had} > 0 AS {BEFORE}, {has} > 0 AS {AFTER} "
        f"FROM {quote(gained)} AS d LEFT JOIN ({before}) AS l ON {same} "
        f"WHERE IF({has} < 0, {failing}, ({had} > 0) <> ({has} > 0))"
    )
