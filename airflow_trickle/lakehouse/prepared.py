"""What the tables of an atomic group have staged, each in its own task, until the group is published or given up."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, Delete, delete, insert, select

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.tables import prepared


def write_prepared(
    lake: Lakehouse, connection: Connection, *, tick_id: str, unit: str, payloads: Mapping[str, str]
) -> None:
    """Keep what some tables will write with the commit of their group, in place of what they kept before."""
    for identifier, payload in sorted(payloads.items()):
        connection.execute(_of(lake, identifier))
        connection.execute(
            insert(prepared).values(
                catalog=lake.name,
                tick_id=tick_id,
                identifier=identifier,
                unit=unit,
                payload=payload,
                created_at=clock.text_of(clock.now()),
            )
        )


def read_prepared(lake: Lakehouse, tick_id: str, identifiers: Collection[str]) -> dict[str, str]:
    """What some tables keep for a tick, by identifier."""
    query = select(prepared.c.identifier, prepared.c.payload).where(
        prepared.c.catalog == lake.name, prepared.c.tick_id == tick_id, prepared.c.identifier.in_(sorted(identifiers))
    )
    with lake.database.reading() as connection:
        return {row.identifier: row.payload for row in connection.execute(query)}


def drop_prepared(lake: Lakehouse, connection: Connection, identifiers: Collection[str]) -> None:
    """Inside a commit: what some tables kept counts now, or never will."""
    for identifier in sorted(identifiers):
        connection.execute(_of(lake, identifier))


def withdraw_prepared(lake: Lakehouse, tick_id: str, identifiers: Collection[str]) -> None:
    """What some tables keep for a tick cannot be published as it is, and is to be made anew."""

    def withdraw(connection: Connection) -> None:
        for identifier in sorted(identifiers):
            connection.execute(_of(lake, identifier).where(prepared.c.tick_id == tick_id))

    lake.database.run(withdraw)


def forget_prepared(lake: Lakehouse, identifier: str) -> None:
    """Under the lease of a table: what it keeps for any tick will not be published."""
    lake.database.run(lambda connection: connection.execute(_of(lake, identifier)))


def _of(lake: Lakehouse, identifier: str) -> Delete:
    return delete(prepared).where(prepared.c.catalog == lake.name, prepared.c.identifier == identifier)
