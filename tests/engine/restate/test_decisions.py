"""What ticks decide after a restatement, without Spark: real pins, real decisions, queries by hand."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision, decide
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.restate import restate
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.state import published_by, write_status
from airflow_trickle.plan.steps import Plan, TableStep
from airflow_trickle.tick import Tick
from tests import budgets
from tests.engine.restate.past import Past, plan_of

#: Each test publishes some thirty snapshots first.
pytestmark = pytest.mark.slow

YAML = """\
pipeline: p
diamond_consistency: none
sources: [src]
stream_tables:
  all_of_it: {query: SELECT n FROM src}
  large: {query: SELECT n FROM all_of_it WHERE n > 90}
  how_many: {query: SELECT count(*) AS n FROM large}
  both: {query: SELECT l.n FROM large AS l JOIN all_of_it AS a ON a.n = l.n}
"""
SOURCE = pa.schema([("n", pa.int64())])
COLUMNS = Schema(NestedField(1, "n", LongType(), required=False))
Bag = Counter[int]


def right(source: Bag) -> dict[str, Bag]:
    """What the tables hold for a state of the source."""
    large = Counter({n: times for n, times in source.items() if n > 90})
    return {
        "all_of_it": source,
        "large": large,
        "how_many": Counter([large.total()]),
        "both": Counter({n: times * source[n] for n, times in large.items()}),
    }


class Ticking:
    """A pipeline whose ticks are decided by the engine and computed here."""

    def __init__(self, lake: Lakehouse, plan: Plan) -> None:
        self.lake, self.plan, self.past = lake, plan, Past(lake)
        lake.ensure_namespace("default.src")
        self.source = lake.catalog.create_table("default.src", schema=SOURCE)
        self.moments: list[datetime] = []
        self.states: list[Bag] = []

    def chapter(self, chance: random.Random) -> None:
        now = Counter(self.states[-1]) if self.states else Counter()
        for _ in range(2):
            now[chance.randint(0, 100 if chance.random() < 0.4 else 90)] += 1
        if self.states and chance.random() < 0.5:
            now -= Counter([chance.choice(list(now))])
        rows = pa.Table.from_pylist([{"n": n} for n in now.elements()], schema=SOURCE)
        self.lake.catalog.load_table("default.src").overwrite(rows)
        time.sleep(0.003)
        self.moments.append(clock.now())
        time.sleep(0.003)
        self.states.append(+now)

    def tick(self, number: int, name: str | None = None) -> dict[str, Decision]:
        """A tick as of a chapter; afterwards every table must be right."""
        tick_id = name or f"p/{number}__{time.time_ns()}"
        tick = pin(self.lake, self.plan.pin, tick_id, self.moments[number])
        found = {step.name: self._refresh(step, tick, number) for step in self.plan.tables}
        self.check(number)
        return found

    def _refresh(self, step: TableStep, tick: Tick, number: int) -> Decision:
        decision = decide(self.lake, step, tick)
        assert decision.kind != Decision.SKIP, (step.name, decision.reason)
        new = right(self.states[number])[step.name]
        published = decision.published
        if published is None or (decision.kind == Decision.WORK and new != self.rows(step.name)):
            rows = [{"n": n} for n in new.elements()]
            more: dict[str, Any] = {"definition": step.definition, "frontier": decision.target, "tick": tick}
            self.past.publish(step.name, number, rows, schema=COLUMNS if published is None else None, **more)
        elif decision.kind in (Decision.WORK, Decision.ADVANCE):
            values = {"frontier": decision.target, "effective_at": tick.effective_at, "tick_id": tick.tick_id}
            with self.lake.database.transaction() as connection:
                write_status(self.lake, connection, step.identifier, definition=step.definition, **values)
        else:
            assert new == self.rows(step.name)
        return decision

    def rows(self, name: str) -> Bag:
        return Counter(row["n"] for row in self.past.rows(name))

    def check(self, number: int) -> None:
        assert {name: self.rows(name) for name in right(self.states[number])} == right(self.states[number])

    def restate(self, number: int) -> None:
        restate(self.lake, self.plan, self.moments[number])
        self.check(number)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_of(tmp_path, YAML)


@pytest.fixture(params=[0, pytest.param(1, marks=pytest.mark.soak)])
def ticking(request: pytest.FixtureRequest, lake: Lakehouse, plan: Plan) -> Ticking:
    made, chance = Ticking(lake, plan), budgets.chance(request.param)
    for number in range(8):
        made.chapter(chance)
        made.tick(number)
    return made


def test_every_tick_that_runs_again_goes_on_from_changes(ticking: Ticking) -> None:
    chance = budgets.chance(7)
    reached = 7
    for _ in range(5):
        back = chance.randint(0, reached)
        ticking.restate(back)
        reached = back
        # Beginning with the one that it went back to, the one after that, or a later one; up to any.
        for number in range(back + chance.randint(0, 2), chance.randint(4, 8)):
            decisions = ticking.tick(number)
            reached = number
            for name, decision in decisions.items():
                assert decision.kind != Decision.WORK or decision.from_changes, (name, decision.reason)


def test_the_tables_stand_at_one_world_after_each_tick(ticking: Ticking, plan: Plan) -> None:
    def worlds() -> set[str]:
        return {str(ticking.past.status(step.name).frontier.world) for step in plan.tables}

    seen = []
    for back in (6, 5, 4, 3, 2):
        ticking.restate(back)
        seen.append(len(worlds()))
        ticking.tick(back + 1)
        assert len(worlds()) == 1
    assert max(seen) > 1  # some had not changed for a while


def test_ticks_that_are_over_are_left_out_and_the_last_that_counts_may_run_again(ticking: Ticking, plan: Plan) -> None:
    ticking.restate(4)
    ticking.tick(4)
    tick = pin(ticking.lake, plan.pin, "p/late", ticking.moments[3])
    for step in plan.tables:
        decision = decide(ticking.lake, step, tick)
        assert (decision.kind, decision.reason) == (Decision.SKIP, "a later tick has already brought it further")


def test_a_run_that_is_cleared_has_its_pins_of_before_and_does_its_work_again(ticking: Ticking, plan: Plan) -> None:
    chance = budgets.chance(3)
    ticking.chapter(chance)
    ticking.tick(8, name="trickle:p/scheduled__8")
    before = pin(ticking.lake, plan.pin, "trickle:p/scheduled__8")
    ticking.restate(5)
    ticking.chapter(chance)  # the source goes on meanwhile
    assert pin(ticking.lake, plan.pin, "trickle:p/scheduled__8") == before
    assert published_by(ticking.lake, "default.all_of_it", "trickle:p/scheduled__8") is None
    for step in plan.tables:
        published = decide(ticking.lake, step, before).published
        assert published is not None
        assert published.tick_id != before.tick_id
        ticking._refresh(step, before, 8)
    ticking.check(8)


def test_without_a_moment_all_is_made_up_in_one_tick(ticking: Ticking, plan: Plan) -> None:
    ticking.restate(1)
    tick = pin(ticking.lake, plan.pin, "p/now")
    for step in plan.tables:
        ticking._refresh(step, tick, 7)
    ticking.check(7)
