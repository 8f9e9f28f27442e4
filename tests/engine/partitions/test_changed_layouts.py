"""A table whose partitions or columns change."""

from __future__ import annotations

import pytest

from airflow_trickle import Mode
from airflow_trickle.errors import TrickleError
from tests.conftest import Tuned
from tests.engine.partitions.layouts import PLAIN, agreed, choose, live, plain, verified
from tests.engine.world import World


@pytest.mark.parametrize("mode", [pytest.param("FULL", marks=pytest.mark.soak), "DIFFERENTIAL"])
def test_a_change_of_partition_by_writes_all_files_anew_though_no_input_changed(
    world: World, mode: str, tuned: Tuned
) -> None:
    choose("large", tuned)
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3], 1 + number % 5) for number in range(30)])
    query = {"copied": "SELECT * FROM rows"}
    world.define(query, copied={"refresh_mode": mode})
    world.tick()
    specs = []
    for by in ("[g]", '[g, "months(d)"]', "[]", '["truncate(10, k)"]', "[G]"):
        if len(specs) == 1:
            # Position deletes beside files of a partition.
            world.delete("rows", "k = 0")
            world.tick()
        before = set(live(world, "copied"))
        world.define(query, copied={"refresh_mode": mode, "partition_by": by})
        result = world.tick()["copied"]
        assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.FULL, 0, 0)
        assert result.reason.startswith("partition_by changed")
        assert not before & set(live(world, "copied"))
        agreed(world, "copied", world.judge("SELECT * FROM rows"))
        specs.append(world.outside.load_table("default.copied").spec().spec_id)
        assert world.tick()["copied"].mode is Mode.NO_DATA
    # The fields are those of before where they are the same, and so are whole specs.
    assert specs == [1, 2, 0, 3, 1]
    table = world.outside.load_table("default.copied")
    assert sorted({f.field_id for spec in table.specs().values() for f in spec.fields}) == [1000, 1001, 1002]
    for snapshot in table.metadata.snapshots:
        assert len(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()) >= 25
    verified(world)


def test_a_spec_that_somebody_else_changed_is_put_right_with_the_next_change(world: World) -> None:
    world.source("rows", PLAIN, [plain(number, "ab"[number % 2]) for number in range(8)])
    world.define({"copied": "SELECT * FROM rows"}, copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"})
    world.tick()
    with world.outside.load_table("default.copied").update_spec() as change:
        change.add_identity("d")
    world.append("rows", plain(9, "c"))
    result = world.tick()["copied"]
    assert result.mode is Mode.FULL
    assert result.reason == "rows changed; partition_by changed"
    assert [field.name for field in world.outside.load_table("default.copied").spec().fields] == ["g"]
    agreed(world, "copied", world.judge("SELECT * FROM rows"))


def test_columns_come_and_go_and_grow_beside_partitions(world: World) -> None:
    world.source("rows", PLAIN, [plain(number, "ab"[number % 2], 1 + number % 3) for number in range(9)])

    def tick(query: str, by: str) -> None:
        world.define({"copied": query}, copied={"partition_by": by})
        world.append("rows", plain(50, "a"))
        world.tick()
        agreed(world, "copied", world.judge(query))

    tick("SELECT CAST(k % 2 AS INT) AS p, g, d FROM rows", "[p]")
    before = set(live(world, "copied"))
    tick("SELECT CAST(k % 2 AS BIGINT) AS p, g, d FROM rows", "[p]")
    assert not before & set(live(world, "copied"))
    tick("SELECT g, CAST(k % 2 AS BIGINT) AS p, d FROM rows", '["days(d)"]')
    world.tick()
    # A column that has the name of a partition.
    tick("SELECT d, CAST(k AS STRING) AS d_day, CAST(k % 2 AS BIGINT) AS p FROM rows", '["days(d)"]')
    table = world.outside.load_table("default.copied")
    assert [field.name for field in table.spec().fields] == ["d_day_2"]
    for snapshot in table.metadata.snapshots:
        assert len(table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()) >= 9
    verified(world)


@pytest.mark.parametrize("query", ["SELECT g, d FROM rows", "SELECT CAST(k AS STRING) AS k, g, d FROM rows"])
def test_a_column_that_the_table_was_parted_by_cannot_go(world: World, query: str) -> None:
    world.source("rows", PLAIN, [plain(1, "a")])
    whole = "SELECT k, g, d FROM rows"
    world.define({"copied": whole}, copied={"partition_by": "[k]"})
    world.tick()
    world.define({"copied": whole}, copied={"partition_by": "[g]"})
    world.tick()
    world.define({"copied": query}, copied={"partition_by": "[g]"})
    with pytest.raises(TrickleError, match="is or was parted by column 'k', which is gone from its result or has"):
        world.tick()
    agreed(world, "copied", world.judge(whole))
    world.outside.drop_table("default.copied")
    world.tick()
    agreed(world, "copied", world.judge(query.replace("STRING", "VARCHAR")))


def test_an_empty_table_gets_its_partitions_too(world: World) -> None:
    world.source("rows", PLAIN, [plain(1, "a")])
    query = {"copied": "SELECT * FROM rows WHERE k > 1"}
    world.define(query)
    world.tick()
    world.define(query, copied={"partition_by": "[g]"})
    assert world.tick()["copied"].reason.startswith("partition_by changed")
    assert [field.name for field in world.outside.load_table("default.copied").spec().fields] == ["g"]
    world.append("rows", plain(2, "a"), plain(3, None))
    world.tick()
    agreed(world, "copied", world.judge(query["copied"]))
