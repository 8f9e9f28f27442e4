"""Atomic groups without Spark: what is published together, what members read, what is left of a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import TickFailed
from airflow_trickle.engine import publish as publishing
from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse import leases as leasing
from airflow_trickle.lakehouse import staging as stagings
from tests.engine.duckdb_world import DuckDBWorld
from tests.engine.groups.diamonds import MEMBERS, epochs, judged, nothing_is_left, pinned, states, task

DIAMOND = {
    "b": "SELECT k, MAX(x) AS most FROM s GROUP BY k",
    "c": "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "d": "SELECT b.k, b.most, c.n FROM b JOIN c ON b.k = c.k",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DuckDBWorld:
    world = DuckDBWorld(tmp_path, monkeypatch)
    numbers = pa.schema([("k", pa.int64()), ("x", pa.int64())])
    world.source("s", numbers, [{"k": 1, "x": 2}, {"k": 1, "x": 4}, {"k": 2, "x": 5}])
    world.define(DIAMOND, diamonds="atomic")
    return world


def test_members_are_published_together_and_read_what_the_others_have_staged(shop: DuckDBWorld) -> None:
    assert {result.group_epoch for result in shop.tick().values()} == {1}
    judged(shop, DIAMOND)
    shop.append("s", {"k": 2, "x": 9})
    assert {result.group_epoch for result in shop.tick().values()} == {2}
    judged(shop, DIAMOND)
    assert epochs(shop) == {"2"}
    nothing_is_left(shop)


def test_members_that_have_read_different_states_of_each_other_are_not_published(shop: DuckDBWorld) -> None:
    tick = pinned(shop, "p/run1")
    with task(shop, tick) as one:
        one.begin()
        for unit in ("b", "c", "d"):
            one.stage(unit)
        with leasing.holding(one.lake, ["default.b"], "somebody", claim=tick.tick_id) as held:
            stagings.clean_table(one.lake, held["default.b"])
        one.stage("b")
        with pytest.raises(CommitConflict, match="'d' of group 'group_d' was staged from another state of 'b'"):
            one.commit()
        assert not any(shop.outside.table_exists(name) for name in MEMBERS)
        one.commit()
        one.cleanup()
    judged(shop, DIAMOND)


def test_nothing_is_left_of_a_group_one_member_of_which_failed(
    shop: DuckDBWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.tick()
    shop.append("s", {"k": 2, "x": 9})
    before, files, write = states(shop), shop.files(), publishing._write

    def writing(work: Any, *more: Any) -> Any:
        if work.run.step.name == "d":
            raise RuntimeError("no")
        return write(work, *more)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_write", writing)
        with pytest.raises(TickFailed, match="no"):
            shop.tick()
    assert (states(shop), shop.files()) == (before, files)
    nothing_is_left(shop)
    shop.tick()
    judged(shop, DIAMOND)
