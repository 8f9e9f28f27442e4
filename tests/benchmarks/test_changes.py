"""The changes that the benchmarks make to TPC-H's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.positions import deleted_positions
from airflow_trickle.lakehouse.snapshots import files_of
from benchmarks.changes import KEYS, KINDS, SourceChanges, load

pytestmark = pytest.mark.slow
SHARE = 0.02


Change = Callable[[str], dict[str, dict[str, int]]]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Change]:
    """Changes the tables of one catalog, which all tests share."""
    folder = tmp_path_factory.mktemp("sources")
    uri, warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__TRICKLE__URI", uri)
        patch.setenv("PYICEBERG_CATALOG__TRICKLE__WAREHOUSE", warehouse)
        catalog = SqlCatalog("trickle", uri=uri, warehouse=warehouse)
        catalog.create_namespace("default")
        load(catalog, folder, 0.002, ("orders", "lineitem"))
        changes = SourceChanges(catalog, folder)
        yield lambda kind: changes.make(kind, SHARE)


def rows(name: str) -> pa.Table:
    import pyarrow.parquet as pq

    parts = []
    with open_lakehouse("trickle") as lake:
        table = lake.table(f"default.{name}")
        assert table is not None
        for path, file in files_of(table, table.metadata.current_snapshot_id).items():
            gone = set(deleted_positions(table.io, file).to_pylist())
            part = pq.read_table(path.removeprefix("file://"))
            parts.append(part.take([number for number in range(part.num_rows) if number not in gone]))
    first = parts[0].schema.remove_metadata()
    return pa.concat_tables([part.cast(first) for part in parts])


def keys(name: str) -> Counter[int]:
    return Counter(rows(name)[KEYS[name]].to_pylist())


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_how_many_rows_changed(changed: Change, kind: str) -> None:
    before = {name: rows(name).num_rows for name in KEYS}

    done = changed(kind)

    for name, counts in done.items():
        assert rows(name).num_rows == before[name] + counts["inserted"] - counts["deleted"]
        assert 0.5 * SHARE < sum(counts.values()) / before[name] < 2 * SHARE
    assert {what for counts in done.values() for what, count in counts.items() if count} == {
        "append": {"inserted"},
        "insert": {"inserted"},
        "delete": {"deleted"},
        "update": {"updated"},
        "mixed": {"inserted", "deleted"},
    }[kind]


def test_inserted_orders_have_free_keys_among_the_old_ones(changed: Change) -> None:
    before = keys("orders")

    changed("insert")
    changed("insert")

    new = keys("orders") - before
    assert new
    assert min(new) < sorted(before)[len(before) // 8]
    assert set((keys("orders")).values()) == {1}
    assert set(keys("lineitem")) <= set(keys("orders"))


def test_appended_orders_come_behind_the_last_key(changed: Change) -> None:
    before = keys("orders")

    changed("append")

    assert min(keys("orders") - before) > max(before)


def test_deleted_orders_take_their_lineitems_along(changed: Change) -> None:
    before = keys("orders")

    changed("delete")
    changed("delete")

    gone = set(before) - set(keys("orders"))
    assert gone
    assert not gone & set(keys("lineitem"))


def test_updated_rows_keep_their_keys(changed: Change) -> None:
    before = {name: (keys(name), rows(name).sort_by(KEYS[name])) for name in KEYS}

    done = changed("update")

    for name, (known, old) in before.items():
        assert keys(name) == known
        differ = sum((Counter(map(str, rows(name).to_pylist())) - Counter(map(str, old.to_pylist()))).values())
        assert differ == done[name]["updated"]


def test_rounds_change_other_rows(changed: Change) -> None:
    first = keys("orders")
    changed("delete")
    second = keys("orders")

    changed("delete")

    assert len(first) - len(second) == pytest.approx(len(second) - len(keys("orders")), rel=0.3)
