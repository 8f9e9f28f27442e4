"""Rows of a source as a DataFrame, with the number of the file that each is from where that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_trickle.engine.capture.secrets import Options
from airflow_trickle.engine.fetch import empty
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import spark_pattern
from airflow_trickle.lakehouse.listing import ListedFile
from airflow_trickle.plan.captures import DELTA
from airflow_trickle.plan.steps import CaptureStep

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructField

#: The column that says which file a row is from; only on the way into the mirror.
NUMBER = f"{RESERVED}source"
_PATH = f"{RESERVED}path"
_POSITION = f"{RESERVED}position"


def reader(spark: SparkSession, step: CaptureStep, options: Options) -> DataFrameReader:
    """Spark's reader with the options of a source; text that does not fit its columns fails."""
    wanted = spark.read.format("parquet" if step.format == DELTA else step.format)
    if step.format in ("csv", "json"):
        # Spark's default makes NULLs of what it cannot read.
        wanted = wanted.option("mode", "FAILFAST")
    if step.format == "csv" and (options.get("header") or "").lower() == "true":
        # Spark's default takes columns by their place, whatever the header says.
        wanted = wanted.option("enforceSchema", "false")
    return wanted.options(**options.values) if step.format != DELTA else wanted


def read_whole(spark: SparkSession, step: CaptureStep, options: Options, columns: dict[str, Any] | None) -> DataFrame:
    """All rows of a source whose files, if it has any, are not ours to list."""
    wanted = reader(spark, step, options)
    if columns is not None:
        wanted = wanted.schema(_struct(columns["fields"]))
    return wanted.load(spark_pattern(step.path)) if step.path is not None else wanted.load()


def read_listed(
    spark: SparkSession,
    step: CaptureStep,
    options: Options,
    columns: dict[str, Any],
    files: Sequence[ListedFile],
    deleted: Mapping[str, tuple[int, ...]],
) -> DataFrame:
    """The rows of some files, and in `NUMBER` which of them each row is from; rows at deleted positions are left out.

    Columns that stand in the names of folders are taken from there: Spark's own way would guess their types anew from
    whichever files are read together.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if not files:
        return empty(spark, _struct(columns["fields"])).withColumn(NUMBER, F.lit(0))
    named = [name.lower() for name, _ in files[0].partition]
    stored = [column for column in columns["fields"] if column["name"].lower() not in named]
    wanted = reader(spark, step, options).schema(_struct(stored))
    rows = wanted.load([spark_pattern(file.location) for file in files])
    # Not by its plain name: a source may have a column of that name.
    place = rows.metadataColumn("_metadata")
    if deleted:
        rows = rows.select("*", _path(place).alias(_PATH), place["row_index"].alias(_POSITION))
        rows = rows.join(_positions(spark, files, deleted), [_PATH, _POSITION], "left_anti")
    else:
        rows = rows.select("*", _path(place).alias(_PATH))
    rows = rows.join(F.broadcast(_numbers(spark, files)), _PATH, "left")
    kinds = StructType.fromJson({"type": "struct", "fields": columns["fields"]})
    picked = [
        (
            _typed(F.col(_value(named.index(kind.name.lower()))), kind)
            if kind.name.lower() in named
            else F.col(quote(kind.name))
        ).alias(kind.name)
        for kind in kinds.fields
    ]
    return rows.select(*picked, F.col(NUMBER))


def _typed(text: Column, kind: StructField) -> Column:
    """The name of a folder as a value; fails on one that is none, also where a session would make NULL of it."""
    from pyspark.sql import functions as F

    value = text.cast(kind.dataType)
    wanted = f"the name of a folder gives column {kind.name} a value that is no {kind.dataType.simpleString()}: "
    broken = text.isNotNull() & value.isNull()
    return F.when(broken, F.raise_error(F.concat(F.lit(wanted), text))).otherwise(value)


def _struct(fields: Sequence[Mapping[str, Any]]) -> Any:
    from pyspark.sql.types import StructType

    return StructType.fromJson({"type": "struct", "fields": list(fields)})


def _path(place: Column) -> Column:
    """A file's path without escapes, as `ListedFile` has it."""
    from pyspark.sql import functions as F

    # A plus sign is itself in a path, but a space to url_decode.
    decoded = F.url_decode(F.replace(place["file_path"], F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(decoded, "^file:/+", "/")


def _value(index: int) -> str:
    return f"{RESERVED}value_{index}"


def _numbers(spark: SparkSession, files: Sequence[ListedFile]) -> DataFrame:
    # As Arrow: for other rows, pyspark would have executors run Python.
    columns = {
        _PATH: pa.array([file.path for file in files], pa.string()),
        NUMBER: pa.array(range(len(files)), pa.int32()),
    }
    for index in range(len(files[0].partition)):
        columns[_value(index)] = pa.array([file.partition[index][1] for file in files], pa.string())
    return spark.createDataFrame(pa.table(columns))


def _positions(spark: SparkSession, files: Sequence[ListedFile], deleted: Mapping[str, tuple[int, ...]]) -> DataFrame:
    rows = [(file.path, position) for file in files for position in deleted.get(file.path, ())]
    paths, positions = zip(*rows, strict=True) if rows else ((), ())
    return spark.createDataFrame(
        pa.table({_PATH: pa.array(paths, pa.string()), _POSITION: pa.array(positions, pa.int64())})
    )
