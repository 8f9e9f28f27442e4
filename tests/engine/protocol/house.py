"""A whole pipeline without Spark: pin, capture, refresh and atomic group are the real ones, only the rows are not.

`src` is a source; the tables `ga`, `gb` and `gc` over it are an atomic group, each with one row: how many rows the
source had. `m` is the mirror of a source that is a number; `solo` over it holds that number and the two before, by an
append and position deletes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from airflow_trickle.api import Pipeline
from airflow_trickle.engine import publish as publishing
from airflow_trickle.engine.capture import capture as capturing
from airflow_trickle.engine.capture.mirror import mirror_target
from airflow_trickle.engine.capture.state import CaptureState
from airflow_trickle.engine.capture.task import Captured, Prepared, Subject
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.full import layout_of, next_target
from airflow_trickle.engine.record import Refresh
from airflow_trickle.engine.write import Written
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Target, data_files, new_target
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.positions import write_position_deletes
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.plan.steps import UnitKind
from airflow_trickle.results import Mode
from airflow_trickle.spark.session import SparkProvider

SCHEMA = Schema(NestedField(1, "n", LongType(), required=False))
COLUMNS = {"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}]}
GROUP = ("default.ga", "default.gb", "default.gc")
TABLES = (*GROUP, "default.solo", "default.m")
#: So many numbers `solo` holds.
WINDOW = 3

PIPELINE = """
pipeline: p
sources:
  src: {{}}
  m:
    path: {folder}/numbers
    format: json
    schema: n BIGINT
stream_tables:
  ga: {{query: SELECT count(*) AS n FROM src}}
  gb: {{query: SELECT count(*) AS n FROM src}}
  gc: {{query: SELECT ga.n FROM ga JOIN gb ON ga.n = gb.n}}
  solo: {{query: SELECT n FROM m}}
