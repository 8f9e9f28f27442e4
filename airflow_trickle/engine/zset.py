"""Weighted rows (Z-sets): a bag of rows as distinct rows with a count, negative for rows that go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_trickle.identifiers import quote

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The column that counts; no column of a stream table may begin like this.
RESERVED = "__trickle_"
WEIGHT = f"{RESERVED}weight"
#: Where a row stands: in which file, and the how manieth row of it.
FILE = f"{RESERVED}file"
POSITION = f"{RESERVED}position"


def columns(frame: DataFrame, names: Sequence[str] | None = None) -> list[Column]:
    """The columns of the rows themselves, without the weight; asking Spark for their names is spared if given."""
    from pyspark.sql import functions as F

    if names is None:
        names = [name for name in frame.columns if not name.startswith(RESERVED)]
    return [F.col(quote(name)) for name in names]


def weigh(frame: DataFrame, weight: int, names: Sequence[str] | None = None) -> DataFrame:
    """Every row of a bag with the same weight."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType

    # A type as an object: as text it would need the process's own session to be parsed.
    return frame.select(*columns(frame, names), F.lit(weight).cast(LongType()).alias(WEIGHT))


def net(weighted: DataFrame, names: Sequence[str] | None = None) -> DataFrame:
    """Equal rows added up; rows whose weights cancel are gone. NULLs are equal to NULLs here."""
    from pyspark.sql import functions as F

    return weighted.groupBy(*columns(weighted, names)).agg(F.sum(WEIGHT).alias(WEIGHT)).where(F.col(WEIGHT) != 0)


def expand(weighted: DataFrame) -> DataFrame:
    """Rows of positive weight as a bag again: a row of weight 3 comes three times."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import IntegerType

    copies = F.explode(F.array_repeat(F.lit(1), F.col(WEIGHT).cast(IntegerType()))).alias(f"{RESERVED}copy")
    rows = weighted.where(F.col(WEIGHT) > 0)
    return rows.select(*columns(rows), copies).select(*columns(rows))


def checkpointed(frame: DataFrame) -> DataFrame:
    """The rows computed once, to be read many times; without how they came about.

    Spark may remember conditions of checkpointed rows by the names that columns had before, and then fails on their
    UNION (``key not found``). What selects some of the columns forgets such conditions, so there is one more.
    """
    from pyspark.sql import functions as F

    extra = f"{RESERVED}checkpoint"
    return frame.withColumn(extra, F.lit(True)).localCheckpoint(eager=True).drop(extra)
