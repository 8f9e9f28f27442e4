"""Rows brought into the order in which they are written: apart by partition, sorted by the columns of `cluster_by`.

No transform of Spark's own is trusted to be Iceberg's: here rows only have to come apart. Which partition the rows of
a file belong to is found afterwards from the file, see `lakehouse.partition_values`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import DateType, DecimalType, IcebergType, NestedField, StringType, TimestamptzType

from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.partition_values import partition_numbers
from airflow_trickle.lakehouse.partitions import sources_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MICROS_OF_A_DAY = 86_400_000_000
_MICROS_OF_AN_HOUR = 3_600_000_000


def arranged(rows: DataFrame, target: Target, *, one_task: bool) -> tuple[DataFrame, list[str]]:
    """Rows in the order in which they are to be written, and the column that names the folder of each, if any.

    The folder's name says nothing: values of any length and with any character come to the same few letters.
    """
    from pyspark.sql import functions as F

    folders: list[str] = []
    if target.spec.fields:
        folders = [_folder_column(target.schema)]
        rows = rows.select("*", F.expr(_folder_of_row(target)).alias(folders[0]))
    keys = [F.col(quote(name)) for name in (*folders, *target.order)]
    if one_task:
        rows = rows.coalesce(1)
    elif target.order:
        rows = rows.repartitionByRange(*keys)
    else:
        rows = rows.hint("rebalance", *keys)
    return (rows.sortWithinPartitions(*keys) if target.order else rows), folders


def _folder_column(schema: Schema) -> str:
    """A name that no column has; Spark takes folders that begin with _ or . for hidden ones."""
    taken = {fold(field.name) for field in schema.fields}
    return next(name for name in ("partition", *(f"partition{n}" for n in range(len(taken)))) if name not in taken)


def _folder_of_row(target: Target) -> str:
    """As SQL: a text that is the same for two rows just when they belong to one partition."""
    sources = sources_of(target.spec, target.schema)
    parts = [_part(field, source) for field, source in zip(target.spec.fields, sources, strict=True)]
    # Never NULL: Spark would put another column in its place, and not see that the rows are sorted.
    return f"coalesce(substring(sha2(concat({', '.join(parts)}), 256), 1, 32), '')"


def _part(field: PartitionField, source: NestedField) -> str:
    """With its length in front: what follows can then not be taken for a part of it."""
    name = quote(source.name)
    text = f"CAST({_value(field, source.field_type, name)} AS STRING)"
    return f"IF({name} IS NULL, 'n', concat('v', octet_length({text}), ':', {text}))"


def _value(field: PartitionField, kind: IcebergType, name: str) -> str:
    """What is equal for the values of one partition, and for those only; no time zone has a say in it."""
    transform = field.transform
    if isinstance(transform, TruncateTransform):
        return _truncated(transform.width, kind, name)
    micros = f"unix_micros({name})"
    if isinstance(kind, TimestamptzType):
        itself, hour = micros, _floored(micros, _MICROS_OF_AN_HOUR)
        day = f"date_from_unix_date(CAST({_floored(micros, _MICROS_OF_A_DAY)} AS INT))"
    else:
        day = name if isinstance(kind, DateType) else f"CAST({name} AS DATE)"
        itself, hour = name, f"(unix_date({day}) * 24 + hour({name}))"
    values: dict[type, str] = {
        IdentityTransform: itself,
        YearTransform: f"year({day})",
        MonthTransform: f"(year({day}) * 12 + month({day}))",
        DayTransform: f"unix_date({day})",
        HourTransform: hour,
    }
    return values[type(transform)]


def _truncated(width: int, kind: IcebergType, name: str) -> str:
    if isinstance(kind, StringType):
        return f"substring({name}, 1, {width})"
    if isinstance(kind, DecimalType):
        unit = f"CAST('{width}E-{kind.scale}' AS DECIMAL({max(len(str(width)), kind.scale)}, {kind.scale}))"
        return f"({name} - pmod({name}, {unit}))"
    return _floored(f"CAST({name} AS BIGINT)", width)


def _floored(number: str, by: int) -> str:
    """A whole number divided and rounded down, also below zero; nothing on the way is larger than the number."""
    return f"IF({number} < 0, -1 - ((-1 - {number}) DIV {by}), {number} DIV {by})"


def arranged_rows(rows: pa.Table, target: Target) -> list[pa.Table]:
    """Rows in this process, apart by partition and in order; columns as in the table's schema."""
    if not rows.num_rows:
        return []
    if not target.spec.fields and not target.order:
        return [rows]
    numbers = partition_numbers(rows, target.schema, target.spec)
    names = [field.name for field in target.schema.fields]
    # The columns are numbered, since Arrow takes a name with a dot for a path.
    keys = [numbers, *(rows.column(names.index(name)) for name in target.order)]
    table = pa.table(keys, names=[str(number) for number in range(len(keys))])
    by = [(name, "ascending") for name in table.column_names]
    order = pc.sort_indices(table, sort_keys=by)
    return _runs(rows.take(order), numbers.take(order))


def _runs(rows: pa.Table, numbers: pa.Array) -> list[pa.Table]:
    """Rows cut where their numbers, which rise, change."""
    changes = pc.not_equal(numbers[1:], numbers[:-1])
    cuts = pc.add(pc.indices_nonzero(changes), 1).to_pylist() if len(numbers) > 1 else []
    return [rows.slice(start, end - start) for start, end in pairwise([0, *cuts, len(rows)])]
