"""Ticks without Spark: everything about a refresh is real, but DuckDB computes the rows, and they are written anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from airflow_trickle import Pipeline
from airflow_trickle.engine import publish as publishing
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.full import layout_of, next_target
from airflow_trickle.engine.inputs import query_over
from airflow_trickle.engine.record import Refresh
from airflow_trickle.engine.write import Written
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import data_files, new_target
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.plan.steps import Plan, RefreshStep
from airflow_trickle.results import Mode
from airflow_trickle.spark.session import SparkProvider
from tests.engine.world import World, bag


class DuckDBWorld(World):
    """A world whose pipeline has columns of whole numbers and of text."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder, f"sqlite:///{folder}/catalog.db")
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", self.uri)
        monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", self.warehouse)
        monkeypatch.setattr(publishing, "working", _working)
        monkeypatch.setattr(publishing, "_write", _write)
        monkeypatch.setattr(SparkProvider, "end_left_behind", lambda _provider, _session: 0)

    @property
    def plan(self) -> Plan:
        return Pipeline.load(self.yaml).plan

    def step(self, unit: str) -> RefreshStep:
        return next(step for step in self.plan.refreshes if step.unit == unit)

    def open(self) -> Lakehouse:
        return open_lakehouse("trickle", uri=self.uri, warehouse=self.warehouse)

    def status(self, name: str) -> TableStatus:
        with self.open() as lake:
            return read_status(lake, [f"default.{name}"])[f"default.{name}"]


@contextmanager
def _working(run: Refresh, decision: Decision) -> Iterator[Any]:
    rows = _result(run, decision)
    published, step = decision.published, run.step
    if published is None:
        target, held = new_target(run.lake, step.identifier, _schema_of(rows)), []
    else:
        table = run.lake.table_at(step.identifier, published.location)
        target = next_target(step.identifier, table, table.metadata.schema(), layout_of(step))
        held = list(files_of(table, published.version.snapshot_id).values())
    yield SimpleNamespace(run=run, decision=decision, target=target, held=held, rows=rows, size=0)


def _result(run: Refresh, decision: Decision) -> pa.Table:
    """What the query gives over the pinned states of its inputs."""
    views = {name: f"input_{number}" for number, name in enumerate(decision.target.inputs)}
    with duckdb.connect() as connection:
        for name, version in decision.target.inputs.items():
            connection.register(views[name], _rows_at(run.lake, name, version.snapshot_id))
        return connection.execute(query_over(run.step, views).replace("`", '"')).to_arrow_table()


def _rows_at(lake: Lakehouse, identifier: str, snapshot_id: int | None) -> pa.Table:
    table = lake.table(identifier)
    assert table is not None
    if snapshot_id is None:
        return schema_to_pyarrow(table.schema()).empty_table()
    return table.scan(snapshot_id=snapshot_id).to_arrow()


def _schema_of(rows: pa.Table) -> Schema:
    types = [StringType() if pa.types.is_string(column.type) else LongType() for column in rows.schema]
    named = enumerate(zip(rows.column_names, types, strict=True), 1)
    return Schema(*(NestedField(number, name, of, required=False) for number, (name, of) in named))


def _write(work: Any, record: stagings.Staging, _lease: Lease) -> Any:
    decision, target = work.decision, work.target
    way = publishing._Way(Mode.FULL, decision.reason, None)
    schema = schema_to_pyarrow(target.schema)
    rows = pa.Table.from_pylist(work.rows.to_pylist(), schema=schema)
    before = schema.empty_table()
    if decision.published is not None:
        before = target.table.scan(snapshot_id=decision.published.version.snapshot_id).to_arrow()
        if bag(before) == bag(rows):
            return way, None, None
    path = f"{record.data_folder}/part-0.parquet"
    with target.table.io.new_output(path).create(overwrite=True) as stream:
        pq.write_table(rows, stream)
    written = Written(tuple(data_files(target.table, target.schema, [path])), tuple(work.held))
    return way, publishing._Change(written, rows.num_rows, before.num_rows), None
