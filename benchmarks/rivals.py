"""Plain Spark and DuckDB over the same rows, and whether published rows equal Spark's."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.engine.inputs import read_files
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.deletes import deletes_of
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.spark.active import configured
from airflow_trickle.spark.tuning import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class PlainFiles:
    """The rows of all sources as plain Parquet files, without delete files."""

    paths: Mapping[str, Sequence[str]]
    folder: Path

    @classmethod
    def of(cls, spark: SparkSession, folder: Path, tables: Sequence[str]) -> PlainFiles:
        """The present rows; a table with delete files is written anew, which nobody's time includes."""
        found: dict[str, list[str]] = {}
        with open_lakehouse("trickle") as lake:
            for name in tables:
                table = lake.table(f"default.{name}")
                assert table is not None
                files = files_of(table, table.metadata.current_snapshot_id)
                found[name] = [path.removeprefix("file://") for path in files]
                if any(deletes_of(file) for file in files.values()):
                    place = folder / "plain" / name
                    shutil.rmtree(place, ignore_errors=True)
                    read_files(spark, table, table.schema(), list(files.values())).write.parquet(str(place))
                    found[name] = sorted(str(path) for path in place.glob("*.parquet"))
        return cls(found, folder)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(Path(path).stat().st_size for paths in self.paths.values() for path in paths)

    def by_spark(self, spark: SparkSession, name: str, query: str) -> float:
        """Seconds in which plain Spark overwrites a folder with the result."""
        with configured(spark, {**session_conf(self.size), "spark.sql.adaptive.enabled": "true"}, put_back=True):
            started = time.monotonic()
            for table, paths in self.paths.items():
                spark.read.parquet(*paths).createOrReplaceTempView(table)
            spark.sql(query).write.mode("overwrite").parquet(str(self.folder / "spark" / name))
            return time.monotonic() - started

    def by_duckdb(self, name: str, query: str) -> float:
        """Seconds in which DuckDB writes the result to a file."""
        with duckdb.connect() as connection:
            started = time.monotonic()
            for table, paths in self.paths.items():
                connection.read_parquet(list(paths)).create_view(table)
            connection.execute(f"COPY ({query}) TO '{self.folder}/duckdb-{name}.parquet' (FORMAT parquet)")
            return time.monotonic() - started

    def is_exact(self, catalog: SqlCatalog, name: str) -> bool:
        """Whether a stream table has the rows that plain Spark has written, each as often."""
        with duckdb.connect() as connection:
            ours = catalog.load_table(f"default.{name}").scan().to_arrow_batch_reader()
            theirs = connection.read_parquet(f"{self.folder}/spark/{name}/*.parquet")
            return _fingerprint(connection, connection.from_arrow(ours)) == _fingerprint(connection, theirs)


def _fingerprint(connection: duckdb.DuckDBPyConnection, rows: duckdb.DuckDBPyRelation) -> tuple[object, ...] | None:
    """How many rows there are, and a sum of hashes of them, whatever their order is."""
    values = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in rows.columns)
    found = rows.aggregate(f"count(*), sum(hash({values})::HUGEINT), sum((hash({values}, 1) % 1000003)::HUGEINT)")
    return found.fetchone()
