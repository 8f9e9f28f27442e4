"""Diamonds in a graph of tables."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.analysis.diamonds import find_diamonds


def groups(**inputs):
    return find_diamonds(list(inputs), inputs)


def test_two_paths_that_meet_are_a_diamond():
    assert groups(a=["s"], b=["s"], c=["a", "b"]) == [("a", "b", "c")]


def test_a_short_cut_past_a_table_is_a_diamond():
    assert groups(a=["s"], b=["s", "a"]) == [("a", "b")]


def test_paths_from_different_roots_are_none():
    assert groups(a=["s"], b=["t"], c=["a", "b"]) == []


def test_a_chain_and_a_fan_are_none():
    assert groups(a=["s"], b=["a"], c=["b"], d=["a"]) == []


def test_reading_one_table_twice_is_none():
    assert groups(a=["s"], b=["a", "a"]) == []


def test_tables_above_and_below_are_left_out():
    assert groups(top=["s"], a=["top"], b=["top"], c=["a", "b"], below=["c"]) == [("a", "b", "c")]


def test_long_arms_belong_to_it():
    assert groups(a=["s"], a2=["a"], b=["s"], c=["a2", "b"]) == [("a", "a2", "b", "c")]


def test_overlapping_ones_merge_and_others_stay_apart():
    assert groups(a=["s"], b=["s"], c=["s"], d=["a", "b"], e=["b", "c"], x=["t"], y=["t"], z=["x", "y"]) == [
        ("a", "b", "c", "d", "e"),
        ("x", "y", "z"),
    ]


GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.tuples(*(st.sets(st.integers(-2, number - 1), min_size=1, max_size=4) for number in range(size)))
)


def _brute_force(inputs):
    """Convergence tables: two different inputs that both depend on, or are, one ancestor."""

    def above(name):
        return {name} | {one for up in inputs.get(name, ()) for one in above(up)}

    return {
        table
        for table, ups in inputs.items()
        if any(above(one) & above(other) for one in ups for other in ups if one < other)
    }


@given(GRAPHS)
def test_every_table_where_paths_meet_is_in_one_group(edges):
    inputs = {f"t{number}": sorted(f"t{up}" if up >= 0 else f"s{up}" for up in ups) for number, ups in enumerate(edges)}
    found = find_diamonds(list(inputs), inputs)
    members = [name for group in found for name in group]
    assert len(members) == len(set(members))
    meeting = _brute_force(inputs)
    assert meeting <= set(members)
    # Each group has a table where paths meet, and no source.
    assert all(set(group) & meeting for group in found)
    assert set(members) <= set(inputs)


def test_a_lattice_is_quick():
    inputs = {}
    for layer in range(100):
        for place in range(20):
            inputs[f"{layer}_{place}"] = [f"{layer - 1}_{other}" for other in range(20)] if layer else ["s"]
    start = time.process_time()
    assert len(find_diamonds(list(inputs), inputs)) == 1
    assert time.process_time() - start < 10
