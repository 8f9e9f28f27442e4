from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path) -> World:
    """An empty catalog of its own on SQLite; Spark is shared by the whole test run."""
    made = World(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", made.uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", made.warehouse)
    return made
