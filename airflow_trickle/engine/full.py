"""FULL refresh: run the plain query and find exactly how its result differs from what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from airflow_trickle.engine.inputs import FILE, create_view, query_over, read_files
from airflow_trickle.engine.zset import RESERVED, WEIGHT, checkpointed, columns, net, weigh
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import has_collections, iceberg_schema, same_columns, spark_schema
from airflow_trickle.lakehouse.commit import Target, new_target
from airflow_trickle.lakehouse.deletes import total_rows, total_size
from airflow_trickle.lakehouse.partitions import Layout
from airflow_trickle.lakehouse.snapshots import Version, files_of, schema_of
from airflow_trickle.plan.steps import TableStep
from airflow_trickle.spark.active import queried

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Input:
    """One input of a refresh: a table, which state of it, and the files of that state."""

    table: Table
    version: Version
    files: tuple[DataFile, ...]

    @property
    def rows(self) -> int | None:
        """How many rows it has, if metadata alone can tell."""
        return total_rows(self.files)

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return total_size(self.files)


def input_at(lake: Lakehouse, identifier: str, version: Version) -> Input:
    """An input at exactly the wanted version."""
    table = lake.table(identifier)
    if table is None:
        raise UnsupportedTable(f"Table {identifier} was dropped while it was needed. Create it again.")
    return Input(table, version, tuple(files_of(table, version.snapshot_id).values()))


def input_views(spark: SparkSession, inputs: Mapping[str, Input], views: list[str]) -> dict[str, str]:
    """By identifier: a view of each input; the names also go to ``views``, to be dropped at the end."""
    names: dict[str, str] = {}
    for identifier, source in inputs.items():
        frame = read_files(spark, source.table, schema_of(source.table, source.version), source.files)
        names[identifier] = create_view(frame)
        views.append(names[identifier])
    return names


def run_query(spark: SparkSession, step: TableStep, inputs: Mapping[str, Input], views: list[str]) -> DataFrame:
    """The query's result over the inputs; the names of the views made on the way go to ``views``."""
    return queried(spark, query_over(step, input_views(spark, inputs, views)))


def target_of(lake: Lakehouse, step: TableStep, result: DataFrame, current: Table | None) -> Target:
    """The table to write, with the columns of the query's result; columns that stay keep their field ids."""
    described = result.schema.jsonValue()
    for field in described["fields"]:
        if field["name"].startswith(RESERVED):
            raise UnsupportedTable(
                f"column '{field['name']}' begins with {RESERVED}, which is reserved. Give it another name with AS."
            )
    return target_for(lake, step.identifier, described, current, layout=layout_of(step))


def layout_of(step: TableStep) -> Layout:
    """What the definition of a table says of its files."""
    return Layout(step.partition_by, step.cluster_by)


def target_for(
    lake: Lakehouse,
    identifier: str,
    described: dict[str, Any],
    current: Table | None,
    properties: Mapping[str, str] | None = None,
    layout: Layout | None = None,
) -> Target:
    """The table to write with columns given as the JSON of Spark's schema; a new one gets the properties too.

    Without a layout the files are parted as those before.
    """
    if current is None:
        return new_target(lake, identifier, iceberg_schema(described, None, 0), properties, layout)
    before = current.metadata.schema()
    after = iceberg_schema(described, before, current.metadata.last_column_id)
    if same_columns(before, after):
        return next_target(identifier, current, before, layout)
    known = max(schema.schema_id for schema in current.metadata.schemas)
    after = after.model_copy(update={"schema_id": known + 1})
    return next_target(identifier, current, after, layout)


def next_target(identifier: str, current: Table, schema: Schema, layout: Layout | None) -> Target:
    """The next state of a table that exists, with these columns."""
    if layout is None:
        return Target(identifier, current, schema, is_new=False)
    parted, order = layout.spec(schema, current.metadata), layout.order(schema)
    return Target(identifier, current, schema, is_new=False, parted=parted, order=order)


def shaped(result: DataFrame, target: Target, *more: Column) -> DataFrame:
    """The result in the table's own types, each column marked with its field id for the Parquet writer.

    ``DataFrame.to(schema)`` would say the same, but the marks do not reach its files.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    wanted = StructType.fromJson(spark_schema(target.schema, target.identifier))
    return result.select(
        *(F.col(quote(c.name)).cast(c.dataType).alias(c.name, metadata=c.metadata) for c in wanted.fields), *more
    )


@dataclass(frozen=True)
class Difference:
    """How a new result differs from the published rows: weighted rows, and how many come and go."""

    delta: DataFrame
    inserted: int
    deleted: int


def difference(spark: SparkSession, new: DataFrame, target: Target, published: Sequence[DataFile]) -> Difference:
    """New minus published, as a bag. Computed once and kept: a query with rand() must not run twice."""
    old = read_files(spark, target.table, target.schema, published)
    return netted(weigh(new, 1).unionAll(weigh(old, -1)))


def netted(weighted: DataFrame) -> Difference:
    """Weighted rows as a difference: equal rows added up, computed once and counted."""
    from pyspark.sql import functions as F

    delta = checkpointed(net(weighted))
    counts = delta.agg(
        F.coalesce(F.sum(F.when(F.col(WEIGHT) > 0, F.col(WEIGHT))), F.lit(0)).alias("inserted"),
        F.coalesce(F.sum(F.when(F.col(WEIGHT) < 0, -F.col(WEIGHT))), F.lit(0)).alias("deleted"),
    ).collect()[0]
    return Difference(delta, int(counts["inserted"]), int(counts["deleted"]))


def files_holding(
    spark: SparkSession, target: Target, published: Sequence[DataFile], rows: DataFrame
) -> list[DataFile]:
    """The published files that may hold any of some rows.

    Rows are compared by a 64-bit hash: a chance hit costs a needless rewrite of a file, never a wrong
    row. Spark cannot hash maps; then every file counts.
    """
    from pyspark.sql import functions as F

    from airflow_trickle.lakehouse.files import file_key

    if has_collections(target.schema):
        return list(published)
    old = read_files(spark, target.table, target.schema, published, with_file=True)
    fingerprint = F.xxhash64(*columns(old)).alias("h")
    wanted = rows.select(F.xxhash64(*columns(rows)).alias("h")).distinct()
    hits = (
        old.select(F.col(FILE).alias("file"), fingerprint)
        .join(wanted, "h", "left_semi")
        .select("file")
        .distinct()
        .collect()
    )
    by_key = {file_key(file.file_path): file for file in published}
    return [by_key[key] for key in sorted({file_key(row["file"]) for row in hits})]
