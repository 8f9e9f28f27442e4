"""Every behaviour of the lakehouse runs over SQLite and over a real PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from tests.databases import new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/catalog.db"
    return new_database()


@pytest.fixture
def lake(catalog_uri: str, tmp_path: Path) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as opened:
        yield opened


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    """One catalog for a whole module: for tests that only look at tables of their own."""
    folder = tmp_path_factory.mktemp("shared")
    uri = f"sqlite:///{folder}/catalog.db" if request.param == "sqlite" else new_database()
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{folder}/warehouse") as opened:
        opened.catalog.create_namespace_if_not_exists("default")
        yield opened


@pytest.fixture
def identifier() -> str:
    """A table name that no other test uses."""
    return f"default.t_{uuid.uuid4().hex[:12]}"
