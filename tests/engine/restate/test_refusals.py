"""What a restatement refuses, and that it happens as a whole or not at all; without Spark."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from airflow_trickle import clock
from airflow_trickle.engine.look_back import CannotRestate, look_back
from airflow_trickle.engine.restate import restate
from airflow_trickle.errors import CommitConflict, ForeignTable, LeaseHeld
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.leases import Lease, holding
from airflow_trickle.lakehouse.state import write_status
from airflow_trickle.plan.steps import Plan
from tests.engine.restate.past import Past, at, row, table


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in (folder / "warehouse").rglob("*") if path.is_file()}


def unchanged(lake: Lakehouse, plan: Plan, past: Past, moment: datetime, error: type[Exception]) -> str:
    before = past.everything()
    with pytest.raises(error) as told:
        restate(lake, plan, moment, wait=0.0)
    assert past.everything() == before
    return str(told.value)


def test_a_moment_in_the_future_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, clock.now() + timedelta(hours=1), CannotRestate)
    assert "lies in the future; it is 20" in told


def test_a_moment_without_a_time_zone_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, datetime(2026, 1, 1, 2), CannotRestate)
    assert told == "The moment 2026-01-01T02:00:00 has no time zone. Give it one, such as +00:00 for UTC."


def test_a_moment_before_the_first_tick_is_refused_and_says_what_to_do(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, at(0), CannotRestate)
    assert told == (
        "Pipeline 'p' had published nothing by 2026-01-01T00:00:00.000000+00:00; the first state that it has is of "
        "2026-01-01T01:00:00.000000+00:00. To compute all tables anew: trickle reset a b c"
    )


def test_a_pipeline_without_a_past_is_refused(lake: Lakehouse, plan: Plan) -> None:
    with pytest.raises(CannotRestate, match="Pipeline 'p' has published nothing yet"):
        restate(lake, plan, at(1))


def test_expired_snapshots_are_refused_with_the_oldest_moment_there_is(lake: Lakehouse, plan: Plan, past: Past) -> None:
    for name, gone in (("a", 2), ("b", 1)):
        old = [one.snapshot_id for one in table(lake, name).metadata.snapshots[:gone]]
        lake.catalog.load_table(f"default.{name}").maintenance.expire_snapshots().by_ids(old).commit()
    told = unchanged(lake, plan, past, at(1), CannotRestate)
    assert told == (
        "Pipeline 'p' cannot be taken back to 2026-01-01T01:00:00.000000+00:00: the snapshots of that time were "
        "expired in default.a, default.b. The oldest moment to which all its tables can be taken back is "
        "2026-01-01T03:00:00.000000+00:00."
    )
    assert "expired in default.a. The oldest" in unchanged(lake, plan, past, at(2), CannotRestate)
    restate(lake, plan, at(3))
    assert [past.rows(name) for name in "abc"] == [[row(3)], [row(2)], [row(3)]]


def test_a_table_that_somebody_else_wrote_to_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    lake.catalog.load_table("default.b").delete("n = 2")
    told = unchanged(lake, plan, past, at(2), ForeignTable)
    assert told.startswith("Table default.b was changed by another writer")


def test_a_table_of_another_pipeline_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    with lake.database.transaction() as connection:
        write_status(lake, connection, "default.b", pipeline="q")
    assert "belongs to pipeline 'q'" in unchanged(lake, plan, past, at(2), ForeignTable)


def test_a_table_that_is_being_refreshed_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    with holding(lake, ["default.c"], "tick p/5"):
        told = unchanged(lake, plan, past, at(2), LeaseHeld)
    assert told.startswith("Table default.c is being refreshed by tick p/5")


def test_looking_back_touches_nothing(lake: Lakehouse, plan: Plan, past: Past) -> None:
    before = past.everything()
    found = look_back(lake, plan, at(2))
    assert {one.step.name: str(one.outcome) for one in found.tables} == {
        "a": "REWOUND",
        "b": "REWOUND",
        "c": "STARTED_OVER",
    }
    assert past.everything() == before


# --- all or nothing ---


def test_an_error_in_the_commit_leaves_everything_as_it_was(
    lake: Lakehouse, plan: Plan, past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, there = past.everything(), files_below(tmp_path)

    class Pulled(Exception):
        """The plug."""

    def pulled(_lake: Lakehouse, _connection: Connection, _result: Any, *, identifier: str, **_rest: Any) -> None:
        if identifier == "default.c":  # after the metadata of a and b were switched, and their statuses written
            raise Pulled

    monkeypatch.setattr("airflow_trickle.engine.restate.write_history", pulled)
    with pytest.raises(Pulled):
        restate(lake, plan, at(2))
    assert past.everything() == before
    assert files_below(tmp_path) == there
    assert stagings.leftovers(lake, pipeline="p") == []
    monkeypatch.undo()
    restate(lake, plan, at(2))
    assert past.rows("a") == [row(2)]


def test_somebody_who_writes_meanwhile_is_not_undone(
    lake: Lakehouse, plan: Plan, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_trickle.engine import restate as module

    real = module.commit

    def late(*arguments: Any) -> None:
        lake.catalog.load_table("default.b").append(table(lake, "b").scan().to_arrow())
        real(*arguments)

    monkeypatch.setattr(module, "commit", late)
    with pytest.raises(CommitConflict, match=r"Table default\.b could not be published"):
        restate(lake, plan, at(1))
    assert (past.rows("a"), past.rows("b")) == ([row(4)], [row(2), row(2)])
    assert past.status("a").effective_at == at(4)


def test_a_lease_that_was_lost_meanwhile_ends_it(
    lake: Lakehouse, plan: Plan, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_trickle.engine import restate as module
    from airflow_trickle.lakehouse.tables import leases

    real = module.commit

    def robbed(*arguments: Any) -> None:
        with lake.database.transaction() as connection:
            connection.execute(update(leases).where(leases.c.identifier == "default.c").values(owner="other"))
        real(*arguments)

    monkeypatch.setattr(module, "commit", robbed)
    before = past.everything()
    with pytest.raises(CommitConflict, match=r"Table default\.c was taken over"):
        restate(lake, plan, at(2))
    assert past.everything() == before


def test_unfinished_work_and_what_was_kept_go(lake: Lakehouse, plan: Plan, past: Past, tmp_path: Path) -> None:
    kept = tmp_path / "warehouse" / "lines.parquet"
    kept.write_text("kept")
    past.publish("a", 5, [row(5)], kept=f'{{"files": ["file://{kept}"]}}')
    left = stagings.begin(
        lake,
        lease=Lease("default.b", "dead"),
        table_location=table(lake, "b").metadata.location,
        pipeline="p",
        tick_id="p/5",
        spark="a session",
        new_table=False,
    )
    ended: list[str] = []
    restate(lake, plan, at(3), interrupt=ended.append)
    assert not kept.exists()
    assert stagings.leftovers(lake, pipeline="p") == []
    assert (ended, left.spark) == (["a session"], "a session")
