"""The state tables: made once by whoever comes first, and what is written is what is read."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, inspect, text, update

from airflow_trickle.errors import CatalogUnavailable
from airflow_trickle.lakehouse import tables as state_tables
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import (
    Frontier,
    TableStatus,
    TickRecord,
    forget,
    latest_tick,
    published_by,
    read_history,
    read_status,
    read_tick,
    write_history,
    write_status,
    write_tick,
)
from airflow_trickle.results import Cause, Choice, ChoiceCode, Mode, PartState, Status, TableResult
from tests.databases import new_database

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)
#: Longer than any VARCHAR would take, with characters of one to four bytes.
LONG = "line\n" * 20_000 + "naïve Größe 日本語 🦆 'quoted' \"double\" % {} \\ \t end"


@contextmanager
def writing(lake: Lakehouse) -> Iterator[Connection]:
    with lake.database.transaction() as connection:
        yield connection


def open_one(uri: str, warehouse: str, start: Barrier, answers: Any) -> None:
    try:
        start.wait()
        with open_lakehouse("trickle", uri=uri, warehouse=warehouse) as lake:
            lake.ensure_namespace("default.t")
            answers.put(str(read_status(lake)))
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_eight_processes_may_open_a_fresh_catalog_at_once(kind: str, tmp_path: Path) -> None:
    # A fork server has imported the package once; the eight start from there.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "psycopg2", "sqlalchemy.dialects.postgresql"])
    for number in range(3):
        uri = f"sqlite:///{tmp_path}/catalog-{number}.db" if kind == "sqlite" else new_database()
        start, answers = context.Barrier(8), context.Queue()
        arguments = (uri, f"file://{tmp_path}/warehouse-{number}", start, answers)
        processes = [context.Process(target=open_one, args=arguments) for _ in range(8)]
        for process in processes:
            process.start()
        assert [answers.get(timeout=120) for _ in processes] == ["{}"] * 8
        for process in processes:
            process.join()
        with open_lakehouse("trickle", uri=uri, warehouse=arguments[1]) as lake:
            assert lake.catalog.list_namespaces() == [("default",)]


def test_opening_again_changes_nothing(lake: Lakehouse, catalog_uri: str, tmp_path: Path) -> None:
    with writing(lake) as connection:
        write_status(lake, connection, "default.t", name="t", pipeline="p")
    before = sorted(inspect(lake.database.engine).get_table_names())
    with open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as again:
        assert list(read_status(again)) == ["default.t"]
        assert sorted(inspect(again.database.engine).get_table_names()) == before
    assert {
        "trickle_meta",
        "trickle_status",
        "trickle_history",
        "trickle_ticks",
        "trickle_leases",
        "trickle_staging",
        "trickle_iterations",
        "trickle_prepared",
        "trickle_skipped_strata",
        "trickle_submissions",
        "trickle_places",
        "trickle_mutual_groups",
    } < set(before)


@pytest.mark.parametrize("found", ["9", "999", "0"])
def test_another_layout_is_refused(lake: Lakehouse, catalog_uri: str, tmp_path: Path, found: str) -> None:
    with writing(lake) as connection:
        connection.execute(update(state_tables.meta).values(value=found))
    with pytest.raises(CatalogUnavailable) as caught:
        open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse")
    where = lake.database.url.render_as_string()
    assert str(caught.value) == (
        f"Iceberg catalog 'trickle' at {where} holds trickle state of layout {found}; this version of "
        f"airflow-trickle knows layout 8. Install a version of airflow-trickle that matches."
    )


#: What each layout lacks that the one after it has.
LACKING = {
    1: (("history", "bytes_read"), ("history", "bytes_written"), ("history", "phases"), ("status", "kept")),
    2: (
        ("status", "last_iterations"),
        ("status", "converged_at"),
        ("status", "halted"),
        ("status", "waits_for"),
    ),
    3: (
        ("status", "group_name"),
        ("status", "group_epoch"),
        ("history", "group_epoch"),
        ("ticks", "not_due"),
        ("leases", "claim"),
        ("leases", "claimed_until"),
    ),
    4: (("status", "settings"),),
    5: (("leases", "boot_id"), ("leases", "pid_namespace"), ("leases", "start_ticks")),
    6: (("ticks", "skipped_strata"),),
    7: (("history", "cause"), ("history", "choice"), ("history", "state")),
}
#: The tables that came with a layout.
CAME_WITH = {3: ("iterations",), 4: ("prepared", "skipped_strata", "submissions"), 7: ("places", "mutual_groups")}


def go_back_to(connection: Connection, layout: int) -> None:
    """Turn the state tables into those of an older layout."""
    for older in range(layout, 8):
        for table in CAME_WITH.get(older + 1, ()):
            connection.execute(text(f"DROP TABLE trickle_{table}"))
        for table, column in LACKING[older]:
            connection.execute(text(f"ALTER TABLE trickle_{table} DROP COLUMN {column}"))
    connection.execute(update(state_tables.meta).values(value=str(layout)))


@pytest.mark.parametrize("layout", [1, 2, 3, 4, 5, 6, 7])
def test_an_older_layout_gains_what_is_new_and_keeps_its_rows(
    lake: Lakehouse, catalog_uri: str, tmp_path: Path, layout: int
) -> None:
    result = TableResult(table="t", status=Status.ACTIVE, mode=Mode.FULL, reason="first refresh", seconds=1.5)
    with writing(lake) as connection:
        write_status(lake, connection, "default.t", name="t", pipeline="p", frontier=FRONTIER, kept="{}")
        write_history(
            lake, connection, result, identifier="default.t", pipeline="p", tick_id="1", action="R", started_at=NOON
        )
        go_back_to(connection, layout)
    for _ in range(2):
        with open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as again:
            status = read_status(again)["default.t"]
            assert (status.frontier, status.kept) == (FRONTIER, None if layout == 1 else "{}")
            assert (status.last_iterations, status.converged_at, status.halted) == (None, None, None)
            assert (status.waits_for, status.is_held) == ((), False)
            (row,) = read_history(again)
            assert (row["seconds"], row["bytes_read"], row["phases"]) == (1.5, None, {})
            assert (row["cause"], row["choice"], row["state"]) == ("first_refresh", None, [])
            assert read_iterations(again) == []


def test_an_upgraded_layout_is_the_one_that_is_made_anew(lake: Lakehouse, catalog_uri: str, tmp_path: Path) -> None:
    def layout(of: Lakehouse) -> dict[str, set[tuple[str, str]]]:
        found = inspect(of.database.engine)
        names = (name for name in found.get_table_names() if name.startswith("trickle_"))
        return {name: {(one["name"], str(one["type"])) for one in found.get_columns(name)} for name in names}

    made_anew = layout(lake)
    with writing(lake) as connection:
        go_back_to(connection, 1)
    with open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as again:
        assert layout(again) == made_anew


def test_state_tables_that_were_half_made_are_completed(lake: Lakehouse, catalog_uri: str, tmp_path: Path) -> None:
    with writing(lake) as connection:
        state_tables.history.drop(connection)
        connection.execute(delete(state_tables.meta))
    with open_lakehouse("trickle", uri=catalog_uri, warehouse=f"file://{tmp_path}/warehouse") as again:
        assert read_history(again) == []


FRONTIER = Frontier(
    inputs={"a": Version(9_223_372_036_854_775_807, 3), "ü": Version(None, 0)}, world={"a": Version(1, 2)}
)


def test_a_frontier_goes_to_text_and_back() -> None:
    assert Frontier.from_json(FRONTIER.as_json()) == FRONTIER
    assert Frontier.from_json(Frontier({}, {}).as_json()) == Frontier({}, {})
    behind = Frontier({}, {}, ("a", "b"))
    assert Frontier.from_json(behind.as_json()) == behind


def test_a_status_is_created_with_defaults_and_then_updated(shared_lake: Lakehouse, identifier: str) -> None:
    with writing(shared_lake) as connection:
        write_status(shared_lake, connection, identifier, name="t", pipeline="p")
    assert read_status(shared_lake, [identifier]) == {
        identifier: TableStatus(
            identifier=identifier,
            name="t",
            pipeline="p",
            status=Status.INITIALIZING,
            mode=None,
            definition=None,
            frontier=None,
            effective_at=None,
            tick_id=None,
            metadata_location=None,
            snapshot_id=None,
            schema_id=None,
            epoch=0,
            refreshed_at=None,
            changed_at=None,
            error=None,
        )
    }
    elsewhere = timezone(timedelta(hours=-3))
    everything = {
        "status": Status.ERROR.value,
        "mode": "FULL",
        "definition": "d" * 64,
        "frontier": FRONTIER,
        "effective_at": NOON.astimezone(elsewhere),
        "tick_id": "scheduled__" + "x" * 500,
        "metadata_location": "file:///w/" + "ü" * 2000,
        "snapshot_id": 9_223_372_036_854_775_807,
        "schema_id": 3,
        "epoch": 2**40,
        "refreshed_at": NOON,
        "changed_at": NOON + timedelta(microseconds=1),
        "error": LONG,
        "error_at": NOON,
        "last_iterations": 12,
        "converged_at": NOON,
        "halted": "h" * 64,
        "waits_for": ("default.a", "default.b"),
    }
    with writing(shared_lake) as connection:
        write_status(shared_lake, connection, identifier, **everything)
    found = read_status(shared_lake, [identifier])[identifier]
    assert (found.name, found.pipeline, found.status) == ("t", "p", Status.ERROR)
    for key in everything.keys() - {"status", "error_at"}:
        assert getattr(found, key) == everything[key], key
    # A partial update leaves the rest.
    with writing(shared_lake) as connection:
        write_status(shared_lake, connection, identifier, status=Status.ACTIVE.value, error=None)
    healed = read_status(shared_lake, [identifier])[identifier]
    assert (healed.status, healed.error, healed.frontier, healed.epoch) == (Status.ACTIVE, None, FRONTIER, 2**40)


def test_statuses_are_listed_in_order_and_forgotten_one_by_one(lake: Lakehouse) -> None:
    with writing(lake) as connection:
        for name in ("default.b", "default.a", "sales.eu.c"):
            write_status(lake, connection, name, name=name, pipeline="p")
    assert list(read_status(lake)) == ["default.a", "default.b", "sales.eu.c"]
    assert list(read_status(lake, ["default.b", "default.none"])) == ["default.b"]
    assert read_status(lake, []) == {}
    with writing(lake) as connection:
        forget(lake, connection, "default.a")
        forget(lake, connection, "default.none")
    assert list(read_status(lake)) == ["default.b", "sales.eu.c"]


def test_the_status_of_thousands_of_tables_is_read_at_once(lake: Lakehouse) -> None:
    names = [f"default.t{number:04}" for number in range(4000)]
    row = {"catalog": "trickle", "name": "t", "pipeline": "p", "status": "ACTIVE", "epoch": 1}
    with writing(lake) as connection:
        connection.execute(state_tables.status.insert(), [row | {"identifier": name} for name in names])
    assert list(read_status(lake, names)) == names


def test_two_catalogs_in_one_database_do_not_see_each_other(lake: Lakehouse, catalog_uri: str, tmp_path: Path) -> None:
    with open_lakehouse("other", uri=catalog_uri, warehouse=f"file://{tmp_path}/other") as other:
        for each in (lake, other):
            with writing(each) as connection:
                write_status(each, connection, "default.t", name=f"of {each.name}", pipeline="p")
                write_history(each, connection, result(), **history_of("default.t"))
                write_tick(connection, each, tick("tick", "p"))
        assert read_status(other)["default.t"].name == "of other"
        assert read_status(lake)["default.t"].name == "of trickle"
        assert len(read_history(lake)) == len(read_history(other)) == 1
        with writing(other) as connection:
            forget(other, connection, "default.t")
        assert read_status(other) == {}
        assert list(read_status(lake)) == ["default.t"]


def result(**changes: Any) -> TableResult:
    values: dict[str, Any] = {
        "table": "t",
        "status": Status.ACTIVE,
        "mode": Mode.FULL,
        "reason": "first refresh",
        "rows_in": 10,
        "rows_inserted": 7,
        "rows_deleted": 3,
        "iterations": 1,
        "snapshot_id": 5_000_000_000_000_000_000,
        "epoch": 4,
        "seconds": 1.25,
        "bytes_read": 2**40,
        "bytes_written": 7,
        "phases": {"pin": 0.25, "compute": 1.0},
        "cause": Cause.FIRST_REFRESH,
        "choice": Choice(code=ChoiceCode.SMALL_INPUTS, full=True, why="it is small"),
        "state": (PartState(part=-1, outcome="made", bytes=10, files=1),),
    }
    return TableResult(**values | changes)


def history_of(identifier: str, **changes: Any) -> dict[str, Any]:
    values = {
        "identifier": identifier,
        "pipeline": "p",
        "tick_id": "tick",
        "action": "PUBLISHED",
        "started_at": NOON,
    }
    return values | changes


def test_history_is_read_newest_first_and_by_table_pipeline_and_tick(lake: Lakehouse) -> None:
    with writing(lake) as connection:
        for number in range(3):
            write_history(lake, connection, result(epoch=number), **history_of("default.a", tick_id=f"tick {number}"))
        write_history(lake, connection, result(table="b"), **history_of("default.b", pipeline="q", tick_id="tick 1"))
    assert [row["epoch"] for row in read_history(lake, identifier="default.a")] == [2, 1, 0]
    assert [row["epoch"] for row in read_history(lake, identifier="default.a", limit=2)] == [2, 1]
    assert [row["name"] for row in read_history(lake, tick_id="tick 1")] == ["b", "t"]
    assert [row["name"] for row in read_history(lake, pipeline="q")] == ["b"]
    assert read_history(lake, pipeline="q", identifier="default.a") == []
    (row,) = read_history(lake, identifier="default.b")
    assert row.pop("id") > 0
    assert row == {
        "identifier": "default.b",
        "name": "b",
        "pipeline": "q",
        "tick_id": "tick 1",
        "action": "PUBLISHED",
        "mode": "FULL",
        "reason": "first refresh",
        "rows_in": 10,
        "rows_inserted": 7,
        "rows_deleted": 3,
        "iterations": 1,
        "epoch": 4,
        "snapshot_id": 5_000_000_000_000_000_000,
        "started_at": "2026-03-01T12:00:00.123456+00:00",
        "seconds": 1.25,
        "bytes_read": 2**40,
        "bytes_written": 7,
        "phases": {"pin": 0.25, "compute": 1.0},
        "error": None,
        "group_epoch": None,
        "cause": "first_refresh",
        "choice": {
            "code": "small_inputs",
            "full": True,
            "why": "it is small",
            "from_changes": None,
            "in_full": None,
            "plain_spark": None,
            "by_program": False,
        },
        "state": [{"part": -1, "outcome": "made", "bytes": 10, "files": 1, "code": None, "why": ""}],
    }


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (LONG, LONG),
        ("", ""),
        # PostgreSQL stores no NUL and no database half a character: an error text must not be lost for that.
        ("before\x00after", "before\N{REPLACEMENT CHARACTER}after"),
        ("before\ud800after", "before?after"),
    ],
    ids=["long", "empty", "nul", "surrogate"],
)
def test_any_error_text_can_be_written_down(shared_lake: Lakehouse, identifier: str, written: str, read: str) -> None:
    with writing(shared_lake) as connection:
        failed = result(status=Status.ERROR, error=written, reason=written, rows_in=None, snapshot_id=None)
        write_history(shared_lake, connection, failed, **history_of(identifier, action="FAILED"))
        write_status(shared_lake, connection, identifier, name="t", pipeline="p", status="ERROR", error=written)
    (row,) = read_history(shared_lake, identifier=identifier)
    assert (row["error"], row["reason"], row["rows_in"], row["snapshot_id"]) == (read, read, None, None)
    assert read_status(shared_lake, [identifier])[identifier].error == read


def test_what_an_earlier_attempt_published_is_found_again_but_not_its_failures(
    shared_lake: Lakehouse, identifier: str
) -> None:
    with writing(shared_lake) as connection:
        failed = result(error="no", status=Status.ERROR)
        write_history(shared_lake, connection, failed, **history_of(identifier, action="FAILED"))
        # Staged with a group that was not published.
        write_history(shared_lake, connection, result(), **history_of(identifier, action="DISCARDED"))
    assert published_by(shared_lake, identifier, "tick") is None
    with writing(shared_lake) as connection:
        write_history(shared_lake, connection, result(epoch=1), **history_of(identifier, tick_id="other"))
        write_history(shared_lake, connection, result(), **history_of(identifier))
        write_history(shared_lake, connection, failed, **history_of(identifier, action="FAILED"))
    assert published_by(shared_lake, identifier, "tick") == result()
    assert published_by(shared_lake, identifier, "none") is None


def tick(tick_id: str, pipeline: str, effective_at: datetime = NOON, **changes: Any) -> TickRecord:
    values: dict[str, Any] = {
        "pins": {"orders": Version(9_223_372_036_854_775_807, 2), "ünï": Version(None, 0)},
        "locations": {"default.orders": "file:///w/%20 ü/00001.metadata.json"},
        "as_of": None,
    }
    return TickRecord(tick_id=tick_id, pipeline=pipeline, effective_at=effective_at, **values | changes)


def test_a_tick_is_read_as_it_was_written(shared_lake: Lakehouse, identifier: str) -> None:
    wanted = [
        tick(f"plain {identifier}", identifier),
        tick(f"as of {identifier}", identifier, as_of=NOON - timedelta(days=3)),
        tick(f"empty {identifier}", identifier, pins={}, locations={}),
        tick("manual__2026-03-01T12:00:00+00:00_" + identifier + "x" * 400, identifier),
    ]
    with writing(shared_lake) as connection:
        for record in wanted:
            write_tick(connection, shared_lake, record)
    with shared_lake.database.reading() as connection:
        assert [read_tick(connection, shared_lake, record.tick_id) for record in wanted] == wanted
        assert read_tick(connection, shared_lake, "none") is None


def test_the_latest_tick_is_the_one_that_saw_the_newest_world(shared_lake: Lakehouse, identifier: str) -> None:
    with shared_lake.database.reading() as connection:
        assert latest_tick(connection, shared_lake, identifier) is None
    with writing(shared_lake) as connection:
        for days in (2, 5, 3):
            moment = NOON + timedelta(days=days)
            write_tick(connection, shared_lake, tick(f"{days} {identifier}", identifier, moment))
        write_tick(connection, shared_lake, tick(f"9 {identifier}", identifier + "x", NOON + timedelta(days=9)))
    with shared_lake.database.reading() as connection:
        found = latest_tick(connection, shared_lake, identifier)
    assert found is not None
    assert found.tick_id == f"5 {identifier}"
