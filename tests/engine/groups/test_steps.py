"""Atomic groups step by step, each in a process of its own, as tasks do."""

from __future__ import annotations

import pytest

from airflow_trickle import Mode, Pipeline, TickFailed
from airflow_trickle.errors import CommitConflict, LeaseHeld, RefreshFailed
from airflow_trickle.lakehouse import leases as leasing
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.prepared import read_prepared
from airflow_trickle.spark.session import SparkProvider
from tests.conftest import Tuned
from tests.engine.groups.diamonds import (
    DIAMOND,
    MEMBERS,
    are_right,
    nothing_is_left,
    opened,
    pinned,
    task,
)
from tests.engine.world import World


def test_each_step_may_run_in_a_process_of_its_own(shop: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="airflow_trickle")
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        assert one.begin() is None
    for unit in ("b", "c", "d"):
        with task(shop, tick) as one:
            (result,) = one.stage(unit)
        assert result.mode is Mode.FULL
        assert not shop.outside.table_exists(f"default.{unit}")
    with task(shop, tick) as one:
        results = one.commit()
    with task(shop, tick) as one:
        one.cleanup()

    assert [(result.table, result.group_epoch) for result in results] == [("b", 1), ("c", 1), ("d", 1)]
    are_right(shop)
    nothing_is_left(shop)
    said = [record.getMessage() for record in caplog.records]
    assert "Group group_d is begun: b, c, d." in said
    assert [one.split(":")[0] for one in said if ", staged as snapshot " in one] == ["b", "c", "d"]
    assert said[-1] == "Group group_d: published together, as epoch 1 of the group: b, c, d."


def test_a_step_that_is_done_again_gives_the_same_without_computing(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        first = one.stage("b")
    with monkeypatch.context() as patch, task(shop, tick) as one:
        patch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))
        one.begin()
        assert one.stage("b") == first
    with task(shop, tick) as one:
        one.stage("c")
        one.stage("d")
        committed = one.commit()
    with task(shop, tick) as one:
        # A task that was killed behind its commit is run again.
        assert one.begin() is not None
        again = one.commit()
        one.cleanup()
    assert [result.snapshot_id for result in again] == [result.snapshot_id for result in committed]
    assert {shop.snapshots(name) for name in DIAMOND} == {1}
    nothing_is_left(shop)


def test_what_is_missing_is_staged_by_whoever_needs_it(shop: World) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("d")  # it reads b and c
        one.commit()
    are_right(shop)
    nothing_is_left(shop)


def test_between_its_tasks_nobody_else_refreshes_a_table_of_the_group(shop: World, tuned: Tuned) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("b")
    tuned(lease_wait_seconds=0.2)

    with pytest.raises(TickFailed, match=r"is being refreshed by tick p/run1, whose atomic group is not published"):
        Pipeline.load(shop.yaml).tick()

    with task(shop, tick) as one:
        one.stage("c")
        one.stage("d")
        one.commit()
    are_right(shop)


def test_the_next_run_takes_over_from_one_that_never_ended(shop: World, tuned: Tuned) -> None:
    first = pinned(shop, "p/run1")
    with task(shop, first) as one:
        one.begin()
        one.stage("b")
    shop.append("s", {"k": 7, "x": 7})
    second = pinned(shop, "p/run2")
    with opened(shop) as lake:
        # It may still be alive: a backfill may run beside it.
        assert isinstance(leasing.try_acquire(lake, "default.b", "second", "p/run2"), str)
    tuned(claim_take_over_seconds=-1.0)
    with task(shop, second) as one:
        assert one.begin() is None
        with opened(shop) as lake:
            assert read_prepared(lake, "p/run1", MEMBERS) == {}
        for unit in ("b", "c", "d"):
            one.stage(unit)
        one.commit()
        one.cleanup()
    are_right(shop)
    nothing_is_left(shop)
    with task(shop, first) as one, pytest.raises(RefreshFailed, match="a later tick has already brought it further"):
        one.stage("c")


def test_a_member_that_was_staged_anew_behind_its_readers_is_not_published(shop: World) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        one.stage("b")
        one.stage("c")
        one.stage("d")
        with leasing.holding(one.lake, ["default.b"], "somebody", claim=tick.tick_id) as held:
            stagings.clean_table(one.lake, held["default.b"])
        one.stage("b")
        with pytest.raises(CommitConflict, match="'d' of group 'group_d' was staged from another state of 'b'"):
            one.commit()
        assert not any(shop.outside.table_exists(name) for name in MEMBERS)
        # The next attempt of the task stages it again.
        one.commit()
        one.cleanup()
    are_right(shop)
    nothing_is_left(shop)


def test_claims_keep_a_table_until_they_are_given_back(shop: World) -> None:
    with opened(shop) as lake:
        with leasing.holding(lake, ["default.x"], "one", claim="p/1"):
            pass
        with pytest.raises(LeaseHeld), leasing.holding(lake, ["default.x"], "other", wait=0):
            pass
        with pytest.raises(LeaseHeld), leasing.holding(lake, ["default.x"], "other", wait=0, claim="q/1"):
            pass
        assert leasing.forget_dead(lake) == 0
        with leasing.holding(lake, ["default.x"], "one again", wait=0, claim="p/1"):
            pass
        with lake.database.transaction() as connection:
            leasing.unclaim(lake, connection, "p/1", ["default.x"])
        with leasing.holding(lake, ["default.x"], "other", wait=0):
            pass
