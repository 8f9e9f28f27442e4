"""Checks one unit: a table, or the tables of a cycle, over inputs of which only the columns are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.shapes import Body, NotInBlocks, Query, Select, SetOperation
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.explain import explained_over
from airflow_trickle.engine.failures import explained
from airflow_trickle.engine.fixpoint.columns import find_columns
from airflow_trickle.engine.fixpoint.solve import Solution
from airflow_trickle.engine.fixpoint.sql import World
from airflow_trickle.engine.fixpoint.system import System, system_of
from airflow_trickle.engine.fixpoint.tables import TableChanges
from airflow_trickle.engine.full import layout_of
from airflow_trickle.engine.inputs import create_view, query_over
from airflow_trickle.engine.published import not_ours
from airflow_trickle.engine.unreadable import require_readable
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.errors import (
    Position,
    Problem,
    QueryRejected,
    RefreshFailed,
    UnsupportedTable,
)
from airflow_trickle.identifiers import fold, quote
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import iceberg_schema, spark_schema
from airflow_trickle.plan.steps import RefreshStep, TableStep, UnitKind
from airflow_trickle.results import Mode
from airflow_trickle.spark.active import configured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class UnitCheck:
    """The check of one unit; what it found is in ``problems``, ``notes`` and ``columns``.

    Attributes:
        lake: The catalog.
        step: The unit.
        session: Where types are asked for.
        inputs: By identifier: the columns of what it reads, as the JSON of Spark's schema.
        views: Fills with the views that are to be dropped.
        schemas: By identifier: what the catalog says of those that it has, columns included that Spark cannot read.
        columns: Fills with those of its tables, by identifier; a table with an error has none.
        failed: Fills with the names of tables with an error.
    """

    lake: Lakehouse
    step: RefreshStep
    session: SparkSession
    inputs: Mapping[str, dict[str, Any]]
    views: list[str]
    schemas: Mapping[str, Schema]
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Check every table of the unit."""
        for one in self.step.tables:
            with self._told(one):
                require_readable(one, {name: self.schemas[name] for name in self.inputs if name in self.schemas})
        if self.failed:
            return
        cyclic = self.step.kind is UnitKind.CYCLE
        if cyclic or self.step.tables[0].recursive:
            self._recursive(cyclic=cyclic)
            return
        (table,) = self.step.tables
        self._table(table, {name: self._view(columns) for name, columns in self.inputs.items()})
        if table.identifier in self.columns and table.mode == Mode.DIFFERENTIAL.value:
            self._from_changes(table)

    # --- one table ---------------------------------------------------------------------------------

    def _table(self, table: TableStep, views: Mapping[str, str]) -> None:
        """Whether Spark accepts the query of a table, and a table can hold what it gives."""
        with self._told(table):
            self._result(table, self.session.sql(query_over(table, dict(views))).schema.jsonValue())

    def _result(self, table: TableStep, described: dict[str, Any]) -> None:
        """Whether a table can hold the columns of its query's result; then they are those that it has for others."""
        wrong = list(_wrong_columns(table, described["fields"]))
        if wrong:
            self.problems += wrong
            self.failed.add(table.name)
            return
        current = self.lake.table(table.identifier)
        foreign = not_ours(current) if current is not None else None
        if foreign is not None:
            raise UnsupportedTable(foreign)
        before = current.metadata.schema() if current is not None else None
        schema = iceberg_schema(described, before, current.metadata.last_column_id if current is not None else 0)
        layout = layout_of(table)
        # Where the table is: only then is anything known of how it was parted before.
        layout.spec(schema, current.metadata if current is not None else None)
        layout.order(schema)
        self.columns[table.identifier] = spark_schema(schema, table.identifier, by_id=False)

    def _from_changes(self, table: TableStep) -> None:
        """Whether a table that is refreshed from changes can be, now that the types are known."""
        changed = frozenset(ref.identifier for ref in table.inputs)
        try:
            with self._told(table):
                explained_over(self.session, table, self.inputs, changed, self.views)
        except NotInBlocks as error:
            at = table.position(error.offset) or Position.parse(table.declared_at)
            if table.requested_mode == Mode.DIFFERENTIAL.value:
                message = f"stream table '{table.name}' cannot be refreshed from changes, because {error.why}."
                hint = "Set refresh_mode: AUTO to have it recomputed in full when needed."
                self.problems.append(Problem(at, message, hint))
                self.failed.add(table.name)
            else:
                message = f"stream table '{table.name}' is computed in full by every refresh, because {error.why}."
                self.notes.append(Problem(at, message))

    # --- cycles and recursive queries --------------------------------------------------------------

    def _recursive(self, *, cyclic: bool) -> None:
        """The columns of members as a refresh finds them; then every query as a whole, over these."""
        first = self.step.tables[0]
        with self._told(first):
            system = system_of(self.step)
            bench = SparkBench(self.session, self.views)
            world = World(bench, {name: _views(self._view(one), one) for name, one in self.inputs.items()})
            found = find_columns(bench, system.members, world, system.keys)
            if not cyclic:
                self._result(first, self._of_recursive(first, system, bench, world, found))
                return
            views = {name: self._view(columns) for name, columns in self.inputs.items()}
            views |= {name: self._empty(bench, found[key]) for name, key in system.keys.items()}
            for table in self.step.tables:
                self._member(table, views, bench, found[system.keys[table.identifier]])

    def _member(self, table: TableStep, views: Mapping[str, str], bench: SparkBench, columns: list[Column]) -> None:
        """A table of a cycle: its whole query, over the columns of its peers."""
        with self._told(table):
            if not table.recursive:
                _ = self.session.sql(query_over(table, dict(views))).schema
            self._result(table, bench.frame(f"SELECT {_nulls(columns)}").schema.jsonValue())

    def _of_recursive(
        self, table: TableStep, system: System, bench: SparkBench, world: World, found: Mapping[str, list[Column]]
    ) -> dict[str, Any]:
        """The columns of a query with recursive CTEs, over members without rows."""
        frames = {key: bench.frame(f"SELECT {_nulls(columns)} WHERE false") for key, columns in found.items()}
        solution = Solution(system, bench, world, Mode.FULL, "", found, (), frames=frames)
        described: dict[str, Any] = TableChanges(solution, self.session).described(table.identifier)
        return described

    # --- telling -----------------------------------------------------------------------------------

    @contextmanager
    def _told(self, table: TableStep) -> Iterator[None]:
        """Notes what is wrong with a table instead of raising it."""
        try:
            with explained(table, "", "checked"), configured(self.session, table.spark_conf, put_back=True):
                yield
        except QueryRejected as error:
            self.problems.append(error.problem or Problem(Position.parse(table.declared_at), str(error)))
            self.failed.add(error.table or table.name)
        except (RefreshFailed, UnsupportedTable) as error:
            self._failed(table, str(error))

    def _failed(self, table: TableStep, text: str) -> None:
        """Notes an error that names the place of a table, or is of the whole unit."""
        for one in self.step.tables:
            if text.startswith(f"{one.declared_at}: "):
                self.problems.append(
                    Problem(Position.parse(one.declared_at), text.removeprefix(f"{one.declared_at}: "))
                )
                self.failed.add(one.name)
                return
        names = ", ".join(f"'{one.name}'" for one in self.step.tables)
        whose = f"stream table{'s' if len(self.step.tables) > 1 else ''} {names}"
        self.problems.append(Problem(Position.parse(table.declared_at), f"{whose}: {text}"))
        self.failed |= {one.name for one in self.step.tables}

    def _view(self, columns: dict[str, Any]) -> str:
        """A view without rows."""
        from pyspark.sql.types import StructType

        name = create_view(self.session.createDataFrame([], StructType.fromJson(columns)))
        self.views.append(name)
        return name

    def _empty(self, bench: SparkBench, columns: Sequence[Column]) -> str:
        name = create_view(bench.frame(f"SELECT {_nulls(columns)} WHERE false"))
        self.views.append(name)
        return name


