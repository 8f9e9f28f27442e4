"""Who goes on though a table it reads was not refreshed."""

from __future__ import annotations

from airflow_trickle.plan.tolerance import tolerated


def test_all_tables_of_a_cycle_go_on_where_one_of_them_does() -> None:
    """Only y reads the arms b and c; x and y are refreshed together."""
    reads = {"b": ["s"], "c": ["s"], "x": ["y"], "y": ["x", "b", "c"], "z": ["x"]}
    for order in ("bcxyz", "bcyxz"):
        found = tolerated(order, reads, [["b", "c", "y"]])
        assert found["x"] == ("b", "c", "y")
        assert found["y"] == ("b", "c")
        assert found["z"] == ("b", "c", "y")


def test_what_is_no_member_of_a_loose_diamond_is_waited_for() -> None:
    reads = {"a": ["s"], "b": ["a"], "c": ["a"], "d": ["b", "c", "e"], "e": ["s"]}
    assert tolerated("aebcd", reads, [["b", "c", "d"]])["d"] == ("b", "c")
