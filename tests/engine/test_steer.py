"""Reset and drop."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle.engine.steer import StillRead, drop, readers_of, reset
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_status
from tests.engine.world import World


def test_a_table_that_was_reset_still_counts_as_a_reader(world: World) -> None:
    world.source("s", pa.schema([("x", pa.int64())]), [{"x": 1}])
    world.define({"a": "SELECT x FROM s", "b": "SELECT x FROM a", "c": "SELECT x FROM s"})
    world.tick()
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        reset(lake, read_status(lake)["default.b"])
        assert readers_of(lake, "default.a") == ["default.b"]
        with pytest.raises(StillRead) as refused:
            drop(lake, read_status(lake)["default.a"])
        assert str(refused.value) == ("Table default.a is read by default.b. Drop these first, or use --force.")
        assert readers_of(lake, "default.s") == ["default.a", "default.c"]
        drop(lake, read_status(lake)["default.b"])
        drop(lake, read_status(lake)["default.a"])
    assert not world.outside.table_exists("default.a")
