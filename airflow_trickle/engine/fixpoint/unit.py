"""What the parts of one refresh of a unit share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from airflow_trickle.engine.phases import Phases
from airflow_trickle.engine.publishing import AT_ONCE, Publishing
from airflow_trickle.engine.record import Refresh
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Iteration
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tick import Tick


@dataclass(frozen=True)
class UnitRun:
    """One refresh of a unit."""

    lake: Lakehouse
    step: RefreshStep
    tick: Tick
    spark: SparkProvider
    #: By identifier.
    tables: Mapping[str, Refresh]
    phases: Phases
    progress: Callable[[Iteration], None]
    publishing: Publishing = AT_ONCE
    views: list[str] = field(default_factory=list)

    @property
    def first(self) -> Refresh:
        """The refresh of the first table."""
        return next(iter(self.tables.values()))
