from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from sqlalchemy import Connection

from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.commit import Staged, commit, require_unmoved, stage_together
from tests import budgets
from tests.lakehouse.writing import rows_of, stage_rows

THREE = ["default.a", "default.b", "default.c"]


def start(lake: Lakehouse, tables: list[str] = THREE) -> None:
    commit(lake, [stage_rows(lake, name, [{"epoch": 0, "name": name}]) for name in tables])


def test_a_staged_table_is_invisible_until_its_commit(lake: Lakehouse) -> None:
    staged = stage_rows(lake, "default.a", [{"epoch": 1, "name": "x"}])
    assert lake.table("default.a") is None
    commit(lake, [staged])
    assert rows_of(lake, "default.a") == [{"epoch": 1, "name": "x"}]


def test_plain_pyiceberg_reads_what_was_committed(lake: Lakehouse, catalog_uri: str, tmp_path: Path) -> None:
    start(lake)
    commit(lake, [stage_rows(lake, "default.a", [{"epoch": 1, "name": None}], note="second")])
    plain = SqlCatalog("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse")
    table = plain.load_table("default.a")
    assert sorted(table.scan().to_arrow()["epoch"].to_pylist()) == [0, 1]
    assert table.current_snapshot().summary["trickle.note"] == "second"  # type: ignore[union-attr,index]
    assert len(table.history()) == 2


def test_tables_can_be_staged_side_by_side(lake: Lakehouse) -> None:
    calls = [partial(stage_rows, lake, name, [{"epoch": 1, "name": name}]) for name in THREE]
    commit(lake, stage_together(calls))
    assert [rows_of(lake, name) for name in THREE] == [[{"epoch": 1, "name": name}] for name in THREE]

    def explode() -> Staged:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        stage_together([*calls, explode])


def test_a_commit_fails_if_a_table_that_it_only_read_has_moved(lake: Lakehouse) -> None:
    start(lake)
    read = lake.locations(THREE)
    staged = stage_rows(lake, "default.a", [{"epoch": 1, "name": "a"}], replace=True)

    def unmoved(connection: Connection) -> None:
        require_unmoved(lake, connection, "default.b", read["default.b"])

    commit(lake, [stage_rows(lake, "default.b", [{"epoch": 7, "name": "first"}], replace=True)])
    with pytest.raises(CommitConflict) as caught:
        commit(lake, [staged], also=unmoved)
    assert caught.value.tables == ("default.b",)
    assert lake.locations(["default.a"]) == {"default.a": read["default.a"]}
    commit(lake, [staged])


def test_one_lost_race_of_three_changes_none_and_names_the_table(lake: Lakehouse) -> None:
    start(lake)
    staged = [stage_rows(lake, name, [{"epoch": 1, "name": name}], replace=True) for name in THREE]
    commit(lake, [stage_rows(lake, "default.b", [{"epoch": 7, "name": "first"}], replace=True)])
    before = lake.locations(THREE)
    with pytest.raises(CommitConflict) as caught:
        commit(lake, staged)
    assert caught.value.tables == ("default.b",)
    assert str(caught.value) == (
        "Table default.b could not be published: it was changed or dropped by another writer since this refresh "
        "read it. None of the tables of this commit was changed; try again."
    )
    assert lake.locations(THREE) == before
    assert rows_of(lake, "default.a") == [{"epoch": 0, "name": "default.a"}]
    # The staging records are still there, for whoever cleans up.
    assert len(stagings.leftovers(lake, pipeline="p")) == 3


def test_a_table_created_meanwhile_is_a_conflict_too(lake: Lakehouse) -> None:
    first, second = (stage_rows(lake, "default.a", [{"epoch": n, "name": "x"}]) for n in (1, 2))
    other = stage_rows(lake, "default.b", [{"epoch": 2, "name": "x"}])
    commit(lake, [first])
    with pytest.raises(CommitConflict, match=r"Table default\.a could not be published: it was created by another"):
        commit(lake, [second, other])
    assert lake.table("default.b") is None


def test_an_error_beside_the_commit_undoes_the_commit(lake: Lakehouse) -> None:
    start(lake)
    staged = [stage_rows(lake, name, [{"epoch": 1, "name": name}], replace=True) for name in THREE]
    before = lake.locations(THREE)

    def explode(_connection: object) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        commit(lake, staged, explode)
    assert lake.locations(THREE) == before


def test_files_that_were_discarded_can_no_longer_be_committed(lake: Lakehouse) -> None:
    start(lake)
    staged = stage_rows(lake, "default.a", [{"epoch": 1, "name": "late"}])
    stagings.discard(lake, staged.staging)
    with pytest.raises(CommitConflict, match="were discarded by another process"):
        commit(lake, [staged])
    assert rows_of(lake, "default.a") == [{"epoch": 0, "name": "default.a"}]


