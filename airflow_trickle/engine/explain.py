"""What refreshing a table from changes would run: its SQL, over inputs without rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.layout import laid_out
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.delta.context import Context, InputViews, Published, Views
from airflow_trickle.engine.delta.explaining import ExplainingBench, Names, Step
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.delta.subviews import numbered_parts
from airflow_trickle.engine.failures import explained
from airflow_trickle.engine.inputs import query_over
from airflow_trickle.engine.unreadable import require_readable
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.errors import SourceMissing, TrickleError
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import readable, spark_schema
from airflow_trickle.plan.steps import InputKind, InputRef, TableStep
from airflow_trickle.results import Mode
from airflow_trickle.spark.active import activated, lent
from airflow_trickle.spark.session import SparkProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


class UnknownInput(TrickleError):
    """A table is said to have changed that the query does not read: the message lists those that it reads."""


@dataclass(frozen=True)
class InputStates:
    """An input, and what its states are called in the SQL; without change there is one state only."""

    ref: InputRef
    before: str | None
    after: str
    changes: str | None


@dataclass(frozen=True)
class ExplainedChange:
    """How a table is refreshed from changes; ``full_because`` if it is not."""

    inputs: tuple[InputStates, ...] = ()
    #: The rows of the table so far.
    published: str = ""
    steps: tuple[Step, ...] = ()
    #: The weighted rows that come and go; None if nothing of them can change.
    change: str | None = None
    full_because: str | None = None
    #: Whether it is followed in passes instead, by many small queries.
    passes: bool = False


def chosen_inputs(step: TableStep, names: Collection[str]) -> frozenset[str]:
    """The identifiers of the inputs that are said to have changed; all if none is named.

    Raises:
        UnknownInput: the query does not read a table of that name.
    """
    wanted = {fold(name) for name in names}
    found = [ref for ref in step.inputs if {fold(ref.name), fold(ref.identifier)} & wanted]
    unknown = wanted - {fold(name) for ref in found for name in (ref.name, ref.identifier)}
    if unknown:
        listed = ", ".join(ref.name for ref in step.inputs) or "nothing"
        raise UnknownInput(
            f"Stream table '{step.name}' does not read {', '.join(repr(name) for name in sorted(unknown))}, so it "
            f"cannot be said to have changed. It reads: {listed}."
        )
    return frozenset(ref.identifier for ref in (found if names else step.inputs))


def why_never(step: TableStep) -> str | None:
    """Why no one SQL text tells a table's change, where the plan alone tells."""
    if step.scc_id is not None:
        return "it is part of a cycle, which is brought to its fixed point as a whole"
    if step.recursive:
        return "it is recursive, and brought to its fixed point as a whole"
    return step.reason if step.mode == Mode.FULL.value else None


def explain_change(lake: Lakehouse, step: TableStep, spark: SparkProvider, changed: frozenset[str]) -> ExplainedChange:
    """The SQL by which a table would be refreshed if the inputs of some identifiers changed.

    The inputs' columns are those in the catalog. Nothing is computed, and no data file is opened.

    Raises:
        SourceMissing: the catalog does not have an input, so its columns are not known.
        TrickleError: Spark does not accept the query, or cannot be reached.
    """
    why = why_never(step)
    if why is not None:
        return ExplainedChange(full_because=why, passes=step.recursive or step.scc_id is not None)
    schemas = {ref.identifier: _schema(lake, ref) for ref in step.inputs}
    require_readable(step, schemas)
    columns = {name: spark_schema(readable(one, name), name, by_id=False) for name, one in schemas.items()}
    session, views = spark.session, list[str]()
    try:
        with (
            explained(step, lake.catalog.properties.get("warehouse", ""), "explained"),
            activated(session),
            lent(spark),
        ):
            return explained_over(session, step, columns, changed, views)
    except NotInBlocks as error:
        return ExplainedChange(full_because=error.why)
    finally:
        for view in views:
            with suppress(Exception):  # the session may be gone; its views went with it
                session.catalog.dropTempView(view)


def _schema(lake: Lakehouse, ref: InputRef) -> Schema:
    table = lake.table(ref.identifier)
    if table is None:
        todo = "Create it" if ref.kind is InputKind.SOURCE else "Refresh it once with `trickle run`"
        raise SourceMissing(
            f"{ref.declared_at}: the columns of '{ref.name}' ({ref.identifier}) are not known, since catalog "
            f"'{lake.name}' does not have it. {todo}, then ask again."
        )
    return table.metadata.schema()


def name_of_part(table: TableStep, part: int) -> str:
    """What a part of a query that may have auxiliary state is called: by the line where it begins."""
    if part < 0:
        return "the whole query"
    try:
        numbers = numbered_parts(*blocks_of(table.query, recursion=True))
    except NotInBlocks:
        return f"part {part}"
    start = next((span.start for span, number in numbers.items() if number == part), None)
    if start is None:
        return f"part {part}"
    return f"part {part} (line {table.query.count(chr(10), 0, start) + 1} of the query)"


def explained_over(
    session: SparkSession,
    step: TableStep,
    columns: Mapping[str, dict[str, object]],
    changed: frozenset[str],
    views: list[str],
) -> ExplainedChange:
    """The same over inputs of which only the columns are known, as the JSON of Spark's schema.

    Raises:
        NotInBlocks: the query cannot be refreshed from changes.
    """
    from pyspark.sql.types import StructType

    blocks, query = blocks_of(step.query, recursion=True)
    names = Names(step.query)
    states = {
        ref.identifier: _states(
            session, ref, StructType.fromJson(columns[ref.identifier]), names, views, ref.identifier in changed
        )
        for ref in step.inputs
    }
    result = session.sql(query_over(step, {name: one.after for name, one in states.items()}))
    published = _empty(session, names.give("published"), result.schema, views)
    bench = ExplainingBench(session, names, views)
    tables = {ref.start: InputViews(_views(states[ref.identifier]), ref.alias) for ref in step.references}
    types = tuple(column.dataType.simpleString() for column in result.schema.fields)
    found = change_of(Context(blocks, tables, bench), query, Published(published, tuple(result.columns), types))
    if found is not None:
        bench.frame(found.sql)
    return ExplainedChange(
        inputs=tuple(states.values()),
        published=published,
        steps=tuple(Step(one.name, one.about, laid_out(one.sql), one.kept) for one in bench.steps),
        change=None if found is None else laid_out(names.shown(found.sql)),
    )


def _states(
    session: SparkSession, ref: InputRef, rows: StructType, names: Names, views: list[str], changed: bool
) -> InputStates:
    from pyspark.sql.types import LongType, StructField, StructType

    after = _empty(session, names.give(f"{ref.name}_after"), rows, views)
    if not changed:
        return InputStates(ref, None, after, None)
    before = _empty(session, names.give(f"{ref.name}_before"), rows, views)
    weighted = StructType([*rows.fields, StructField(WEIGHT, LongType())])
    return InputStates(ref, before, after, _empty(session, names.give(f"{ref.name}_changes"), weighted, views))


def _views(states: InputStates) -> Views:
    return Views(states.before or states.after, states.after, states.changes)


def _empty(session: SparkSession, name: str, columns: StructType, views: list[str]) -> str:
    """A view without rows."""
    session.createDataFrame([], columns).createOrReplaceTempView(name)
    views.append(name)
    return name
