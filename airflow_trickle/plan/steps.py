"""The plan of a pipeline: frozen steps that turn into JSON and back, and touch nothing.

The DAG factory makes tasks of them, the runner walks them, ``trickle plan`` prints them: what is
shown is what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.definition.places import position_in
from airflow_trickle.errors import Position


class InputKind(str, Enum):
    """Who writes an input of a stream table."""

    SOURCE = "source"
    STREAM_TABLE = "stream_table"
    #: A stream table of another pipeline: pinned like a source.
    EXTERNAL = "external"


class _Step(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class InputRef(_Step):
    """A table that a query reads: the name the pipeline gives it and its Iceberg identifier."""

    name: str
    identifier: str
    kind: InputKind
    declared_at: str


class Reference(_Step):
    """Where a query's text names an input: the half-open range of characters to replace.

    ``alias`` is what to add behind the replacement, so that ``SELECT orders.id FROM orders`` still
    finds ``orders``; None where the text has an alias of its own.
    """

    start: int
    end: int
    identifier: str
    alias: str | None


class EdgeStep(_Step):
    """How a stream table reads one of its inputs: ``MONOTONE`` or ``NON_MONOTONE``, and because of what."""

    identifier: str
    type: str
    because: str


class TaskOptions(_Step):
    """What Airflow is told of a table's task; None leaves it to Airflow. Times are in seconds."""

    pool: str | None = None
    pool_slots: int | None = None
    queue: str | None = None
    retries: int | None = None
    retry_delay: float | None = None
    execution_timeout: float | None = None
    priority_weight: int | None = None
    executor_config: dict[str, Any] = {}


class TableStep(_Step):
    """How one stream table is computed."""

    name: str
    identifier: str
    query: str
    references: tuple[Reference, ...]
    inputs: tuple[InputRef, ...]
    requested_mode: str
    mode: str
    reason: str
    #: Fingerprint of the meaning of the query: changes with it, not with comments or layout. Behind a dot that of
    #: ``partition_by``, if there is one. While it is refreshed, behind an @ that of ``settings``.
    definition: str
    declared_at: str
    #: The file that the query is written in, and where its lines stand there, see `definition.places.Run`.
    query_file: str = ""
    query_places: tuple[tuple[int, int, int, int], ...] = ()
    description: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()
    #: Columns, and transforms of columns, by which its files are parted.
    partition_by: tuple[str, ...] = ()
    #: Columns by which its rows are sorted.
    cluster_by: tuple[str, ...] = ()
    #: Which auxiliary state its refreshes keep: ``auto``, ``none`` or ``all``, and how many bytes of it at most.
    state: str = "auto"
    state_max_bytes: int | None = None
    #: Columns of which only the best value is kept for each combination of the others, in a cycle: ``min`` or ``max``.
    lattice: dict[str, str] = {}
    #: Whether its query has a CTE that reads itself.
    recursive: bool = False
    #: In the order of ``inputs``.
    edges: tuple[EdgeStep, ...] = ()
    stratum: int = 0
    #: Tables of one cycle, and of one diamond, share a number; None outside of any.
    scc_id: int | None = None
    group_id: int | None = None
    #: The schedule in force: its own, its cycle's, its group's, or the pipeline's.
    schedule: str | None = None
    #: For a table made from a CTE of a mutual recursion: the table whose query it was.
    made_from: str | None = None
    #: Identifiers of tables that it reads, on whatever path, in a diamond that is not atomic: one of them that was not
    #: refreshed does not hold this one up.
    tolerates: tuple[str, ...] = ()
    task: TaskOptions = TaskOptions()
    #: Settings of Spark for its refresh.
    spark_conf: dict[str, str] = {}
    #: What decides the meaning of its query where it is refreshed; known there only, so never part of a plan's JSON.
    settings: dict[str, str] = Field(default={}, exclude=True)

    def position(self, offset: int) -> Position | None:
        """Where a character of the query stands in its file; None if the plan does not tell."""
        return position_in(self.query_places, self.query_file, offset) if self.query_places else None


class UnitKind(str, Enum):
    """What a unit is: one table, a cycle that is brought to a fixed point, or an atomic group."""

    TABLE = "table"
    CYCLE = "cycle"
    GROUP = "group"


class GroupMember(_Step):
    """What is refreshed by itself inside of an atomic group: a table, or the tables of a cycle, by name."""

    unit: str
    tables: tuple[str, ...]
    #: How many passes a cycle may take to settle.
    max_iterations: int


class RefreshStep(_Step):
    """One unit: the tables that are refreshed and published together."""

    unit: str
    kind: UnitKind = UnitKind.TABLE
    tables: tuple[TableStep, ...]
    #: Units of the same pipeline that must be done first.
    upstream: tuple[str, ...]
    #: How many passes a cycle may take to settle.
    max_iterations: int = 100
    #: How many passes one submission to Spark makes; None: all of them.
    passes_per_submission: int | None = None
    #: What a group consists of, in the order of its refresh; empty for other units.
    members: tuple[GroupMember, ...] = ()

    @cached_property
    def parts(self) -> tuple[RefreshStep, ...]:
        """The members of a group as units of their own, each after the members that it reads; else just itself."""
        if self.kind is not UnitKind.GROUP:
            return (self,)
        tables = {table.name: table for table in self.tables}
        unit_of = {tables[name].identifier: one.unit for one in self.members for name in one.tables}
        return tuple(
            RefreshStep(
                unit=one.unit,
                kind=UnitKind.CYCLE if tables[one.tables[0]].scc_id is not None else UnitKind.TABLE,
                tables=tuple(tables[name] for name in one.tables),
                upstream=tuple(sorted(_read(one, tables, unit_of))),
                max_iterations=one.max_iterations,
                passes_per_submission=self.passes_per_submission,
            )
            for one in self.members
        )


