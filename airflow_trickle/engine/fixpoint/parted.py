"""A change of tables in two steps: what goes, then what comes."""

from __future__ import annotations

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Views
from airflow_trickle.engine.fixpoint.sql import World
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import quote


def parted(change: World) -> tuple[World | None, World, World | None]:
    """The change by which rows go, the tables in between, and the change by which rows come; None for no change."""
    going: dict[str, Views] = {}
    between: dict[str, Views] = {}
    coming: dict[str, Views] = {}
    for name, views in change.tables.items():
        going[name], between[name], coming[name] = _parted(change.bench, views)  # type: ignore[arg-type]
    first, middle, last = (World(change.bench, tables, change.from_before) for tables in (going, between, coming))
    return (first if first.changed else None), middle, (last if last.changed else None)


def _parted(bench: SparkBench, views: Views) -> tuple[Views, Views, Views]:
    same = Views(views.new, views.new, None, types=views.types)
    before = Views(views.old, views.old, None, types=views.types)
    if views.delta is None:
        return same, same, same
    if views.grows:
        return before, before, views
    minus, plus = (
        bench.keep(f"SELECT * FROM {quote(views.delta)} WHERE {WEIGHT} {sign} 0", "what goes, or what comes")
        for sign in ("<", ">")
    )
    if minus is None:
        return before, before, views
    if plus is None:
        return views, same, same
    names = ", ".join(quote(column.name) for column in bench.columns(f"SELECT * FROM {quote(views.old)}"))
    rows = (
        f"SELECT {names}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(views.old)} "
        f"UNION ALL SELECT {names}, {WEIGHT} FROM {quote(minus)}"
    )
    counted = f"SELECT {names}, sum({WEIGHT}) AS {WEIGHT} FROM ({rows}) GROUP BY {names}"
    sql = (
        f"SELECT {names} FROM ({counted}) "
        f"LATERAL VIEW explode(array_repeat(0, CAST({WEIGHT} AS INT))) AS {RESERVED}n WHERE {WEIGHT} > 0"
    )
    # Read with every pass, so it is computed once.
    kept = bench.keep(sql, "a table without the rows that go") or bench.view(sql, "a table without the rows that go")
    middle = Views(kept, kept, None, types=views.types)
    return Views(views.old, kept, minus, types=views.types), middle, Views(kept, views.new, plus, types=views.types)
