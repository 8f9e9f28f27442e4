"""Auxiliary state of a table and of parts of its query: when it is made, that it is used, and made anew when lost."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.engine.delta.tally import Tally
from airflow_trickle.engine.kept import ROOT, Entries, Kept, carried, noted_of
from airflow_trickle.engine.steer import reset
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import Frontier, Version, read_status
from tests import budgets
from tests.conftest import Tuned
from tests.engine.world import World

ROWS = pa.schema([("k", pa.int64()), ("g", pa.string()), ("v", pa.decimal128(10, 2))])
QUERIES = {
    "sums": "SELECT g, sum(v) AS s, avg(v) AS m, count(*) AS n FROM rows GROUP BY g",
    "busy": "SELECT g, count(v) AS n FROM rows GROUP BY g HAVING count(*) > 3",
    "whole": "SELECT count(*) AS n, sum(v) AS s FROM rows",
}


def row(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.randint(0, 30),
        "g": chance.choice(["a", "b", "c", None]),
        "v": chance.choice([Decimal("1.50"), Decimal("-7.25"), Decimal("99999999.99"), None]),
    }


@pytest.fixture
def groups(world: World, tuned: Tuned) -> World:
    """Tables that pass for large ones."""
    tuned(aux_state_min_bytes=0)
    chance = budgets.chance(1)
    world.source("rows", ROWS, [row(chance) for _ in range(40)])
    world.define(QUERIES, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in QUERIES})
    world.tick()
    return world


def kept_files(world: World, name: str) -> list[str]:
    with open_lakehouse("trickle") as lake:
        text = read_status(lake, [f"default.{name}"])[f"default.{name}"].kept
    return json.loads(text)["files"] if text else []


def verified(world: World) -> None:
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes which tables were refreshed by what is kept."""
    used: list[str] = []
    original = Tally.change

    def noted(self: Tally, *args: Any) -> Any:
        used.append("by lines")
        return original(self, *args)

    monkeypatch.setattr(Tally, "change", noted)
    return used