def _wrong_columns(table: TableStep, fields: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Every column that a table cannot have: its name comes twice or is reserved, or its type cannot be stored."""
    places = list(_items(table, len(fields)))
    seen: set[str] = set()
    for number, column in enumerate(fields):
        name = column["name"]
        at = (table.position(places[number] if places else 0)) or Position.parse(table.declared_at)
        whose = f"stream table '{table.name}'"
        if name.lower() in seen:
            yield Problem(at, f"{whose} has two columns named '{name}'.", "Give one of them another name with AS.")
            continue
        seen.add(name.lower())
        if name.startswith(RESERVED):
            message = f"{whose}: column '{name}' begins with {RESERVED}, which is reserved."
            yield Problem(at, message, "Give it another name with AS.")
        try:
            iceberg_schema({"fields": [column]}, None, 0)
        except UnsupportedTable as error:
            yield Problem(at, f"{whose}: {error}")


def _items(table: TableStep, number: int) -> Iterator[int]:
    """Where each column of the result stands in the query; nothing if stars or generators make that uncertain."""
    try:
        _, query = blocks_of(table.query, recursion=True)
    except NotInBlocks:
        return
    body: Body = query
    while not isinstance(body, Select):
        if isinstance(body, Query):
            body = body.body
        elif isinstance(body, SetOperation):
            body = body.left
        else:
            return
    if len(body.items) == number and all(item.star is None for item in body.items):
        yield from (item.span.start for item in body.items)


def _nulls(columns: Sequence[Column]) -> str:
    return ", ".join(f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in columns)


def _views(view: str, columns: Mapping[str, Any]) -> Views:
    from pyspark.sql.types import StructType

    fields = StructType.fromJson(dict(columns)).fields
    return Views(view, view, None, types={fold(one.name): one.dataType.simpleString() for one in fields})
