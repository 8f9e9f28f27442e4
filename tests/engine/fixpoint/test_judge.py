"""The judge is judged: where two other databases can say the same, all three agree, over many graphs and changes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from functools import cache

import duckdb
import pyarrow as pa
import pytest

from tests import budgets
from tests.engine.fixpoint.cte_systems import CTES
from tests.engine.fixpoint.graphs import SHAPES, Rows
from tests.engine.fixpoint.judge import NeverSettles, Row, least_fixed_point
from tests.engine.fixpoint.system import System
from tests.engine.fixpoint.systems import SYSTEMS
from tests.engine.world import bag

#: Cycles that are a WITH RECURSIVE of one table that is read once.
LINEAR = ("linear closure", "right-linear closure", "same generation", "blocked nodes", "few ways out", "labels")
#: Queries as they are.
PLAIN = ("linear", "counted", "two in one query", "one over another", "inside a subquery", "blocked")


def as_ctes(system: System, table: str) -> str:
    """The tables of a cycle as the parts of one query."""
    parts = ", ".join(f"{name} AS ({query})" for name, query in system.tables.items())
    return f"WITH RECURSIVE {parts} SELECT * FROM {table}"


def cases() -> dict[str, tuple[System, str, str]]:
    """Name -> system, table, and the query that says the same."""
    found: dict[str, tuple[System, str, str]] = {}
    for name in LINEAR:
        (table,) = SYSTEMS[name].recursive
        found[name] = (SYSTEMS[name], table, as_ctes(SYSTEMS[name], table))
    for name in PLAIN:
        ((table, query),) = CTES[name].tables.items()
        found[f"CTE: {name}"] = (CTES[name], table, query)
    tree = CTES["a tree with UNION ALL"]
    found["CTE: tree"] = (tree, "walks", tree.tables["walks"])
    for name, system in SYSTEMS.items():
        found.update({f"{name}: {table}": (system, table, query) for table, query in system.duckdb.items()})
    return found


CASES = cases()


@cache
def connected() -> duckdb.DuckDBPyConnection:
    """To open a database takes longer than a query over a few rows."""
    return duckdb.connect(config={"threads": 1})


def in_duckdb(system: System, now: dict[str, list[Row]], query: str) -> Counter[Row]:
    connection = connected()
    for name, columns in system.sources.items():
        names = columns.split()
        schema = pa.schema([(column, pa.int64()) for column in names])
        rows = [dict(zip(names, row, strict=True)) for row in now[name]]
        connection.register(name, pa.Table.from_pylist(rows, schema=schema))
    try:
        return bag(connection.execute(query).to_arrow_table())
    finally:
        for name in system.sources:
            connection.unregister(name)


def in_sqlite(system: System, now: dict[str, list[Row]], query: str) -> Counter[Row]:
    connection = sqlite3.connect(":memory:")
    for name, columns in system.sources.items():
        names = columns.split()
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in names)})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(names))})", now[name])
    return Counter(connection.execute(query).fetchall())


@pytest.mark.parametrize("name", CASES)
def test_three_databases_agree(name: str) -> None:
    system, table, query = CASES[name]
    seen = set()
    for seed in range(6):
        chance = budgets.chance(f"judge {name} {seed}")
        rows = Rows(system, chance.choice(SHAPES), chance)
        for _ in range(3):
            right = least_fixed_point(system.groups, rows.now)[table]
            assert in_duckdb(system, rows.now, query) == right
            assert in_sqlite(system, rows.now, query) == right
            seen.add(len(right))
            rows.change()
    assert max(seen) > 2
    assert len(seen) > 3


def test_what_never_settles_is_told() -> None:
    with pytest.raises(NeverSettles):
        least_fixed_point([{"n": lambda now: [(0,), *((row[0] + 1,) for row in now["n"])]}], {}, passes=50)
