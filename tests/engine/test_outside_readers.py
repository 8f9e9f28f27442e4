"""Iceberg clients that are not ours read every published table right."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable

from tests.engine.world import World, bag
from tests.outside_readers import duckdb_rows

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(9, 2)),
        ("moment", pa.timestamp("us", tz="UTC")),
    ]
)
QUERIES = {
    "copy": "SELECT * FROM t",
    "sums": "SELECT name, COUNT(*) AS n, SUM(price) AS total, MAX(moment) AS latest FROM t GROUP BY name",
    "twice": "SELECT id FROM copy UNION ALL SELECT id FROM t",
}


def row(id: int, name: str | None, price: str | None, hour: int) -> dict[str, Any]:
    moment = dt.datetime(2026, 1, 1, hour, tzinfo=dt.timezone.utc)
    return {"id": id, "name": name, "price": Decimal(price) if price else None, "moment": moment}


def assert_all_agree(world: World) -> None:
    for name, query in QUERIES.items():
        expected = world.judge(query, copy=QUERIES["copy"])
        assert world.rows(name) == expected, name
        location = world.outside.load_table(f"default.{name}").metadata_location
        # By its metadata file alone, without any catalog.
        assert bag(StaticTable.from_metadata(location).scan().to_arrow()) == expected, name
        assert Counter(duckdb_rows(location)) == expected, name


def test_pyiceberg_alone_and_duckdb_read_every_table_after_every_tick(world: World) -> None:
    world.source("t", SCHEMA, [row(1, "a", "1.50", 1), row(2, None, None, 2), row(2, None, None, 2)])
    world.define(QUERIES)
    world.tick()
    assert_all_agree(world)
    world.append("t", row(3, "a", "2.25", 3), row(3, "a", "2.25", 3))
    world.tick()
    assert_all_agree(world)
    world.delete("t", "id = 2")
    world.append("t", row(4, "ü", "0.01", 4))
    world.tick()
    assert_all_agree(world)
    world.replace("t", [row(5, "b", "9.99", 5)])
    world.tick()
    assert_all_agree(world)
