"""Which functions answer by the order in which rows come: no table has one, so every run may bring another."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_trickle.algebra import functions
from airflow_trickle.identifiers import fold

#: What a function may be wrapped in before OVER: FILTER, IGNORE NULLS, WITHIN GROUP.
WRAPPINGS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)

_BY_ORDER = "answers by the order in which rows come, which is not the same on every run"
_BY_TIES = "orders by something else than what it lists, and rows that are equal in that come in any order"


def why_unordered(call: exp.Expr, name: str) -> str | None:
    """Why an aggregate over the same rows may answer differently; None if it does not."""
    if fold(name) not in functions.ORDER_DEPENDENT:
        return None
    if isinstance(call, exp.GroupConcat) and isinstance(call.this, exp.Order):
        listed = call.this.this
        values = listed.expressions if isinstance(listed, exp.Distinct) else [listed]
        return None if any(key.this in values for key in call.this.expressions) else _BY_TIES
    # Of the most frequent values it takes the lowest, if it is told to, or the first in the order of WITHIN GROUP.
    told = isinstance(call, exp.Mode) and call.args.get("deterministic") == exp.true()
    return None if told or isinstance(call.parent, exp.WithinGroup) else _BY_ORDER


def why_window_unordered(window: exp.Expr, written: Callable[[exp.Expr], str | None]) -> tuple[exp.Expr, str] | None:
    """The function of a window without ORDER BY that depends on one, and why; None if it is not so.

    How ties of an ORDER BY fall is not judged here: that takes the columns of the table.
    """
    call = window.this
    while isinstance(call, WRAPPINGS):
        call = call.this
    name = fold(written(call) or "")
    definition = _definition(window)
    if definition.args.get("order") is not None:
        return None
    why = _BY_ORDER if name in functions.BY_POSITION or _counts_rows(definition) else why_unordered(call, name)
    return None if why is None else (call, why if why is _BY_TIES else f"without ORDER BY {why}")


def _definition(window: exp.Expr) -> exp.Expr:
    """What stands in OVER, or behind the name of it in the WINDOW clause."""
    select = window.find_ancestor(exp.Select)
    named = {fold(one.this.name): one for one in (select.args.get("windows") or () if select else ())}
    # Each name once: two that name each other would have no end.
    while window.alias and (found := named.pop(fold(window.alias), None)) is not None:
        window = found
    return window


def _counts_rows(window: exp.Expr) -> bool:
    """Whether its frame is a number of rows before or behind, and not all of them."""
    frame = window.args.get("spec")
    if frame is None or str(frame.args.get("kind")).upper() != "ROWS":
        return False
    return any(str(frame.args.get(end)).upper() != "UNBOUNDED" for end in ("start", "end"))
