"""A small world for engine tests: sources written by plain pyiceberg, a pipeline, and a judge that is not ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from airflow_trickle import Pipeline, TableResult
from airflow_trickle.results import Choice, ChoiceCode

#: What AUTO is made to choose where a test wants small inputs refreshed from changes.
FROM_CHANGES = Choice(code=ChoiceCode.FEW_CHANGES, full=False)


class World:
    def __init__(self, folder: Path, uri: str) -> None:
        self.folder = folder
        self.uri = uri
        self.warehouse = f"file://{folder}/warehouse"
        self.yaml = folder / "dags" / "p.yaml"
        self.yaml.parent.mkdir(parents=True, exist_ok=True)
        self.outside = SqlCatalog("trickle", uri=uri, warehouse=self.warehouse)
        self.outside.create_namespace_if_not_exists("default")
        self.sources: dict[str, pa.Schema] = {}

    # --- sources, by plain pyiceberg -------------------------------------------------------------

    def source(self, name: str, schema: pa.Schema, rows: Iterable[dict[str, Any]] = ()) -> Table:
        self.sources[name] = schema
        table = self.outside.create_table(f"default.{name}", schema=schema)
        if rows := list(rows):
            table.append(pa.Table.from_pylist(rows, schema=schema))
        return table

    def append(self, name: str, *rows: dict[str, Any]) -> None:
        self.outside.load_table(f"default.{name}").append(pa.Table.from_pylist(list(rows), schema=self.sources[name]))

    def delete(self, name: str, where: str) -> None:
        self.outside.load_table(f"default.{name}").delete(where)

    def replace(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.outside.load_table(f"default.{name}").overwrite(pa.Table.from_pylist(rows, schema=self.sources[name]))

    # --- the pipeline ----------------------------------------------------------------------------

    def define(self, tables: dict[str, str], diamonds: str = "none", **extra: Any) -> None:
        lines = ["pipeline: p", "sources:"]
        lines += [f"  {name}: {{}}" for name in self.sources]
        lines.append("stream_tables:")
        for name, query in tables.items():
            lines += [f"  {name}:", "    query: |", *(f"      {line}" for line in query.strip().splitlines())]
            lines += [f"    {key}: {value}" for key, value in extra.get(name, {}).items()]
        # At the end, so that lines are easy to count.
        lines.append(f"diamond_consistency: {diamonds}")
        lines += [f"{key}: {value}" for key, value in extra.get("pipeline", {}).items()]
        self.yaml.write_text("\n".join(lines) + "\n")

    def tick(self, **options: Any) -> dict[str, TableResult]:
        return Pipeline.load(self.yaml).tick(**options)

    # --- looking, without our code ---------------------------------------------------------------

    def rows(self, name: str) -> Counter[tuple[Any, ...]]:
        return bag(self.outside.load_table(f"default.{name}").scan().to_arrow())

    def judge(self, query: str, **tables: str) -> Counter[tuple[Any, ...]]:
        """What the query should give over the sources as they are now, by DuckDB."""
        with self._judging(tables) as connection:
            return bag(connection.execute(query).to_arrow_table())

    def judge_all(self, tables: dict[str, str]) -> dict[str, Counter[tuple[Any, ...]]]:
        """What every one of some tables should hold over the sources as they are now, by DuckDB."""
        with self._judging(tables) as connection:
            return {name: bag(connection.execute(f"SELECT * FROM {name}").to_arrow_table()) for name in tables}

    @contextmanager
    def _judging(self, tables: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect() as connection:
            for name in self.sources:
                connection.register(name, self.outside.load_table(f"default.{name}").scan().to_arrow())
            for name, definition in tables.items():
                connection.execute(f"CREATE VIEW {name} AS {definition}")
            yield connection

    def snapshots(self, name: str) -> int:
        return len(self.outside.load_table(f"default.{name}").metadata.snapshots)

    def files(self) -> set[str]:
        """Every file and folder of the warehouse."""
        return {str(path.relative_to(self.folder)) for path in (self.folder / "warehouse").rglob("*")}


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset; numbers compare by value whatever their width."""
    return Counter(tuple(_plain(value) for value in row.values()) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, _plain(item)) for key, item in value.items())
    if isinstance(value, float):
        return round(value, 9)
    return value
