"""Checks the queries of pipelines against one catalog: upstream first, and one bad table hides no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import Any

from pyiceberg.schema import Schema

from airflow_trickle.engine.capture.columns import declared_columns
from airflow_trickle.engine.pin import why_missing
from airflow_trickle.engine.validation.report import Report, Unchecked
from airflow_trickle.engine.validation.unit import UnitCheck
from airflow_trickle.errors import Position, Problem, UnsupportedTable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import iceberg_schema, readable, spark_schema
from airflow_trickle.plan.steps import CaptureStep, InputKind, InputRef, Plan, RefreshStep, TableStep
from airflow_trickle.spark.active import activated, lent
from airflow_trickle.spark.session import SparkProvider

#: Columns as the JSON of Spark's schema.
Columns = dict[str, Any]


@dataclass(frozen=True)
class Unknown:
    """Columns that cannot be known, and why."""

    because: str


@dataclass(frozen=True)
class _Unit:
    plan: Plan
    step: RefreshStep

    @property
    def outside(self) -> tuple[InputRef, ...]:
        """What its tables read beside each other, each once."""
        own = {table.identifier for table in self.step.tables}
        refs = {ref.identifier: ref for table in self.step.tables for ref in table.inputs}
        return tuple(ref for identifier, ref in refs.items() if identifier not in own)


def check_queries(lake: Lakehouse, plans: Sequence[Plan], spark_of: Callable[[Plan], SparkProvider]) -> Report:
    """Ask Spark whether it accepts the query of every stream table over the columns that its inputs have.

    A source has the columns that the catalog says; a stream table those that its own query gives, whether or not it
    was published before. Nothing is computed, no data file is opened, and nothing is written.

    Args:
        lake: The catalog of all plans.
        plans: The pipelines.
        spark_of: Where to ask about a pipeline.

    Raises:
        CatalogUnavailable: the catalog did not answer.
        SparkUnavailable: Spark could not be reached.
    """
    check = _Check(lake, spark_of)
    for unit in _upstream_first(plans):
        check.unit(unit)
    return Report(
        tuple(sorted(set(check.problems))), tuple(sorted(set(check.unchecked))), tuple(sorted(set(check.notes)))
    )


def _upstream_first(plans: Iterable[Plan]) -> list[_Unit]:
    """The units of all pipelines, each after those whose tables it reads."""
    units = [_Unit(plan, part) for plan in plans for step in plan.refreshes for part in step.parts]
    makers = {table.identifier: at for at, unit in enumerate(units) for table in unit.step.tables}
    graph = {
        at: sorted({makers[ref.identifier] for ref in unit.outside if ref.identifier in makers})
        for at, unit in enumerate(units)
    }
    return [units[at] for at in TopologicalSorter(graph).static_order()]


@dataclass
class _Check:
    lake: Lakehouse
    spark_of: Callable[[Plan], SparkProvider]
    #: By identifier: what is known of inputs so far.
    columns: dict[str, Columns | Unknown] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    #: By identifier: the columns of those that are in the catalog.
    schemas: dict[str, Schema] = field(default_factory=dict)

    def unit(self, unit: _Unit) -> None:
        """Check the tables of one unit."""
        spark = self.spark_of(unit.plan)
        inputs: dict[str, Columns] = {}
        lacking: list[str] = []
        for ref in unit.outside:
            found = self._columns_of(ref, unit.plan, spark)
            if isinstance(found, Unknown):
                lacking.append(found.because)
            else:
                inputs[ref.identifier] = found
        if lacking:
            self._leave(unit, " and ".join(dict.fromkeys(lacking)))
            return
        views: list[str] = []
        session = spark.session
        try:
            with activated(session), lent(spark):
                self._checked(unit, UnitCheck(self.lake, unit.step, session, inputs, views, self.schemas))
        finally:
            for view in views:
                with suppress(Exception):  # the session may be gone; its views went with it
                    session.catalog.dropTempView(view)

    def _checked(self, unit: _Unit, check: UnitCheck) -> None:
        """Run the check of a unit; tables of a cycle with an error elsewhere in it are not checked."""
        check.run()
        self.problems += check.problems
        self.notes += check.notes
        failed = ", ".join(f"'{name}'" for name in sorted(check.failed))
        for table in unit.step.tables:
            known = check.columns.get(table.identifier)
            if known is None and table.name not in check.failed:
                self._leave_table(unit, table, f"{failed}, which it is in a cycle with, has an error")
            else:
                self.columns[table.identifier] = known or Unknown(f"its input '{table.name}' has an error")

    def _leave(self, unit: _Unit, because: str) -> None:
        for table in unit.step.tables:
            self._leave_table(unit, table, because)

    def _leave_table(self, unit: _Unit, table: TableStep, because: str) -> None:
        self.unchecked.append(Unchecked(Position.parse(table.declared_at), unit.plan.pipeline, table.name, because))
        self.columns[table.identifier] = Unknown(f"its input '{table.name}' was not checked")

    # --- the columns of what the project does not make ---------------------------------------------

    def _columns_of(self, ref: InputRef, plan: Plan, spark: SparkProvider) -> Columns | Unknown:
        if ref.identifier not in self.columns:
            self.columns[ref.identifier] = self._in_catalog(ref, plan, spark)
        return self.columns[ref.identifier]

    def _in_catalog(self, ref: InputRef, plan: Plan, spark: SparkProvider) -> Columns | Unknown:
        table = self.lake.table(ref.identifier)
        at = Position.parse(ref.declared_at)
        if table is not None:
            self.schemas[ref.identifier] = schema = table.metadata.schema()
            return spark_schema(readable(schema, ref.identifier), ref.identifier, by_id=False)
        capture = next((one for one in plan.captures if one.identifier == ref.identifier), None)
        if capture is not None:
            return self._captured(capture, spark)
        if ref.kind is not InputKind.SOURCE:
            return Unknown(
                f"its input '{ref.name}' ({ref.identifier}) is a stream table of a pipeline that has an error or is "
                f"not among those that were checked, and was not published yet"
            )
        self.problems.append(Problem(at, *why_missing(self.lake, ref)))
        return Unknown(f"its input '{ref.name}' is missing")

    def _captured(self, capture: CaptureStep, spark: SparkProvider) -> Columns | Unknown:
        """The columns of a mirror that is not there yet: as declared."""
        if capture.columns is None:
            return Unknown(
                f"its input '{capture.name}' was never captured, so that its columns are not known: run a tick first, "
                f"or give its `schema`"
            )
        try:
            with activated(spark.session):
                described = declared_columns(spark.session, capture.columns)
            return spark_schema(iceberg_schema(described, None, 0), capture.identifier, by_id=False)
        except UnsupportedTable as error:
            self.problems.append(Problem(Position.parse(capture.declared_at), f"source '{capture.name}': {error}"))
            return Unknown(f"its input '{capture.name}' cannot be read")
