"""The fixed point on Arrow tables, judged by plain Python: from nothing, and from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle.engine.delta.context import Column
from airflow_trickle.engine.fixpoint.conjunction import Atom, Conjunction
from airflow_trickle.engine.fixpoint.machine import Machine, NotSettled
from airflow_trickle.engine.fixpoint.near import NearMachine
from airflow_trickle.engine.fixpoint.near_outside import Change
from airflow_trickle.engine.fixpoint.near_rows import NearRows
from airflow_trickle.engine.fixpoint.retract import TooManyGone
from tests import budgets

Edges = set[tuple[int, int]]
NODES = range(5)


def atom(of: str, *variables: int) -> Atom:
    """A relation of a rule; `e` is the table outside."""
    views: Any = None
    return Atom(("a", "b"), (0, 1), variables, None if of == "e" else of, views)


#: What is reached in any number of steps, by pairs of ways: all that two rows give together.
PAIRS = {"r": [Conjunction((atom("e", 0, 1),), (0, 1)), Conjunction((atom("r", 0, 1), atom("r", 1, 2)), (0, 2))]}
#: The same one step at a time, over two tables in turns.
TURNS = {
    "r": [Conjunction((atom("e", 0, 1),), (0, 1)), Conjunction((atom("s", 0, 1), atom("e", 1, 2)), (0, 2))],
    "s": [Conjunction((atom("r", 0, 1),), (0, 1))],
}
Rules = Mapping[str, Sequence[Conjunction]]


def table(edges: Edges) -> pa.Table:
    columns = [pa.array([edge[at] for edge in sorted(edges)], pa.int64()) for at in range(2)]
    return pa.table(columns, names=["c0", "c1"])


@dataclass
class Outside:
    """The only table outside, and how it changes."""

    rules: Rules
    edges: Edges
    before: Edges = field(default_factory=set)
    nbytes: int = 0

    def computed(self, _key: str) -> list[pa.Table]:
        return []

    def read_tables(self) -> None: ...

    def table(self, _atom: Atom) -> pa.Table:
        return table(self.edges)

    def changes(self, _change: Any) -> dict[int, Change]:
        change = Change(table(self.edges - self.before), table(self.before - self.edges))
        atoms = (one for rules in self.rules.values() for rule in rules for one in rule.atoms)
        return {id(one): change for one in atoms if one.member is None}

    def moved_elsewhere(self, _change: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {}

    def given(self) -> dict[str, pa.Table]:
        return {key: table(set()) for key in self.rules}


def machine_of(rules: Rules, edges: Edges, old: NearMachine | None = None, cap: int = 100) -> NearMachine:
    """A machine for some edges; with the one before, for the change of its edges."""
    rows = {}
    for key, those in rules.items():
        reads = {member for rule in those for member in rule.members}
        rows[key] = SimpleNamespace(
            member=SimpleNamespace(key=key, name=key, reads=reads),
            columns=[Column("a", "bigint"), Column("b", "bigint")],
            bench=SimpleNamespace(give=lambda _rows: "view"),
            forget=lambda: None,
            parts=[],
            gone=[],
        )
    anything: Any = None
    change: Any = None if old is None else "changed"
    plain: Any = rows
    machine = Machine(anything, {}, plain, anything, change, cap, rank=0 if old is None else old.machine.rank)
    here = {key: NearRows(plain[key], None if old is None else old.rows[key].now) for key in rules}
    outside: Any = Outside(rules, edges, set() if old is None else vars(old.outside)["edges"])
    return NearMachine(machine, rules, here, outside)


def found(near: NearMachine, key: str = "r") -> Edges:
    return {(row["c0"], row["c1"]) for row in near.rows[key].now.to_pylist()}


def closure(edges: Edges) -> Edges:
    reached: Edges = set()
    more = set(edges)
    while more - reached:
        reached |= more
        more = {(a, d) for a, b in reached for c, d in reached if b == c}
    return reached


@pytest.mark.seeded
@pytest.mark.parametrize("rules", [PAIRS, TURNS], ids=["pairs", "turns"])
def test_after_every_change_the_rows_are_those_of_the_fixed_point(rules: Rules) -> None:
    chance, refreshed = budgets.chance("fixed points on Arrow"), 0
    for _ in range(budgets.rounds(60)):
        edges = some_edges(chance)
        near = machine_of(rules, edges)
        assert near.settle() is None
        assert found(near) == closure(edges)
        for _ in range(4):
            edges = edges ^ {(chance.choice(NODES), chance.choice(NODES)) for _ in range(chance.randint(1, 2))}
            after = machine_of(rules, edges, near)
            try:
                after.settle()
                refreshed += 1
            except TooManyGone:
                after = machine_of(rules, edges)
                after.settle()
            near = after
            assert found(near) == closure(edges)
            assert all(found(near, key) == closure(edges) for key in rules)
    assert refreshed > budgets.rounds(60)


def some_edges(chance: Random) -> Edges:
    return {(chance.choice(NODES), chance.choice(NODES)) for _ in range(chance.randint(0, 7))}


def test_a_table_sees_what_the_one_before_it_got_in_the_same_pass() -> None:
    near = machine_of(TURNS, {(n, n + 1) for n in range(4)})
    near.settle()
    assert [one.changes for one in near.machine.trace] == [{"r": n, "s": n} for n in (4, 3, 2, 1, 0)]


def test_a_cycle_is_given_up_at_the_cap_and_settles_only_when_nothing_came() -> None:
    chain = {(n, n + 1) for n in range(4)}
    near = machine_of(TURNS, chain, cap=5)
    near.settle()
    assert [one.total for one in near.machine.trace] == [8, 6, 4, 2, 0]
    with pytest.raises(NotSettled):
        machine_of(TURNS, chain, cap=4).settle()


def test_of_a_single_new_row_more_may_follow() -> None:
    near = machine_of(PAIRS, {(0, 1), (1, 2)})
    near.settle()
    assert [one.total for one in near.machine.trace] == [2, 1, 0]
