"""What there is of a unit before a refresh: the rows of its tables, and what was kept of their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.fixpoint.counted import Bag
from airflow_trickle.engine.fixpoint.decide import UnitDecision
from airflow_trickle.engine.fixpoint.ranks import Lines, Ranks, valid
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.rules import Member
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.deletes import total_rows, total_size
from airflow_trickle.lakehouse.snapshots import files_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Anew(Exception):
    """It has to be found from nothing; the text says why."""


@dataclass(frozen=True)
class Before:
    """The published tables of a unit.

    Attributes:
        run: The refresh.
        decision: Which state of each table counts.
        session: Where rows are read.
        counted: Whether copies count on the way round.
    """

    run: UnitRun
    decision: UnitDecision
    session: SparkSession
    counted: bool

    def table(self, name: str) -> Table:
        """The published state of a table of the unit."""
        published = self.decision.tables[name].published
        assert published is not None  # noqa: S101 - asked only for tables that are
        return self.run.lake.table_at(name, published.location)

    def held(self, name: str) -> list[DataFile]:
        """The files of a table of the unit."""
        published = self.decision.tables[name].published
        if published is None:
            return []
        return list(files_of(self.table(name), published.version.snapshot_id).values())

    def kept(self) -> dict[str, Ranks]:
        """By table: what is kept of the ranks of its rows; only tables of which that is known."""
        found: dict[str, Ranks] = {}
        for name, one in self.decision.tables.items():
            published, table = one.published, self.table(name)
            if published is None or published.frontier is None:
                continue
            ranks = valid(published.kept, self.run.tables[name].step.definition, published.frontier, table.io)
            if ranks is not None:
                found[name] = ranks
        return found

    def rows(self, bench: SparkBench, member: Member, kept: Mapping[str, Ranks]) -> Rows:
        """The rows of a member with their ranks, as far as these are kept.

        Raises:
            Anew: nothing else knows the rows, and what was kept is lost.
        """
        from pyspark.sql.types import StructType

        ranks = kept.get(member.text.step.identifier)
        lines = ranks.members.get(member.key) if ranks is not None else None
        view = bench.promise(lambda: lines.frame(self.session)) if lines is not None else None
        if member.step is None:
            if lines is None or view is None:
                raise Anew(f"what was kept of {member.name} is lost")
            struct = StructType.fromJson(dict(lines.columns))
            columns = [Column(f.name, f.dataType.simpleString()) for f in struct.fields if f.name != WEIGHT]
            listed = ", ".join(quote(column.name) for column in columns)
            base = bench.promise(lambda: bench.frame(f"SELECT {listed} FROM {quote(view)}"))
            return Rows(self.session, bench, member, columns, base, view, lines.count)
        table, held = self.table(member.key), self.held(member.key)
        schema = table.metadata.schema()
        struct = StructType.fromJson(spark_schema(schema, member.key))
        columns = [Column(f.name, f.dataType.simpleString()) for f in struct.fields]

        def read() -> DataFrame:
            self.run.phases.bytes_read += total_size(held)
            rows = read_files(self.session, table, schema, held)
            return rows if member.distinct or self.counted else rows.distinct()

        size = total_rows(held) or 0
        return Rows(self.session, bench, member, columns, bench.promise(read), view, size)

    def bag(self, bench: SparkBench, member: Member, kept: Mapping[str, Ranks]) -> Bag:
        """The rows of a member of which copies count."""
        rows = self.rows(bench, member, kept)
        if member.step is not None or rows.lines is None:
            return Bag(self.session, bench, member, rows.columns, rows.base)
        bag = Bag(self.session, bench, member, rows.columns)
        # Added up, the lines are the rows as often as they are there.
        bag.parts = [rows.lines]
        every = bag.now()
        base = bench.promise(lambda: bench.frame(every))
        return Bag(self.session, bench, member, rows.columns, base, rows.lines)

    def lines_here(self, lines: Lines | None, most_bytes: int) -> pa.Table | None:
        """The lines of a member in this process, if they are known and take no more bytes than that."""
        if lines is None:
            return None
        return lines.here(self.table(self.run.step.tables[0].identifier).io, most_bytes)
