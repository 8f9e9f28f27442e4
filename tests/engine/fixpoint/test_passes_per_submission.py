"""A cycle in several submissions is the same cycle: rows, passes, cap and resume."""

from __future__ import annotations

import logging

import pytest

from airflow_trickle import TickFailed
from airflow_trickle.errors import NonConvergence
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations
from airflow_trickle.lakehouse.staging import leftovers
from airflow_trickle.results import Iteration
from tests.engine.fixpoint.test_resume import CHAIN, CLOSURE, EDGE, SETS, define, die, finish, pinned, refreshed
from tests.engine.world import World

STEPS = "SELECT {f}.src, e.dst FROM {f} JOIN edges AS e ON e.src = {f}.dst"
#: Rules with ranks; numbers of copies; every pass in full.
TABLES = {
    **SETS,
    "paths": f"SELECT src, dst FROM edges UNION ALL {STEPS.format(f='paths')}",
    "anew": f"SELECT src, dst FROM edges UNION (SELECT src, dst FROM edges INTERSECT SELECT src, dst FROM anew) "
    f"UNION {STEPS.format(f='anew')}",
}
JUDGED = f"{CLOSURE} SELECT * FROM r"


def limited(world: World, passes: int | str) -> None:
    """The same pipeline with another number of passes in a submission."""
    text = world.yaml.read_text().partition("passes_per_submission")[0]
    world.yaml.write_text(f"{text}passes_per_submission: {passes}\n")


def begun(world: World, tables: dict[str, str]) -> World:
    world.source("edges", EDGE, CHAIN)
    define(world, tables)
    world.yaml.write_text(world.yaml.read_text().replace("allow_circular: true", "allow_circular: unsafe"))
    return world


def observed(world: World, caplog: pytest.LogCaptureFixture, **options: object) -> tuple[dict[str, object], int]:
    """Every pass of every table in a tick, and how often work was submitted again."""
    caplog.clear()
    results = world.tick(**options)
    passes: dict[str, object] = {}
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []
        for one in read_iterations(lake, limit=len(TABLES)):
            passes[one.unit] = [(each.phase, dict(each.changes)) for each in one.passes]
    for name in TABLES:
        assert world.rows(name) == world.judge(JUDGED), name
    count = results["reach"].iterations
    messages = [record.message for record in caplog.records]
    assert f"cycle_reach converged after {count} passes." in messages
    return passes, sum("submitting it again" in message for message in messages)


@pytest.mark.parametrize("tried", [((1, 7), (3, 2)), pytest.param(((2, 3), (7, 1)), marks=pytest.mark.soak)])
def test_any_number_of_passes_in_a_submission_gives_the_same_rows_by_the_same_passes(
    world: World, caplog: pytest.LogCaptureFixture, tried: tuple[tuple[int, int], ...]
) -> None:
    """Design 000 part 5: one pass a submission is the loop as it is drawn there."""
    caplog.set_level(logging.INFO, logger="airflow_trickle")
    begun(world, TABLES)
    expected, again = observed(world, caplog)
    assert again == 0
    # All have eight passes from nothing; after the last one nothing is left to submit.
    for passes, submissions in tried:
        limited(world, passes)
        assert observed(world, caplog, full_refresh=list(TABLES)) == (expected, 3 * submissions), passes


@pytest.mark.parametrize("limit", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_the_same_from_before_with_rows_that_come_and_go(
    world: World, caplog: pytest.LogCaptureFixture, limit: int
) -> None:
    caplog.set_level(logging.INFO, logger="airflow_trickle")
    begun(world, TABLES)
    world.tick()
    found = []
    for passes in ("all", limit):
        limited(world, passes)
        for change in range(2):
            if change == 0:
                world.append("edges", {"src": 7, "dst": 8}, {"src": 8, "dst": 9}, {"src": 20, "dst": 0})
            else:
                world.delete("edges", "src = 7 or src = 8 or src = 20")
            found.append(observed(world, caplog))
    expected = [passes for passes, _ in found[:2]]
    assert [passes for passes, _ in found] == 2 * expected
    assert [again > 0 for _, again in found] == [False, False, True, True]


@pytest.mark.parametrize("passes", ["all", 1, pytest.param(2, marks=pytest.mark.soak)])
def test_the_cap_counts_the_passes_of_all_submissions(world: World, passes: int | str) -> None:
    begun(world, TABLES)
    world.yaml.write_text(f"{world.yaml.read_text()}max_fixpoint_iterations: 5\n")
    limited(world, passes)
    with pytest.raises(TickFailed) as raised:
        world.tick()
    for name in TABLES:
        result = raised.value.results[name]
        assert result.iterations == 5, name
        assert "did not settle within 5 passes" in str(result.error)
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []


@pytest.mark.parametrize(
    ("table", "passes", "first"),
    [
        ("anew", 2, 3),
        ("reach", 1, 3),
        *(
            pytest.param(*more, marks=pytest.mark.soak)
            # Where all passes are one submission, nothing is left of one that was killed.
            for more in (("anew", 1, 3), ("anew", "all", 1), ("paths", 2, 3))
        ),
    ],
)
def test_a_killed_refresh_goes_on_behind_its_last_submission(
    world: World, table: str, passes: int | str, first: int
) -> None:
    """Without the clock of checkpoints: what was submitted before is not computed again."""
    begun(world, {table: TABLES[table]})
    limited(world, passes)
    tick = pinned(world)
    die(world, tick)
    assert [one.number for one in finish(world, tick)] == list(range(first, 9))
    assert world.rows(table) == world.judge(JUDGED)


@pytest.mark.parametrize(
    "table", [pytest.param(name, marks=() if name in ("reach", "anew") else pytest.mark.soak) for name in TABLES]
)
def test_the_cap_counts_passes_from_before_the_refresh_was_killed(world: World, table: str) -> None:
    begun(world, {table: TABLES[table]})
    world.yaml.write_text(f"{world.yaml.read_text()}max_fixpoint_iterations: 5\n")
    limited(world, 1)
    tick = pinned(world)
    die(world, tick)
    told: list[Iteration] = []
    with pytest.raises(NonConvergence, match="did not settle within 5 passes"):
        refreshed(str(world.yaml), tick, told.append)
    assert [one.number for one in told] == [3, 4, 5]
    with open_lakehouse("trickle") as lake:
        assert leftovers(lake, pipeline="p") == []
    assert not world.outside.table_exists(f"default.{table}")
