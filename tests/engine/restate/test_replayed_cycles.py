"""Cycles that are taken back: their tables are published together, and go on together."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Rewind, TableResult
from tests import budgets
from tests.engine.restate.story import Rows, Story, from_changes, statuses
from tests.engine.world import World

CYCLE = """\
pipeline: p
allow_circular: true
diamond_consistency: none
sources: [edges]
defaults: {refresh_mode: DIFFERENTIAL}
stream_tables:
  reached:
    query: |
      SELECT dst FROM edges WHERE src = 0
      UNION
      SELECT e.dst FROM passed AS p JOIN edges AS e ON e.src = p.dst
  passed:
    query: SELECT dst FROM reached WHERE dst % 2 = 0
  ends:
    query: SELECT r.dst FROM reached AS r WHERE NOT EXISTS (SELECT 1 FROM edges AS e WHERE e.src = r.dst)
"""
EDGES = pa.schema([("src", pa.int64()), ("dst", pa.int64())])


def reachable(world: World) -> dict[str, Rows]:
    """By plain Python."""
    edges = [
        (row["src"], row["dst"]) for row in world.outside.load_table("default.edges").scan().to_arrow().to_pylist()
    ]
    reached = {dst for src, dst in edges if src == 0}
    while more := {dst for src, dst in edges if src in reached and src % 2 == 0} - reached:
        reached |= more
    ends = reached - {src for src, _ in edges}
    found = {"reached": reached, "passed": {one for one in reached if one % 2 == 0}, "ends": ends}
    return {name: Counter((one,) for one in rows) for name, rows in found.items()}


@pytest.fixture
def cycle(world: World) -> Story:
    chance = budgets.chance(5)
    world.source("edges", EDGES, [{"src": 0, "dst": 2}, {"src": 2, "dst": 4}, {"src": 4, "dst": 2}])
    story = Story(world, reachable)
    story.chapter()
    for number in range(6):
        if number % 3 == 2:  # only `reached` changes
            world.append("edges", {"src": 0, "dst": 101 + 2 * number})
        else:
            world.append("edges", *({"src": chance.randint(0, 9), "dst": chance.randint(1, 12)} for _ in range(2)))
            world.delete("edges", f"src = {chance.randint(2, 9)} and dst < {chance.randint(3, 9)}")
        story.chapter()
    world.yaml.write_text(CYCLE)
    return story


def at_most_once_anew(all_results: list[dict[str, TableResult]]) -> None:
    """Only for want of ranks, which are made anew then; the tables themselves go on from where they were taken back."""
    reasons = [results["reached"].reason for results in all_results if results["reached"].mode is Mode.FULL]
    assert len(reasons) <= 1
    assert all("the ranks of the rows are not known" in reason for reason in reasons), reasons
    from_changes([{"ends": results["ends"]} for results in all_results])


def test_a_cycle_goes_back_and_on_from_there(cycle: Story) -> None:
    from_changes(cycle.ticks(range(7))[1:])
    results = cycle.restate(3)
    assert {result.outcome for result in results.values()} == {Rewind.REWOUND}
    cycle.check(3, cycle.expected[3])
    at_most_once_anew(cycle.ticks(range(4, 7)))
    cycle.restate(1)
    cycle.check(1, cycle.expected[1])


def test_a_cycle_of_which_one_table_has_rested_still_goes_on_from_changes(cycle: Story) -> None:
    """Both were published by one commit, though only one of them has a snapshot of it."""
    on_time = cycle.ticks(range(5))
    assert (on_time[3]["reached"].changed, on_time[3]["passed"].changed) == (True, False)
    results = cycle.restate(3)
    assert results["reached"].effective_at == cycle.moments[3]
    assert results["passed"].effective_at != cycle.moments[3]
    known = statuses()
    assert known["passed"].frontier == known["reached"].frontier
    assert cycle.tick(4)["reached"].mode is Mode.DIFFERENTIAL


def test_a_cycle_whose_queries_were_others_is_computed_anew(cycle: Story) -> None:
    cycle.ticks(range(5))
    cycle.world.yaml.write_text(CYCLE.replace("dst % 2 = 0", "dst % 2 = 0 AND dst > -1"))
    cycle.restate(3)
    assert cycle.tick(4)["reached"].mode is Mode.FULL
