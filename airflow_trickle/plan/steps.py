"""The plan of a pipeline: frozen steps that turn into JSON and back, and touch nothing.

The DAG factory makes tasks of them, the runner walks them, ``trickle plan`` prints them: what is
shown is what runs.
"""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict

from airflow_trickle.errors import DefinitionError, Position, Problem


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
    #: ``partition_by``, if there is one.
    definition: str
    declared_at: str
    description: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()
    #: Columns, and transforms of columns, by which its files are parted.
    partition_by: tuple[str, ...] = ()
    #: Columns by which its rows are sorted.
    cluster_by: tuple[str, ...] = ()
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


class UnitKind(str, Enum):
    """What a unit is: one table, a cycle that is brought to a fixed point, or an atomic group."""

    TABLE = "table"
    CYCLE = "cycle"
    GROUP = "group"


class RefreshStep(_Step):
    """One unit: the tables that are refreshed and published together."""

    unit: str
    kind: UnitKind = UnitKind.TABLE
    tables: tuple[TableStep, ...]
    #: Units of the same pipeline that must be done first.
    upstream: tuple[str, ...]
    #: How many passes a cycle may take to settle.
    max_iterations: int = 100


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


class PinStep(_Step):
    """Fixes, once a tick, the snapshot of everything the pipeline reads but does not write."""

    pipeline: str
    inputs: tuple[InputRef, ...]
    #: Identifiers of those inputs that are mirrors: such a one may be missing, if its first capture failed.
    captured: tuple[str, ...] = ()


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


class MutualStep(_Step):
    """A query with mutual recursion that was taken apart: CTE -> stream table, and the query as written."""

    table: str
    groups: tuple[tuple[str, ...], ...]
    members: dict[str, str]
    query: str


class Blocker(_Step):
    """Something this version understands but cannot run yet."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    @property
    def problem(self) -> Problem:
        """The same as an error of the definition."""
        return Problem(Position(self.file, self.line, self.column), self.message, self.hint)


class Plan(_Step):
    """Everything one tick of a pipeline does, upstream first."""

    pipeline: str
    namespace: str
    file: str
    description: str
    schedule: str | None
    start_date: str | None
    catchup: bool
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
    #: Why this version refuses to run it, if it does.
    blockers: tuple[Blocker, ...] = ()

    def refuse_if_blocked(self) -> None:
        """Raises `DefinitionError` if this version cannot run the plan."""
        if self.blockers:
            raise DefinitionError(blocker.problem for blocker in self.blockers)

    @property
    def tables(self) -> tuple[TableStep, ...]:
        """All stream tables, in the order in which they are refreshed."""
        return tuple(table for step in self.refreshes for table in step.tables)
