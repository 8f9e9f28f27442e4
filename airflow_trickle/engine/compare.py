"""How rows differ from what they should be, with rounding of floating-point numbers told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType

from airflow_trickle.engine.full import difference, shaped
from airflow_trickle.engine.zset import RESERVED, WEIGHT, columns
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.results import DifferentRow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Sums of doubles depend on the order of addition; a relative error below this is put down to that.
TOLERANCE = 1e-9

_ROUNDED = f"{RESERVED}rounded"


@dataclass(frozen=True)
class Comparison:
    """How many rows a table lacks, has too many, and has with another rounding; and the first that differ."""

    missing: int
    surplus: int
    rounding: int = 0
    rows: tuple[DifferentRow, ...] = ()


def compare(
    spark: SparkSession, result: DataFrame, target: Target, published: Sequence[DataFile], limit: int
) -> Comparison:
    """Compare a query's result with a table's rows as bags; ``limit``: how many differing rows to show."""
    from pyspark.sql import functions as F

    found = difference(spark, shaped(result, target), target, published)
    if not found.inserted and not found.deleted:
        return Comparison(0, 0)
    delta = _marked(found.delta, target.schema)
    weight, rounded = F.col(WEIGHT), F.col(_ROUNDED)
    rounding = delta.where(rounded & (weight > 0)).agg(F.coalesce(F.sum(weight), F.lit(0))).collect()[0][0]
    rest = delta.where(~rounded)
    first = rest.orderBy(*columns(rest), weight).limit(limit).drop(_ROUNDED)
    # By way of Arrow: a Row would have its timestamps in the time zone of this machine.
    shown = first.toArrow().to_pylist() if limit else []
    rows = tuple(DifferentRow(weight=row.pop(WEIGHT), row=row) for row in shown)
    return Comparison(found.inserted - rounding, found.deleted - rounding, rounding, rows)


def _marked(delta: DataFrame, schema: Schema) -> DataFrame:
    """A difference with a column `_ROUNDED`: whether a row has a partner that differs by rounding alone.

    Rows are paired by their other columns, and only where there is a single way to do it: one row that is
    missing and one that is surplus, equally often.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    floats = [field.name for field in schema.fields if isinstance(field.field_type, (FloatType, DoubleType))]
    if not floats:
        return delta.withColumn(_ROUNDED, F.lit(False))
    others = [F.col(quote(field.name)) for field in schema.fields if field.name not in floats]
    # A row of numbers alone: a constant, since Spark warns of windows without a partition.
    alike = Window.partitionBy(*(others or [F.lit(0)]))
    weight = F.col(WEIGHT)
    pair = (F.count(F.lit(1)).over(alike) == 2) & (F.sum(weight).over(alike) == 0)
    near = (
        _near(
            # With one row of each sign the greatest value is the only one, or NULL.
            F.max(F.when(weight > 0, F.col(quote(name)))).over(alike),
            F.max(F.when(weight < 0, F.col(quote(name)))).over(alike),
        )
        for name in floats
    )
    return delta.withColumn(_ROUNDED, reduce(lambda left, right: left & right, near, pair))


def _near(left: Column, right: Column) -> Column:
    """Whether two numbers are the same, or finite and close; never NULL."""
    from pyspark.sql import functions as F

    larger = F.greatest(F.abs(left), F.abs(right))
    # To Spark NaN is greater than infinity, so this leaves out both.
    finite = larger < F.lit(float("inf"))
    close = finite & (F.abs(left - right) < larger * F.lit(TOLERANCE))
    return left.eqNullSafe(right) | F.coalesce(close, F.lit(False))
