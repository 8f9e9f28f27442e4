"""Small files read in the worker process: what pyiceberg reads, and nothing where Arrow and Spark may differ."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import LongType, StringType

from airflow_trickle.engine.arrow_read import SmallFiles, change_here, netted
from airflow_trickle.engine.full import Input
from airflow_trickle.engine.small_change import netted_here, places_here
from airflow_trickle.engine.states import ChangedInput
from airflow_trickle.engine.zset import FILE, POSITION, WEIGHT
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.commit import Target
from airflow_trickle.lakehouse.files import file_key
from airflow_trickle.lakehouse.lost_rows import split
from airflow_trickle.lakehouse.snapshots import current_version, files_of, schema_of
from tests.conftest import Tuned
from tests.engine.world import bag

EVERY = pa.schema(
    [
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
        ("tz", pa.timestamp("us", tz="UTC")),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("d", pa.decimal128(12, 2)),
    ]
)
UTC = dt.timezone.utc


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog("trickle", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    made.create_namespace("default")
    return made


def row(number: int) -> dict[str, Any]:
    return {
        "b": number % 2 == 0,
        "i": number,
        "l": None if number == 3 else number * 10**12,
        "day": dt.date(1500, 1, 1 + number),
        "at": dt.datetime(2026, 3, 29, 2, 30, 0, number),
        "tz": dt.datetime(1900, 1, 1, 0, 0, 0, number, tzinfo=UTC),
        "s": f"ü{number}",
        "y": bytes([number, 255]),
        "d": Decimal(number) / 4,
    }


def table_of(catalog: SqlCatalog, schema: pa.Schema, *rows: dict[str, Any]) -> Table:
    made = catalog.create_table("default.t", schema=schema)
    made.append(pa.Table.from_pylist(list(rows), schema=schema))
    return made


def state(table: Table, snapshot: int | None = None) -> Input:
    version = current_version(table)
    at = version.snapshot_id if snapshot is None else snapshot
    return Input(table, version, tuple(files_of(table, at).values()))


def changed(table: Table, before: int) -> ChangedInput:
    changes, lost = split(table, file_changes(table, before, table.metadata.current_snapshot_id))
    return ChangedInput(state(table, before), state(table), changes, lost)


def read_whole(table: Table) -> pa.Table | None:
    reader = SmallFiles(table, table.schema())
    parts = [reader.rows(file) for file in state(table).files]
    return None if any(part is None for part in parts) else pa.concat_tables(part for part in parts if part is not None)


def weighted_bag(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for values in rows.to_pylist():
        weight = values.pop(WEIGHT)
        found[tuple(values.values())] += weight
    return found


def test_values_of_every_plain_type_are_those_that_pyiceberg_reads(catalog: SqlCatalog) -> None:
    table = table_of(catalog, EVERY, *(row(number) for number in range(5)), dict.fromkeys(EVERY.names))
    found = read_whole(table)
    assert found is not None
    assert bag(found) == bag(table.scan().to_arrow())
    assert found.schema.types == EVERY.types


def test_columns_are_found_by_their_ids_whatever_they_were_called(catalog: SqlCatalog) -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("gone", pa.string())])
    table = table_of(catalog, schema, {"a": 1, "b": "x", "gone": "y"})
    with table.update_schema() as update:
        update.rename_column("b", "c")
        update.update_column("a", LongType())
        update.delete_column("gone")
        update.add_column("gone", StringType())
    table.append(pa.table({"a": pa.array([2], pa.int64()), "c": ["z"], "gone": ["new"]}))
    found = read_whole(table)
    assert found is not None
    assert bag(found) == bag(table.scan().to_arrow()) == Counter({(1, "x", None): 1, (2, "z", "new"): 1})


def test_zero_has_one_sign(catalog: SqlCatalog) -> None:
    table = table_of(catalog, pa.schema([("f", pa.float64())]), {"f": -0.0})
    found = read_whole(table)
    assert found is not None
    assert math.copysign(1.0, found["f"][0].as_py()) == 1.0


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.struct([("x", pa.int64())]), pa.map_(pa.string(), pa.int64()), pa.time64("us")]
)
def test_other_types_are_left_to_spark(catalog: SqlCatalog, kind: pa.DataType) -> None:
    table = catalog.create_table("default.t", schema=pa.schema([("x", kind), ("k", pa.int64())]))
    # A map and a time are no columns that Spark may read, so only the other one is asked for.
    table.append(pa.table({"x": pa.nulls(1, kind), "k": pa.array([1], pa.int64())}, schema=table.schema().as_arrow()))
    found = read_whole(table)
    assert found is None or found.column_names == ["k"]


def test_a_change_is_net_and_weighted(catalog: SqlCatalog) -> None:
    table = table_of(catalog, EVERY, row(1), row(2), row(2), row(4))
    before = table.metadata.current_snapshot_id
    assert before is not None
    table.overwrite(pa.Table.from_pylist([row(2), row(5), row(5)], schema=EVERY))
    found = change_here(changed(table, before), schema_of(table, current_version(table)))
    assert found is not None
    expected = {tuple(row(1).values()): -1, tuple(row(2).values()): -1, tuple(row(4).values()): -1}
    assert dict(weighted_bag(found)) == {**expected, tuple(row(5).values()): 2}
    assert all(weighted_bag(found).values())


def test_what_arrow_does_not_tell_apart_as_spark_does_is_not_netted_here() -> None:
    rows = pa.table({"f": pa.array([float("nan"), 0.0]), WEIGHT: pa.array([1, -1], pa.int64())})
    assert netted(rows) is None


def test_a_change_that_is_not_small_is_left_to_spark(catalog: SqlCatalog, tuned: Tuned) -> None:
    table = table_of(catalog, EVERY, row(1))
    before = table.metadata.current_snapshot_id
    assert before is not None
    table.append(pa.Table.from_pylist([row(2), row(3)], schema=EVERY))
    one, schema = changed(table, before), schema_of(table, current_version(table))
    assert change_here(one, schema) is not None
    for bound in ("arrow_read_rows", "arrow_read_bytes", "arrow_read_memory", "arrow_change_rows"):
        tuned(arrow_read_rows=10_000, arrow_read_bytes=2**20, arrow_read_memory=2**20, arrow_change_rows=100_000)
        tuned(**{bound: 1})
        assert change_here(one, schema) is None, bound


def test_places_of_rows_that_go_are_found_in_the_files_that_may_hold_them(catalog: SqlCatalog) -> None:
    table = table_of(catalog, EVERY, row(1), row(3), row(3))
    table.append(pa.Table.from_pylist([row(8), row(3)], schema=EVERY))
    held = state(table).files
    gone = pa.Table.from_pylist([row(3), row(8)], schema=EVERY).append_column(WEIGHT, pa.array([-2, -1], pa.int64()))
    target = Target("default.t", table, table.schema(), is_new=False)
    found = places_here(gone, target, held)
    assert found is not None
    rows = {file_key(file.file_path): SmallFiles(table, table.schema()).all_rows(file) for file in held}
    taken: Counter[tuple[Any, ...]] = Counter()
    for key, positions in found.items():
        whole = rows[key]
        assert whole is not None
        taken += bag(whole.take(list(positions)))
    assert taken == Counter({tuple(row(3).values()): 2, tuple(row(8).values()): 1})


def test_places_of_a_row_that_is_not_there_are_looked_for_by_spark(catalog: SqlCatalog) -> None:
    table = table_of(catalog, EVERY, row(1))
    gone = pa.Table.from_pylist([row(2)], schema=EVERY).append_column(WEIGHT, pa.array([-1], pa.int64()))
    assert places_here(gone, Target("default.t", table, table.schema(), is_new=False), state(table).files) is None


def test_a_null_may_be_in_a_file_whose_values_lie_elsewhere(catalog: SqlCatalog) -> None:
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    table = table_of(catalog, schema, {"k": None, "v": 1}, {"k": 900, "v": 2})
    gone = pa.Table.from_pylist([{"k": None, "v": 1}], schema=schema).append_column(WEIGHT, pa.array([-1], pa.int64()))
    found = places_here(gone, Target("default.t", table, table.schema(), is_new=False), state(table).files)
    assert found is not None
    assert list(found.values()) == [[0]]
    two = pa.Table.from_pylist([{"k": 5, "v": 7}, {"k": None, "v": 1}], schema=schema)
    table.append(two.slice(0, 1))
    both = two.append_column(WEIGHT, pa.array([-1, -1], pa.int64()))
    found = places_here(both, Target("default.t", table, table.schema(), is_new=False), state(table).files)
    assert found is not None
    assert sorted(map(list, found.values())) == [[0], [0]]


def weighted_rows(*rows: tuple[int, int, str | None, int | None]) -> pa.Table:
    types = (pa.int64(), pa.int64(), pa.string(), pa.int64())
    columns = list(zip(*rows, strict=True))
    return pa.table(
        [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)], ["k", WEIGHT, FILE, POSITION]
    )


def test_rows_with_places_are_added_up_and_keep_as_many_places_as_rows_go() -> None:
    came = [(3, 2, None, None), (1, 1, None, None), (2, 1, None, None)]
    found = netted_here(weighted_rows((1, -1, "f", 0), (2, -1, "f", 1), (2, -1, "g", 7), *came), placed=True)
    assert found is not None
    assert dict(weighted_bag(found.rows)) == {(2,): -1, (3,): 2}
    assert found.places == {"f": [1]}


def test_a_row_that_comes_too_often_to_be_written_here_is_left_to_spark(tuned: Tuned) -> None:
    rows = weighted_rows((1, 6, None, None), (1, 5, None, None))
    assert netted_here(rows, placed=True) is not None
    tuned(arrow_change_rows=10)
    assert netted_here(rows, placed=True) is None
