"""Iceberg files as Spark DataFrames, read by field id at exactly one snapshot."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema, index_by_name
from pyiceberg.table import Table

from airflow_trickle.engine.fetch import empty
from airflow_trickle.engine.merge import equality_fields, standing_at, surviving, with_places
from airflow_trickle.engine.zeros import one_zero
from airflow_trickle.engine.zset import FILE, POSITION
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.columns import id_name, readable, same_columns, spark_schema
from airflow_trickle.lakehouse.commit import NAME_MAPPING, OWNED
from airflow_trickle.lakehouse.deletes import LiveFile, deletes_of, rows_of
from airflow_trickle.lakehouse.files import spark_pattern
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.plan.steps import TableStep

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: Of nested columns the path; writers put other characters into codes of their own.
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")

__all__ = ["FILE", "POSITION", "count_rows", "create_view", "query_over", "read_files", "read_places", "view_name"]


def read_files(
    spark: SparkSession,
    table: Table,
    schema: Schema,
    files: Sequence[DataFile],
    *,
    with_file: bool = False,
    with_position: bool = False,
) -> DataFrame:
    """The rows of some data files of one snapshot, as columns of ``schema``; columns a file lacks are NULL.

    Rows that delete files take away are left out. ``with_file`` adds the column `FILE`: which file a row is in;
    ``with_position`` the column `POSITION`: the how manieth row of the file it is, from 0.
    """
    by_id = not some_files_lack_ids(table, schema)
    # What reads a column that Spark cannot read is refused, see `unreadable`.
    schema = readable(schema, name_of(table))
    # Files without ids hold the columns of the table as it is now (see `some_files_lack_ids`).
    written = schema if by_id else readable(table.metadata.schema(), name_of(table))

    def read(columns: Schema, locations: Sequence[str]) -> tuple[DataFrame, dict[int, str]]:
        return _read(spark, table, columns, locations, by_id=by_id)

    whole = [file.file_path for file in files if not deletes_of(file)]
    marked = [file for file in files if isinstance(file, LiveFile) and file.deletes]
    places = [name for name, wanted in ((FILE, with_file), (POSITION, with_position)) if wanted]
    frames = []
    if whole or not marked:
        rows, found = read(written, whole)
        frames.append(_named(with_places(rows, no_files=not whole) if places else rows, table, schema, found, places))
    if marked:
        keys = equality_fields(table, schema, marked)
        if by_id:
            # A column may by now have the name that another had when it was used to delete.
            keys = [field.model_copy(update={"name": id_name(field.field_id)}) for field in keys]
        known = {field.field_id for field in written.fields}
        wider = Schema(*written.fields, *(field for field in keys if field.field_id not in known))
        rows, found = read(wider, [file.file_path for file in marked])
        rows = surviving(spark, table, rows, marked, read, keys, found)
        frames.append(_named(rows, table, schema, found, places))
    return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])


def read_places(spark: SparkSession, table: Table, schema: Schema, places: Mapping[str, pa.Array]) -> DataFrame:
    """The rows that stand at some places of data files, whatever delete files say; by the path of the file."""
    by_id = not some_files_lack_ids(table, schema)
    schema = readable(schema, name_of(table))
    written = schema if by_id else readable(table.metadata.schema(), name_of(table))
    rows, found = _read(spark, table, written, list(places), by_id=by_id)
    return _named(standing_at(spark, rows, places), table, schema, found, [])


def count_rows(spark: SparkSession, table: Table, schema: Schema, files: Sequence[DataFile]) -> int:
    """How many rows some data files of one snapshot have: from metadata, and where that cannot tell, by reading."""
    unsure = [file for file in files if rows_of(file) is None]
    counted = read_files(spark, table, schema, unsure).count() if unsure else 0
    return counted + sum(rows_of(file) or 0 for file in files)


def _read(
    spark: SparkSession, table: Table, columns: Schema, locations: Sequence[str], *, by_id: bool
) -> tuple[DataFrame, dict[int, str]]:
    """Columns right out of Parquet files, and how the column of each field id is called."""
    from pyspark.sql.types import StructType

    # By their own names Spark skips row groups that a condition rules out; it does so by the names in the files.
    own_names = not by_id or _names_are_those_of_the_files(table, columns)
    struct = StructType.fromJson(spark_schema(columns, name_of(table), by_id=by_id, named_by_id=not own_names))
    if locations:
        rows = spark.read.schema(struct).parquet(*(spark_pattern(location) for location in locations))
    else:
        rows = empty(spark, struct)
    return rows, {field.field_id: field.name if own_names else id_name(field.field_id) for field in columns.fields}


def _named(rows: DataFrame, table: Table, schema: Schema, found: dict[int, str], places: list[str]) -> DataFrame:
    """The columns of a schema, under their names and in their order, out of those that were read."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    wanted = StructType.fromJson(spark_schema(schema, name_of(table), by_id=False))
    columns = [
        one_zero(
            # Struct fields get their names back by a cast, which goes by position.
            (F.col(quote(found[field.field_id])) if field.field_id in found else F.lit(None)).cast(column.dataType),
            column.dataType,
        ).alias(column.name)
        for field, column in zip(schema.fields, wanted.fields, strict=True)
    ]
    return rows.select(*columns, *places)


def some_files_lack_ids(table: Table, schema: Schema) -> bool:
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


def _names_are_those_of_the_files(table: Table, columns: Schema) -> bool:
    """Whether a column's name is beyond doubt that of the same column in every file.

    Names never changed meaning, and are such that no writer spells them otherwise; the columns are those of a schema
    of the table.
    """
    known = {pair for schema in table.metadata.schemas for pair in index_by_name(schema).items()}
    folded = {fold(name) for name, _ in known}
    return (
        set(index_by_name(columns).items()) <= known
        and all(_PLAIN_NAME.fullmatch(name) for name, _ in known)
        and len(folded) == len({name for name, _ in known})
        and not _names_changed_meaning(table)
    )


def _names_changed_meaning(table: Table) -> bool:
    """Whether any column, nested ones too, ever had two names, or any name stood for two columns."""
    pairs = {pair for schema in table.metadata.schemas for pair in index_by_name(schema).items()}
    return len(pairs) != len({name for name, _ in pairs}) or len(pairs) != len({number for _, number in pairs})


def create_view(frame: DataFrame) -> str:
    """Give a DataFrame a name that SQL can use, and that nobody else uses."""
    name = view_name()
    frame.createOrReplaceTempView(name)
    return name


def view_name() -> str:
    """A name for a view that nobody else uses."""
    return f"trickle_{uuid.uuid4().hex}"


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
