"""Averages of whole numbers inside a query: exact as long as doubles hold every sum, and failing beyond.

    avg(x)  →  CASE WHEN coalesce(sum(abs(CAST(x AS DOUBLE))), 0) < 2^53 THEN avg(x) ELSE fail END

Spark averages whole numbers by adding up doubles, in any order and in parts. A double holds every whole number up to
2^53. If the values of a group are together smaller, signs left out, then so is every sum of some of them: none is ever
rounded, and the average is the same in any order. The sum of the sizes is one of doubles too. It never falls, and no
rounding takes a sum that has reached 2^53 below it; so the test has one answer in any order as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_trickle.blocks.aggregates import averaged
from airflow_trickle.blocks.shapes import Call
from airflow_trickle.engine.delta.context import Guard
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally_parts import WHOLE
from airflow_trickle.tuning import tuning

_AVERAGES = frozenset({"avg", "mean", "try_avg"})
#: Whole numbers of which no sum of doubles is ever rounded: of SMALLINT that takes more rows than anybody has.
_SMALL_NUMBERS = frozenset({"tinyint", "smallint"})


def why_rounded(block: Block, call: Call, *, over_groups: bool) -> str | None:
    """Why an aggregate that answers a floating-point number may come out otherwise when rows come in another order.

    None if it cannot: since its values are small, or since it has a guard.
    """
    if call.span in (block.context.guards or {}):
        return None
    kind = _kind(block, call, over_groups=over_groups)
    if kind in _SMALL_NUMBERS:
        return None
    if kind in WHOLE:
        return f"{call.name}() of {kind} numbers, which Spark adds up as doubles,"
    return f"{call.name}() of floating-point numbers"


def guard_averages(block: Block, calls: Iterable[Call], *, over_groups: bool) -> None:
    """Has every text of some averages of whole numbers fail where it might round; others are left as they are."""
    context = block.context
    if context.guards is None:
        return
    for call in calls:
        kind = _kind(block, call, over_groups=over_groups)
        nested = any(True for _ in context.blocks.subqueries(call.span))
        if call.span in context.guards or kind not in WHOLE or kind in _SMALL_NUMBERS or nested:
            continue
        if _keep_name(block, call):
            context.guards[call.span] = _guard(block, call, str(kind))


def _kind(block: Block, call: Call, *, over_groups: bool) -> str | None:
    """The type of what a call averages; None if it is no average of one value."""
    found = averaged(block.context.blocks, call) if call.name in _AVERAGES else None
    return None if found is None else block.columns_of([found[0]], over_groups=over_groups)[0].type


def _guard(block: Block, call: Call, kind: str) -> Guard:
    blocks, found = block.context.blocks, averaged(block.context.blocks, call)
    assert found is not None  # noqa: S101 - its type is known
    value, rest = found
    # With its FILTER and OVER. Of DISTINCT values the sizes are not more than those of all.
    sizes = f"sum(abs(CAST({blocks.slice(value)} AS DOUBLE))){rest}"
    why = f"{call.name}() of {kind} numbers that are 2^53 or more in all"
    return Guard(
        f"CASE WHEN coalesce({sizes}, 0) < {tuning().exact_double_limit} THEN ",
        f" ELSE CAST(raise_error('{why}') AS DOUBLE) END",
    )


def _keep_name(block: Block, call: Call) -> bool:
    """Sees to the name of a column that has none but its text; whether that is possible."""
    context = block.context
    item = next((item for item in block.select.items if item.span.holds(call.span)), None)
    if item is None or item.alias is not None or item.span in context.names:
        return True
    sql = block.columns_sql([item.span], over_groups=True)
    if not context.bench.resolves(sql):
        return False  # it names something of the query around it
    context.names[item.span] = context.bench.columns(sql)[-1].name
    return True
