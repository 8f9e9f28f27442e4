"""What became of a table in one tick."""

from __future__ import annotations

from enum import Enum

from pydantic import BaseModel, ConfigDict


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
    error: str | None = None

    @property
    def changed(self) -> bool:
        """True when this tick published a new state of the table."""
        return self.rows_inserted > 0 or self.rows_deleted > 0
