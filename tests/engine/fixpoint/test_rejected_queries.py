"""What Spark does not accept in a cycle or a recursive query is told with its place, as everywhere else."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airflow_trickle import TickFailed
from tests.engine.world import World

EDGES = pa.schema([("src", pa.int64()), ("dst", pa.int64())])


def test_a_misspelt_column_in_a_cycle_or_a_recursive_query_is_told_with_its_place(world: World) -> None:
    world.source("edges", EDGES, [{"src": 1, "dst": 2}])
    tables = {
        "a": "SELECT src, dst FROM edges\nUNION SELECT a.src, b.dst FROM a JOIN b ON a.dst = b.src",
        "b": "SELECT src, dst FROM edges\nUNION SELECT src, a.dstt FROM a",
        "r": "WITH RECURSIVE r AS (\n  SELECT src FROM edges UNION SELECT e.dsst FROM r JOIN edges e ON e.src = r.src\n"
        ") SELECT src FROM r",
    }
    world.define(tables, pipeline={"allow_circular": "true"})

    with pytest.raises(TickFailed) as failed:
        world.tick()

    errors = {name: result.error for name, result in failed.value.results.items()}
    complaint = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name"
    cycle = (
        f"{world.yaml}:12:25: stream table 'b' was not refreshed: Spark does not accept its query: {complaint} "
        f"`a`.`dstt` cannot be resolved. Did you mean one of the following? [`a`.`dst`, `a`.`src`]. SQLSTATE: 42703. "
        f"Nothing was published."
    )
    assert errors == {
        "a": cycle,
        "b": cycle,
        "r": f"{world.yaml}:16:44: stream table 'r' was not refreshed: Spark does not accept its query: {complaint} "
        f"`e`.`dsst` cannot be resolved. Did you mean one of the following? [`e`.`dst`, `e`.`src`, `r`.`src`]. "
        f"SQLSTATE: 42703. Nothing was published.",
    }
