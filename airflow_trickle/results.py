"""What became of a table in one tick, and what a verification found."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Mode(str, Enum):
    """How a table was brought up to date, or why it was not touched."""

    FULL = "FULL"
    DIFFERENTIAL = "DIFFERENTIAL"
    NO_DATA = "NO_DATA"
    SKIPPED = "SKIPPED"

    def __str__(self) -> str:
        return self.value


class Status(str, Enum):
    """The state of a stream table between ticks."""

    INITIALIZING = "INITIALIZING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    ERROR = "ERROR"

    def __str__(self) -> str:
        return self.value


class Iteration(BaseModel):
    """One pass over the tables of a cycle: how many rows of each came or went in it.

    ``phase`` is ``retract`` for a pass that takes rows away whose support went, ``derive`` for one that adds rows.
    The last pass of a refresh that settled has no changes.
    """

    model_config = ConfigDict(frozen=True)

    #: From 1 on, over both phases.
    number: int
    phase: str
    #: By the name of the table; tables that did not change count 0.
    changes: dict[str, int]
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """How many rows came or went in all tables together."""
        return sum(self.changes.values())


class Cause(str, Enum):
    """Why there was something to do for a table."""

    FIRST_REFRESH = "first_refresh"
    RESET = "reset"
    QUERY_CHANGED = "query_changed"
    SETTINGS_CHANGED = "settings_changed"
    PARTITIONS_CHANGED = "partitions_changed"
    #: ``full_refresh``.
    ASKED = "asked"
    INPUTS_CHANGED = "inputs_changed"

    def __str__(self) -> str:
        return self.value


class ChoiceCode(str, Enum):
    """Why AUTO refreshed a table from changes or in full."""

    QUICKER_FROM_CHANGES = "quicker_from_changes"
    QUICKER_IN_FULL = "quicker_in_full"
    #: The inputs are so small that a query over them takes as long as any.
    SMALL_INPUTS = "small_inputs"
    #: No refresh in full was measured, and a large share of the rows has changed.
    MANY_CHANGES = "many_changes"
    #: No refresh in full was measured, and a small share of the rows has changed.
    FEW_CHANGES = "few_changes"

    def __str__(self) -> str:
        return self.value


class Choice(BaseModel):
    """What AUTO chose, by which estimates in seconds; None where nothing tells."""

    model_config = ConfigDict(frozen=True)

    code: ChoiceCode
    full: bool
    #: The reason in words; empty if there is nothing to say.
    why: str = ""
    from_changes: float | None = None
    in_full: float | None = None
    #: What plain Spark would take to overwrite the table.
    plain_spark: float | None = None
    #: Whether the estimate of a refresh from changes comes from the query, since none was measured.
    by_program: bool = False


class PartState(BaseModel):
    """The auxiliary state of a part of a query after a refresh, or why there is none.

    ``outcome`` is ``made``, ``added_to`` or ``unchanged`` where there is state, else ``none``, ``declined`` (because of
    its size) or ``removed``.
    """

    model_config = ConfigDict(frozen=True)

    #: The number of the part in the order of the text; -1 is the outermost operation.
    part: int
    outcome: str
    bytes: int | None = None
    files: int = 0
    #: Why there is none, for programs and for people.
    code: str | None = None
    why: str = ""


class TableResult(BaseModel):
    """The outcome of one table in one tick, as the API, the CLI and XCom show it."""

    model_config = ConfigDict(frozen=True)

    table: str
    status: Status
    mode: Mode
    reason: str
    rows_in: int | None = None
    rows_inserted: int = 0
    rows_deleted: int = 0
    iterations: int = 0
    snapshot_id: int | None = None
    epoch: int = 0
    seconds: float = 0.0
    #: Bytes of the files that were opened to be read, and of those that were written.
    bytes_read: int | None = None
    bytes_written: int | None = None
    #: Seconds by phase: pin, read, compute, write, commit.
    phases: dict[str, float] = Field(default_factory=dict)
    #: Why there was something to do; None where there was nothing.
    cause: Cause | None = None
    #: What AUTO chose; None where there was no choice.
    choice: Choice | None = None
    #: The auxiliary state of its query, part by part; empty for refreshes that do not deal with it.
    state: tuple[PartState, ...] = ()
    error: str | None = None
    #: How many commits its atomic group has had with this one; None outside of such a group.
    group_epoch: int | None = None

    @property
    def changed(self) -> bool:
        """True when this tick published a new state of the table."""
        return self.rows_inserted > 0 or self.rows_deleted > 0


class TableState(BaseModel):
    """How a stream table stands."""

    model_config = ConfigDict(frozen=True)

    table: str
    identifier: str
    pipeline: str
    status: Status
    mode: str | None = None
    stratum: int
    #: The number of its cycle; None outside of any.
    scc_id: int | None = None
    epoch: int = 0
    #: The atomic group it was last published with, and how many commits that group had then.
    group: str | None = None
    group_epoch: int | None = None
    snapshot_id: int | None = None
    tick_id: str | None = None
    #: The moment of the sources that its rows are of.
    effective_at: datetime | None = None
    refreshed_at: datetime | None = None
    changed_at: datetime | None = None
    #: How many passes it took to reach the last fixed point, and when that was.
    last_fixpoint_iterations: int | None = None
    converged_at: datetime | None = None
    error: str | None = None


class Rewind(str, Enum):
    """What becomes of a table when its pipeline is taken back to an earlier moment."""

    REWOUND = "REWOUND"
    STARTED_OVER = "STARTED_OVER"
    UNTOUCHED = "UNTOUCHED"

    def __str__(self) -> str:
        return self.value


class RestatedTable(BaseModel):
    """What became of a table when its pipeline was taken back.

    ``REWOUND``: it shows its state of then. ``STARTED_OVER``: there is none; its rows stay until the next tick, which
    computes it anew. ``UNTOUCHED``: it has not been brought further than that.
    """

    model_config = ConfigDict(frozen=True)

    table: str
    identifier: str
    outcome: Rewind
    reason: str
    #: The tick that published the rows it shows now, and the moment of the sources that they are of.
    tick_id: str | None = None
    effective_at: datetime | None = None
    snapshot_id: int | None = None
    epoch: int = 0


class Verdict(str, Enum):
    """What a verification says of a table."""

    OK = "OK"
    DIFFERENT = "DIFFERENT"
    CANNOT_TELL = "CANNOT_TELL"

    def __str__(self) -> str:
        return self.value


class DifferentRow(BaseModel):
    """A row that is in the table too rarely (positive ``weight``: how often it is missing) or too often."""

    model_config = ConfigDict(frozen=True)

    weight: int
    row: dict[str, Any]


class Verification(BaseModel):
    """How the rows of a table compare with its query over the inputs that it was computed from."""

    model_config = ConfigDict(frozen=True)

    table: str
    identifier: str
    verdict: Verdict
    reason: str = ""
    #: Rows of the table; None if they were not looked at.
    rows: int | None = None
    missing: int = 0
    surplus: int = 0
    #: Rows that differ from the query's only in the last digits of floating-point numbers.
    rounding: int = 0
    #: The first rows that are missing or surplus.
    differences: tuple[DifferentRow, ...] = ()
    snapshot_id: int | None = None
    epoch: int = 0
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True when the table certainly holds what its query says."""
        return self.verdict is Verdict.OK


