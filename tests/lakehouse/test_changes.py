"""What changed between two snapshots: against a brute-force comparison, and against the rows themselves."""

from __future__ import annotations

import datetime
import itertools
import math
import struct
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual
from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from airflow_trickle.lakehouse import changes as module
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.changes import FileChanges, certainly_no_change, file_changes
from airflow_trickle.lakehouse.commit import data_files
from airflow_trickle.lakehouse.files import spark_path
from airflow_trickle.lakehouse.snapshots import HistoryExpired, files_of
from airflow_trickle.tuning import tuned
from tests import budgets
from tests.budgets import budget

PLAIN = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "kind", StringType(), required=False))


def plain(*rows: tuple[int, str | None]) -> pa.Table:
    return pa.Table.from_pylist([{"id": n, "kind": k} for n, k in rows], schema=schema_to_pyarrow(PLAIN))


def latest(table: Table) -> int:
    return table.refresh().current_snapshot().snapshot_id  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize("seed", range(3))
def test_the_changed_files_are_the_difference_of_the_file_sets_whatever_was_done(
    shared_lake: Lakehouse, identifier: str, seed: int
) -> None:
    chance = budgets.chance(seed)
    # Some writers merge manifests, others never do.
    merge = str(seed % 2 == 0).lower()
    properties = {"commit.manifest-merge.enabled": merge, "commit.manifest.min-count-to-merge": "3"}
    table = shared_lake.catalog.create_table(identifier, PLAIN, properties=properties)
    for number in range(12):
        some = plain(*((chance.randrange(6), chance.choice("ab")) for _ in range(chance.randrange(1, 4))))
        deed = chance.choice(["append", "append", "overwrite", "replace", "delete", "rollback"])
        if deed == "append":
            table.append(some)
        elif deed == "overwrite":
            table.overwrite(some, overwrite_filter=EqualTo("id", chance.randrange(6)))
        elif deed == "replace":
            table.overwrite(some)
        elif deed == "delete":
            table.delete(GreaterThanOrEqual("id", chance.randrange(6)))
        elif number:
            table.manage_snapshots().set_current_snapshot(chance.choice(table.metadata.snapshots).snapshot_id).commit()
        table = table.refresh()
    snapshots = [None, *(one.snapshot_id for one in table.metadata.snapshots)]
    assert len(snapshots) > 8
    files = {snapshot: files_of(table, snapshot).keys() for snapshot in snapshots}
    pairs = list(itertools.product(snapshots, repeat=2))
    for before, after in chance.sample(pairs, 60):
        found = file_changes(table, before, after)
        assert [file.file_path for file in found.added] == sorted(files[after] - files[before])
        assert [file.file_path for file in found.removed] == sorted(files[before] - files[after])
        assert found.nothing == (files[before] == files[after])


def test_manifests_that_both_snapshots_share_are_not_opened(
    shared_lake: Lakehouse, identifier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    for number in range(6):
        table.append(plain((number, "x")))
    before = latest(table)
    table.append(plain((6, "x")))
    opened: list[str] = []
    original = module.live_files

    def counting(of: Table, manifests: Any) -> Any:
        manifests = list(manifests)
        opened.extend(manifest.manifest_path for manifest in manifests)
        return original(of, manifests)

    monkeypatch.setattr(module, "live_files", counting)
    changes = file_changes(table.refresh(), before, latest(table))
    assert (len(changes.added), len(changes.removed), len(opened)) == (1, 0, 1)


def test_a_snapshot_that_is_gone_is_said_to_be_expired(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "x")))
    first = latest(table)
    table.append(plain((2, "x")))
    table.maintenance.expire_snapshots().by_id(first).commit()
    table = table.refresh()
    for before, after in ((first, latest(table)), (latest(table), first)):
        with pytest.raises(HistoryExpired, match=f"no longer keeps snapshot {first}"):
            file_changes(table, before, after)


def no_change(table: Table, before: int | None, after: int | None) -> bool:
    return certainly_no_change(table, file_changes(table, before, after), table.metadata.schema())


def test_rows_that_were_added_and_deleted_again_are_no_change(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "a"), (2, None), (2, None)))
    before = latest(table)
    table.append(plain((7, "z"), (8, None)))
    between = latest(table)
    table.delete(GreaterThanOrEqual("id", 7))
    assert no_change(table, before, latest(table))
    assert not no_change(table, before, between)
    assert not no_change(table, between, latest(table))
    # And the other way round: deleted from a shared file, then added again in another one.
    table.delete(EqualTo("id", 1))
    without = latest(table)
    table.append(plain((1, "a")))
    assert not no_change(table, before, without)
    assert no_change(table, before, latest(table))


