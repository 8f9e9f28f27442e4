"""Tables over sources that are rewritten file by file: their changes are netted in the worker process."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.engine import feed, states
from airflow_trickle.lakehouse import net_change
from tests import budgets
from tests.conftest import Tuned
from tests.engine.world import World

ORDERS = pa.schema([("k", pa.int64()), ("c", pa.string()), ("v", pa.decimal128(10, 2)), ("f", pa.float64())])
TABLES = {
    "picked": "SELECT k, c, v, f FROM orders WHERE k >= 0",
    "sums": "SELECT c, count(*) AS n, sum(v) AS total FROM orders GROUP BY c",
    "kinds": "SELECT DISTINCT c, f FROM orders",
    "paired": "SELECT a.k AS k, b.k AS other, a.c AS c FROM orders a JOIN orders b ON a.c = b.c AND a.v = b.v",
    "least": "SELECT c, min(k) AS low, max(k) AS high FROM orders GROUP BY c",
    "named": "SELECT o.k AS k, n.v AS v FROM orders o LEFT JOIN names n ON n.k = o.k",
}
ASKED: dict[str, Any] = {name: {"refresh_mode": "DIFFERENTIAL"} for name in TABLES}
NAMES = pa.schema([("k", pa.int64()), ("v", pa.string())])


def order(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, *range(6)]),
        "c": chance.choice(["a", "b", "it's", None]),
        "v": chance.choice([Decimal("1.50"), Decimal("-2.00"), None]),
        "f": chance.choice([0.0, -0.0, float("nan"), None]),
    }


def orders(chance: random.Random, count: int) -> list[dict[str, Any]]:
    return [order(chance) for _ in range(count)]


class Spied:
    """What netted a change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_spark = self.here = 0
        spark, here = feed.weighted_changes, net_change._netted

        def on_spark(*arguments: Any) -> Any:
            self.by_spark += 1
            return spark(*arguments)

        def in_the_worker(*arguments: Any) -> Any:
            self.here += 1
            return here(*arguments)

        monkeypatch.setattr(states, "weighted_changes", on_spark)
        monkeypatch.setattr(net_change, "_netted", in_the_worker)
        net_change.forget()


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> Spied:
    return Spied(monkeypatch)


def rewrite(world: World, chance: random.Random) -> None:
    """Copy on write: whole files go and come, most rows stay."""
    table = world.outside.load_table("default.orders")
    rows = table.scan().to_arrow().to_pylist()
    kind = chance.randrange(4)
    if kind == 0:
        world.delete("orders", f"k = {chance.randrange(6)}")
    elif kind == 1:
        at = chance.randrange(max(len(rows), 1))
        world.replace("orders", [{**row, "c": "new"} if n == at else row for n, row in enumerate(rows)])
    elif kind == 2:
        world.replace("orders", [*rows, *orders(chance, 2), *rows[:2]])
    else:
        world.delete("orders", f"c = '{chance.choice('ab')}' AND k < {chance.randrange(4)}")
        world.append("orders", *orders(chance, 2))


@pytest.mark.seeded
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("most", [128 * 1024**2, 0], ids=["in the worker", "by Spark"])
def test_tables_over_rewritten_files_hold_what_their_queries_give(
    world: World, spied: Spied, tuned: Tuned, most: int
) -> None:
    tuned(arrow_net_bytes=most, arrow_net_rows=4, arrow_compare_bytes=0)
    chance = budgets.chance(0 if most else 1)
    world.source("orders", ORDERS, orders(chance, 20))
    world.append("orders", *orders(chance, 10))
    world.source("names", NAMES, [{"k": n % 5, "v": "x"} for n in range(7)])
    world.define(TABLES, **ASKED)
    world.tick()
    for _ in range(budgets.rounds(4)):
        for _ in range(chance.randint(1, 2)):
            rewrite(world, chance)
        if chance.random() < 0.3:
            world.delete("names", "k = 3")
            world.append("names", {"k": 3, "v": "y"})
        results = world.tick()
        assert {result.mode for result in results.values()} <= {Mode.DIFFERENTIAL, Mode.NO_DATA}
        assert {name: world.rows(name) for name in TABLES} == world.judge_all(TABLES)
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}
    assert (spied.here > 0, spied.by_spark > 0) == (most > 0, most == 0)


def test_tables_of_one_tick_net_the_same_change_once(world: World, spied: Spied) -> None:
    chance = budgets.chance(2)
    world.source("orders", ORDERS, orders(chance, 20))
    world.source("names", NAMES, [{"k": n, "v": "x"} for n in range(7)])
    world.define(TABLES, **ASKED)
    world.tick()
    world.delete("orders", "k = 3 OR c = 'a'")
    results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.DIFFERENTIAL}
    assert (spied.here, spied.by_spark) == (1, 0)
    # Only the table that came first has read it.
    assert {name: world.rows(name) for name in TABLES} == world.judge_all(TABLES)


def test_rows_that_a_rewrite_only_adds_take_the_rules_of_growth(world: World, spied: Spied) -> None:
    chance = budgets.chance(3)
    rows = orders(chance, 12)
    world.source("orders", ORDERS, rows)
    world.source("names", NAMES, [{"k": n, "v": "x"} for n in range(7)])
    world.define(TABLES, **ASKED)
    world.tick()
    # Some come twice.
    world.replace("orders", [*rows, *rows[:3], *rows[:2], *orders(chance, 3)])
    results = world.tick()
    assert {result.mode for result in results.values()} == {Mode.DIFFERENTIAL}
    assert spied.by_spark == 0
    assert results["picked"].rows_deleted == 0
    assert {name: world.rows(name) for name in TABLES} == world.judge_all(TABLES)
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}


def test_a_few_rows_of_many_are_a_small_change(world: World, tuned: Tuned) -> None:
    """The rows of the rewritten files do not count, only those that came or went."""
    tuned(arrow_change_rows=10)
    world.source("orders", ORDERS, [{"k": n, "c": "a", "v": None, "f": None} for n in range(40)])
    world.define({"picked": TABLES["picked"]}, picked={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    world.delete("orders", "k IN (3, 4)")
    result = world.tick()["picked"]
    assert (result.mode, result.rows_in, result.rows_deleted) == (Mode.DIFFERENTIAL, 2, 2)
    assert world.rows("picked") == world.judge(TABLES["picked"])
