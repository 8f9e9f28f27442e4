"""Where the parts of a change are computed: on Spark, with as few jobs and round trips as can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.delta.ranges import Ranges, ranges_of_rows
from airflow_trickle.engine.delta.schema_cache import ANSWERS, VIEW, Shape, question, renamed, shapes_of
from airflow_trickle.engine.fetch import empty, fetch, given_back, struct_of
from airflow_trickle.engine.inputs import create_view, view_name
from airflow_trickle.engine.zset import checkpointed
from airflow_trickle.spark.active import configured, is_connect, queried
from airflow_trickle.spark.conf import set_conf
from airflow_trickle.spark.tuning import COMPILED, INTERPRETED
from airflow_trickle.tuning import tuning

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: A view that reads so many files at most travels with every query that names it; one of more is made on the server,
#: which then looks for its files once.
_FEW_FILES = 8


@dataclass(frozen=True)
class _Promise:
    """A view that nobody has needed yet."""

    make: Callable[[], DataFrame]
    travels: bool


@dataclass(frozen=True)
class Asking:
    """How Spark is asked about queries.

    Attributes:
        travelling: Views travel with the queries that name them, if the session lets them; they are then no views of
            the session, and only what this bench makes can name them.
        meaning: What beside a query and its relations decides the answer; None if answers are not to be remembered.
    """

    travelling: bool = False
    meaning: str | None = None


class SparkBench:
    """Computes parts of a change on Spark; what it made is in ``views`` and is to be dropped at the end.

    Args:
        spark: The session.
        views: Fills with the names of the views.
        note: Is told the name, the meaning and the SQL of every part.
        rows: About how many rows the change is made of; with many nothing is brought into this process.
        ranged: Whether it is told between which values rows lie. That spares reading where there is much to read; but
            Spark compiles a query with other values anew, which a loop over little data feels in every pass.
        asking: How Spark is asked about queries.
    """

    def __init__(
        self,
        spark: SparkSession,
        views: list[str],
        note: Callable[[str, str, str], None] = lambda *_: None,
        rows: int = 0,
        *,
        ranged: bool = True,
        asking: Asking = Asking(),  # noqa: B008 - it is frozen
    ) -> None:
        self._spark = spark
        self._views = views
        self._note = note
        self._small = rows <= tuning().arrow_change_rows
        self._few = asking.travelling and rows <= min(tuning().arrow_read_rows, tuning().arrow_change_rows)
        self._ranged = ranged
        self._travelling = asking.travelling and is_connect(spark)
        self._meaning = asking.meaning
        self._promised: dict[str, _Promise] = {}
        #: The views that travel with the queries that name them.
        self._at_hand: dict[str, DataFrame] = {}
        #: What is known of views without reading them.
        self._shapes: dict[str, Shape] = {}
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
        with configured(self._spark, {**COMPILED, **settings}, put_back=True, lazily=True):
            self._compiles = True
            try:
                yield
            finally:
                self._compiles = None

    def promise(
        self,
        make: Callable[[], DataFrame],
        size: int | None = None,
        *,
        files: int | None = None,
        columns: StructType | None = None,
    ) -> str:
        """The name of a view that is made when a query first reads it: many are never read.

        Args:
            make: Makes it.
            size: How many bytes of files it reads, if that is known.
            files: How many files it reads, if that is known.
            columns: Its columns, if they are known.
        """
        name = view_name()
        self._promised[name] = _Promise(make, files is not None and files <= _FEW_FILES)
        if columns is not None:
            self._shapes[name] = Shape(columns=columns.json())
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
            name = self._named(self._plain(sql) if self._travelling else self._sql(sql))
        self._shapes[name] = Shape(sql=sql)
        size = self._reads(sql)
        if size is not None:
            self._sizes[name] = size
        self._note(name, about, sql)
        return name

    def keep(self, sql: str, about: str) -> str | None:
        """Computes a query once and names the result; None if it has no rows."""
        with understood():
            name = self.keep_frame(self.query(sql))
        if name is not None:
            self._shapes.setdefault(name, Shape(sql=sql))
        self._note(name or "", about, sql)
        return name

    def keep_frame(self, frame: DataFrame, columns: StructType | None = None) -> str | None:
        """Computes rows once and names them; None if there are none.

        Few rows come here and go back as part of a plan: that is one job, Spark knows their number and sends them to
        every task, and their ranges are known. ``columns``: those of the rows, if they are known.
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
        if columns is not None:
            self._shapes[name] = Shape(columns=columns.json())
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
        frame = given_back(self._spark, rows)
        name = self._named(frame)
        self._shapes[name] = Shape(columns=struct_of(rows.schema).json())
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

    @property
    def few(self) -> bool:
        """Whether the change is made of so few rows that all of them are handled in this process."""
        return self._few

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
            shapes, key = self._asked("columns", sql)
            found = ANSWERS.get(key) if key is not None else None
            if not isinstance(found, tuple):
                with understood():
                    fields = (self._sql(sql) if shapes is None else self._over_nothing(sql, shapes)).schema.fields
                found = tuple(Column(field.name, field.dataType.simpleString()) for field in fields)
                if key is not None:
                    ANSWERS.put(key, found)
            self._columns[sql] = list(found)
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
                set_conf(self._spark, COMPILED if compiled else INTERPRETED, lazily=True)
                self._compiles = compiled
        return frame

    def _reads(self, sql: str) -> int | None:
        """How many bytes a query reads, if that is known of all that it names."""
        sizes = [self._sizes.get(name) for name in set(VIEW.findall(sql))]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def resolves(self, sql: str) -> bool:
        """Whether Spark accepts a query."""
        from pyspark.errors import AnalysisException

        shapes, key = self._asked("resolves", sql)
        found = ANSWERS.get(key) if key is not None else None
        if isinstance(found, bool):
            return found
        try:
            _ = (self._sql(sql) if shapes is None else self._over_nothing(sql, shapes)).schema
        except AnalysisException:
            found = False
        else:
            found = True
        if key is not None:
            ANSWERS.put(key, found)
        return found

    def _asked(self, kind: str, sql: str) -> tuple[dict[str, Shape] | None, str | None]:
        """The columns of all that a query names, if they are known, and under what the answer is remembered, if it is.

        Only what is asked over relations without rows is remembered: no missing file can then have decided it.
        """
        shapes = shapes_of(sql, self._shapes) if self._travelling else None
        if shapes is None or self._meaning is None:
            return shapes, None
        return shapes, question(kind, sql, shapes, self._meaning)

    def _over_nothing(self, sql: str, shapes: Mapping[str, Shape]) -> DataFrame:
        """A query over relations of the same columns without rows."""
        from pyspark.sql.types import StructType

        # By other names: what travels with a query replaces the session's views of that name, and takes them along.
        names = {name: view_name() for name in shapes}
        views = {}
        for name, shape in shapes.items():
            if shape.sql is not None:
                views[names[name]] = self._plain(renamed(shape.sql, names))
            else:
                views[names[name]] = empty(self._spark, StructType.fromJson(json.loads(str(shape.columns))))
        return queried(self._spark, renamed(sql, names), views)

    def _plain(self, sql: str) -> DataFrame:
        """A query without the views that it names."""
        return queried(self._spark, sql)

    def _named(self, frame: DataFrame) -> str:
        """A view of some rows that the next queries can name."""
        if not self._travelling:
            name = create_view(frame)
            self._views.append(name)
            return name
        name = view_name()
        self._at_hand[name] = frame
        return name

    def _sql(self, sql: str) -> DataFrame:
        views: dict[str, DataFrame] = {}
        self._find(sql, views)
        return queried(self._spark, sql, views)

    def _find(self, sql: str, views: dict[str, DataFrame]) -> None:
        """Make the views that a query names; those that travel with it are added, each behind those that it names."""
        for name in dict.fromkeys(VIEW.findall(sql)):
            promise = self._promised.pop(name, None)
            if promise is not None:
                frame = promise.make()
                if self._travelling and promise.travels:
                    self._at_hand[name] = frame
                else:
                    frame.createOrReplaceTempView(name)
                    self._views.append(name)
            if name not in self._at_hand or name in views:
                continue
            shape = self._shapes.get(name)
            if shape is not None and shape.sql is not None:
                self._find(shape.sql, views)
            views[name] = self._at_hand[name]


@contextmanager
def understood() -> Iterator[None]:
    """What Spark does not accept was made by us: the user's query was accepted before."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        raise NotInBlocks(f"Spark does not take a part of it by itself ({error.getCondition()})") from error