class MaintainedTable(BaseModel):
    """What maintenance did for one table, or would do."""

    model_config = ConfigDict(frozen=True)

    table: str
    identifier: str
    #: Why nothing, or not all, was done; None if all went well.
    skipped: str | None = None
    #: What failed; None if nothing did.
    error: str | None = None
    snapshots: int = 0
    snapshots_expired: int = 0
    #: How many snapshots stay only because somebody needs them.
    snapshots_needed: int = 0
    #: Files that only expired snapshots named, and old metadata files.
    files_removed: int = 0
    bytes_removed: int = 0
    orphans_removed: int = 0
    orphan_bytes: int = 0
    #: Files that were rewritten into fewer, and into how many.
    files_compacted: int = 0
    files_written: int = 0
    bytes_compacted: int = 0
    seconds: float = 0.0

    @property
    def files_won(self) -> int:
        """How many files were removed."""
        return self.files_removed + self.orphans_removed

    @property
    def bytes_won(self) -> int:
        """How many bytes were removed."""
        return self.bytes_removed + self.orphan_bytes


class Maintenance(BaseModel):
    """What maintenance did, or would do (``dry_run``)."""

    model_config = ConfigDict(frozen=True)

    tables: tuple[MaintainedTable, ...] = ()
    #: By state table: rows that were deleted.
    pruned: dict[str, int] = Field(default_factory=dict)
    #: Frontiers that others will cut, or have cut.
    warnings: tuple[str, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0

    @property
    def files_won(self) -> int:
        """How many files were removed."""
        return sum(one.files_won for one in self.tables)

    @property
    def bytes_won(self) -> int:
        """How many bytes were removed."""
        return sum(one.bytes_won for one in self.tables)

    @property
    def summary(self) -> str:
        """One sentence."""
        would = "would remove" if self.dry_run else "removed"
        rows = sum(self.pruned.values())
        return (
            f"Maintenance {would} {self.files_won} files with {in_units(self.bytes_won)} of {len(self.tables)} tables, "
            f"and {rows} rows of the state tables."
        )

    @property
    def failed(self) -> tuple[str, ...]:
        """Of each table that could not be maintained because of an error: a sentence."""
        return tuple(
            f"Table {one.identifier} was not maintained: {one.error}" for one in self.tables if one.error is not None
        )


def in_units(size: int) -> str:
    """A number of bytes for people.

    >>> in_units(999), in_units(1_234_567), in_units(257_000_000)
    ('999 B', '1.2 MB', '257.0 MB')
    """
    for unit, one in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= one:
            return f"{size / one:.1f} {unit}"
    return f"{size} B"
