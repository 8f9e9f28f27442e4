from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Tuned
from tests.engine.capture.folders import SPARK, Lake


@pytest.fixture(scope="session", autouse=True)
def _closed_at_the_end() -> Iterator[None]:
    """The session that the tests here share, before the server is stopped."""
    yield
    SPARK.close()


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuned: Tuned, spark_home: Path) -> Lake:
    """An empty catalog of its own, and a folder for sources that are no Iceberg tables."""
    made = Lake(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", made.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", made.warehouse)
    # On this disk a time has a resolution of some milliseconds.
    tuned(file_settle_seconds=0.05)
    return made
