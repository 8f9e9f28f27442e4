"""DIFFERENTIAL refresh: the change of a table's rows, computed from the changes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.columns_named import columns_named
from airflow_trickle.blocks.shapes import Query
from airflow_trickle.engine.delta.bench import Asking, SparkBench, understood
from airflow_trickle.engine.delta.context import Change, Context, InputViews, Parts, Published, Tallies
from airflow_trickle.engine.delta.program import build_state, change_of
from airflow_trickle.engine.delta.subviews import numbered_parts
from airflow_trickle.engine.full import Difference, netted, shaped
from airflow_trickle.engine.inputs import read_files
from airflow_trickle.engine.kept import ROOT, Kept
from airflow_trickle.engine.small_change import SmallChange, fetched, find_places
from airflow_trickle.engine.state_policy import StatePolicy
from airflow_trickle.engine.states import ChangedInput, states_of
from airflow_trickle.engine.zset import FILE, POSITION, WEIGHT
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.deletes import total_size
from airflow_trickle.plan.steps import TableStep
from airflow_trickle.spark.tuning import session_conf

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
        tallies: Tells afterwards what is to be kept of its outermost operation.
        parts: Tells afterwards what is to be kept of parts of its query.
        meaning: What decides what its query means; None if Spark's answers about it are not to be remembered.
    """

    spark: SparkSession
    step: TableStep
    inputs: Mapping[str, ChangedInput]
    target: Target
    held: list[DataFile]
    views: list[str]
    kept: Kept | None = None
    meaning: str | None = None
    size: int = 0
    bench: SparkBench = field(init=False)
    tallies: Tallies = field(init=False)
    parts: Parts = field(init=False)

    def __post_init__(self) -> None:
        rows = sum(one.rows for one in self.inputs.values())
        self.bench = SparkBench(self.spark, self.views, rows=rows, asking=Asking(travelling=True, meaning=self.meaning))
        policy = StatePolicy.of(self.step)
        worthwhile = policy.why_not_made(self.read) is None
        states = self.kept.states if self.kept is not None else {}
        io = self.target.table.io
        lines = {
            number: self.bench.promise(
                partial(one.frame, self.spark), one.size(io), files=len(one.files), columns=one.struct
            )
            for number, one in states.items()
        }
        known = self.kept.declined if self.kept is not None else {}
        declined = frozenset(number for number, one in known.items() if policy.still_declines(one))
        self.tallies = Tallies(lines.pop(ROOT, None), wanted=worthwhile and ROOT not in declined)
        self.parts = Parts({}, lines, declined, wanted=worthwhile)

    @property
    def read(self) -> int:
        """Bytes of all inputs."""
        return sum(one.after.size for one in self.inputs.values())

    @property
    def states(self) -> dict[int, Tallies]:
        """What became of the auxiliary states, by the number of the part."""
        return {ROOT: self.tallies, **self.parts.tallies}

    def build_state(self) -> None:
        """Find what state is to be made beside a table that was computed in full."""
        context, query = self._context()
        build_state(context, query, self._published())

    def find(self) -> SmallChange | Difference | None:
        """The change of the published rows, net; None if there is none.

        Raises:
            NotInBlocks: the query cannot be refreshed from changes.
        """
        inputs = sum(one.after.size for one in self.inputs.values())
        # Of small inputs, the session does not adapt its plans anyway.
        plain = session_conf(inputs)["spark.sql.adaptive.enabled"] == "false"
        adapted = plain or not self.bench.small or inputs + total_size(self.held) > _LITTLE_TO_READ
        with self.bench.adapting({} if adapted else {"spark.sql.adaptive.enabled": "false"}):
            return self._find()

    def _find(self) -> SmallChange | Difference | None:
        context, query = self._context()
        published = self._published()
        change = change_of(context, query, published)
        if change is None:
            return None
        weighted = self._shaped(self.bench.query(change.sql), placed=change.placed)
        found = self._small(weighted, published, change) if self.bench.small else None
        if found is not None:
            return found if found.inserted or found.deleted else None
        with understood():
            large = netted(weighted)
        return large if large.inserted or large.deleted else None

    def _context(self) -> tuple[Context, Query]:
        blocks, query = blocks_of(self.step.query, recursion=True)
        named = columns_named(blocks, query)
        states = {
            name: states_of(self.spark, self.bench, one, self._opened, named) for name, one in self.inputs.items()
        }
        tables = {ref.start: InputViews(states[ref.identifier], ref.alias) for ref in self.step.references}
        self.parts.numbers = numbered_parts(blocks, query)
        return Context(blocks, tables, self.bench, tallies=self.tallies, parts=self.parts), query

    def _small(self, weighted: DataFrame, published: Published, change: Change) -> SmallChange | Difference | None:
        with understood():
            found = fetched(self.bench, weighted, published.columns, placed=change.placed, net=change.net)
        if found is None or not found.rows.num_rows:
            return found
        return find_places(self.bench, found, str(published.placed), self.target, self.held)

    def _published(self) -> Published:
        from pyspark.sql.types import LongType, StringType, StructField, StructType

        table, schema = self.target.table, self.target.schema
        names = tuple(column.name for column in schema.fields)

        def rows(*, placed: bool) -> DataFrame:
            self.size += total_size(self.held)
            return read_files(self.spark, table, schema, self.held, with_file=placed, with_position=placed)

        struct = StructType.fromJson(spark_schema(schema, self.target.identifier, by_id=False))
        wider = StructType([*struct.fields, StructField(FILE, StringType()), StructField(POSITION, LongType())])
        promise = partial(self.bench.promise, size=total_size(self.held), files=len(self.held))
        plain = promise(lambda: rows(placed=False), columns=struct)
        types = tuple(column.dataType.simpleString() for column in struct.fields)
        return Published(plain, names, types, promise(lambda: rows(placed=True), columns=wider))

    def _opened(self, size: int) -> None:
        self.size += size

    def _shaped(self, delta: DataFrame, *, placed: bool) -> DataFrame:
        """The change in the table's own types; columns by position, since the user's names are the table's."""
        from pyspark.sql import functions as F

        places = (FILE, POSITION) if placed else ()
        names = [column.name for column in self.target.schema.fields]
        named = delta.toDF(*names, WEIGHT, *places)
        return shaped(named, self.target, *(F.col(name) for name in (WEIGHT, *places)))
