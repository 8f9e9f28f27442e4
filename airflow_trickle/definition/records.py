"""What a folder of pipeline files says, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from airflow_trickle.definition.maintenance import MaintenanceDef
from airflow_trickle.definition.sql_text import QueryText
from airflow_trickle.errors import Position, Problem


@dataclass(frozen=True)
class CaptureDef:
    """How a source that is no Iceberg table is read; secrets in ``options`` are references only."""

    format: str
    #: ``files``, ``snapshot`` or ``append_only``.
    method: str
    path: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    columns: str | None = None
    watermark: str | None = None


@dataclass(frozen=True)
class SourceDef:
    """A table that others write, under the name the pipeline gives it."""

    name: str
    identifier: str
    at: Position
    description: str = ""
    #: None for an Iceberg table.
    capture: CaptureDef | None = None


@dataclass(frozen=True)
class TaskDef:
    """What a table asks of its task in Airflow; None leaves it to Airflow. Times are in seconds."""

    pool: str | None = None
    pool_slots: int | None = None
    queue: str | None = None
    retries: int | None = None
    retry_delay: float | None = None
    execution_timeout: float | None = None
    priority_weight: int | None = None
    executor_config: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class TableDef:
    """A stream table; None stands for what neither it nor the pipeline's defaults say.

    A schedule of None is the pipeline's.
    """

    name: str
    identifier: str
    sql: QueryText
    at: Position
    refresh_mode: str = "AUTO"
    #: Auxiliary state: ``auto``, ``none`` or ``all``, and how many bytes of it there may be.
    state: str = "auto"
    state_max_bytes: int | None = None
    schedule: str | None = None
    diamond_consistency: str | None = None
    diamond_schedule_policy: str = "slowest"
    max_fixpoint_iterations: int | None = None
    mutual_recursion: str | None = None
    description: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()
    #: In one spelling, see `partitioning.PartitionText`.
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    #: Column -> ``min`` or ``max``, one at most, and where the file says so.
    lattice: tuple[tuple[str, str], ...] = ()
    lattice_at: Position | None = None
    #: For a table made from a CTE of another one's query: the name of that one.
    made_from: str | None = None
    task: TaskDef = TaskDef()
    #: Settings of Spark, by name.
    spark_conf: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TableDefaults:
    """What a stream table of a pipeline gets where its entry says nothing."""

    refresh_mode: str = "AUTO"
    state: str = "auto"
    state_max_bytes: int | None = None
    diamond_schedule_policy: str = "slowest"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Overrides:
    """Settings that the pipeline file gives; None leaves a setting as it is."""

    allow_circular: bool | Literal["unsafe"] | None = None
    max_fixpoint_iterations: int | None = None
    passes_per_submission: int | Literal["all"] | None = None
    diamond_consistency: str | None = None
    mutual_recursion: str | None = None
    enable_stratum_skip: bool | None = None
    stratified_cycle_validation: bool | None = None
    stratified_dred: bool | None = None
    catalog: str | None = None
    spark_conn_id: str | None = None
    timezone: str | None = None


@dataclass(frozen=True)
class PipelineDef:
    """One pipeline file, or what could be read of it; ``name`` is empty if the file gives no good one."""

    name: str
    namespace: str
    file: str
    at: Position
    sources: tuple[SourceDef, ...]
    tables: tuple[TableDef, ...]
    #: Identifiers of stream tables that are named in the file but could not be read.
    unread: tuple[tuple[str, Position], ...] = ()
    description: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()
    schedule: str | None = None
    #: In ISO form; without an offset, a time of the pipeline's time zone.
    start_date: str | None = None
    catchup: bool = False
    overrides: Overrides = field(default_factory=Overrides)
    defaults: TableDefaults = field(default_factory=TableDefaults)
    callbacks: tuple[tuple[str, str], ...] = ()
    maintenance: MaintenanceDef | None = None


@dataclass(frozen=True)
class Project:
    """Everything that was found at a path: good pipelines, and what is wrong with the others.

    A pipeline of a broken file is in ``pipelines`` too, as far as it could be read, so that the rest
    of its errors are found and other pipelines can name its tables. ``context`` holds the pipelines
    beside a single file: their tables may be read, they are not planned.
    """

    path: str
    pipelines: tuple[PipelineDef, ...] = ()
    #: File of a definition -> what is wrong with it.
    problems_by_file: tuple[tuple[str, tuple[Problem, ...]], ...] = ()
    context: tuple[PipelineDef, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems of all files, in the order of their places."""
        return tuple(sorted(problem for _, problems in self.problems_by_file for problem in problems))

    @property
    def broken_files(self) -> frozenset[str]:
        """The files that have a problem."""
        return frozenset(file for file, problems in self.problems_by_file if problems)
