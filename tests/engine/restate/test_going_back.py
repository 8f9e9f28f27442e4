"""Taking the tables of a pipeline back together, without Spark, over SQLite and over PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType
from sqlalchemy import select, update

from airflow_trickle import clock
from airflow_trickle.engine.published import published_state
from airflow_trickle.engine.restate import restate
from airflow_trickle.engine.steer import reset, suspend
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.partitions import Layout
from airflow_trickle.lakehouse.snapshots import version_as_of
from airflow_trickle.lakehouse.state import published_by, read_history, write_status
from airflow_trickle.lakehouse.tables import status as status_rows
from airflow_trickle.plan.steps import Plan
from airflow_trickle.results import Rewind, Status
from tests.engine.restate.past import COLUMNS, YAML, Past, at, plan_of, row, table
from tests.outside_readers import duckdb_columns, duckdb_rows

# --- what readers see ---


def test_all_tables_show_their_rows_of_then(lake: Lakehouse, plan: Plan, past: Past) -> None:
    results = restate(lake, plan, at(3))
    assert [past.rows(name) for name in "abc"] == [[row(3)], [row(2)], [row(3)]]
    assert {name: result.outcome for name, result in results.items()} == dict.fromkeys("abc", Rewind.REWOUND)
    assert results["a"].reason == "published by tick p/3"
    assert results["b"].reason == "its rows have not changed since; published by tick p/2"
    assert (results["a"].effective_at, results["a"].tick_id) == (at(3), "p/3")


@pytest.mark.parametrize(
    ("moment", "rows"),
    [
        (at(2), (2, 2)),
        (at(2) + timedelta(minutes=59), (2, 2)),
        (at(2) - timedelta(microseconds=1), (1, 1)),
        (at(1), (1, 1)),
    ],
)
def test_the_last_tick_until_the_moment_counts(
    lake: Lakehouse, plan: Plan, past: Past, moment: datetime, rows: tuple[int, int]
) -> None:
    restate(lake, plan, moment)
    assert (past.rows("a"), past.rows("b")) == ([row(rows[0])], [row(rows[1])])


def test_later_snapshots_stay_and_the_log_tells_of_the_rollback(lake: Lakehouse, plan: Plan, past: Past) -> None:
    before = table(lake, "a").metadata
    restate(lake, plan, at(2))
    after = table(lake, "a").metadata
    assert after.snapshots == before.snapshots
    assert after.snapshot_log[:-1] == before.snapshot_log
    assert after.snapshot_log[-1].snapshot_id == after.current_snapshot_id == before.snapshots[1].snapshot_id
    assert after.snapshot_log[-1].timestamp_ms >= before.snapshot_log[-1].timestamp_ms
    assert after.metadata_log[:-1] == before.metadata_log
    # Whoever reads one of them goes on doing so.
    found = table(lake, "a").scan(snapshot_id=before.current_snapshot_id).to_arrow().to_pylist()
    assert found == [row(4)]
    assert version_as_of(table(lake, "a"), clock.now()).snapshot_id == after.current_snapshot_id


def test_epochs_go_on_and_unmoved_tables_keep_theirs(lake: Lakehouse, plan: Plan, past: Past) -> None:
    restate(lake, plan, at(3))
    assert [past.status(name).epoch for name in "abc"] == [5, 2, 3]
    past.publish("a", 4, [row(44)])
    assert past.status("a").epoch == 6
    restate(lake, plan, at(1))
    assert [past.status(name).epoch for name in "abc"] == [7, 3, 3]


def test_a_table_that_did_not_exist_then_starts_over_and_keeps_its_rows_until_the_next_tick(
    lake: Lakehouse, plan: Plan, past: Past
) -> None:
    before = table(lake, "c").metadata_location
    result = restate(lake, plan, at(2))["c"]
    assert (result.outcome, result.reason) == (
        Rewind.STARTED_OVER,
        "it did not exist then; the next tick computes it anew",
    )
    assert past.rows("c") == [row(4)]
    assert table(lake, "c").metadata_location == before
    status = past.status("c")
    assert (status.status, status.frontier, status.definition) == (Status.INITIALIZING, None, None)
    # Not a tick from before the others' state either.
    assert status.effective_at == at(2)


# --- what the state tables say ---


def test_the_status_agrees_with_the_snapshot(lake: Lakehouse, plan: Plan, past: Past) -> None:
    past.publish("a", 5, [row(5)], kept='{"files": []}', error="went wrong", error_at=at(5))
    restate(lake, plan, at(3))
    status, shown = past.status("a"), table(lake, "a")
    assert status.metadata_location == shown.metadata_location
    assert (status.snapshot_id, status.schema_id) == (
        shown.metadata.current_snapshot_id,
        shown.metadata.current_schema_id,
    )
    assert (status.frontier, status.definition) == (past.frontier("a", 3), "query of a")
    assert (status.status, status.error, status.kept) == (Status.ACTIVE, None, None)
    # A table whose rows did not change for a while: what its snapshot was computed from.
    assert past.status("b").frontier == past.frontier("b", 2)
    assert {past.status(name).effective_at for name in "abc"} == {at(3)}
    locations = lake.locations(["default.a"])
    state = published_state(lake, "default.a", status, locations)
    assert state is not None
    # If the state tables were lost, the snapshot would say the same.
    lost = published_state(lake, "default.a", None, locations)
    assert lost is not None
    assert (lost.version, lost.frontier, lost.definition) == (state.version, state.frontier, state.definition)


def test_the_history_tells_of_it(lake: Lakehouse, plan: Plan, past: Past) -> None:
    restate(lake, plan, at(2))
    rows = {one["name"]: one for one in read_history(lake, pipeline="p") if one["action"] == "RESTATE"}
    assert rows.keys() == {"a", "b", "c"}
    assert rows["a"]["reason"] == "taken back to 2026-01-01T02:00:00.000000+00:00: published by tick p/2"
    assert rows["a"]["epoch"] == 5
    assert len({one["tick_id"] for one in rows.values()}) == 1


def test_a_tick_that_runs_again_is_no_attempt_of_the_one_before(lake: Lakehouse, plan: Plan, past: Past) -> None:
    assert published_by(lake, "default.a", "p/4") is not None
    assert published_by(lake, "default.a", "p/2") is not None
    restate(lake, plan, at(2))
    assert published_by(lake, "default.a", "p/4") is None
    assert published_by(lake, "default.a", "p/2") is None
    assert past.status("a").tick_id not in {"p/2", "p/4"}
    past.publish("a", 4, [row(44)])
    again = published_by(lake, "default.a", "p/4")
    assert again is not None
    assert again.epoch == past.status("a").epoch


def test_a_table_that_was_not_brought_further_is_left_alone(lake: Lakehouse, plan: Plan, past: Past) -> None:
    past.tick(5, a=[row(5)])  # and the others failed
    before = past.status("b")
    results = restate(lake, plan, at(4))
    assert {name: result.outcome for name, result in results.items()} == {
        "a": Rewind.REWOUND,
        "b": Rewind.UNTOUCHED,
        "c": Rewind.UNTOUCHED,
    }
    assert past.status("b") == before
    assert results["b"].reason == "it stands at 2026-01-01T04:00:00.000000+00:00"


def test_nothing_to_take_back_writes_nothing(lake: Lakehouse, plan: Plan, past: Past) -> None:
    before, told = past.everything(), len(read_history(lake))
    results = restate(lake, plan, clock.now())
    assert {result.outcome for result in results.values()} == {Rewind.UNTOUCHED}
    assert past.everything() == before
    assert len(read_history(lake)) == told


def test_a_table_that_was_never_refreshed_is_no_obstacle(lake: Lakehouse, tmp_path: Path, past: Past) -> None:
    plan = plan_of(tmp_path, YAML + "  d: {query: SELECT n FROM c}\n")
    assert restate(lake, plan, at(2))["d"].reason == "it was never refreshed"


def test_a_table_that_left_the_pipeline_stays_as_it_is(lake: Lakehouse, tmp_path: Path, past: Past) -> None:
    plan = plan_of(tmp_path, YAML.replace("  c: {query: SELECT count(*) AS n FROM b}\n", ""))
    before = past.status("c")
    restate(lake, plan, at(1))
    assert past.status("c") == before


def test_a_suspended_table_goes_back_and_stays_suspended(lake: Lakehouse, plan: Plan, past: Past) -> None:
    suspend(lake, past.status("a"))
    restate(lake, plan, at(2))
    assert (past.status("a").status, past.rows("a")) == (Status.SUSPENDED, [row(2)])


def test_what_did_not_settle_is_tried_again(lake: Lakehouse, plan: Plan, past: Past) -> None:
    past.tick(5, a=[row(5)])
    for name in "ab":
        with lake.database.transaction() as connection:
            said = {"status": Status.ERROR.value, "halted": "fingerprint", "error": "did not settle"}
            write_status(lake, connection, f"default.{name}", **said)
    outcomes = restate(lake, plan, at(4))
    assert (outcomes["a"].outcome, outcomes["b"].outcome) == (Rewind.REWOUND, Rewind.UNTOUCHED)
    for name in "ab":
        status = past.status(name)
        assert (status.status, status.halted, status.error) == (Status.ACTIVE, None, None)


def test_the_epoch_of_a_group_goes_on(lake: Lakehouse, plan: Plan, past: Past) -> None:
    with lake.database.transaction() as connection:
        named = status_rows.c.identifier.in_(["default.a", "default.b"])
        connection.execute(update(status_rows).where(named).values(group_name="g", group_epoch=4))
    restate(lake, plan, at(2))
    with lake.database.reading() as connection:
        found = connection.execute(select(status_rows.c.identifier, status_rows.c.group_epoch)).all()
        assert {one[0]: one[1] for one in found} == {"default.a": 5, "default.b": 5, "default.c": None}


# --- more than once ---


def test_a_second_time_goes_back_along_what_was_published_since(lake: Lakehouse, plan: Plan, past: Past) -> None:
    restate(lake, plan, at(2))
    past.publish("a", 3, [row(33)])
    past.publish("a", 4, [row(44)])
    restate(lake, plan, at(3))
    assert past.rows("a") == [row(33)]  # not the one that was left behind
    restate(lake, plan, at(2))
    assert past.rows("a") == [row(2)]
    restate(lake, plan, at(1))
    assert past.rows("a") == [row(1)]


def test_a_table_that_was_reset_goes_back_too(lake: Lakehouse, plan: Plan, past: Past) -> None:
    reset(lake, past.status("a"))
    assert restate(lake, plan, at(3))["a"].outcome is Rewind.REWOUND
    assert (past.rows("a"), past.status("a").frontier) == ([row(3)], past.frontier("a", 3))


# --- columns and partitions ---


WIDER = Schema(*COLUMNS.fields, NestedField(3, "day", LongType(), required=False), schema_id=1)
OTHER = Schema(COLUMNS.fields[0], NestedField(3, "t", StringType(), required=False), schema_id=1)


def test_columns_go_back_with_the_rows(lake: Lakehouse, plan: Plan, past: Past) -> None:
    past.publish("a", 5, [{"n": 5, "t": "new"}], schema=OTHER, definition="another")
    assert past.rows("a") == [{"n": 5, "t": "new"}]
    restate(lake, plan, at(4))
    assert past.rows("a") == [row(4)]
    # Whoever knows nothing but the metadata sees the same.
    assert duckdb_columns(table(lake, "a").metadata_location) == {"n": "BIGINT", "s": "VARCHAR"}
    assert duckdb_rows(table(lake, "a").metadata_location) == [(4, "xxxx")]
    assert (past.status("a").schema_id, past.status("a").definition) == (0, "query of a")
    later = table(lake, "a").metadata.snapshots[-1].snapshot_id
    assert table(lake, "a").scan(snapshot_id=later).to_arrow().to_pylist() == [{"n": 5, "t": "new"}]


def test_partitions_go_back_with_the_rows(lake: Lakehouse, plan: Plan, past: Past) -> None:
    past.publish("a", 5, [row(5), row(6)], layout=Layout(partition_by=("n",)), definition="query of a.parted")
    assert table(lake, "a").metadata.default_spec_id == 1
    restate(lake, plan, at(4))
    assert table(lake, "a").metadata.default_spec_id == 0
    assert past.rows("a") == [row(4)]
    past.publish("a", 5, [row(5), row(6)], layout=Layout(partition_by=("n",)), definition="query of a.parted")
    restate(lake, plan, at(5))
    assert table(lake, "a").metadata.default_spec_id == 1


def test_a_table_that_was_parted_by_a_column_it_did_not_have_starts_over(
    lake: Lakehouse, plan: Plan, past: Past
) -> None:
    new = [{**row(5), "day": 1}]
    past.publish("a", 5, new, schema=WIDER, layout=Layout(partition_by=("day",)))
    result = restate(lake, plan, at(4))["a"]
    assert result.outcome is Rewind.STARTED_OVER
    assert result.reason == (
        "it was parted by column 'day' since, which it did not have then; the next tick computes it anew"
    )
    assert past.rows("a") == new
    assert past.status("a").frontier is None
