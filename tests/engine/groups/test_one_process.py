"""Atomic groups: the tables of a diamond are published all together or not at all."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline, TickFailed
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse.state import read_history, read_status
from airflow_trickle.spark.session import SparkProvider
from tests.engine.groups.diamonds import (
    DIAMOND,
    NUMBERS,
    are_right,
    epochs,
    nothing_is_left,
    opened,
    states,
)
from tests.engine.world import World


def test_all_members_are_published_together_and_the_epoch_advances(shop: World) -> None:
    """Design 004 Step 3: test_consistency_group_epoch_advance
    Design 004 Step 7: test_diamond_atomic_all_succeed
    """
    first = shop.tick()
    assert {name: result.group_epoch for name, result in first.items()} == {"b": 1, "c": 1, "d": 1}
    are_right(shop)

    shop.append("s", {"k": 2, "x": 10}, {"k": 3, "x": 1})
    second = shop.tick()

    assert {name: (str(result.status), result.group_epoch) for name, result in second.items()} == {
        name: ("ACTIVE", 2) for name in DIAMOND
    }
    are_right(shop)
    assert epochs(shop) == {"2"}
    with opened(shop) as lake:
        assert {(status.group_name, status.group_epoch) for status in read_status(lake).values()} == {("group_d", 2)}
        assert {row["group_epoch"] for row in read_history(lake, limit=3)} == {2}
    nothing_is_left(shop)


def test_members_read_the_staged_state_of_those_before_them_from_changes(shop: World) -> None:
    shop.define(DIAMOND, diamonds="atomic", **{name: {"refresh_mode": "DIFFERENTIAL"} for name in DIAMOND})
    shop.tick()
    shop.append("s", {"k": 2, "x": 10})

    results = shop.tick()

    assert {str(result.mode) for result in results.values()} == {"DIFFERENTIAL"}
    are_right(shop)


def test_one_failure_leaves_all_members_as_they_were(shop: World) -> None:
    """Design 004 Step 7: test_diamond_atomic_partial_fail"""
    shop.tick()
    before, files = states(shop), shop.files()
    shop.append("s", {"k": 3, "x": 0})

    with pytest.raises(TickFailed) as raised:
        shop.tick()

    assert all(result.error is not None for result in raised.value.results.values())
    assert states(shop) == before
    assert epochs(shop) == {"1"}
    nothing_is_left(shop)
    # The source's new files are all that came.
    assert {path for path in shop.files() - files if "/s/" not in path} == set()
    with opened(shop) as lake:
        last = {row["name"]: (row["action"], row["error"] is not None) for row in read_history(lake, limit=2)}
    assert last == {"b": ("DISCARDED", False), "c": ("FAILED", True)}


def test_the_next_tick_brings_all_of_them_on(shop: World) -> None:
    """Design 004 Step 7: test_diamond_atomic_convergence"""
    shop.tick()
    shop.append("s", {"k": 3, "x": 0})
    with pytest.raises(TickFailed):
        shop.tick()
    shop.delete("s", "x = 0")
    shop.append("s", {"k": 3, "x": 8})

    results = shop.tick()

    assert {result.group_epoch for result in results.values()} == {2}
    are_right(shop)
    nothing_is_left(shop)


def test_a_failure_that_lasts_is_tried_again_though_nothing_moved(shop: World) -> None:
    shop.tick()
    shop.append("s", {"k": 3, "x": 0})
    for _ in range(2):
        with pytest.raises(TickFailed, match="DIVIDE_BY_ZERO"):
            shop.tick()


def test_a_group_with_nothing_to_do_asks_no_spark(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.tick()
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))

    results = shop.tick()

    assert {str(result.mode) for result in results.values()} == {"NO_DATA"}
    assert epochs(shop) == {"1"}
    nothing_is_left(shop)


def test_a_source_that_moved_without_a_net_change_moves_the_group_without_spark(
    shop: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    # The same rows in another file: what there is stays as it is.
    shop.append("s", {"k": 9, "x": 9})
    shop.delete("s", "k = 9")
    shop.tick()
    before = states(shop)
    with opened(shop) as lake:
        moved = {status.frontier.as_json() for status in read_status(lake).values() if status.frontier}
        pins = pin(lake, Pipeline.load(shop.yaml).plan.pin, "look").pins
    monkeypatch.setattr(SparkProvider, "session", property(lambda _: pytest.fail("Spark was asked")))

    assert {str(result.mode) for result in shop.tick().values()} == {"NO_DATA"}
    assert states(shop) == before
    assert epochs(shop) == {"1"}
    assert all(str(pins["default.s"].snapshot_id) in text for text in moved)


def test_a_member_that_does_not_change_keeps_its_snapshot_and_has_the_groups_epoch(shop: World) -> None:
    shop.define({**DIAMOND, "b": "SELECT DISTINCT k, 1 AS total FROM s WHERE k < 3"}, diamonds="atomic")
    shop.tick()
    before = states(shop)
    shop.append("s", {"k": 2, "x": 20})

    results = shop.tick()

    after = states(shop)
    assert after["default.b"] == before["default.b"]
    assert after["default.c"] != before["default.c"]
    assert {name: result.group_epoch for name, result in results.items()} == {"b": 2, "c": 2, "d": 2}
    with opened(shop) as lake:
        assert {status.group_epoch for status in read_status(lake).values()} == {2}


def test_a_cycle_inside_of_a_diamond_is_staged_and_published_with_it(world: World) -> None:
    edges = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    world.source("s", edges, [{"src": 1, "dst": 2}, {"src": 2, "dst": 3}])
    queries = {
        "nodes": "SELECT DISTINCT src AS n FROM s",
        "reach": "SELECT src, dst FROM s UNION SELECT r.src, h.dst FROM reach AS r JOIN hop AS h ON r.dst = h.src",
        "hop": "SELECT DISTINCT src, dst FROM reach",
        "far": "SELECT n.n, COUNT(*) AS reached FROM nodes AS n JOIN hop AS h ON h.src = n.n GROUP BY n.n",
    }
    world.define(queries, diamonds="atomic", pipeline={"allow_circular": "true"})
    world.tick()
    world.append("s", {"src": 3, "dst": 4}, {"src": 4, "dst": 1})
    results = world.tick()

    assert {result.group_epoch for result in results.values()} == {2}
    assert results["hop"].iterations > 2
    closure = (
        "WITH RECURSIVE r AS (SELECT src, dst FROM s UNION SELECT r.src, s.dst FROM r JOIN s ON r.dst = s.src) "
        "SELECT src, dst FROM r"
    )
    assert world.rows("reach") == world.rows("hop") == world.judge(closure)
    far = f"SELECT n, COUNT(*) FROM (SELECT DISTINCT src AS n FROM s) JOIN ({closure}) ON src = n GROUP BY n"
    assert world.rows("far") == world.judge(far)


def test_a_cycle_that_does_not_settle_holds_the_whole_group(world: World) -> None:
    world.source("s", pa.schema([("x", pa.int64())]), [{"x": 1}])
    queries = {
        "up": "SELECT x FROM s UNION ALL SELECT x + 1 AS x FROM more",
        "more": "SELECT x FROM up",
        "plain": "SELECT x FROM s",
        "meet": "SELECT p.x FROM plain AS p JOIN more AS m ON m.x = p.x",
    }
    world.define(queries, diamonds="atomic", pipeline={"allow_circular": "true", "max_fixpoint_iterations": 4})
    with pytest.raises(TickFailed):
        world.tick()

    results = world.tick()

    assert {str(result.mode) for result in results.values()} == {"SKIPPED"}
    assert "did not settle" in results["plain"].reason


def test_with_none_a_failing_branch_holds_nobody_up_and_the_meeting_point_says_so(shop: World) -> None:
    """Design 004 Step 7: test_diamond_none_mode_unblocked"""
    shop.define(DIAMOND, diamonds="none")
    shop.tick()
    shop.append("s", {"k": 2, "x": 0}, {"k": 2, "x": 5})

    with pytest.raises(TickFailed) as raised:
        shop.tick()

    results = raised.value.results
    assert results["c"].error is not None
    assert (results["b"].error, results["b"].rows_inserted) == (None, 1)
    assert "its inputs disagree: c was not refreshed in this tick, so the last state is read" in results["d"].reason
    # d is what its query says over the new b and the old c.
    expected = {(1, 6, 2, 75.0), (2, 10, 1, 20.0)}
    assert set(shop.rows("d")) == expected
    shop.delete("s", "x = 0")
    shop.tick()
    are_right(shop)


def test_with_none_a_cycle_where_the_arms_meet_goes_on_too(world: World) -> None:
    """Only y reads the arms; x, which reads y alone, is refreshed with it."""
    world.source("s", NUMBERS, [{"k": 1, "x": 2}])
    queries = {
        "b": "SELECT k FROM s",
        "c": "SELECT k, 60 DIV x AS part FROM s",
        "x": "SELECT k FROM y",
        "y": "SELECT k FROM b UNION SELECT k FROM c UNION SELECT k + 1 AS k FROM x WHERE k < 5",
    }
    world.define(queries, diamonds="none")
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")
    world.tick()
    world.append("s", {"k": 7, "x": 0})

    with pytest.raises(TickFailed) as raised:
        world.tick()

    results = raised.value.results
    assert {name: one.error is None for name, one in results.items()} == {"b": True, "c": False, "x": True, "y": True}
    assert "its inputs disagree: c was not refreshed in this tick" in results["y"].reason
    # Over the new b and the old c.
    assert set(world.rows("y")) == set(world.rows("x")) == {(1,), (2,), (3,), (4,), (5,), (7,)}
    world.delete("s", "x = 0")
    world.append("s", {"k": 4, "x": 1})
    world.delete("s", "k = 1")
    world.tick()
    assert set(world.rows("y")) == set(world.rows("x")) == {(4,), (5,)}
