"""Merge-on-read on Spark: taking away the rows of data files that delete files name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, FloatType, NestedField, PrimitiveType

from airflow_trickle.engine.fetch import given_back
from airflow_trickle.engine.zset import FILE, POSITION, RESERVED
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.deletes import DeleteFile, DeleteKind, LiveFile, Scope, deletes_of
from airflow_trickle.lakehouse.files import spark_path, spark_pattern
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import name_of
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: The number of a delete file, and the path that it names.
_DELETES, _NAMED = f"{RESERVED}deletes", f"{RESERVED}named"
#: Sequence number and partition of a data file, and of an equality delete.
_SEQUENCE, _SCOPE = f"{RESERVED}sequence", f"{RESERVED}scope"
_UNTIL, _WHERE = f"{RESERVED}until", f"{RESERVED}where"

#: Paths that everybody spells alike.
_SIMPLE = re.compile(r"[A-Za-z0-9_./=:-]*")

#: How the columns with some ids are read from Parquet files: the frame, and the name of each column in it.
Reader = Callable[[Schema, Sequence[str]], tuple["DataFrame", dict[int, str]]]


def with_places(rows: DataFrame, *, no_files: bool = False) -> DataFrame:
    """Rows right out of files, with the columns `FILE` and `POSITION`: where each of them stands."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType, StringType

    if no_files:
        nowhere = F.lit(None)
        return rows.select("*", nowhere.cast(StringType()).alias(FILE), nowhere.cast(LongType()).alias(POSITION))
    # Not by its plain name: a table may have a column of that name.
    place = rows.metadataColumn("_metadata")
    return rows.select("*", place["file_path"].alias(FILE), place["row_index"].alias(POSITION))


def equality_fields(table: Table, schema: Schema, files: Iterable[DataFile]) -> list[NestedField]:
    """The columns by which rows of some files are deleted; one may be gone from the table and counts all the same.

    Raises:
        UnsupportedTable: a column is of a kind that engines do not compare alike.
    """
    deletes = {delete for file in files for delete in deletes_of(file) if delete.kind is DeleteKind.EQUALITY}
    newest = sorted(table.metadata.schemas, key=lambda each: each.schema_id, reverse=True)
    found: dict[int, NestedField] = {}
    for delete in sorted(deletes, key=lambda delete: delete.path):
        for number in delete.equality_ids or (0,):
            fields = (f for each in (schema, table.metadata.schema(), *newest) for f in each.fields)
            field = next((field for field in fields if field.field_id == number), None)
            kind = field.field_type if field else None
            if field is None or not isinstance(kind, PrimitiveType) or isinstance(kind, FloatType | DoubleType):
                what = f"column '{field.name}' of type {kind}" if field else f"field {number}, which is no column of it"
                raise UnsupportedTable(
                    f"Table {name_of(table)} deletes rows by {what} (equality delete file {delete.path}), which this "
                    f"version does not read. Compact the table with its writer (rewrite_data_files)."
                )
            found[number] = field
    return [found[number] for number in sorted(found)]


def surviving(
    spark: SparkSession,
    table: Table,
    rows: DataFrame,
    files: Sequence[LiveFile],
    read: Reader,
    keys: Sequence[NestedField],
    names: Mapping[int, str],
) -> DataFrame:
    """The rows of data files of one snapshot that no delete file takes away.

    Args:
        spark: the session.
        table: whose files they are.
        rows: all rows of the files, right as they were read.
        files: the files.
        read: reads columns of delete files like those of the data files.
        keys: the columns by which rows are deleted.
        names: how the columns are called in ``rows``.
    """
    spelled = _spelled(rows, [file.file_path for file in files])
    rows = _guarded(with_places(rows), spelled.values())
    for gone in _places(spark, table, files, spelled):
        rows = rows.join(gone, [FILE, POSITION], "left_anti")
    return _without_equal(spark, rows, files, spelled, read, keys, names)


