"""How often the strata of a pipeline were passed over, since none of their tables had anything to do."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import skipped_strata, ticks


def count_skipped(
    lake: Lakehouse, connection: Connection, pipeline: str, tick_id: str, strata: Collection[int], at: datetime
) -> None:
    """Count strata that a tick passed over, and note them with the tick; a second attempt of it does not count."""
    columns = skipped_strata.c
    noted = _note_with_tick(lake, connection, tick_id, strata)
    for stratum in sorted(set(strata) - noted):
        key = (columns.catalog == lake.name) & (columns.pipeline == pipeline) & (columns.stratum == stratum)
        row = connection.execute(select(skipped_strata).where(key)).mappings().first()
        values = {"tick_id": tick_id, "at": clock.text_of(at)}
        if row is None:
            key_values = {"catalog": lake.name, "pipeline": pipeline, "stratum": stratum}
            connection.execute(insert(skipped_strata).values(**key_values, times=1, **values))
        elif row["tick_id"] != tick_id:
            connection.execute(update(skipped_strata).where(key).values(times=row["times"] + 1, **values))


def _note_with_tick(lake: Lakehouse, connection: Connection, tick_id: str, strata: Collection[int]) -> set[int]:
    """Add strata to those that a tick has passed over; returns those that it had before."""
    key = (ticks.c.catalog == lake.name) & (ticks.c.tick_id == tick_id)
    # Sensors of several strata may do this at the same time.
    row = connection.execute(select(ticks.c.skipped_strata).where(key).with_for_update()).first()
    before = set(json.loads(row.skipped_strata)) if row is not None and row.skipped_strata else set()
    if row is not None and not before.issuperset(strata):
        connection.execute(update(ticks).where(key).values(skipped_strata=json.dumps(sorted({*before, *strata}))))
    return before


def times_skipped(lake: Lakehouse, pipeline: str) -> dict[int, int]:
    """How often each stratum of a pipeline was passed over."""
    query = select(skipped_strata.c.stratum, skipped_strata.c.times).where(
        skipped_strata.c.catalog == lake.name, skipped_strata.c.pipeline == pipeline
    )
    with lake.database.reading() as connection:
        return {row.stratum: row.times for row in connection.execute(query)}


def ticks_that_skipped(lake: Lakehouse, *, pipeline: str | None = None, limit: int = 50) -> list[dict[str, Any]]:
    """The latest ticks that passed over a stratum, newest first, with the strata."""
    columns = ticks.c
    query = select(columns.tick_id, columns.pipeline, columns.created_at, columns.skipped_strata).where(
        columns.catalog == lake.name, columns.skipped_strata.is_not(None)
    )
    if pipeline is not None:
        query = query.where(columns.pipeline == pipeline)
    query = query.order_by(columns.created_at.desc(), columns.tick_id).limit(limit)
    with lake.database.reading() as connection:
        return [
            {
                "tick_id": row.tick_id,
                "pipeline": row.pipeline,
                "at": clock.moment_of(row.created_at),
                "skipped_strata": json.loads(row.skipped_strata),
            }
            for row in connection.execute(query)
        ]
