"""The 22 queries of TPC-H as stream tables: after every tick, what DuckDB makes of the same rows (in a soak, Spark)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from airflow_trickle import Mode, Pipeline, TableResult, TickFailed, Verdict
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from airflow_trickle.tuning import tuned
from tests import budgets
from tests.tpch import batches
from tests.tpch.data import QUERIES, TABLES, generated
from tests.tpch.shop import Row, Shop, open_shop, same

# The first test waits for all ticks; a busy machine is no defect.
pytestmark = pytest.mark.timeout(1800)

#: Queries that cannot be refreshed from changes -> why. There are none.
FULL: dict[str, str] = {}


@dataclass
class Tick:
    """What one tick did, and what the judge said."""

    changed: frozenset[str]
    results: dict[str, TableResult]
    published: dict[str, list[Row]]
    by_duckdb: dict[str, list[Row]]


@dataclass
class Story:
    """All ticks; the first one has every table computed in full."""

    shop: Shop
    reads: dict[str, frozenset[str]]
    ticks: list[Tick] = field(default_factory=list)

    def tick(self, *changed: str) -> None:
        try:
            results = self.shop.tick()
        except TickFailed as error:
            results = error.results
        published, judged = self.shop.published(QUERIES), self.shop.by_duckdb(QUERIES)
        self.ticks.append(Tick(frozenset(changed), results, published, judged))


def begun(shop: Shop) -> Story:
    shop.define(QUERIES, **{name: {"refresh_mode": "FULL" if name in FULL else "DIFFERENTIAL"} for name in QUERIES})
    plan = Pipeline.load(shop.yaml).plan
    return Story(shop, {table.name: frozenset(one.name for one in table.inputs) for table in plan.tables})


def everything_moves(shop: Shop, chance: Random) -> tuple[str, ...]:
    batches.new_orders(shop, chance, 150)
    batches.old_orders(shop, chance, 150)
    names = ("supplier", "customer", "part", "partsupp", "orders", "lineitem")
    for name in names:
        batches.updates(shop, chance, name, 4 if name == "supplier" else 12)
    batches.wanted_parts(shop, chance, 20)
    batches.copies(shop, "customer", "c_custkey % 60 = 0")
    batches.copies(shop, "part", "p_partkey % 100 = 0")
    return names


def regions_turn(shop: Shop, chance: Random) -> tuple[str, ...]:
    batches.regions_renamed(shop)
    return ("region",)


CHANGES: tuple[Callable[[Shop, Random], tuple[str, ...]], ...] = (everything_moves, regions_turn)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, spark_home: Path) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("tpch")
    # All inputs pass for large ones, so that auxiliary state is kept.
    with pytest.MonkeyPatch.context() as monkeypatch, tuned(aux_state_min_bytes=0, aux_state_share=100.0):
        made = begun(open_shop(folder, generated(folder / "raw", 0.002), monkeypatch))
        chance = Random(4)
        batches.made_small(made.shop, chance)
        made.tick()
        for change in CHANGES:
            made.tick(*change(made.shop, chance))
        yield made


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_has_the_rows_that_duckdb_gives_after_every_tick(story: Story, name: str) -> None:
    for number, tick in enumerate(story.ticks):
        assert tick.results[name].error is None
        ours, theirs = tick.published[name], tick.by_duckdb[name]
        assert same(ours, theirs), (number, ours, theirs)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_refreshed_from_changes_if_it_reads_any(story: Story, name: str) -> None:
    for tick in story.ticks[1:]:
        wanted = Mode.FULL if name in FULL else Mode.DIFFERENTIAL
        assert tick.results[name].mode is (wanted if story.reads[name] & tick.changed else Mode.NO_DATA)


#: Query -> the parts of it that have auxiliary state: -1 is the whole, others are numbered in the order of the text.
STATES = {
    "q01": {-1},
    "q03": {0},
    "q04": {-1, 1},
    "q05": {-1},
    "q06": {-1},
    "q09": {-1},
    "q10": {0},
    "q11": {-1, 1},
    "q13": {-1, 1, 2},
    "q15": {1, 2},
    "q16": {-1, 1},
    "q17": {-1, 1},
    "q18": {0, 1},
    "q20": {1, 2, 3},
    "q21": {0},
    "q22": {-1, 2, 3},
}


@pytest.mark.parametrize("name", STATES)
def test_a_query_has_auxiliary_state_where_it_spares_reading(story: Story, name: str) -> None:
    with open_lakehouse("trickle") as lake:
        kept = read_status(lake, [f"default.{name}"])[f"default.{name}"].kept
    assert kept is not None
    assert {int(number) for number in json.loads(kept)["states"]} == STATES[name]


@pytest.mark.parametrize("name", QUERIES)
def test_the_changes_matter_to_a_query(story: Story, name: str) -> None:
    """Else the tests above would prove nothing."""
    states = [sorted(map(repr, tick.published[name])) for tick in story.ticks]
    assert any(before != after for before, after in pairwise(states))


@pytest.mark.soak
def test_queries_stay_right_over_many_random_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, scale = budgets.SEED, budgets.soak_scale(0.1)
    chance = Random(seed)
    story = begun(open_shop(tmp_path, generated(tmp_path / "raw", scale), monkeypatch))
    story.tick()
    until, ticks = time.monotonic() + budgets.soak_seconds(1800), 0
    while time.monotonic() < until:
        story.tick(*random_changes(story.shop, chance))
        tick, ticks = story.ticks.pop(), ticks + 1
        for name in QUERIES:
            told = f"TRICKLE_SEED={seed} TRICKLE_SOAK_SCALE={scale}, tick {ticks}: {name}"
            assert tick.results[name].error is None, told
            assert tick.results[name].mode in (Mode.DIFFERENTIAL, Mode.NO_DATA), told
            assert same(tick.published[name], tick.by_duckdb[name]), told
        wrong = [name for name, one in story.shop.verify().items() if one.verdict is not Verdict.OK]
        assert not wrong, (seed, ticks, wrong)
    with capsys.disabled():
        print(f"\nseed {seed}, scale {scale}: {ticks} ticks of {len(QUERIES)} queries, all exact")


def random_changes(shop: Shop, chance: Random) -> tuple[str, ...]:
    """Some tables change in some ways; now and then only one."""
    changed: set[str] = set()
    if chance.random() < 0.7:
        batches.new_orders(shop, chance, chance.randint(1, 60))
        changed |= {"orders", "lineitem"}
    if chance.random() < 0.7:
        batches.old_orders(shop, chance, chance.randint(1, 60))
        changed |= {"orders", "lineitem"}
    for name in chance.sample(TABLES, chance.randint(1, len(TABLES))):
        batches.updates(shop, chance, name, chance.randint(1, 3 if name in ("region", "nation") else 30))
        changed.add(name)
    if chance.random() < 0.5:
        batches.wanted_parts(shop, chance, chance.randint(1, 10))
        changed.add("part")
    return tuple(changed)
