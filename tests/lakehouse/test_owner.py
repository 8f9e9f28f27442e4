"""A warehouse has one owner: a copy of its catalog's database neither writes, cleans nor drops."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from airflow_trickle.engine.steer import drop
from airflow_trickle.errors import NotTheOwner, WarehouseUnavailable
from airflow_trickle.lakehouse import owner
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import OWNED, Staged, commit
from airflow_trickle.lakehouse.leases import Lease, try_acquire
from airflow_trickle.lakehouse.owner import MARKER, renew_marker, require_owner, take_over
from airflow_trickle.lakehouse.staging import clean_pipeline, clean_table, discard, leftovers
from airflow_trickle.lakehouse.state import read_status, write_status
from tests.databases import new_database
from tests.lakehouse.writing import rows_of, stage_rows

OLD, NEW = {"epoch": 1, "name": "old"}, {"epoch": 2, "name": "new"}


def opened(folder: Path, database: str, warehouse: str = "warehouse") -> Lakehouse:
    return open_lakehouse("trickle", uri=f"sqlite:///{folder}/{database}", warehouse=f"file://{folder}/{warehouse}")


def copy_of(lake: Lakehouse, folder: Path, name: str = "copy.db") -> None:
    """Copy the file of a catalog with all that is in its log."""
    lake.database.close()
    for file in folder.glob("catalog.db*"):
        shutil.copy(file, folder / file.name.replace("catalog.db", name))


def marker_of(folder: Path) -> dict[str, str]:
    return json.loads((folder / "warehouse" / MARKER).read_text())


def prepared(folder: Path) -> tuple[Lakehouse, Staged]:
    """Production: a table is published, and its next state is staged."""
    lake = opened(folder, "catalog.db")
    commit(lake, [stage_rows(lake, "default.t", [OLD])])
    with lake.database.transaction() as connection:
        write_status(lake, connection, "default.t", name="t", pipeline="p")
    return lake, stage_rows(lake, "default.t", [NEW], replace=True)


def test_a_copy_of_the_database_removes_nothing_and_production_goes_on(tmp_path: Path) -> None:
    lake, staged = prepared(tmp_path)
    with lake:
        copy_of(lake, tmp_path)
        with opened(tmp_path, "copy.db") as copy:
            assert len(leftovers(copy)) == 1
            lease = try_acquire(copy, "default.t", "the copy")
            assert isinstance(lease, Lease)
            for forbidden in (
                lambda: clean_table(copy, lease),
                lambda: clean_pipeline(copy, "p"),
                lambda: discard(copy, staged.staging),
                lambda: drop(copy, read_status(copy)["default.t"]),
                lambda: stage_rows(copy, "default.t", [NEW]),
                lambda: commit(copy, [staged]),
                lambda: renew_marker(copy),
            ):
                if forbidden.__code__.co_names[0] in ("drop", "clean_pipeline"):
                    owner_free(copy)
                with pytest.raises(NotTheOwner) as caught:
                    forbidden()
            assert str(caught.value) == (
                f"The database of Iceberg catalog 'trickle' at sqlite:///{tmp_path}/copy.db is a copy, or was moved: "
                f"its identity was made at {tmp_path}/catalog.db, and now it is at {tmp_path}/copy.db. Nothing is "
                f"written, cleaned or dropped, so that the files of the original are safe. If this one replaces it for "
                f"good (a restore, a migration): stop everything that uses the original, then run `trickle take-over`. "
                f"If it is a copy to try things with, give it a warehouse of its own and new tables."
            )
            # Looking is free.
            assert rows_of(copy, "default.t") == [OLD]
        commit(lake, [staged])
        assert rows_of(lake, "default.t") == [NEW]


def owner_free(lake: Lakehouse) -> None:
    """Give all leases of a catalog back."""
    with lake.database.transaction() as connection:
        connection.execute(text("DELETE FROM trickle_leases"))


def test_a_copy_that_is_older_than_the_marker_owns_nothing_either(tmp_path: Path) -> None:
    """Both are adopted by what they find: the first one has the warehouse."""
    lake, staged = prepared(tmp_path)
    with lake:
        with lake.database.transaction() as connection:
            connection.execute(text("DELETE FROM trickle_meta WHERE key = 'owner'"))
        os.remove(tmp_path / "warehouse" / MARKER)
        copy_of(lake, tmp_path)
        require_owner(lake, staged.staging.table_location)
        with opened(tmp_path, "copy.db") as copy, pytest.raises(NotTheOwner) as caught:
            discard(copy, staged.staging)
        assert "it belongs to another catalog database" in str(caught.value)
        assert f"{tmp_path}/catalog.db" in str(caught.value)
        commit(lake, [staged])


def test_a_database_that_was_moved_or_restored_takes_over_on_purpose(tmp_path: Path) -> None:
    lake, staged = prepared(tmp_path)
    with lake:
        copy_of(lake, tmp_path)
        with opened(tmp_path, "copy.db") as restored:
            assert take_over(restored) == f"file://{tmp_path}/warehouse"
            commit(restored, [staged])
            assert rows_of(restored, "default.t") == [NEW]
            renew_marker(restored)
            # Now the other one is not the owner any more.
            with pytest.raises(NotTheOwner, match="it belongs to another catalog database"):
                stage_rows(lake, "default.t", [OLD])


def test_a_clone_that_has_even_the_same_place_is_told_by_its_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the image of a whole disk, started elsewhere."""
    monkeypatch.setattr(owner, "_place", lambda _database: ("the same", "the same"))
    lake, staged = prepared(tmp_path)
    with lake:
        renew_marker(lake)
        copy_of(lake, tmp_path)
        renew_marker(lake)  # production has run a tick
        with opened(tmp_path, "copy.db") as clone:
            with pytest.raises(NotTheOwner, match="a clone of this database has used it since"):
                discard(clone, staged.staging)
            take_over(clone)
            require_owner(clone, staged.staging.table_location)
        with pytest.raises(NotTheOwner, match="it belongs to another catalog database"):
            commit(lake, [staged])


