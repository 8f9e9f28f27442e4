"""Ticks before and after maintenance: nothing is computed because of it, and nothing needs a full refresh."""

from __future__ import annotations

import pyarrow as pa

from airflow_trickle import Pipeline
from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.results import Maintenance, Mode, Verdict
from airflow_trickle.tuning import tuned
from tests.engine.world import World

ROWS = pa.schema([("id", pa.int64()), ("v", pa.int64())])
TABLES = {
    "filtered": "SELECT id, v FROM src WHERE v >= 0",
    "counted": "SELECT v, count(*) AS n FROM filtered GROUP BY v",
    "joined": "SELECT f.id, c.n FROM filtered AS f JOIN counted AS c ON c.v = f.v",
}
#: With these, a table that cannot be refreshed from changes fails.
DIFFERENTIAL = {name: {"refresh_mode": "DIFFERENTIAL"} for name in TABLES}


def maintained(world: World) -> Maintenance:
    policy = MaintenancePolicy(keep_snapshots=1, restate_window=0)
    with tuned(maintenance_grace_seconds=0):
        found = Pipeline.load(world.yaml).maintain(policy=policy)
    assert found.failed == ()
    return found


def judged(world: World) -> None:
    for name, expected in world.judge_all(TABLES).items():
        assert world.rows(name) == expected


def test_ticks_go_on_from_changes_after_maintenance(world: World) -> None:
    world.source("src", ROWS, [{"id": n, "v": n % 3} for n in range(20)])
    world.define(TABLES, **DIFFERENTIAL)
    world.tick()
    for number in range(4):
        world.append("src", {"id": 100 + number, "v": number % 3})
        world.tick()
    judged(world)
    before = {name: world.rows(name) for name in TABLES}

    done = {one.table: one for one in maintained(world).tables}

    assert done["filtered"].files_compacted >= 4
    assert done["filtered"].snapshots_expired > 0
    assert {name: world.rows(name) for name in TABLES} == before
    # Nothing has changed, and nothing is computed.
    assert {result.mode for result in world.tick().values()} == {Mode.NO_DATA}

    world.append("src", {"id": 200, "v": 1})
    world.delete("src", "id = 3")
    results = world.tick()
    assert {name: result.mode for name, result in results.items()} == dict.fromkeys(TABLES, Mode.DIFFERENTIAL)
    # Not every row that was rewritten: one row came, one went.
    assert (results["filtered"].rows_inserted, results["filtered"].rows_deleted) == (1, 1)
    judged(world)

    maintained(world)
    world.append("src", {"id": 201, "v": 2})
    world.tick()
    judged(world)
    verdicts = Pipeline.load(world.yaml).verify()
    assert {one.verdict for one in verdicts.values()} == {Verdict.OK}
