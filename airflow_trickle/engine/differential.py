"""DIFFERENTIAL refresh: the change of a table's rows, computed from the changes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Context, InputViews, Views
from airflow_trickle.engine.delta.program import change_of
from airflow_trickle.engine.feed import weighted_changes
from airflow_trickle.engine.full import Difference, Input, input_at, netted, shaped
from airflow_trickle.engine.inputs import create_view, read_files
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.changes import FileChanges, file_changes
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.snapshots import Version, files_of, schema_of
from airflow_trickle.lakehouse.state import Frontier
from airflow_trickle.plan.steps import TableStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: AUTO recomputes in full when more than this share of the rows that it reads has changed,
_TOO_MUCH = 0.05
#: or when all it reads is so little that the steps of a change cost more than reading it.
_MIB = 1024 * 1024
_SMALL = 256 * _MIB


@dataclass(frozen=True)
class ChangedInput:
    """An input before and after, and the files that came and went."""

    before: Input
    after: Input
    changes: FileChanges


def changed_inputs(lake: Lakehouse, inputs: Mapping[str, Input], before: Frontier) -> dict[str, ChangedInput]:
    """Every input of a table with what happened to it since the table last read it."""
    found: dict[str, ChangedInput] = {}
    for identifier, after in inputs.items():
        then = before.inputs[identifier]
        old = after if then == after.version else input_at(lake, identifier, then)
        changes = file_changes(after.table, then.snapshot_id, after.version.snapshot_id)
        found[identifier] = ChangedInput(old, after, changes)
    return found


def why_full_is_cheaper(inputs: Mapping[str, ChangedInput]) -> str | None:
    """Why recomputing is likely cheaper, from metadata alone; None if it is not."""
    size = sum(one.after.size for one in inputs.values())
    if size < _SMALL:
        return f"it reads less than {max(1, -(-size // _MIB))} MiB"
    changed = sum(one.changes.rows for one in inputs.values())
    counts = [one.after.rows for one in inputs.values() if not one.changes.nothing]
    rows = sum(count or 0 for count in counts)
    # Where metadata cannot tell how many rows deletes have left, the share is not known either.
    if None not in counts and changed > _TOO_MUCH * max(rows, 1):
        return f"the changed files hold {changed:,} rows, and the inputs {rows:,}"
    return None


def published_change(
    spark: SparkSession,
    step: TableStep,
    inputs: Mapping[str, ChangedInput],
    names: Mapping[str, str],
    target: Target,
    published: Version,
    views: list[str],
) -> Difference | None:
    """The change of the published rows, net; None if there is none.

    Args:
        spark: Where it is computed.
        step: The table.
        inputs: What happened to its inputs.
        names: By identifier: the view of the input after.
        target: The table to write.
        published: Its state so far.
        views: Fills with the views that are to be dropped.

    Raises:
        NotInBlocks: the query cannot be refreshed from changes.
    """
    blocks, query = blocks_of(step.query)
    states = {name: _states(spark, one, names[name], views) for name, one in inputs.items()}
    tables = {ref.start: InputViews(states[ref.identifier], ref.alias) for ref in step.references}
    held = list(files_of(target.table, published.snapshot_id).values())
    shown = create_view(read_files(spark, target.table, target.schema, held))
    views.append(shown)
    bench = SparkBench(spark, views)
    sql = change_of(Context(blocks, tables, bench), query, shown)
    if sql is None:
        return None
    found = netted(_shaped(bench.frame(sql), target))
    return found if found.inserted or found.deleted else None


def _states(spark: SparkSession, one: ChangedInput, after: str, views: list[str]) -> Views:
    if one.changes.nothing:
        return Views(after, after, None)
    schema = schema_of(one.after.table, one.after.version)
    delta = weighted_changes(spark, one.after.table, one.changes, schema)
    if one.changes.removed:
        # Files that were rewritten hold mostly rows that cancel out: computed once, not in every term.
        delta = delta.localCheckpoint(eager=True)
        if delta.isEmpty():
            return Views(after, after, None)
    before = create_view(read_files(spark, one.before.table, schema, one.before.files))
    change = create_view(delta)
    views += [before, change]
    return Views(before, after, change)


def _shaped(delta: DataFrame, target: Target) -> DataFrame:
    """The change in the table's own types; columns by position, since the user's names are the table's."""
    from pyspark.sql import functions as F

    names = [field.name for field in target.schema.fields]
    named = delta.toDF(*names, WEIGHT)
    return shaped(named, target, F.col(WEIGHT))
