"""Groups that are kept as auxiliary state, refreshed from changes that are too large for the worker process."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from tests.conftest import Tuned
from tests.engine.world import World

ROW = pa.schema([("k", pa.int64()), ("v", pa.int64())])

QUERIES = {
    "an EXISTS": "SELECT b.k, count(*) AS n FROM tb AS b WHERE EXISTS (SELECT 1 FROM ta AS q WHERE q.k = b.k) "
    "GROUP BY b.k",
    "a NOT EXISTS": "SELECT b.k, count(*) AS n, sum(b.v) AS s FROM tb AS b WHERE NOT EXISTS "
    "(SELECT 1 FROM ta AS q WHERE q.k = b.k) GROUP BY b.k",
    "an IN": "SELECT b.k, sum(b.v) AS s FROM tb AS b WHERE b.k IN (SELECT q.k FROM ta AS q) GROUP BY b.k",
    "a join": "SELECT b.k, count(*) AS n, max(q.v) AS m FROM tb AS b JOIN ta AS q ON q.k = b.k GROUP BY b.k",
    "a left join": "SELECT b.k, count(q.v) AS n FROM tb AS b LEFT JOIN ta AS q ON q.k = b.k GROUP BY b.k",
}


def rows(start: int, end: int) -> list[dict[str, int]]:
    return [{"k": n % 40, "v": n} for n in range(start, end)]


@pytest.mark.parametrize("name", QUERIES)
def test_every_change_is_refreshed_from_state(world: World, tuned: Tuned, name: str) -> None:
    # Nothing is small, everything is kept.
    tuned(arrow_change_rows=-1, aux_state_min_bytes=0)
    query = QUERIES[name]
    world.source("ta", ROW, rows(0, 60))
    world.source("tb", ROW, rows(20, 140))
    world.define({"s": query}, s={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    for number in range(4):
        world.delete("ta", f"k = {number * 3} or k = {number * 3 + 1}")
        world.delete("tb", f"v < {30 + number * 10}")
        world.append("tb", *rows(200 + number, 230 + number))
        assert world.tick()["s"].mode is Mode.DIFFERENTIAL
        assert world.rows("s") == world.judge(query), number