def standing_at(spark: SparkSession, rows: DataFrame, places: Mapping[str, pa.Array]) -> DataFrame:
    """The rows of data files that stand at some places, by the path of the file.

    Args:
        spark: the session.
        rows: all rows of the files, right as they were read.
        places: the rows wanted, counted from 0 over all that were written.
    """
    import pyarrow as pa
    from pyspark.sql import functions as F

    spelled = _spelled(rows, list(places))
    rows = _guarded(with_places(rows), spelled.values())
    parts = [pa.table({FILE: pa.repeat(spelled[path], len(at)), POSITION: at}) for path, at in places.items()]
    return rows.join(F.broadcast(given_back(spark, pa.concat_tables(parts))), [FILE, POSITION], "left_semi")


def _spelled(rows: DataFrame, locations: Sequence[str]) -> dict[str, str]:
    """How Spark spells the paths of files that it reads, which is what rows are matched by."""
    plain = {location: _plain(spark_path(location)) for location in locations}
    if all(_SIMPLE.fullmatch(path) for path in plain.values()):
        return {location: re.sub("^/", "file:/", path) for location, path in plain.items()}
    # It quotes some characters; asking costs a round trip and a look at every file.
    said = {_plain(unquote(path)): re.sub("^file:/+", "file:/", path) for path in rows.inputFiles()}
    return {location: said.get(path, path) for location, path in plain.items()}


def _plain(path: str) -> str:
    """A path without the many ways to write that it is on this machine."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith(("file:", "/")) else path


def _guarded(rows: DataFrame, known: Iterable[str]) -> DataFrame:
    """The rows; one of a file that is not known fails the query, or it would pass for one that nobody deleted."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    strange = F.raise_error(F.concat(F.lit("Spark names a file otherwise than expected: "), F.col(FILE)))
    checked = F.when(F.col(FILE).isin(list(known)), F.col(FILE)).otherwise(strange.cast(StringType()))
    return rows.withColumn(FILE, checked)


def _places(
    spark: SparkSession, table: Table, files: Sequence[LiveFile], spelled: Mapping[str, str]
) -> Iterator[DataFrame]:
    """The deleted rows, by `FILE` and `POSITION`, that delete files name each for the files they apply to."""
    import pyarrow as pa

    deletes = {delete for file in files for delete in file.deletes if delete.kind is DeleteKind.POSITION}
    most, rows = tuning(), sum(delete.rows for delete in deletes)
    few = len(deletes) <= most.arrow_delete_files and rows <= most.arrow_delete_rows
    if not few:
        yield _listed(spark, files, spelled)
    parts = []
    for file in files:
        # A few numbers travel with the query, which costs no job; Spark cannot read vectors at all.
        places = deleted_positions(table.io, file, vectors_only=not few)
        if len(places):
            parts.append(pa.table({FILE: pa.repeat(spelled[file.file_path], len(places)), POSITION: places}))
    if parts:
        yield given_back(spark, pa.concat_tables(parts))


def _listed(spark: SparkSession, files: Sequence[LiveFile], spelled: Mapping[str, str]) -> DataFrame:
    """The places that position delete files name, read by Spark."""
    import pyarrow as pa
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    pairs = [(d.path, file.file_path) for file in files for d in file.deletes if d.kind is DeleteKind.POSITION]
    paths = {path: number for number, path in enumerate(sorted({delete for delete, _ in pairs}))}
    # By name: all writers call them so, and not all write the field ids.
    text, whole = StringType(), LongType()
    layout = StructType([StructField("file_path", text), StructField("pos", whole)])
    source = spark.read.schema(layout).parquet(*(spark_pattern(path) for path in paths))
    damaged = F.raise_error(F.lit("a position delete file lacks the column file_path or pos"))
    listed = source.select(
        source.metadataColumn("_metadata")["file_path"].alias(FILE),
        F.coalesce(F.col("file_path"), damaged.cast(text)).alias(_NAMED),
        F.coalesce(F.col("pos"), damaged.cast(whole)).alias(POSITION),
    )
    names = _spelled(source, list(paths))
    listed = _labelled(spark, listed, {names[path]: (number,) for path, number in paths.items()}, [_DELETES]).drop(FILE)
    columns = {
        _DELETES: pa.array([paths[delete] for delete, _ in pairs], pa.int64()),
        _NAMED: pa.array([named for _, named in pairs], pa.string()),
        FILE: pa.array([spelled[named] for _, named in pairs], pa.string()),
    }
    # As Arrow: for other rows, pyspark would have executors run Python.
    applies = spark.createDataFrame(pa.table(columns))
    return listed.join(F.broadcast(applies), [_DELETES, _NAMED]).select(FILE, POSITION)


