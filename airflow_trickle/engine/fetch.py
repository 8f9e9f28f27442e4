"""Few rows of Spark in this process, as Arrow: one job, exactly the values that Spark has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_trickle.spark.active import is_connect
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


def fetch(frame: DataFrame, most: int | None = None, also: Sequence[str] = ()) -> pa.Table | None:
    """The rows of a frame; None if there are more than so many, or of a type that Arrow does not carry exactly.

    Without ``most`` the limit is `Tuning.arrow_change_rows`. The types of the columns in ``also`` do not matter: they
    stay here.
    """
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError, UnsupportedOperationException

    if most is None:
        most = tuning().arrow_change_rows
    try:
        rows = frame.limit(most + 1).toArrow()
    except (UnsupportedOperationException, PySparkTypeError):  # a type that Spark does not turn into Arrow
        return None
    if rows.num_rows > most or len(set(rows.schema.names)) != rows.num_columns:
        return None
    if not all(is_exact(field.type) for field in rows.schema if field.name not in also):
        return None
    # Whether a column may hold NULLs differs from query to query; tables that differ in that cannot be put together.
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))


def given_back(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows that were fetched, as a frame again; it travels with the plans that read it."""
    return spark.createDataFrame(rows, _struct(rows.schema))


def empty(spark: SparkSession, columns: StructType) -> DataFrame:
    """A frame without rows."""
    from pyspark.sql import functions as F

    if is_connect(spark):
        return spark.createDataFrame([], columns)
    # In a driver of its own, pyspark would have the executors run Python for it, which they need not have.
    nothing = [F.lit(None).cast(column.dataType).alias(column.name) for column in columns.fields]
    return spark.range(0).select(*nothing)


def _struct(schema: pa.Schema) -> StructType:
    """The types in Spark's words. Spark itself would take a time without zone for one with it."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, _spark_type(field.type)) for field in schema])


def _spark_type(kind: pa.DataType) -> DataType:
    import pyarrow as pa
    from pyspark.sql import types as T

    if pa.types.is_decimal128(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return T.TimestampType() if kind.tz else T.TimestampNTZType()
    plain: dict[pa.DataType, DataType] = {
        pa.bool_(): T.BooleanType(),
        pa.int8(): T.ByteType(),
        pa.int16(): T.ShortType(),
        pa.int32(): T.IntegerType(),
        pa.int64(): T.LongType(),
        pa.float32(): T.FloatType(),
        pa.float64(): T.DoubleType(),
        pa.date32(): T.DateType(),
        pa.string(): T.StringType(),
        pa.large_string(): T.StringType(),
        pa.binary(): T.BinaryType(),
        pa.large_binary(): T.BinaryType(),
    }
    return plain[kind]


def is_exact(kind: pa.DataType) -> bool:
    """Whether values of a type go to Arrow and back to Spark unchanged."""
    import pyarrow as pa

    of = pa.types
    return bool(
        of.is_boolean(kind)
        or of.is_integer(kind)
        or of.is_float32(kind)
        or of.is_float64(kind)
        or of.is_decimal128(kind)
        or of.is_string(kind)
        or of.is_large_string(kind)
        or of.is_binary(kind)
        or of.is_large_binary(kind)
        or of.is_date32(kind)
        or (of.is_timestamp(kind) and kind.unit == "us")
    )
