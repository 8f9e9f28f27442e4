"""Commits, readers, pins, rollbacks and maintenance in any order: no snapshot that is needed goes, no live file."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.deletes import deletes_of
from airflow_trickle.lakehouse.files import missing, spark_path
from airflow_trickle.lakehouse.leases import Lease
from airflow_trickle.lakehouse.maintenance.reachable import data_and_delete_files, snapshot_files
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.rollback import stage_rollback
from airflow_trickle.lakehouse.state import write_status
from tests.budgets import budget
from tests.databases import new_database
from tests.lakehouse.maintenance.world import (
    POLICY,
    maintained,
    pinned,
    publish,
    read_up_to,
    rows_at,
    snapshots_of,
    table_of,
)

NAME = "default.t"
STEPS = [
    "append",
    "append",
    "append",
    "delete",
    "rewrite",
    "read",
    "publish",
    "pin",
    "begin",
    "end",
    "back",
    "maintain",
]


class World:
    """A table with its past, who needs what of it, and a model of all its rows."""

    def __init__(self, lake: Lakehouse) -> None:
        self.lake = lake
        self.rows: dict[int, list[int]] = {}
        self.current: int | None = None
        self.next = 0
        #: Who has read what last: snapshots that must be there and be read as they were.
        self.readers: dict[str, int] = {}
        self.pins: list[int] = []
        self.kept: list[int] = []
        self.running: list[tuple[Any, int]] = []
        self.ticks = 0

    @property
    def present(self) -> list[int]:
        return self.rows[self.current] if self.current is not None else []

    def step(self, what: str, number: int) -> None:
        getattr(self, f"do_{what}")(number)

    def _published(self, snapshot: int, rows: list[int]) -> None:
        self.rows[snapshot], self.current = sorted(rows), snapshot

    def do_append(self, number: int) -> None:
        new = [self.next, self.next + 1] if number % 2 else [self.next]
        self.next += len(new)
        before = self.present
        self._published(publish(self.lake, NAME, new), [*before, *new])

    def do_delete(self, number: int) -> None:
        if not self.present:
            return
        gone = self.present[number % len(self.present)]
        left = [one for one in self.present if one != gone]
        self._published(publish(self.lake, NAME, [], without=(gone,)), left)

    def do_rewrite(self, number: int) -> None:
        self.next += 1
        self._published(publish(self.lake, NAME, [self.next], rewrite=True), [self.next])

    def do_read(self, number: int) -> None:
        if self.current is not None:
            reader = f"other.reader_{number % 2}"
            read_up_to(self.lake, reader, {NAME: self.current})
            self.readers[reader] = self.current

    def do_publish(self, number: int) -> None:
        """A reader with rows of its own: the states that its policy keeps need what they were computed from."""
        if self.current is not None:
            publish(self.lake, "default.r", [number], frontier={NAME: self.current}, pipeline="q")
            self.kept = [*self.kept, self.current][-POLICY.keep_snapshots :]

    def do_pin(self, number: int) -> None:
        if self.current is not None:
            self.ticks += 1
            pinned(self.lake, f"q/{self.ticks}", {NAME: self.current})
            self.pins.append(self.current)

    def do_begin(self, number: int) -> None:
        """A refresh of a reader begins; it reads the table as it is now."""
        if self.current is not None:
            record = stagings.begin(
                self.lake,
                lease=Lease("default.slow", "x"),
                table_location=f"{self.lake.catalog.properties['warehouse']}/nowhere/{number}",
                pipeline="q",
                tick_id=f"q/running-{number}",
                spark="s",
                new_table=True,
            )
            self.running.append((record, self.current))

    def do_end(self, number: int) -> None:
        if self.running:
            record, _ = self.running.pop(number % len(self.running))
            with self.lake.database.transaction() as connection:
                stagings.finish(self.lake, connection, record)

    def do_back(self, number: int) -> None:
        """A restate: an earlier snapshot becomes the current one."""
        if self.current is None:
            return
        table = table_of(self.lake, NAME)
        snapshots = sorted(table.metadata.snapshots, key=lambda one: one.sequence_number or 0)
        snapshot = snapshots[number % len(snapshots)]
        if snapshot.snapshot_id == self.current:
            return
        record = stagings.begin(
            self.lake,
            lease=Lease(NAME, "test"),
            table_location=table.metadata.location,
            pipeline="p",
            tick_id="p/restate",
            spark=None,
            new_table=False,
        )
        staged = stage_rollback(self.lake, NAME, table, snapshot, record)
        values = {"snapshot_id": staged.snapshot_id, "metadata_location": staged.location}
        commit(self.lake, [staged], lambda connection: write_status(self.lake, connection, NAME, **values))
        self.current = snapshot.snapshot_id

    def do_maintain(self, number: int) -> None:
        found = maintained(self.lake, replace(POLICY, compact=number % 3 != 0))
        assert [(one.identifier, one.error) for one in found.tables if one.error] == []
        if self.current is None:
            return
        now = table_of(self.lake, NAME).metadata.current_snapshot_id
        assert now is not None
        if now != self.current:  # it was compacted
            self._published(now, self.present)
        self.check()

    def check(self) -> None:
        table = table_of(self.lake, NAME)
        known = snapshots_of(self.lake, NAME)
        running = [snapshot for _, snapshot in self.running]
        for snapshot in {self.current, *self.readers.values(), *self.pins, *self.kept, *running}:
            assert snapshot in known
        files = snapshot_files(table, table.metadata.snapshots)
        paths = {*files.manifest_lists, *files.manifests}
        paths |= data_and_delete_files(table.io, files.manifests.values(), live_only=True)
        assert missing(table.io, paths) == []
        for snapshot in known:
            assert rows_at(self.lake, NAME, snapshot) == self.rows[snapshot]
        for snapshot in self.readers.values():
            assert self._change(snapshot) == self._expected(snapshot)

    def _change(self, before: int) -> Counter[int]:
        """What a reader takes for the change since a snapshot, as weighted rows."""
        table = table_of(self.lake, NAME)
        found = file_changes(table, before, self.current)
        net: Counter[int] = Counter()
        for weight, files in ((1, found.added), (-1, found.removed)):
            for file in files:
                gone = set(deleted_positions(table.io, file).to_pylist()) if deletes_of(file) else set()
                for place, value in enumerate(pq.read_table(spark_path(file.file_path))["epoch"].to_pylist()):
                    if place not in gone:
                        net[value] += weight
        return Counter({value: weight for value, weight in net.items() if weight})

    def _expected(self, before: int) -> Counter[int]:
        net = Counter(self.present)
        net.subtract(self.rows[before])
        return Counter({value: weight for value, weight in net.items() if weight})


def play(uri: str, folder: Path, steps: list[tuple[str, int]]) -> None:
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{folder}/warehouse") as lake:
        world = World(lake)
        for what, number in steps:
            world.step(what, number)
        world.step("maintain", 1)


steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 50)), min_size=8, max_size=30)


@pytest.mark.slow
@given(steps)
@budget(0.4)
def test_nothing_that_is_needed_goes_whatever_the_order(steps: list[tuple[str, int]]) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        play(f"sqlite:///{folder}/catalog.db", Path(folder), steps)


@pytest.mark.server
@given(steps)
@budget(0.04)
def test_the_same_holds_on_postgresql(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play(new_database(), Path(folder), steps)
