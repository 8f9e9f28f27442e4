"""A tick: one run of a pipeline over one pinned state of the world."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Tick(BaseModel):
    """What the pin step decided, as it travels from task to task.

    ``pins`` maps the identifier of every input from outside the pipeline to the snapshot that this
    tick reads; None stands for a table that exists and has no snapshot yet.
    """

    model_config = ConfigDict(frozen=True)

    tick_id: str
    pipeline: str
    pins: dict[str, int | None]
    as_of: datetime | None = None
