"""Iceberg files as Spark DataFrames, read by field id at exactly one snapshot."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.name_mapping import parse_mapping_from_json

from airflow_trickle.engine.zset import quoted
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.commit import NAME_MAPPING
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.plan.steps import TableStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def read_files(spark: SparkSession, table: Table, schema: Schema, files: Sequence[DataFile]) -> DataFrame:
    """The rows of some data files of a table, as columns of ``schema``; columns a file lacks are NULL."""
    from pyspark.sql.types import StructType as Struct

    by_id = _find_columns_by_id(table, schema)
    wanted = Struct.fromJson(spark_schema(schema, name_of(table), by_id=by_id))
    if not files:
        return spark.createDataFrame([], wanted)
    written = schema if by_id else table.metadata.schema()
    struct = Struct.fromJson(spark_schema(written, name_of(table), by_id=by_id))
    # File names are not patterns: a `[` in one must not be taken as the start of a glob.
    reader = spark.read.schema(struct).option("__globPaths__", "false")
    rows = reader.parquet(*(spark_path(file.file_path) for file in files))
    return rows if by_id else _by_meaning(rows, written, schema, wanted)


def _by_meaning(rows: DataFrame, written: Schema, schema: Schema, wanted: StructType) -> DataFrame:
    """Columns that were found by name, as columns of another schema of the table: equal ids, equal column."""
    from pyspark.sql import functions as F

    if written.fields == schema.fields:
        return rows
    names = {field.field_id: field.name for field in written.fields}
    return rows.select(
        *(
            (F.col(quoted(names[field.field_id])) if field.field_id in names else F.lit(None))
            .cast(column.dataType)
            .alias(column.name)
            for field, column in zip(schema.fields, wanted.fields, strict=True)
        ),
    )


def _find_columns_by_id(table: Table, schema: Schema) -> bool:
    """Whether the files carry field ids everywhere; a name mapping says that some may not."""
    mapping = table.metadata.properties.get(NAME_MAPPING)
    if mapping is None:
        return True
    names = {field.field_id: field.names for field in parse_mapping_from_json(mapping)}
    renamed = [field.name for field in schema.fields if list(names.get(field.field_id, [])) not in ([], [field.name])]
    if renamed:
        raise UnsupportedTable(
            f"Table {name_of(table)} has files without field ids and renamed columns ({', '.join(renamed)}), which "
            f"this version does not read. Rewrite its data files."
        )
    return False


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
