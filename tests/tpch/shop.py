"""TPC-H in a catalog: sources that change as the benchmark's refresh functions change them, and two judges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.expressions import In

from airflow_trickle import Pipeline, Verification
from tests.engine.world import World

Row = tuple[Any, ...]


class Shop(World):
    """The sources by plain pyiceberg, the stream tables over them, and DuckDB over the same rows."""

    def __init__(self, folder: Path, uri: str, tables: Mapping[str, pa.Table]) -> None:
        super().__init__(folder, uri)
        for name, rows in tables.items():
            self.source(name, rows.schema).append(rows)

    # --- changes -----------------------------------------------------------------------------------

    def arrow(self, name: str) -> pa.Table:
        """All rows of a table."""
        return self.outside.load_table(f"default.{name}").scan().to_arrow()

    def select(self, sql: str, *tables: str) -> pa.Table:
        """What DuckDB makes of some tables."""
        with duckdb.connect() as connection:
            for name in tables:
                connection.register(name, self.arrow(name))
            return connection.execute(sql).to_arrow_table()

    def insert(self, name: str, rows: pa.Table) -> None:
        """Adds rows, in the types of the table."""
        self.outside.load_table(f"default.{name}").append(rows.cast(self.sources[name]))

    def remove(self, name: str, key: str, values: Iterable[Any]) -> None:
        """Deletes the rows with one of some keys."""
        self.outside.load_table(f"default.{name}").delete(In(key, list(values)))

    def update(self, name: str, key: str, changes: Mapping[str, Mapping[Any, str]]) -> None:
        """Sets columns of some rows in one commit.

        Args:
            name: The table.
            key: A column that is never NULL.
            changes: By column and key: the new value, as SQL over the row.
        """
        keys = sorted({one for column in changes.values() for one in column})
        shown = ", ".join(
            f"CASE {key} {' '.join(f'WHEN {one!r} THEN {value}' for one, value in values.items())} "
            f"ELSE {column} END AS {column}"
            for column, values in changes.items()
            if values
        )
        listed = ", ".join(map(repr, keys))
        rows = self.select(f"SELECT * REPLACE ({shown}) FROM {name} WHERE {key} IN ({listed})", name)
        table = self.outside.load_table(f"default.{name}")
        table.overwrite(rows.cast(self.sources[name]), overwrite_filter=In(key, keys))

    def some_keys(self, chance: Random, name: str, key: str) -> list[Any]:
        """The keys that a table has, in random order."""
        found = sorted(set(self.arrow(name)[key].drop_null().to_pylist()))
        chance.shuffle(found)
        return found

    # --- judges ------------------------------------------------------------------------------------

    def verify(self) -> dict[str, Verification]:
        """Every published table against its own query, both on Spark."""
        return Pipeline.load(self.yaml).verify()

    def published(self, names: Iterable[str]) -> dict[str, list[Row]]:
        """The rows that any reader of the catalog sees."""
        return {name: _rows(self.arrow(name)) for name in names}

    def by_duckdb(self, queries: Mapping[str, str]) -> dict[str, list[Row]]:
        """What DuckDB makes of the queries over the sources as they are now; each may read those before it."""
        with duckdb.connect() as connection:
            # As Spark orders NULLs.
            connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
            for name in self.sources:
                connection.register(name, self.arrow(name))
            for name, query in queries.items():
                connection.execute(f"CREATE TABLE {name} AS {query}")
            return {name: _rows(connection.execute(f"FROM {name}").to_arrow_table()) for name in queries}


def open_shop(folder: Path, tables: Mapping[str, pa.Table], monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A catalog of its own on SQLite, with the tables as sources."""
    uri = f"sqlite:///{folder}/catalog.db"
    shop = Shop(folder, uri, tables)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", shop.warehouse)
    return shop


def _rows(table: pa.Table) -> list[Row]:
    return [tuple(row.values()) for row in table.to_pylist()]


def same(ours: list[Row], theirs: list[Row]) -> bool:
    """Whether two results are the same multiset of rows.

    DuckDB divides decimals, and takes their average, in doubles; where it says a double, a decimal of ours need be as
    near to it as a double can tell. Everything else is equal or not.
    """
    doubles = {at for row in theirs for at, value in enumerate(row) if isinstance(value, float)}

    def ordered(rows: list[Row]) -> list[tuple[str, list[float | None]]]:
        keyed = [
            (
                repr([_plain(value) for at, value in enumerate(row) if at not in doubles]),
                [None if row[at] is None else float(row[at]) for at in sorted(doubles)],
            )
            for row in rows
        ]
        return sorted(keyed, key=lambda one: (one[0], [(value is not None, value or 0.0) for value in one[1]]))

    mine, others = ordered(ours), ordered(theirs)
    return len(mine) == len(others) and all(
        a[0] == b[0] and all(_near(x, y) for x, y in zip(a[1], b[1], strict=True))
        for a, b in zip(mine, others, strict=True)
    )


def _plain(value: Any) -> Any:
    """Numbers by value, whatever their width and scale."""
    return Fraction(value) if isinstance(value, Decimal | int) else value


def _near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
