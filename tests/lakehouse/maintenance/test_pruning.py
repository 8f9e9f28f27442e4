"""Pruning of state tables: by age and number, never what somebody may still ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from airflow_trickle import clock
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import write_iterations
from airflow_trickle.lakehouse.maintenance.policy import MaintenancePolicy
from airflow_trickle.lakehouse.maintenance.pruning import LEAST_HISTORY, prune
from airflow_trickle.lakehouse.state import RESTATE, write_history, write_status
from airflow_trickle.lakehouse.tables import history, iterations, ticks
from airflow_trickle.results import Iteration, Mode, Status, TableResult
from tests.lakehouse.maintenance.world import pinned

DAYS = 86_400.0
POLICY = MaintenancePolicy(keep_history_for=10 * DAYS, keep_history=60)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lakehouse]:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{tmp_path}/warehouse") as opened:
        yield opened


def refreshed(lake: Lakehouse, days_ago: float, times: int = 1, action: str = "REFRESH", table: str = "t") -> None:
    result = TableResult(table=table, status=Status.ACTIVE, mode=Mode.FULL, reason="test")
    with lake.database.transaction() as connection:
        for number in range(times):
            write_history(
                lake,
                connection,
                result,
                identifier=f"default.{table}",
                pipeline="p",
                tick_id=f"p/{number}",
                action=action,
                started_at=clock.now() - timedelta(days=days_ago),
            )


def pruned(lake: Lakehouse, policy: MaintenancePolicy = POLICY, *, dry_run: bool = False) -> dict[str, int]:
    return prune(lake, ["p"], policy, clock.now(), dry_run=dry_run)


def left(lake: Lakehouse) -> list[str]:
    with lake.database.reading() as connection:
        return list(connection.execute(select(history.c.action).order_by(history.c.id)).scalars())


def test_old_history_goes_and_the_last_refreshes_of_a_table_stay(lake: Lakehouse) -> None:
    refreshed(lake, 20, times=LEAST_HISTORY + 30)
    assert pruned(lake, dry_run=True)["trickle_history"] == 30
    assert len(left(lake)) == LEAST_HISTORY + 30
    assert pruned(lake)["trickle_history"] == 30
    assert len(left(lake)) == LEAST_HISTORY
    assert pruned(lake)["trickle_history"] == 0


def test_more_than_the_number_goes_but_not_what_is_of_the_last_day(lake: Lakehouse) -> None:
    refreshed(lake, 3, times=100)
    refreshed(lake, 0.5, times=40)
    assert pruned(lake)["trickle_history"] == 80
    assert len(left(lake)) == 60
    refreshed(lake, 0.1, times=80)
    pruned(lake)
    assert len(left(lake)) == 120


def test_that_a_table_was_taken_back_is_remembered(lake: Lakehouse) -> None:
    refreshed(lake, 30, action=RESTATE)
    refreshed(lake, 25, times=LEAST_HISTORY + 10)
    pruned(lake)
    assert left(lake) == [RESTATE, *["REFRESH"] * LEAST_HISTORY]


def test_other_pipelines_and_tables_are_counted_by_themselves(lake: Lakehouse) -> None:
    refreshed(lake, 20, times=40)
    refreshed(lake, 20, times=40, table="u")
    assert pruned(lake)["trickle_history"] == 0
    refreshed(lake, 20, times=40)
    assert prune(lake, ["other"], POLICY, clock.now(), dry_run=False)["trickle_history"] == 0


def test_old_ticks_go_but_for_the_newest_those_under_way_and_those_that_tables_show(lake: Lakehouse) -> None:
    for number in range(6):
        pinned(lake, f"p/{number}", {}, clock.now() - timedelta(days=30 - number))
    with lake.database.transaction() as connection:
        connection.execute(update(ticks).values(created_at=ticks.c.effective_at))
        write_status(lake, connection, "default.t", if_new={"name": "t", "pipeline": "p"}, tick_id="p/1")
    assert pruned(lake)["trickle_ticks"] == 4
    with lake.database.reading() as connection:
        assert sorted(connection.execute(select(ticks.c.tick_id)).scalars()) == ["p/1", "p/5"]


def test_ticks_of_the_restate_window_stay(lake: Lakehouse) -> None:
    for number in range(6):
        pinned(lake, f"p/{number}", {}, clock.now() - timedelta(days=30 - number))
    with lake.database.transaction() as connection:
        connection.execute(update(ticks).values(created_at=ticks.c.effective_at))
    assert pruned(lake, replace(POLICY, restate_window=60 * DAYS))["trickle_ticks"] == 0


def test_the_passes_of_the_last_refresh_of_a_cycle_stay(lake: Lakehouse) -> None:
    trace = [Iteration(number=1, phase="derive", changes={"t": 1})]
    with lake.database.transaction() as connection:
        for number in range(3):
            write_iterations(lake, connection, pipeline="p", tick_id=f"p/{number}", unit="u", trace=trace)
            days = timedelta(days=30 - number)
            connection.execute(
                update(iterations)
                .where(iterations.c.tick_id == f"p/{number}")
                .values(at=clock.text_of(clock.now() - days))
            )
    assert pruned(lake)["trickle_iterations"] == 2
    with lake.database.reading() as connection:
        assert connection.execute(select(func.max(iterations.c.tick_id))).scalar() == "p/2"
