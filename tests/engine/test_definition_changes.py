from __future__ import annotations

import pyarrow as pa

from airflow_trickle import Mode
from tests.engine.world import World

SCHEMA = pa.schema([("id", pa.int32()), ("name", pa.string())])


def start(world: World, query: str = "SELECT id, name FROM t") -> None:
    world.source("t", SCHEMA, [{"id": 1, "name": "a"}, {"id": 2, "name": None}])
    world.define({"s": query, "after": "SELECT COUNT(*) AS n FROM s"})
    world.tick()


def columns(world: World, name: str = "s") -> list[str]:
    return [f"{f.name}: {f.field_type}" for f in world.outside.load_table(f"default.{name}").schema().fields]


def test_a_cosmetic_edit_does_nothing(world: World) -> None:
    start(world)
    world.define({"s": "select  id,\n  name -- all of it\nfrom t", "after": "SELECT COUNT(*) AS n FROM s"})
    assert {result.mode for result in world.tick().values()} == {Mode.NO_DATA}


def test_an_edited_query_reinitializes_that_table_and_passes_on_the_difference(world: World) -> None:
    start(world)
    world.define({"s": "SELECT id, name FROM t WHERE id = 1", "after": "SELECT COUNT(*) AS n FROM s"})
    results = world.tick()
    assert results["s"].reason.startswith("its query changed")
    assert (results["s"].rows_inserted, results["s"].rows_deleted) == (0, 1)
    assert results["after"].reason.startswith("s changed; AUTO: full because it reads less than ")
    assert world.rows("after") == {(1,): 1}


def test_an_edit_with_the_same_result_publishes_nothing(world: World) -> None:
    start(world)
    world.define({"s": "SELECT id, name FROM t WHERE id > 0", "after": "SELECT COUNT(*) AS n FROM s"})
    results = world.tick()
    assert (results["s"].mode, results["s"].changed, results["after"].mode) == (
        Mode.FULL,
        False,
        Mode.NO_DATA,
    )
    assert {result.mode for result in world.tick().values()} == {Mode.NO_DATA}


def test_a_new_column_evolves_the_schema(world: World) -> None:
    start(world)
    world.define({"s": "SELECT id, name, id * 2 AS twice FROM t"})
    world.tick()
    assert columns(world) == ["id: int", "name: string", "twice: int"]
    assert world.rows("s") == {(1, "a", 2): 1, (2, None, 4): 1}


def test_a_column_can_go_and_come_back_with_another_type(world: World) -> None:
    start(world)
    world.define({"s": "SELECT id FROM t"})
    result = world.tick()["s"]
    # The rows lose a column; as rows of the new table none comes or goes.
    assert (result.rows_inserted, result.rows_deleted) == (0, 0)
    assert world.rows("s") == {(1,): 1, (2,): 1}
    world.define({"s": "SELECT id, length(name) AS name FROM t"})
    world.tick()
    assert columns(world) == ["id: int", "name: int"]
    assert world.rows("s") == {(1, 1): 1, (2, None): 1}


def test_a_wider_type_keeps_the_column_and_an_incompatible_one_rebuilds_it(world: World) -> None:
    start(world)
    before = world.outside.load_table("default.s").schema().find_field("id").field_id
    world.define({"s": "SELECT CAST(id AS BIGINT) AS id, name FROM t"})
    assert world.tick()["s"].changed is False
    assert columns(world)[0] == "id: long"
    assert world.outside.load_table("default.s").schema().find_field("id").field_id == before
    world.define({"s": "SELECT CAST(id AS STRING) AS id, name FROM t"})
    assert world.tick()["s"].rows_inserted == 2
    assert columns(world)[0] == "id: string"
    assert world.rows("s") == {("1", "a"): 1, ("2", None): 1}


def test_reordered_columns_are_published_in_the_new_order(world: World) -> None:
    start(world)
    world.define({"s": "SELECT name, id FROM t"})
    world.tick()
    assert columns(world) == ["name: string", "id: int"]
    assert world.rows("s") == {("a", 1): 1, (None, 2): 1}


def test_nested_columns_that_change_are_rewritten(world: World) -> None:
    start(world, "SELECT id, array(name) AS l FROM t")
    world.define({"s": "SELECT id, array(id) AS l FROM t"})
    world.tick()
    assert world.rows("s") == {(1, (1,)): 1, (2, (2,)): 1}
    world.define({"s": "SELECT id FROM t"})
    world.tick()
    world.define({"s": "SELECT id, array(name, name) AS l FROM t"})
    world.tick()
    assert world.rows("s") == {(1, ("a", "a")): 1, (2, (None, None)): 1}


def test_a_table_removed_from_the_yaml_keeps_its_data(world: World) -> None:
    start(world)
    world.define({"s": "SELECT id, name FROM t"})
    world.tick()
    assert world.rows("after") == {(2,): 1}


def test_old_snapshots_stay_readable_after_a_schema_change(world: World) -> None:
    start(world)
    first = world.outside.load_table("default.s").current_snapshot().snapshot_id  # type: ignore[union-attr]
    world.define({"s": "SELECT id, CAST(id AS STRING) AS name, true AS ok FROM t"})
    world.tick()
    old = world.outside.load_table("default.s").scan(snapshot_id=first).to_arrow()
    assert sorted(old.to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": None},
    ]