def test_rewriting_the_same_rows_is_no_change(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    for number in range(4):
        table.append(plain((number, "a"), (1, None)))
    before = latest(table)
    table.overwrite(table.scan().to_arrow().sort_by([("id", "descending")]))
    changes = file_changes(table.refresh(), before, latest(table))
    assert (len(changes.added), len(changes.removed)) == (1, 4)
    assert no_change(table, before, latest(table))
    # One copy more of a row that is there three times already.
    table.overwrite(plain((0, "a"), (1, None), (1, None), (1, None), (2, "a"), (3, "a"), (1, "a"), (1, "a")))
    assert not no_change(table, before, latest(table))


def test_rewriting_the_same_rows_by_another_writer_is_no_change(shared_lake: Lakehouse, identifier: str) -> None:
    """Arrow knows two kinds of strings; a file remembers which one its writer had."""
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    paths = {}
    for kind, name in ((pa.string(), "small"), (pa.large_string(), "large")):
        paths[name] = f"{table.location()}/data/{name}.parquet"
        table.io.new_output(paths[name]).create().close()
        arrow = plain((1, "a"), (2, None))
        strings = arrow.set_column(1, arrow.schema.field(1).with_type(kind), arrow["kind"].cast(kind))
        pq.write_table(strings, spark_path(paths[name]))
    files = data_files(table, table.metadata.schema(), paths.values())
    for file in files:
        file.spec_id = 0
    assert certainly_no_change(table, FileChanges((files[0],), (files[1],)), table.metadata.schema())


def test_a_rollback_and_the_same_rows_again_are_no_change(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "a")))
    first = latest(table)
    table.append(plain((2, "b")))
    second = latest(table)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    table = table.refresh()
    assert not no_change(table, second, latest(table))
    table.append(plain((2, "b")))
    assert no_change(table.refresh(), second, latest(table))


def test_an_added_file_without_rows_is_no_change(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "a")))
    path = f"{table.location()}/data/empty.parquet"
    pq.write_table(plain(), spark_path(path))
    empty = parquet_file_to_data_file(table.io, table.metadata, path)
    empty.spec_id = 0
    assert certainly_no_change(table, FileChanges((empty,), ()), table.metadata.schema())


def test_what_is_too_large_to_compare_here_is_left_to_spark(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "a"), (2, "b")))
    before = latest(table)
    table.overwrite(plain((2, "b"), (1, "a")))
    assert no_change(table, before, latest(table))
    for limit in ({"arrow_compare_rows": 3}, {"arrow_compare_bytes": 100}):
        with tuned(**limit):
            assert not no_change(table, before, latest(table))


def test_columns_added_later_are_compared_as_the_nulls_they_are(shared_lake: Lakehouse, identifier: str) -> None:
    table = shared_lake.catalog.create_table(identifier, PLAIN)
    table.append(plain((1, "a")))
    before = latest(table)
    with table.update_schema() as change:
        change.add_column("size", LongType())
    table = table.refresh()
    table.overwrite(pa.table({"id": [1], "kind": ["a"], "size": pa.array([None], pa.int64())}))
    assert no_change(table, before, latest(table))
    table.overwrite(pa.table({"id": [1], "kind": ["a"], "size": pa.array([0], pa.int64())}))
    assert not no_change(table, before, latest(table))


WIDE = Schema(
    NestedField(1, "whole", LongType(), required=False),
    NestedField(2, "real", DoubleType(), required=False),
    NestedField(3, "small", FloatType(), required=False),
    NestedField(4, "money", DecimalType(20, 3), required=False),
    NestedField(5, "text", StringType(), required=False),
    NestedField(6, "raw", BinaryType(), required=False),
    NestedField(7, "flag", BooleanType(), required=False),
    NestedField(8, "day", DateType(), required=False),
    NestedField(9, "moment", TimestamptzType(), required=False),
    NestedField(10, "wall.clock", TimestampType(), required=False),
    NestedField(11, ".dots", LongType(), required=False),
    NestedField(12, "__trickle_weight", LongType(), required=False),
)
NESTED = Schema(
    NestedField(1, "whole", LongType(), required=False),
    NestedField(
        2,
        "inside",
        StructType(
            NestedField(3, "whole", LongType(), required=False), NestedField(4, "text", StringType(), required=False)
        ),
        required=False,
    ),
    NestedField(5, "many", ListType(6, DoubleType(), element_required=False), required=False),
    NestedField(7, "pairs", MapType(8, StringType(), 9, LongType(), value_required=False), required=False),
)