def test_state_is_made_by_the_first_refresh_or_once_published_rows_cannot_be_added_to(
    groups: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    used, chance = counted(monkeypatch), budgets.chance(2)
    # Sums and counts of all rows are published as they are.
    assert [bool(kept_files(groups, name)) for name in QUERIES] == [True, True, False]
    groups.append("rows", row(chance))
    groups.tick()
    assert [bool(kept_files(groups, name)) for name in QUERIES] == [True, True, False]
    assert len(used) == 2
    groups.delete("rows", "k < 3")
    groups.tick()
    assert all(kept_files(groups, name) for name in QUERIES)
    assert len(used) == 4
    groups.delete("rows", f"k = {chance.randint(3, 30)}")
    groups.append("rows", *[row(chance)] * 2, row(chance))
    assert {result.mode for result in groups.tick().values()} == {Mode.DIFFERENTIAL}
    verified(groups)
    assert len(used) == 7
    groups.delete("rows", "k >= 0")
    groups.tick()
    assert groups.rows("whole") == groups.judge(QUERIES["whole"])
    groups.append("rows", row(chance))
    groups.tick()
    verified(groups)


def test_lost_lines_are_made_anew(groups: World, monkeypatch: pytest.MonkeyPatch) -> None:
    groups.delete("rows", "k < 3")
    groups.tick()
    for file in kept_files(groups, "sums"):
        Path(file.removeprefix("file://")).unlink()
    used = counted(monkeypatch)
    groups.delete("rows", "k = 5 or k = 6 or k = 7")
    groups.tick()
    assert len(used) == 2  # the other two still have theirs
    assert all(Path(file.removeprefix("file://")).exists() for file in kept_files(groups, "sums"))
    verified(groups)
    groups.delete("rows", "k = 8 or k = 9 or k = 10")
    groups.tick()
    assert len(used) == 5
    verified(groups)


def test_a_full_refresh_makes_state_anew(groups: World, monkeypatch: pytest.MonkeyPatch) -> None:
    groups.delete("rows", "k < 3")
    groups.tick()
    groups.delete("rows", "k = 4 or k = 5")
    groups.tick(full_refresh=True)
    assert [bool(kept_files(groups, name)) for name in QUERIES] == [True, True, False]
    used = counted(monkeypatch)
    groups.delete("rows", "k = 6 or k = 7")
    groups.tick()
    assert len(used) == 2
    verified(groups)


def test_a_refresh_that_changes_the_lines_but_not_the_result_keeps_them(
    groups: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups.define({"mean": "SELECT g, avg(v) AS m FROM rows GROUP BY g"}, mean={"refresh_mode": "DIFFERENTIAL"})
    groups.replace("rows", [{"k": n, "g": "a", "v": Decimal("2.00")} for n in range(6)])
    groups.tick()
    groups.delete("rows", "k = 0")
    groups.tick()
    before = kept_files(groups, "mean")
    assert before
    used = counted(monkeypatch)
    groups.delete("rows", "k = 1")
    result = groups.tick()["mean"]
    assert (result.mode, result.changed) == (Mode.DIFFERENTIAL, False)
    assert len(kept_files(groups, "mean")) == len(before) + 1
    groups.append("rows", {"k": 9, "g": "a", "v": Decimal("10.00")})
    groups.tick()
    assert used == ["by lines"] * 2
    assert groups.rows("mean") == groups.judge("SELECT g, CAST(avg(v) AS DECIMAL(14, 6)) AS m FROM rows GROUP BY g")
    verified(groups)


def test_many_files_of_lines_are_folded_and_old_ones_go(groups: World, tuned: Tuned) -> None:
    tuned(aux_state_files=3)
    groups.define({"sums": QUERIES["sums"]}, sums={"refresh_mode": "DIFFERENTIAL"})
    counts = []
    for number in range(5):
        groups.delete("rows", f"k = {number} or k = {number + 10} or k = {number + 20}")
        groups.append("rows", row(budgets.chance(number)))
        groups.tick()
        counts.append(len(kept_files(groups, "sums")))
    assert max(counts) <= 3
    verified(groups)
    there = [path for path in groups.files() if "-kept/" in path and path.endswith(".parquet") and "sums" in path]
    assert len(there) == counts[-1]


def test_a_reset_forgets_what_is_kept(groups: World) -> None:
    groups.delete("rows", "k < 3")
    groups.tick()
    with open_lakehouse("trickle") as lake:
        reset(lake, read_status(lake, ["default.sums"])["default.sums"])
    assert kept_files(groups, "sums") == []
    groups.delete("rows", "k = 4 or k = 5")
    groups.tick()
    verified(groups)


def test_the_minimum_of_no_rows_is_null_again(world: World, tuned: Tuned) -> None:
    tuned(aux_state_min_bytes=0)
    world.source("rows", ROWS, [{"k": k, "g": "a", "v": Decimal(k)} for k in range(5)])
    query = "SELECT min(k) AS lo, max(v) AS hi, count(*) AS n FROM rows"
    world.define({"bounds": query}, bounds={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    for gone in ("k = 2", "k = 4", "k >= 0"):
        world.delete("rows", gone)
        assert world.tick()["bounds"].mode is Mode.DIFFERENTIAL
        assert world.rows("bounds") == world.judge(query)
    world.append("rows", {"k": 50, "g": "b", "v": Decimal(1)})
    world.tick()
    assert world.rows("bounds") == world.judge(query) == {(50, Decimal("1.00"), 1): 1}


def test_lines_that_cannot_be_used_are_left_and_the_refresh_goes_on(groups: World, tuned: Tuned) -> None:
    groups.define({"mean": "SELECT g, avg(k) AS m FROM rows GROUP BY g"}, mean={"refresh_mode": "DIFFERENTIAL"})
    groups.replace("rows", [{"k": n, "g": "a", "v": None} for n in range(20)])
    groups.tick()
    groups.delete("rows", "k = 3")
    groups.tick()
    assert kept_files(groups, "mean") == []  # an average of BIGINT is not kept
    groups.define(
        {"mean": "SELECT g, avg(CAST(k AS INT)) AS m FROM rows GROUP BY g"}, mean={"refresh_mode": "DIFFERENTIAL"}
    )
    groups.tick()
    groups.delete("rows", "k = 4")
    groups.tick()
    assert kept_files(groups, "mean")
    tuned(exact_double_limit=10)
    for k in (5, 6):
        groups.delete("rows", f"k = {k}")
        assert groups.tick()["mean"].mode is Mode.DIFFERENTIAL
        verified(groups)
    assert kept_files(groups, "mean")  # made anew by the second of the two


#: Query -> the parts of it that have state.
INSIDE = {
    "of_groups": (
        "SELECT n, count(*) AS c FROM (SELECT g, count(v) AS n FROM rows GROUP BY g) AS q GROUP BY n",
        {-1, 1},
    ),
    "joined": (
        "WITH q AS (SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING count(*) > 1) "
        "SELECT r.g, r.v, q.s FROM rows AS r LEFT JOIN q ON r.k = q.k",
        {1},
    ),
    "top": ("SELECT k, sum(v) AS s, count(*) AS n FROM rows GROUP BY k ORDER BY s DESC, k LIMIT 3", {0}),
    "chosen": (
        "SELECT g, sum(v * v * v) AS s FROM rows "
        "WHERE k IN (SELECT k FROM rows GROUP BY k HAVING sum(v) > 0) GROUP BY g",
        {-1, 1},
    ),
    "distinct": ("SELECT g, count(DISTINCT k) AS n, max(v) - min(v) AS spread FROM rows GROUP BY g", {-1}),
    "large": (
        "SELECT k, sum(v) AS s FROM rows GROUP BY k HAVING sum(v) > (SELECT sum(v) / 20 FROM rows)",
        {-1, 1},
    ),
    "lowest": (
        "SELECT r.k, r.v FROM rows AS r JOIN (SELECT g, min(k) AS k FROM rows GROUP BY g) AS q ON r.k = q.k",
        {1},
    ),
    "above": ("SELECT k, v FROM rows WHERE v > (SELECT avg(v) FROM rows) AND g IS NOT NULL", {1}),
}


def states(world: World, name: str) -> set[int]:
    with open_lakehouse("trickle") as lake:
        text = read_status(lake, [f"default.{name}"])[f"default.{name}"].kept
    return {int(number) for number in json.loads(text)["states"]} if text else set()


@pytest.fixture
def inside(world: World, tuned: Tuned) -> World:
    tuned(aux_state_min_bytes=0, aux_state_share=100.0)
    chance = budgets.chance(11)
    world.source("rows", ROWS, [row(chance) for _ in range(60)])
    return world


def test_parts_of_a_query_have_state_of_their_own(inside: World, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = budgets.chance(12)
    queries = {name: query for name, (query, _) in INSIDE.items()}
    inside.define(queries, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in queries})
    inside.tick()
    wanted = {name: parts for name, (_, parts) in INSIDE.items()}
    # Counts of counts can be added to as long as none goes.
    assert {name: states(inside, name) for name in INSIDE} == wanted | {"of_groups": {1}}
    used = counted(monkeypatch)
    for _ in range(2):
        inside.delete("rows", f"k = {chance.randint(0, 30)} or g = 'b'")
        inside.append("rows", *(row(chance) for _ in range(5)))
        assert {result.mode for result in inside.tick().values()} == {Mode.DIFFERENTIAL}
        verified(inside)
    assert len(used) == 2 * sum(map(len, wanted.values())) - 1
    assert {name: states(inside, name) for name in INSIDE} == wanted
    for file in kept_files(inside, "joined"):
        Path(file.removeprefix("file://")).unlink()
    inside.append("rows", row(chance))
    inside.tick()
    verified(inside)
    assert states(inside, "joined") == {1}


def test_state_of_a_part_that_would_be_as_large_as_its_inputs_is_not_kept(inside: World, tuned: Tuned) -> None:
    tuned(aux_state_share=0.0)
    query, _ = INSIDE["of_groups"]
    inside.define({"of_groups": query}, of_groups={"refresh_mode": "DIFFERENTIAL"})
    inside.tick()
    assert states(inside, "of_groups") == set()
    there = [path for path in inside.files() if "-kept/" in path and path.endswith(".parquet")]
    assert len(there) == len(kept_files(inside, "of_groups"))
    inside.delete("rows", "k < 5")
    for _ in range(2):
        assert inside.tick()["of_groups"].mode is Mode.DIFFERENTIAL
        verified(inside)
        assert states(inside, "of_groups") == {-1}
        inside.delete("rows", "k < 10")


def test_state_of_values_that_would_be_as_large_as_its_inputs_is_not_kept(inside: World, tuned: Tuned) -> None:
    tuned(aux_state_share=0.0)
    query, _ = INSIDE["distinct"]
    inside.define({"distinct": query}, distinct={"refresh_mode": "DIFFERENTIAL"})
    inside.tick()
    for number in range(2):
        assert states(inside, "distinct") == set()
        inside.delete("rows", f"k < {5 + number}")
        assert inside.tick()["distinct"].mode is Mode.DIFFERENTIAL
        verified(inside)


def test_state_stands_for_one_query_over_one_snapshot_of_each_input() -> None:
    known, moved = (Frontier({"a": Version(number, 0), "b": Version(7, 0)}, {}) for number in (1, 2))
    kept = Kept({ROOT: Entries(("f.parquet",), ["k"], 10)})
    text = kept.as_json("query", known)
    assert noted_of(text, "query", known) == kept
    assert noted_of(text, "query", moved) is None
    assert noted_of(text, "query", Frontier({"a": Version(1, 1), "b": Version(7, 0)}, {})) is None
    assert noted_of(text, "another query", known) is None
    # Inputs that moved without a change of rows take it along, from where they were only.
    later = carried(text, "query", known, moved)
    assert noted_of(later, "query", moved) == kept
    assert carried(text, "query", moved, known) is None
