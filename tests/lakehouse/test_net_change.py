"""The net change of rewritten files, found in the worker process, against a plain difference of bags."""

from __future__ import annotations

import datetime
import math
import random
import struct
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.lost_rows import split
from airflow_trickle.lakehouse.net_change import NetChange, forget, net_change, paired, same_rows
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.tuning import tuned
from tests import budgets
from tests.deleting import commit_files, data_file, equality_deletes, position_deletes

WIDE = Schema(
    NestedField(1, "k", LongType(), required=False),
    NestedField(2, "real", DoubleType(), required=False),
    NestedField(3, "small", FloatType(), required=False),
    NestedField(4, "money", DecimalType(20, 3), required=False),
    NestedField(5, "text", StringType(), required=False),
    NestedField(6, "raw", BinaryType(), required=False),
    NestedField(7, "flag", BooleanType(), required=False),
    NestedField(8, "day", DateType(), required=False),
    NestedField(9, "moment", TimestamptzType(), required=False),
    NestedField(10, "clock", TimestampType(), required=False),
    NestedField(11, "n", IntegerType(), required=False),
)
PLAIN = Schema(NestedField(1, "k", LongType(), required=False), NestedField(2, "v", StringType(), required=False))
EVERYTHING = 1 << 40


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/w")
    made.create_namespace("default")
    forget()
    yield made
    forget()


def any_row(chance: random.Random, keys: int) -> dict[str, Any]:
    values: dict[str, list[Any]] = {
        "real": [0.0, -0.0, 1.5, math.nan, math.inf],
        "small": [0.0, -0.0, math.nan, 0.5],
        "money": [Decimal("0.000"), Decimal("-99999999999999999.999")],
        "text": ["", "a", "A", "ä", "a "],
        "raw": [b"", b"a", b"\x00"],
        "flag": [True, False],
        "day": [datetime.date(2026, 2, 28), datetime.date(1999, 1, 1)],
        "moment": [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)],
        "clock": [datetime.datetime(2026, 1, 1, 0, 0, 0, 1)],
        "n": [1, -1],
    }
    row = {name: chance.choice([None, *some]) if chance.random() < 0.3 else some[0] for name, some in values.items()}
    return {"k": chance.choice([None, *range(keys)]), **row}


