"""Iceberg clients that are not ours, to check that published tables are ordinary Iceberg tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb


@lru_cache(maxsize=1)
def _database() -> duckdb.DuckDBPyConnection:
    """One for the whole process: to load the extensions takes 0.2 s."""
    connection = duckdb.connect()
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    # The manifests are Avro files: the iceberg extension needs the other one.
    for name in ("avro", "iceberg"):
        connection.execute(f"LOAD '{_extension(name)}'")
    return connection


@contextmanager
def duckdb_connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB that can `iceberg_scan`, with extensions from PyPI packages: nothing is downloaded."""
    with _database().cursor() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def duckdb_rows(metadata_location: str, snapshot_id: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of a table as DuckDB reads them from its metadata file, in a stable order."""
    with duckdb_connection() as connection:
        # No Python time zone package is needed this way; text is compared as easily.
        at = "" if snapshot_id is None else f", snapshot_from_id => {snapshot_id}"
        relation = connection.sql(f"SELECT * FROM iceberg_scan('{_quoted(metadata_location)}'{at})")
        rows = relation.fetchall()
    return sorted(rows, key=repr)


def duckdb_columns(metadata_location: str) -> dict[str, str]:
    """The columns of a table and their DuckDB types."""
    with duckdb_connection() as connection:
        relation = connection.sql(f"SELECT * FROM iceberg_scan('{_quoted(metadata_location)}')")
        return dict(zip(relation.columns, (str(kind) for kind in relation.types), strict=True))


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _extension(name: str) -> Path:
    package = find_spec(f"duckdb_extension_{name}")
    assert package is not None, f"install the package duckdb-extension-{name}"
    assert package.origin is not None
    return Path(package.origin).parent / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
