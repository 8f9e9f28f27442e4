"""Tables with merge-on-read deletes: Spark reads the rows that other readers read, at every snapshot and between."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_trickle.engine import merge
from airflow_trickle.engine.feed import weighted_changes
from airflow_trickle.engine.inputs import count_rows, read_files
from airflow_trickle.engine.merge import FILE, POSITION
from airflow_trickle.engine.zset import WEIGHT
from airflow_trickle.errors import UnsupportedTable
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.changes import file_changes
from airflow_trickle.lakehouse.files import file_key
from airflow_trickle.lakehouse.lost_rows import split
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.spark.active import activated, configured
from tests import budgets
from tests.conftest import Tuned
from tests.deleting import commit_files, data_file, equality_deletes, held, position_deletes, publish
from tests.outside_readers import duckdb_rows
from tests.vectors import commit_vectors, puffin

SCHEMA = Schema(NestedField(1, "k", LongType(), required=False), NestedField(2, "v", StringType(), required=False))

Bag = Counter[tuple[Any, ...]]


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    # Spark writes such a path in another way than Iceberg does.
    made = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/ware house%20[1]+ü")
    made.create_namespace("default")
    return made


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with activated(spark), configured(spark, {"spark.sql.shuffle.partitions": "1"}, put_back=True):
        yield spark


def row(k: int | None, v: str | None) -> dict[str, Any]:
    return {"k": k, "v": v}


def by_spark(spark: SparkSession, table: Table, snapshot: int | None) -> Bag:
    found = read_files(spark, table, table.metadata.schema(), list(files_of(table, snapshot).values()))
    return Counter(tuple(one) for one in found.collect())


def by_duckdb(table: Table, snapshot: int | None) -> Bag:
    return Counter(duckdb_rows(table.metadata_location, snapshot)) if snapshot else Counter()


def by_pyiceberg(table: Table, snapshot: int | None) -> Bag:
    found = table.scan(snapshot_id=snapshot).to_arrow().to_pylist() if snapshot else []
    return Counter(tuple(one.values()) for one in found)


def check(spark: SparkSession, table: Table, expected: Sequence[Bag], *, readers: Sequence[Any]) -> None:
    """Every snapshot against other readers, and every pair of snapshots against the difference of their rows."""
    snapshots = [None, *(snapshot.snapshot_id for snapshot in table.metadata.snapshots)]
    states = dict(zip(snapshots, [Counter(), *expected], strict=True))
    for snapshot, bag in states.items():
        assert by_spark(spark, table, snapshot) == bag
        for reader in readers:
            assert reader(table, snapshot) == bag
    for before, old in states.items():
        found = feeds(spark, table, before, snapshots)
        for number, after in enumerate(snapshots):
            new = states[after]
            assert found[number] == {each: new[each] - old[each] for each in new | old if new[each] != old[each]}


def feeds(spark: SparkSession, table: Table, before: int | None, afters: list[int | None]) -> list[dict[Any, int]]:
    """The net changes from one snapshot to each of some others, in one query."""
    frames = []
    for number, after in enumerate(afters):
        # As a refresh has it: files that only lost rows are not read whole.
        changes, lost = split(table, file_changes(table, before, after))
        rows = weighted_changes(spark, table, changes, table.metadata.schema(), lost)
        frames.append(rows.select(F.lit(number).alias("to"), "*"))
    found: list[dict[Any, int]] = [{} for _ in afters]
    for one in reduce(lambda left, right: left.unionAll(right), frames).collect():
        values = one.asDict()
        weight, number = values.pop(WEIGHT), values.pop("to")
        found[number][tuple(values.values())] = weight
    return found


def test_position_deletes_take_exactly_their_rows(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    # Equal rows, NULLs, and more than one row group.
    one = data_file(table, [row(1, "a"), row(1, "a"), row(None, None), row(2, None)], row_group_size=2)
    two = data_file(table, [row(1, "a"), row(3, "c")])
    table = commit_files(table, added=[one, two])
    table = commit_files(table, deletes=[position_deletes(table, [(one.file_path, 1)])])
    # Both files in one delete file, one row for the second time, and a file that loses all its rows.
    places = [(one.file_path, 1), (one.file_path, 2), (two.file_path, 0), (two.file_path, 1)]
    table = commit_files(table, deletes=[position_deletes(table, places, bounds=False)])
    table = commit_files(table, added=[data_file(table, [row(1, "a")])])
    whole = Counter({(1, "a"): 3, (None, None): 1, (2, None): 1, (3, "c"): 1})
    expected = [
        whole,
        whole - Counter({(1, "a"): 1}),
        Counter({(1, "a"): 1, (2, None): 1}),
        Counter({(1, "a"): 2, (2, None): 1}),
    ]
    check(session, table, expected, readers=[by_duckdb, by_pyiceberg])


def test_position_deletes_that_we_wrote_are_read_alike_by_everybody(tmp_path: Path, session: SparkSession) -> None:
    name, places = "default.own", {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/w"}
    with open_lakehouse("trickle", **places) as lake:
        table = publish(lake, name, rows=[{"epoch": n, "name": None} for n in (1, 1, None, 2)])
        (path,) = held(table)
        table = publish(lake, name, positions={path: [0, 2]})
        table = publish(lake, name, positions={path: [3]}, rows=[{"epoch": 5, "name": "x"}, {"epoch": 5, "name": "x"}])
        table = publish(lake, name, removed=[held(table)[path]], rows=[{"epoch": 1, "name": None}])
        (new,) = (path for path, file in held(table).items() if file.record_count == 2)
        table = publish(lake, name, positions={new: [0, 1]})
        expected = [
            Counter({(1, None): 2, (None, None): 1, (2, None): 1}),
            Counter({(1, None): 1, (2, None): 1}),
            Counter({(1, None): 1, (5, "x"): 2}),
            Counter({(1, None): 1, (5, "x"): 2}),
            Counter({(1, None): 1}),
        ]
        check(session, table, expected, readers=[by_duckdb, by_pyiceberg])


def test_equality_deletes_take_older_rows_only(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    table = commit_files(table, added=[data_file(table, [row(1, "a"), row(1, "b"), row(2, None), row(3, "c")])])
    # An update as Flink writes it: the new row and the delete of the old ones have one sequence number.
    fresh = data_file(table, [row(1, "new"), row(1, "gone")])
    deletes = [equality_deletes(table, [1], [row(1, None)]), position_deletes(table, [(fresh.file_path, 1)])]
    table = commit_files(table, added=[fresh], deletes=deletes)
    table = commit_files(table, added=[data_file(table, [row(1, "again"), row(2, None)])])
    table = commit_files(table, deletes=[equality_deletes(table, [1], [{"k": 2}, {"k": 9}])])
    expected = [
        Counter({(1, "a"): 1, (1, "b"): 1, (2, None): 1, (3, "c"): 1}),
        Counter({(1, "new"): 1, (2, None): 1, (3, "c"): 1}),
        Counter({(1, "new"): 1, (1, "again"): 1, (2, None): 2, (3, "c"): 1}),
        Counter({(1, "new"): 1, (1, "again"): 1, (3, "c"): 1}),
    ]
    check(session, table, expected, readers=[by_duckdb])


def test_a_null_is_deleted_by_a_null_and_by_nothing_else(catalog: SqlCatalog, session: SparkSession) -> None:
    """So says the format; DuckDB 1.5 drops rows with NULL in a key column whatever the key is, so it is not asked."""
    table = catalog.create_table("default.t", SCHEMA)
    rows = [row(1, "a"), row(1, None), row(None, "n"), row(None, None), row(2, None)]
    table = commit_files(table, added=[data_file(table, rows)])
    table = commit_files(table, deletes=[equality_deletes(table, [1, 2], [row(1, None), row(2, "x")])])
    table = commit_files(table, deletes=[equality_deletes(table, [1], [{"k": None}, {"k": 7}])])
    table = commit_files(table, deletes=[equality_deletes(table, [2], [{"v": None}])])
    expected = [
        Counter(tuple(one.values()) for one in rows),
        Counter({(1, "a"): 1, (None, "n"): 1, (None, None): 1, (2, None): 1}),
        Counter({(1, "a"): 1, (2, None): 1}),
        Counter({(1, "a"): 1}),
    ]
    check(session, table, expected, readers=[])


class Judge:
    """What a table holds, worked out row by row from what was done to it."""

    def __init__(self) -> None:
        self.files: dict[str, list[tuple[Any, Any]]] = {}
        self.states: list[Bag] = []

    def note(self) -> None:
        self.states.append(Counter(row for rows in self.files.values() for row in rows if row != ("gone",)))  # type: ignore[misc]

    def delete(self, path: str, position: int) -> None:
        self.files[path][position] = ("gone",)  # type: ignore[assignment]

    def delete_equal(self, column: int, values: list[Any], but: str | None) -> None:
        for path, rows in self.files.items():
            for position, one in enumerate(rows):
                if path != but and one != ("gone",) and one[column] in values:  # type: ignore[comparison-overlap]
                    self.delete(path, position)


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_done_every_state_and_every_change_is_exact(
    catalog: SqlCatalog, session: SparkSession, seed: int
) -> None:
    chance, judge = budgets.chance(seed), Judge()
    table = catalog.create_table("default.t", SCHEMA)

    def some_row() -> dict[str, Any]:
        return row(chance.choice([1, 2, 3, None]), chance.choice(["a", "b", None]))

    for _ in range(4):
        added, removed, deletes = [], [], []
        known = files_of(table, table.metadata.current_snapshot_id)
        for path, file in known.items():
            deed = chance.choice(["keep", "keep", "some", "rewrite"])
            if deed == "some":
                places = chance.sample(range(file.record_count), chance.randrange(1, file.record_count + 1))
                deletes.append(position_deletes(table, [(path, n) for n in places], bounds=chance.random() < 0.5))
                for place in places:
                    judge.delete(path, place)
            elif deed == "rewrite":
                removed.append(file)
                del judge.files[path]
        fresh: DataFile | None = None
        if chance.random() < 0.8:
            rows = [some_row() for _ in range(chance.randrange(1, 5))]
            fresh = data_file(table, rows)
            added.append(fresh)
            judge.files[fresh.file_path] = [(one["k"], one["v"]) for one in rows]
        if chance.random() < 0.6:
            column = chance.choice([0, 1])
            values = [chance.choice([1, 2, None] if column == 0 else ["a", None])]
            deletes.append(equality_deletes(table, [column + 1], [{"kv"[column]: value} for value in values]))
            judge.delete_equal(column, values, fresh.file_path if fresh else None)
        table = commit_files(table, added=added, removed=removed, deletes=deletes)
        judge.note()
    check(session, table, judge.states, readers=[])


def test_rows_tell_their_place_and_deleted_ones_keep_their_number(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    one, two = (data_file(table, [row(n, "x") for n in range(start, start + 4)]) for start in (0, 10))
    table = commit_files(table, added=[one, two])
    table = commit_files(table, deletes=[position_deletes(table, [(one.file_path, 0), (one.file_path, 2)])])
    files = list(files_of(table, table.metadata.current_snapshot_id).values())
    schema = table.metadata.schema()
    found = read_files(session, table, schema, files, with_file=True, with_position=True).collect()
    assert {(r["k"], file_key(r[FILE]), r[POSITION]) for r in found} == {
        *((n, file_key(one.file_path), n) for n in (1, 3)),
        *((n + 10, file_key(two.file_path), n) for n in range(4)),
    }
    assert count_rows(session, table, schema, files) == 6
    nothing = read_files(session, table, schema, [], with_file=True, with_position=True)
    assert (nothing.columns, nothing.collect()) == (["k", "v", FILE, POSITION], [])


def test_rows_are_deleted_by_columns_that_came_late_or_are_gone(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    table = commit_files(table, added=[data_file(table, [row(1, "a"), row(2, "b")])])
    with table.update_schema() as update:
        update.add_column("late", LongType())
    table = table.refresh()
    table = commit_files(table, added=[data_file(table, [{"k": 3, "v": "c", "late": 5}, {"k": 4, "v": "d"}])])
    # Older files have NULL there.
    table = commit_files(table, deletes=[equality_deletes(table, [1, 3], [{"k": 2, "late": None}])])
    table = commit_files(table, deletes=[equality_deletes(table, [2], [{"v": "d"}])])
    with table.update_schema() as update:
        update.delete_column("v")
    with table.refresh().update_schema() as update:
        update.rename_column("k", "v")
    table = table.refresh()
    assert by_spark(session, table, table.metadata.current_snapshot_id) == Counter({(1, None): 1, (3, 5): 1})


def test_equality_deletes_stay_in_their_partition(catalog: SqlCatalog, session: SparkSession) -> None:
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "v"))
    table = catalog.create_table("default.t", SCHEMA, partition_spec=spec)
    table = commit_files(table, added=[data_file(table, [row(1, v), row(2, v)]) for v in ("a", "b", None)])
    deletes = [equality_deletes(table, [1], [{"k": 1}], partition=Record(v)) for v in ("a", None)]
    table = commit_files(table, deletes=deletes)
    table = commit_files(table, added=[data_file(table, [row(1, "a")])])
    expected = Counter({(2, "a"): 1, (1, "a"): 1, (1, "b"): 1, (2, "b"): 1, (2, None): 1})
    assert by_spark(session, table, table.metadata.current_snapshot_id) == expected
    with table.update_spec() as update:
        update.remove_field("v")
    table = table.refresh()
    everywhere = equality_deletes(table, [1], [{"k": 2}], spec=table.spec().spec_id)
    table = commit_files(table, deletes=[everywhere])
    expected = Counter({(1, "a"): 1, (1, "b"): 1})
    assert by_spark(session, table, table.metadata.current_snapshot_id) == expected


def test_row_numbers_hold_when_spark_skips_parts_of_a_file(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    file = data_file(table, [row(n, "x") for n in range(1000)], row_group_size=100, data_page_size=64)
    table = commit_files(table, added=[file])
    gone = [(file.file_path, n) for n in range(0, 1000, 7)]
    table = commit_files(table, deletes=[position_deletes(table, gone)])
    files = list(files_of(table, table.metadata.current_snapshot_id).values())
    for low, high in ((450, 460), (0, 1), (995, 2000), (130, 720)):
        rows = read_files(session, table, SCHEMA, files).where((F.col("k") >= low) & (F.col("k") < high))
        expected = [n for n in range(low, min(high, 1000)) if n % 7]
        assert sorted(one["k"] for one in rows.collect()) == expected


def test_many_position_deletes_are_read_by_spark_itself(
    catalog: SqlCatalog, session: SparkSession, tuned: Tuned
) -> None:
    tuned(arrow_delete_files=0)
    table = catalog.create_table("default.t", SCHEMA)
    one, two = (data_file(table, [row(n, "x") for n in range(start, start + 4)]) for start in (0, 10))
    table = commit_files(table, added=[one])
    places = [(one.file_path, 0), (one.file_path, 2), (two.file_path, 1)]
    # What it says of the second file came before that file, and so says nothing. DuckDB and pyiceberg do not look
    # at ages here; no writer knows the path of a file that is still to come.
    table = commit_files(table, deletes=[position_deletes(table, places, bounds=False)])
    table = commit_files(table, added=[two])
    table = commit_files(table, deletes=[position_deletes(table, [(one.file_path, 2), (two.file_path, 3)])])
    last = table.metadata.current_snapshot_id
    expected = Counter({(n, "x"): 1 for n in (1, 3, 10, 11, 12)})
    assert by_spark(session, table, last) == expected


def test_deletion_vectors_take_exactly_their_rows(catalog: SqlCatalog, session: SparkSession) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    one, two = (data_file(table, [row(n, "x") for n in range(start, start + 4)]) for start in (0, 10))
    table = commit_files(table, added=[one, two])
    table = commit_vectors(catalog, table, puffin(table, {one.file_path: [0, 3]})[1])
    first = table.metadata.current_snapshot_id
    assert by_spark(session, table, first) == by_duckdb(table, first)
    assert by_spark(session, table, first) == Counter({(n, "x"): 1 for n in (1, 2, 10, 11, 12, 13)})
    assert count_rows(session, table, SCHEMA, list(files_of(table, first).values())) == 6


def test_a_path_that_spark_spells_otherwise_fails_instead_of_showing_deleted_rows(
    catalog: SqlCatalog, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalog.create_table("default.t", SCHEMA)
    file = data_file(table, [row(1, "a"), row(2, "b")])
    table = commit_files(table, added=[file])
    table = commit_files(table, deletes=[position_deletes(table, [(file.file_path, 0)])])
    monkeypatch.setattr(merge, "_SIMPLE", re.compile(".*"))
    with pytest.raises(Exception, match="Spark names a file otherwise than expected"):
        by_spark(session, table, table.metadata.current_snapshot_id)


@pytest.mark.parametrize(
    ("ids", "keys", "said"),
    [
        ([3], [{"f": 0.0}], "deletes rows by column 'f' of type double (equality delete file"),
        ([], [], "deletes rows by field 0, which is no column of it (equality delete file"),
    ],
)
def test_deletes_that_engines_do_not_read_alike_are_refused(
    catalog: SqlCatalog, session: SparkSession, ids: list[int], keys: list[dict[str, Any]], said: str
) -> None:
    wide = Schema(*SCHEMA.fields, NestedField(3, "f", DoubleType(), required=False))
    table = catalog.create_table("default.t", wide)
    table = commit_files(table, added=[data_file(table, [{"f": -0.0}])])
    table = commit_files(table, deletes=[equality_deletes(table, ids, keys)])
    with pytest.raises(UnsupportedTable) as caught:
        by_spark(session, table, table.metadata.current_snapshot_id)
    assert said in str(caught.value)
