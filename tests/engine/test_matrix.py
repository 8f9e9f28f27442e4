"""Every operator, every change, every way to write, both modes: after each tick, the rows of a plain recompute.

One world a way to write, with a table for each operator, so that a tick asks about all of them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle import Mode, Pipeline
from airflow_trickle.engine.delta.tally import Tally
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import read_status
from tests import budgets
from tests.conftest import Tuned
from tests.engine.world import World

ROWS = pa.schema(
    [
        ("k", pa.int64()),
        ("g", pa.string()),
        ("v", pa.decimal128(10, 2)),
        ("f", pa.float64()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("x", pa.binary()),
    ]
)
MORE = pa.schema([("k", pa.int64()), ("g", pa.string())])

#: One table an operator; the second and the last but one read another stream table.
OPERATORS = {
    "filtered": "SELECT * FROM rows WHERE k >= 0 AND (v > 0 OR v IS NULL)",
    "grouped": "SELECT g, count(*) AS n, sum(v) AS v, bool_and(b) AS b FROM filtered GROUP BY g HAVING count(*) > 1",
    "bounds": "SELECT g, min(v) AS lo, max(t) AS hi, count(*) AS n FROM rows GROUP BY g",
    "whole": "SELECT count(*) AS n, sum(v) AS v, min(d) AS d FROM rows",
    "doubles": "SELECT g, sum(f) AS s, max(f) AS f, max(n) AS n FROM rows GROUP BY g",
    "unique_rows": "SELECT DISTINCT g, d FROM rows",
    "joined": "SELECT r.k, r.x, m.g FROM rows AS r JOIN more AS m ON m.k = r.k",
    "padded": "SELECT m.k, m.g, u.d FROM more AS m LEFT JOIN unique_rows AS u ON u.g = m.g",
    "lonely": "SELECT m.k, m.g FROM more AS m WHERE NOT EXISTS (SELECT 1 FROM rows AS r WHERE r.k = m.k)",
    "bag": "SELECT k, g FROM rows UNION ALL SELECT k, g FROM more",
    "either": "SELECT k FROM rows UNION SELECT k FROM more",
    "shared": "SELECT k, g FROM rows INTERSECT ALL SELECT k, g FROM more",
    "left_over": "SELECT k, g FROM rows EXCEPT ALL SELECT k, g FROM more",
    "ranked": "SELECT g, k, rank() OVER (PARTITION BY g ORDER BY k NULLS LAST) AS r FROM rows",
}


def row(chance: random.Random) -> dict[str, Any]:
    return {
        "k": chance.choice([None, *range(12)]),
        "g": chance.choice(["a", "b", "it's", None]),
        "v": chance.choice([Decimal("1.50"), Decimal("-99999999.99"), None]),
        "f": chance.choice([0.0, -0.0, 0.5, float("nan"), 1e300, None]),
        "d": chance.choice([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "t": chance.choice([dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.timezone.utc), None]),
        "n": chance.choice([dt.datetime(2026, 3, 29, 2, 30), dt.datetime(1, 1, 1), None]),
        "b": chance.choice([True, False, None]),
        "x": chance.choice([b"", b"\x00\xff'", None]),
    }


def other(chance: random.Random) -> dict[str, Any]:
    return {"k": chance.choice([None, *range(12)]), "g": chance.choice(["a", "b", None])}


def _come(world: World, chance: random.Random) -> None:
    world.append("rows", *[row(chance)] * 2, *(row(chance) for _ in range(3)))


def _come_and_go(world: World, chance: random.Random) -> None:
    world.delete("rows", f"k = {chance.randrange(12)} or k = {chance.randrange(12)} or k is null")
    world.delete("more", f"k = {chance.randrange(12)}")
    _come(world, chance)
    world.append("more", *[other(chance)] * 2, other(chance))


def _all_go(world: World, chance: random.Random) -> None:
    world.replace("rows", [])


Change = Callable[[World, random.Random], None]
#: In this order.
CHANGES: tuple[tuple[str, Change], ...] = (
    ("rows come", _come),
    ("rows come and go", _come_and_go),
    ("all rows of one input go", _all_go),
)
#: With more ticks: state that a refresh has written is read by the next, and emptied tables fill again.
MORE_CHANGES = (*CHANGES[:2], ("rows come and go again", _come_and_go), CHANGES[2], ("rows come again", _come))


@dataclass(frozen=True)
class Way:
    """A way to write: what makes the engine choose it, and how one sees that it did."""

    tuning: dict[str, float] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    mode: Mode = Mode.DIFFERENTIAL
    changes: tuple[tuple[str, Change], ...] = CHANGES
    #: Asked before all rows go.
    taken: Callable[[World], bool] = lambda _: True
    #: Whether Spark judges the rows too. How they are written does not matter to it: once for each way to compute.
    verified: bool = False


def live(world: World, name: str) -> list[Any]:
    table = world.outside.load_table(f"default.{name}")
    return list(files_of(table, table.metadata.current_snapshot_id).values())


def _keeps_state(world: World) -> bool:
    names = [f"default.{name}" for name in ("bounds", "whole", "unique_rows", "either", "shared", "left_over")]
    with open_lakehouse("trickle") as lake:
        return all(status.kept for status in read_status(lake, names).values())


def refreshes_by_state(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Fills with a member for every refresh of groups from auxiliary state."""
    used: list[object] = []
    original = Tally.change

    def noted(self: Tally, *args: Any) -> Any:
        used.append(self)
        return original(self, *args)

    monkeypatch.setattr(Tally, "change", noted)
    return used


