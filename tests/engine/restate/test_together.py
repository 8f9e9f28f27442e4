"""How far the tables of a cycle had read, where only some of them have a snapshot of the commit; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.engine.fixpoint.together import said_of_unit
from airflow_trickle.engine.restate import restate
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.plan.steps import Plan, RefreshStep, UnitKind
from airflow_trickle.results import Rewind
from tests.engine.restate.past import Past, at, plan_of, row

YAML = """\
pipeline: p
allow_circular: true
sources: [src]
stream_tables:
  a: {query: SELECT n FROM src UNION SELECT n FROM b}
  b: {query: SELECT n FROM a WHERE n > 1}
"""


class Cycle(Past):
    """Two tables that are published together."""

    def __init__(self, lake: Lakehouse, unit: RefreshStep) -> None:
        super().__init__(lake)
        self.unit = unit

    def commit(self, number: int, **epochs: int) -> None:
        """Publish tables that get these epochs; the others rest at theirs."""
        others = [table for table in self.unit.tables if table.name not in epochs]
        resting = {table.identifier: self.status(table.name).snapshot_id for table in others}
        said = said_of_unit(self.unit, {f"default.{name}": epoch for name, epoch in epochs.items()}, resting)
        for table in self.unit.tables:
            if table.name in epochs:
                frontier = self.frontier("a", number)
                new = [row(number)]
                self.publish(table.name, number, new, definition=table.definition, more=said, frontier=frontier)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, YAML)


@pytest.fixture
def cycle(lake: Lakehouse, plan: Plan) -> Cycle:
    """Both tables change at first, then only one, then both again."""
    made = Cycle(lake, plan.refreshes[0])
    made.commit(1, a=1, b=1)
    made.commit(2, a=2)
    made.commit(3, a=3, b=2)
    made.commit(4, a=4, b=3)
    return made


def test_a_table_that_rested_has_read_as_far_as_the_one_that_changed(lake: Lakehouse, plan: Plan, cycle: Cycle) -> None:
    results = restate(lake, plan, at(2))
    assert {result.outcome for result in results.values()} == {Rewind.REWOUND}
    assert (cycle.rows("a"), cycle.rows("b")) == ([row(2)], [row(1)])
    assert cycle.status("a").frontier == cycle.status("b").frontier == cycle.frontier("a", 2)
    assert cycle.status("b").definition == next(table.definition for table in plan.tables if table.name == "b")


def test_a_second_time_too(lake: Lakehouse, plan: Plan, cycle: Cycle) -> None:
    restate(lake, plan, at(2))
    # The table that rests keeps a snapshot that has another number now.
    cycle.commit(3, a=6)
    cycle.commit(4, a=7, b=5)
    restate(lake, plan, at(3))
    assert (cycle.rows("a"), cycle.rows("b")) == ([row(3)], [row(1)])
    assert cycle.status("a").frontier == cycle.status("b").frontier == cycle.frontier("a", 3)


def test_not_if_the_queries_were_others(lake: Lakehouse, tmp_path: Path, cycle: Cycle) -> None:
    changed = plan_of(tmp_path, YAML.replace("n > 1", "n > 2"))
    restate(lake, changed, at(2))
    assert cycle.status("a").frontier == cycle.frontier("a", 2)
    assert cycle.status("b").frontier == cycle.frontier("a", 1)


def test_not_if_the_table_stood_elsewhere_then(lake: Lakehouse, plan: Plan, cycle: Cycle) -> None:
    """Another writer took one of the tables back, and it went on from there."""
    first = lake.catalog.load_table("default.b").metadata.snapshots[0].snapshot_id
    lake.catalog.load_table("default.b").manage_snapshots().rollback_to_snapshot(first).commit()
    cycle.commit(5, a=5, b=4)
    restate(lake, plan, at(3))
    assert (cycle.rows("a"), cycle.rows("b")) == ([row(3)], [row(1)])
    assert cycle.status("a").frontier == cycle.frontier("a", 3)
    assert cycle.status("b").frontier == cycle.frontier("a", 1)


def test_a_cycle_inside_of_an_atomic_group_too(lake: Lakehouse, tmp_path: Path) -> None:
    more = "  c: {query: SELECT n FROM src}\n  d: {query: SELECT b.n FROM b JOIN c ON b.n = c.n}\n"
    plan = plan_of(tmp_path, YAML + more)
    (group,) = plan.refreshes
    assert (group.kind, [part.kind for part in group.parts]) == (
        UnitKind.GROUP,
        [UnitKind.CYCLE, UnitKind.TABLE, UnitKind.TABLE],
    )
    made = Cycle(lake, group.parts[0])
    made.commit(1, a=1, b=1)
    made.commit(2, a=2)
    made.commit(3, a=3, b=2)
    results = restate(lake, plan, at(2))
    assert {name: result.outcome for name, result in results.items()} == {
        "a": Rewind.REWOUND,
        "b": Rewind.REWOUND,
        "c": Rewind.UNTOUCHED,
        "d": Rewind.UNTOUCHED,
    }
    assert made.status("a").frontier == made.status("b").frontier == made.frontier("a", 2)


def test_a_table_alone_says_nothing_of_others(tmp_path: Path) -> None:
    alone = plan_of(tmp_path / "other").refreshes[0]
    assert said_of_unit(alone, {"default.a": 1}, {}) == {}
