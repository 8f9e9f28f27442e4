"""Cases of the design documents that stand nowhere else, several to a tick."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline, TickFailed
from airflow_trickle.engine.steer import drop
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from tests.engine.world import World

NUMBERS = pa.schema([("x", pa.int64())])
EDGES = pa.schema([("src", pa.int64()), ("dst", pa.int64())])

TABLES = {
    # Recursion that subtracts itself; the minimum of what the last pass brought is not that of all.
    "minus": """
        WITH RECURSIVE r(x) AS (
          SELECT x FROM seeds UNION (SELECT x + 1 FROM r WHERE x < 9 EXCEPT SELECT x * 2 FROM r)
        ) SELECT x FROM r""",
    "least_first": """
        WITH RECURSIVE r(x) AS (SELECT x FROM seeds UNION SELECT MIN(x) + 4 FROM r HAVING MIN(x) < 9)
        SELECT x FROM r""",
    # A cycle with EXCEPT on a table outside of it.
    "cut": "SELECT x FROM seeds UNION (SELECT x + 1 AS x FROM cut_peer WHERE x < 9 EXCEPT SELECT x FROM taken)",
    "cut_peer": "SELECT x FROM cut",
    # Inner recursion that reads itself and a peer.
    "reach_red": """
        WITH RECURSIVE cte AS (
          SELECT dst AS target FROM red_edges WHERE src = 1
          UNION
          SELECT e.dst FROM red_edges AS e INNER JOIN reach_blue AS rb ON e.src = rb.target
          WHERE NOT EXISTS (SELECT 1 FROM blocked_edges AS b WHERE b.src = e.src AND b.dst = e.dst)
          UNION
          SELECT e.dst FROM red_edges AS e INNER JOIN cte AS c ON e.src = c.target
        ) SELECT DISTINCT target FROM cte""",
    "reach_blue": """
        WITH RECURSIVE cte AS (
          SELECT dst AS target FROM blue_edges WHERE src = 1
          UNION
          SELECT e.dst AS target FROM blue_edges AS e INNER JOIN reach_red AS rr ON e.src = rr.target
          UNION
          SELECT e.dst AS target FROM blue_edges AS e INNER JOIN cte AS c ON e.src = c.target
        ) SELECT DISTINCT target FROM cte""",
    # CTEs that read each other and have different columns.
    "walk": """
        WITH RECURSIVE
          red(node) AS (SELECT dst FROM red_edges WHERE src = 1 UNION SELECT dst FROM blue),
          blue(src, dst, label) AS (
            SELECT e.src, e.dst, concat(e.src, '-', e.dst) FROM blue_edges AS e JOIN red ON red.node = e.src
          )
        SELECT node, NULL AS label FROM red UNION ALL SELECT dst, label FROM blue""",
    # Members see what those before them have got in the same pass.
    "first": "SELECT x FROM seeds UNION SELECT x FROM second",
    "second": "SELECT x + 1 AS x FROM first WHERE x < 9",
    # The same of plain joins, which are followed in the worker process.
    "go": "SELECT dst AS node FROM chain WHERE src = 0 UNION SELECT node FROM gone",
    "gone": "SELECT e.dst AS node FROM go JOIN chain AS e ON e.src = go.node",
}

Sets = dict[str, set[tuple[object, ...]]]


def settled(step: Callable[[Sets], Sets], *names: str) -> Sets:
    """What a step comes to from empty sets."""
    now: Sets = {name: set() for name in names}
    while (after := step(now)) != now:
        now = after
    return now


def expected(now: Sets) -> Sets:
    """The fixed points, in Python."""
    seeds, taken = now["seeds"], now["taken"]
    red, blue, blocked = now["red_edges"], now["blue_edges"], now["blocked_edges"]

    def beyond(edges: Iterable[tuple[object, ...]], nodes: set[tuple[object, ...]]) -> set[tuple[object, ...]]:
        return {(dst,) for src, dst in edges if (src,) in nodes}

    def step(s: Sets) -> Sets:
        plus = {name: {(x + 1,) for (x,) in s[name] if x < 9} for name in ("minus", "cut_peer", "first")}
        least = min((x for (x,) in s["least_first"]), default=9)
        return {
            "minus": seeds | (plus["minus"] - {(2 * x,) for (x,) in s["minus"]}),
            "least_first": seeds | ({(least + 4,)} if least < 9 else set()),
            "cut": seeds | (plus["cut_peer"] - taken),
            "cut_peer": s["cut"],
            "reach_red": beyond(red, {(1,)} | s["reach_red"]) | beyond(red - blocked, s["reach_blue"]),
            "reach_blue": beyond(blue, {(1,)} | s["reach_red"] | s["reach_blue"]),
            "first": seeds | s["second"],
            "second": plus["first"],
            "go": beyond(now["chain"], {(0,)}) | s["gone"],
            "gone": beyond(now["chain"], s["go"]),
            "red": beyond(red, {(1,)}) | {(dst,) for _, dst, _ in s["blue"]},
            "blue": {(src, dst, f"{src}-{dst}") for src, dst in blue if (src,) in s["red"]},
        }

    found = settled(step, *TABLES, "red", "blue")
    found["walk"] = {(node, None) for (node,) in found["red"]} | {(dst, label) for _, dst, label in found["blue"]}
    return {name: found[name] for name in TABLES}


def test_cases_of_the_designs_with_inserts_deletes_and_blocking(world: World) -> None:
    """Design 001 §4.1.4 and 002 §3.4: inner recursion over a peer; 001 §4.3: recursion that subtracts; 000 part 5.

    The order of 000 part 5 (Gauss-Seidel): `second` sees what `first` has got in the same pass, and `gone` what `go`
    has, so that each pass brings both one number further. If each saw the pass before only, it would take twice as
    many.

    Design 001 §4.1.4: an inner recursion that reads itself and a peer
    Design 001 §9.2: test_stratified_cycle_with_external_except_allowed
    Design 001 §9.2: test_recursive_cte_self_ref_in_except_still_recomputes
    Design 002 §3.4: red and blue, with inserts, deletes and blocking
    """
    now: Sets = {
        "seeds": {(1,), (3,)},
        "taken": {(6,)},
        # 10 and 11 are found in one pass, and lead to each other only.
        "red_edges": {(1, 2), (3, 4), (5, 6), (4, 8), (1, 10), (1, 11), (10, 11), (11, 10)},
        "blue_edges": {(2, 3), (4, 5), (6, 2)},
        "blocked_edges": {(9, 9)},
        "chain": {(number, number + 1) for number in range(8)},
    }
    for name, rows in now.items():
        schema = NUMBERS if name in ("seeds", "taken") else EDGES
        world.source(name, schema, [dict(zip(schema.names, row, strict=True)) for row in sorted(rows)])
    world.define(TABLES, pipeline={"allow_circular": "true"})

    def tick() -> dict[str, tuple[Mode, int]]:
        results = world.tick()
        for name, rows in expected(now).items():
            assert world.rows(name) == Counter(rows), name
        return {name: (one.mode, one.iterations) for name, one in results.items()}

    # 1 and 3, then 2 and 4, … up to 9 in `first`, and a pass without a change.
    begun = tick()
    assert begun["first"] == (Mode.FULL, 8)
    assert begun["go"] == (Mode.FULL, 9)

    world.append("seeds", {"x": 0})
    world.append("red_edges", {"src": 2, "dst": 7}, {"src": 7, "dst": 1})
    world.append("blocked_edges", {"src": 3, "dst": 4})
    now["seeds"] |= {(0,)}
    now["red_edges"] |= {(2, 7), (7, 1)}
    now["blocked_edges"] |= {(3, 4)}
    modes = tick()
    assert {modes[name][0] for name in ("reach_red", "reach_blue", "first", "second")} == {Mode.DIFFERENTIAL}
    assert {modes[name][0] for name in ("minus", "least_first", "cut", "cut_peer")} == {Mode.FULL}

    world.delete("seeds", "x = 3")
    world.delete("taken", "x = 6")
    world.delete("red_edges", "src = 1")
    world.append("red_edges", {"src": 1, "dst": 4})
    world.delete("blocked_edges", "src = 3")
    now["seeds"] -= {(3,)}
    now["taken"] = set()
    now["red_edges"] = now["red_edges"] - {(1, 2), (1, 10), (1, 11)} | {(1, 4)}
    now["blocked_edges"] -= {(3, 4)}
    tick()


MEMBERS = {
    "a": "SELECT x FROM seeds UNION SELECT x FROM b",
    "b": "SELECT x + 1 AS x FROM a WHERE x < 6 AND 10 / (3 - x) < 99",
    "behind": "SELECT count(*) AS n FROM b",
}


def numbers(*values: int) -> Counter[tuple[int, ...]]:
    return Counter((value,) for value in values)


def test_a_cycle_fails_recovers_loses_a_member_and_is_broken_up(world: World) -> None:
    """Design 000 parts 3 and 5: a member that fails ends the pass; dropping a member and an edit recompute cycles.

    Design 000 Part 8: Test 5: Drop member breaks cycle
    """
    world.source("seeds", NUMBERS, [{"x": 4}])
    world.define(MEMBERS, pipeline={"allow_circular": "true"})
    world.tick()
    assert (world.rows("a"), world.rows("b")) == (numbers(4, 5, 6), numbers(5, 6))
    before = {name: world.snapshots(name) for name in MEMBERS}

    # 3 is reached in the third pass, and divides by zero.
    world.append("seeds", {"x": 1})
    with pytest.raises(TickFailed) as raised:
        world.tick()
    assert "zero" in str(raised.value.results["b"].error).lower()
    assert {name: world.snapshots(name) for name in MEMBERS} == before
    assert (world.rows("a"), world.rows("b")) == (numbers(4, 5, 6), numbers(5, 6))
    with open_lakehouse("trickle") as lake:
        assert all(read_status(lake)[f"default.{name}"].error for name in ("a", "b"))

    world.delete("seeds", "x = 1")
    world.append("seeds", {"x": 5})
    results = world.tick()
    assert {results[name].error for name in MEMBERS} == {None}
    assert (world.rows("a"), world.rows("b"), world.rows("behind")) == (numbers(4, 5, 6), numbers(5, 6), numbers(2))

    # A member is dropped: the next tick makes it anew, though nothing else has changed.
    with open_lakehouse("trickle") as lake:
        drop(lake, read_status(lake)["default.b"], force=True)
        assert "default.b" not in read_status(lake)
    assert world.tick()["b"].mode == Mode.FULL
    assert (world.rows("a"), world.rows("b")) == (numbers(4, 5, 6), numbers(5, 6))
    world.append("seeds", {"x": 7})
    world.tick()
    assert (world.rows("a"), world.rows("b")) == (numbers(4, 5, 6, 7), numbers(5, 6))

    # An edit breaks the cycle: its tables are tables like others, and go on from where they are.
    assert {table.name: table.scc_id for table in Pipeline.load(world.yaml).plan.tables}["a"] is not None
    world.define({**MEMBERS, "a": "SELECT x FROM seeds"}, pipeline={"allow_circular": "true"})
    assert {table.scc_id for table in Pipeline.load(world.yaml).plan.tables} == {None}
    world.append("seeds", {"x": 2})
    results = world.tick()
    assert {results[name].iterations for name in ("a", "b")} == {0}
    assert (world.rows("a"), world.rows("b")) == (numbers(2, 4, 5, 7), numbers(3, 5, 6))
    world.delete("seeds", "x = 4")
    world.tick()
    assert (world.rows("a"), world.rows("b"), world.rows("behind")) == (numbers(2, 5, 7), numbers(3, 6), numbers(2))


UNSAFE = {
    # Now there, now not.
    "flips": "SELECT x FROM seeds EXCEPT SELECT x FROM flop",
    "flop": "SELECT x FROM flips",
    # Each number but the neighbours of one that is there: settles, since the neighbours do not change any more.
    "picked": "SELECT x FROM seeds WHERE x < 2 UNION "
    "SELECT x FROM seeds AS s WHERE NOT EXISTS (SELECT 1 FROM picked_before AS p WHERE p.x = s.x - 1)",
    "picked_before": "SELECT x FROM picked WHERE x < 10",
}


def test_cycles_that_are_not_monotone_are_tried_up_to_the_cap(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Design 000 part 4: what settles is published, what does not meets the cap, and neither holds up the other."""
    caplog.set_level(logging.INFO, logger="airflow_trickle")
    world.source("seeds", NUMBERS, [{"x": number} for number in (1, 2, 3, 5)])
    world.define(UNSAFE, pipeline={"allow_circular": "unsafe", "max_fixpoint_iterations": 8})
    with pytest.raises(TickFailed) as raised:
        world.tick()
    results = raised.value.results
    assert {name for name, one in results.items() if one.error} == {"flips", "flop"}
    assert "did not settle within 8 passes" in str(results["flips"].error)
    assert results["flips"].iterations == 8
    assert not world.outside.table_exists("default.flips")
    assert (world.rows("picked"), world.rows("picked_before")) == (numbers(1, 3, 5), numbers(1, 3, 5))
    passes = results["picked"].iterations
    [told] = [record.message for record in caplog.records if "converged after" in record.message]
    assert told == f"cycle_picked converged after {passes} passes."