def _read(member: GroupMember, tables: Mapping[str, TableStep], unit_of: Mapping[str, str]) -> set[str]:
    """The other members of its group that a member reads."""
    read = (ref.identifier for name in member.tables for ref in tables[name].inputs)
    return {unit_of[identifier] for identifier in read if identifier in unit_of} - {member.unit}


class CaptureStep(_Step):
    """Brings the mirror of a source that is no Iceberg table up to date, before the tick is pinned.

    ``method`` is ``files``, ``snapshot`` or ``append_only``. Secrets in ``options`` are references to environment
    variables, which only the process that reads the source looks up.
    """

    name: str
    identifier: str
    pipeline: str
    format: str
    method: str
    path: str | None
    options: dict[str, str]
    #: The columns as in ``CREATE TABLE``, where the source does not tell them.
    columns: str | None
    watermark: str | None
    #: Fingerprint of all of the above.
    definition: str
    declared_at: str
    description: str = ""


class MutualStep(_Step):
    """A query with mutual recursion that was taken apart: CTE -> stream table, and the query as written."""

    table: str
    groups: tuple[tuple[str, ...], ...]
    members: dict[str, str]
    query: str


class PinStep(_Step):
    """Fixes, once a tick, the snapshot of everything the pipeline reads but does not write."""

    pipeline: str
    inputs: tuple[InputRef, ...]
    #: Identifiers of those inputs that are mirrors: such a one may be missing, if its first capture failed.
    captured: tuple[str, ...] = ()
    #: The stream tables by identifier that do not run in every scheduled tick, with their own schedules.
    schedules: dict[str, str | None] = {}
    #: What the state keeps of the graph: the stratum of each stream table and the number of its cycle, by identifier.
    strata: dict[str, tuple[int, int | None]] = {}
    #: Its mutual recursions, with the tables by identifier.
    mutual: tuple[MutualStep, ...] = ()


class ComponentStep(_Step):
    """A strongly connected component: a table, or the tables of a cycle, by identifier."""

    id: int
    members: tuple[str, ...]
    cyclic: bool
    #: Whether no read inside of it can take rows away.
    monotone: bool
    #: How many passes it may take to settle.
    max_iterations: int


class GroupPartStep(_Step):
    """The tables of a group that one pipeline publishes in one commit (``atomic``) or one by one."""

    pipeline: str
    members: tuple[str, ...]
    atomic: bool
    policy: str


class GroupStep(_Step):
    """A consistency group: the tables of a diamond, by identifier; ``parts``: what one pipeline can do of it."""

    id: int
    members: tuple[str, ...]
    convergence_points: tuple[str, ...]
    atomic: bool
    parts: tuple[GroupPartStep, ...]


class MaintenanceStep(_Step):
    """Keeps the tables of a pipeline small: what is kept of their past, times in seconds; see `MaintenancePolicy`."""

    #: None: only by hand.
    schedule: str | None
    keep_snapshots_for: float
    keep_snapshots: int
    restate_window: float
    keep_history_for: float
    keep_history: int
    orphans_after: float
    compact: bool

    @property
    def policy(self) -> MaintenancePolicy:
        """What is kept."""
        return MaintenancePolicy(**self.model_dump(exclude={"schedule"}))


class Plan(_Step):
    """Everything one tick of a pipeline does, upstream first."""

    pipeline: str
    namespace: str
    file: str
    description: str
    #: Cron expressions and presets with their time zone behind them if it is not UTC, here and in all steps.
    schedule: str | None
    #: A moment in ISO form.
    start_date: str | None
    catchup: bool
    #: The clock at which it ticks: the fastest of its tables'; None: not by the clock.
    ticks: str | None = None
    #: Whether it also ticks when what it reads is updated.
    asset_scheduled: bool = False
    #: Whether tables with nothing to do are passed over in one look.
    enable_stratum_skip: bool = True
    tags: tuple[str, ...]
    owner: str | None
    catalog: str
    spark_conn_id: str
    callbacks: dict[str, str]
    pin: PinStep
    refreshes: tuple[RefreshStep, ...]
    #: What is done before the pin.
    captures: tuple[CaptureStep, ...] = ()
    warnings: tuple[str, ...] = ()
    #: The components and groups with a table of this pipeline, upstream first.
    components: tuple[ComponentStep, ...] = ()
    groups: tuple[GroupStep, ...] = ()
    mutual: tuple[MutualStep, ...] = ()
    #: What keeps its tables small, in a DAG of its own; None: only ``trickle maintain`` by hand.
    maintenance: MaintenanceStep | None = None

    @property
    def maintained(self) -> tuple[str, ...]:
        """The tables that it makes, by identifier: stream tables, and mirrors of captured sources."""
        return (*(table.identifier for table in self.tables), *(step.identifier for step in self.captures))

    @property
    def tables(self) -> tuple[TableStep, ...]:
        """All stream tables, in the order in which they are refreshed."""
        return tuple(table for step in self.refreshes for table in step.tables)