def _has_position_deletes(world: World) -> bool:
    return any(one.deletes for name in ("filtered", "joined") for one in live(world, name))


def _is_partitioned(world: World) -> bool:
    return all(len(world.outside.load_table(f"default.{name}").spec().fields) == 1 for name in ("filtered", "bounds"))


WAYS = {
    "in the worker process": Way(),
    # Below and above the limit, as the tables have it.
    "by Spark": Way({"arrow_change_rows": 3}, verified=True),
    "position deletes beside large files": Way(
        {"small_file_bytes": 1, "rewrite_deleted_share": 2}, taken=_has_position_deletes
    ),
    "auxiliary state": Way(
        # What changed is read by Spark here, however little it is.
        {"aux_state_min_bytes": 0, "aux_state_files": 1, "arrow_read_rows": 0},
        changes=MORE_CHANGES,
        taken=_keeps_state,
        verified=True,
    ),
    "partitioned and clustered": Way(options={"partition_by": "[g]", "cluster_by": "[g]"}, taken=_is_partitioned),
    "in full": Way(mode=Mode.FULL),
}
#: Tables without a column g are not partitioned.
_WITHOUT_G = ("whole", "either")


@pytest.mark.parametrize("way", WAYS)
def test_after_every_change_every_operator_has_the_rows_of_a_recompute(
    world: World, tuned: Tuned, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    chosen, chance, by_state = WAYS[way], budgets.chance(way), refreshes_by_state(monkeypatch)
    tuned(**chosen.tuning)
    world.source("rows", ROWS, [row(chance) for _ in range(30)])
    world.source("more", MORE, [other(chance) for _ in range(12)])
    options = {
        name: {"refresh_mode": chosen.mode.value, **({} if name in _WITHOUT_G else chosen.options)}
        for name in OPERATORS
    }
    world.define(OPERATORS, **options)
    assert {result.mode for result in world.tick().values()} == {Mode.FULL}
    for change, make in chosen.changes:
        if make is _all_go:
            assert chosen.taken(world)
        if make is _all_go and chosen.verified:
            # Spark's own answer is the second judge.
            assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}
        make(world, chance)
        results = world.tick()
        assert {result.mode for result in results.values()} <= {chosen.mode, Mode.NO_DATA}, change
        for name, wanted in world.judge_all(OPERATORS).items():
            assert world.rows(name) == wanted, (change, name)
    assert {result.mode for result in world.tick().values()} == {Mode.NO_DATA}
    assert bool(by_state) is (way == "auxiliary state")
