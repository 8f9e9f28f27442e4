"""Tables with a past for tests without Spark: states published as a refresh does, at moments of our choice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from airflow_trickle import Pipeline, clock
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Target, commit, data_files, new_target, stage
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.partitions import Layout
from airflow_trickle.lakehouse.snapshots import Version, files_of
from airflow_trickle.lakehouse.state import Frontier, TickRecord, read_status, write_history, write_status, write_tick
from airflow_trickle.plan.steps import Plan
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.tick import Tick

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
COLUMNS = Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "s", StringType(), required=False))

YAML = """\
pipeline: p
sources: [src]
stream_tables:
  a: {query: "SELECT n, s FROM src"}
  b: {query: SELECT n FROM a}
  c: {query: SELECT count(*) AS n FROM b}
"""


def at(tick: int) -> datetime:
    """The effective time of a tick."""
    return START + timedelta(hours=tick)


def plan_of(folder: Path, text: str = YAML) -> Plan:
    path = folder / "dags" / "p.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return Pipeline.load(path).plan


def row(n: int) -> dict[str, Any]:
    return {"n": n, "s": "x" * n}


def table(lake: Lakehouse, name: str) -> Table:
    found = lake.table(f"default.{name}")
    assert found is not None
    return found


class Past:
    """Publishes states of tables, and looks at them with plain pyiceberg."""

    def __init__(self, lake: Lakehouse) -> None:
        self.lake = lake
        self.epochs: dict[str, int] = {}

    def tick(self, number: int, **rows: Sequence[Mapping[str, Any]] | None) -> None:
        """A tick that gives tables other rows; None for a table that it reads without a change."""
        with self.lake.database.transaction() as connection:
            record = TickRecord(f"p/{number}", "p", {"default.src": Version(number, 0)}, {}, at(number), at(number))
            write_tick(connection, self.lake, record)
        for name, new in rows.items():
            if new is None:
                self.advance(name, number)
            else:
                self.publish(name, number, new)

    def frontier(self, name: str, number: int) -> Frontier:
        source = {"default.src": Version(number, 0)}
        return Frontier(source if name == "a" else {"default.up": Version(number, 0)}, source)

    def advance(self, name: str, number: int) -> None:
        with self.lake.database.transaction() as connection:
            values = {"frontier": self.frontier(name, number), "effective_at": at(number), "tick_id": f"p/{number}"}
            write_status(self.lake, connection, f"default.{name}", **values)

    def publish(
        self,
        name: str,
        number: int,
        rows: Sequence[Mapping[str, Any]],
        *,
        schema: Schema | None = None,
        layout: Layout | None = None,
        definition: str | None = None,
        more: Mapping[str, str] | None = None,
        frontier: Frontier | None = None,
        tick: Tick | None = None,
        **status: Any,
    ) -> int:
        """A refresh that replaces all rows of a table; its snapshot. A tick takes the place of the number's."""
        identifier = f"default.{name}"
        tick_id, moment = (f"p/{number}", at(number)) if tick is None else (tick.tick_id, tick.effective_at)
        current = self.lake.table(identifier)
        if current is None:
            target = new_target(self.lake, identifier, schema or COLUMNS, layout=layout)
        else:
            columns = schema or current.metadata.schema()
            spec = layout.spec(columns, current.metadata) if layout else None
            target = Target(identifier, current, columns, is_new=False, parted=spec)
        record = stagings.begin(
            self.lake,
            lease=Lease(identifier, "test"),
            table_location=target.table.metadata.location,
            pipeline="p",
            tick_id=tick_id,
            spark=None,
            new_table=target.is_new,
        )
        old = (
            [] if current is None else list(files_of(target.table, target.table.metadata.current_snapshot_id).values())
        )
        known = read_status(self.lake, [identifier]).get(identifier)
        epoch = (known.epoch if known else 0) + 1
        frontier, definition = frontier or self.frontier(name, number), definition or f"query of {name}"
        said = json.loads(frontier.as_json())
        staged = stage(
            self.lake,
            target,
            record,
            added=self._written(target, record, rows),
            removed=old,
            summary={
                "trickle.frontier": json.dumps(said["inputs"]),
                "trickle.world": json.dumps(said["world"]),
                "trickle.epoch": str(epoch),
                "trickle.tick": tick_id,
                "trickle.effective-at": clock.text_of(moment),
                "trickle.definition": definition,
                **(more or {}),
            },
        )

        def also(connection: Any) -> None:
            values = {
                "name": name,
                "pipeline": "p",
                "status": Status.ACTIVE.value,
                "mode": "FULL",
                "definition": definition,
                "frontier": frontier,
                "effective_at": moment,
                "tick_id": tick_id,
                "metadata_location": staged.location,
                "snapshot_id": staged.snapshot_id,
                "schema_id": staged.table.metadata.current_schema_id,
                "epoch": epoch,
            }
            write_status(self.lake, connection, identifier, **{**values, **status})
            result = TableResult(table=name, status=Status.ACTIVE, mode=Mode.FULL, reason="test", epoch=epoch)
            about = {"identifier": identifier, "pipeline": "p", "tick_id": tick_id, "action": "REFRESH"}
            write_history(self.lake, connection, result, started_at=moment, **about)

        commit(self.lake, [staged], also)
        return staged.snapshot_id

    def _written(self, target: Target, record: stagings.Staging, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        make_folder(target.table.io, record.data_folder)
        paths = []
        # A file for each row: whatever a table is parted by, a file is in one partition.
        for row in rows:
            paths.append(f"{record.data_folder}/part-{uuid.uuid4()}.parquet")
            pq.write_table(
                pa.Table.from_pylist([dict(row)], schema=schema_to_pyarrow(target.schema)), spark_path(paths[-1])
            )
        return data_files(target.table, target.schema, paths, target.spec)

    # --- looking ---------------------------------------------------------------------------------

    def rows(self, name: str) -> list[dict[str, Any]]:
        return sorted(self.lake.catalog.load_table(f"default.{name}").scan().to_arrow().to_pylist(), key=str)

    def status(self, name: str) -> Any:
        return read_status(self.lake, [f"default.{name}"])[f"default.{name}"]

    def everything(self) -> dict[str, Any]:
        """Rows, statuses and where metadata are, of all tables."""
        statuses = read_status(self.lake)
        rows = {name: self.rows(name.removeprefix("default.")) for name in statuses}
        return {"statuses": statuses, "locations": self.lake.locations(statuses), "rows": rows}
