"""Groups that are kept as auxiliary state, refreshed from changes that are too large for the worker process."""

from __future__ import annotations

import pyarrow as pa

from airflow_trickle import Mode
from tests.conftest import Tuned
from tests.engine.world import World

ROW = pa.schema([("k", pa.int64()), ("v", pa.int64())])

QUERIES = {
    "by_exists": "SELECT b.k, count(*) AS n FROM tb AS b WHERE EXISTS (SELECT 1 FROM ta AS q WHERE q.k = b.k) "
    "GROUP BY b.k",
    "by_not_exists": "SELECT b.k, count(*) AS n, sum(b.v) AS s FROM tb AS b WHERE NOT EXISTS "
    "(SELECT 1 FROM ta AS q WHERE q.k = b.k) GROUP BY b.k",
    "by_in": "SELECT b.k, sum(b.v) AS s FROM tb AS b WHERE b.k IN (SELECT q.k FROM ta AS q) GROUP BY b.k",
    "joined": "SELECT b.k, count(*) AS n, max(q.v) AS m FROM tb AS b JOIN ta AS q ON q.k = b.k GROUP BY b.k",
    "left_joined": "SELECT b.k, count(q.v) AS n FROM tb AS b LEFT JOIN ta AS q ON q.k = b.k GROUP BY b.k",
}


def rows(start: int, end: int) -> list[dict[str, int]]:
    return [{"k": n % 40, "v": n} for n in range(start, end)]


def test_every_change_is_refreshed_from_state(world: World, tuned: Tuned) -> None:
    # Nothing is small, everything is kept.
    tuned(arrow_change_rows=-1, aux_state_min_bytes=0)
    world.source("ta", ROW, rows(0, 60))
    world.source("tb", ROW, rows(20, 140))
    world.define(QUERIES, **{name: {"refresh_mode": "DIFFERENTIAL"} for name in QUERIES})
    world.tick()
    for number in range(3):
        world.delete("ta", f"k = {number * 3} or k = {number * 3 + 1}")
        world.delete("tb", f"v < {30 + number * 10}")
        world.append("tb", *rows(200 + number, 230 + number))
        results = world.tick()
        assert {name: results[name].mode for name in QUERIES} == dict.fromkeys(QUERIES, Mode.DIFFERENTIAL)
        expected = world.judge_all(QUERIES)
        assert {name: world.rows(name) for name in QUERIES} == expected, number
