"""A commit publishes only what exists: whoever removed a staged file, no reader gets a table that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.errors import StagedFilesMissing
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import commit
from airflow_trickle.lakehouse.files import missing, spark_path
from airflow_trickle.lakehouse.rollback import stage_rollback
from airflow_trickle.lakehouse.staging import begin, clean_table
from tests.lakehouse.writing import lease_of, rows_of, stage_rows

OLD, NEW = {"epoch": 0, "name": "old"}, {"epoch": 1, "name": "new"}


@pytest.fixture
def table(shared_lake: Lakehouse, identifier: str) -> str:
    """A published table with one row."""
    commit(shared_lake, [stage_rows(shared_lake, identifier, [OLD])])
    return identifier


def test_a_staged_table_knows_every_file_that_was_written_for_it(shared_lake: Lakehouse, table: str) -> None:
    staged = stage_rows(shared_lake, table, [NEW], replace=True)
    home = Path(spark_path(staged.staging.table_location))
    on_disk = {str(path) for path in home.rglob("*") if path.is_file() and staged.staging.staging_id in str(path)}
    assert {spark_path(path) for path in staged.written} == on_disk
    # The data file, manifests of what came and of what went, the list of them, the metadata.
    assert len(on_disk) == 5
    assert missing(staged.table.io, staged.written) == []


@pytest.mark.parametrize("number", range(5))
def test_whichever_staged_file_is_gone_nothing_is_published_and_the_next_attempt_heals(
    shared_lake: Lakehouse, table: str, number: int
) -> None:
    staged = stage_rows(shared_lake, table, [NEW], replace=True)
    other = stage_rows(shared_lake, table + "_other", [NEW])
    before = shared_lake.locations([table])
    gone = sorted(staged.written)[number]
    Path(spark_path(gone)).unlink()
    with pytest.raises(StagedFilesMissing) as caught:
        commit(shared_lake, [other, staged])
    assert caught.value.tables == (table,)
    assert str(caught.value).startswith(
        f"Table {table} was not published: a file that was written for it is gone: {gone}. Nothing was published; "
        f"the next tick writes it again."
    )
    assert shared_lake.locations([table, table + "_other"]) == before
    assert rows_of(shared_lake, table) == [OLD]
    assert clean_table(shared_lake, lease_of(shared_lake, table)) == 1
    commit(shared_lake, [stage_rows(shared_lake, table, [NEW], replace=True)])
    assert rows_of(shared_lake, table) == [NEW]


def test_a_table_that_is_taken_back_needs_its_new_metadata(shared_lake: Lakehouse, table: str) -> None:
    commit(shared_lake, [stage_rows(shared_lake, table, [NEW], replace=True)])
    current = shared_lake.table(table)
    assert current is not None
    record = begin(
        shared_lake,
        lease=lease_of(shared_lake, table),
        table_location=current.location(),
        pipeline="p",
        tick_id="t",
        spark=None,
        new_table=False,
    )
    staged = stage_rollback(shared_lake, table, current, current.metadata.snapshots[0], record)
    Path(spark_path(staged.location)).unlink()
    with pytest.raises(StagedFilesMissing, match="a file that was written for it is gone"):
        commit(shared_lake, [staged])
    assert rows_of(shared_lake, table) == [NEW]
