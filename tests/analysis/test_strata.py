"""Strata of a graph of tables."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.analysis.components import components
from airflow_trickle.analysis.strata import EdgeType, assign_strata
from tests.analysis.graphs import graphs

PLUS, MINUS = EdgeType.MONOTONE, EdgeType.NON_MONOTONE


def strata(**edges):
    return assign_strata(components(edges), edges)


def test_a_linear_chain_of_monotone_edges_is_all_stratum_0():
    """Design 001 §9.1: test_assign_strata_linear_chain"""
    found = strata(a={"s": PLUS}, b={"a": PLUS}, c={"b": PLUS})
    assert found.level == {"a": 0, "b": 0, "c": 0}
    assert found.broken == ()


def test_a_non_monotone_edge_lifts_its_reader_by_one():
    """Design 001 §9.1: test_assign_strata_non_monotone_edge"""
    assert strata(a={"s": PLUS}, b={"a": PLUS}, c={"b": MINUS}).level == {"a": 0, "b": 0, "c": 1}


def test_a_diamond_with_mixed_edges_is_as_high_as_its_higher_arm():
    """Design 001 §9.1: test_assign_strata_diamond_with_mixed_edges"""
    found = strata(a={"s": PLUS}, b={"a": PLUS}, c={"a": MINUS}, d={"b": PLUS, "c": PLUS})
    assert found.level == {"a": 0, "b": 0, "c": 1, "d": 1}


def test_a_non_monotone_cycle_is_unstratifiable():
    """Design 001 §9.1: test_assign_strata_non_monotone_cycle_is_unstratifiable"""
    found = strata(a={"s": PLUS, "b": MINUS}, b={"a": PLUS})
    assert found.broken == (("a", "b"),)
    assert found.level == {"a": 0, "b": 0}


def test_a_monotone_cycle_is_one_stratum():
    """Design 001 §9.1: test_assign_strata_monotone_cycle_ok"""
    found = strata(a={"s": PLUS, "b": PLUS}, b={"a": PLUS})
    assert found.broken == ()
    assert found.level == {"a": 0, "b": 0}


def test_a_table_that_subtracts_itself_is_unstratifiable():
    assert strata(a={"a": MINUS}).broken == (("a", "a"),)


def test_a_source_read_through_a_non_monotone_edge_lifts_too():
    assert strata(a={"s": MINUS}, b={"a": MINUS}).level == {"a": 1, "b": 2}


def test_a_cycle_is_as_high_as_the_highest_that_one_of_its_members_needs():
    found = strata(a={"s": MINUS}, b={"a": MINUS, "c": PLUS}, c={"b": PLUS, "s": PLUS})
    assert found.level == {"a": 1, "b": 2, "c": 2}


def test_a_table_without_known_edges_is_stratum_0():
    assert assign_strata(components({"a": []}), {}).level == {"a": 0}


@st.composite
def typed_graphs(draw):
    reads = draw(graphs())
    return {table: {name: draw(st.sampled_from(EdgeType)) for name in names} for table, names in reads.items()}


@given(typed_graphs())
def test_strata_are_the_lowest_that_every_edge_allows(edges):
    order = components(edges)
    found = assign_strata(order, edges)
    home = {table: part for part in order for table in part.members}
    rules = [
        (table, name, int(kind is MINUS and home.get(name) is not home[table]))
        for table, names in edges.items()
        for name, kind in names.items()
    ]
    # Every edge is respected ...
    assert all(found.level[table] >= found.level.get(name, 0) + step for table, name, step in rules)
    # ... and the least fixed point over the tables, one edge at a time, is nowhere lower.
    lowest = dict.fromkeys(edges, 0)
    while any(lowest[table] < lowest.get(name, 0) + step for table, name, step in rules):
        for table, name, step in rules:
            lowest[table] = max(lowest[table], lowest.get(name, 0) + step)
    assert found.level == lowest


@given(typed_graphs())
def test_broken_edges_are_the_non_monotone_ones_inside_a_component(edges):
    order = components(edges)
    inside = {(one, other) for part in order for one in part.members for other in part.members}
    minus = {(table, name) for table, names in edges.items() for name, kind in names.items() if kind is MINUS}
    assert assign_strata(order, edges).broken == tuple(sorted(inside & minus))


@given(typed_graphs())
def test_strata_do_not_depend_on_the_order_of_the_input(edges):
    backwards = {table: dict(list(edges[table].items())[::-1]) for table in list(edges)[::-1]}
    found, other = assign_strata(components(edges), edges), assign_strata(components(backwards), backwards)
    assert (list(found.level.items()), found.broken) == (list(other.level.items()), other.broken)
