"""Strongly connected components of a graph of tables."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given

from airflow_trickle.analysis.components import Component, components, cycle_through, shortest_cycle
from tests.analysis.graphs import graphs, reachable, read_of, shuffled


def members(text):
    return [part.members for part in components(read_of(text))]


def test_scc_without_cycles_is_one_component_per_table():
    """Design 000 Part 1: test_scc_no_cycles"""
    found = components({"a": ["s"], "b": ["a"], "c": ["b", "a"]})
    assert found == (Component(("a",), False), Component(("b",), False), Component(("c",), False))


def test_scc_of_a_simple_cycle_is_one_component():
    """Design 000 Part 1: test_scc_simple_cycle"""
    assert components({"b": ["a"], "a": ["b", "s"]}) == (Component(("a", "b"), True),)


def test_scc_of_a_mixed_graph_are_two_cycles_and_the_table_between():
    """Design 000 Part 1: test_scc_mixed"""
    assert members("a>b b>ac c>d d>e e>d") == [("a", "b"), ("c",), ("d", "e")]


def test_scc_of_a_self_loop_is_one_cyclic_table():
    """Design 000 Part 1: test_scc_self_loop"""
    assert components({"a": ["a", "s"], "b": ["a"]}) == (Component(("a",), True), Component(("b",), False))


def test_tables_that_are_ready_at_once_are_in_order_of_name():
    # c and a are ready at first; b only after c.
    assert members("s>ca c>b a>d") == [("a",), ("c",), ("b",), ("d",)]


def test_sources_and_an_empty_graph_have_no_components():
    assert components({}) == ()
    assert members("s>a") == [("a",)]


def test_the_shortest_cycle_begins_and_ends_with_the_first_member():
    reads = {"d": ["b"], "b": ["c", "a"], "c": ["d"], "a": ["d"]}
    assert shortest_cycle(["d", "c", "b", "a"], reads) == ["a", "d", "b", "a"]


def test_of_two_shortest_cycles_the_first_by_name_is_shown():
    assert shortest_cycle("abc", {"a": ["c", "b"], "b": ["a"], "c": ["a"]}) == ["a", "b", "a"]


def test_a_self_loop_is_a_cycle_of_one_step():
    assert shortest_cycle(["a"], {"a": ["s", "a"]}) == ["a", "a"]
    assert cycle_through(["a"], {"a": ["a"]}, "a", "a") == ["a", "a"]


def test_a_table_that_does_not_depend_on_itself_has_no_cycle():
    with pytest.raises(ValueError, match="no way leads from nowhere to a"):
        shortest_cycle(["a"], {"a": ["s"]})
    with pytest.raises(ValueError, match="no way leads from b to a"):
        cycle_through(["a", "b"], {"a": ["b"], "b": ["s"]}, "a", "b")


def test_a_cycle_through_an_edge_begins_with_that_edge():
    reads = {"a": ["b", "c"], "b": ["a"], "c": ["d"], "d": ["a", "out"], "out": []}
    assert cycle_through("abcd", reads, "a", "c") == ["a", "c", "d", "a"]
    assert cycle_through("abcd", reads, "d", "a") == ["d", "a", "c", "d"]


def test_thousands_of_tables_in_one_cycle_are_one_component():
    tables = [f"t{number:04}" for number in range(4000)]
    reads = {table: [tables[(at + step * 7 - 1) % 4000] for step in range(20)] for at, table in enumerate(tables)}
    (part,) = components(reads)
    assert part.members == tuple(tables)
    # One read six tables on, and back in steps of one.
    assert shortest_cycle(part.members, reads) == ["t0000", *tables[6::-1]]


@given(graphs())
def test_components_are_the_tables_that_reach_each_other(reads):
    reached = reachable(reads)
    for part in components(reads):
        first = part.members[0]
        both_ways = {other for other in reads if other in reached[first] and first in reached[other]}
        assert part.members == tuple(sorted(both_ways | {first}))
        assert part.cyclic == (first in reached[first])


@given(graphs())
def test_the_condensation_order_is_topological(reads):
    """Design 000 Part 1: test_condensation_order_is_topological"""
    done = set()
    for part in components(reads):
        done.update(part.members)
        assert {name for table in part.members for name in reads[table] if name in reads} <= done
    assert done == set(reads)


@given(graphs())
def test_the_order_does_not_depend_on_the_order_of_the_input(reads):
    assert components(shuffled(reads)) == components(reads)


@given(graphs())
def test_cycles_follow_the_reads_and_are_simple(reads):
    for part in components(reads):
        if part.cyclic:
            first = part.members[0]
            inside = [name for name in reads[first] if name in part.members]
            through = [cycle_through(part.members, reads, first, name) for name in inside]
            shortest = shortest_cycle(part.members, reads)
            assert shortest in through
            assert len(shortest) == min(map(len, through))
            for path in through:
                assert path[0] == path[-1] == first
                assert len(set(path)) == len(path) - 1
                assert set(path) <= set(part.members)
                assert all(name in reads[table] for table, name in pairwise(path))
