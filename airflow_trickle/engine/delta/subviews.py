"""Parts of a query that have auxiliary state of their own: GROUP BY below a join, a LIMIT or another GROUP BY.

    T = the groups of the part as entries that add up, see `tally`
    old = f(T);   new = f(T + ΔT);   Δ = f(T + ΔT) - f(T), over the groups of ΔT

What stands around the part reads these three in place of its text, so nothing below it is read again but what ΔT needs.
The part's own text decides which rows these are: its columns must have the names and types that Spark gives its text.
"""

from __future__ import annotations

from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import all_queries
from airflow_trickle.blocks.shapes import NotInBlocks, Query, Select, Span
from airflow_trickle.engine.delta.context import Context, Scope, Tallies, Version, Views
from airflow_trickle.engine.delta.groups import calls_of, is_grouped, touched_by
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally import Tally, tally_of
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import fold, quote


def may_have_state(context: Context, select: Select) -> bool:
    """Whether a SELECT is a plain GROUP BY, or aggregates of all rows."""
    calls = calls_of(context, select)
    windows = any(call.over is not None or call.window is not None for call in calls)
    odd = select.distinct or select.sets or select.qualify is not None or select.windows is not None
    return is_grouped(select, calls) and not windows and not odd


def part_of(context: Context, query: Query) -> tuple[Select, Tallies] | None:
    """The SELECT of a query inside another one and its state; None if it has none and is to have none."""
    if context.parts is None or query.ctes or query.limit is not None or query.skip is not None or query.order:
        return None
    if not isinstance(query.body, Select) or not may_have_state(context, query.body):
        return None
    tallies = context.parts.of(query.span)
    return None if tallies is None else (query.body, tallies)


def maintain(context: Context, block: Block, tallies: Tallies) -> Views | None:
    """The states of a SELECT with groups out of its auxiliary state; None if it has none yet, which is then made."""
    if tallies.unchanged or tallies.gained is not None:
        return None  # it is met a second time, in another scope
    terms, tally = _tally(context, block)
    names = None if tally is None else _columns(context, block, tally)
    if tally is None or names is None:
        return None
    if tallies.lines is None:
        tally.make(tallies)
        return None
    change = tally.change(terms, tallies, None, None) if terms or tally.changed_answers() else None
    if change is None:
        tallies.unchanged = True
        rows = context.bench.view(_named(tally.result(tally.added_up(_lines(tallies))), names), "a part by its state")
        return Views(rows, rows, None)
    delta = context.bench.keep(_net(_named(change.sql, [*names, WEIGHT]), names), "the change of a part")
    new = context.bench.view(_named(tally.result(tally.added_up(tally.with_gained(tallies))), names), "a part after")
    if delta is None:
        return Views(new, new, None)
    before = tally.result(tally.added_up(_lines(tallies)), Version.OLD)
    old = context.bench.view(_named(before, names), "a part before")
    return Views(old, new, delta)


def _tally(context: Context, block: Block) -> tuple[list[Term], Tally | None]:
    """The changed rows of a SELECT, and how its groups are kept as entries; None if they cannot be."""
    try:
        terms, keys = block.row_terms(), touched_by(block).keys
    except NotInBlocks:
        return [], None  # whoever needs its change says why there is none
    if block.select.group is not None and not keys:
        return [], None
    tally = tally_of(block, keys, None, calls_of(context, block.select))
    return terms, None if tally is None or block.changed_elsewhere(tally.asked) else tally


def _lines(tallies: Tallies) -> str:
    assert tallies.lines is not None  # noqa: S101 - asked before
    return f"SELECT * FROM {quote(tallies.lines)}"


def _columns(context: Context, block: Block, tally: Tally) -> list[str] | None:
    """The names of the columns as Spark calls them in the text; None if the state would give other types."""
    text = context.bench.columns(block.sql(all_of(block.count, Version.NEW)))
    state = context.bench.columns(tally.result(tally.added_up(tally.whole())))
    names = [column.name for column in text]
    if [column.type for column in text] != [column.type for column in state] or len(set(map(fold, names))) < len(names):
        return None
    return names


def _named(sql: str, names: list[str]) -> str:
    listed = ", ".join(name if name == WEIGHT else quote(name) for name in names)
    return f"SELECT * FROM ({sql}) AS {RESERVED}q({listed})"


def _net(change: str, names: list[str]) -> str:
    """A change without the rows that stay what they are, such as groups of which something changed that nobody sees."""
    listed, total = ", ".join(map(quote, names)), f"CAST(sum({WEIGHT}) AS BIGINT)"
    return f"SELECT {listed}, {total} AS {WEIGHT} FROM ({change}) GROUP BY {listed} HAVING sum({WEIGHT}) <> 0"


def is_closed(context: Context, query: Query, scope: Scope) -> bool:
    """Whether a query in an expression names nothing of the query around it."""
    return context.bench.resolves(context.render(query, Version.NEW, scope))


def numbered_parts(blocks: Blocks, query: Query) -> dict[Span, int]:
    """What may have state, each with a number: the queries inside a query, itself, and ON of its joins."""
    found: dict[Span, int] = {}
    queries = list(all_queries(blocks, query))
    for number, part in enumerate(queries):
        found.setdefault(part.span, number)
    joins = [source.on for part in queries if isinstance(part.body, Select) for source in part.body.sources]
    for number, on in enumerate((on for on in joins if on is not None), start=len(queries)):
        found.setdefault(on, number)
    return found
