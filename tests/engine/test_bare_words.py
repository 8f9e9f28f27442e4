"""``current_date``, ``user`` and the like: columns where there are such, functions of Spark where there are none."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from airflow_trickle import Mode
from airflow_trickle.engine import publish
from tests.engine.world import FROM_CHANGES, World

DATED = pa.schema([("id", pa.int64()), ("current_date", pa.int64()), ("user", pa.string())])
PLAIN = pa.schema([("id", pa.int64()), ("v", pa.int64())])


def test_such_a_word_is_a_column_where_there_is_one_and_a_function_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "choose", lambda *_: FROM_CHANGES)
    world.source("d", DATED, [{"id": 1, "current_date": 5, "user": "ann"}])
    world.source("p", PLAIN, [{"id": 1, "v": 5}])
    tables = {
        "bare": "SELECT id, current_date AS c FROM d",
        "grouped": "SELECT current_date AS c, count(*) AS n FROM d GROUP BY current_date",
        "owned": "SELECT d.current_date AS c, user AS u FROM d",
        "inside": "SELECT s.id FROM (SELECT id, user FROM d WHERE current_date > 4) s WHERE s.user = 'ann'",
        "quoted": "SELECT id, `current_date` > DATE'2000-01-01' AS c FROM p",
        "userless": "SELECT id, length(user) > 0 AS c FROM p",
        "around": "SELECT id FROM d WHERE EXISTS (SELECT 1 FROM p WHERE p.id = d.id AND user <> 'ann')",
        "joined": "SELECT p.id FROM p JOIN d ON p.id = d.id AND user = 'ann'",
        "early": "SELECT p.id FROM p JOIN p AS q ON p.id = q.id AND length(user) > 0 JOIN d ON d.id = q.id",
    }
    world.define(tables, owned={"refresh_mode": "DIFFERENTIAL"})
    world.tick()
    world.append("d", {"id": 2, "current_date": 7, "user": "bob"}, {"id": 3, "current_date": 7, "user": "ann"})
    world.append("p", {"id": 3, "v": 6})
    results = world.tick()

    assert {name: world.rows(name) for name in tables} == {
        "bare": {(1, 5): 1, (2, 7): 1, (3, 7): 1},
        "grouped": {(5, 1): 1, (7, 2): 1},
        "owned": {(5, "ann"): 1, (7, "bob"): 1, (7, "ann"): 1},
        "inside": {(1,): 1, (3,): 1},
        "quoted": {(1, True): 1, (3, True): 1},
        "userless": {(1, True): 1, (3, True): 1},
        "around": {(1,): 1, (3,): 1},
        "joined": {(1,): 1, (3,): 1},
        "early": {(1,): 1, (3,): 1},
    }
    modes = {name: results[name].mode for name in tables}
    columns = dict.fromkeys(("bare", "grouped", "owned", "inside", "joined"), Mode.DIFFERENTIAL)
    assert modes == {**columns, **dict.fromkeys(("quoted", "userless", "around", "early"), Mode.FULL)}
    function = (
        "nothing that is read there has a column '{name}', so that Spark takes the word for its function {name}(), "
        "which {why}"
    )
    clock = function.format(name="current_date", why="depends on when it runs")
    session = function.format(name="user", why="depends on who runs it and where")
    assert {name: results[name].reason for name in ("quoted", "userless", "around", "early")} == {
        "quoted": f"p changed; AUTO: full because {clock}",
        "userless": f"p changed; AUTO: full because {session}",
        "around": f"d changed; p changed; AUTO: full because {session}",
        "early": f"d changed; p changed; AUTO: full because {session}",
    }


def test_a_function_without_parentheses_is_computed_in_full(world: World) -> None:
    world.source("p", PLAIN, [{"id": 1, "v": 5}])
    world.define({"s": "SELECT id, current_date AS c FROM p"})
    world.tick()
    world.append("p", {"id": 2, "v": 6})

    result = world.tick()["s"]

    assert (result.mode, result.reason) == (
        Mode.FULL,
        "p changed; AUTO: full because current_date() depends on when it runs (line 1 of the query)",
    )
    assert {type(row[1]) for row in world.rows("s")} == {dt.date}
