"""The ranks of a cycle's rows, kept beside its tables: without them a row that lost support could not be told.

Each member has lines (row, rank) in Parquet files, and lines that are gone. They become valid with the commit that
names them in the table's status, like everything that is kept beside tables (see `engine.kept`). If they are lost, the
next refresh that takes something away begins from nothing and makes them anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from airflow_trickle.engine.budget import Meter, left_to_spark
from airflow_trickle.engine.fetch import empty
from airflow_trickle.engine.fixpoint.counted import Bag
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.zset import RESERVED, WEIGHT, checkpointed
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import exists, list_files, make_durable, spark_path, spark_pattern
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import Frontier
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: With so large a share of lines that are gone, all are written anew.
_MOST_GONE = 0.1


@dataclass(frozen=True)
class Lines:
    """The lines of one member: files of rows with ranks, files of those that are gone, and how many are left."""

    files: tuple[str, ...]
    gone: tuple[str, ...]
    #: The JSON of Spark's ``StructType``.
    columns: Mapping[str, Any]
    count: int
    gone_count: int = 0

    def frame(self, spark: SparkSession) -> DataFrame:
        """The lines on Spark."""
        from pyspark.sql.types import StructType

        struct = StructType.fromJson(dict(self.columns))
        lines = _read(spark, struct, self.files)
        if not self.gone:
            return lines
        gone = _read(spark, struct, self.gone)
        same = None
        for name in struct.fieldNames():
            one = lines[quote(name)].eqNullSafe(gone[quote(name)])
            same = one if same is None else same & one
        return lines.join(gone, same, "left_anti")

    def here(self, io: FileIO, most_bytes: int) -> pa.Table | None:
        """The lines in this process, where none of their values is NULL; None if they take more bytes than that."""
        names = [column["name"] for column in self.columns["fields"]]
        meter = Meter(sys.maxsize, most_bytes)
        lines, gone = _read_here(io, self.files, names, meter), _read_here(io, self.gone, names, meter)
        if lines is None or gone is None:
            left_to_spark("The rows of a cycle", meter)
            return None
        if not lines.num_rows:
            return pa.table({name: pa.nulls(0) for name in names})
        if not gone.num_rows:
            return lines
        # What a query calls SMALLINT, a table calls INT from its second refresh on.
        both = pa.unify_schemas([lines.schema, gone.schema], promote_options="permissive")
        return lines.cast(both).join(gone.cast(both), names, join_type="left anti")


def _read_here(io: FileIO, files: tuple[str, ...], names: list[str], meter: Meter) -> pa.Table | None:
    """The rows of some files; None as soon as they do not fit."""
    found: list[pa.Table] = []
    for file in files:
        with io.new_input(file).open() as stream:
            for batch in pq.ParquetFile(stream).iter_batches(columns=names):
                if not meter.takes(batch):
                    return None
                found.append(pa.Table.from_batches([batch]).select(names))
    # Whether a column may hold NULLs differs from file to file.
    plain = [one.cast(pa.schema([field.with_nullable(True) for field in one.schema])) for one in found]
    return pa.concat_tables(plain, promote_options="permissive") if plain else pa.table({})


def _read(spark: SparkSession, struct: Any, files: tuple[str, ...]) -> DataFrame:
    if not files:
        return empty(spark, struct)
    return spark.read.schema(struct).parquet(*(spark_pattern(file) for file in files))


@dataclass(frozen=True)
class Ranks:
    """What is kept beside one table: the highest rank so far, and the lines of its members by their keys."""

    top: int
    members: Mapping[str, Lines]

    def as_json(self, definition: str, frontier: Frontier) -> str:
        """For the status of the table."""
        said = {
            key: {
                "files": lines.files,
                "gone": lines.gone,
                "columns": lines.columns,
                "count": lines.count,
                "gone_count": lines.gone_count,
            }
            for key, lines in self.members.items()
        }
        return json.dumps(
            {
                "kind": "ranks",
                "definition": definition,
                "inputs": json.loads(frontier.as_json())["inputs"],
                "top": self.top,
                "members": said,
                "files": self.files,
            },
            sort_keys=True,
        )

    @property
    def files(self) -> list[str]:
        """All files."""
        return [file for lines in self.members.values() for file in (*lines.files, *lines.gone)]


def valid(text: str | None, definition: str, frontier: Frontier, io: FileIO) -> Ranks | None:
    """What a table's status says is kept, if it stands for this query over these inputs and is all there."""
    noted = _noted(text, definition, frontier)
    return noted if noted is not None and all(exists(io, file) for file in noted.files) else None


def carried(text: str | None, definition: str, before: Frontier, after: Frontier) -> str | None:
    """What is kept, for inputs that moved to another snapshot without a change of rows."""
    noted = _noted(text, definition, before)
    return None if noted is None else noted.as_json(definition, after)


def _noted(text: str | None, definition: str, frontier: Frontier) -> Ranks | None:
    said = json.loads(text) if text is not None else {}
    if said.get("kind") != "ranks" or said["definition"] != definition:
        return None
    if said["inputs"] != json.loads(frontier.as_json())["inputs"]:
        return None
    members = {
        key: Lines(tuple(one["files"]), tuple(one["gone"]), one["columns"], one["count"], one["gone_count"])
        for key, one in said["members"].items()
    }
    return Ranks(said["top"], members)