def _labelled(
    spark: SparkSession, rows: DataFrame, labels: Mapping[str, tuple[int, ...]], names: Sequence[str]
) -> DataFrame:
    """Rows that know their `FILE`, with the numbers that belong to it."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    columns = {FILE: pa.array(list(labels), pa.string())}
    for at, name in enumerate(names):
        columns[name] = pa.array([those[at] for those in labels.values()], pa.int64())
    numbers = spark.createDataFrame(pa.table(columns))
    return _guarded(rows, labels).join(F.broadcast(numbers), FILE)


def _without_equal(
    spark: SparkSession,
    rows: DataFrame,
    files: Sequence[LiveFile],
    spelled: Mapping[str, str],
    read: Reader,
    keys: Sequence[NestedField],
    names: Mapping[int, str],
) -> DataFrame:
    """The rows that no equality delete hits.

    A delete hits rows of older files only, so it is enough to know the youngest delete of each key.
    """
    from pyspark.sql import functions as F

    deletes = {delete for file in files for delete in file.deletes if delete.kind is DeleteKind.EQUALITY}
    scopes: dict[Scope | None, int] = {None: -1}
    for file in files:
        scopes.setdefault(file.scope, len(scopes))
    if deletes:
        ages = {spelled[file.file_path]: (file.sequence, scopes[file.scope]) for file in files}
        rows = _labelled(spark, rows, ages, (_SEQUENCE, _SCOPE))
    for ids in sorted({delete.equality_ids for delete in deletes}):
        chosen = [delete for delete in deletes if delete.equality_ids == ids]
        schema = Schema(*(field for field in keys if field.field_id in ids))
        youngest = _youngest(spark, chosen, schema, read, scopes)
        same = [F.col(quote(names[n])).eqNullSafe(F.col(f"{_UNTIL}{n}")) for n in ids]
        hit = reduce(lambda left, right: left & right, same) & (F.col(_SEQUENCE) < F.col(_UNTIL))
        for everywhere in sorted({delete.scope is None for delete in chosen}):
            here = F.col(_WHERE) == -1 if everywhere else F.col(_WHERE) >= 0
            within = hit if everywhere else hit & (F.col(_SCOPE) == F.col(_WHERE))
            rows = rows.join(youngest.where(here), within, "left_anti")
    return rows


def _youngest(
    spark: SparkSession, deletes: Sequence[DeleteFile], schema: Schema, read: Reader, scopes: Mapping[Scope | None, int]
) -> DataFrame:
    """The keys that some equality delete files hold, with the highest sequence number of each per partition."""
    from pyspark.sql import functions as F

    paths = [delete.path for delete in deletes]
    source, names = read(schema, paths)
    spelled = _spelled(source, paths)
    ids = [field.field_id for field in schema.fields]
    listed = source.select(
        source.metadataColumn("_metadata")["file_path"].alias(FILE),
        *(F.col(quote(names[number])).alias(f"{_UNTIL}{number}") for number in ids),
    )
    ages = {spelled[delete.path]: (delete.sequence, scopes[delete.scope]) for delete in deletes}
    found = _labelled(spark, listed, ages, (_UNTIL, _WHERE))
    return found.groupBy(_WHERE, *(f"{_UNTIL}{number}" for number in ids)).agg(F.max(_UNTIL).alias(_UNTIL))
