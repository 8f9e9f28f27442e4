"""Few rows of Spark in this process, as Arrow: one job, exactly the values that Spark has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from airflow_trickle.engine.budget import Meter, left_to_spark
from airflow_trickle.spark.active import is_connect
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


def fetch(
    frame: DataFrame,
    most: int | None = None,
    also: Sequence[str] = (),
    *,
    most_bytes: int | None = None,
    counted: str | None = None,
) -> pa.Table | None:
    """The rows of a frame; None if they are too many or too large, or of a type that Arrow does not carry exactly.

    Rows are counted as they arrive, and what does not fit is not received.

    Args:
        frame: The rows.
        most: So many rows at most; without it `Tuning.arrow_change_rows`.
        also: Columns whose types do not matter: they stay here.
        most_bytes: So many bytes at most; without it `Tuning.arrow_change_bytes`.
        counted: The column of weights: each row counts as often as it comes or goes.
    """
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError, UnsupportedOperationException

    limits = tuning()
    meter = Meter(
        limits.arrow_change_rows if most is None else most,
        limits.arrow_change_bytes if most_bytes is None else most_bytes,
        counted,
    )
    some = frame.limit(meter.most_rows + 1)
    try:
        if not meter.fits:
            return None
        received = _received(some, meter)
    except (UnsupportedOperationException, PySparkTypeError):  # a type that Spark does not turn into Arrow
        return None
    if received is None:
        if not meter.fits:
            left_to_spark("A change", meter)
        return None
    schema, batches = received
    rows = pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()
    if not all(is_exact(field.type) for field in rows.schema if field.name not in also):
        return None
    # Whether a column may hold NULLs differs from query to query; tables that differ in that cannot be put together.
    return rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))


def _arrow_schema(columns: StructType) -> pa.Schema | None:
    """The columns in Arrow's types, as in `toArrow`; None if names repeat."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(columns, error_on_duplicated_field_names_in_struct=True, timezone="UTC")
    return schema if len(set(schema.names)) == len(schema.names) else None


def _received(frame: DataFrame, meter: Meter) -> tuple[pa.Schema, list[pa.RecordBatch]] | None:
    """The columns of a frame and its rows batch by batch; None as soon as they do not fit."""
    if not is_connect(frame.sparkSession):
        schema = _arrow_schema(frame.schema)
        rows = None if schema is None else _received_from_driver(frame, meter)
        return None if schema is None or rows is None else (schema, rows)
    import pyarrow as pa

    schema = None
    batches: list[pa.RecordBatch] = []
    # Closed before its end, the stream tells the server that nobody waits for the rest.
    with _stream(frame) as stream:
        for part in stream:
            if not isinstance(part, pa.Table):
                # The columns come before the first row: to ask for them beforehand would be one more round trip.
                schema = _arrow_schema(part)
                if schema is None:
                    return None
                continue
            for batch in part.to_batches():
                if not meter.takes(batch):
                    return None
                batches.append(batch)
    assert schema is not None  # noqa: S101 - every answer begins with its columns
    return (schema, batches) if meter.fits else None


@contextmanager
def _stream(frame: Any) -> Iterator[Iterator[StructType | pa.Table]]:
    """The answer to a Spark Connect query as it arrives; `DataFrame.toArrow` would collect it first."""
    plan = frame._plan
    client = frame._session.client
    with closing(client.to_table_as_iterator(plan.to_proto(client), plan.observations)) as parts:
        yield parts


def _received_from_driver(frame: Any, meter: Meter) -> list[pa.RecordBatch] | None:
    """The same where Spark's driver runs beside this process.

    The driver's thread that sends the rows has to be read to its end, but what does not fit is not kept.
    """
    import pyarrow as pa
    from pyspark.errors.exceptions.captured import unwrap_spark_exception
    from pyspark.sql.pandas.serializers import ArrowCollectSerializer
    from pyspark.traceback_utils import SCCallSiteSync
    from pyspark.util import _load_from_socket

    with SCCallSiteSync(frame._sc):  # type: ignore[no-untyped-call]
        port, secret, server = frame._jdf.collectAsArrowToPython()
    batches: list[pa.RecordBatch] = []
    order: list[int] = []
    try:
        serializer = ArrowCollectSerializer()  # type: ignore[no-untyped-call]
        with _load_from_socket((port, secret), serializer) as stream:
            for part in stream:
                if not isinstance(part, pa.RecordBatch):
                    order = part
                elif meter.fits and meter.takes(part):
                    batches.append(part)
                else:
                    batches.clear()
    finally:
        with unwrap_spark_exception():
            server.getResult()
    return [batches[number] for number in order] if meter.fits else None


#: Rows of more bytes are given to pyspark, which may send them to the server before the plan that reads them.
_TRAVELS_WITH_PLANS = 256 * 1024


def given_back(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows that were fetched, as a frame again; it travels with the plans that read it."""
    struct = struct_of(rows.schema)
    if is_connect(spark) and rows.nbytes <= _TRAVELS_WITH_PLANS and len(set(rows.schema.names)) == rows.num_columns:
        from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
        from pyspark.sql.connect.plan import LocalRelation

        # As ``createDataFrame`` does, which would first ask the server for its settings.
        local = LocalRelation(rows.cast(_arrow_schema(struct)), schema=struct.json())
        return ConnectFrame(local, spark)  # type: ignore[arg-type,return-value]
    return spark.createDataFrame(rows, struct)


def empty(spark: SparkSession, columns: StructType) -> DataFrame:
    """A frame without rows."""
    from pyspark.sql import functions as F

    if is_connect(spark):
        return spark.createDataFrame([], columns)
    # In a driver of its own, pyspark would have the executors run Python for it, which they need not have.
    nothing = [F.lit(None).cast(column.dataType).alias(column.name) for column in columns.fields]
    return spark.range(0).select(*nothing)


def struct_of(schema: pa.Schema) -> StructType:
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
