"""Atomic groups whose tables somebody else touches between their tasks."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from airflow_trickle import Pipeline
from airflow_trickle.engine import group as groups
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.engine.steer import reset, suspend
from airflow_trickle.errors import CommitConflict, LeaseHeld, RefreshFailed
from airflow_trickle.lakehouse import leases as leasing
from airflow_trickle.lakehouse.state import read_history, read_status
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.results import Status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from tests.conftest import Tuned
from tests.engine.groups.diamonds import (
    DIAMOND,
    NUMBERS,
    are_right,
    judged,
    nothing_is_left,
    opened,
    pinned,
    states,
    task,
)
from tests.engine.world import World


def staged_for(world: World, tick_id: str) -> groups.Tick:
    """A tick whose members are all staged."""
    tick = pinned(world, tick_id)
    with task(world, tick) as one:
        assert one.begin() is None
        for unit in DIAMOND:
            one.stage(unit)
    return tick


def give_up_claims(world: World) -> None:
    """As if a run had given no sign of life for long."""
    with opened(world) as lake, lake.database.transaction() as connection:
        connection.execute(update(leases).values(claimed_until=0.0))


def test_a_foreign_write_to_a_member_stops_the_whole_commit(shop: World) -> None:
    shop.tick()
    shop.append("s", {"k": 5, "x": 5})
    tick = staged_for(shop, "p/run1")
    with task(shop, tick) as one:
        before = states(shop)
        shop.outside.load_table("default.c").delete("k = 1")
        with pytest.raises(CommitConflict, match=r"default\.c could not be published"):
            one.commit()
        one.cleanup()
    after = states(shop)
    assert (after["default.b"], after["default.d"]) == (before["default.b"], before["default.d"])
    with opened(shop) as lake:
        told = [(row["name"], row["action"]) for row in read_history(lake, tick_id=tick.tick_id)]
        assert read_status(lake)["default.c"].error is not None
    assert sorted(told) == [("b", "DISCARDED"), ("c", "FAILED"), ("d", "DISCARDED")]
    nothing_is_left(shop)


def test_what_happened_to_a_member_beside_its_rows_is_no_matter_to_the_next_attempt(shop: World) -> None:
    tick = staged_for(shop, "p/run1")
    with task(shop, tick) as one:
        one.commit()
        shop.append("s", {"k": 5, "x": 5})
        tick = staged_for(shop, "p/run2")
    with task(shop, tick) as one:
        with shop.outside.load_table("default.c").transaction() as transaction:
            transaction.set_properties({"note": "of somebody else"})
        with pytest.raises(CommitConflict, match=r"default\.c"):
            one.commit()
        assert {result.group_epoch for result in one.commit()} == {2}
        one.cleanup()
    are_right(shop)
    nothing_is_left(shop)


def test_a_suspension_is_not_undone_by_a_commit_that_comes_late(shop: World) -> None:
    tick = staged_for(shop, "p/run1")
    with task(shop, tick) as one:
        one.commit()
    shop.append("s", {"k": 5, "x": 5})
    before = states(shop)
    tick = staged_for(shop, "p/run2")
    give_up_claims(shop)
    with opened(shop) as lake:
        suspend(lake, read_status(lake)["default.b"])
    with task(shop, tick) as one:
        with pytest.raises(RefreshFailed, match="suspended, until: trickle resume b"):
            one.commit()
        one.cleanup()
    assert states(shop) == before
    with opened(shop) as lake:
        assert read_status(lake)["default.b"].status is Status.SUSPENDED
    nothing_is_left(shop)


def test_a_reset_is_not_undone_by_a_commit_that_comes_late(shop: World) -> None:
    tick = staged_for(shop, "p/run1")
    with task(shop, tick) as one:
        one.commit()
    shop.append("s", {"k": 5, "x": 5})
    tick = staged_for(shop, "p/run2")
    give_up_claims(shop)
    with opened(shop) as lake:
        reset(lake, read_status(lake)["default.b"])
    with task(shop, tick) as one:
        results = {result.table: result for result in one.commit()}
        one.cleanup()
    assert results["b"].reason.startswith("it was reset")
    are_right(shop)
    nothing_is_left(shop)


def test_a_foreign_write_to_a_member_with_nothing_to_do_is_not_taken_for_ours(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    shop.define({**DIAMOND, "c": "SELECT k, 200 / x AS part FROM s"}, diamonds="atomic")
    refresh = groups.refresh

    def interfered(*arguments: object) -> object:
        results = refresh(*arguments)  # type: ignore[arg-type]
        if results[0].table == "b":
            shop.outside.load_table("default.b").delete("k = 1")
        return results

    monkeypatch.setattr(groups, "refresh", interfered)
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        assert one.begin() is None
        with pytest.raises(CommitConflict, match=r"default\.b was written by somebody else"):
            one.stage("b")
        one.cleanup()
    with opened(shop) as lake:
        assert read_status(lake)["default.b"].error is not None
    nothing_is_left(shop)


def test_a_task_that_is_cleared_while_another_works_leaves_the_tables_claimed(shop: World, tuned: Tuned) -> None:
    tuned(lease_wait_seconds=0.3)
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        with leasing.holding(one.lake, ["default.c"], "the task of c", claim=tick.tick_id):
            with pytest.raises(LeaseHeld):
                one.begin()
            with opened(shop) as lake:
                assert isinstance(leasing.try_acquire(lake, "default.b", "somebody else"), str)
        one.cleanup()
    nothing_is_left(shop)


#: The apex is no member of the group, and has a schedule of its own.
OVER_A_TABLE = {
    "u": "SELECT k, x FROM s",
    "b": "SELECT k, SUM(x) AS total FROM u GROUP BY k",
    "c": "SELECT k, MAX(x) AS top FROM u GROUP BY k",
    "d": "SELECT b.k, b.total, c.top FROM b JOIN c ON b.k = c.k",
}


def refresh_apex(world: World, tick_id: str) -> None:
    """As another tick does that begins meanwhile."""
    apex, _ = Pipeline.load(world.yaml).plan.refreshes
    tick = pinned(world, tick_id)
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        refresh(lake, apex, tick, spark)


def test_members_that_read_different_states_of_a_table_outside_are_not_published(world: World) -> None:
    world.source("s", NUMBERS, [{"k": 1, "x": 2}])
    world.define(OVER_A_TABLE, diamonds="atomic")
    world.tick()
    world.append("s", {"k": 1, "x": 5})
    refresh_apex(world, "p/other1")
    tick = pinned(world, "p/run1").model_copy(update={"not_due": ("default.u",)})
    _, step = Pipeline.load(world.yaml).plan.refreshes
    with opened(world) as lake, SparkProvider(SparkTarget()) as spark:
        one = groups.GroupRefresh(lake, step, tick, spark)
        assert one.begin() is None
        one.stage("b")
        world.append("s", {"k": 1, "x": 7})
        refresh_apex(world, "p/other2")
        one.stage("c")
        one.stage("d")
        with pytest.raises(CommitConflict, match=r"different states of default\.u.*: default\.b, default\.c"):
            one.commit()
        assert world.rows("d") == {(1, 2, 2): 1}
        one.commit()
        one.cleanup()
    judged(world, OVER_A_TABLE)
    assert world.rows("d") == {(1, 14, 7): 1}
    nothing_is_left(world)


def test_what_was_staged_for_a_query_that_was_put_back_is_not_published(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    before = states(shop)
    tick = pinned(shop, "p/run1")
    shop.define({**DIAMOND, "b": "SELECT k, SUM(x) + 1 AS total FROM s GROUP BY k"}, diamonds="atomic")
    with task(shop, tick) as one:
        assert one.begin() is None
        one.stage("b")
    shop.define(DIAMOND, diamonds="atomic")
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))
    with task(shop, tick) as one:
        assert [str(result.mode) for result in one.begin() or ()] == ["NO_DATA"] * 3
        one.cleanup()
    assert states(shop) == before
    are_right(shop)
    nothing_is_left(shop)


def test_a_commit_that_is_cleared_late_does_not_open_the_way_for_an_earlier_tick(shop: World) -> None:
    shop.append("s", {"k": 1, "x": 5})
    good = shop.outside.load_table("default.s").metadata.current_snapshot_id
    assert good is not None
    first = staged_for(shop, "p/first")
    with task(shop, first) as one:
        one.commit()
        one.cleanup()
    shop.append("s", {"k": 1, "x": 7})
    failed = pinned(shop, "p/failed")  # it came to none of its tables; then the source was put right
    shop.outside.load_table("default.s").manage_snapshots().rollback_to_snapshot(good).commit()
    assert not any(result.changed for result in shop.tick().values())
    with opened(shop) as lake:
        before = {name: status.effective_at for name, status in read_status(lake).items()}
    with task(shop, first) as one:
        one.commit()
        one.cleanup()
    with opened(shop) as lake:
        assert {name: status.effective_at for name, status in read_status(lake).items()} == before
    with task(shop, failed) as one:
        skipped = one.begin()
        one.cleanup()
    assert skipped is not None
    assert {result.reason for result in skipped} == {"b: a later tick has already brought it further"}
    are_right(shop)
    nothing_is_left(shop)