diamond_consistency: atomic
"""


@dataclass(frozen=True)
class NumberTask:
    """Captures a source that is a number."""

    subject: Subject
    number: int
    reason: str = "the number changed"
    size: int = 8
    needs_spark: bool = False

    def prepare(self, _session: Any) -> Prepared:
        target = mirror_target(self.subject.lake, self.subject.step, COLUMNS, self.subject.mirror)
        return Prepared(target, CaptureState(COLUMNS, watermark=str(self.number)))

    def write(self, _session: Any, prepared: Prepared, staging: stagings.Staging) -> Captured:
        added = write_rows(prepared.target, staging, [self.number])
        written = Written(tuple(added), tuple(self.subject.mirror.held.values()))
        return Captured(written, 1, 0, prepared.state, Mode.FULL)

    def check(self) -> None: ...


def write_rows(target: Target, staging: stagings.Staging, numbers: list[int]) -> list[Any]:
    """Write one data file."""
    path = f"{staging.data_folder}/part-0.parquet"
    rows = pa.Table.from_pylist([{"n": n} for n in numbers], schema=schema_to_pyarrow(target.schema))
    with target.table.io.new_output(path).create(overwrite=True) as stream:
        pq.write_table(rows, stream)
    return data_files(target.table, target.schema, [path])


class House:
    """The world outside, and what is needed to run the pipeline in it."""

    def __init__(self, folder: Path, uri: str) -> None:
        self.folder, self.uri = folder, uri
        self.warehouse = f"file://{folder}/warehouse"
        self.outside = SqlCatalog("trickle", uri=uri, warehouse=self.warehouse)
        self.outside.create_namespace_if_not_exists("default")
        self.outside.create_table("default.src", schema=pa.schema([("n", pa.int64())]))
        self.number = 1
        self.rows = 0
        self.append()
        yaml = folder / "p.yaml"
        yaml.write_text(PIPELINE.format(folder=folder))
        self.plan = Pipeline.load(yaml).plan
        self.group = next(step for step in self.plan.refreshes if step.kind is UnitKind.GROUP)
        self.solo = next(step for step in self.plan.refreshes if step.kind is not UnitKind.GROUP)
        self.capture = self.plan.captures[0]

    def open(self) -> Lakehouse:
        return open_lakehouse("trickle", uri=self.uri, warehouse=self.warehouse)

    def append(self) -> None:
        """The source gets a row, and the number grows."""
        self.outside.load_table("default.src").append(pa.table({"n": [self.rows]}))
        self.rows += 1
        self.number += 1

    def look(self, subject: Subject) -> NumberTask | None:
        state, number = subject.mirror.state, self.number
        return None if state is not None and state.watermark == str(number) else NumberTask(subject, number)


def spark() -> SparkProvider:
    provider = SparkProvider()
    provider.end_left_behind = lambda _session: 0  # type: ignore[method-assign]
    return provider


def rows_at(lake: Lakehouse, identifier: str, snapshot_id: int | None) -> list[int]:
    """The rows of a table at a snapshot, by a plain scan."""
    table = lake.table(identifier)
    assert table is not None
    return sorted(table.scan(snapshot_id=snapshot_id).to_arrow()["n"].to_pylist())


def _value(run: Refresh, decision: Decision) -> int:
    """What the query gives at the pinned states."""
    found = set()
    for name, version in decision.target.inputs.items():
        if name == "default.src":
            table = run.lake.table(name)
            snapshot = table.snapshot_by_id(version.snapshot_id) if table and version.snapshot_id else None
            assert snapshot is not None
            assert snapshot.summary is not None
            # Its files get many, and a row of each would be read.
            found.add(int(snapshot.summary.additional_properties["total-records"]))
        else:
            found.add(rows_at(run.lake, name, version.snapshot_id)[-1])
    (value,) = found  # gc: what its inputs agree about
    return value


def without_spark(monkeypatch: pytest.MonkeyPatch, house: House | None = None) -> None:
    """Let refreshes write the numbers that their queries would give, and captures see the number of a house."""

    @contextmanager
    def working(run: Refresh, decision: Decision) -> Iterator[Any]:
        published = decision.published
        current = run.lake.table_at(run.step.identifier, published.location) if published else None
        target = (
            new_target(run.lake, run.step.identifier, SCHEMA)
            if current is None
            else next_target(run.step.identifier, current, current.metadata.schema(), layout_of(run.step))
        )
        held = list(files_of(target.table, published.version.snapshot_id).values()) if published else []
        yield SimpleNamespace(run=run, decision=decision, target=target, held=held, size=0)

    def write(work: Any, record: stagings.Staging, lease: Lease) -> Any:
        run, decision, target = work.run, work.decision, work.target
        value = _value(run, decision)
        way = publishing._Way(Mode.FULL, decision.reason, None)
        if run.step.identifier != "default.solo":
            written = Written(tuple(write_rows(target, record, [value])), tuple(work.held))
            return way, publishing._Change(written, 1, len(work.held)), None
        before = rows_at(run.lake, run.step.identifier, None) if work.held else []
        added = write_rows(target, record, list(range(max([*before, value - WINDOW]) + 1, value + 1)))
        gone, deletes = [], []
        for file in work.held:
            with target.table.io.new_input(file.file_path).open() as stream:
                numbers = pq.read_table(stream)["n"].to_pylist()
            old = [place for place, n in enumerate(numbers) if n <= value - WINDOW]
            if len(old) == len(numbers):
                gone.append(file)
            elif old and not file.deletes:
                deletes.append((file, old))
            elif old:
                gone.append(file)
                kept = [n for n in numbers if n > value - WINDOW]
                added += _rewritten(target, record, kept, file.file_path)
        marked = write_position_deletes(target.table, record, deletes) if deletes else []
        change = Written(tuple(added), tuple(gone), 0, tuple(marked))
        return way, publishing._Change(change, len(added), len(marked)), None

    monkeypatch.setattr(publishing, "working", working)
    monkeypatch.setattr(publishing, "_write", write)
    if house is not None:
        monkeypatch.setitem(capturing._LOOKS, "files", house.look)
        monkeypatch.setitem(capturing._LOOKS, "snapshot", house.look)


def _rewritten(target: Target, record: stagings.Staging, numbers: list[int], old: str) -> list[Any]:
    path = f"{record.data_folder}/again-{abs(hash(old))}.parquet"
    rows = pa.Table.from_pylist([{"n": n} for n in numbers], schema=schema_to_pyarrow(target.schema))
    with target.table.io.new_output(path).create(overwrite=True) as stream:
        pq.write_table(rows, stream)
    return data_files(target.table, target.schema, [path])
