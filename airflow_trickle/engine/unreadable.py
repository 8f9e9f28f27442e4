"""Columns of sources that Spark cannot read: no harm to queries that do not read them, and no query reads them."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.schema import Schema

from airflow_trickle.algebra.column_reads import reads_column
from airflow_trickle.engine.full import Input
from airflow_trickle.errors import Position, Problem, QueryRejected
from airflow_trickle.lakehouse.columns import unreadable
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.plan.steps import TableStep


def require_readable_inputs(step: TableStep, inputs: Mapping[str, Input]) -> None:
    """The same as `require_readable` for inputs at their pinned states."""
    require_readable(step, {name: schema_of(one.table, one.version) for name, one in inputs.items()})


def require_readable(step: TableStep, schemas: Mapping[str, Schema]) -> None:
    """Refuse a query that may read a column which Spark cannot read.

    Such columns are left out of what the query runs over, so a name must never come to mean another column by that.

    Args:
        step: The table.
        schemas: By identifier: the columns of its inputs.

    Raises:
        QueryRejected: it may read such a column.
    """
    for identifier, schema in sorted(schemas.items()):
        starts = [reference.start for reference in step.references if reference.identifier == identifier]
        for column, why in unreadable(schema, identifier).items() if starts else ():
            offset = reads_column(step.query, starts, column)
            if offset is None:
                continue
            at = step.position(offset) or Position.parse(step.declared_at)
            message = (
                f"stream table '{step.name}' reads column '{column}' of {identifier}, or may do so: {why} A query that "
                f"names the columns which it reads, with their table in front, and not this one, is accepted."
            )
            raise QueryRejected(f"{at}: {message}", Problem(at, message), step.name)
