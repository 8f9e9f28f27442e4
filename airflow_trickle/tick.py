"""A tick: one run of a pipeline over one pinned state of the world."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Pin(BaseModel):
    """The state of an input that a tick reads; no snapshot stands for a table that is still empty."""

    model_config = ConfigDict(frozen=True)

    snapshot_id: int | None
    schema_id: int


class Tick(BaseModel):
    """What the pin step decided, as it travels from task to task.

    ``pins`` maps the identifier of every input from outside the pipeline to what this tick reads.
    ``effective_at`` orders ticks: a table never goes back to the world of an earlier one. ``not_due`` are the
    identifiers of stream tables that rest in this tick, since their own schedules are slower.
    """

    model_config = ConfigDict(frozen=True)

    tick_id: str
    pipeline: str
    pins: dict[str, Pin]
    effective_at: datetime
    as_of: datetime | None = None
    not_due: tuple[str, ...] = ()
