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
    """A stream table as somebody has seen it: its rows, and of which moment it is.

    The rows, not the place of its metadata: who expires snapshots or sets properties moves that and changes no row.
    """

    identifier: str
    snapshot_id: int | None
    effective_at: datetime


def note_seen(lake: Lakehouse, moment: datetime, tables: Collection[Standing]) -> bool:
    """Note that tables are as they should be at a moment; what an earlier tick failed of is over with that.

    Those that are no longer as they were seen are left alone; false if there is such a table.
    """
    older = [table for table in tables if table.effective_at < moment]
    if not older:
        return True
    as_seen = (
        update(status)
        .where(
            status.c.catalog == lake.name,
            status.c.identifier == bindparam("seen_table"),
            status.c.snapshot_id.is_not_distinct_from(bindparam("seen_snapshot")),
            status.c.effective_at == bindparam("seen_moment"),
            status.c.frontier.is_not(None),
        )
        .values(effective_at=clock.text_of(moment), error=None, error_at=None)
    )
    rows = [
        {
            "seen_table": table.identifier,
            "seen_snapshot": table.snapshot_id,
            "seen_moment": clock.text_of(table.effective_at),
        }
        for table in sorted(older, key=lambda one: one.identifier)
    ]
    # One by one: drivers do not tell how many rows a list of updates has found.
    return lake.database.run(lambda connection: all([connection.execute(as_seen, row).rowcount == 1 for row in rows]))