def write_lines(rows: Rows, before: Lines | None, staging: Staging, number: int, io: FileIO) -> Lines | None:
    """Write what a refresh changed in the lines of a member; None if its ranks were not known and are not now.

    Args:
        rows: The member's rows, settled.
        before: Its lines so far; None if it begins from nothing, or they are lost.
        staging: Where the files go.
        number: Sets the files of one member apart from those of others.
        io: How they are written.
    """
    if before is None and rows.base is not None:
        return None
    folder = f"{staging.kept_folder}/{number}"
    parts = [f"SELECT {', '.join([*rows.names, WEIGHT])} FROM {quote(part.view)}" for part in rows.parts]
    gone = _gone_lines(rows) if rows.gone and before is not None else None
    files = len(before.files) + len(before.gone) if before is not None else 0
    if before is not None and (files >= tuning().aux_state_files or _too_many(before, gone)):
        every = " UNION ALL ".join([rows.held(), *parts])
        left = before.count - (gone.count if gone is not None else 0)
        return _whole(rows, rows.bench.frame(every), f"{folder}-all", io, left)
    if not parts:
        columns = before.columns if before is not None else rows.bench.frame(_no_lines(rows)).schema.jsonValue()
        more: tuple[tuple[str, ...], Mapping[str, Any], int] = ((), columns, 0)
    else:
        more = _added(rows, parts, folder, io)
    if before is None:
        return Lines(more[0], (), more[1], more[2])
    lost, lost_count = ((), 0) if gone is None else (gone.written(f"{folder}-gone", io), gone.count)
    return Lines(
        (*before.files, *more[0]),
        (*before.gone, *lost),
        before.columns,
        before.count + more[2] - lost_count,
        before.gone_count + lost_count,
    )


def write_counts(bag: Bag, before: Lines | None, staging: Staging, number: int, io: FileIO) -> Lines | None:
    """Write how often the rows of a hidden member came or went: such lines are added up when they are read."""
    if before is None and bag.base is not None:
        return None
    net = bag.net()
    listed = ", ".join([*bag.names, WEIGHT])
    if net is None:
        if before is not None:
            return before
        net = bag.added_up(f"SELECT *, CAST(0 AS BIGINT) AS {WEIGHT} FROM ({bag.now()})")
    folder = f"{staging.kept_folder}/{number}"
    if before is not None and len(before.files) >= tuning().aux_state_files:
        net = bag.added_up(f"SELECT {listed} FROM {quote(str(bag.lines))} UNION ALL SELECT {listed} FROM ({net})")
        before = None
    frame = bag.bench.frame(f"SELECT {listed} FROM ({net})")
    here = bag.bench.fetch(frame)
    columns = frame.schema.jsonValue()
    files = _write_rows(here, folder, io) if here is not None else _files(frame, folder, io)
    return Lines((*(before.files if before is not None else ()), *files), (), columns, 0)


def _no_lines(rows: Rows) -> str:
    return f"SELECT *, CAST(0 AS BIGINT) AS {WEIGHT} FROM ({rows.empty()})"


@dataclass(frozen=True)
class _Gone:
    """Lines that are gone, in this process or on Spark, and how many."""

    lines: pa.Table | DataFrame
    count: int

    def written(self, folder: str, io: FileIO) -> tuple[str, ...]:
        """The files that they were written to."""
        if isinstance(self.lines, pa.Table):
            return _write_rows(self.lines, folder, io)
        return _files(self.lines, folder, io) if self.count else ()


def _too_many(before: Lines, gone: _Gone | None) -> bool:
    count = before.gone_count + (gone.count if gone is not None else 0)
    return count > 1000 and count > _MOST_GONE * before.count


def _gone_lines(rows: Rows) -> _Gone:
    """The lines of the rows of before that went."""
    if rows.gone_lines is not None:
        return _Gone(rows.gone_lines, rows.gone_lines.num_rows)
    went = " UNION ALL ".join(f"SELECT {', '.join(rows.names)} FROM {quote(view)}" for view in rows.gone)
    line, g = f"{RESERVED}l", f"{RESERVED}g"
    listed = ", ".join(f"{line}.{name}" for name in [*rows.names, WEIGHT])
    frame = rows.bench.frame(
        f"SELECT {listed} FROM {quote(str(rows.lines))} AS {line} "
        f"WHERE EXISTS (SELECT 1 FROM ({went}) AS {g} WHERE {rows.same(line, g)})"
    )
    here = rows.bench.fetch(frame)
    if here is not None:
        return _Gone(here, here.num_rows)
    kept = checkpointed(frame)
    return _Gone(kept, kept.count())


def _added(rows: Rows, parts: list[str], folder: str, io: FileIO) -> tuple[tuple[str, ...], Mapping[str, Any], int]:
    count = sum(part.count for part in rows.parts)
    frame = rows.bench.frame(" UNION ALL ".join(parts))
    columns = frame.schema.jsonValue()
    here = [part.rows for part in rows.parts if part.rows is not None]
    if len(here) == len(rows.parts):
        return _write_rows(pa.concat_tables(here), folder, io), columns, count
    return _whole(rows, frame, folder, io).files, columns, count


def _write_rows(rows: pa.Table, folder: str, io: FileIO) -> tuple[str, ...]:
    if not rows.num_rows:
        return ()
    location = f"{folder}/lines.parquet"
    with io.new_output(location).create(overwrite=True) as stream:
        pq.write_table(rows, stream, compression="zstd", store_decimal_as_integer=True)
    make_durable(io, [location])
    return (location,)


def _whole(rows: Rows, lines: DataFrame, folder: str, io: FileIO, before: int = 0) -> Lines:
    files = _files(lines, folder, io)
    return Lines(files, (), lines.schema.jsonValue(), before + sum(part.count for part in rows.parts))


def _files(lines: DataFrame, folder: str, io: FileIO) -> tuple[str, ...]:
    lines.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(folder))
    files = tuple(path for path in list_files(io, folder) if path.endswith(".parquet"))
    make_durable(io, files)
    return files
