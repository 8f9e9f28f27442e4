"""What happened to the inputs of a table, and their states as views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Views
from airflow_trickle.engine.delta.ranges import RangesOfFiles, ranges_of_files
from airflow_trickle.engine.feed import appended, net_rows, weighted_changes
from airflow_trickle.engine.full import Input, input_at
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.changes import FileChanges, file_changes
from airflow_trickle.lakehouse.columns import readable, spark_schema
from airflow_trickle.lakehouse.deletes import total_size
from airflow_trickle.lakehouse.lost_rows import LostRows, split
from airflow_trickle.lakehouse.net_change import NetChange
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.lakehouse.state import Frontier

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class ChangedInput:
    """An input before and after, the files that came and went, and the rows that went from files that stay.

    ``net`` is what all of that comes to, where this process has found it.
    """

    before: Input
    after: Input
    changes: FileChanges
    lost: tuple[LostRows, ...] = ()
    net: NetChange | None = None

    @property
    def nothing(self) -> bool:
        """Whether it is the same as before."""
        if self.net is not None:
            return not self.net.count
        return self.changes.nothing and not self.lost

    @property
    def only_grew(self) -> bool:
        """Whether rows came, and none went."""
        if self.net is not None:
            return self.net.only_grew
        return not self.changes.removed and not self.lost

    @property
    def rows(self) -> int:
        """How many rows the change is made of, those included that are not known to cancel out."""
        if self.net is not None:
            return self.net.count
        return self.changes.rows + sum(len(one.rows) for one in self.lost)

    @property
    def size(self) -> int:
        """How many bytes have to be read to know it."""
        if self.net is not None:
            return self.net.nbytes
        return self.changes.size + total_size(one.file for one in self.lost)


def changed_inputs(lake: Lakehouse, inputs: Mapping[str, Input], before: Frontier) -> dict[str, ChangedInput]:
    """Every input of a table with what happened to it since the table last read it."""
    found: dict[str, ChangedInput] = {}
    for identifier, after in inputs.items():
        then = before.inputs[identifier]
        old = after if then == after.version else input_at(lake, identifier, then)
        changes = file_changes(after.table, then.snapshot_id, after.version.snapshot_id)
        rest, lost = split(after.table, changes)
        found[identifier] = ChangedInput(old, after, rest, lost)
    return found


def unchanged_inputs(inputs: Mapping[str, Input]) -> dict[str, ChangedInput]:
    """Every input of a table as it is, as if it had been so before."""
    return {identifier: ChangedInput(one, one, FileChanges((), ())) for identifier, one in inputs.items()}


def present(spark: SparkSession, bench: SparkBench, source: Input, opened: Callable[[int], None]) -> Views:
    """An input as it is now, without a change; its files are opened when a query first reads it."""
    schema = schema_of(source.table, source.version)

    def read() -> DataFrame:
        opened(source.size)
        return read_files(spark, source.table, schema, source.files)

    view = bench.promise(read, source.size)
    bench.know_ranges(view, RangesOfFiles(schema, source.files))
    return Views(view, view, None, types=_types(schema, source))


def states_of(spark: SparkSession, bench: SparkBench, one: ChangedInput, opened: Callable[[int], None]) -> Views:
    """An input before and after with its change; ``opened`` is told the bytes of files that Spark gets to read."""
    now = present(spark, bench, one.after, opened)
    if one.net is not None:
        opened(one.net.bytes_read)
    if one.nothing:
        return now
    schema = schema_of(one.after.table, one.after.version)
    if one.net is not None:
        change: str | None = bench.give(net_rows(one.net))
    elif not one.only_grew:
        opened(one.size)
        # Files that were rewritten hold mostly rows that cancel out: computed once, not in every term.
        change = bench.keep_frame(weighted_changes(spark, one.after.table, one.changes, schema, one.lost))
    else:
        change = bench.promise(lambda: _appended(spark, one, schema, opened), one.size)
        bench.know_ranges(change, ranges_of_files(schema, one.changes.added))
    if change is None:
        return now

    def read() -> DataFrame:
        opened(one.before.size)
        return read_files(spark, one.before.table, schema, one.before.files)

    before = bench.promise(read, one.before.size)
    bench.know_ranges(before, RangesOfFiles(schema, one.before.files))
    return Views(before, now.new, change, grows=one.only_grew, types=now.types)


def _appended(spark: SparkSession, one: ChangedInput, schema: Schema, opened: Callable[[int], None]) -> DataFrame:
    opened(one.size)
    return appended(spark, one.after.table, one.changes, schema)


def _types(schema: Schema, source: Input) -> dict[str, str]:
    """By folded name: the types of an input's columns in Spark's words."""
    from pyspark.sql.types import StructType

    name = source.table.name()[-1]
    struct = StructType.fromJson(spark_schema(readable(schema, name), name))
    return {fold(column.name): column.dataType.simpleString() for column in struct.fields}
