"""Units of refresh."""

from __future__ import annotations

import pytest
from hypothesis import given

from airflow_trickle.analysis.components import components
from airflow_trickle.analysis.groups import find_groups
from airflow_trickle.analysis.units import Unit, UnitKind, units
from tests.analysis.graphs import graphs, read_of, shuffled


def of(text, *groups):
    reads = read_of(text)
    return units(components(reads), reads, groups)


def all_of(reads):
    order = components(reads)
    return units(order, reads, [group.members for group in find_groups(order, reads)])


def test_tables_without_groups_are_units_of_their_own():
    """Design 004 Step 7: test_diamond_linear_unaffected"""
    assert of("s>a a>b") == (Unit(UnitKind.TABLE, ("a",), ()), Unit(UnitKind.TABLE, ("b",), (0,)))


def test_a_cycle_is_one_unit():
    assert of("s>a a>b b>ac") == (Unit(UnitKind.CYCLE, ("a", "b"), ()), Unit(UnitKind.TABLE, ("c",), (0,)))


def test_a_self_loop_is_a_cycle_of_one_table():
    assert of("s>a a>a") == (Unit(UnitKind.CYCLE, ("a",), ()),)


def test_a_group_is_one_unit_in_the_order_of_its_refresh():
    assert of("s>z z>cb c>a b>a a>d", "abc") == (
        Unit(UnitKind.TABLE, ("z",), ()),
        Unit(UnitKind.GROUP, ("b", "c", "a"), (0,)),
        Unit(UnitKind.TABLE, ("d",), (1,)),
    )


def test_a_cycle_inside_a_group_stays_together():
    assert of("s>bc b>x x>b x>d c>d", "bcd") == (Unit(UnitKind.GROUP, ("b", "x", "c", "d"), ()),)


def test_a_group_of_one_table_is_a_table_and_an_empty_one_is_nothing():
    assert of("s>a", "a", "") == (Unit(UnitKind.TABLE, ("a",), ()),)


def test_upstream_units_are_the_direct_ones_once_each_and_in_order():
    found = of("s>ab a>c b>c a>d c>d", "cd")
    assert found[2] == Unit(UnitKind.GROUP, ("c", "d"), (0, 1))
    assert of("s>a a>b b>c")[2].upstream == (1,)


def test_units_that_are_ready_at_once_are_in_order_of_their_first_table():
    assert [unit.tables for unit in of("s>adb a>c", "ac")] == [("a", "c"), ("b",), ("d",)]


def test_groups_that_are_not_convex_are_refused():
    with pytest.raises(ValueError, match="read each other in a circle"):
        of("s>a a>b b>c", "ac")


@given(graphs(most=14))
def test_every_unit_graph_is_topological_and_complete(reads):
    found = all_of(reads)
    home = {table: at for at, unit in enumerate(found) for table in unit.tables}
    assert sorted(home) == sorted(reads)
    assert sum(len(unit.tables) for unit in found) == len(reads)
    for at, unit in enumerate(found):
        above = {home[name] for table in unit.tables for name in reads[table] if name in home} - {at}
        assert unit.upstream == tuple(sorted(above))
        assert all(other < at for other in above)


@given(graphs(most=14))
def test_tables_of_a_unit_are_upstream_first_but_for_cycles(reads):
    cyclic = {table: part for part in components(reads) for table in part.members}
    for unit in all_of(reads):
        for at, table in enumerate(unit.tables):
            later = set(unit.tables[at + 1 :]) - set(cyclic[table].members)
            assert later.isdisjoint(reads[table])


@given(graphs(most=14))
def test_units_do_not_depend_on_the_order_of_the_input(reads):
    assert all_of(shuffled(reads)) == all_of(reads)
