"""The plan of a pipeline: frozen steps that turn into JSON and back, and touch nothing.

The DAG factory makes tasks of them, the runner walks them, ``trickle plan`` prints them: what is
shown is what runs.
"""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


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
    #: Fingerprint of the meaning of the query: changes with it, not with comments or layout.
    definition: str
    declared_at: str
    description: str = ""
    owner: str | None = None
    tags: tuple[str, ...] = ()


class RefreshStep(_Step):
    """One unit: the tables that are refreshed and published together."""

    unit: str
    tables: tuple[TableStep, ...]
    #: Units of the same pipeline that must be done first.
    upstream: tuple[str, ...]


class PinStep(_Step):
    """Fixes, once a tick, the snapshot of everything the pipeline reads but does not write."""

    pipeline: str
    inputs: tuple[InputRef, ...]


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
    warnings: tuple[str, ...] = ()

    @property
    def tables(self) -> tuple[TableStep, ...]:
        """All stream tables, in the order in which they are refreshed."""
        return tuple(table for step in self.refreshes for table in step.tables)
