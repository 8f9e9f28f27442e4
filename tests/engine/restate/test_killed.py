"""`kill -9` in the middle of a restatement: all tables are as before, or all as then; the next one ends right."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.engine.restate import restate
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.leases import try_acquire
from tests import dying
from tests.databases import new_database
from tests.engine.restate.past import Past, at, plan_of

#: A process each, which is killed.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "when", "done"),
    [
        ("stage_rollback", "after", False),
        ("commit", "before", False),
        # In the transaction: metadata are switched and one status is written.
        ("write_status", "after", False),
        ("commit", "after", True),
    ],
)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str, name: str, when: str, done: bool
) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db" if database == "sqlite" else new_database()
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", uri)
    monkeypatch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    plan = plan_of(tmp_path)
    with open_lakehouse("trickle") as lake:
        past = Past(lake)
        for number in (1, 2, 3):
            past.tick(number, a=[{"n": number, "s": "x"}], b=[{"n": -number, "s": "y"}])
        files = set((tmp_path / "warehouse").rglob("*.json"))
        dying.die(dying.restate, str(tmp_path / "dags" / "p.yaml"), at(1).isoformat(), name, when)
        shown = [past.rows(table)[0]["n"] for table in "ab"]
        assert shown == ([1, -1] if done else [3, -3])
        assert {past.status(table).effective_at for table in "ab"} == {at(1) if done else at(3)}
        restate(lake, plan, at(2) if not done else at(1))
        shown = [past.rows(table)[0]["n"] for table in "ab"]
        assert shown == ([1, -1] if done else [2, -2])
        assert stagings.leftovers(lake, pipeline="p") == []
        # One new metadata file for each table, and none of the attempt that died.
        assert len(set((tmp_path / "warehouse").rglob("*.json")) - files) == 2
        for table in "ab":
            assert not isinstance(try_acquire(lake, f"default.{table}", "test"), str)
