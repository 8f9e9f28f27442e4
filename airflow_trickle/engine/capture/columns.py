"""The columns of a source: as declared, as its log says, or as all of its files agree on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_trickle.engine.capture.contents import SourceMoved
from airflow_trickle.engine.capture.state import CaptureState
from airflow_trickle.engine.failures import first_lines
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.files import spark_pattern
from airflow_trickle.lakehouse.listing import ListedFile
from airflow_trickle.plan.steps import CaptureStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SourceColumns:
    """The columns to read, as the JSON of Spark's schema; ``kinds``: what the files call their types.

    ``rows``: how many rows the files say that they have, if they do.
    """

    described: dict[str, Any]
    kinds: dict[str, str]
    rows: int | None = None


def declared_columns(spark: SparkSession, text: str) -> dict[str, Any]:
    """The columns of a text such as ``id BIGINT, name STRING``, as Spark reads it."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        described: dict[str, Any] = plain(spark.createDataFrame([], text).schema.jsonValue())
    except (AnalysisException, ParseException) as error:
        raise UnsupportedTable(
            f"Spark does not understand its schema: {first_lines(str(error), 3)} Write it as in CREATE TABLE, such as "
            f"id BIGINT, name STRING"
        ) from None
    return described


def plain(described: Any) -> Any:
    """A schema without the notes of whoever wrote it: field ids and the like are not ours; all may be NULL."""
    if isinstance(described, list):
        return [plain(item) for item in described]
    if not isinstance(described, dict):
        return described
    cleaned = {key: plain(value) for key, value in described.items()}
    if "metadata" in cleaned:
        cleaned |= {"metadata": {}, "nullable": True}
    return cleaned


def columns_in_files(
    lake: Lakehouse,
    spark: SparkSession,
    step: CaptureStep,
    files: Sequence[ListedFile],
    known: CaptureState | None,
) -> SourceColumns:
    """The columns that all of the files have, and those captured before had.

    Raises:
        UnsupportedTable: a file has other columns; it is named.
    """
    if known is not None and not known.kinds:
        known = None  # so far there was no file to learn them from
    kinds = dict(known.kinds) if known is not None else {}
    origin = "the files captured before"
    rows: int | None = 0
    partition = [name for name, _ in files[0].partition]
    for file in files:
        found, count = _kinds(lake, step, file)
        if twice := sorted({name.lower() for name in partition} & {name.partition(".")[0].lower() for name in found}):
            raise UnsupportedTable(
                f"the column '{twice[0]}' stands in the file {file.path} and in the name of its folder. Rename the "
                f"folders, or say with `schema` what to read"
            )
        found |= dict.fromkeys(partition, "the name of a folder")
        rows = rows + count if rows is not None and count is not None else None
        if not kinds:
            kinds, origin = found, file.path
        elif found != kinds:
            raise UnsupportedTable(_drift(step, file, found, kinds, origin))
    if known is not None:
        return SourceColumns(known.columns, kinds, rows)
    described = plain(spark.read.format(step.format).load(spark_pattern(files[0].location)).schema.jsonValue())
    added = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in partition]
    return SourceColumns({**described, "fields": [*described["fields"], *added]}, kinds, rows)


def _kinds(lake: Lakehouse, step: CaptureStep, file: ListedFile) -> tuple[dict[str, str], int | None]:
    """What a file calls the types of its columns, and how many rows it says it has."""
    io = lake.io({}, file.location)
    try:
        with io.new_input(file.location).open() as stream:
            if step.format == "orc":
                from pyarrow import orc

                found = orc.ORCFile(stream)
                return {field.name: str(field.type) for field in found.schema}, found.nrows
            opened = pq.ParquetFile(stream)
            leaves = (opened.schema.column(number) for number in range(len(opened.schema)))
            kinds = {leaf.path: f"{leaf.physical_type} {leaf.logical_type}" for leaf in leaves}
            return kinds, opened.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise SourceMoved(f"the file {file.path} was removed while it was read") from error
        cause = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise UnsupportedTable(
            f"{file.path} ({file.size} bytes) cannot be read as {step.format}: {cause}. If it is still being written, "
            f"write it under a name that begins with '_' or '.' and rename it at the end; if it is no data, move it "
            f"elsewhere"
        ) from error


def _drift(step: CaptureStep, file: ListedFile, found: dict[str, str], kinds: dict[str, str], origin: str) -> str:
    parts: list[str] = []
    for word, names in (("has also", found.keys() - kinds.keys()), ("lacks", kinds.keys() - found.keys())):
        parts += [f"{word} {', '.join(sorted(names))}"] if names else []
    parts += [
        f"{name} is {found[name]} there and {kinds[name]} elsewhere"
        for name in sorted(found.keys() & kinds.keys())
        if found[name] != kinds[name]
    ]
    return (
        f"the columns of {file.path} are not those of {origin}: it {_joined(parts)}. Say with `schema` which columns "
        f"to read: those that a file lacks are then NULL, and others are left out"
    )


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(parts)
