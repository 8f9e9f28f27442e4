"""A commit whose answer is lost is looked into; transactions that lost against others are run again."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from sqlalchemy import delete, text

from airflow_trickle.errors import CatalogUnavailable, CommitConflict, CommitUnanswered
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.database import Database
from airflow_trickle.lakehouse.staging import Staging, discard, is_pending, leftovers
from airflow_trickle.lakehouse.tables import staging
from tests.conftest import Tuned
from tests.databases import new_database
from tests.engine.protocol import hooks
from tests.lakehouse.writing import rows_of, stage_rows

OLD, NEW = {"epoch": 1, "name": "old"}, {"epoch": 2, "name": "new"}


@pytest.fixture
def table(lake: Lakehouse) -> str:
    commit(lake, [stage_rows(lake, "default.t", [OLD])])
    hooks.announce_statements(lake)
    return "default.t"


class Losing:
    """Loses the connection at a COMMIT, before it or after it; with ``away`` at everything that follows too."""

    def __init__(self, lake: Lakehouse, after: bool, away: bool = False) -> None:
        self.sqlite, self.after, self.away, self.lost = lake.database.is_sqlite, after, away, False

    def __call__(self, kind: str, _what: str, done: bool) -> None:
        if (self.lost and self.away) or (kind == "COMMIT" and not self.lost and done == self.after):
            self.lost = True
            if self.sqlite:
                raise sqlite3.OperationalError("disk I/O error")
            hooks.cut()
            raise psycopg2.OperationalError("server closed the connection unexpectedly")


def test_a_commit_that_happened_is_a_success(lake: Lakehouse, table: str) -> None:
    staged = stage_rows(lake, table, [NEW], replace=True)
    with hooks.hooked(Losing(lake, after=True)):
        commit(lake, [staged])
    assert rows_of(lake, table) == [NEW]
    assert leftovers(lake) == []


def test_a_commit_that_did_not_happen_is_a_failure_and_can_be_tried_again(lake: Lakehouse, table: str) -> None:
    staged = stage_rows(lake, table, [NEW], replace=True)
    with pytest.raises(CommitUnanswered, match="did not answer"), hooks.hooked(Losing(lake, after=False)):
        commit(lake, [staged])
    assert rows_of(lake, table) == [OLD]
    assert leftovers(lake) == [staged.staging]
    commit(lake, [staged])
    assert rows_of(lake, table) == [NEW]


@pytest.mark.parametrize("after", [True, False])
def test_a_database_that_stays_away_leaves_the_files_alone(
    lake: Lakehouse, table: str, tuned: Tuned, after: bool
) -> None:
    tuned(commit_outcome_seconds=0.0)
    staged = stage_rows(lake, table, [NEW], replace=True)
    with hooks.hooked(Losing(lake, after, away=True)):
        with pytest.raises(CommitUnanswered, match=f"it is not known whether {table} was published; no file was remov"):
            commit(lake, [staged])
        with pytest.raises(CatalogUnavailable):
            discard(lake, staged.staging)
    assert all(os.path.exists(path.removeprefix("file://")) for path in staged.written)
    # Back again: what was published stays, what was not goes.
    discard(lake, staged.staging)
    assert rows_of(lake, table) == [NEW if after else OLD]
    assert all(os.path.exists(path.removeprefix("file://")) == after for path in staged.written)


def test_a_writer_whose_work_was_discarded_removes_what_it_wrote_afterwards(lake: Lakehouse, table: str) -> None:
    """It was stopped, another process took over and cleaned; then it went on writing."""
    staged = stage_rows(lake, table, [NEW], replace=True)
    contents = {path: Path(path.removeprefix("file://")).read_bytes() for path in staged.written}
    discard(lake, staged.staging)
    for path, content in contents.items():
        file = Path(path.removeprefix("file://"))
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
    with pytest.raises(CommitConflict, match="were discarded by another process"):
        commit(lake, [staged])
    discard(lake, staged.staging)
    assert not any(os.path.exists(path.removeprefix("file://")) for path in staged.written)
    assert rows_of(lake, table) == [OLD]


def test_files_of_a_snapshot_that_was_expired_are_still_known_as_published(lake: Lakehouse, table: str) -> None:
    staged = stage_rows(lake, table, [NEW])
    commit(lake, [staged])
    for number in range(3):
        commit(lake, [stage_rows(lake, table, [{"epoch": number, "name": "more"}])])
    current = lake.table(table)
    assert current is not None
    current.maintenance.expire_snapshots().by_id(staged.snapshot_id).commit()
    discard(lake, Staging(staged.staging.staging_id, table, staged.staging.table_location))
    assert NEW in rows_of(lake, table)


@pytest.fixture(params=["postgresql"])
def pairs(tmp_path: Path) -> Iterator[Database]:
    """A database of PostgreSQL with two rows to fight for."""
    with open_lakehouse("trickle", uri=new_database(), warehouse=f"file://{tmp_path}") as lake:
        with lake.database.transaction() as connection:
            connection.execute(text("CREATE TABLE pairs (id INT PRIMARY KEY, n INT NOT NULL)"))
            connection.execute(text("INSERT INTO pairs VALUES (1, 0), (2, 0)"))
        yield lake.database


def test_of_two_transactions_in_a_deadlock_both_are_done(pairs: Database) -> None:
    meet, tries = threading.Barrier(2, timeout=60), []

    def work(first: int, second: int) -> None:
        once = True

        def both(connection: Any) -> None:
            nonlocal once
            tries.append(first)
            connection.execute(text("UPDATE pairs SET n = n + 1 WHERE id = :id"), {"id": first})
            if once:
                once = False
                meet.wait()
            connection.execute(text("UPDATE pairs SET n = n + 1 WHERE id = :id"), {"id": second})

        pairs.run(both)

    threads = [threading.Thread(target=work, args=order) for order in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with pairs.reading() as connection:
        assert connection.execute(text("SELECT n FROM pairs ORDER BY id")).scalars().all() == [2, 2]
    assert len(tries) == 3


@pytest.mark.parametrize("code", ["40001", "40P01"])
def test_a_transaction_that_always_loses_is_given_up_with_the_first_error(pairs: Database, code: str) -> None:
    tries = []

    def losing(connection: Any) -> None:
        tries.append(1)
        connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION 'attempt {len(tries)}' USING ERRCODE = '{code}'; END $$"))

    with pytest.raises(CatalogUnavailable, match="did not answer: attempt 1"):
        pairs.run(losing)
    assert len(tries) == 5


def test_other_errors_are_told_at_once_even_if_they_sound_like_a_deadlock(pairs: Database) -> None:
    tries = []

    def failing(connection: Any) -> None:
        tries.append(1)
        connection.execute(text("DO $$ BEGIN RAISE EXCEPTION 'deadlock detected'; END $$"))

    with pytest.raises(CatalogUnavailable, match="deadlock detected"):
        pairs.run(failing)
    assert len(tries) == 1


def set_first(pairs: Database, value: int) -> None:
    pairs.run(lambda connection: connection.execute(text(f"UPDATE pairs SET n = {value} WHERE id = 1")))


def test_a_lock_is_not_waited_for_for_ever(pairs: Database, tuned: Tuned) -> None:
    tuned(database_lock_seconds=0.1)
    with pairs.transaction() as holder:
        holder.execute(text("UPDATE pairs SET n = 5 WHERE id = 1"))
        with pytest.raises(CatalogUnavailable, match=r"did not answer in time: .*pg_stat_activity"):
            set_first(pairs, 6)


def stand_still(pairs: Database) -> None:
    with pairs.transaction() as holder:
        holder.execute(text("UPDATE pairs SET n = 5 WHERE id = 1"))
        # Waits for the lock, which it gets when the server has ended this transaction.
        set_first(pairs, 6)


def test_a_transaction_whose_process_stands_still_is_ended_by_the_server(pairs: Database, tuned: Tuned) -> None:
    tuned(database_idle_seconds=0.1)
    with pytest.raises(CatalogUnavailable):
        stand_still(pairs)
    with pairs.reading() as connection:
        assert connection.execute(text("SELECT n FROM pairs WHERE id = 1")).scalar() == 6


def fail_without_connection(pairs: Database) -> None:
    with pairs.transaction() as connection:
        connection.execute(text("UPDATE pairs SET n = 5 WHERE id = 1"))
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.close()
        raise ZeroDivisionError


def test_an_error_in_a_transaction_is_told_even_if_the_connection_is_gone_too(pairs: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_without_connection(pairs)


@pytest.mark.parametrize("catalog_uri", ["postgresql"], indirect=True)
def test_the_end_of_a_commit_that_the_server_is_still_at_is_waited_for(lake: Lakehouse, table: str) -> None:
    """The connection is lost, but not what was said over it."""
    staged = stage_rows(lake, table, [NEW], replace=True)
    gone, asked = delete(staging).where(staging.c.staging_id == staged.staging.staging_id), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        with lake.database.transaction() as connection:
            connection.execute(gone)

            def ask() -> bool:
                asked.set()
                return is_pending(lake, staged.staging)

            answer = threads.submit(copy_context().run, ask)
            assert asked.wait(60)
            with pytest.raises(TimeoutError):
                answer.result(0.2)
        assert answer.result(60) is False


@pytest.mark.parametrize("after", [False, True])
def test_what_was_written_after_others_discarded_it_goes_even_if_the_connection_is_lost_once(
    lake: Lakehouse, table: str, after: bool
) -> None:
    """No record of it is left, so no later tick would find it."""
    staged = stage_rows(lake, table, [NEW], replace=True)
    discard(lake, staged.staging)
    late = Path(f"{staged.staging.metadata_folder.removeprefix('file://')}/{staged.staging.staging_id}-m0.avro")
    late.write_bytes(b"late")
    losing = Losing(lake, after)
    with hooks.hooked(losing):
        discard(lake, staged.staging)
    assert losing.lost
    assert not late.exists()
