"""The change feed: what happened to a table between two snapshots, as weighted rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table import Table

from airflow_trickle.engine.inputs import read_files, read_places
from airflow_trickle.engine.zset import WEIGHT, net, weigh
from airflow_trickle.lakehouse.changes import FileChanges
from airflow_trickle.lakehouse.columns import readable
from airflow_trickle.lakehouse.lost_rows import LostRows
from airflow_trickle.lakehouse.net_change import NetChange
from airflow_trickle.lakehouse.snapshots import name_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def weighted_changes(
    spark: SparkSession, table: Table, changes: FileChanges, schema: Schema, lost: Sequence[LostRows] = ()
) -> DataFrame:
    """The net changed rows with their weight: +2 for a row added twice, -1 for a row taken once.

    Only the changed files are read; rows that moved from one file to another cancel out.
    """
    names = _names(table, schema)
    parts = [appended(spark, table, changes, schema)] if changes.added or not lost else []
    if changes.removed:
        parts.append(weigh(read_files(spark, table, schema, changes.removed), -1, names))
    if lost:
        places = {one.file.file_path: one.rows for one in lost}
        parts.append(weigh(read_places(spark, table, schema, places), -1, names))
    return net(reduce(lambda left, right: left.unionAll(right), parts), names)


def appended(spark: SparkSession, table: Table, changes: FileChanges, schema: Schema) -> DataFrame:
    """The rows of the added files, each with weight 1."""
    names = _names(table, schema)
    return weigh(read_files(spark, table, schema, changes.added), 1, names)


def net_rows(change: NetChange) -> pa.Table:
    """A net change as rows with their weight; if rows only came, each as often as it came, as `appended` gives them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    weights = change.weights
    if not change.only_grew:
        return change.rows.append_column(WEIGHT, weights)
    copies = pc.list_parent_indices(pa.array([range(count) for count in weights.to_pylist()], pa.list_(pa.int64())))
    return change.rows.take(copies).append_column(WEIGHT, pa.array([1] * len(copies), pa.int64()))


def _names(table: Table, schema: Schema) -> list[str]:
    return [field.name for field in readable(schema, name_of(table)).fields]
