"""Consistency groups of diamonds."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given

from airflow_trickle.analysis.components import components
from airflow_trickle.analysis.groups import Group, find_groups
from tests.analysis.graphs import graphs, reachable, read_of, shuffled
from tests.budgets import budget


def found(text):
    reads = read_of(text)
    return find_groups(components(reads), reads)


def members(text):
    return ["".join(group.members) for group in found(text)]


def points(text):
    return ["".join(group.convergence_points) for group in found(text)]


# --- diamonds ---


def test_diamond_simple():
    """Design 004 Step 2: test_detect_diamonds_simple"""
    assert found("A>BC B>D C>D") == (Group(("B", "C", "D"), ("D",)),)


def test_diamond_deep_takes_its_long_arm_along():
    """Design 004 Step 2: test_detect_diamonds_deep"""
    assert found("A>BC B>E E>D C>D") == (Group(("B", "C", "E", "D"), ("D",)),)


def test_diamond_none_in_a_linear_chain():
    """Design 004 Step 2: test_detect_diamonds_none
    Design 004 Step 2: test_detect_diamonds_none_linear
    """
    assert found("A>B B>C C>D") == ()


def test_diamond_none_for_multiple_roots():
    """Design 004 Step 2: test_detect_diamonds_multiple_roots
    Design 004 Step 2: test_detect_diamonds_multiple_roots_no_diamond
    """
    assert found("A>C B>D C>E D>E") == ()


def test_diamond_none_for_multiple_roots_that_are_tables():
    assert find_groups(components({"a": [], "b": [], "c": ["a", "b"]}), {"a": [], "b": [], "c": ["a", "b"]}) == ()


def test_diamonds_overlapping_are_one_group_with_two_convergence_points():
    """Design 004 Step 2: test_detect_diamonds_overlapping"""
    assert found("A>BCX B>D C>DE X>E") == (Group(("B", "C", "D", "X", "E"), ("D", "E")),)


def test_diamond_with_a_short_cut_past_a_table():
    assert found("A>BD B>D") == (Group(("B", "D"), ("D",)),)


def test_diamond_none_for_reading_one_table_twice():
    assert found("A>B B>C B>C") == ()


def test_diamond_none_for_two_branches_that_do_not_meet():
    assert found("s>xy x>a y>a t>xy") == (Group(("x", "y", "a"), ("a",)),)
    # Both read both sources, but no table reads both of them.
    assert found("s>xy t>xy x>a y>b") == ()


def test_diamond_leaves_out_a_shared_prefix_and_what_is_below():
    assert members("s>x x>y y>bc b>v c>v v>w w>z") == ["bcv"]


def test_diamond_through_a_second_source_only_takes_what_descends_from_the_apex():
    # `u` is read by an arm, but leads nowhere else.
    assert members("s>bc t>u u>b b>v c>v") == ["cbv"]


# --- groups ---


def test_group_of_a_simple_diamond_leaves_its_apex_out():
    """Design 004 Step 3: test_groups_simple_diamond"""
    assert members("s>A A>BC B>D C>D") == ["BCD"]


def test_group_singleton_for_non_diamond_tables_is_not_listed():
    """Design 004 Step 3: test_groups_singleton_non_diamond
    Design 004 Step 3: test_consistency_group_is_singleton
    """
    assert members("s>ABC A>D B>E") == []


def test_groups_of_independent_diamonds_are_two():
    """Design 004 Step 3: test_groups_independent_diamonds"""
    assert found("A>BC B>D C>D P>QR Q>S R>S") == (Group(("B", "C", "D"), ("D",)), Group(("Q", "R", "S"), ("S",)))


def test_groups_of_nested_diamonds_merge_over_the_apex():
    """Design 004 Step 3: test_groups_nested_merge"""
    assert found("A>BC B>D C>D D>EF E>G F>G") == (Group(("B", "C", "D", "E", "F", "G"), ("D", "G")),)


def test_groups_merge_over_an_apex_that_becomes_a_member_only_later():
    # The table `g` sorts before `v`: the lower diamond is complete before `d` is in any.
    assert members("s>db d>ef e>g f>g d>v b>v") == ["bdefgv"]


def test_a_diamond_with_an_scc_inside_keeps_the_component_together():
    reads = {"b": ["s", "x"], "x": ["b"], "c": ["s"], "d": ["x", "c"]}
    assert find_groups(components(reads), reads) == (Group(("b", "x", "c", "d"), ("d",)),)


def test_ways_that_meet_in_an_scc_make_all_its_members_convergence_points():
    reads = {"b": ["s"], "c": ["s"], "d": ["b", "e"], "e": ["c", "d"]}
    assert find_groups(components(reads), reads) == (Group(("b", "c", "d", "e"), ("d", "e")),)


def test_a_lone_scc_is_no_group():
    reads = {"a": ["s", "b"], "b": ["s", "a", "t"], "c": ["a", "b"]}
    assert find_groups(components(reads), reads) == ()


def test_a_three_diamond_chain_takes_the_table_between_two_members_for_convex_closure():
    # Diamonds at p (over a and b), q (over b and c) and r (over c and d) are one group. The table m is in no diamond,
    # but reads a and is read by d: the group can be neither before nor after it.
    (group,) = found("w>ab a>p b>p x>bc b>q c>q y>cd c>r d>r a>m m>d")
    assert set(group.members) == set("abcdpqrm")
    assert group.convergence_points == ("p", "q", "r")
    # Without that way back it stays out.
    assert [set(names) for names in members("w>ab a>p b>p x>bc b>q c>q y>cd c>r d>r a>m")] == [set("abcdpqr")]


def test_two_groups_that_read_each_other_become_one():
    assert [set(names) for names in members("s>ab a>b t>xy x>y a>y")] == [set("ab"), set("xy")]
    assert [set(names) for names in members("s>ab a>b t>xy x>y a>y x>b")] == [set("abxy")]


def test_a_group_does_not_merge_with_one_above_that_feeds_it_through_one_table():
    # Both ways up from v come through p before they come to a.
    assert members("s>ab a>b a>p t>pq p>q p>x x>v q>v") == ["ab", "pqxv"]


def test_sources_between_names_of_tables_make_no_difference():
    reads = {"b": ["z"], "c": ["z", "a"], "d": ["b", "c"]}
    assert find_groups(components(reads), reads) == (Group(("b", "c", "d"), ("d",)),)


@pytest.mark.parametrize("width", [3, 20])
def test_a_lattice_of_thousands_of_tables_is_one_group(width):
    layers = [[f"{layer:03}_{place:02}" for place in range(20)] for layer in range(200)]
    reads = {name: ["s"] for name in layers[0]}
    for upper, lower in pairwise(layers):
        reads |= {name: [upper[(place + step) % 20] for step in range(width)] for place, name in enumerate(lower)}
    order = components(reads)
    assert find_groups(order, reads) == (Group(tuple(sorted(reads)), tuple(sorted(reads))[20:]),)


def test_a_long_chain_of_diamonds_is_one_group():
    reads = {}
    for number in range(1000):
        top = f"{number - 1:04}d" if number else "s"
        reads |= {f"{number:04}b": [top], f"{number:04}c": [top], f"{number:04}d": [f"{number:04}b", f"{number:04}c"]}
    (group,) = find_groups(components(reads), reads)
    assert group.members == tuple(sorted(reads))
    assert group.convergence_points == tuple(name for name in sorted(reads) if name.endswith("d"))


# --- against brute force ---


def _paths(edges, start, end):
    if start == end:
        yield (end,)
    for following in edges.get(start, ()):
        for path in _paths(edges, following, end):
            yield (start, *path)


def _diamonds(edges, nodes):
    """Apex, convergence and members of every two ways that share nothing in between."""
    for apex in nodes:
        for end in nodes - {apex}:
            inner = [frozenset(path[1:-1]) for path in _paths(edges, apex, end)]
            for one, other in combinations(inner, 2):
                if not one & other:
                    yield apex, end, one | other | {end}


def _merged(diamonds):
    groups = [({apex}, set(inner)) for apex, _, inner in diamonds]
    merged = True
    while merged:
        merged = False
        for one, other in combinations(groups, 2):
            if one[1] & other[1] or one[0] & other[1] or other[0] & one[1]:
                groups.remove(one)
                groups.remove(other)
                groups.append((one[0] | other[0], one[1] | other[1]))
                merged = True
                break
    return [inner for _, inner in groups]


def _convex(groups, edges, nodes):
    label = {node: node for node in nodes}
    for group in groups:
        label |= dict.fromkeys(group, min(group))
    quotient = {one: set() for one in label.values()}
    for node in nodes:
        quotient[label[node]] |= {label[below] for below in edges.get(node, ())} - {label[node]}
    reached = reachable(quotient)
    both_ways = {one: {other for other in reached[one] if one in reached[other]} | {one} for one in quotient}
    closed = {node: min(both_ways[one]) for node, one in label.items()}
    return {frozenset(node for node in nodes if closed[node] == one) for one in closed.values()}


def brute_force(reads):
    """Groups and convergence points, both as sets of tables, by the definition."""
    order = components(reads)
    home = {table: part.members for part in order for table in part.members}
    edges = {}
    for table, names in reads.items():
        for name in names:
            if home.get(name) != home[table]:
                edges.setdefault(home.get(name, (name,)), set()).add(home[table])
    nodes = {*home.values(), *edges}
    diamonds = list(_diamonds(edges, nodes))
    groups = {group for group in _convex(_merged(diamonds), edges, nodes) if len(group) > 1}
    return (
        {frozenset(table for part in group for table in part) for group in groups},
        {table for _, end, _ in diamonds for table in end},
    )


@budget(3)
@given(graphs())
def test_groups_are_those_of_the_definition(reads):
    groups = find_groups(components(reads), reads)
    expected, meeting = brute_force(reads)
    assert {frozenset(group.members) for group in groups} == expected
    assert {table for group in groups for table in group.convergence_points} == meeting


@given(graphs(most=14))
def test_groups_have_no_table_in_common_and_keep_the_order_and_components(reads):
    order = components(reads)
    place = {table: at for at, table in enumerate(table for part in order for table in part.members)}
    groups = find_groups(order, reads)
    listed = [table for group in groups for table in group.members]
    assert len(listed) == len(set(listed))
    assert [group.members[0] for group in groups] == sorted((group.members[0] for group in groups), key=place.get)
    for group in groups:
        assert list(group.members) == sorted(group.members, key=place.get)
        assert list(group.convergence_points) == sorted(group.convergence_points, key=place.get)
        assert set(group.convergence_points) <= set(group.members)
        assert all(len({*part.members} & {*group.members}) in (0, len(part.members)) for part in order)


@given(graphs(most=14))
def test_groups_do_not_depend_on_the_order_of_the_input(reads):
    assert find_groups(components(shuffled(reads)), shuffled(reads)) == find_groups(components(reads), reads)
