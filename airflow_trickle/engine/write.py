"""Writing a table's next state: append what is new, rewrite only the files that lose rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile

from airflow_trickle.engine.arrange import arranged
from airflow_trickle.engine.full import Difference, files_holding, shaped
from airflow_trickle.engine.inputs import count_rows, read_files
from airflow_trickle.engine.zset import WEIGHT, expand, net, weigh
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.lakehouse.columns import has_collections, same_columns
from airflow_trickle.lakehouse.commit import NAME_MAPPING, Target, data_files
from airflow_trickle.lakehouse.deletes import Scope, scope_of
from airflow_trickle.lakehouse.files import list_tree, spark_path
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Written:
    """The files a table gains and loses."""

    added: tuple[DataFile, ...]
    removed: tuple[DataFile, ...]
    #: How many rows the removed files still had, where delete files had taken some away before.
    removed_rows: int | None = None
    #: The position delete files that files which stay get.
    deletes: tuple[DataFile, ...] = ()

    @property
    def net_rows(self) -> int:
        """By how many rows the table grows."""
        lost = self.removed_rows
        if lost is None:
            lost = sum(file.record_count for file in self.removed)
        marked = sum(file.record_count for file in self.deletes)
        return sum(file.record_count for file in self.added) - lost - marked

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return sum(file.file_size_in_bytes for file in (*self.added, *self.deletes))


def write_all(new: DataFrame, target: Target, staging: Staging, size: int) -> Written:
    """Write a whole result, for a table that has no rows yet."""
    return Written(tuple(_write(new, target, staging, size)), ())


def write_difference(
    spark: SparkSession,
    change: Difference,
    target: Target,
    staging: Staging,
    published: Sequence[DataFile],
    size: int,
) -> Written:
    """Write exactly a difference.

    ``rows(rewritten files) + delta`` is what the new files hold; without deletes nothing is rewritten and
    that is just the new rows.
    """
    from pyspark.sql import functions as F

    rewritten: list[DataFile] = []
    by_name = has_collections(target.schema) or NAME_MAPPING in target.table.metadata.properties
    renamed = by_name and not same_columns(target.schema, target.table.metadata.schema())
    if renamed or target.is_parted_anew:
        # Other readers find the columns of such files by name, so none may keep one of an older meaning; and where
        # a row is by its partition.
        rewritten = list(published)
    elif change.deleted:
        gone = change.delta.where(F.col(WEIGHT) < 0)
        rewritten = files_holding(spark, target, published, gone)
    rewritten = _with_small_files(rewritten, published)
    content = change.delta
    if rewritten:
        kept = read_files(spark, target.table, target.schema, rewritten)
        content = net(weigh(kept, 1).unionAll(content))
    size += sum(file.file_size_in_bytes for file in rewritten)
    added = _write(expand(content), target, staging, size)
    lost = count_rows(spark, target.table, target.schema, rewritten)
    written = Written(tuple(added), tuple(rewritten), lost)
    expected = change.inserted - change.deleted
    if written.net_rows != expected:
        # Never publish what does not add up, whatever the cause.
        raise RefreshFailed(
            f"Table {target.identifier}: the files written change the row count by {written.net_rows}, but the "
            f"result by {expected}. Nothing was published. Please report this, with the table's query."
        )
    return written


def _with_small_files(rewritten: list[DataFile], published: Sequence[DataFile]) -> list[DataFile]:
    """Add the small files of a partition once there are many: each costs a read at every later refresh."""
    limits = tuning()
    chosen = {file.file_path for file in rewritten}
    small = by_partition(file for file in published if file.file_size_in_bytes < limits.small_file_bytes)
    many = [file for files in small.values() if len(files) >= limits.small_files_per_partition for file in files]
    return rewritten + [file for file in many if file.file_path not in chosen]


def by_partition(files: Iterable[DataFile]) -> dict[Scope, list[DataFile]]:
    """Files by their partition; those of a table without partitions are all in one."""
    found: dict[Scope, list[DataFile]] = {}
    for file in files:
        found.setdefault(scope_of(file), []).append(file)
    return found


def _write(rows: DataFrame, target: Target, staging: Staging, size: int) -> list[DataFile]:
    frame, folders = arranged(shaped(rows, target), target, one_task=size < tuning().one_task_write_bytes)
    # Overwrite: should the client have sent the query twice, its files are there once.
    writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "static").option("compression", "zstd")
    # The marker file would lie between the data files for ever.
    writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.partitionBy(*folders).parquet(spark_path(staging.data_folder))
    found = [path for path in list_tree(target.table.io, staging.data_folder) if path.endswith(".parquet")]
    return data_files(target.table, target.schema, found, target.spec)
