"""Taking the tables of a pipeline back together, without Spark, over SQLite and over PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType
from sqlalchemy import Connection, select, update

from airflow_trickle import clock
from airflow_trickle.engine.look_back import CannotRestate, look_back
from airflow_trickle.engine.published import published_state
from airflow_trickle.engine.restate import restate
from airflow_trickle.engine.steer import reset, suspend
from airflow_trickle.errors import CommitConflict, ForeignTable, LeaseHeld
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.leases import Lease, holding
from airflow_trickle.lakehouse.partitions import Layout
from airflow_trickle.lakehouse.snapshots import version_as_of
from airflow_trickle.lakehouse.state import published_by, read_history, write_status
from airflow_trickle.lakehouse.tables import status as status_rows
from airflow_trickle.plan.steps import Plan
from airflow_trickle.results import Rewind, Status
from tests.databases import new_database
from tests.engine.past import COLUMNS, YAML, Past, at, plan_of


@pytest.fixture(params=["sqlite", "postgresql"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lakehouse]:
    uri = f"sqlite:///{tmp_path}/catalog.db" if request.param == "sqlite" else new_database()
    with open_lakehouse("trickle", uri=uri, warehouse=f"file://{tmp_path}/warehouse") as opened:
        yield opened


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_of(tmp_path)


@pytest.fixture
def past(lake: Lakehouse) -> Past:
    """Four ticks: a changes in every one, b only in the first two, c comes with the third."""
    made = Past(lake)
    made.tick(1, a=[row(1)], b=[row(1)])
    made.tick(2, a=[row(2)], b=[row(2)])
    made.tick(3, a=[row(3)], b=None, c=[row(3)])
    made.tick(4, a=[row(4)], b=None, c=[row(4)])
    return made


def row(n: int) -> dict[str, Any]:
    return {"n": n, "s": "x" * n}


def table(lake: Lakehouse, name: str) -> Table:
    found = lake.table(f"default.{name}")
    assert found is not None
    return found


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in (folder / "warehouse").rglob("*") if path.is_file()}


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


# --- what is refused ---


def unchanged(lake: Lakehouse, plan: Plan, past: Past, moment: datetime, error: type[Exception]) -> str:
    before = past.everything()
    with pytest.raises(error) as told:
        restate(lake, plan, moment, wait=0.0)
    assert past.everything() == before
    return str(told.value)


def test_a_moment_in_the_future_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, clock.now() + timedelta(hours=1), CannotRestate)
    assert "lies in the future; it is 20" in told


def test_a_moment_without_a_time_zone_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, datetime(2026, 1, 1, 2), CannotRestate)
    assert told == "The moment 2026-01-01T02:00:00 has no time zone. Give it one, such as +00:00 for UTC."


def test_a_moment_before_the_first_tick_is_refused_and_says_what_to_do(lake: Lakehouse, plan: Plan, past: Past) -> None:
    told = unchanged(lake, plan, past, at(0), CannotRestate)
    assert told == (
        "Pipeline 'p' had published nothing by 2026-01-01T00:00:00.000000+00:00; the first state that it has is of "
        "2026-01-01T01:00:00.000000+00:00. To compute all tables anew: trickle reset a b c"
    )


def test_a_pipeline_without_a_past_is_refused(lake: Lakehouse, plan: Plan) -> None:
    with pytest.raises(CannotRestate, match="Pipeline 'p' has published nothing yet"):
        restate(lake, plan, at(1))


def test_expired_snapshots_are_refused_with_the_oldest_moment_there_is(lake: Lakehouse, plan: Plan, past: Past) -> None:
    for name, gone in (("a", 2), ("b", 1)):
        old = [one.snapshot_id for one in table(lake, name).metadata.snapshots[:gone]]
        lake.catalog.load_table(f"default.{name}").maintenance.expire_snapshots().by_ids(old).commit()
    told = unchanged(lake, plan, past, at(1), CannotRestate)
    assert told == (
        "Pipeline 'p' cannot be taken back to 2026-01-01T01:00:00.000000+00:00: the snapshots of that time were "
        "expired in default.a, default.b. The oldest moment to which all its tables can be taken back is "
        "2026-01-01T03:00:00.000000+00:00."
    )
    assert "expired in default.a. The oldest" in unchanged(lake, plan, past, at(2), CannotRestate)
    restate(lake, plan, at(3))
    assert [past.rows(name) for name in "abc"] == [[row(3)], [row(2)], [row(3)]]


def test_a_table_that_somebody_else_wrote_to_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    lake.catalog.load_table("default.b").delete("n = 2")
    told = unchanged(lake, plan, past, at(2), ForeignTable)
    assert told.startswith("Table default.b was changed by another writer")


def test_a_table_of_another_pipeline_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    with lake.database.transaction() as connection:
        write_status(lake, connection, "default.b", pipeline="q")
    assert "belongs to pipeline 'q'" in unchanged(lake, plan, past, at(2), ForeignTable)


def test_a_table_that_is_being_refreshed_is_refused(lake: Lakehouse, plan: Plan, past: Past) -> None:
    with holding(lake, ["default.c"], "tick p/5"):
        told = unchanged(lake, plan, past, at(2), LeaseHeld)
    assert told.startswith("Table default.c is being refreshed by tick p/5")


def test_looking_back_touches_nothing(lake: Lakehouse, plan: Plan, past: Past) -> None:
    before = past.everything()
    found = look_back(lake, plan, at(2))
    assert {one.step.name: str(one.outcome) for one in found.tables} == {
        "a": "REWOUND",
        "b": "REWOUND",
        "c": "STARTED_OVER",
    }
    assert past.everything() == before


# --- all or nothing ---


def test_an_error_in_the_commit_leaves_everything_as_it_was(
    lake: Lakehouse, plan: Plan, past: Past, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, there = past.everything(), files_below(tmp_path)

    class Pulled(Exception):
        """The plug."""

    def pulled(_lake: Lakehouse, _connection: Connection, _result: Any, *, identifier: str, **_rest: Any) -> None:
        if identifier == "default.c":  # after the metadata of a and b were switched, and their statuses written
            raise Pulled

    monkeypatch.setattr("airflow_trickle.engine.restate.write_history", pulled)
    with pytest.raises(Pulled):
        restate(lake, plan, at(2))
    assert past.everything() == before
    assert files_below(tmp_path) == there
    assert stagings.leftovers(lake, pipeline="p") == []
    monkeypatch.undo()
    restate(lake, plan, at(2))
    assert past.rows("a") == [row(2)]


def test_somebody_who_writes_meanwhile_is_not_undone(
    lake: Lakehouse, plan: Plan, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_trickle.engine import restate as module

    real = module.commit

    def late(*arguments: Any) -> None:
        lake.catalog.load_table("default.b").append(table(lake, "b").scan().to_arrow())
        real(*arguments)

    monkeypatch.setattr(module, "commit", late)
    with pytest.raises(CommitConflict, match=r"Table default\.b could not be published"):
        restate(lake, plan, at(1))
    assert (past.rows("a"), past.rows("b")) == ([row(4)], [row(2), row(2)])
    assert past.status("a").effective_at == at(4)


def test_a_lease_that_was_lost_meanwhile_ends_it(
    lake: Lakehouse, plan: Plan, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_trickle.engine import restate as module
    from airflow_trickle.lakehouse.tables import leases

    real = module.commit

    def robbed(*arguments: Any) -> None:
        with lake.database.transaction() as connection:
            connection.execute(update(leases).where(leases.c.identifier == "default.c").values(owner="other"))
        real(*arguments)

    monkeypatch.setattr(module, "commit", robbed)
    before = past.everything()
    with pytest.raises(CommitConflict, match=r"Table default\.c was taken over"):
        restate(lake, plan, at(2))
    assert past.everything() == before


def test_unfinished_work_and_what_was_kept_go(lake: Lakehouse, plan: Plan, past: Past, tmp_path: Path) -> None:
    kept = tmp_path / "warehouse" / "lines.parquet"
    kept.write_text("kept")
    past.publish("a", 5, [row(5)], kept=f'{{"files": ["file://{kept}"]}}')
    left = stagings.begin(
        lake,
        lease=Lease("default.b", "dead"),
        table_location=table(lake, "b").metadata.location,
        pipeline="p",
        tick_id="p/5",
        spark="a session",
        new_table=False,
    )
    ended: list[str] = []
    restate(lake, plan, at(3), interrupt=ended.append)
    assert not kept.exists()
    assert stagings.leftovers(lake, pipeline="p") == []
    assert (ended, left.spark) == (["a session"], "a session")
