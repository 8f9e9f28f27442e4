"""Aggregates and windows: recompute what is touched.

    K = the keys of the changed rows;   Δ = γ(L' ⋉ K)  -  γ(L ⋉ K)

γ stands for GROUP BY with its keys, or for windows with their common PARTITION BY. What is taken away is read
from the published table where that shows the keys, so that it is exactly what stands there: a sum of doubles or
a tie in an ORDER BY may come out otherwise when it is computed once more. Elsewhere γ must be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks import repeatable
from airflow_trickle.blocks.bare_words import bare_words
from airflow_trickle.blocks.check import expressions, selects
from airflow_trickle.blocks.expressions import (
    folded,
    has_sliding_window,
    is_one_word,
    may_not_move,
    partition_keys,
    position_in,
    star_in_call,
    window_of,
    without_over,
)
from airflow_trickle.blocks.refusals import not_found_again, refuse_hidden_group_keys
from airflow_trickle.blocks.shapes import Body, Call, Derived, Item, NotInBlocks, Query, Select, SetOperation, Span
from airflow_trickle.engine.delta.averages import guard_averages, why_rounded
from airflow_trickle.engine.delta.context import (
    Change,
    Context,
    Published,
    Scope,
    Version,
    Views,
    named,
    replaced,
    weighted,
)
from airflow_trickle.engine.delta.keys import key_name, key_texts, published_among, rows_among
from airflow_trickle.engine.delta.merging import Merging, merge_of
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally import tally_of
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.identifiers import fold, quote, unquote

_FLOATS = ("float", "double")


@dataclass(frozen=True)
class Touched:
    """How a block with groups or partitions is recomputed: by which keys, and where the result shows them."""

    #: The keys as expressions over the rows of the block; empty: everything is recomputed.
    keys: tuple[Span, ...]
    #: By key: the position of the column that shows it, None if none does.
    shown: tuple[int | None, ...]


def calls_of(context: Context, select: Select) -> list[Call]:
    """The aggregates and window functions of a SELECT."""
    return repeatable.calls_of(context.blocks, select)


def is_grouped(select: Select, calls: list[Call]) -> bool:
    """Whether a SELECT makes one row of several."""
    return (
        select.group is not None
        or select.having is not None
        or any(call.over is None and call.window is None for call in calls)
    )


def touched_by(block: Block) -> Touched:
    """The keys by which the rows of a block belong together."""
    select, blocks, calls = block.select, block.context.blocks, calls_of(block.context, block.select)
    windows = [call for call in calls if call.over is not None or call.window is not None]
    if is_grouped(select, calls):
        if windows or select.sets:
            return Touched((), ())
        found = list(_group_keys(block, calls))
    else:
        partitions = [partition_keys(blocks, window_of(blocks, call, select.windows)) for call in windows]
        texts = {tuple(folded(blocks, key) for key in keys) for keys in partitions}
        if len(texts) != 1:
            return Touched((), ())
        found = [(key, None) for key in partitions[0]]
    keys = [key for key, _ in found]
    # Which rows have the keys is asked in a subquery.
    odd = any(has_sliding_window(blocks, key) or may_not_move(blocks, key) for key in keys)
    # A star would hold the weight of the changed rows.
    odd = odd or star_in_call(blocks, keys) is not None
    if odd or any(True for _ in blocks.subqueries(*keys)):
        return Touched((), ())
    shown = tuple(_shown_at(block, key) if at is None else at for key, at in found)
    return Touched(tuple(key for key, _ in found), shown)


def _group_keys(block: Block, calls: list[Call]) -> Iterator[tuple[Span, int | None]]:
    """The keys of GROUP BY: expressions, positions, aliases; with the column they were named by."""
    select, blocks = block.select, block.context.blocks
    refuse_hidden_group_keys(blocks, select)
    if select.group_all:
        for at, item in enumerate(select.items):
            if not any(_within(call.span, item.span) for call in calls):
                yield item.span, at
        return
    for key in select.keys:
        text, position = blocks.slice(key), position_in(blocks, key)
        if position is not None:
            at = position - 1
            yield select.items[at].span, at
            continue
        named = _item_named(select.items, text) if is_one_word(blocks, key) else None
        if named is not None and not _is_column(block, text):
            yield select.items[named].span, named
            continue
        yield key, None


def _item_named(items: tuple[Item, ...], text: str) -> int | None:
    name = fold(unquote(text))
    found = [at for at, item in enumerate(items) if item.alias and fold(unquote(item.alias)) == name]
    return found[0] if found else None


def _is_column(block: Block, text: str) -> bool:
    """Whether a name is that of a column of the relations: then it is not the alias of an output."""
    return block.context.bench.resolves(block.sql(all_of(block.count, Version.NEW), columns=text, grouped=False))


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _shown_at(block: Block, key: Span) -> int | None:
    """The position of the column that is exactly a key."""
    if any(item.star is not None for item in block.select.items):
        return None
    blocks = block.context.blocks
    wanted = folded(blocks, key)
    return next((at for at, item in enumerate(block.select.items) if folded(blocks, item.span) == wanted), None)


# --- exactness -------------------------------------------------------------------------------------


def why_inexact(block: Block) -> str | None:
    """Why a block may come out otherwise when it is computed once more from the same rows; None if it cannot."""
    why = repeatable.why_unrepeatable(block.context.blocks, block.select)
    if why is not None:
        return why
    for over_groups, sums in _sums_by_place(block):
        spans = [call.span if over_groups else without_over(block.context.blocks, call) for call in sums]
        for call, column in zip(sums, block.columns_of(spans, over_groups=over_groups), strict=True):
            why = why_rounded(block, call, over_groups=over_groups) if column.type in _FLOATS else None
            if why is not None:
                return why
    return None


def _guard(block: Block) -> None:
    """Has averages of whole numbers fail where they might round."""
    for over_groups, sums in _sums_by_place(block):
        guard_averages(block, sums, over_groups=over_groups)


def _sums_by_place(block: Block) -> Iterator[tuple[bool, list[Call]]]:
    """The sums and averages of a block over its rows, and those over its groups."""
    sums = _sums(block.context, block.select)
    grouped = is_grouped(block.select, calls_of(block.context, block.select))
    for over_groups in (False, True):
        # A window over groups has aggregates inside of its own, and is understood behind GROUP BY only.
        yield over_groups, [call for call in sums if (grouped and _is_window(call)) is over_groups]


def _is_window(call: Call) -> bool:
    return call.over is not None or call.window is not None


def require_exact(context: Context, query: Query, scope: Scope) -> None:
    """Refuses a part of a query, other than its outermost SELECT, that may come out otherwise each time.

    Such a part is computed anew at every refresh, over the rows before and after; the rows that it made at an
    earlier refresh could then not be found again.
    """
    repeatable.require_repeatable(context.blocks, query)
    every = selects(context.blocks, query)
    if not any(_sums(context, select) or _has_bare_word(context, select) for select in every):
        return  # neither types nor names of columns matter
    for select, seen in _scoped(context, query, scope):
        block = Block(context, select, seen, {})
        require_columns(block)
        _guard(block)
        repeatable.refuse(why_inexact(block), select)


def _has_bare_word(context: Context, select: Select) -> bool:
    return any(True for _ in bare_words(context.blocks, select))


def _sums(context: Context, select: Select) -> list[Call]:
    """The aggregates of a SELECT that are exact unless they are of floating-point numbers."""
    return [call for call in calls_of(context, select) if call.name in repeatable.EXACT_UNLESS_FLOAT]


def _scoped(context: Context, query: Query, scope: Scope) -> Iterator[tuple[Select, Scope]]:
    """Every SELECT of a query with the CTEs that it sees, which are views of their rows now."""
    inner = dict(scope)
    for cte in query.ctes:
        if cte.query.span.start in context.known:
            inner[cte.name] = context.known[cte.query.span.start]
            continue
        yield from _scoped(context, cte.query, inner)
        new = named(context.render(cte.query, Version.NEW, inner), cte.columns)
        view = context.bench.view(new, f"{cte.name} after")
        inner[cte.name] = Views(view, view, None)
    yield from _scoped_body(context, query.body, inner)
    for subquery in context.blocks.subqueries(*query.order, query.limit, query.skip):
        yield from _scoped(context, subquery.query, inner)


def _scoped_body(context: Context, body: Body, scope: Scope) -> Iterator[tuple[Select, Scope]]:
    if isinstance(body, Query):
        yield from _scoped(context, body, scope)
    elif isinstance(body, SetOperation):
        yield from _scoped(context, body.left, scope)
        yield from _scoped(context, body.right, scope)
    elif isinstance(body, Select):
        yield body, scope
        for source in body.sources:
            if isinstance(source.relation, Derived):
                yield from _scoped(context, source.relation.query, scope)
        for subquery in context.blocks.subqueries(*expressions(body)):
            yield from _scoped(context, subquery.query, scope)


def require_columns(block: Block) -> None:
    """Refuses a SELECT with a word such as ``current_date`` or ``user`` that no column has for a name.

    Spark takes it for a function then, with another answer at another time. A column of a query around it does not
    count: Spark takes the function before that.
    """
    words = list(bare_words(block.context.blocks, block.select))
    if not words:
        return
    columns: dict[int | None, set[str]] = {}
    for word in words:
        if word.join not in columns:
            columns[word.join] = _columns_seen(block, word.join)
        if word.name not in columns[word.join]:
            raise NotInBlocks(word.why_function, word.offset)


def _columns_seen(block: Block, join: int | None) -> set[str]:
    """The folded names of the columns that a SELECT reads, or that the ON of one of its relations sees."""
    bench = block.context.bench
    if join is None:
        sql = block.sql(all_of(block.count, Version.NEW), columns="*", grouped=False, filtered=False)
        return {fold(column.name) for column in bench.columns(sql)} if block.count else set()
    # A semi or anti join shows nothing of its right side to what follows.
    hidden = (JoinKind.SEMI, JoinKind.ANTI)
    seen = [at for at in range(join + 1) if at == join or block.select.sources[at].kind not in hidden]
    texts = (f"SELECT * FROM {block.joins.source(at, Version.NEW)}" for at in seen)
    return {fold(column.name) for text in texts for column in bench.columns(text)}


# --- the change ------------------------------------------------------------------------------------


def change_of_groups(block: Block, published: Published | None) -> Change | None:
    """The change of a SELECT with groups or windows; ``published`` are the rows that it replaces."""
    terms = block.row_terms()
    everything = block.changed_elsewhere()
    if block.context.building and published is not None:
        _build_state(block, published)
    if not terms and not everything:
        return None
    if everything and published is not None and _is_plain(block):
        found = _by_state(block, terms, published)
        if found is not None:
            return found[0]
    touched = Touched((), ()) if everything else touched_by(block)
    shown = published is not None and all(at is not None for at in touched.shown) and _one_by_one(block, published)
    inexact = why_inexact(block)
    if inexact is not None and not shown and (touched.keys or published is None):
        _guard(block)
        inexact = why_inexact(block)
    if published is not None and not everything and _is_plain(block):
        found = _added_to(block, terms, touched, published, shown=shown, exact=inexact is None)
        if found is not None:
            return found[0]
    if not shown and inexact is not None and (published is None or touched.keys):
        raise NotInBlocks(not_found_again(inexact))
    if not touched.keys:
        return _recomputed(block, terms if not everything else [], published)
    return _touched(block, terms, touched, published if shown else None)


def _added_to(
    block: Block, terms: list[Term], touched: Touched, published: Published, *, shown: bool, exact: bool
) -> tuple[Change | None] | None:
    """The change by adding to what is kept or published; None if neither holds enough."""
    context = block.context
    tallies = context.tallies
    merge = merge_of(block, touched.keys, touched.shown, published) if shown and exact else None
    # Groups that only gained rows can do without state if the published rows can be added to.
    missed = merge is None or not block.only_gains(terms)
    tally = None
    if tallies is not None and (tallies.lines is not None or (tallies.wanted and missed)):
        tally = tally_of(block, touched.keys, touched.shown if shown else None, calls_of(context, block.select))
    if tally is not None and tallies is not None:
        if tallies.lines is not None:
            return (tally.change(terms, tallies, touched.shown if shown else None, published),)
        if not shown and not exact:
            return None
        tally.make(tallies)
    return (Merging(block, merge, published).change(terms),) if merge is not None else None


def _by_state(block: Block, terms: list[Term], published: Published) -> tuple[Change | None] | None:
    """The change by state where subqueries of columns or HAVING changed; None if there is none, or others changed."""
    tallies = block.context.tallies
    if tallies is None or not (tallies.lines is not None or tallies.wanted) or block.select.distinct:
        return None
    touched = touched_by(block)
    shown = all(at is not None for at in touched.shown) and _one_by_one(block, published)
    by = touched.shown if shown else None
    tally = tally_of(block, touched.keys, by, calls_of(block.context, block.select))
    if tally is None or block.changed_elsewhere(tally.asked):
        return None
    if tallies.lines is not None:
        return (tally.change(terms, tallies, by, published),)
    if shown or why_inexact(block) is None:
        tally.make(tallies)
    return None


def _build_state(block: Block, published: Published) -> None:
    """Have the state of the outermost SELECT made, if the published rows alone cannot be added to."""
    context, tallies = block.context, block.context.tallies
    if tallies is None or not tallies.wanted or not _is_plain(block) or block.select.distinct:
        return
    touched, exact = touched_by(block), why_inexact(block) is None
    shown = all(at is not None for at in touched.shown) and _one_by_one(block, published)
    if not shown and not exact:
        return
    if shown and exact and merge_of(block, touched.keys, touched.shown, published) is not None:
        return
    tally = tally_of(block, touched.keys, touched.shown if shown else None, calls_of(context, block.select))
    if tally is not None:
        tally.make(tallies)


def _recomputed(block: Block, terms: list[Term], published: Published | None) -> Change | None:
    """The whole result, before and after; None if by some terms nothing changed."""
    if terms and not _any_row(block, terms):
        return None
    after = block.sql(all_of(block.count, Version.NEW))
    if published is not None:
        return replaced(published, "true", after)
    return Change(f"{weighted(after, 1)} UNION ALL {weighted(block.sql(all_of(block.count, Version.OLD)), -1)}")


def _touched(block: Block, terms: list[Term], touched: Touched, published: Published | None) -> Change | None:
    """What has one of the keys of the changed rows, before and after."""
    view = _keep_keys(block, terms, touched)
    if view is None:
        return None
    condition = rows_among(block, touched.keys, view)
    after = block.sql(replace(all_of(block.count, Version.NEW), conditions=condition))
    if published is not None:
        return replaced(published, published_among(block, touched.shown, view, published), after)
    before = block.sql(replace(all_of(block.count, Version.OLD), conditions=condition))
    return Change(f"{weighted(after, 1)} UNION ALL {weighted(before, -1)}")


def _one_by_one(block: Block, published: Published) -> bool:
    """Whether each item of SELECT is one column of the result; a generator may make several."""
    return len(published.columns) == len(block.select.items)


def _is_plain(block: Block) -> bool:
    """Whether a SELECT has groups by keys or one group of all rows, and no windows."""
    calls = calls_of(block.context, block.select)
    return is_grouped(block.select, calls) and all(call.over is None and call.window is None for call in calls)


def _keep_keys(block: Block, terms: list[Term], touched: Touched) -> str | None:
    parts = []
    for term in terms:
        columns = ", ".join(
            f"{text} AS {quote(key_name(number))}"
            for number, text in enumerate(key_texts(block, touched.keys, term.inner))
        )
        parts.append(block.sql(replace(term, weight=""), columns=columns, grouped=False, distinct=True))
    sql = parts[0] if len(parts) == 1 else f"SELECT DISTINCT * FROM ({' UNION ALL '.join(parts)})"
    return block.context.bench.keep(sql, "the keys of the changed rows")


def _any_row(block: Block, terms: list[Term]) -> bool:
    parts = [block.sql(replace(term, weight=""), columns="1 AS one", grouped=False) for term in terms]
    sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) LIMIT 1"
    return block.context.bench.keep(sql, "whether any row changed") is not None
