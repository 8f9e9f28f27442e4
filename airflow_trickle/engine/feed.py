"""The change feed: what happened to a table between two snapshots, as weighted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table import Table

from airflow_trickle.engine.inputs import read_files
from airflow_trickle.engine.zset import net, weigh
from airflow_trickle.lakehouse.changes import FileChanges

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def weighted_changes(spark: SparkSession, table: Table, changes: FileChanges, schema: Schema) -> DataFrame:
    """The net changed rows with their weight: +2 for a row added twice, -1 for a row taken once.

    Only the changed files are read; rows that moved from one file to another cancel out.
    """
    added = weigh(read_files(spark, table, schema, changes.added), 1)
    removed = weigh(read_files(spark, table, schema, changes.removed), -1)
    return net(added.unionAll(removed))
