"""The change of a whole query: CTEs and derived tables first, then its body."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_trickle.algebra.nodes import SetKind
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.repeatable import inner_queries
from airflow_trickle.blocks.shapes import (
    Body,
    ConstantRows,
    CteBlock,
    Derived,
    NotInBlocks,
    Query,
    Select,
    SetOperation,
    Span,
)
from airflow_trickle.engine.delta.context import (
    Change,
    Context,
    Published,
    Scope,
    Tallies,
    Version,
    Views,
    named,
    replaced,
)
from airflow_trickle.engine.delta.groups import calls_of, change_of_groups, is_grouped, require_columns, require_exact
from airflow_trickle.engine.delta.lookups import find_lookups
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.sets import change_of_distinct, change_of_set, gain_of_distinct, union_all
from airflow_trickle.engine.delta.subviews import is_closed, maintain, may_have_state, part_of
from airflow_trickle.engine.delta.terms import all_of
from airflow_trickle.engine.delta.top_k import is_of_rows, may_merge, top_from_change


def change_of(context: Context, query: Query, published: Published) -> Change | None:
    """The weighted rows by which a query's result changed; None if nothing it reads changed.

    Args:
        context: The query and the states of its inputs.
        query: Its blocks.
        published: Its result before.

    Raises:
        NotInBlocks: a part of the query cannot be refreshed from changes.
    """
    found, tallies = _query(context, query, {}, published), context.tallies
    if context.building:
        return None
    if found is None and tallies is not None and tallies.gained is None:
        tallies.unchanged = True
    return found


def build_state(context: Context, query: Query, published: Published) -> None:
    """Have all auxiliary state made that a query is to have; nothing has changed, and nothing is computed.

    The context's `tallies` and `parts` are told the SQL. ``published`` tells the columns of the result.
    """
    change_of(replace(context, building=True), query, published)


def change_inside(context: Context, query: Query, scope: Scope) -> Change | None:
    """The change of a part of a query; all of it has to come out the same each time it is computed."""
    require_exact(context, query, scope)
    return _query(context, query, scope)


def _query(context: Context, query: Query, scope: Scope, published: Published | None = None) -> Change | None:
    inner = dict(scope)
    for cte in query.ctes:
        if published is not None and cte.query.span.start not in context.known:
            require_exact(context, cte.query, inner)
        inner[cte.name] = cte_views(context, cte, inner)
    limited = query.limit is not None or query.skip is not None
    if published is None and limited:
        raise NotInBlocks("LIMIT inside a query takes any of the rows that tie", query.span.start)
    if published is not None:
        _require_exact_inside(context, query.body, inner)
        if limited:
            return _limited(context, query, inner, published)
    return _body(context, query.body, inner, published)


def _require_exact_inside(context: Context, body: Body, scope: Scope) -> None:
    """Everything but the outermost SELECT is computed at every refresh anew, and has to come out the same."""
    if isinstance(body, SetOperation):
        require_exact(context, body.left, scope)
        require_exact(context, body.right, scope)
    elif isinstance(body, Select):
        for query in inner_queries(context.blocks, body):
            require_exact(context, query, scope)


def _limited(context: Context, query: Query, scope: Scope, published: Published) -> Change | None:
    """ORDER BY … LIMIT of the whole query: from the published rows and the change of what lies below, else anew.

    Which rows of those that tie are taken is open; the published ones are what is taken away.
    """
    groups = _groups_below(context, query, scope)
    of_rows = groups is None and context.bench.small and is_of_rows(context.blocks, query.body)
    below = _rows_below(context, query.body, scope) if of_rows and may_merge(context, query, published) else None
    behind_with = Query(Span(query.begin, query.span.end), (), query.body, query.order, query.limit, query.skip)
    if not context.reads_change(behind_with, scope) or (groups is not None and groups.delta is None):
        return None
    delta = groups.delta if groups is not None else None if below is None else below.view
    if delta is None and below is not None:
        return None
    after = None if delta is None else top_from_change(context, query, published, delta)
    if after is None and groups is not None:
        tail = context.blocks.text[query.body.span.end : query.span.end]
        after = f"SELECT * FROM {groups.name(Version.NEW)} {tail}"
    return replaced(published, "true", after or context.render(behind_with, Version.NEW, scope))


@dataclass(frozen=True)
class _Below:
    """The change of the rows below ORDER BY … LIMIT; None if they did not change."""

    view: str | None


def _rows_below(context: Context, body: Body, scope: Scope) -> _Below | None:
    """The change of rows that come one by one; None if it cannot be computed without the rows themselves.

    Where nothing changed, what has auxiliary state inside is found all the same.
    """
    try:
        change = _body(context, body, scope, None)
    except NotInBlocks:
        return None
    return _Below(None if change is None else context.bench.keep(change.sql, "the change of the rows below"))


def _groups_below(context: Context, query: Query, scope: Scope) -> Views | None:
    """The groups below ORDER BY … LIMIT by their state; None if they have none, or ORDER BY names what they hide."""
    body, blocks = query.body, context.blocks
    if not isinstance(body, Select) or context.parts is None or not may_have_state(context, body):
        return None
    tallies, tail = context.parts.of(query.span), (*query.order, query.limit, query.skip)
    odd = any(True for _ in blocks.calls(*tail)) or any(True for _ in blocks.subqueries(*tail))
    if tallies is None or odd:
        return None
    block, tail_text = _block(context, body, scope), blocks.text[body.span.end : query.span.end]
    # Spark, too, looks for a name of ORDER BY among the columns of the result first.
    if not context.bench.resolves(f"SELECT * FROM ({block.sql(all_of(block.count, Version.NEW))}) {tail_text}"):
        return None
    return maintain(context, block, tallies)


def cte_views(context: Context, cte: CteBlock, scope: Scope) -> Views:
    """The states of a CTE; its change is computed once."""
    if cte.query.span.start in context.known:
        return context.known[cte.query.span.start]
    part = part_views(context, cte.query, scope)
    if part is not None:
        return part if not cte.columns else _renamed(context, part, cte)
    new = context.bench.view(named(context.render(cte.query, Version.NEW, scope), cte.columns), f"{cte.name} after")
    if not context.building and not context.reads_change(cte.query, scope):
        return Views(new, new, None)
    delta = _query(context, cte.query, scope)
    kept = None
    if delta is not None:
        kept = context.bench.keep(named(delta.sql, cte.columns, weight=True), f"the change of {cte.name}")
    if kept is None:
        return Views(new, new, None)
    old = context.bench.view(named(context.render(cte.query, Version.OLD, scope), cte.columns), f"{cte.name} before")
    return Views(old, new, kept)


def _renamed(context: Context, part: Views, cte: CteBlock) -> Views:
    """The states of a part under the names that a CTE gives its columns."""
    new = context.bench.view(named(f"SELECT * FROM {part.name(Version.NEW)}", cte.columns), f"{cte.name} after")
    if part.delta is None:
        return Views(new, new, None)
    old = context.bench.view(named(f"SELECT * FROM {part.name(Version.OLD)}", cte.columns), f"{cte.name} before")
    rows = f"SELECT * FROM {part.name(Version.DELTA)}"
    return Views(old, new, context.bench.view(named(rows, cte.columns, weight=True), f"the change of {cte.name}"))


def part_views(context: Context, query: Query, scope: Scope) -> Views | None:
    """The states of a query inside another one out of its own auxiliary state; None if it has none."""
    known, part = context.maintained.get(query.span), part_of(context, query)
    if known is not None or part is None:
        return known
    select, tallies = part
    views = maintain(context, _block(context, select, scope), tallies)
    if views is not None:
        context.maintained[query.span] = views
    return views


def _block(context: Context, select: Select, scope: Scope) -> Block:
    """A SELECT with the changes of what it reads; what has auxiliary state inside is read from there."""
    derived = derived_changes(context, select, scope)
    for subquery in context.blocks.subqueries(*expressions(select)):
        if part_of(context, subquery.query) is not None and is_closed(context, subquery.query, scope):
            part_views(context, subquery.query, scope)
    find_lookups(context, select, scope)
    block = Block(context, select, scope, derived)
    require_columns(block)
    return block


def _body(context: Context, body: Body, scope: Scope, published: Published | None) -> Change | None:
    if isinstance(body, Query):
        return _query(context, body, scope, published)
    if isinstance(body, ConstantRows):
        return None
    if isinstance(body, SetOperation):
        return _set(context, body, scope, published)
    return _select(context, body, scope, published)


def _select(context: Context, select: Select, scope: Scope, published: Published | None) -> Change | None:
    block = _block(context, select, scope)
    calls = calls_of(context, select)
    if is_grouped(select, calls) or calls:
        delta = change_of_groups(block, None if select.distinct else published)
    else:
        terms = block.plain_terms()
        parts = [block.sql(term) for term in terms]
        delta = Change(" UNION ALL ".join(parts), net=block.only_gains(terms)) if parts else None
    if delta is None or not select.distinct:
        return delta
    tallies = _outermost(context, published)
    kept = tallies is not None and tallies.lines is not None
    if delta.net and published is not None and not kept and not is_grouped(select, calls):
        return gain_of_distinct(context, delta.sql, published)
    return change_of_distinct(context, delta.sql, block.sql(all_of(block.count, Version.NEW)), tallies)


def derived_changes(context: Context, select: Select, scope: Scope) -> dict[int, str | None]:
    """By position: the view of the change of each derived table that changed."""
    found: dict[int, str | None] = {}
    for at, source in enumerate(select.sources):
        relation = source.relation
        if not isinstance(relation, Derived):
            continue
        part = part_views(context, relation.query, scope)
        if part is not None or not (context.building or context.reads_change(relation.query, scope)):
            found[at] = part.delta if part is not None else None
            continue
        delta = _query(context, relation.query, scope)
        found[at] = context.bench.keep(delta.sql, "the change of a derived table") if delta is not None else None
    return found


def _set(context: Context, body: SetOperation, scope: Scope, published: Published | None) -> Change | None:
    changes = _query(context, body.left, scope), _query(context, body.right, scope)
    left, right = (None if change is None else change.sql for change in changes)
    if left is None and right is None:
        return None
    new = (context.render(body.left, Version.NEW, scope), context.render(body.right, Version.NEW, scope))
    word = {SetKind.UNION: "UNION", SetKind.INTERSECT: "INTERSECT", SetKind.EXCEPT: "EXCEPT"}[body.kind]
    columns = context.bench.columns(f"({new[0]}) {word} ALL ({new[1]})")
    if body.kind is SetKind.UNION and body.all:
        return union_all(context, columns, left, right)
    tallies, sides = _outermost(context, published), ((left, new[0]), (right, new[1]))
    return change_of_set(context, columns, body.kind, every=body.all, sides=sides, tallies=tallies)


def _outermost(context: Context, published: Published | None) -> Tallies | None:
    """What is kept beside the table belongs to the outermost operation of its query."""
    return context.tallies if published is not None else None
