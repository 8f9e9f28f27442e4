"""Delta tables: their files as the log lists them, through the package ``deltalake``; Spark needs no jar for it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from airflow_trickle.engine.capture.columns import plain
from airflow_trickle.engine.capture.contents import Contents
from airflow_trickle.engine.capture.secrets import Options
from airflow_trickle.errors import SourceMissing, UnsupportedTable, WarehouseUnavailable
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.listing import ListedFile
from airflow_trickle.plan.steps import CaptureStep

if TYPE_CHECKING:
    from deltalake import DeltaTable

_VECTORS = "deletionVectors"
#: Features of a table that do not change how its files are read, or are read here.
_READ = {_VECTORS, "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "columnMapping"}


def delta_contents(step: CaptureStep, options: Options) -> Contents:
    """The files of a Delta table at its newest version; only they are compared, so no history is needed."""
    table = _opened(step, options)
    _check(table)
    columns = plain(json.loads(table.schema().to_json()))
    deleted = _deleted_positions(table, step)
    partition = list(table.metadata().partition_columns)
    root = _root(step)
    files: dict[str, ListedFile] = {}
    for action in pa.table(table.get_add_actions(flatten=True)).to_pylist():
        location = _location(root, action["path"])
        path = spark_path(location)
        gone = deleted.get(path, ())
        known = f"{action['size_bytes']}-{action['modification_time']}"
        if gone:
            known += f"-{hashlib.sha256(json.dumps(gone).encode()).hexdigest()[:32]}"
        values = tuple((name, _text(name, action[f"partition.{name}"])) for name in partition)
        modified = action["modification_time"] / 1000
        files[path] = ListedFile(path, location, known, action["size_bytes"], modified, values)
    if strays := sorted(deleted.keys() - files.keys()):
        raise UnsupportedTable(f"rows of {strays[0]} are deleted by a vector, but the table does not list that file")
    return Contents(files, columns, deleted)


def _opened(step: CaptureStep, options: Options) -> DeltaTable:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError
    except ImportError as error:
        raise UnsupportedTable(
            "reading Delta tables needs the Python package deltalake. Install it where ticks run: "
            "pip install 'airflow-trickle[delta]'"
        ) from error
    try:
        return DeltaTable(_root(step), storage_options=options.values or None)
    except TableNotFoundError as error:
        raise SourceMissing(
            f"there is no Delta table at {step.path}. If it should be there, check that its disk is mounted; if it "
            f"moved, correct the path. What was captured before stays as it is"
        ) from error
    except (DeltaError, OSError) as error:
        cause = options.masked(str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise WarehouseUnavailable(f"the Delta table at {step.path} cannot be opened: {cause}") from None


def _root(step: CaptureStep) -> str:
    assert step.path is not None  # noqa: S101 - a definition with this format has one
    return spark_path(step.path) if step.path.startswith("file:") else step.path


def _check(table: DeltaTable) -> None:
    protocol = table.protocol()
    unknown = sorted(set(protocol.reader_features or ()) - _READ)
    if unknown:
        raise UnsupportedTable(f"the Delta table uses {', '.join(unknown)}, which this version does not read")
    mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mode != "none":
        raise UnsupportedTable(
            f"the Delta table has delta.columnMapping.mode = {mode}, which this version does not read. Rewrite it into "
            f"a table without column mapping"
        )


def _location(root: str, path: str) -> str:
    """Where a file of the log is; there its path is escaped, and relative unless the table is a shallow clone."""
    found = unquote(path)
    if "://" in path or path.startswith("/"):
        return found.removeprefix("file://") if found.startswith("file:") else found
    return f"{root}/{found}"


def _deleted_positions(table: DeltaTable, step: CaptureStep) -> dict[str, tuple[int, ...]]:
    """By path: the rows that deletion vectors take away, counted from 0."""
    if _VECTORS not in (table.protocol().reader_features or ()):
        return {}
    found: dict[str, tuple[int, ...]] = {}
    for row in pa.table(table.deletion_vectors()).to_pylist():
        location = _location(_root(step), row["filepath"])
        kept = row["selection_vector"]
        found[spark_path(location)] = tuple(position for position, keep in enumerate(kept) if not keep)
    return found


def _text(column: str, value: Any) -> str | None:
    """The value of a partition column as text that Spark casts back to it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, (int, float, Decimal, dt.date)):
        return str(value)
    raise UnsupportedTable(
        f"the Delta table is partitioned by '{column}', whose values are of a kind that this version does not read"
    )
