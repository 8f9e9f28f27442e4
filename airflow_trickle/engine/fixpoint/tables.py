"""How the tables of a unit change by its fixed point.

A table whose rows are all different is its member. Where copies count, the rows of the settled members go through the
table's own query once more: by its rules of change if the fixed point was found from the one before, else as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.bench import understood
from airflow_trickle.engine.delta.context import Context, InputViews, Published, Version, Views
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.solve import Solution
from airflow_trickle.engine.fixpoint.system import bag_order
from airflow_trickle.engine.full import Difference, difference, netted, shaped
from airflow_trickle.engine.inputs import create_view, read_files
from airflow_trickle.engine.small_change import SmallChange, fetched, find_places
from airflow_trickle.engine.zset import FILE, POSITION, WEIGHT, checkpointed
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.columns import spark_schema
from airflow_trickle.lakehouse.commit import Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class TableChanges:
    """The new rows of the tables of a unit, or how they differ from those before."""

    solution: Solution
    session: SparkSession
    #: By member or table: its states, for those who read it; filled in the order in which tables are asked for.
    _states: dict[str, Views] = field(default_factory=dict)
    _frames: dict[str, DataFrame] = field(default_factory=dict)

    @cached_property
    def order(self) -> list[str]:
        """The tables in an order in which each comes after those whose copies it counts."""
        system = self.solution.system
        if system.why_naive or system.counted:
            return [table.identifier for table in system.step.tables]
        bags = [key for key in bag_order(system.members) if key in system.keys]
        plain = [table.identifier for table in system.step.tables if table.identifier not in bags]
        return [*plain, *bags]

    def _is_member(self, name: str) -> bool:
        """Whether the rows of a table are those of its member, copies included."""
        member = self.solution.system.members.get(name)
        return member is not None and self._is_exact(name)

    def described(self, name: str) -> dict[str, Any]:
        """The columns of a table as the JSON of Spark's schema."""
        columns = self.solution.columns.get(name)
        if columns is None:
            described: dict[str, Any] = self.whole(name).schema.jsonValue()
            return described
        shown = ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns)
        found: dict[str, Any] = self.solution.bench.frame(f"SELECT {shown}").schema.jsonValue()
        return found

    def whole(self, name: str) -> DataFrame:
        """All rows of a table."""
        if name not in self._frames:
            self._frames[name] = self._whole(name)
        return self._frames[name]

    def _whole(self, name: str) -> DataFrame:
        solution = self.solution
        if name in solution.frames:
            return solution.frames[name]
        if self._is_member(name):
            return solution.bench.frame(solution.rows[name].now())
        context = self._context(name)
        text = solution.system.texts[name]
        frame = solution.bench.frame(context.render(text.query, Version.NEW, {}))
        columns = solution.columns.get(name)
        if columns is not None:
            # What reads it counts its copies, so it is computed once.
            frame = checkpointed(frame.toDF(*(column.name for column in columns)))
            view = create_view(frame)
            solution.bench.made(view)
            self._states[name] = Views(view, view, None)
        return frame

    def from_before(self, name: str, target: Target, held: Sequence[DataFile]) -> SmallChange | Difference | None:
        """How the rows of a table differ from those before."""
        bench = self.solution.bench
        published = self._published(target, held)
        if self._is_member(name):
            rows = self.solution.rows[name]
            sql = rows.net()
            if sql is None:
                return None
            if isinstance(rows, Rows) and rows.net_here is not None:
                return self._placed(rows.net_here, target, published)
            return self._found(bench.frame(sql), target, published, placed=False, net=False)
        context, text = self._context(name), self.solution.system.texts[name]
        try:
            change = change_of(context, text.query, published)
        except NotInBlocks:
            new = shaped(self._named(self.whole(name), target), target)
            return self._remembered(name, difference(self.session, new, target, held), published)
        if change is None:
            return self._remembered(name, None, published)
        places = (FILE, POSITION) if change.placed else ()
        names = [column.name for column in target.schema.fields]
        frame = bench.frame(change.sql).toDF(*names, WEIGHT, *places)
        found = self._found(frame, target, published, placed=change.placed, net=change.net)
        return self._remembered(name, found, published)

    def _remembered(
        self, name: str, found: SmallChange | Difference | None, published: Published
    ) -> SmallChange | Difference | None:
        """Note the states of a table whose copies count, for those who read it."""
        if name not in self.solution.system.keys:
            return found
        if found is None:
            self._states[name] = Views(published.rows, published.rows, None)
            return None
        bench = self.solution.bench
        delta = found.frame(self.session) if isinstance(found, SmallChange) else found.delta
        view = create_view(delta)
        bench.made(view)
        listed = ", ".join(quote(column) for column in published.columns)
        parts = (
            f"SELECT {listed}, CAST(1 AS BIGINT) AS {WEIGHT} FROM {quote(published.rows)} "
            f"UNION ALL SELECT {listed}, {WEIGHT} FROM {quote(view)}"
        )
        counted = f"SELECT {listed}, sum({WEIGHT}) AS {WEIGHT} FROM ({parts}) GROUP BY {listed}"
        copies = f"LATERAL VIEW explode(array_repeat(0, CAST({WEIGHT} AS INT))) AS __trickle_n"
        new = bench.promise(lambda: bench.frame(f"SELECT {listed} FROM ({counted}) {copies} WHERE {WEIGHT} > 0"))
        self._states[name] = Views(published.rows, new, view)
        return found

    def _found(
        self, weighted: DataFrame, target: Target, published: Published, *, placed: bool, net: bool
    ) -> SmallChange | Difference | None:
        from pyspark.sql import functions as F

        bench, places = self.solution.bench, (FILE, POSITION) if placed else ()
        rows = shaped(weighted, target, *(F.col(name) for name in (WEIGHT, *places)))
        with understood():
            small = fetched(bench, rows, published.columns, placed=placed, net=net) if bench.small else None
        if small is not None:
            return find_places(bench, small, str(published.placed), target) if small.rows.num_rows else None
        large = netted(rows.drop(*places))
        return large if large.inserted or large.deleted else None

    def _placed(self, net: pa.Table, target: Target, published: Published) -> SmallChange | Difference | None:
        """A change that is known here already, with where the rows stand that go."""
        if not net.num_rows:
            return None
        going = pc.any(pc.less(net[WEIGHT], 0)).as_py()
        return find_places(self.solution.bench, SmallChange(net, None if going else {}), str(published.placed), target)

    def _named(self, frame: DataFrame, target: Target) -> DataFrame:
        return frame.toDF(*(column.name for column in target.schema.fields))

    def _published(self, target: Target, held: Sequence[DataFile]) -> Published:
        from pyspark.sql.types import StructType

        bench, table, schema = self.solution.bench, target.table, target.schema
        names = tuple(column.name for column in schema.fields)
        struct = StructType.fromJson(spark_schema(schema, target.identifier))
        types = tuple(column.dataType.simpleString() for column in struct.fields)

        def rows(*, placed: bool) -> DataFrame:
            return read_files(self.session, table, schema, held, with_file=placed, with_position=placed)

        plain = bench.promise(lambda: rows(placed=False))
        return Published(plain, names, types, bench.promise(lambda: rows(placed=True)))

    # --- states of what a table reads --------------------------------------------------------------

    def _context(self, name: str) -> Context:
        """The query of a table over the settled members."""
        solution = self.solution
        system, text = solution.system, solution.system.texts[name]
        world = solution.change or solution.world
        tables = {}
        for reference in text.step.references:
            key = system.keys.get(reference.identifier)
            views = world.tables[reference.identifier] if key is None else self._state(key)
            tables[reference.start] = InputViews(views, reference.alias)
        known = {
            member.stands_for: self._state(key)
            for key, member in system.members.items()
            if member.step is None and member.text is text and member.stands_for is not None and self._is_exact(key)
        }
        return Context(text.blocks, tables, solution.bench, known=known)

    def _is_exact(self, key: str) -> bool:
        """Whether what is known of a member tells how often its rows are there."""
        system = self.solution.system
        return system.counted or bool(self.solution.frames) or system.members[key].distinct

    def _state(self, key: str) -> Views:
        if key not in self._states:
            self._states[key] = self._settled(key)
        return self._states[key]

    def _settled(self, key: str) -> Views:
        bench, solution = self.solution.bench, self.solution
        if key in solution.frames:
            view = create_view(solution.frames[key])
            bench.made(view)
            return Views(view, view, None)
        rows = solution.rows[key]
        types = {fold(column.name): column.type for column in rows.columns}
        after = bench.promise(lambda: bench.frame(rows.now()))
        net = rows.net() if solution.change is not None else None
        delta = None
        if net is not None:
            listed = ", ".join(rows.names)
            delta = bench.keep(
                f"SELECT {listed}, sum({WEIGHT}) AS {WEIGHT} FROM ({net}) GROUP BY {listed} HAVING sum({WEIGHT}) <> 0",
                f"the change of {rows.member.name}",
            )
        if delta is None or rows.base is None:
            return Views(after, after, None, types=types)
        return Views(rows.base, after, delta, types=types)
