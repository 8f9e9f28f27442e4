"""Writing a small change in this process: no Spark job, and no large file is rewritten.

Rows that come go into a new file, one for each partition. Rows that go are named in a position delete file beside a
large data file; a small one is written anew without them. Small files of a partition, and those that have lost many
rows, are folded together now and then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile

from airflow_trickle.engine.arrange import arranged_rows
from airflow_trickle.engine.budget import Meter, left_to_spark
from airflow_trickle.engine.small_change import Places, SmallChange
from airflow_trickle.engine.write import Written, by_partition
from airflow_trickle.errors import RefreshFailed
from airflow_trickle.lakehouse.commit import NAME_MAPPING, Target, data_files
from airflow_trickle.lakehouse.deletes import DeleteKind, deletes_of
from airflow_trickle.lakehouse.files import file_key
from airflow_trickle.lakehouse.positions import deleted_positions, write_position_deletes
from airflow_trickle.lakehouse.staging import Staging
from airflow_trickle.tuning import tuning

_ROWS_OF_A_GROUP = 1_000_000
#: A file is read in steps of so many rows, so that one with wide rows is noticed before it is all in memory.
_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True)
class _Plan:
    """Which files are written anew without some rows, and which only get a delete file."""

    rewritten: dict[str, DataFile]
    marked: dict[str, DataFile]


def write_small(change: SmallChange, target: Target, staging: Staging, published: Sequence[DataFile]) -> Written | None:
    """Write a change with its places; None if the files at hand need Spark, or their rows do not fit here.

    Raises:
        RefreshFailed: the files written do not add up.
    """
    places = change.places
    assert places is not None  # noqa: S101 - found before
    files = {file_key(file.file_path): file for file in published}
    plan = _planned(target, files, places)
    if plan is None:
        return None
    layout = layout_of(target)
    parts = [_cast(change.new_rows, layout)]
    meter = Meter(sys.maxsize, tuning().arrow_rewrite_memory)
    meter.takes(parts[0])
    for key, file in plan.rewritten.items():
        kept = rows_left(target, file, places.get(key, ()), layout, meter)
        if kept is None:
            return None
        parts.append(kept)
    rows = arranged_rows(pa.concat_tables(parts), target)
    added = [write_rows(target, staging, part, number) for number, part in enumerate(rows)]
    deletes = write_position_deletes(target.table, staging, [(file, places[key]) for key, file in plan.marked.items()])
    lost = sum(part.num_rows for part in parts[1:]) + sum(len(places.get(key, ())) for key in plan.rewritten)
    written = Written(
        tuple(data_files(target.table, target.schema, added, target.spec)),
        tuple(plan.rewritten.values()),
        lost,
        tuple(deletes),
    )
    _check(written, change, target)
    return written


def _check(written: Written, change: SmallChange, target: Target) -> None:
    expected = change.inserted - change.deleted
    if written.net_rows != expected:
        raise RefreshFailed(
            f"Table {target.identifier}: the files written change the row count by {written.net_rows}, but the "
            f"result by {expected}. Nothing was published. Please report this, with the table's query."
        )


def _planned(target: Target, files: dict[str, DataFile], places: Places) -> _Plan | None:
    metadata = target.table.metadata
    if NAME_MAPPING in metadata.properties or target.is_parted_anew:
        return None
    limits = tuning()
    touched = {key: files[key] for key in places}
    plan = _Plan({}, {})
    for key, file in touched.items():
        if file.file_size_in_bytes < limits.small_file_bytes:
            plan.rewritten[key] = file
        elif metadata.format_version != 2 or file.spec_id != target.spec.spec_id or is_worn(file, len(places[key])):
            return None
        else:
            plan.marked[key] = file
    small = by_partition(file for file in files.values() if file.file_size_in_bytes < limits.small_file_bytes)
    for group in small.values():
        if len(group) >= limits.small_files_per_partition and _size(group) <= limits.arrow_rewrite_bytes:
            plan.rewritten.update({file_key(file.file_path): file for file in group})
    return plan if _size(plan.rewritten.values()) <= limits.arrow_rewrite_bytes else None


def _size(files: Iterable[DataFile]) -> int:
    return sum(file.file_size_in_bytes for file in files)


def is_worn(file: DataFile, going: int) -> bool:
    """Whether a file that loses some rows more has lost so many that it is better written anew."""
    deletes = deletes_of(file)
    gone = going + sum(delete.rows for delete in deletes)
    limits = tuning()
    return len(deletes) >= limits.rewrite_delete_files or gone > limits.rewrite_deleted_share * file.record_count


def layout_of(target: Target) -> pa.Schema:
    """The columns of the table's files, with their field ids."""
    return schema_to_pyarrow(target.schema)


def _cast(rows: pa.Table, layout: pa.Schema) -> pa.Table:
    return pa.table([rows.column(at).cast(field.type) for at, field in enumerate(layout)], schema=layout)


def rows_left(target: Target, file: DataFile, going: Sequence[int], layout: pa.Schema, meter: Meter) -> pa.Table | None:
    """The rows of a file that stay; None if the file has other columns than the table now, or they do not fit here."""
    if any(delete.kind is DeleteKind.EQUALITY for delete in deletes_of(file)):
        return None
    gone = pa.concat_arrays([pa.array(going, pa.int64()), deleted_positions(target.table.io, file)])
    with target.table.io.new_input(file.file_path).open() as stream:
        parquet = pq.ParquetFile(stream)
        if [_mark(field) for field in parquet.schema_arrow] != [_mark(field) for field in layout]:
            return None
        last, count = pc.max(gone).as_py(), parquet.metadata.num_rows
        if last is not None and last >= count:
            raise RefreshFailed(
                f"Table {target.identifier}: row {last} of {file.file_path} is to be deleted, which has "
                f"{count} rows. Nothing was published. Please report this, with the table's query."
            )
        batches = _staying(parquet, gone, meter)
        if batches is None:
            left_to_spark(f"Rewriting files of {target.identifier}", meter)
            return None
        return _cast(pa.Table.from_batches(batches, parquet.schema_arrow), layout)


def _staying(parquet: pq.ParquetFile, gone: pa.Array, meter: Meter) -> list[pa.RecordBatch] | None:
    """The rows of a file without some, by their positions; None as soon as they do not fit."""
    found, begin = [], 0
    for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE):
        positions = pa.array(range(begin, begin + batch.num_rows), pa.int64())
        begin += batch.num_rows
        stays = batch.filter(pc.invert(pc.is_in(positions, value_set=gone))) if len(gone) else batch
        if not meter.takes(stays):
            return None
        found.append(stays)
    return found


def _mark(field: pa.Field) -> tuple[str, str, bytes | None]:
    kind = str(field.type).removeprefix("large_")
    return field.name, kind, (field.metadata or {}).get(b"PARQUET:field_id")


def write_rows(target: Target, staging: Staging, rows: pa.Table, number: int) -> str:
    """Write rows as a data file of a staging; where it is."""
    location = f"{staging.data_folder}/part-{number:05d}-{staging.staging_id}.parquet"
    with target.table.io.new_output(location).create(overwrite=True) as stream:
        pq.write_table(
            rows,
            stream,
            compression="zstd",
            row_group_size=_ROWS_OF_A_GROUP,
            # As Spark does: it reads such decimals much faster.
            store_decimal_as_integer=True,
        )
    return location
