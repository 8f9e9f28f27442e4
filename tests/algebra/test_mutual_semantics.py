"""The stream tables of a decomposition hold what the query means; SQLite and plain sets are the judges."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_trickle.algebra.decompose import Decomposition, decompose
from airflow_trickle.algebra.mutual_recursion import mutual_groups

Edge = tuple[int, int]
Rows = frozenset[tuple[int, ...]]

COLOURS = """
WITH RECURSIVE
  red(n) AS (
    SELECT dst FROM red_edges WHERE src = 1
    UNION
    SELECT red_edges.dst FROM blue JOIN red_edges ON blue.n = red_edges.src  -- after a blue edge
  ),
  blue(n) AS (SELECT e.dst FROM red AS r JOIN blue_edges e ON r.n = e.src)
SELECT 'red', n FROM red UNION ALL SELECT 'blue', blue.n FROM blue
"""


def settled(found: Decomposition, edges: Mapping[str, Iterable[Edge]]) -> dict[str, Rows]:
    """What each member holds when all begin empty and are recomputed from each other until nothing changes."""
    database = sqlite3.connect(":memory:")
    for name, rows in edges.items():
        database.execute(f"CREATE TABLE {name} (src INTEGER, dst INTEGER)")
        database.executemany(f"INSERT INTO {name} VALUES (?, ?)", sorted(set(rows)))
    *circle, last = found.members
    for member in circle:
        database.execute(f"CREATE TABLE {member.name} (n INTEGER)")
    now: dict[str, Rows] = {member.name: frozenset() for member in circle}
    while True:
        new = {member.name: frozenset(database.execute(member.query)) for member in circle}
        if new == now:
            return {**now, last.name: frozenset(database.execute(last.query))}
        assert all(now[name] <= new[name] for name in now)
        now = new
        for name, rows in now.items():
            database.execute(f"DELETE FROM {name}")
            database.executemany(f"INSERT INTO {name} VALUES (?)", sorted(rows))


def decomposed(text: str, table: str) -> Decomposition:
    found = decompose(text, table, ())
    assert found is not None
    assert found.problems == ()
    return found


def alternating(first: set[Edge], second: set[Edge]) -> tuple[set[int], set[int]]:
    """Nodes reached from 1 by edges of two colours in turn: by the first colour last, by the second last."""
    reached: tuple[set[int], set[int]] = (set(), set())
    waiting = [(1, 0)]
    while waiting:
        node, colour = waiting.pop()
        for source, target in (first, second)[colour]:
            if source == node and target not in reached[colour]:
                reached[colour].add(target)
                waiting.append((target, 1 - colour))
    return reached


def test_red_and_blue_reachability():
    """Design 002 §8.2: test_mutual_recursion_bidirectional_reachability"""
    found = settled(
        decomposed(COLOURS, "reach"),
        {"red_edges": [(1, 2), (3, 4), (5, 6)], "blue_edges": [(2, 3), (4, 5)]},
    )
    assert found["reach__red"] == {(2,), (4,), (6,)}
    assert found["reach__blue"] == {(3,), (5,)}
    assert found["reach"] == {("red", 2), ("red", 4), ("red", 6), ("blue", 3), ("blue", 5)}


EDGES = st.sets(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=10)


@given(EDGES, EDGES)
def test_red_and_blue_reachability_of_any_graph(red, blue):
    """Design 002 §8.3: test_mutual_recursion_matches_ground_truth"""
    found = settled(decomposed(COLOURS, "reach"), {"red_edges": red, "blue_edges": blue})
    by_red, by_blue = alternating(red, blue)
    assert found["reach__red"] == {(node,) for node in by_red}
    assert found["reach__blue"] == {(node,) for node in by_blue}


@st.composite
def recursions(draw: st.DrawFn) -> tuple[dict[int, set[int]], set[int], dict[str, set[Edge]]]:
    """Which CTE reads which, which have a base case, and a table of edges for each."""
    numbers = range(draw(st.integers(2, 5)))
    reads = {number: draw(st.sets(st.sampled_from(numbers), max_size=3)) for number in numbers}
    # Without a base case a CTE must read another: SQLite knows no CTE that only reads itself.
    based = {number for number in numbers if draw(st.booleans()) or not reads[number] - {number}}
    return reads, based, {f"e{number}": draw(EDGES) for number in numbers}


def query_of(reads: Mapping[int, set[int]], based: set[int]) -> str:
    ctes = []
    for number, others in reads.items():
        edges = f"e{number}"
        branches = [f"SELECT dst FROM {edges} WHERE src = 1"] if number in based else []
        for other in sorted(others, key=lambda one: (one == number, one)):
            branches.append(f"SELECT {edges}.dst FROM c{other} JOIN {edges} ON c{other}.n = {edges}.src")
        ctes.append(f"c{number}(n) AS ({' UNION '.join(branches)})")
    results = (f"SELECT {number}, n FROM c{number}" for number in reads)
    return f"WITH RECURSIVE {', '.join(ctes)} {' UNION ALL '.join(results)}"


def least(reads: Mapping[int, set[int]], based: set[int], edges: Mapping[str, set[Edge]]) -> dict[int, set[int]]:
    reached: dict[int, set[int]] = {number: set() for number in reads}
    while True:
        new = {
            number: {
                target
                for source, target in edges[f"e{number}"]
                if (number in based and source == 1) or any(source in reached[other] for other in reads[number])
            }
            for number in reads
        }
        if new == reached:
            return reached
        reached = new


def never_begins(group: set[int], reads: Mapping[int, set[int]], based: set[int]) -> bool:
    return not group & based and all(reads[number] <= group for number in group)


@given(recursions())
def test_any_mixture_of_recursions_means_the_same_in_pieces(recursion):
    reads, based, edges = recursion
    text = query_of(reads, based)
    groups = [{int(name[1:]) for name in group} for group in mutual_groups(text)]
    assume(groups)
    found = decompose(text, "t", ())
    assert found is not None
    if any(never_begins(group, reads, based) for group in groups):
        assert len(found.problems) == sum(never_begins(group, reads, based) for group in groups)
        return
    assert found.problems == ()
    tables = settled(found, edges)
    expected = least(reads, based, edges)
    assert tables["t"] == {(number, node) for number, nodes in expected.items() for node in nodes}
    for number in (number for group in groups for number in group):
        assert tables[f"t__c{number}"] == {(node,) for node in expected[number]}
