"""Cases by name: those that defeat counting, comparing numbers of rows, and looking at one table at a time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations
from airflow_trickle.results import Iteration
from tests.engine.fixpoint.judge import distinct, join
from tests.engine.fixpoint.stage import Stage
from tests.engine.fixpoint.system import EDGES, System
from tests.engine.fixpoint.systems import SYSTEMS
from tests.engine.world import World


def passes() -> tuple[Iteration, ...]:
    """The passes of the latest refresh, as the history has them."""
    with open_lakehouse("trickle") as lake:
        return read_iterations(lake, limit=1)[0].passes


def test_the_worked_example(world: World) -> None:
    rows = {"red_edges": [(1, 2), (3, 4), (5, 6)], "blue_edges": [(2, 3), (4, 5)], "start": [(1,)]}
    results = Stage(world, SYSTEMS["red and blue"], rows).tick()
    assert world.rows("reach_red") == {(2,): 1, (4,): 1, (6,): 1}
    assert world.rows("reach_blue") == {(3,): 1, (5,): 1}
    trace = passes()
    assert [one.number for one in trace] == list(range(1, len(trace) + 1))
    assert len(trace) == results["reach_red"].iterations == results["reach_blue"].iterations
    assert all(one.total for one in trace[:-1])
    assert trace[-1].changes == {"reach_red": 0, "reach_blue": 0}
    for name, count in (("reach_red", 3), ("reach_blue", 2)):
        assert sum(one.changes[name] for one in trace) == count


def test_two_cliques_stay_when_the_bridge_between_them_goes(world: World) -> None:
    """Pairs over the bridge derive each other in both tables; counting derivations would keep them: 12, not 8."""
    cliques = [(1, 2), (2, 1), (3, 4), (4, 3)]
    stage = Stage(world, SYSTEMS["closure over two tables"], {"edges": [*cliques, (1, 3)]})
    stage.tick()
    assert len(world.rows("a")) == 12
    stage.set(edges=cliques)
    results = stage.tick()
    assert world.rows("a") == world.rows("b") == {(x, y): 1 for one in ((1, 2), (3, 4)) for x in one for y in one}
    assert (results["a"].mode, results["a"].rows_deleted) == (Mode.DIFFERENTIAL, 4)


def test_rows_that_only_hold_up_each_other_go(world: World) -> None:
    stage = Stage(world, SYSTEMS["each is the other"], {"src": [(1,), (2,), (2,)]})
    stage.tick()
    stage.set(src=[(2,)])
    results = stage.tick()
    assert world.rows("a") == world.rows("b") == {(2,): 1}
    assert (results["a"].rows_deleted, results["b"].rows_deleted) == (1, 1)


def test_a_change_that_keeps_the_number_of_rows_is_a_change(world: World) -> None:
    stage = Stage(world, SYSTEMS["linear closure"], {"edges": [(1, 2), (2, 3), (3, 4)]})
    stage.tick()
    stage.set(edges=[(1, 2), (2, 3), (3, 5)])
    result = stage.tick()["closure"]
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 3, 3)


def test_a_pass_that_keeps_the_number_of_rows_is_not_the_last(world: World) -> None:
    """A token that moves on: each pass replaces one better value by another one."""
    system = SYSTEMS["shortest paths"]
    ring = [(1, 2, 5), (1, 3, 1), (3, 2, 1), (2, 4, 1), (3, 4, 9), (4, 5, 1)]
    stage = Stage(world, system, {"edges": ring, "start": [(1,)]})
    stage.tick()
    stage.set(edges=[*ring, (1, 3, 0), (1, 2, 0)])
    result = stage.tick()["shortest"]
    assert (result.rows_inserted, result.rows_deleted) == (4, 4)
    assert world.rows("shortest") == {(1, 0): 1, (3, 0): 1, (2, 0): 1, (4, 1): 1, (5, 2): 1}


REACH = System(
    {**EDGES, "first": "src dst"},
    {
        "reach": """
            SELECT dst AS node FROM first
            UNION
            SELECT e.dst FROM reach AS r JOIN edges AS e ON e.src = r.node"""
    },
    (
        {
            "reach": lambda now: distinct(
                [(f[1],) for f in now["first"]] + [(e[1],) for _, e in join(now["reach"], 0, now["edges"], 0)]
            )
        },
    ),
    frozenset({"reach"}),
)


def test_an_edge_goes_that_only_the_recursive_part_reads(world: World) -> None:
    stage = Stage(world, REACH, {"first": [(0, 1)], "edges": [(1, 2), (2, 3), (3, 2), (1, 9)]})
    stage.tick()
    stage.set(edges=[(2, 3), (3, 2), (1, 9)])
    assert stage.tick()["reach"].mode is Mode.DIFFERENTIAL
    # 2 and 3 still lead to each other.
    assert world.rows("reach") == {(1,): 1, (9,): 1}


def test_a_node_comes_with_its_edges_in_one_batch(world: World) -> None:
    system = SYSTEMS["blocked nodes"]
    stage = Stage(world, system, {"edges": [(1, 2)], "start": [(1,)], "blocked": [(5,)]})
    stage.tick()
    stage.set(edges=[(1, 2), (2, 7), (7, 8), (8, 2), (7, 5)], start=[(1,), (6,)], blocked=[])
    stage.tick()
    assert world.rows("reach") == {(node,): 1 for node in (1, 2, 5, 6, 7, 8)}
    stage.set(edges=[(1, 2), (8, 2)], start=[(6,)], blocked=[(6,)])
    stage.tick()
    assert world.rows("reach") == {(6,): 1}


@pytest.mark.parametrize("length", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_long_chain_in_one_batch_is_complete(world: World, length: int) -> None:
    """Design 000 Part 8: Test 3: Convergence within max_iterations"""
    stage = Stage(world, REACH, {"first": [(0, 0)], "edges": [(-2, -1)]}, cap=2000)
    stage.tick()
    chain = [(node, node + 1) for node in range(length)]
    world.append("edges", *({"src": src, "dst": dst} for src, dst in chain))
    result = world.tick()["reach"]
    assert world.rows("reach") == {(node,): 1 for node in range(length + 1)}
    assert (result.mode, result.rows_inserted) == (Mode.DIFFERENTIAL, length)
    assert length <= result.iterations <= length + 2


def test_without_a_change_there_is_no_pass(world: World) -> None:
    stage = Stage(world, SYSTEMS["red and blue"], {"red_edges": [(1, 2)], "blue_edges": [(2, 3)], "start": [(1,)]})
    stage.tick()
    results = stage.tick()
    assert {(result.mode, result.iterations) for result in results.values()} == {(Mode.NO_DATA, 0)}
    # Another snapshot with the same rows is no change either.
    world.replace("red_edges", [{"src": 1, "dst": 2}])
    results = stage.tick()
    assert {(result.mode, result.iterations) for result in results.values()} == {(Mode.NO_DATA, 0)}


def test_from_nothing_to_nothing(world: World) -> None:
    stage = Stage(world, SYSTEMS["linear closure"], {"edges": []})
    stage.tick()
    stage.set(edges=[(1, 2), (2, 1)])
    assert stage.tick()["closure"].rows_inserted == 4
    stage.set(edges=[])
    assert stage.tick()["closure"].rows_deleted == 4


def test_two_members_that_meet_in_different_passes_derive_a_row(world: World) -> None:
    """One is ahead of the other by no to three passes: what the reader has seen of it is old, and still there."""
    number = pa.schema([("x", pa.int64())])
    ahead, length = range(4), 6
    world.source("p_start", number, [{"x": 100 * lag} for lag in ahead])
    world.source("q_start", number, [{"x": 100 * lag + lag} for lag in ahead])
    steps = [{"x": 100 * lag + at, "y": 100 * lag + at + 1} for lag in ahead for at in range(length)]
    world.source("steps", pa.schema([("x", pa.int64()), ("y", pa.int64())]), steps)
    walk = "SELECT x FROM {0}_start UNION SELECT s.y FROM {0} JOIN steps AS s ON s.x = {0}.x UNION SELECT x FROM r"
    world.define({"p": walk.format("p"), "q": walk.format("q"), "r": "SELECT q.x FROM q JOIN p ON q.x = p.x"})
    world.yaml.write_text(world.yaml.read_text() + "allow_circular: true\n")
    world.tick()
    assert world.rows("p") == {(100 * lag + at,): 1 for lag in ahead for at in range(length + 1)}
    both = {(100 * lag + at,): 1 for lag in ahead for at in range(lag, length + 1)}
    assert world.rows("q") == world.rows("r") == both
