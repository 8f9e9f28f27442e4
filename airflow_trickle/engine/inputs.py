"""Iceberg files as Spark DataFrames, read by field id at exactly one snapshot."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema, index_by_name
from pyiceberg.table import Table

from airflow_trickle.engine.zset import RESERVED, quoted
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.columns import id_name, same_columns, spark_schema
from airflow_trickle.lakehouse.commit import NAME_MAPPING, OWNED
from airflow_trickle.lakehouse.files import spark_pattern
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.plan.steps import TableStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE = f"{RESERVED}file"


def read_files(
    spark: SparkSession, table: Table, schema: Schema, files: Sequence[DataFile], *, with_file: bool = False
) -> DataFrame:
    """The rows of some data files of a table, as columns of ``schema``; columns a file lacks are NULL.

    ``with_file`` adds the column `FILE`: which file a row is in.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    by_id = not _some_files_lack_ids(table, schema)
    # Files without ids hold the columns of the table as it is now (see `_some_files_lack_ids`).
    written = schema if by_id else table.metadata.schema()
    struct = StructType.fromJson(spark_schema(written, name_of(table), by_id=by_id, named_by_id=by_id))
    if files:
        rows = spark.read.schema(struct).parquet(*(spark_pattern(file.file_path) for file in files))
    else:
        rows = spark.createDataFrame([], struct)
    found = {field.field_id: id_name(field.field_id) if by_id else field.name for field in written.fields}
    wanted = StructType.fromJson(spark_schema(schema, name_of(table), by_id=False))
    columns = [
        (F.col(quoted(found[field.field_id])) if field.field_id in found else F.lit(None))
        # Struct fields get their names back by a cast, which goes by position.
        .cast(column.dataType)
        .alias(column.name)
        for field, column in zip(schema.fields, wanted.fields, strict=True)
    ]
    if with_file:
        columns.append(F.col("_metadata.file_path").alias(FILE))
    return rows.select(*columns)


def _some_files_lack_ids(table: Table, schema: Schema) -> bool:
    """A name mapping says that some files have no field ids: then columns are found by name, in all files.

    That is exact only while every name has always meant the same column; otherwise the table is refused. Our own
    tables have a mapping for other readers; their files have the ids that Spark needs.
    """
    if NAME_MAPPING not in table.metadata.properties or OWNED in table.metadata.properties:
        return False
    if not same_columns(schema, table.metadata.schema()) or _names_changed_meaning(table):
        raise UnsupportedTable(
            f"Table {name_of(table)} has data files without field ids, and its columns were renamed, dropped or added "
            f"again over time, so what these files hold cannot be told for sure. Rewrite its data files and remove the "
            f"property {NAME_MAPPING}."
        )
    return True


def _names_changed_meaning(table: Table) -> bool:
    """Whether any column, nested ones too, ever had two names, or any name stood for two columns."""
    pairs = {pair for schema in table.metadata.schemas for pair in index_by_name(schema).items()}
    return len(pairs) != len({name for name, _ in pairs}) or len(pairs) != len({number for _, number in pairs})


def create_view(frame: DataFrame) -> str:
    """Give a DataFrame a name that SQL can use, and that nobody else uses."""
    name = f"trickle_{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name


def query_over(step: TableStep, views: dict[str, str]) -> str:
    """The user's text with every table replaced by its view; nothing else is touched.

    ``SELECT orders.id FROM orders`` becomes ``SELECT orders.id FROM `trickle_1f` AS orders``.
    """
    text = step.query
    for reference in sorted(step.references, key=lambda ref: ref.start, reverse=True):
        replacement = f"`{views[reference.identifier]}`"
        if reference.alias is not None:
            replacement += f" AS {reference.alias}"
        text = text[: reference.start] + replacement + text[reference.end :]
    return text
