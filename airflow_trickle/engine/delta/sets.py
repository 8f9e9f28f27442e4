"""DISTINCT and the set operations: count the changed rows only.

D = the changed rows, net;   n' = how often each is there now;   n = n' - its weight
Δ = f(n') - f(n)                         DISTINCT: f(n) = 1 if n > 0
Δ = f(l', r') - f(l, r)                  UNION: l + r > 0;  INTERSECT [ALL]: min(l, r);  EXCEPT ALL: max(l - r, 0)
Δ = D without what is published          DISTINCT of rows that only came

How often each row is there is counted in both sides, or read from lines that are kept beside the table: (row, l, r),
to be added up.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_trickle.algebra.nodes import SetKind
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import LINES_FAIL, Change, Column, Context, Published, Tallies, numbered
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import quote

#: The change of one side of a set operation, and its present rows.
_Side = tuple[str | None, str | None]

_LEFT, _RIGHT = f"{RESERVED}l", f"{RESERVED}r"

#: (kind, all) -> how many copies of a row a set operation gives for l on the left and r on the right.
_COPIES = {
    (SetKind.UNION, False): "if({l} + {r} > 0, 1L, 0L)",
    (SetKind.INTERSECT, True): "least({l}, {r})",
    (SetKind.INTERSECT, False): "if({l} > 0 AND {r} > 0, 1L, 0L)",
    (SetKind.EXCEPT, True): "greatest({l} - {r}, 0L)",
    (SetKind.EXCEPT, False): "if({l} > 0 AND {r} <= 0, 1L, 0L)",
}


def union_all(context: Context, columns: list[Column], left: str | None, right: str | None) -> Change | None:
    """The changes of both sides, in the types of the result."""
    parts = [_cast(columns, side) for side in (left, right) if side is not None]
    return Change(" UNION ALL ".join(parts)) if parts else None


def _cast(columns: list[Column], delta: str) -> str:
    names = numbered(len(columns))
    shown = ", ".join(
        f"CAST({name} AS {column.type}) AS {quote(column.name)}" for name, column in zip(names, columns, strict=True)
    )
    return f"SELECT {shown}, {WEIGHT} FROM ({delta}) AS {RESERVED}q({', '.join([*names, WEIGHT])})"


def change_of_distinct(context: Context, delta: str, new: str, tallies: Tallies | None) -> Change | None:
    """The change of the distinct rows of a query, from the change of its rows and its rows now."""
    columns, sides = context.bench.columns(new), ((delta, new), (None, None))
    return change_of_set(context, columns, SetKind.UNION, every=False, sides=sides, tallies=tallies)


def gain_of_distinct(context: Context, delta: str, published: Published) -> Change | None:
    """The distinct rows that came and are not published yet, for a query whose rows only grew."""
    _require_types([Column(name, kind) for name, kind in zip(published.columns, published.types, strict=True)])
    names = numbered(len(published.columns))
    kinds = zip(names, published.types, strict=True)
    cast = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in kinds)
    inner = f"({delta}) AS {RESERVED}q({', '.join([*names, WEIGHT])})"
    view = context.bench.keep(f"SELECT DISTINCT {cast} FROM {inner}", "the distinct rows that came")
    if view is None:
        return None
    there = [quote(name) for name in published.columns]
    same = " AND ".join(f"{{0}}{name} <=> p.{own}" for name, own in zip(names, there, strict=True))
    within = _within(context, view, [f"p.{name}" for name in there])
    # What is published of them is little: sent to where the new rows are, nothing needs to be sorted.
    known = (
        f"SELECT * FROM {quote(published.rows)} AS p "
        f"WHERE EXISTS (SELECT 1 FROM {quote(view)} AS d WHERE {same.format('d.')}){within}"
    )
    shown = ", ".join(f"d.{name} AS {own}" for name, own in zip(names, there, strict=True))
    return Change(
        f"SELECT /*+ BROADCAST(p) */ {shown}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(view)} AS d "
        f"LEFT ANTI JOIN ({known}) AS p ON {same.format('d.')}",
        net=True,
    )


def _require_types(columns: Sequence[Column]) -> None:
    for column in columns:
        if "void" in column.type:
            raise NotInBlocks(f"column '{column.name}' is NULL without a type; write CAST(NULL AS …)")


def _within(context: Context, view: str, columns: Sequence[str]) -> str:
    """That a row lies where the rows of a view with numbered columns lie, as conditions behind others."""
    ranges = context.bench.ranges(view)
    known = [(ranges.get(f"{RESERVED}c{number}"), column) for number, column in enumerate(columns, 1)]
    return "".join(f" AND {one.holds_or_null(column)}" for one, column in known if one is not None)


def change_of_set(
    context: Context,
    columns: list[Column],
    kind: SetKind,
    *,
    every: bool,
    sides: tuple[_Side, _Side],
    tallies: Tallies | None,
) -> Change | None:
    """The change of a set operation, from the change and the present rows of each side.

    Args:
        context: The query.
        columns: The columns of its result.
        kind: Which operation.
        every: Whether it is one with ALL.
        sides: The change and the present rows of each.
        tallies: What is kept beside the table, if this is its outermost operation.
    """
    _require_types(columns)
    names = numbered(len(columns))
    view = _keep_changes(context, columns, sides)
    lines = tallies.lines if tallies is not None else None
    if view is None:
        if tallies is not None:
            tallies.unchanged = True
        return None
    if lines is None:
        rows = _counted(columns, sides)
        if tallies is not None and tallies.wanted:
            tallies.whole = _added_up(names, rows)
    else:
        rows = f"SELECT {', '.join([*names, _LEFT, _RIGHT])} FROM {quote(lines)}"
        gained = f"SELECT {', '.join([*names, _LEFT, _RIGHT])} FROM {quote(view)}"
        assert tallies is not None  # noqa: S101 - it has lines
        tallies.gained, tallies.folded = view, _added_up(names, f"{rows} UNION ALL {gained}")
    same = " AND ".join(f"d.{name} <=> n.{name}" for name in names)
    within = _within(context, view, [f"n.{name}" for name in names])
    found = _added_up(
        names, rows, f"AS n WHERE EXISTS (SELECT 1 FROM {quote(view)} AS d WHERE {same}){within}", every=True
    )
    there = {"l": f"coalesce(n.{_LEFT}, 0L)", "r": f"coalesce(n.{_RIGHT}, 0L)"}
    change = {"l": f"d.{_LEFT}", "r": f"d.{_RIGHT}"}
    other = {side: f"({there[side]} {'-' if lines is None else '+'} {change[side]})" for side in there}
    before, after = (other, there) if lines is None else (there, other)
    copies = _COPIES[kind, every]
    weight = f"CAST({copies.format(**after)} - {copies.format(**before)} AS BIGINT)"
    shown = ", ".join(f"d.{name} AS {quote(column.name)}" for name, column in zip(names, columns, strict=True))
    # Counts that say less than nothing are wrong; rather fail than publish what they say.
    wrong = " OR ".join(f"{count} < 0" for count in other.values())
    told = "the counts of a row do not add up" if lines is None else f"{LINES_FAIL} the counts of a row do not add up"
    checked = f"IF({wrong}, CAST(raise_error('{told}') AS BIGINT), {weight})"
    return Change(
        f"SELECT * FROM (SELECT {shown}, {checked} AS {WEIGHT} FROM {quote(view)} AS d "
        f"LEFT JOIN ({found}) AS n ON {same}) WHERE {WEIGHT} <> 0",
        net=True,
    )


def _counted(columns: list[Column], sides: tuple[_Side, _Side]) -> str:
    """The present rows of both sides, each with its count on the left and on the right."""
    listed, counts = ", ".join(numbered(len(columns))), []
    for number, (_, new) in enumerate(sides):
        if new is not None:
            left, right = ("1L", "0L") if number == 0 else ("0L", "1L")
            counts.append(f"SELECT {listed}, {left} AS {_LEFT}, {right} AS {_RIGHT} FROM ({_cast_plain(columns, new)})")
    return " UNION ALL ".join(counts)


def _added_up(names: Sequence[str], rows: str, which: str = "", *, every: bool = False) -> str:
    """The counts of each row as one; none for a row that is not there, unless ``every`` row is asked for."""
    listed = ", ".join(names)
    having = "" if every else f" HAVING sum({_LEFT}) <> 0 OR sum({_RIGHT}) <> 0"
    return (
        f"SELECT {listed}, sum({_LEFT}) AS {_LEFT}, sum({_RIGHT}) AS {_RIGHT} FROM ({rows}) {which} "
        f"GROUP BY {listed}{having}"
    )


def _keep_changes(context: Context, columns: list[Column], sides: tuple[_Side, _Side]) -> str | None:
    names = numbered(len(columns))
    listed = ", ".join(names)
    parts = []
    for number, (delta, _) in enumerate(sides):
        if delta is not None:
            left, right = (WEIGHT, "0L") if number == 0 else ("0L", WEIGHT)
            cast = ", ".join(f"CAST({n} AS {c.type}) AS {n}" for n, c in zip(names, columns, strict=True))
            inner = f"({delta}) AS {RESERVED}q({', '.join([*names, WEIGHT])})"
            parts.append(f"SELECT {cast}, {left} AS {_LEFT}, {right} AS {_RIGHT} FROM {inner}")
    sql = (
        f"SELECT {listed}, sum({_LEFT}) AS {_LEFT}, sum({_RIGHT}) AS {_RIGHT} FROM ({' UNION ALL '.join(parts)}) "
        f"GROUP BY {listed} HAVING sum({_LEFT}) <> 0 OR sum({_RIGHT}) <> 0"
    )
    return context.bench.keep(sql, "the changed rows and how often they come and go")


def _cast_plain(columns: list[Column], sql: str) -> str:
    names = numbered(len(columns))
    cast = ", ".join(f"CAST({n} AS {c.type}) AS {n}" for n, c in zip(names, columns, strict=True))
    return f"SELECT {cast} FROM ({sql}) AS {RESERVED}q({', '.join(names)})"
