"""Partitioned and clustered tables: rows come apart right, and every reader finds them by their partitions."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo, IsNull
from pyiceberg.types import DateType, TimestampType, TimestamptzType

from airflow_trickle import Mode, Pipeline
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.partition_values import partition_of
from airflow_trickle.lakehouse.snapshots import files_of
from tests.engine.world import World, bag
from tests.outside_readers import duckdb_columns, duckdb_connection, duckdb_rows

ROWS = pa.schema(
    [
        ("k", pa.int64()),
        ("i", pa.int32()),
        ("s", pa.string()),
        ("v", pa.decimal128(10, 2)),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("b", pa.bool_()),
        ("f", pa.float64()),
    ]
)
COPY = "SELECT * FROM rows WHERE k >= 0"
UTC = dt.timezone.utc
STRINGS = [
    "",
    " ",
    "a/b",
    "a%2Fb",
    'it\'s = "q"',
    "ü\u2028😀",
    "__HIVE_DEFAULT_PARTITION__",
    "null",
    "..",
    "x" * 5000,
    "x" * 5000 + "y",
    "n",
    "v1:n",
    None,
]
DAYS = [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2024, 2, 29), None]
MOMENTS = [
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1970, 1, 1),
    dt.datetime(2026, 3, 29, 1, 30),
    dt.datetime(2026, 3, 29, 2, 30),
    dt.datetime(2025, 12, 31, 23, 0, 0, 1),
    dt.datetime(1900, 2, 28, 12),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    None,
]


def row(chance: random.Random, k: int | None = None) -> dict[str, Any]:
    moment = chance.choice(MOMENTS)
    return {
        "k": chance.randint(0, 40) if k is None else k,
        "i": chance.choice([-11, -10, -1, 0, 9, 10, None]),
        "s": chance.choice(STRINGS),
        "v": chance.choice([Decimal("1.50"), Decimal("-0.01"), Decimal("-99999998.99"), Decimal("0.00"), None]),
        "d": chance.choice(DAYS),
        "t": None if moment is None else moment.replace(tzinfo=UTC),
        "n": chance.choice(MOMENTS),
        "b": chance.choice([True, False, None]),
        "f": chance.choice([0.5, None]),
    }


#: Every transform over every type.
LAYOUTS = {
    "day": "[d]",
    "moment": '["days(t)", "hours(n)"]',
    "month": '["months(d)", "month(t)"]',
    "micro": "[t, n]",
    "text": "[s]",
    "trunc": '["truncate(3, s)", b]',
    "year": '["years(n)", "YEAR(d)"]',
    "hour": '["Hours(T)", "days(n)"]',
    "whole": '["truncate(10, i)"]',
    "number": '[v, "truncate(7, k)"]',
    "cents": '["truncate(100, v)", I]',
    "times": '["years(t)", "months(n)", "days(d)"]',
}


def live(world: World, name: str) -> dict[str, Any]:
    table = world.outside.load_table(f"default.{name}")
    return files_of(table, table.metadata.current_snapshot_id)


def verified(world: World) -> None:
    assert {str(found.verdict) for found in Pipeline.load(world.yaml).verify().values()} == {"OK"}


def agreed(world: World, name: str, expected: Counter[tuple[Any, ...]]) -> None:
    """Plain pyiceberg and DuckDB read the rows, whole and by values of the partition columns."""
    table = world.outside.load_table(f"default.{name}")
    assert bag(table.scan().to_arrow()) == expected
    assert Counter(duckdb_rows(table.metadata_location)) == expected
    schema = table.schema()
    names = [field.name for field in schema.fields]
    for part in table.spec().fields:
        source = schema.find_field(part.source_id)
        at = names.index(source.name)
        wanted: dict[Any, Counter[tuple[Any, ...]]] = {}
        for found, number in expected.items():
            wanted.setdefault(found[at], Counter())[found] = number
        # Not every value of each: a read takes its time.
        some = random.Random(len(expected)).sample(sorted(wanted, key=repr), min(6, len(wanted)))
        wanted = {value: wanted[value] for value in {*some, None} & wanted.keys()}
        for value, rows in wanted.items():
            condition = IsNull(source.name) if value is None else EqualTo(source.name, _literal(source, value))
            assert bag(table.scan(row_filter=condition).to_arrow()) == rows, (name, source.name, value)
        _found_by_duckdb(table, source, {value: rows.total() for value, rows in wanted.items()})
    # The partitions in the metadata are those of the rows in the files.
    for path, file in files_of(table, table.metadata.current_snapshot_id).items():
        assert file.spec_id == table.spec().spec_id
        assert partition_of(table.io, path, schema, table.spec()) == file.partition
        for delete in file.deletes:
            assert delete.scope == file.scope


def _found_by_duckdb(table: Any, source: Any, wanted: dict[Any, int]) -> None:
    with duckdb_connection() as connection:
        kind = duckdb_columns(table.metadata_location)[source.name]
        counted = f"SELECT count(*) FROM iceberg_scan('{table.metadata_location}') WHERE \"{source.name}\""
        for value, number in wanted.items():
            if isinstance(value, dt.datetime) and value.year < 1970:
                continue  # before its version of August 2026 DuckDB rounds such times up
            if value is None:
                found = connection.execute(f"{counted} IS NULL")
            else:
                found = connection.execute(f"{counted} = CAST(? AS {kind})", [str(_literal(source, value))])
            assert found.fetchone() == (number,), (table.name(), source.name, value)


def _literal(source: Any, value: Any) -> Any:
    if isinstance(source.field_type, DateType | TimestampType | TimestamptzType):
        return value.isoformat()
    return value


#: Where rows are written: by Spark, or in this process beside files that pass for small or for large ones.
WAYS = ("spark", "small", "large")


def choose(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "spark":
        monkeypatch.setattr("airflow_trickle.engine.delta.bench.SMALL", 0)
        monkeypatch.setattr("airflow_trickle.engine.fetch.SMALL", 0)
        monkeypatch.setattr("airflow_trickle.engine.fetch.fetch.__defaults__", (0, ()))
    if way == "large":
        monkeypatch.setattr("airflow_trickle.engine.small_write.SMALL_FILE_BYTES", 1)
        # Partitions of few rows would be worn at once.
        monkeypatch.setattr("airflow_trickle.engine.small_write._LOST_TOO_MANY", 2)


def define(world: World, layouts: dict[str, str], mode: str = "DIFFERENTIAL") -> None:
    options = {name: {"refresh_mode": mode, "partition_by": by} for name, by in layouts.items()}
    world.define(dict.fromkeys(layouts, COPY), **options)


def in_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_TRICKLE_SPARK",
        json.dumps({"conn_type": "trickle_spark", "extra": {"conf": {"spark.sql.session.timeZone": zone}}}),
    )


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("spark", ("moment", "month", "cents")),
        pytest.param("spark", ("day", "text", "trunc", "hour"), marks=pytest.mark.soak),
        ("small", ("micro", "text", "year")),
        pytest.param("small", ("times", "whole", "number"), marks=pytest.mark.soak),
        ("large", ("trunc", "hour", "number")),
    ],
)
def test_every_reader_finds_every_row_by_its_partition(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str, names: tuple[str, ...]
) -> None:
    choose(way, monkeypatch)
    in_zone(random.Random(repr((way, names))).choice(["America/New_York", "Asia/Kolkata"]), monkeypatch)
    chance = random.Random(f"{way} {names}")
    world.source("rows", ROWS, [row(chance, number % 41) for number in range(60)])
    define(world, {name: LAYOUTS[name] for name in names})
    assert {result.mode for result in world.tick().values()} == {Mode.FULL}
    for number in range(2):
        same = row(chance)
        world.delete("rows", f"k = {chance.randint(0, 40)} or k = {chance.randint(0, 40)}")
        world.append("rows", same, same, *(row(chance) for _ in range(6)))
        assert {result.mode for result in world.tick().values()} == {Mode.DIFFERENTIAL}
        expected = world.judge(COPY)
        for name in names:
            if number == 1:
                agreed(world, name, expected)
            else:
                assert world.rows(name) == expected, name
    if way == "large":
        assert any(file.deletes for name in names for file in live(world, name).values())
    verified(world)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_random_changes_in_full_and_from_changes(world: World, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr("airflow_trickle.engine.small_write.SMALL_FILE_BYTES", chance.choice([1, 2000, 8 * 1024**2]))
    monkeypatch.setattr("airflow_trickle.engine.small_write.SMALL_FILES_KEPT", chance.choice([2, 3, 16]))
    monkeypatch.setattr("airflow_trickle.engine.write.SMALL_FILES_KEPT", chance.choice([2, 3, 16]))
    names = chance.sample(sorted(LAYOUTS), 2)
    world.source("rows", ROWS, [row(chance) for _ in range(40)])
    queries = {
        names[0]: COPY,
        names[1]: COPY,
        "over": f"SELECT s, b, count(*) AS n, sum(v) AS v, max(d) AS d FROM {names[0]} GROUP BY s, b",
    }
    options: dict[str, dict[str, str]] = {
        names[0]: {"refresh_mode": "DIFFERENTIAL", "partition_by": LAYOUTS[names[0]], "cluster_by": "[k, S]"},
        names[1]: {"refresh_mode": "FULL", "partition_by": LAYOUTS[names[1]]},
        "over": {"refresh_mode": "DIFFERENTIAL", "partition_by": "[b, d]", "cluster_by": "[n]"},
    }
    world.define(queries, **options)
    world.tick()
    for number in range(4):
        low = chance.randint(0, 40)
        if chance.random() < 0.8:
            world.delete("rows", f"k >= {low} and k <= {low + chance.randint(0, 8)}")
        if chance.random() < 0.9:
            world.append("rows", *[row(chance)] * 2, *(row(chance) for _ in range(chance.randint(0, 9))))
        results = world.tick()
        assert results[names[0]].mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        assert results[names[1]].mode in (Mode.FULL, Mode.NO_DATA)
        assert results["over"].mode in (Mode.DIFFERENTIAL, Mode.NO_DATA)
        for name in queries:
            expected = world.judge(f"SELECT * FROM {name}", **queries)
            if number % 2:
                agreed(world, name, expected)
            assert world.rows(name) == expected, name
    verified(world)


def partitions(world: World, name: str) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for path, file in live(world, name).items():
        found.setdefault(file.scope[1], set()).add(path)
    return found


PLAIN = pa.schema([("k", pa.int64()), ("g", pa.string()), ("d", pa.date32())])


def plain(k: int, g: str | None, day: int = 1) -> dict[str, Any]:
    return {"k": k, "g": g, "d": dt.date(2026, 1, day)}


@pytest.mark.parametrize("way", WAYS)
def test_a_change_in_one_partition_leaves_the_files_of_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    choose(way, monkeypatch)
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3]) for number in range(60)])
    world.define({"copied": "SELECT * FROM rows"}, copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"})
    world.tick()
    before = partitions(world, "copied")
    assert {len(paths) for paths in before.values()} == {1}
    world.delete("rows", "k = 4")
    world.append("rows", plain(100, None))
    result = world.tick()["copied"]
    assert (result.mode, result.rows_inserted, result.rows_deleted) == (Mode.DIFFERENTIAL, 1, 1)
    after = partitions(world, "copied")
    assert (after["'a'",], after["'c'",]) == (before["'a'",], before["'c'",])
    assert (after["'b'",] == before["'b'",]) is (way == "large")
    assert set(after) == {*before, ("None",)}
    agreed(world, "copied", world.judge("SELECT * FROM rows"))


@pytest.mark.parametrize("way", ["spark", "small"])
def test_small_files_are_folded_in_their_own_partition_only(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    choose(way, monkeypatch)
    for module in ("small_write", "write"):
        monkeypatch.setattr(f"airflow_trickle.engine.{module}.SMALL_FILES_KEPT", 3)
    world.source("rows", PLAIN, [plain(0, "a"), plain(1, "b")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"})
    world.tick()
    stays = partitions(world, "copied")["'b'",]
    counts = []
    for number in range(4):
        world.append("rows", plain(10 + number, "a"))
        assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
        found = partitions(world, "copied")
        counts.append(len(found["'a'",]))
        assert found["'b'",] == stays
    assert counts == [2, 3, 1, 2]
    agreed(world, "copied", world.judge("SELECT * FROM rows"))


def test_a_table_over_a_partitioned_one_follows_its_position_deletes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose("large", monkeypatch)
    queries = {
        "copied": "SELECT * FROM rows",
        "sums": "SELECT g, count(*) AS n, sum(k) AS k FROM copied GROUP BY g",
        "pairs": "SELECT a.k, b.g FROM copied AS a JOIN copied AS b ON a.k = b.k AND a.g = b.g",
    }
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3], 1 + number % 5) for number in range(90)])
    world.define(
        queries,
        copied={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g, days(d)]"},
        sums={"refresh_mode": "DIFFERENTIAL", "partition_by": "[g]"},
        pairs={"refresh_mode": "DIFFERENTIAL"},
    )
    world.tick()
    before = set(live(world, "copied"))
    for gone in (4, 7, 30):
        world.delete("rows", f"k = {gone}")
        results = world.tick()
        assert {result.mode for result in results.values()} == {Mode.DIFFERENTIAL}
        for name in queries:
            agreed(world, name, world.judge(f"SELECT * FROM {name}", **queries))
    assert set(live(world, "copied")) == before
    assert sum(delete.rows for file in live(world, "copied").values() for delete in file.deletes) == 3
    verified(world)


@pytest.mark.parametrize("mode", ["FULL", "DIFFERENTIAL"])
def test_a_change_of_partition_by_writes_all_files_anew_though_no_input_changed(
    world: World, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose("large", monkeypatch)
    world.source("rows", PLAIN, [plain(number, "abc"[number % 3], 1 + number % 5) for number in range(30)])
    query = {"copied": "SELECT * FROM rows"}
    world.define(query, copied={"refresh_mode": mode})
    world.tick()
    specs = []
    for by in ("[g]", '[g, "months(d)"]', "[]", '["truncate(10, k)"]', "[G]"):
        world.delete("rows", f"k = {len(specs)}")
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
        world.tick()
        agreed(world, "copied", world.judge(query))
        world.append("rows", plain(50, "a"))
        world.tick()
        agreed(world, "copied", world.judge(query))

    tick("SELECT CAST(k % 2 AS INT) AS p, g, d FROM rows", "[p]")
    before = set(live(world, "copied"))
    tick("SELECT CAST(k % 2 AS BIGINT) AS p, g, d FROM rows", "[p]")
    assert not before & set(live(world, "copied"))
    tick("SELECT g, CAST(k % 2 AS BIGINT) AS p, d FROM rows", '["days(d)"]')
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


@pytest.mark.parametrize("way", ["spark", "small"])
@pytest.mark.parametrize("by", ["[]", "[g]"])
def test_rows_are_sorted_by_the_columns_of_cluster_by(
    world: World, monkeypatch: pytest.MonkeyPatch, way: str, by: str
) -> None:
    choose(way, monkeypatch)
    # Not in one task, so that ranges are made.
    monkeypatch.setattr("airflow_trickle.engine.write.ONE_FILE_BYTES", 0)
    chance = random.Random(1)
    numbers = chance.sample(range(500), 500)
    world.source("rows", PLAIN, [plain(number, chance.choice("ab"), 1 + number % 28) for number in numbers])
    options = {"refresh_mode": "DIFFERENTIAL", "partition_by": by, "cluster_by": "[D, k]"}
    world.define({"copied": "SELECT * FROM rows"}, copied=options)
    world.tick()
    world.append("rows", *(plain(500 + chance.randint(0, 99), chance.choice("ab"), 1 + _ % 28) for _ in range(40)))
    assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
    paths = list(live(world, "copied"))
    assert len(paths) >= (4 if by == "[g]" else 2)
    for path in paths:
        rows = pq.read_table(spark_path(path), partitioning=None).to_pylist()
        assert [(r["d"], r["k"]) for r in rows] == sorted((r["d"], r["k"]) for r in rows)
    agreed(world, "copied", world.judge("SELECT * FROM rows"))
    # Another order does not rewrite what is there.
    world.define({"copied": "SELECT * FROM rows"}, copied={**options, "cluster_by": "[k]"})
    assert world.tick()["copied"].mode is Mode.NO_DATA
    verified(world)


def test_large_writes_of_many_tasks_come_apart_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    choose("spark", monkeypatch)
    monkeypatch.setattr("airflow_trickle.engine.write.ONE_FILE_BYTES", 0)
    chance = random.Random(2)
    world.source("rows", ROWS, [row(chance) for _ in range(80)])
    define(world, {"text": "[s]", "moment": LAYOUTS["moment"]})
    world.tick()
    world.append("rows", *(row(chance) for _ in range(20)))
    world.delete("rows", "k = 3")
    assert {result.mode for result in world.tick().values()} == {Mode.DIFFERENTIAL}
    for name in ("text", "moment"):
        agreed(world, name, world.judge(COPY))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"partition_by": "[nope]"},
            "partition_by: its result has no column 'nope'. It has: k, i, s, v, d, t, n, b, f.",
        ),
        ({"cluster_by": "[nope]"}, "cluster_by: its result has no column 'nope'. It has: k, i, s, v, d, t, n, b, f."),
        ({"partition_by": "[f]"}, "column 'f' has type double, but a column itself takes booleans, whole numbers,"),
        ({"partition_by": '["days(s)"]'}, "column 's' has type string, but days(s) takes dates and timestamps. CAST"),
        ({"partition_by": '["hours(d)"]'}, "column 'd' has type date, but hours(d) takes timestamps. CAST"),
        ({"partition_by": '["truncate(2, b)"]'}, "column 'b' has type boolean, but truncate(2, b) takes whole numbers"),
    ],
)
def test_columns_that_do_not_fit_are_named(world: World, options: dict[str, str], message: str) -> None:
    world.source("rows", ROWS, [row(random.Random(1))])
    world.define({"copied": COPY}, copied=options)
    with pytest.raises(TrickleError, match=re.escape(message)) as told:
        world.tick()
    assert f"{world.yaml}:5:3: stream table 'copied': " in str(told.value)
    assert not world.outside.table_exists("default.copied")


def test_a_partition_column_that_goes_from_the_result_is_told_and_nothing_changes(world: World) -> None:
    world.source("rows", PLAIN, [plain(1, "a")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": "[g]"})
    world.tick()
    world.define({"copied": "SELECT k, d FROM rows"}, copied={"partition_by": "[g]"})
    with pytest.raises(TrickleError, match="is or was parted by column 'g', which is gone from its result"):
        world.tick()
    assert world.rows("copied") == world.judge("SELECT * FROM rows")


def test_a_value_without_a_partition_is_told(world: World) -> None:
    world.source("rows", PLAIN, [plain(-(2**63), "a")])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": '["truncate(10, k)"]'})
    with pytest.raises(TrickleError, match="whose partition is beyond what its type long holds"):
        world.tick()


def test_a_file_with_rows_of_two_partitions_is_never_published(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_trickle.engine.arrange._part", lambda field, source: "'same'")
    world.source("rows", PLAIN, [plain(1, "a"), plain(2, None)])
    world.define({"copied": "SELECT * FROM rows"}, copied={"partition_by": "[g]"})
    with pytest.raises(TrickleError, match="was written with rows of 2 partitions by column 'g'"):
        world.tick()
    assert not world.outside.table_exists("default.copied")


def test_odd_names_of_columns(world: World) -> None:
    world.source("rows", PLAIN, [plain(1, "a"), plain(2, None), plain(3, "b", 2)])
    query = "SELECT k AS `a.b`, g AS `x y`, d AS partition, k AS partition0 FROM rows"
    world.define(
        {"copied": query},
        copied={
            "refresh_mode": "DIFFERENTIAL",
            "partition_by": '["`x y`", "days(partition)", "truncate(2, `a.b`)"]',
            "cluster_by": '["a.b"]',
        },
    )
    world.tick()
    world.append("rows", plain(4, "a"))
    world.delete("rows", "k = 2")
    assert world.tick()["copied"].mode is Mode.DIFFERENTIAL
    expected = world.judge(query.replace("`", '"'))
    assert world.rows("copied") == expected
    assert Counter(duckdb_rows(world.outside.load_table("default.copied").metadata_location)) == expected
    verified(world)
