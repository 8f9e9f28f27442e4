"""Zero has one sign: -0.0 and 0.0 are equal, so whether a row is told by the one or the other must not matter.

Spark turns -0.0 into 0.0 wherever it groups or joins, and so wherever changes are added up, but not where it just
reads. CAST(x AS STRING) would then see another value in a change than in the table. So it is turned where rows are
read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def one_zero(value: Column, kind: DataType) -> Column:
    """A value with every -0.0 in it, however deep, as 0.0."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructType

    if isinstance(kind, FloatType | DoubleType):
        return value + F.lit(0.0).cast(kind)
    if isinstance(kind, ArrayType) and _has_zeros(kind):
        return F.transform(value, lambda one: one_zero(one, kind.elementType))
    if isinstance(kind, StructType) and _has_zeros(kind):
        fields = (one_zero(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields)
        return F.when(value.isNotNull(), F.struct(*fields))
    return value


def _has_zeros(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructType

    if isinstance(kind, ArrayType):
        return _has_zeros(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_zeros(field.dataType) for field in kind.fields)
    return isinstance(kind, FloatType | DoubleType)
