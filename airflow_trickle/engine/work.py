"""What one refresh works with: the session, the inputs at their pinned states, the table to write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile

from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.failures import explained
from airflow_trickle.engine.full import Input, input_at, input_views, layout_of, next_target, target_of
from airflow_trickle.engine.identity import require_identity
from airflow_trickle.engine.inputs import query_over
from airflow_trickle.engine.record import Refresh
from airflow_trickle.engine.unreadable import require_readable_inputs
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.deletes import total_rows
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.spark.active import activated, configured, lent, queried
from airflow_trickle.spark.tuning import session_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Work:
    """One table's query over its inputs; Spark is asked only for what is needed."""

    run: Refresh
    decision: Decision
    session: SparkSession
    inputs: dict[str, Input]
    #: Fills with the views made on the way.
    views: list[str] = field(default_factory=list)

    @cached_property
    def result(self) -> DataFrame:
        """The query over the whole inputs."""
        names = input_views(self.session, self.inputs, self.views)
        return queried(self.session, query_over(self.run.step, names))

    @cached_property
    def target(self) -> Target:
        """The table to write; its columns are asked of Spark unless nothing can have changed them."""
        lake, step, published = self.run.lake, self.run.step, self.decision.published
        current = lake.table_at(step.identifier, published.location) if published else None
        if current is not None and self._columns_are_known():
            return next_target(step.identifier, current, current.metadata.schema(), layout_of(step))
        return target_of(lake, step, self.result, current)

    def _columns_are_known(self) -> bool:
        """Whether query and inputs have the very columns that the table was made from."""
        published = self.decision.published
        if published is None or published.frontier is None or published.definition != self.run.step.definition:
            return False
        before = published.frontier.inputs
        return all(
            name in before and before[name].schema_id == version.schema_id
            for name, version in self.decision.target.inputs.items()
        )

    @cached_property
    def held(self) -> list[DataFile]:
        """The files of the table so far."""
        version = self.decision.published.version if self.decision.published else None
        return list(files_of(self.target.table, version.snapshot_id).values()) if version else []

    @property
    def meaning(self) -> str | None:
        """What decides what its query means; None for a session of the caller's, which may have functions of its own.

        The definition names query, settings and Spark's version; of another server the functions may differ.
        """
        if self.run.spark.borrowed:
            return None
        return json.dumps([str(self.run.spark.target), self.run.step.definition, dict(self.run.step.spark_conf)])

    @property
    def size(self) -> int:
        """Bytes of all inputs."""
        return sum(source.size for source in self.inputs.values())

    @property
    def rows_in(self) -> int | None:
        """Rows of all inputs, if metadata alone can tell."""
        return total_rows(file for source in self.inputs.values() for file in source.files)

    @cached_property
    def same_schema(self) -> bool:
        """Whether the table keeps its columns."""
        return not self.target.is_new and same_columns(self.target.schema, self.target.table.metadata.schema())

    @property
    def keeps_files(self) -> bool:
        """Whether files of the table may stay as they are: it keeps its columns and its partitions."""
        return self.same_schema and not self.target.is_parted_anew


@contextmanager
def working(run: Refresh, decision: Decision) -> Iterator[Work]:
    """A session that is set up for a refresh; its views are dropped at the end."""
    # Connect first: a Spark that cannot be reached must not leave anything behind.
    session = run.spark.session
    require_identity(run.step, run.spark)
    inputs = {name: input_at(run.lake, name, version) for name, version in decision.target.inputs.items()}
    require_readable_inputs(run.step, inputs)
    work = Work(run, decision, session, inputs)
    try:
        with (
            explained(run.step, run.lake.catalog.properties.get("warehouse", "")),
            activated(session),
            lent(run.spark),
            configured(session, session_conf(work.size), put_back=run.spark.borrowed, lazily=True),
            configured(session, run.step.spark_conf, put_back=True),
        ):
            yield work
    finally:
        run.spark.leave(work.views)
