"""What is kept beside a table to refresh it quickly: lines that add up (see `delta.tally`), in Parquet files.

They become valid with the commit of the refresh that wrote them, since the table's status names them in the same
transaction, together with the query and the state of the inputs that they stand for. If any of that differs, or a file
is gone, they count as lost, and are made anew when a refresh next misses them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyiceberg.io import FileIO

from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Tallies
from airflow_trickle.engine.state_policy import Declined, StatePolicy, WhyNot
from airflow_trickle.identifiers import quote
from airflow_trickle.lakehouse.files import delete_files, exists, list_files, make_durable, spark_path
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.lakehouse.state import Frontier
from airflow_trickle.results import PartState
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


#: The number of the outermost operation of a query; other parts are numbered from 0 on.
ROOT = -1


@dataclass(frozen=True)
class Entries:
    """The files of one auxiliary state, and their columns as the JSON of Spark's ``StructType``."""

    files: tuple[str, ...]
    columns: Mapping[str, Any]
    #: Of all files; None where an earlier version has not noted it.
    bytes: int | None = None

    @property
    def struct(self) -> StructType:
        """Their columns as Spark knows them."""
        from pyspark.sql.types import StructType

        return StructType.fromJson(dict(self.columns))

    def frame(self, spark: SparkSession) -> DataFrame:
        """The entries on Spark."""
        return spark.read.schema(self.struct).parquet(*(spark_path(file) for file in self.files))

    def size(self, io: FileIO) -> int:
        """How many bytes the files have."""
        return self.bytes if self.bytes is not None else sum(map(partial(_size, io), self.files))


@dataclass(frozen=True)
class Kept:
    """The auxiliary states of a table: that of its outermost operation, and those of parts of its query."""

    states: Mapping[int, Entries]
    #: Parts of which no state is kept because of its size.
    declined: Mapping[int, Declined] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all states."""
        return tuple(file for number in sorted(self.states) for file in self.states[number].files)

    def as_json(self, definition: str, frontier: Frontier) -> str:
        """For the status of the table."""
        states = {
            str(number): {"files": one.files, "columns": one.columns, "bytes": one.bytes}
            for number, one in sorted(self.states.items())
        }
        return json.dumps(
            {
                "definition": definition,
                "inputs": json.loads(frontier.as_json())["inputs"],
                "files": self.files,
                "states": states,
                "declined": {str(number): one.as_json() for number, one in sorted(self.declined.items())},
            },
            sort_keys=True,
        )


def carried(text: str | None, definition: str, before: Frontier, after: Frontier) -> str | None:
    """What is kept, for inputs that moved to another snapshot without a change of rows."""
    noted = noted_of(text, definition, before)
    return None if noted is None else noted.as_json(definition, after)


def valid(text: str | None, definition: str, frontier: Frontier, io: FileIO) -> Kept | None:
    """What a table's status says is kept, if it stands for this query over these inputs and is all there."""
    noted = noted_of(text, definition, frontier)
    return noted if noted is not None and all(exists(io, file) for file in noted.files) else None


def noted_of(text: str | None, definition: str, frontier: Frontier) -> Kept | None:
    """What a table's status says is kept for this query over these inputs, be it there or not."""
    if text is None:
        return None
    said = json.loads(text)
    if "kind" in said:
        return None  # the ranks of a cycle that the table belonged to
    if said["definition"] != definition or said["inputs"] != json.loads(frontier.as_json())["inputs"]:
        return None
    # An earlier version kept the state of the outermost operation alone.
    states = said["states"] if "states" in said else {str(ROOT): said}
    found = {
        int(number): Entries(tuple(one["files"]), one["columns"], one.get("bytes")) for number, one in states.items()
    }
    return Kept(found, _declined(said.get("declined", {})))


def _declined(said: Mapping[str, Any] | list[int]) -> dict[int, Declined]:
    if isinstance(said, list):  # of an earlier version, which did not say why
        return {number: Declined(WhyNot.LARGE_SHARE) for number in said}
    return {int(number): Declined.from_json(one) for number, one in said.items()}