def test_a_copy_with_another_warehouse_does_not_touch_the_tables_of_the_first(tmp_path: Path) -> None:
    lake, staged = prepared(tmp_path)
    with lake:
        copy_of(lake, tmp_path)
        with opened(tmp_path, "copy.db", "warehouse of the copy") as copy:
            take_over(copy)
            commit(copy, [stage_rows(copy, "default.other", [NEW])])
            with pytest.raises(NotTheOwner) as caught:
                discard(copy, staged.staging)
            assert f"does not own the warehouse file://{tmp_path}/warehouse: it belongs to" in str(caught.value)
            assert f"`trickle take-over --warehouse file://{tmp_path}/warehouse`" in str(caught.value)
        commit(lake, [staged])


def test_tables_of_a_warehouse_that_the_catalog_had_before_are_adopted_where_nobody_owns_them(tmp_path: Path) -> None:
    lake, staged = prepared(tmp_path)
    lake.close()
    os.remove(tmp_path / "warehouse" / MARKER)
    with opened(tmp_path, "catalog.db", "another") as moved:
        commit(moved, [staged])
        assert rows_of(moved, "default.t") == [NEW]
        folder = Path(staged.staging.table_location.removeprefix("file://"))
        assert json.loads((folder / MARKER).read_text())["token"] is None
        renew_marker(moved)
        discard(moved, stage_rows(moved, "default.t", [OLD]).staging)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_eight_processes_that_adopt_a_warehouse_at_once_are_one_owner(tmp_path: Path, kind: str) -> None:
    uri = f"sqlite:///{tmp_path}/catalog.db" if kind == "sqlite" else new_database()
    lakes = [open_lakehouse("trickle", uri=uri, warehouse=f"file://{tmp_path}/warehouse") for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda lake: require_owner(lake, f"file://{tmp_path}/warehouse/t"), lakes))
        list(threads.map(renew_marker, lakes))
        list(threads.map(lambda lake: require_owner(lake, f"file://{tmp_path}/warehouse/t"), lakes))
    assert [path.name for path in (tmp_path / "warehouse").iterdir()] == [MARKER]
    for lake in lakes:
        lake.close()


@contextmanager
def postgresql(uri: str, folder: Path) -> Iterator[Lakehouse]:
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{folder}/warehouse") as lake:
        yield lake


def test_a_copy_of_a_postgresql_database_owns_nothing(tmp_path: Path) -> None:
    uri = new_database()
    with postgresql(uri, tmp_path) as lake:
        staged = stage_rows(lake, "default.t", [OLD])
    name = f"{make_url(uri).database}_copy"
    admin = create_engine(make_url(uri).set(database="postgres"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}" TEMPLATE "{make_url(uri).database}"'))
    admin.dispose()
    copied = make_url(uri).set(database=name).render_as_string(hide_password=False)
    with postgresql(copied, tmp_path) as copy, pytest.raises(NotTheOwner, match="is a copy, or was moved"):
        discard(copy, staged.staging)
    with postgresql(uri, tmp_path) as lake:
        commit(lake, [staged])


def test_a_damaged_marker_is_told_and_nothing_is_removed(tmp_path: Path) -> None:
    lake, staged = prepared(tmp_path)
    with lake:
        (tmp_path / "warehouse" / MARKER).write_text("{")
        with pytest.raises(WarehouseUnavailable, match="which names the owner of the warehouse, cannot be read"):
            discard(lake, staged.staging)
        (tmp_path / "warehouse" / MARKER).unlink()
        commit(lake, [staged])
        assert marker_of(tmp_path)["database"] == f"{tmp_path}/catalog.db"


def test_a_stream_table_is_dropped_with_all_its_files_by_its_owner(tmp_path: Path) -> None:
    lake, _ = prepared(tmp_path)
    with lake:
        table = lake.table("default.t")
        assert table is not None
        assert OWNED in table.metadata.properties
        drop(lake, read_status(lake)["default.t"])
        assert not Path(table.metadata.location.removeprefix("file://")).exists()
