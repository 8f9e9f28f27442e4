"""That a tick has looked at tables and found them as they should be: no earlier tick may take them back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import status


@dataclass(frozen=True)
class Standing:
    """A stream table as somebody has seen it: where its metadata are, and of which moment it is."""

    identifier: str
    location: str
    effective_at: datetime


def note_seen(lake: Lakehouse, moment: datetime, tables: Collection[Standing]) -> None:
    """Note that tables are as they should be at a moment; those that are no longer as they were seen are left alone."""
    older = [table for table in tables if table.effective_at < moment]
    if not older:
        return
    as_seen = (
        update(status)
        .where(
            status.c.catalog == lake.name,
            status.c.identifier == bindparam("seen_table"),
            status.c.metadata_location == bindparam("seen_location"),
            status.c.effective_at == bindparam("seen_moment"),
            status.c.frontier.is_not(None),
        )
        .values(effective_at=clock.text_of(moment))
    )
    rows = [
        {
            "seen_table": table.identifier,
            "seen_location": table.location,
            "seen_moment": clock.text_of(table.effective_at),
        }
        for table in sorted(older, key=lambda one: one.identifier)
    ]
    with lake.database.transaction() as connection:
        connection.execute(as_seen, rows)