def test_discarding_after_a_commit_whose_answer_was_lost_keeps_the_files(lake: Lakehouse) -> None:
    staged = stage_rows(lake, "default.a", [{"epoch": 1, "name": "x"}])
    commit(lake, [staged])
    stagings.discard(lake, staged.staging)
    assert rows_of(lake, "default.a") == [{"epoch": 1, "name": "x"}]


def test_discarding_leaves_no_file(lake: Lakehouse, tmp_path: Path) -> None:
    start(lake)
    files = sorted(str(path) for path in (tmp_path / "warehouse").rglob("*"))
    staged = stage_rows(lake, "default.a", [{"epoch": 1, "name": "x"}], replace=True)
    stagings.discard(lake, staged.staging)
    assert sorted(str(path) for path in (tmp_path / "warehouse").rglob("*")) == files
    assert stagings.leftovers(lake) == []


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_no_reader_sees_two_tables_of_a_group_at_different_epochs(
    lake: Lakehouse, catalog_uri: str, tmp_path: Path
) -> None:
    """8 threads commit to overlapping groups, many rounds in all; a reader loops meanwhile.

    A commit sets all its members to one more than the highest epoch it found in them, and writes down who they
    are. So at any one moment no member may be behind a commit that names it. The epoch and what is staged must
    come from one and the same read, else a late writer would turn an epoch back by an honest commit.
    """
    tables = [f"default.t{n}" for n in range(5)]
    groups = [tables[0:3], tables[1:3], tables[2:4], tables[3:5], [tables[4], tables[0]]]
    start(lake, tables)
    count = budgets.rounds(100)
    lock, rounds, stop = threading.Lock(), iter(range(count)), threading.Event()

    def opened() -> Lakehouse:
        return open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse")

    def write(seed: int) -> tuple[list[list[str]], int]:
        chance, won, lost = budgets.chance(seed), [], 0
        with opened() as mine:
            while True:
                with lock:
                    if next(rounds, None) is None:
                        return won, lost
                group = chance.choice(groups)
                current = mine.tables(group)
                epoch = 1 + max(note_of(table)[0] for table in current.values())
                row, note = {"epoch": epoch, "name": ",".join(group)}, f"{epoch}|{','.join(group)}"
                staged = [stage_rows(mine, name, [row], replace=True, note=note, over=current[name]) for name in group]
                try:
                    commit(mine, staged)
                    won.append(group)
                except CommitConflict:
                    lost += 1
                    for each in staged:
                        stagings.discard(mine, each.staging)

    def read() -> tuple[int, list[object]]:
        reads, torn = 0, []
        with opened() as mine:
            # A short rest, so that on few cores the reader does not take the writers' time.
            while not stop.wait(0.02):
                found = mine.tables(tables)
                state = {name: note_of(table) for name, table in found.items()}
                torn += [
                    (name, member, state)
                    for name, (epoch, members) in state.items()
                    for member in members
                    if state[member][0] < epoch
                ]
                # The rows must tell the same story; one table a time, so that the reader is quick.
                name = tables[reads % len(tables)]
                rows = found[name].scan().to_arrow().to_pylist()
                if [(row["epoch"], row["name"]) for row in rows] != [(state[name][0], ",".join(state[name][1]))]:
                    torn.append((name, rows, state))
                reads += 1
        return reads, torn

    with ThreadPoolExecutor(9) as threads:
        reader = threads.submit(read)
        writers = [threads.submit(write, seed) for seed in range(8)]
        wait(writers)
        stop.set()
    # `result` raises what its thread raised.
    outcomes = [writer.result() for writer in writers]
    reads, torn = reader.result()
    won = [group for groups_won, _ in outcomes for group in groups_won]
    assert torn == []
    assert len(won) + sum(lost for _, lost in outcomes) == count
    assert len(won) >= count // 10
    assert reads >= 20
    assert stagings.leftovers(lake) == []
    # Every commit that was reported is there, once.
    snapshots = {name: len(table.metadata.snapshots) for name, table in lake.tables(tables).items()}
    assert snapshots == {name: 1 + sum(name in group for group in won) for name in tables}


def note_of(table: Table) -> tuple[int, list[str]]:
    """The epoch and the members that the last commit of a table wrote down."""
    note = table.current_snapshot().summary.get("trickle.note")  # type: ignore[union-attr]
    epoch, _, members = (note or f"0|{'.'.join(table.name())}").partition("|")
    return int(epoch), members.split(",")
