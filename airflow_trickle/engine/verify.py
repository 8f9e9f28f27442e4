"""Verifying a published table: its query, run over the very inputs it was computed from, against its rows.

Nothing is published and no lease is taken: snapshots do not change, so a refresh that runs meanwhile does
not disturb it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from airflow_trickle.engine.compare import Comparison, compare
from airflow_trickle.engine.decide import refuse_two_owners
from airflow_trickle.engine.failures import explained
from airflow_trickle.engine.fixpoint.recompute import recomputed
from airflow_trickle.engine.full import Input, input_at, run_query, target_of
from airflow_trickle.engine.identity import query_of
from airflow_trickle.engine.published import Published, published_state
from airflow_trickle.engine.unreadable import require_readable_inputs
from airflow_trickle.errors import CatalogUnavailable, SparkUnavailable, TrickleError
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import Frontier, TableStatus, read_status
from airflow_trickle.plan.chance import chances
from airflow_trickle.plan.steps import RefreshStep, TableStep, UnitKind
from airflow_trickle.results import Verdict, Verification
from airflow_trickle.spark.active import activated, configured, lent, without
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.tuning import session_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class CannotTell(TrickleError):
    """What a table should hold cannot be known; the message says why."""


@dataclass(frozen=True)
class _State:
    """What is verified: the published rows, and the inputs that they were computed from."""

    published: Published
    table: Table
    files: tuple[DataFile, ...]
    inputs: dict[str, Input]

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return sum(file.record_count for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of everything that is read."""
        own = sum(file.file_size_in_bytes for file in self.files)
        return own + sum(source.size for source in self.inputs.values())


def verify(
    lake: Lakehouse,
    step: TableStep,
    pipeline: str,
    spark: SparkProvider,
    limit: int = 10,
    unit: RefreshStep | None = None,
) -> Verification:
    """Compare a stream table with its query over the inputs at the table's own frontier.

    Args:
        lake: where the table is.
        step: the table.
        pipeline: the pipeline that defines it.
        spark: used only if there is something to compare.
        limit: how many differing rows to show.
        unit: what the table is refreshed with, for one that is part of a cycle or recursive.

    Raises:
        CatalogUnavailable: the catalog did not answer.
        SparkUnavailable: Spark could not be reached, or stopped answering.
    """
    began = time.monotonic()
    said: dict[str, Any] = {"table": step.name, "identifier": step.identifier}
    try:
        state = _state(lake, step, pipeline)
        said |= {"snapshot_id": state.published.version.snapshot_id, "epoch": state.published.epoch}
        said |= _compared(lake, step, state, spark, limit, unit)
    except (CatalogUnavailable, SparkUnavailable):
        raise
    except TrickleError as error:
        said |= {"verdict": Verdict.CANNOT_TELL, "reason": str(error)}
    except OSError as error:
        cause = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        said |= {"verdict": Verdict.CANNOT_TELL, "reason": f"A file of the warehouse cannot be read: {cause}."}
    return Verification(**said, seconds=round(time.monotonic() - began, 3))


def _state(lake: Lakehouse, step: TableStep, pipeline: str) -> _State:
    status = read_status(lake, [step.identifier]).get(step.identifier)
    published = published_state(lake, step.identifier, status, lake.locations([step.identifier]))
    refuse_two_owners(step, status, pipeline)
    frontier = _frontier(step, status, published)
    assert published is not None  # noqa: S101 - it has a frontier
    inputs = {name: input_at(lake, name, version) for name, version in frontier.inputs.items()}
    table = lake.table_at(step.identifier, published.location)
    return _State(published, table, tuple(files_of(table, published.version.snapshot_id).values()), inputs)


def _frontier(step: TableStep, status: TableStatus | None, published: Published | None) -> Frontier:
    if published is None:
        if status is not None and status.metadata_location is not None:
            raise CannotTell("Its Iceberg table is not in the catalog any more; the next tick makes it anew.")
        raise CannotTell("It was never refreshed; `trickle run` does it.")
    if published.frontier is None:
        raise CannotTell("It was reset and not refreshed since; `trickle run` does it.")
    if query_of(published.definition or "") != query_of(step.definition):
        raise CannotTell(
            "Its query was changed since its rows were published; the next tick computes it anew. Verify it then."
        )
    return published.frontier


def _compared(
    lake: Lakehouse, step: TableStep, state: _State, spark: SparkProvider, limit: int, unit: RefreshStep | None
) -> dict[str, Any]:
    session, settings = spark.session, state.published.settings_of_session
    # What this session's connection chooses and the table's did not; of a table that does not tell, nothing is known.
    beyond = sorted(spark.chosen.keys() - settings.keys()) if state.published.settings is not None else []
    require_readable_inputs(step, state.inputs)
    views: list[str] = []
    try:
        with (
            explained(step, lake.catalog.properties.get("warehouse", ""), "verified"),
            activated(session),
            lent(spark),
            configured(session, session_conf(state.size), put_back=spark.borrowed, lazily=True),
            # As its rows were computed, whatever this session would do.
            without(session, beyond),
            configured(session, settings, put_back=True),
        ):
            return _judged(lake, step, state, _result(step, state, session, views, unit), limit)
    finally:
        for view in views:
            with suppress(Exception):  # the session may be gone; its views went with it
                session.catalog.dropTempView(view)


def _result(
    step: TableStep, state: _State, session: SparkSession, views: list[str], unit: RefreshStep | None
) -> DataFrame:
    """What the query gives over the inputs; for what is recursive, at the fixed point."""
    if unit is not None and (unit.kind is UnitKind.CYCLE or step.recursive):
        return recomputed(session, unit, step.identifier, state.inputs, views)
    return run_query(session, step, state.inputs, views)


def _judged(lake: Lakehouse, step: TableStep, state: _State, result: DataFrame, limit: int) -> dict[str, Any]:
    target = target_of(lake, step, result, state.table)
    said: dict[str, Any] = {"rows": state.rows}
    if not same_columns(target.schema, state.table.metadata.schema()):
        table, query = _columns(state.table.metadata.schema()), _columns(target.schema)
        reason = f"The table has the columns {table}, and its query gives {query}. {_remedy(step)}"
        return {**said, "verdict": Verdict.DIFFERENT, "reason": reason}
    found = compare(result.sparkSession, result, target, state.files, limit)
    verdict, reason = _verdict(step, found)
    return {
        **said,
        "verdict": verdict,
        "reason": reason,
        "missing": found.missing,
        "surplus": found.surplus,
        "rounding": found.rounding,
        "differences": found.rows,
    }


def _verdict(step: TableStep, found: Comparison) -> tuple[Verdict, str]:
    if not found.missing and not found.surplus:
        return Verdict.OK, "Some numbers differ in their last digits only." if found.rounding else ""
    if causes := chances(step):
        return Verdict.CANNOT_TELL, (
            f"Its query is not deterministic, so that a difference is to be expected: {'; '.join(causes)}."
        )
    return Verdict.DIFFERENT, _remedy(step)


def _remedy(step: TableStep) -> str:
    return f"To publish what its query says: trickle run --full-refresh {step.name}"


def _columns(schema: Schema) -> str:
    return ", ".join(f"{field.name} {field.field_type}" for field in schema.fields)
