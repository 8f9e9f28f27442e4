"""Where the parts of a change are computed: on Spark, with as few jobs as can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.delta.ranges import Ranges, ranges_of_rows
from airflow_trickle.engine.fetch import fetch, given_back
from airflow_trickle.engine.inputs import create_view, view_name
from airflow_trickle.engine.zset import checkpointed
from airflow_trickle.spark.active import configured, queried
from airflow_trickle.spark.session import set_conf
from airflow_trickle.spark.tuning import COMPILED, INTERPRETED
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_VIEW = re.compile(r"trickle_[0-9a-f]{32}")


class SparkBench:
    """Computes parts of a change on Spark; what it made is in ``views`` and is to be dropped at the end.

    Args:
        spark: The session.
        views: Fills with the names of the views.
        note: Is told the name, the meaning and the SQL of every part.
        rows: About how many rows the change is made of; with many nothing is brought into this process.
        ranged: Whether it is told between which values rows lie. That spares reading where there is much to read; but
            Spark compiles a query with other values anew, which a loop over little data feels in every pass.
    """

    def __init__(
        self,
        spark: SparkSession,
        views: list[str],
        note: Callable[[str, str, str], None] = lambda *_: None,
        rows: int = 0,
        *,
        ranged: bool = True,
    ) -> None:
        self._spark = spark
        self._views = views
        self._note = note
        self._small = rows <= tuning().arrow_change_rows
        self._ranged = ranged
        self._promised: dict[str, Callable[[], DataFrame]] = {}
        self._columns: dict[str, list[Column]] = {}
        self._ranges: dict[str, Mapping[str, Ranges]] = {}
        self._rows: dict[str, pa.Table] = {}
        self._held_bytes = 0
        #: By view: how many bytes a query that names it reads.
        self._sizes: dict[str, int] = {}
        #: Whether Spark compiles the next query; None where that is left to its settings.
        self._compiles: bool | None = None

    @contextmanager
    def adapting(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Have Spark interpret the queries that read little, with some settings more, which are put back afterwards."""
        with configured(self._spark, {**COMPILED, **settings}, put_back=True):
            self._compiles = True
            try:
                yield
            finally:
                self._compiles = None

    def promise(self, make: Callable[[], DataFrame], size: int | None = None) -> str:
        """The name of a view that is made when a query first reads it: many are never read.

        ``size``: how many bytes of files it reads, if that is known.
        """
        name = view_name()
        self._promised[name] = make
        if size is not None:
            self._sizes[name] = size
        return name

    def new_view(self) -> str:
        """A name for a view that somebody else makes; it is dropped with the others."""
        name = view_name()
        self._views.append(name)
        return name

    def made(self, view: str) -> None:
        """Somebody else made a view that is to be dropped with the others."""
        self._views.append(view)

    def view(self, sql: str, about: str) -> str:
        """Names a query; nothing is computed."""
        with understood():
            name = create_view(self._sql(sql))
        size = self._reads(sql)
        if size is not None:
            self._sizes[name] = size
        self._views.append(name)
        self._note(name, about, sql)
        return name

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""
        with understood():
            name = self.keep_frame(self.query(sql))
        self._note(name or "", about, sql)
        return name

    def keep_frame(self, frame: DataFrame) -> str | None:
        """Computes rows once and names them; None if there are none.

        Few rows come here and go back as part of a plan: that is one job, Spark knows their number and sends them to
        every task, and their ranges are known.
        """
        rows = self.fetch(frame) if self._small else None
        if rows is None:
            frame = checkpointed(frame)
            if frame.isEmpty():
                return None
        elif rows.num_rows == 0:
            return None
        else:
            return self.give(rows)
        name = create_view(frame)
        self._views.append(name)
        return name

    def fetch(
        self, frame: DataFrame, most: int | None = None, also: Sequence[str] = (), *, counted: str | None = None
    ) -> pa.Table | None:
        """The rows of a frame in this process; None if they do not fit beside those that are here already."""
        room = tuning().arrow_change_bytes - self._held_bytes
        return fetch(frame, most, also, most_bytes=room, counted=counted)

    def give(self, rows: pa.Table) -> str:
        """Names rows of this process."""
        self._held_bytes += rows.nbytes
        name = create_view(given_back(self._spark, rows))
        self._views.append(name)
        self._rows[name] = rows
        self._sizes[name] = rows.nbytes
        if self._ranged:
            self._ranges[name] = ranges_of_rows(rows)
        return name

    def bring_near(self, view: str) -> None:
        """Keep the rows of a view on Spark, if all there is to read is little: it will be read again and again."""
        if not self._ranged and view not in self._promised and view not in self._rows:
            checkpointed(self._spark.table(view)).createOrReplaceTempView(view)

    @property
    def session(self) -> SparkSession:
        """Where it computes."""
        return self._spark

    @property
    def small(self) -> bool:
        """Whether the change is likely to have few rows."""
        return self._small

    def is_large(self, view: str) -> bool:
        """Whether to read all rows of a view takes longer than to find those that few changed rows may meet."""
        return self._small and self._sizes.get(view, 0) >= tuning().semi_join_bytes

    def rows_of(self, view: str) -> pa.Table | None:
        """The rows of a view, if they are in this process."""
        return self._rows.get(view)

    def ranges(self, view: str) -> Mapping[str, Ranges]:
        """Between which values the columns of a view lie, by folded name, as far as that is known."""
        return self._ranges.get(view, {})

    def know_ranges(self, view: str, ranges: Mapping[str, Ranges]) -> None:
        """Remember the ranges of a view."""
        self._ranges[view] = ranges

    def columns(self, sql: str) -> list[Column]:
        """The columns of a query's result."""
        if sql not in self._columns:
            with understood():
                fields = self._sql(sql).schema.fields
            self._columns[sql] = [Column(field.name, field.dataType.simpleString()) for field in fields]
        return self._columns[sql]

    def frame(self, sql: str) -> DataFrame:
        """The result of a query, which Spark has accepted."""
        with understood():
            frame = self.query(sql)
            _ = frame.schema
            return frame

    def query(self, sql: str) -> DataFrame:
        """The result of a query, of which Spark is asked nothing before a job needs it; that job comes next."""
        frame = self._sql(sql)
        if self._compiles is not None:
            size = self._reads(sql)
            compiled = size is None or size > tuning().interpreted_bytes
            if compiled is not self._compiles:
                set_conf(self._spark, COMPILED if compiled else INTERPRETED)
                self._compiles = compiled
        return frame

    def _reads(self, sql: str) -> int | None:
        """How many bytes a query reads, if that is known of all that it names."""
        sizes = [self._sizes.get(name) for name in set(_VIEW.findall(sql))]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""
        from pyspark.errors import AnalysisException

        try:
            _ = self._sql(sql).schema
        except AnalysisException:
            return False
        return True

    def _sql(self, sql: str) -> DataFrame:
        for name in _VIEW.findall(sql):
            make = self._promised.pop(name, None)
            if make is not None:
                make().createOrReplaceTempView(name)
                self._views.append(name)
        return queried(self._spark, sql)


@contextmanager
def understood() -> Iterator[None]:
    """What Spark does not accept was made by us: the user's query was accepted before."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        raise NotInBlocks(f"Spark does not take a part of it by itself ({error.getCondition()})") from error
