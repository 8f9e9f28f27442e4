"""A world with sources that are captured; what they hold is known from what was written, not from our code."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
from pyiceberg.table import Table

from airflow_trickle import Pipeline, TableResult
from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.runner import new_tick_id, run_tick
from airflow_trickle.spark.session import SparkProvider
from tests.engine.world import World, bag

SPARK = SparkProvider()

Rows = list[dict[str, Any]]


class Lake(World):
    def __init__(self, folder: Path, uri: str) -> None:
        super().__init__(folder, uri)
        self.data = folder / "data"
        self.data.mkdir()

    def define_captured(self, sources: dict[str, str], tables: dict[str, str], **extra: Any) -> None:
        """A pipeline over captured sources, each given as the YAML of its options."""
        lines = ["pipeline: p", "diamond_consistency: none", "sources:"]
        for name, options in sources.items():
            lines += [f"  {name}:", *(f"    {line}" for line in options.strip().splitlines())]
        lines.append("stream_tables:")
        for name, query in tables.items():
            lines += [f"  {name}:", f"    query: {json.dumps(query)}"]
            lines += [f"    {key}: {value}" for key, value in extra.get(name, {}).items()]
        self.yaml.write_text("\n".join(lines) + "\n")

    def tick(self, **options: Any) -> dict[str, TableResult]:
        """A tick on a Spark session that all tests share."""
        plan = Pipeline.load(self.yaml).plan
        with open_lakehouse("trickle") as lake:
            return run_tick(lake, plan, SPARK, **options)

    def capture(self, name: str = "s") -> TableResult:
        """Only the capture of a tick."""
        (step,) = (step for step in Pipeline.load(self.yaml).plan.captures if step.name == name)
        with open_lakehouse("trickle") as lake:
            return capture(lake, step, new_tick_id("p"), SPARK)

    def mirror(self, name: str) -> Table:
        return self.outside.load_table(f"default.{name}")


class Folder:
    """A folder of files of one format, and a book of what was written into them."""

    def __init__(self, path: Path, kind: str, schema: pa.Schema) -> None:
        self.path = path
        self.kind = kind
        self.schema = schema
        self.books: dict[str, Rows] = {}
        path.mkdir(parents=True, exist_ok=True)

    def put(self, name: str, rows: Iterable[dict[str, Any]]) -> Path:
        rows = list(rows)
        self.books[name] = rows
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        write = {"parquet": _parquet, "csv": _csv, "json": _json, "orc": _orc}[self.kind]
        write(file, rows, self.schema)
        return file

    def remove(self, name: str) -> None:
        del self.books[name]
        (self.path / name).unlink()

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        """What the folder holds, as a multiset."""
        every = [row for rows in self.books.values() for row in rows]
        return bag(pa.Table.from_pylist(every, schema=self.schema))


def _parquet(file: Path, rows: Rows, schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)


def _orc(file: Path, rows: Rows, schema: pa.Schema) -> None:
    po.write_table(pa.Table.from_pylist(rows, schema=schema), str(file))


def _csv(file: Path, rows: Rows, schema: pa.Schema) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(schema.names)
        for row in rows:
            writer.writerow(["" if row.get(name) is None else row[name] for name in schema.names])


def _json(file: Path, rows: Rows, schema: pa.Schema) -> None:
    with file.open("w", encoding="utf-8") as stream:
        for row in rows:
            stream.write(
                json.dumps({key: value for key, value in row.items() if value is not None}, default=str) + "\n"
            )
