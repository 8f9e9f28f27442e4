"""What is kept beside a table to refresh it quickly: lines that add up (see `delta.tally`), in Parquet files.

They become valid with the commit of the refresh that wrote them, since the table's status names them in the same
transaction, together with the query and the state of the inputs that they stand for. If any of that differs, or a file
is gone, they count as lost, and are made anew when a refresh next misses them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Tallies
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import exists, list_files, make_durable, spark_path
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import Frontier
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Kept:
    """The files of a table's lines, and their columns as the JSON of Spark's ``StructType``."""

    files: tuple[str, ...]
    columns: Mapping[str, Any]

    def as_json(self, definition: str, frontier: Frontier) -> str:
        """For the status of the table."""
        return json.dumps(
            {
                "definition": definition,
                "inputs": json.loads(frontier.as_json())["inputs"],
                "files": self.files,
                "columns": self.columns,
            },
            sort_keys=True,
        )

    def frame(self, spark: SparkSession) -> DataFrame:
        """The lines on Spark."""
        from pyspark.sql.types import StructType

        struct = StructType.fromJson(dict(self.columns))
        return spark.read.schema(struct).parquet(*(spark_path(file) for file in self.files))


def carried(text: str | None, definition: str, before: Frontier, after: Frontier) -> str | None:
    """What is kept, for inputs that moved to another snapshot without a change of rows."""
    noted = _noted(text, definition, before)
    return None if noted is None else noted.as_json(definition, after)


def valid(text: str | None, definition: str, frontier: Frontier, io: FileIO) -> Kept | None:
    """What a table's status says is kept, if it stands for this query over these inputs and is all there."""
    noted = _noted(text, definition, frontier)
    return noted if noted is not None and all(exists(io, file) for file in noted.files) else None


def _noted(text: str | None, definition: str, frontier: Frontier) -> Kept | None:
    if text is None:
        return None
    said = json.loads(text)
    if said["definition"] != definition or said["inputs"] != json.loads(frontier.as_json())["inputs"]:
        return None
    return Kept(tuple(said["files"]), said["columns"])


def written(
    spark: SparkSession, bench: SparkBench, tallies: Tallies, before: Kept | None, staging: Staging, io: FileIO
) -> Kept | None:
    """Write what a refresh adds; None if nothing is kept of it.

    Args:
        spark: The session.
        bench: Where the lines are.
        tallies: What the rules found.
        before: What was kept so far.
        staging: Where the files go.
        io: How they are written.
    """
    if tallies.whole is not None:
        return _whole(bench.frame(tallies.whole), staging, io)
    if before is None or tallies.unchanged:
        return before
    if tallies.gained is None:
        return None
    if len(before.files) >= tuning().aux_state_files and tallies.folded is not None:
        return _whole(bench.frame(tallies.folded), staging, io)
    rows = bench.rows_of(tallies.gained)
    names = [column["name"] for column in before.columns["fields"]]
    if rows is None:
        listed = ", ".join(quote(name) for name in names)
        more = _whole(bench.frame(f"SELECT {listed} FROM {quote(tallies.gained)}"), staging, io).files
    else:
        location = f"{staging.kept_folder}/lines.parquet"
        with io.new_output(location).create(overwrite=True) as stream:
            pq.write_table(rows.select(names), stream, compression="zstd", store_decimal_as_integer=True)
        make_durable(io, [location])
        more = (location,)
    return Kept((*before.files, *more), before.columns)


def _whole(lines: DataFrame, staging: Staging, io: FileIO) -> Kept:
    columns = lines.schema.jsonValue()
    lines.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(staging.kept_folder))
    files = tuple(path for path in list_files(io, staging.kept_folder) if path.endswith(".parquet"))
    make_durable(io, files)
    return Kept(files, columns)


def superfluous(before: str | None, stay: Collection[str]) -> tuple[str, ...]:
    """The files that a status named, but for those that stay."""
    return () if before is None else tuple(file for file in json.loads(before)["files"] if file not in stay)
