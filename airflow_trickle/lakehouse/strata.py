"""How often the strata of a pipeline were passed over since none of their tables had anything to do."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import skipped_strata


def count_skipped(
    lake: Lakehouse, connection: Connection, pipeline: str, tick_id: str, strata: Collection[int], at: datetime
) -> None:
    """Count strata that a tick passed over; a second attempt of the same tick does not count."""
    columns = skipped_strata.c
    for stratum in sorted(strata):
        key = (columns.catalog == lake.name) & (columns.pipeline == pipeline) & (columns.stratum == stratum)
        row = connection.execute(select(skipped_strata).where(key)).mappings().first()
        values = {"tick_id": tick_id, "at": clock.text_of(at)}
        if row is None:
            key_values = {"catalog": lake.name, "pipeline": pipeline, "stratum": stratum}
            connection.execute(insert(skipped_strata).values(**key_values, times=1, **values))
        elif row["tick_id"] != tick_id:
            connection.execute(update(skipped_strata).where(key).values(times=row["times"] + 1, **values))


def times_skipped(lake: Lakehouse, pipeline: str) -> dict[int, int]:
    """How often each stratum of a pipeline was passed over."""
    query = select(skipped_strata.c.stratum, skipped_strata.c.times).where(
        skipped_strata.c.catalog == lake.name, skipped_strata.c.pipeline == pipeline
    )
    with lake.database.reading() as connection:
        return {row.stratum: row.times for row in connection.execute(query)}
