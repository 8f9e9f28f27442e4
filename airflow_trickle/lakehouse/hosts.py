"""Notices that several machines use one SQLite catalog, whose locks hold on one machine only."""

from __future__ import annotations

import logging
import socket
import time

from sqlalchemy import Connection, select

from airflow_trickle.lakehouse.database import Database
from airflow_trickle.lakehouse.tables import leases

log = logging.getLogger("airflow_trickle")

#: What was said already in this process: by catalog and host.
_told: set[tuple[str, str]] = set()


def other_hosts(connection: Connection, catalog: str) -> list[str]:
    """The other machines that hold leases of a catalog now."""
    living = (leases.c.catalog == catalog) & (leases.c.owner != "") & (leases.c.expires_at >= time.time())
    rows = connection.execute(select(leases.c.host).where(living).distinct()).scalars()
    return sorted(host for host in rows if host not in ("", socket.gethostname()))


def warn_of_other_hosts(database: Database, connection: Connection) -> None:
    """Say once of each machine that it shares an SQLite catalog with this one.

    It is not refused: containers of one machine have names of their own, and there the locks hold.
    """
    if not database.is_sqlite:
        return
    for host in other_hosts(connection, database.catalog):
        if (database.catalog, host) not in _told:
            _told.add((database.catalog, host))
            log.warning(
                "%s is an SQLite file, and host %s works with it at the same time as this host, %s. %s",
                database.where,
                host,
                socket.gethostname(),
                advice(database.catalog),
            )


def advice(catalog: str) -> str:
    """What to do if several machines share a catalog."""
    return (
        f"SQLite's locks hold on one machine only: on two, tables may be lost. Use PostgreSQL for several hosts: "
        f"PYICEBERG_CATALOG__{catalog.upper()}__URI=postgresql+psycopg2://user@host:5432/database. Containers of one "
        f"machine that share a local disk are safe."
    )
