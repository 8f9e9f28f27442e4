"""DIFFERENTIAL refresh: the change of a table's rows, computed from the changes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.engine.delta.bench import SparkBench, understood
from airflow_trickle.engine.delta.context import Change, Context, InputViews, Published, Tallies
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.full import Difference, netted, shaped
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.engine.kept import Kept
from airflow_trickle.engine.small_change import SmallChange, fetched, find_places
from airflow_trickle.engine.states import ChangedInput, states_of
from airflow_trickle.engine.zset import FILE, POSITION, WEIGHT
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.deletes import total_size
from airflow_trickle.plan.steps import TableStep
from airflow_trickle.spark.active import configured
from airflow_trickle.spark.tuning import session_conf
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Up to so many bytes, planning again after every step of a query costs more than a better plan spares.
_LITTLE_TO_READ = 512 * 1024**2


@dataclass
class ChangeFinder:
    """Computes the change of one table.

    Attributes:
        spark: Where it is computed.
        step: The table.
        inputs: What happened to its inputs.
        target: The table to write.
        held: Its files so far.
        views: Fills with the views that are to be dropped.
        kept: What is kept beside the table.
        size: Grows by the bytes of all files that are given to Spark to read.
        bench: Where the parts of the change are computed.
        tallies: Tells afterwards what is to be kept beside the table.
    """

    spark: SparkSession
    step: TableStep
    inputs: Mapping[str, ChangedInput]
    target: Target
    held: list[DataFile]
    views: list[str]
    kept: Kept | None = None
    size: int = 0
    bench: SparkBench = field(init=False)
    tallies: Tallies = field(init=False)

    def __post_init__(self) -> None:
        rows = sum(one.rows for one in self.inputs.values())
        self.bench = SparkBench(self.spark, self.views, rows=rows)
        worthwhile = sum(one.after.size for one in self.inputs.values()) >= tuning().aux_state_min_bytes
        kept = self.kept
        lines = self.bench.promise(lambda: kept.frame(self.spark)) if kept is not None else None
        self.tallies = Tallies(lines, wanted=worthwhile)

    def find(self) -> SmallChange | Difference | None:
        """The change of the published rows, net; None if there is none.

        Raises:
            NotInBlocks: the query cannot be refreshed from changes.
        """
        inputs = sum(one.after.size for one in self.inputs.values())
        # Of small inputs, the session does not adapt its plans anyway.
        plain = session_conf(inputs)["spark.sql.adaptive.enabled"] == "false"
        if plain or not self.bench.small or inputs + total_size(self.held) > _LITTLE_TO_READ:
            return self._find()
        with configured(self.spark, {"spark.sql.adaptive.enabled": "false"}, put_back=True):
            return self._find()

    def _find(self) -> SmallChange | Difference | None:
        blocks, query = blocks_of(self.step.query, recursion=True)
        states = {name: states_of(self.spark, self.bench, one, self._opened) for name, one in self.inputs.items()}
        tables = {ref.start: InputViews(states[ref.identifier], ref.alias) for ref in self.step.references}
        published = self._published()
        change = change_of(Context(blocks, tables, self.bench, tallies=self.tallies), query, published)
        if change is None:
            return None
        weighted = self._shaped(self.bench.frame(change.sql), placed=change.placed)
        found = self._small(weighted, published, change) if self.bench.small else None
        if found is not None:
            return found if found.inserted or found.deleted else None
        with understood():
            large = netted(weighted)
        return large if large.inserted or large.deleted else None

    def _small(self, weighted: DataFrame, published: Published, change: Change) -> SmallChange | Difference | None:
        with understood():
            found = fetched(self.bench, weighted, published.columns, placed=change.placed, net=change.net)
        if found is None or not found.rows.num_rows:
            return found
        return find_places(self.bench, found, str(published.placed), self.target)

    def _published(self) -> Published:
        from pyspark.sql.types import StructType

        table, schema = self.target.table, self.target.schema
        names = tuple(column.name for column in schema.fields)

        def rows(*, placed: bool) -> DataFrame:
            self.size += total_size(self.held)
            return read_files(self.spark, table, schema, self.held, with_file=placed, with_position=placed)

        plain = self.bench.promise(lambda: rows(placed=False))
        struct = StructType.fromJson(spark_schema(schema, self.target.identifier))
        types = tuple(column.dataType.simpleString() for column in struct.fields)
        return Published(plain, names, types, self.bench.promise(lambda: rows(placed=True)))

    def _opened(self, size: int) -> None:
        self.size += size

    def _shaped(self, delta: DataFrame, *, placed: bool) -> DataFrame:
        """The change in the table's own types; columns by position, since the user's names are the table's."""
        from pyspark.sql import functions as F

        places = (FILE, POSITION) if placed else ()
        names = [column.name for column in self.target.schema.fields]
        named = delta.toDF(*names, WEIGHT, *places)
        return shaped(named, self.target, *(F.col(name) for name in (WEIGHT, *places)))
