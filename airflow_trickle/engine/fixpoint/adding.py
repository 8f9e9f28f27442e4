"""A member gets rows: which of them it does not have yet, or which are better than what it has."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_trickle.engine.fixpoint.rows import Rows, is_few
from airflow_trickle.engine.zset import RESERVED, WEIGHT
from airflow_trickle.identifiers import quote

#: So few rows derive so few that it does not matter whether some come several times.
_VERY_FEW = 5_000


def add(rows: Rows, found: Sequence[str], rank: int) -> int:
    """Add what is new of some rows; returns how many were.

    Args:
        rows: The member that gets them.
        found: SQL of the rows, of which some may be there already, or come several times.
        rank: The rank of those that are new.
    """
    bench = rows.bench
    listed = ", ".join(rows.names)
    every = " UNION ALL ".join(f"SELECT {listed} FROM ({sql})" for sql in found)
    if rows.member.best is not None:
        return _improve(rows, every, rank)
    sql = f"SELECT DISTINCT {listed} FROM ({every})"
    if is_few(rows.latest):
        # Each row once: that is a job of its own on Spark, and nothing for few rows here.
        alone = rows.latest <= _VERY_FEW and rows.is_plain
        here = bench.fetch(bench.frame(every if alone else sql))
        if here is not None:
            here = here.group_by(here.column_names).aggregate([]) if alone else here
            if not here.num_rows:
                rows.latest = 0
                return 0
            new = rows.is_new(here)
            if new is None:
                sql = f"SELECT * FROM {quote(bench.give(here))}"
                new = bench.fetch(bench.frame(_unknown(rows, sql, few=True)))
            if new is not None:
                rows.add_rows(new, rank)
                return int(new.num_rows)
    return rows.add_frame(bench.frame(_unknown(rows, sql, few=False)), rank)


def _unknown(rows: Rows, found: str, *, few: bool) -> str:
    """Of some rows those that are not there; few are sent to where the others are, instead of sorting all."""
    d, s = f"{RESERVED}d", f"{RESERVED}s"
    same = rows.same(d, s)
    there = rows.now()
    if few:
        there = f"SELECT {s}.* FROM ({there}) AS {s} WHERE EXISTS (SELECT 1 FROM ({found}) AS {d} WHERE {same})"
        return f"SELECT /*+ BROADCAST({s}) */ {d}.* FROM ({found}) AS {d} LEFT ANTI JOIN ({there}) AS {s} ON {same}"
    return f"SELECT {d}.* FROM ({found}) AS {d} LEFT ANTI JOIN ({there}) AS {s} ON {same}"


def _improve(rows: Rows, every: str, rank: int) -> int:
    """Of a member with best values: take over what is better than what there is."""
    best, bench = rows.member.best, rows.bench
    assert best is not None  # noqa: S101 - asked before
    keys, value = rows.identity, rows.names[best.column]
    shown = ", ".join([*keys, f"{best.way}({value}) AS {value}"])
    listed = ", ".join(rows.names)
    group = f" GROUP BY {', '.join(keys)}" if keys else " HAVING count(*) > 0"
    found = f"SELECT {listed} FROM (SELECT {shown} FROM ({every}){group})"
    sign = "<" if best.way == "min" else ">"
    d, s = f"{RESERVED}d", f"{RESERVED}s"
    worse = f"({d}.{value} {sign} {s}.{value} OR ({s}.{value} IS NULL AND {d}.{value} IS NOT NULL))"
    same = rows.same(d, s, keys)
    better = bench.keep(
        f"SELECT {d}.* FROM ({found}) AS {d} WHERE NOT EXISTS "
        f"(SELECT 1 FROM ({rows.now()}) AS {s} WHERE {same} AND NOT coalesce({worse}, false))",
        f"better values of {rows.member.name}",
    )
    if better is None:
        rows.latest = 0
        return 0
    fresh = f"(SELECT 1 FROM {quote(better)} AS {d} WHERE {same})"
    if rows.base is not None:
        base = rows.staying(f"SELECT {listed} FROM {quote(rows.base)}")
        gone = bench.keep(
            f"SELECT * FROM ({base}) AS {s} WHERE EXISTS {fresh}", f"rows of {rows.member.name} that are bettered"
        )
        if gone is not None:
            rows.gone.append(gone)
    parts = [f"SELECT * FROM {quote(part.view)} AS {s} WHERE NOT EXISTS {fresh}" for part in rows.parts]
    parts.append(f"SELECT {listed}, CAST({rank} AS BIGINT) AS {WEIGHT} FROM {quote(better)}")
    rows.replace_parts(bench.frame(" UNION ALL ".join(parts)))
    rows.latest = bench.frame(f"SELECT * FROM {quote(better)}").count()
    return rows.latest
