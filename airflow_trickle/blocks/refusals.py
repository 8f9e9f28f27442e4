"""What a query's text alone tells against refreshing it from changes, so that `validate` can say it before any tick.

The rules of change refuse the same at run time, with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_trickle.algebra.nodes import JoinKind
from airflow_trickle.blocks.check import expressions
from airflow_trickle.blocks.expressions import (
    folded,
    has_sliding_window,
    is_one_word,
    may_not_move,
    partition_keys,
    position_in,
    star_in_call,
    window_of,
)
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import calls_of, why_unrepeatable
from airflow_trickle.blocks.shapes import Call, Derived, FromItem, NotInBlocks, Query, Select, SetOperation, Span
from airflow_trickle.identifiers import fold, unquote


def require_refreshable(blocks: Blocks, query: Query) -> None:
    """Refuses a whole query of which the text tells that a change of its inputs could not be followed.

    Raises:
        NotInBlocks: says which part of it, and why.
    """
    for select in _followed(query):
        refuse_stars_in_calls(blocks, select)
        refuse_hidden_group_keys(blocks, select)
        for item in select.sources:
            refuse_using(item)
            if item.kind in (JoinKind.RIGHT, JoinKind.FULL) and item.on is not None and may_not_move(blocks, item.on):
                raise NotInBlocks(NAME_MAY_BE_A_FUNCTION, item.relation.span.start)
    outermost = _outermost(query)
    if outermost is not None:
        _require_found_again(blocks, outermost)


#: Why a join is not followed whose condition would be moved into a subquery.
NAME_MAY_BE_A_FUNCTION = "a name in ON of a join may be that of a function"


def _followed(query: Query) -> Iterator[Select]:
    """Every SELECT whose change is computed by itself: of CTEs, derived tables and set operations."""
    for cte in query.ctes:
        yield from _followed(cte.query)
    if query.limit is not None or query.skip is not None:
        return  # computed anew as a whole
    body = query.body
    if isinstance(body, Query):
        yield from _followed(body)
    elif isinstance(body, SetOperation):
        yield from _followed(body.left)
        yield from _followed(body.right)
    elif isinstance(body, Select):
        yield body
        for source in body.sources:
            if isinstance(source.relation, Derived):
                yield from _followed(source.relation.query)


def _outermost(query: Query) -> Select | None:
    if query.limit is not None or query.skip is not None:
        return None
    if isinstance(query.body, Query):
        return _outermost(query.body)
    return query.body if isinstance(query.body, Select) else None


# --- one SELECT ------------------------------------------------------------------------------------


def star_in_calls(blocks: Blocks, select: Select) -> int | None:
    """Where a star stands inside a function of a SELECT, as in struct(*)."""
    stars = {item.span for item in select.items if item.star is not None}
    return star_in_call(blocks, (span for span in expressions(select) if span not in stars))


def star_in_rows(blocks: Blocks, select: Select) -> int | None:
    """The same in what decides which rows a SELECT has: WHERE, ON and LATERAL VIEW."""
    return star_in_call(blocks, (select.where, select.laterals, *(source.on for source in select.sources)))


def refuse_stars_in_calls(blocks: Blocks, select: Select) -> None:
    """Refuses struct(*) and the like where it would hold the weight of the changed rows."""
    makes_rows_of_several = select.group is not None or select.having is not None or bool(calls_of(blocks, select))
    star = star_in_rows(blocks, select) if makes_rows_of_several else star_in_calls(blocks, select)
    if star is not None:
        raise NotInBlocks("a star inside a function is recomputed in full", star)


def refuse_using(item: FromItem) -> None:
    """Refuses USING of a join whose column is not simply that of its left side."""
    if item.using and item.kind in (JoinKind.RIGHT, JoinKind.FULL):
        raise NotInBlocks(f"USING of a {item.kind.value} join is recomputed in full", item.relation.span.start)


def refuse_hidden_group_keys(blocks: Blocks, select: Select) -> None:
    """Refuses keys of GROUP BY that only the columns behind a star could tell."""
    if select.sets or any(_is_window(call) for call in calls_of(blocks, select)):
        return  # computed anew as a whole
    stars = [at for at, item in enumerate(select.items) if item.star is not None]
    if select.group_all and stars:
        raise NotInBlocks("GROUP BY ALL with a star is recomputed in full", select.span.start)
    for key in () if select.group_all else select.keys:
        position = position_in(blocks, key)
        if position is not None and any(at < position for at in stars):
            raise NotInBlocks("GROUP BY a position behind a star is recomputed in full", key.start)


# --- the outermost SELECT --------------------------------------------------------------------------


def _require_found_again(blocks: Blocks, select: Select) -> None:
    """Refuses a SELECT that may come out otherwise each time, if its earlier rows cannot be told by their keys."""
    why = why_unrepeatable(blocks, select)
    if why is not None and (select.distinct or not _shows_keys(blocks, select)):
        raise NotInBlocks(not_found_again(why), select.span.start)


def not_found_again(why: str) -> str:
    """Why the rows that a SELECT made at an earlier refresh cannot be found again."""
    return f"{why} may come out otherwise each time, and the result does not show its keys"


def _shows_keys(blocks: Blocks, select: Select) -> bool:
    """Whether a result shows all keys of its groups or windows, as far as the text tells: if in doubt, it does."""
    calls = calls_of(blocks, select)
    keys = _keys(blocks, select, calls)
    if any(has_sliding_window(blocks, key) or may_not_move(blocks, key) for key in keys):
        return True  # computed anew as a whole
    if any(True for _ in blocks.subqueries(*keys)) or star_in_call(blocks, keys) is not None:
        return True
    if keys and any(item.star is not None for item in select.items):
        return False
    shown = {folded(blocks, item.span) for item in select.items}
    aliases = {fold(unquote(item.alias)) for item in select.items if item.alias}
    return all(
        position_in(blocks, key) is not None
        or folded(blocks, key) in shown
        or (select.group is not None and is_one_word(blocks, key) and fold(unquote(blocks.slice(key))) in aliases)
        for key in keys
    )


def _keys(blocks: Blocks, select: Select, calls: list[Call]) -> tuple[Span, ...]:
    """The keys by which rows belong together; none if the whole result is computed anew."""
    windows = [call for call in calls if _is_window(call)]
    if select.group is not None or select.having is not None or len(windows) < len(calls):
        return () if windows or select.sets or select.group_all else select.keys
    partitions = [partition_keys(blocks, window_of(blocks, call, select.windows)) for call in windows]
    texts = {tuple(folded(blocks, key) for key in keys) for keys in partitions}
    return partitions[0] if len(texts) == 1 else ()


def _is_window(call: Call) -> bool:
    return call.over is not None or call.window is not None