def plain(value: Any) -> Any:
    """A value as Spark compares it: NaN equals NaN, and zero has one sign."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def bag(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(value) for value in row.values()) for row in rows.to_pylist())


def read(table: Table, snapshot: int | None) -> Counter[tuple[Any, ...]]:
    """What a table holds, file by file, by code that is not the one under test."""
    found: Counter[tuple[Any, ...]] = Counter()
    for file in files_of(table, snapshot).values():
        rows = pq.read_table(spark_path(file.file_path))
        gone = set(deleted_positions(table.io, file).to_pylist())
        rows = rows.take(pa.array([at for at in range(len(rows)) if at not in gone], pa.int64()))
        names = [field.name for field in table.metadata.schema().fields]
        columns = [rows[n].to_pylist() if n in rows.column_names else [None] * len(rows) for n in names]
        found.update(tuple(plain(value) for value in row) for row in zip(*columns, strict=True))
    return found


def netted(table: Table, before: int | None, **options: int) -> NetChange | None:
    changes, lost = split(table, file_changes(table, before, table.metadata.current_snapshot_id))
    return net_change(table, changes, lost, table.metadata.schema(), **{"most_bytes": EVERYTHING, **options})


def weighted(found: NetChange | None) -> dict[tuple[Any, ...], int]:
    assert found is not None
    rows = [tuple(plain(value) for value in row.values()) for row in found.rows.to_pylist()]
    weights = found.weights.to_pylist()
    # Each row once.
    assert len(set(rows)) == len(rows) == len(weights)
    return dict(zip(rows, weights, strict=True))


def difference(table: Table, before: int | None) -> dict[tuple[Any, ...], int]:
    old, new = read(table, before), read(table, table.metadata.current_snapshot_id)
    return {row: new[row] - old[row] for row in old | new if new[row] != old[row]}


def rewritten(rows: list[dict[str, Any]], chance: random.Random, keys: int) -> list[dict[str, Any]]:
    """What a writer makes of the rows of a file: some go, some are others, some come; mostly in the same order."""
    share = chance.choice([0.0, 0.05, 0.5])
    kept = [row for row in rows if chance.random() >= share]
    made = [{**row, "text": "new"} if chance.random() < share else row for row in kept]
    for _ in range(chance.choice([0, 0, 3])):
        made.insert(chance.randint(0, len(made)), any_row(chance, keys))
    if chance.random() < 0.2:
        chance.shuffle(made)
    return made


@pytest.mark.seeded
@pytest.mark.parametrize("seed", range(3))
def test_the_net_change_is_the_difference_of_the_bags(catalog: SqlCatalog, seed: int) -> None:
    chance = budgets.chance(seed)
    for number in range(budgets.rounds(8)):
        keys = chance.choice([3, 1000])
        table = catalog.create_table(f"default.t{number}", WIDE)
        old = [[any_row(chance, keys) for _ in range(chance.randint(1, 60))] for _ in range(chance.randint(1, 3))]
        files = [data_file(table, rows, row_group_size=chance.choice([7, 1000])) for rows in old]
        table = commit_files(table, added=files)
        if chance.random() < 0.5:
            table = commit_files(table, deletes=[position_deletes(table, [(files[0].file_path, 0)])])
        before = table.metadata.current_snapshot_id
        new = [rewritten(rows, chance, keys) for rows in old]
        if chance.random() < 0.3:
            new = [[row for rows in new for row in rows]]
        live = files_of(table, before)
        added = [data_file(table, rows) for rows in new if rows]
        stays = chance.random() < 0.3 and live[files[-1].file_path]
        removed = [file for file in live.values() if file is not stays]
        table = commit_files(table, added=added, removed=removed)
        if stays:
            table = commit_files(table, deletes=[position_deletes(table, [(stays.file_path, stays.record_count - 1)])])
        forget()
        with tuned(arrow_net_rows=chance.choice([2, 5, 8192])):
            assert weighted(netted(table, before)) == difference(table, before)


def numbers(*those: int) -> pa.Table:
    rows = [{"k": n, "v": f"v{n}"} for n in those]
    return pa.Table.from_pylist(rows, schema=schema_to_pyarrow(PLAIN))


def appended(catalog: SqlCatalog, *tables: pa.Table) -> Table:
    table = catalog.create_table("default.t", PLAIN)
    for rows in tables:
        table.append(rows)
    return table.refresh()


def current(table: Table) -> int:
    snapshot = table.metadata.current_snapshot_id
    assert snapshot is not None
    return snapshot


def test_copy_on_write_deletes_leave_only_the_deleted_rows(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(*range(1000)), numbers(*range(1000, 2000)))
    before = current(table)
    table.delete("k IN (3, 4, 500, 1999)")
    found = netted(table, before)
    assert weighted(found) == {(n, f"v{n}"): -1 for n in (3, 4, 500, 1999)}
    assert found is not None
    assert (found.count, found.only_grew) == (4, False)


def test_only_rows_without_a_match_are_held(catalog: SqlCatalog) -> None:
    table = appended(catalog, *(numbers(*range(n * 2000, (n + 1) * 2000)) for n in range(4)))
    before = current(table)
    table.delete("k IN (0, 1, 2500, 4500, 7999)")
    changes = file_changes(table, before, current(table))
    assert (len(changes.removed), len(changes.added)) == (4, 4)
    # All rows together would take 40 times as much.
    with tuned(arrow_net_rows=20, arrow_compare_memory=16 * 1024):
        assert weighted(netted(table, before)) == {(n, f"v{n}"): -1 for n in (0, 1, 2500, 4500, 7999)}


def test_a_rewritten_file_is_read_beside_the_one_that_it_comes_from(catalog: SqlCatalog) -> None:
    table = appended(catalog, *(numbers(*range(n * 100, n * 100 + 50)) for n in range(5)))
    before = current(table)
    table.delete("k IN (10, 110, 210, 310, 410)")
    changes = file_changes(table, before, current(table))
    removed, added = paired(changes.removed, changes.added[::-1])

    def least(file: Any) -> int:
        return int.from_bytes(file.lower_bounds[1], "little")

    assert [least(file) for file in removed] == [least(file) for file in added] == [0, 100, 200, 300, 400]


def test_rows_that_are_only_added_by_a_rewrite_are_growth(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(1, 2, 2))
    before = current(table)
    table.overwrite(numbers(2, 1, 2, 3, 3))
    found = netted(table, before)
    assert weighted(found) == {(3, "v3"): 2}
    assert found is not None
    assert found.only_grew


def test_the_same_rows_in_other_files_are_no_change(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(1, 2, 2))
    before = current(table)
    table.overwrite(numbers(2, 1, 2))
    changes = file_changes(table, before, current(table))
    assert same_rows(table, changes, PLAIN)
    # Known now: no file is opened for it again.
    assert netted(table, before, most_bytes=0) is not None
    table.overwrite(numbers(2, 1, 1))
    assert not same_rows(table, file_changes(table, before, current(table)), PLAIN)


def test_a_change_is_netted_once_for_all_who_read_it(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(*range(50)))
    before = current(table)
    table.delete("k = 7")
    between = current(table)
    first = netted(table, before)
    assert first is not None
    assert first.bytes_read > 0
    again = netted(table, before, most_bytes=0)
    assert again is not None
    assert (weighted(again), again.bytes_read) == (weighted(first), 0)
    # Another change, and the same one by other columns, are netted anew.
    table.delete("k = 8")
    assert weighted(netted(table, before)) == {(7, "v7"): -1, (8, "v8"): -1}
    assert weighted(netted(table, between)) == {(8, "v8"): -1}
    changes = file_changes(table, before, current(table))
    narrow = net_change(table, changes, (), Schema(PLAIN.fields[0]), most_bytes=EVERYTHING)
    assert weighted(narrow) == {(7,): -1, (8,): -1}


def test_what_was_netted_last_is_kept_in_bounded_memory(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(*range(50)))
    before = current(table)
    table.delete("k = 7")
    with tuned(arrow_change_bytes=20):
        assert netted(table, before) is None
    with tuned(arrow_change_bytes=200):
        assert netted(table, before) is not None
        for n in range(10, 20):
            between = current(table)
            table.delete(f"k = {n}")
            assert netted(table, between) is not None
        assert netted(table, before, most_bytes=0) is None


@pytest.mark.parametrize("limit", [{"arrow_change_rows": 1}, {"arrow_compare_memory": 30}, {"arrow_change_bytes": 30}])
def test_a_change_that_does_not_fit_is_left_to_spark(catalog: SqlCatalog, limit: dict[str, int]) -> None:
    table = appended(catalog, numbers(*range(50)))
    before = current(table)
    table.delete("k IN (7, 9)")
    with tuned(**limit):
        assert netted(table, before) is None
    assert netted(table, before, most_bytes=10) is None
    assert netted(table, before) is not None


def test_rows_without_a_match_that_are_too_many_are_left_to_spark(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(*range(200)))
    before = current(table)
    table.overwrite(numbers(*range(1000, 1200)))
    with tuned(arrow_net_rows=2, arrow_change_rows=10):
        assert netted(table, before) is None


def test_columns_are_told_by_their_ids_and_widened(catalog: SqlCatalog) -> None:
    schema = Schema(
        NestedField(1, "k", IntegerType(), required=False),
        NestedField(2, "v", StringType(), required=False),
        NestedField(3, "m", DecimalType(9, 2), required=False),
    )
    table = catalog.create_table("default.t", schema)
    rows = [{"k": 1, "v": "a", "m": Decimal("1.00")}, {"k": 2, "v": "b", "m": None}]
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(schema)))
    with table.update_schema() as update:
        update.rename_column("v", "w")
        update.update_column("k", LongType())
        update.update_column("m", DecimalType(12, 2))
    with table.update_schema() as update:
        update.add_column("v", StringType())
    table = table.refresh()
    before = current(table)
    table.delete("k = 2")
    table = table.refresh()
    found = netted(table, before)
    assert found is not None
    assert found.rows.to_pylist() == [{"k": 2, "w": "b", "m": None, "v": None}]
    assert found.rows.schema.types == [pa.int64(), pa.string(), pa.decimal128(12, 2), pa.string()]


def test_nested_columns_are_left_to_spark(catalog: SqlCatalog) -> None:
    for kind in (ListType(7, LongType(), False), StructType(NestedField(7, "x", LongType(), required=False))):
        schema = Schema(NestedField(1, "k", LongType(), required=False), NestedField(2, "s", kind, required=False))
        table = catalog.create_table(f"default.t{type(kind).__name__}", schema)
        table.append(pa.Table.from_pylist([{"k": 1}, {"k": 2}], schema=schema_to_pyarrow(table.schema())))
        before = current(table)
        table.delete("k = 2")
        assert netted(table, before) is None


def test_rows_that_are_deleted_by_their_values_are_left_to_spark(catalog: SqlCatalog) -> None:
    table = appended(catalog, numbers(1, 2))
    before = current(table)
    table = commit_files(table, deletes=[equality_deletes(table, [1], [{"k": 1}])])
    assert netted(table, before) is None


def test_files_without_field_ids_are_left_to_spark(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = catalog.create_table("default.t", PLAIN)
    path = f"{tmp_path}/outside.parquet"
    pq.write_table(pa.table({"k": [1, 2], "v": ["a", "b"]}), path)
    table.add_files([path])
    before = current(table)
    table.delete("k = 2")
    assert netted(table, before) is None


@pytest.mark.parametrize(
    ("marks", "exact"),
    [
        ({"org.apache.spark.version": "4.2.0"}, True),
        ({"org.apache.spark.version": "2.4.8"}, False),
        ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, False),
    ],
    ids=str,
)
def test_files_of_the_julian_calendar_are_left_to_spark(
    catalog: SqlCatalog, marks: dict[str, str], exact: bool
) -> None:
    table = appended(catalog, numbers(1, 2))
    before = current(table)
    file = data_file(table, [{"k": 1, "v": "v1"}])
    path = spark_path(file.file_path)
    pq.write_table(pq.read_table(path).replace_schema_metadata(marks), path)
    table = commit_files(table, added=[file], removed=list(files_of(table, before).values()))
    assert (netted(table, before) is not None) == exact


@pytest.mark.parametrize(("year", "exact"), [(1899, False), (1900, True)])
def test_times_so_old_that_a_setting_decides_about_them_are_left_to_spark(
    catalog: SqlCatalog, year: int, exact: bool
) -> None:
    schema = Schema(
        NestedField(1, "d", DateType(), required=False),
        NestedField(2, "t", TimestampType(), required=False),
        NestedField(3, "k", LongType(), required=False),
    )
    table = catalog.create_table("default.t", schema)
    moment = datetime.datetime(year, 1, 1)
    rows = [{"d": moment.date(), "k": 1}, {"t": moment, "k": 2}, {"k": 3}]
    for k in (1, 2):
        table.overwrite(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(schema)))
        before = current(table)
        table.delete(f"k = {k}")
        assert (netted(table, before) is not None) == exact
    table.overwrite(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(schema)))
    before = current(table)
    table.delete("k = 3")
    assert netted(table, before) is not None


def test_what_spark_takes_for_equal_is_no_change(catalog: SqlCatalog) -> None:
    schema = Schema(NestedField(1, "d", DoubleType(), required=False), NestedField(2, "f", FloatType(), required=False))
    table = catalog.create_table("default.t", schema)

    def rows(*values: float | None) -> pa.Table:
        return pa.Table.from_pylist([{"d": v, "f": v} for v in values], schema=schema_to_pyarrow(schema))

    table.append(rows(0.0, math.nan, None, 1.5))
    before = current(table)
    (other_nan,) = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))
    table.overwrite(rows(None, 1.5, -0.0, other_nan))
    assert weighted(netted(table, before)) == {}
    table.overwrite(rows(None, 1.5, -0.0, 0.0))
    assert weighted(netted(table, before)) == {(0.0, 0.0): 1, ("NaN", "NaN"): -1}
