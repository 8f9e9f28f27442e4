"""Unfinished work is found and removed; visible files and living owners are left alone."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, update

from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import Staged, commit
from airflow_trickle.lakehouse.files import make_folder, spark_path
from airflow_trickle.lakehouse.leases import Lease, release, try_acquire
from airflow_trickle.lakehouse.staging import Staging, clean_pipeline, clean_table, discard, leftovers
from airflow_trickle.lakehouse.tables import leases, staging
from tests.lakehouse.writing import rows_of, stage_rows

ROW = {"epoch": 1, "name": "x"}


@pytest.fixture
def table(shared_lake: Lakehouse, identifier: str) -> str:
    """A published table with one row."""
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    return identifier


def files_below(lake: Lakehouse, identifier: str) -> set[str]:
    namespace, name = identifier.split(".")
    home = Path(spark_path(lake.catalog.properties["warehouse"])) / namespace
    # The folder of a table is its name and something that no other table has.
    return {
        str(path.relative_to(folder))
        for folder in home.glob(f"{name}-*")
        for path in folder.rglob("*")
        if path.is_file()
    }


def lease_of(lake: Lakehouse, identifier: str) -> Lease:
    lease = try_acquire(lake, identifier, "test")
    assert isinstance(lease, Lease), lease
    return lease


def begin(lake: Lakehouse, lease: Lease, pipeline: str = "p", spark: str | None = None) -> Staging:
    current = lake.table(lease.identifier)
    location = current.location() if current else f"{lake.catalog.properties['warehouse']}/nowhere"
    return stagings.begin(
        lake,
        lease=lease,
        table_location=location,
        pipeline=pipeline,
        tick_id="t",
        spark=spark,
        new_table=current is None,
    )


def write_half(lake: Lakehouse, record: Staging) -> None:
    """What a process leaves that dies while Spark writes."""
    io = lake.io({}, record.table_location)
    make_folder(io, f"{record.data_folder}/_temporary/0")
    for path in (
        f"{record.data_folder}/part-0.parquet",
        f"{record.data_folder}/_temporary/0/part-1.parquet",
        f"{record.metadata_folder}/{record.staging_id}-m0.avro",
        f"{record.metadata_folder}/snap-1-0-{record.staging_id}.avro",
        f"{record.metadata_folder}/00007-{record.staging_id}.metadata.json",
    ):
        with io.new_output(path).create() as stream:
            stream.write(b"x")


def test_the_record_is_there_before_any_file(shared_lake: Lakehouse, table: str) -> None:
    before = files_below(shared_lake, table)
    record = begin(shared_lake, Lease(table, "me"), pipeline="sales", spark="session-1")
    assert files_below(shared_lake, table) == before
    assert leftovers(shared_lake, identifier=table) == [record]
    assert record.spark == "session-1"
    assert record.data_folder == f"{shared_lake.table(table).location()}/data/{record.staging_id}"  # type: ignore[union-attr]
    assert leftovers(shared_lake, identifier=table, pipeline="other") == []
    with shared_lake.database.reading() as connection:
        row = connection.execute(select(staging).where(staging.c.staging_id == record.staging_id)).mappings().one()
    assert (row["pipeline"], row["owner"], row["new_table"], row["discarding"]) == ("sales", "me", False, False)


def test_what_an_unfinished_refresh_left_is_removed_and_nothing_else(shared_lake: Lakehouse, table: str) -> None:
    visible = files_below(shared_lake, table)
    lease = lease_of(shared_lake, table)
    stage_rows(shared_lake, table, [{"epoch": 2, "name": "never"}], replace=True)
    write_half(shared_lake, begin(shared_lake, lease))
    begin(shared_lake, lease)
    other = stage_rows(shared_lake, table + "_other", [ROW])
    assert clean_table(shared_lake, lease) == 3
    assert files_below(shared_lake, table) == visible
    assert leftovers(shared_lake, identifier=table) == []
    assert rows_of(shared_lake, table) == [ROW]
    # The neighbour was not touched.
    commit(shared_lake, [other])
    assert rows_of(shared_lake, table + "_other") == [ROW]
    assert clean_table(shared_lake, lease) == 0


def test_an_unfinished_first_refresh_leaves_no_file(shared_lake: Lakehouse, identifier: str) -> None:
    lease = lease_of(shared_lake, identifier)
    stage_rows(shared_lake, identifier, [ROW])
    assert files_below(shared_lake, identifier) != set()
    assert clean_table(shared_lake, lease) == 1
    assert files_below(shared_lake, identifier) == set()
    # And the table can be made afterwards.
    commit(shared_lake, [stage_rows(shared_lake, identifier, [ROW])])
    assert rows_of(shared_lake, identifier) == [ROW]


def test_a_pipeline_is_cleaned_except_where_somebody_is_at_work(shared_lake: Lakehouse, identifier: str) -> None:
    pipeline = f"pipeline of {identifier}"
    names = [identifier + suffix for suffix in ("_dead", "_alive", "_remote", "_lost")]
    records = {}
    for name in names:
        lease = lease_of(shared_lake, name)
        records[name] = begin(shared_lake, lease, pipeline)
        write_half(shared_lake, records[name])
        if name.endswith(("_dead", "_lost")):
            release(shared_lake, lease)
    # A lease of another machine that did not run out counts as living; one that ran out does not.
    elsewhere = update(leases).values(pid_namespace="another", pid=1)
    with shared_lake.database.transaction() as connection:
        connection.execute(elsewhere.where(leases.c.identifier == names[2]))
    assert clean_pipeline(shared_lake, pipeline) == 2
    assert {left.identifier for left in leftovers(shared_lake, pipeline=pipeline)} == {names[1], names[2]}
    with shared_lake.database.transaction() as connection:
        connection.execute(elsewhere.where(leases.c.identifier == names[2]).values(expires_at=time.time() - 1))
    assert clean_pipeline(shared_lake, pipeline) == 1
    assert leftovers(shared_lake, pipeline=pipeline) == [records[names[1]]]
    # The cleaner gave its own leases back.
    assert isinstance(try_acquire(shared_lake, names[0], "next"), Lease)
    assert isinstance(try_acquire(shared_lake, names[2], "next"), Lease)


def test_other_pipelines_are_left_alone(shared_lake: Lakehouse, identifier: str) -> None:
    mine = begin(shared_lake, Lease(identifier, "dead"), f"mine {identifier}")
    theirs = begin(shared_lake, Lease(identifier + "x", "dead"), f"theirs {identifier}")
    assert clean_pipeline(shared_lake, f"mine {identifier}") == 1
    assert leftovers(shared_lake, identifier=mine.identifier) == []
    assert leftovers(shared_lake, identifier=theirs.identifier) == [theirs]


def test_spark_sessions_of_leftovers_are_interrupted_before_their_files_go(
    shared_lake: Lakehouse, identifier: str
) -> None:
    pipeline = f"pipeline of {identifier}"
    first = begin(shared_lake, Lease(identifier, "dead"), pipeline, spark="session-1")
    write_half(shared_lake, first)
    write_half(shared_lake, begin(shared_lake, Lease(identifier, "dead"), pipeline, spark=None))
    begin(shared_lake, Lease(identifier + "b", "dead"), pipeline, spark="session-2")
    seen: list[tuple[str, bool]] = []

    def interrupt(session: str) -> None:
        io = shared_lake.io({}, first.table_location)
        seen.append((session, io.new_input(f"{first.data_folder}/part-0.parquet").exists()))

    assert clean_pipeline(shared_lake, pipeline, interrupt) == 3
    assert seen == [("session-1", True), ("session-2", False)]
    assert leftovers(shared_lake, pipeline=pipeline) == []


def test_a_crash_between_marking_and_deleting_is_finished_by_the_next_cleaner(
    shared_lake: Lakehouse, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visible = files_below(shared_lake, table)
    staged = stage_rows(shared_lake, table, [{"epoch": 2, "name": "never"}])

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stagings, "remove_staged_files", crash)
    with pytest.raises(KeyboardInterrupt):
        discard(shared_lake, staged.staging)
    monkeypatch.undo()
    # Marked: the owner, if it lives after all, cannot commit what is half removed.
    assert leftovers(shared_lake, identifier=table) == [staged.staging]
    assert files_below(shared_lake, table) != visible
    with pytest.raises(CommitConflict) as caught:
        commit(shared_lake, [staged])
    assert str(caught.value) == (
        f"The staged files of table {table} were discarded by another process; nothing was published. "
        f"The next tick goes on from the published state."
    )
    assert caught.value.tables == (table,)
    assert clean_table(shared_lake, lease_of(shared_lake, table)) == 1
    assert files_below(shared_lake, table) == visible
    assert leftovers(shared_lake, identifier=table) == []
    assert rows_of(shared_lake, table) == [ROW]


def test_a_crash_while_deleting_is_finished_by_the_next_cleaner(
    shared_lake: Lakehouse, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visible = files_below(shared_lake, table)
    staged = stage_rows(shared_lake, table, [ROW])

    def half(*_: object) -> None:
        raise OSError("the disk is away")

    monkeypatch.setattr(stagings, "delete_files", half)
    with pytest.raises(OSError, match="the disk is away"):
        discard(shared_lake, staged.staging)
    monkeypatch.undo()
    assert clean_table(shared_lake, lease_of(shared_lake, table)) == 1
    assert files_below(shared_lake, table) == visible


def test_discarding_twice_is_harmless(shared_lake: Lakehouse, table: str) -> None:
    visible = files_below(shared_lake, table)
    staged = stage_rows(shared_lake, table, [ROW])
    for _ in range(2):
        discard(shared_lake, staged.staging)
        assert files_below(shared_lake, table) == visible
        assert leftovers(shared_lake, identifier=table) == []


def test_a_commit_and_a_discard_at_the_same_moment_never_both_win(shared_lake: Lakehouse, table: str) -> None:
    outcomes: set[str] = set()
    with ThreadPoolExecutor(2) as threads:
        for number in range(12):
            name = f"epoch {number}"
            staged = stage_rows(shared_lake, table, [{"epoch": number, "name": name}], replace=True)
            start = threading.Barrier(2)

            def publish(staged: Staged = staged, start: threading.Barrier = start) -> bool:
                start.wait()
                try:
                    commit(shared_lake, [staged])
                except CommitConflict:
                    return False
                return True

            def remove(staged: Staged = staged, start: threading.Barrier = start) -> None:
                start.wait()
                discard(shared_lake, staged.staging)

            published, removed = threads.submit(publish), threads.submit(remove)
            removed.result()
            # What is visible can be read, whoever won.
            rows = rows_of(shared_lake, table)
            assert len(rows) == 1
            assert (rows[0]["name"] == name) == published.result()
            outcomes.add(str(published.result()))
            assert leftovers(shared_lake, identifier=table) == []
    assert outcomes <= {"True", "False"}


def test_two_cleaners_of_one_pipeline_do_not_disturb_each_other(shared_lake: Lakehouse, identifier: str) -> None:
    pipeline = f"pipeline of {identifier}"
    for number in range(6):
        write_half(shared_lake, begin(shared_lake, Lease(f"{identifier}_{number}", "dead"), pipeline))
    with ThreadPoolExecutor(4) as threads:
        cleaned = list(threads.map(lambda _: clean_pipeline(shared_lake, pipeline), range(4)))
    assert sum(cleaned) == 6
    assert leftovers(shared_lake, pipeline=pipeline) == []
