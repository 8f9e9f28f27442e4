"""What is kept beside a table to refresh it quickly: lines that add up (see `delta.tally`), in Parquet files.

They become valid with the commit of the refresh that wrote them, since the table's status names them in the same
transaction, together with the query and the state of the inputs that they stand for. If any of that differs, or a file
is gone, they count as lost, and are made anew when a refresh next misses them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Tallies
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import delete_files, exists, list_files, make_durable, spark_path
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import Frontier
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


#: The number of the outermost operation of a query; other parts are numbered from 0 on.
ROOT = -1


@dataclass(frozen=True)
class Entries:
    """The files of one auxiliary state, and their columns as the JSON of Spark's ``StructType``."""

    files: tuple[str, ...]
    columns: Mapping[str, Any]

    def frame(self, spark: SparkSession) -> DataFrame:
        """The entries on Spark."""
        from pyspark.sql.types import StructType

        struct = StructType.fromJson(dict(self.columns))
        return spark.read.schema(struct).parquet(*(spark_path(file) for file in self.files))

    def size(self, io: FileIO) -> int:
        """How many bytes the files have."""
        return sum(map(partial(_size, io), self.files))


@dataclass(frozen=True)
class Kept:
    """The auxiliary states of a table: that of its outermost operation, and those of parts of its query."""

    states: Mapping[int, Entries]
    #: Parts of which no state is kept, since it would not pay.
    declined: frozenset[int] = frozenset()

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all states."""
        return tuple(file for number in sorted(self.states) for file in self.states[number].files)

    def as_json(self, definition: str, frontier: Frontier) -> str:
        """For the status of the table."""
        states = {
            str(number): {"files": one.files, "columns": one.columns} for number, one in sorted(self.states.items())
        }
        return json.dumps(
            {
                "definition": definition,
                "inputs": json.loads(frontier.as_json())["inputs"],
                "files": self.files,
                "states": states,
                "declined": sorted(self.declined),
            },
            sort_keys=True,
        )


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
    # An earlier version kept the state of the outermost operation alone.
    states = said["states"] if "states" in said else {str(ROOT): said}
    found = {int(number): Entries(tuple(one["files"]), one["columns"]) for number, one in states.items()}
    return Kept(found, frozenset(said.get("declined", ())))


def written(
    spark: SparkSession,
    bench: SparkBench,
    tallies: Mapping[int, Tallies],
    before: Kept | None,
    staging: Staging,
    io: FileIO,
    *,
    most: int,
) -> Kept | None:
    """Write what a refresh adds; None if nothing is kept of it.

    Args:
        spark: The session.
        bench: Where the entries are.
        tallies: What the rules found, by the number of the part.
        before: What was kept so far.
        staging: Where the files go.
        io: How they are written.
        most: How many bytes a state may have; a larger one of a part does not pay.
    """
    found: dict[int, Entries] = {}
    declined = set(before.declined if before is not None else ())
    for number, tally in sorted(tallies.items()):
        old = before.states.get(number) if before is not None else None
        entries = _written(bench, tally, old, f"{staging.kept_folder}/{number}", io)
        if entries is None:
            continue
        if tally.whole is not None and number != ROOT and entries.size(io) > most:
            # The files go with whatever else the refresh leaves unpublished in its folder.
            delete_files(io, list(entries.files))
            declined.add(number)
            continue
        found[number] = entries
    return Kept(found, frozenset(declined)) if found or declined else None


def _written(bench: SparkBench, tally: Tallies, before: Entries | None, folder: str, io: FileIO) -> Entries | None:
    """Write what a refresh adds to one state; None if nothing is kept of it."""
    if tally.whole is not None:
        return _whole(bench.frame(tally.whole), folder, io)
    if before is None or tally.unchanged:
        return before
    if tally.gained is None:
        return None
    if len(before.files) >= tuning().aux_state_files and tally.folded is not None:
        return _whole(bench.frame(tally.folded), folder, io)
    rows = bench.rows_of(tally.gained)
    names = [column["name"] for column in before.columns["fields"]]
    if rows is None:
        listed = ", ".join(quote(name) for name in names)
        more = _whole(bench.frame(f"SELECT {listed} FROM {quote(tally.gained)}"), folder, io).files
    else:
        location = f"{folder}/lines.parquet"
        with io.new_output(location).create(overwrite=True) as stream:
            pq.write_table(rows.select(names), stream, compression="zstd", store_decimal_as_integer=True)
        make_durable(io, [location])
        more = (location,)
    return Entries((*before.files, *more), before.columns)


def _size(io: FileIO, file: str) -> int:
    return len(io.new_input(file))


def _whole(lines: DataFrame, folder: str, io: FileIO) -> Entries:
    columns = lines.schema.jsonValue()
    lines.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(folder))
    files = tuple(path for path in list_files(io, folder) if path.endswith(".parquet"))
    make_durable(io, files)
    return Entries(files, columns)


def superfluous(before: str | None, stay: Collection[str]) -> tuple[str, ...]:
    """The files that a status named, but for those that stay."""
    return () if before is None else tuple(file for file in json.loads(before)["files"] if file not in stay)