def written(
    spark: SparkSession,
    bench: SparkBench,
    tallies: Mapping[int, Tallies],
    before: Kept | None,
    staging: Staging,
    io: FileIO,
    *,
    policy: StatePolicy,
    inputs: int,
) -> Kept | None:
    """Write what a refresh adds; None if nothing is kept of it.

    Args:
        spark: The session.
        bench: Where the entries are.
        tallies: What the rules found, by the number of the part.
        before: What was kept so far.
        staging: Where the files go.
        io: How they are written.
        policy: Which states are kept.
        inputs: Bytes of all inputs.
    """
    found: dict[int, Entries] = {}
    declined = {number: one for number, one in _declined_before(before).items() if policy.still_declines(one)}
    for number, tally in sorted(tallies.items()):
        old = before.states.get(number) if before is not None else None
        entries = _written(bench, tally, old, f"{staging.kept_folder}/{number}", io)
        if entries is None:
            continue
        size = entries.size(io)
        others = sum(one.bytes or 0 for one in found.values())
        new_part = tally.whole is not None and (number != ROOT or tally.large)
        refused = policy.refusal(size, others, inputs, new_part=new_part)
        if refused is not None:
            # Those of earlier refreshes go when this one has published.
            delete_files(io, [file for file in entries.files if old is None or file not in old.files])
            declined[number] = refused
            continue
        found[number] = replace(entries, bytes=size)
    return Kept(found, declined) if found or declined else None


def _declined_before(before: Kept | None) -> Mapping[int, Declined]:
    return {} if before is None else before.declined


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
        added = _whole(bench.frame(f"SELECT {listed} FROM {quote(tally.gained)}"), folder, io)
    else:
        location = f"{folder}/lines.parquet"
        with io.new_output(location).create(overwrite=True) as stream:
            pq.write_table(rows.select(names), stream, compression="zstd", store_decimal_as_integer=True)
        make_durable(io, [location])
        added = Entries((location,), before.columns, _size(io, location))
    size = None if before.bytes is None or added.bytes is None else before.bytes + added.bytes
    return Entries((*before.files, *added.files), before.columns, size)


def _size(io: FileIO, file: str) -> int:
    return len(io.new_input(file))


def _whole(lines: DataFrame, folder: str, io: FileIO) -> Entries:
    columns = lines.schema.jsonValue()
    lines.write.mode("overwrite").option("compression", "zstd").parquet(spark_path(folder))
    files = tuple(path for path in list_files(io, folder) if path.endswith(".parquet"))
    make_durable(io, files)
    return Entries(files, columns, sum(map(partial(_size, io), files)))


def superfluous(before: str | None, stay: Collection[str]) -> tuple[str, ...]:
    """The files that a status named, but for those that stay."""
    return () if before is None else tuple(file for file in json.loads(before)["files"] if file not in stay)


def report(policy: StatePolicy, inputs: int, before: Kept | None, after: Kept | None) -> tuple[PartState, ...]:
    """What became of the states of a table in a refresh.

    Args:
        policy: Which states are kept.
        inputs: Bytes of all inputs.
        before: What was kept and valid before.
        after: What is kept from now on.
    """
    old, new = before or Kept({}), after or Kept({})
    found: list[PartState] = []
    for number in sorted({*old.states, *new.states, *new.declined} or {ROOT}):
        entries, known = new.states.get(number), old.states.get(number)
        if entries is not None:
            made = known is None or not set(known.files) & set(entries.files)
            use = "made" if made else "added_to" if known is not None and entries.files != known.files else "unchanged"
            found.append(PartState(part=number, bytes=entries.bytes, files=len(entries.files), outcome=use))
        elif (declined := new.declined.get(number)) is not None:
            found.append(PartState(part=number, outcome="declined", code=declined.why.value, why=declined.text))
        else:
            code = policy.why_not_made(inputs) or WhyNot.NOT_NEEDED
            outcome = "removed" if known is not None else "none"
            found.append(PartState(part=number, outcome=outcome, code=code.value, why=_WORDS[code]))
    return tuple(found)


_WORDS = {
    WhyNot.ASKED: "the definition says state: none",
    WhyNot.SMALL_INPUTS: "the inputs are quickly read again",
    WhyNot.NOT_NEEDED: "the published rows suffice, or there is nothing to keep",
}