few = st.integers(-2, 2)
reals = st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 5e-324])
texts = st.sampled_from(["", "a", "A", "ä", "a ", "\x00"])
WIDE_ROWS = st.fixed_dictionaries(
    {},
    optional={
        "whole": few,
        "real": reals,
        "small": reals.filter(lambda value: value != 5e-324),
        "money": st.sampled_from([Decimal("0.000"), Decimal("1.500"), Decimal("-99999999999999999.999")]),
        "text": texts,
        "raw": st.sampled_from([b"", b"a", b"\x00"]),
        "flag": st.booleans(),
        "day": st.sampled_from([datetime.date(1, 1, 1), datetime.date(2026, 2, 28)]),
        "moment": st.sampled_from([datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)]),
        "wall.clock": st.sampled_from([datetime.datetime(2026, 1, 1, 0, 0, 0, 1)]),
        ".dots": few,
        "__trickle_weight": few,
    },
)
NESTED_ROWS = st.fixed_dictionaries(
    {},
    optional={
        "whole": few,
        "inside": st.none() | st.fixed_dictionaries({"whole": st.none() | few, "text": st.none() | texts}),
        "many": st.none() | st.lists(st.none() | reals, max_size=2),
        "pairs": st.none() | st.dictionaries(texts, st.none() | few, max_size=2),
    },
)


def exact(value: Any) -> Any:
    """A value such that two are equal only when no query could tell them apart."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("d", value)
    if isinstance(value, dict):
        return tuple(sorted((key, exact(inner)) for key, inner in value.items()))
    return tuple(exact(inner) for inner in value) if isinstance(value, list) else value


def bag(schema: Schema, rows: list[dict[str, Any]]) -> Counter[Any]:
    columns = [field.name for field in schema.fields]
    return Counter(tuple(exact(row.get(column)) for column in columns) for row in rows)


@pytest.fixture(scope="module")
def wide_tables(shared_lake: Lakehouse) -> dict[str, Table]:
    return {
        "wide": shared_lake.catalog.create_table("default.wide", WIDE),
        "nested": shared_lake.catalog.create_table("default.nested", NESTED),
    }


def changed_by(table: Table, removed: list[dict[str, Any]], added: list[dict[str, Any]], cuts: int) -> FileChanges:
    """The change from some rows to others, the new ones in several files."""
    schema = table.metadata.schema()
    written: dict[str, list[str]] = {}
    for name, rows, parts in (("removed", removed, 1), ("added", added, cuts)):
        for part in range(parts):
            path = f"{table.location()}/data/{name}-{part}.parquet"
            arrow = pa.Table.from_pylist(rows[part::parts], schema=schema_to_pyarrow(schema))
            table.io.new_output(path).create(overwrite=True).close()
            pq.write_table(arrow, spark_path(path))
            written.setdefault(name, []).append(path)
    files = {name: data_files(table, schema, paths) for name, paths in written.items()}
    for file in (*files["added"], *files["removed"]):
        file.spec_id = 0
    return FileChanges(tuple(files["added"]), tuple(files["removed"]))


@budget(0.6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kind=st.sampled_from(["wide", "wide", "nested"]), cuts=st.integers(1, 3))
def test_no_change_is_never_said_of_bags_that_differ(
    wide_tables: dict[str, Table], data: st.DataObject, kind: str, cuts: int
) -> None:
    table, strategy = (wide_tables["wide"], WIDE_ROWS) if kind == "wide" else (wide_tables["nested"], NESTED_ROWS)
    schema = table.metadata.schema()
    pool = data.draw(st.lists(strategy, min_size=1, max_size=3))
    removed = data.draw(st.lists(st.sampled_from(pool), max_size=4))
    # Often the same rows in another order, otherwise other rows of the same few.
    same = data.draw(st.booleans())
    added = data.draw(st.permutations(removed) if same else st.lists(st.sampled_from(pool), max_size=4))
    answer = certainly_no_change(table, changed_by(table, removed, added, cuts), schema)
    if bag(schema, removed) != bag(schema, added):
        assert not answer
    elif kind == "wide" or not removed:
        assert answer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"real": 0.0}, {"real": -0.0}),
        ({"real": None}, {"real": math.nan}),
        ({"text": None}, {"text": ""}),
        ({"raw": None}, {"raw": b""}),
        ({"whole": None}, {"whole": 0}),
        ({"flag": None}, {"flag": False}),
        ({"text": "a"}, {"text": "a "}),
        ({"whole": 1, ".dots": 2}, {"whole": 2, ".dots": 1}),
    ],
    ids=str,
)
def test_values_that_look_alike_are_a_change(
    wide_tables: dict[str, Table], one: dict[str, Any], other: dict[str, Any]
) -> None:
    table = wide_tables["wide"]
    assert not certainly_no_change(table, changed_by(table, [one], [other], 1), table.metadata.schema())
    assert certainly_no_change(table, changed_by(table, [one, other], [other, one], 2), table.metadata.schema())
