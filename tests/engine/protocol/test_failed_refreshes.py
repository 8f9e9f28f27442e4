"""A refresh that fails removes what it has staged; it does not leave that to the next tick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_trickle.engine import publish as publishing
from airflow_trickle.engine.capture.capture import capture
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse import staging as stagings
from tests.engine.protocol.house import House, spark, without_spark


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".db"}


@pytest.mark.parametrize("phase", ["stage", "check"])
def test_a_refresh_that_fails_leaves_neither_record_nor_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    house = House(tmp_path, f"sqlite:///{tmp_path}/catalog.db")
    without_spark(monkeypatch, house)
    with house.open() as lake:
        provider = spark()
        capture(lake, house.capture, "p/1", provider)
        pinned = pin(lake, house.plan.pin, "p/1")
        before = files_of(tmp_path)
        written: list[set[Path]] = []

        def fails(*_given: Any, **_more: Any) -> None:
            written.append(files_of(tmp_path) - before)
            raise RuntimeError("no")

        with monkeypatch.context() as patched:
            patched.setattr(publishing, phase, fails)
            with pytest.raises(TrickleError, match="no"):
                refresh(lake, house.solo, pinned, provider)
        assert phase == "check" or any(written)
        assert files_of(tmp_path) == before
        assert stagings.leftovers(lake, identifier="default.solo") == []
        assert all(result.error is None for result in refresh(lake, house.solo, pinned, provider))
