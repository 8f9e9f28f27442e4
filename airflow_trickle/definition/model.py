"""The shape of a pipeline file; `load` turns it into records, `schema` into JSON Schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from airflow_trickle.definition.source_model import SourceModel
from airflow_trickle.definition.task_values import Duration, Mapping, OrphanAge, SparkConf, Whole
from airflow_trickle.definition.values import (
    Bytes,
    Circular,
    ClockSchedule,
    ClusterBy,
    Consistency,
    Count,
    DottedPath,
    Flag,
    GroupPolicy,
    Lattice,
    MutualRecursion,
    Name,
    PartitionBy,
    Passes,
    PipelineName,
    RefreshMode,
    Schedule,
    StartDate,
    StateChoice,
    TableSchedule,
    Text,
    Texts,
    TimeZone,
    refuse,
)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DefaultsModel(_Part):
    """What holds for every stream table that does not say otherwise."""

    refresh_mode: RefreshMode | None = Field(
        default=None, description="AUTO (default): from changes where possible and cheaper; DIFFERENTIAL; FULL."
    )
    state: StateChoice | None = Field(
        default=None,
        description="Auxiliary state: auto (default) where it pays; none; all: whatever its size.",
    )
    state_max_bytes: Bytes | None = Field(
        default=None, description="How many bytes of auxiliary state a table may have: 512m, 2g (default: no bound)."
    )
    schedule: TableSchedule | None = Field(
        default=None,
        description="When the table is refreshed (default: with the pipeline); calculated: as its readers need it.",
    )
    diamond_consistency: Consistency | None = Field(
        default=None,
        description="atomic (default): publish the tables of a diamond together; none: each by itself.",
    )
    diamond_schedule_policy: GroupPolicy | None = Field(
        default=None, description="Which schedule a diamond follows: slowest (default) or fastest."
    )
    max_fixpoint_iterations: Count | None = Field(
        default=None, description="How many passes a cycle may take to settle (default 100)."
    )
    mutual_recursion: MutualRecursion | None = Field(
        default=None,
        description="CTEs that read each other: auto (default) makes stream tables of them, suggest shows how to.",
    )
    pool: Text | None = Field(default=None, description="Airflow: the pool of its task.")
    pool_slots: Count | None = Field(default=None, description="Airflow: how many slots of the pool its task takes.")
    queue: Text | None = Field(default=None, description="Airflow: the queue of its task.")
    retries: Whole | None = Field(default=None, description="Airflow: how often its task is tried again (default 2).")
    retry_delay: Duration | None = Field(default=None, description="Airflow: how long to wait before that.")
    execution_timeout: Duration | None = Field(default=None, description="Airflow: how long its task may take.")
    priority_weight: Count | None = Field(default=None, description="Airflow: the weight of its task.")
    executor_config: Mapping | None = Field(default=None, description="Airflow: what the executor is told.")
    spark_conf: SparkConf | None = Field(default=None, description="Settings of Spark while it is refreshed.")
    owner: Text | None = Field(default=None, description="Who answers for the table.")
    tags: Texts | None = Field(default=None, description="Words to find it by.")

    @model_validator(mode="after")
    def _bounds_a_state(self) -> DefaultsModel:
        if self.state == "none" and self.state_max_bytes is not None:
            refuse("'state_max_bytes' is given, and 'state' is none.", "Keep one of them.")
        return self


def _one_query(schema: dict[str, Any]) -> None:
    present = ({"required": [key], "properties": {key: {"type": "string"}}} for key in ("query", "query_file"))
    schema["oneOf"] = list(present)


class TableModel(DefaultsModel):
    """A stream table: a query, and how it is kept up to date."""

    model_config = ConfigDict(json_schema_extra=_one_query)

    query: Text | None = Field(default=None, description="The defining query, in Spark SQL.")
    query_file: Text | None = Field(default=None, description="A file that holds the query, relative to this file.")
    description: Text | None = Field(default=None, description="What the table holds.")
    partition_by: PartitionBy | None = Field(
        default=None,
        description="Columns whose values, or years(c), months(c), days(c), hours(c), truncate(n, c) of them, part it.",
    )
    cluster_by: ClusterBy | None = Field(
        default=None, description="Columns by which the rows are sorted over files and in them."
    )
    lattice: Lattice | None = Field(
        default=None,
        description="In a cycle: the column whose MIN or MAX is kept of each group, {column: min} or {column: max}.",
    )

    @model_validator(mode="after")
    def _has_one_query(self) -> TableModel:
        if self.query is not None and self.query_file is not None:
            refuse("both 'query' and 'query_file' are given.", "Keep one of them.")
        if self.query is None and self.query_file is None:
            refuse("the query is missing.", "Give 'query' (SQL text) or 'query_file' (a file with the SQL).")
        return self


class MaintenanceModel(_Part):
    """When the tables of a pipeline are maintained, and what is kept of their past."""

    schedule: ClockSchedule | None = Field(
        default=None, description="When: a duration, cron, @daily and the like; none: only by hand."
    )
    keep_snapshots_for: Duration | None = Field(default=None, description="Older snapshots are expired (default 7d).")
    keep_snapshots: Count | None = Field(
        default=None, description="So many of the newest snapshots of a table are kept at most (default 100)."
    )
    restate_window: Duration | None = Field(
        default=None,
        description="Whatever was current within this time is kept, so that restate can go back to it (default 1d).",
    )
    keep_history_for: Duration | None = Field(
        default=None, description="Older rows of history, ticks and iterations are deleted (default 30d)."
    )
    keep_history: Count | None = Field(
        default=None, description="So many refreshes of a table are kept in the history at most (default 1000)."
    )
    orphans_after: OrphanAge | None = Field(
        default=None, description="Files of this age that nobody names are removed (default 3d, at least 1d)."
    )
    compact: Flag | None = Field(
        default=None, description="Whether small files are rewritten into larger ones (default true)."
    )


class PipelineModel(_Part):
    """A pipeline of stream tables."""

    pipeline: PipelineName = Field(description="The pipeline's name, which is the DAG's id.")
    namespace: Name | None = Field(default=None, description="The Iceberg namespace of its tables (default `default`).")
    description: Text | None = Field(default=None, description="What the pipeline is for.")
    owner: Text | None = Field(default=None, description="Who answers for it.")
    tags: Texts | None = Field(default=None, description="Tags of the DAG.")
    schedule: Schedule | None = Field(
        default=None,
        description="A duration (30s, 5m, 1h30m), cron, @hourly and the like, or asset; none: only by hand.",
    )
    timezone: TimeZone | None = Field(
        default=None, description="On whose clock cron expressions fire and the start date stands (default UTC)."
    )
    start_date: StartDate | None = Field(
        default=None, description="The first moment to run for; of the pipeline's time zone if it names none."
    )
    catchup: Flag | None = Field(
        default=None, description="Whether to run for the time that has passed (default false)."
    )
    allow_circular: Circular | None = Field(
        default=None, description="Whether stream tables may read each other in a cycle."
    )
    max_fixpoint_iterations: Count | None = Field(
        default=None, description="How many passes a cycle may take to settle (default 100)."
    )
    passes_per_submission: Passes | None = Field(
        default=None, description="How many passes over a cycle one submission to Spark makes (default all)."
    )
    diamond_consistency: Consistency | None = Field(default=None, description="atomic (default) or none.")
    mutual_recursion: MutualRecursion | None = Field(default=None, description="auto (default) or suggest.")
    enable_stratum_skip: Flag | None = Field(default=None, description="Skip a stratum whose inputs did not change.")
    stratified_cycle_validation: Flag | None = Field(
        default=None, description="Judge a cycle by the place of each reference in its query."
    )
    stratified_dred: Flag | None = Field(default=None, description="Maintain recursive queries by delete-and-rederive.")
    catalog: Text | None = Field(default=None, description="The Iceberg catalog (default: the setting `catalog`).")
    spark_conn_id: Text | None = Field(default=None, description="The Airflow connection that says where Spark runs.")
    on_success_callback: DottedPath | None = Field(default=None, description="Called when a run succeeds.")
    on_failure_callback: DottedPath | None = Field(default=None, description="Called when a run fails.")
    on_non_convergence_callback: DottedPath | None = Field(
        default=None, description="Called when a cycle does not settle."
    )
    defaults: DefaultsModel | None = Field(default=None, description="Defaults for the keys of stream tables.")
    maintenance: MaintenanceModel | None = Field(
        default=None, description="When its tables are maintained, in a DAG of its own, and what is kept."
    )
    sources: dict[Name, SourceModel | None] | None = Field(
        default=None,
        description="Tables that others write: name -> {}, {table: namespace.name} or {path: …, format: …}; or a list.",
    )
    stream_tables: dict[Name, TableModel] = Field(
        min_length=1, description="The tables this pipeline keeps up to date: name -> query and options."
    )


#: Keys of the pipeline that name a function to call.
CALLBACKS = ("on_failure_callback", "on_non_convergence_callback", "on_success_callback")
