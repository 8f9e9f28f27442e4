"""What becomes of a refresh from changes when something is wrong: with the query, with a row, with an input."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import LongType
from pyspark.errors.exceptions.connect import SparkException, UnknownException

from airflow_trickle import Mode, TableResult, TickFailed
from airflow_trickle.errors import DefinitionError
from tests.engine.world import FROM_CHANGES, World

DIFFERENTIAL = {"refresh_mode": "DIFFERENTIAL"}
T = pa.schema([("id", pa.int64()), ("k", pa.int32()), ("x", pa.float64()), ("s", pa.string())])


def row(id: int, k: int | None = 1, x: float | None = 0.5, s: str | None = "7") -> dict[str, Any]:
    return {"id": id, "k": k, "x": x, "s": s}


@pytest.fixture
def one(world: World) -> World:
    world.source("t", T, [row(1), row(2, k=2)])
    return world


def defined(world: World, query: str, mode: str = "DIFFERENTIAL") -> World:
    world.define({"s": query}, s={"refresh_mode": mode})
    world.tick()
    return world


def error_of(world: World) -> str:
    with pytest.raises(TickFailed) as caught:
        world.tick()
    error = caught.value.results["s"].error
    assert error is not None
    return error


def told(result: TableResult) -> tuple[Mode, str]:
    return result.mode, result.reason


# --- the query -------------------------------------------------------------------------------------


def test_a_query_that_only_runs_in_full_is_refused_before_anything_runs(one: World) -> None:
    one.define({"s": "SELECT id,\n  rand() AS r FROM t"}, s=DIFFERENTIAL)
    with pytest.raises(DefinitionError) as caught:
        one.tick()
    assert str(caught.value) == (
        f"{one.yaml}:8:9: stream table 's': refresh_mode: DIFFERENTIAL is not possible, because rand() answers "
        f"differently on every run. Take that out of the query, or set refresh_mode: AUTO or FULL."
    )
    assert not one.outside.table_exists("default.s")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT t.id, u.total FROM t JOIN (SELECT k, sum(x) AS total FROM t GROUP BY k) AS u ON u.k = t.k",
            "sum() of floating-point numbers inside a query may come out otherwise each time",
        ),
        (
            "SELECT sum(x) AS total FROM t GROUP BY k",
            "sum() of floating-point numbers may come out otherwise each time, and the result does not show its keys",
        ),
    ],
)
def test_a_query_that_turns_out_to_need_a_full_refresh_publishes_nothing(one: World, query: str, why: str) -> None:
    defined(one, query)
    before = one.rows("s")
    one.append("t", row(3, k=3))
    assert error_of(one) == (
        f"{one.yaml}:5:3: stream table 's' cannot be refreshed from changes, because {why}. Nothing was published. Set "
        f"refresh_mode: AUTO to have it recomputed in full when needed."
    )
    assert (one.rows("s"), one.snapshots("s")) == (before, 1)
    defined(one, query, "AUTO")
    assert one.rows("s") != before


# --- a row -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "bad", "place", "complaint"),
    [
        ("SELECT id, 10 div k AS part FROM t", row(3, k=0), "7:18", "[DIVIDE_BY_ZERO] Division by zero."),
        (
            "SELECT k, max(CAST(s AS INT)) AS most FROM t GROUP BY k",
            row(3, s="seven"),
            "7:21",
            '[CAST_INVALID_INPUT] The value \'seven\' of the type "STRING" cannot be cast to "INT"',
        ),
        (
            "SELECT a.id FROM t AS a JOIN t AS b ON a.id = b.id AND 1 div a.k >= 0",
            row(3, k=0),
            "7:62",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
    ],
)
def test_a_row_that_fails_stops_the_table_until_it_is_mended(
    one: World, query: str, bad: dict[str, Any], place: str, complaint: str
) -> None:
    defined(one, query)
    before = one.rows("s")
    one.append("t", bad, row(4))
    error = error_of(one)
    assert error.startswith(
        f"{one.yaml}:{place}: stream table 's' was not refreshed: its query failed on Spark: {complaint}"
    )
    assert error.endswith("Nothing was published.")
    assert (one.rows("s"), one.snapshots("s")) == (before, 1)
    one.delete("t", "id = 3")
    one.append("t", row(3))
    assert told(one.tick()["s"]) == (Mode.DIFFERENTIAL, "t changed; refresh_mode: DIFFERENTIAL")
    assert one.rows("s") == one.judge(query.replace(" div ", " // "))


MIX = "SELECT a.id, 10 div (a.k - b.k) AS part FROM a JOIN b ON a.id = b.id"


@pytest.fixture
def mixed(world: World) -> World:
    """The row of before in a meets the row of after in b, and gives a division by zero that no state has."""
    schema = pa.schema([("id", pa.int64()), ("k", pa.int64())])
    for name in "ab":
        world.source(name, schema, [{"id": number, "k": 5 if name == "a" else 1} for number in range(1000, 1200)])
    world.append("a", {"id": 1, "k": 1})
    world.append("b", {"id": 1, "k": 2})
    return world


def mix(world: World) -> None:
    for name, k in (("a", 5), ("b", 1)):
        world.delete(name, "id = 1")
        world.append(name, {"id": 1, "k": k})


def test_a_failure_that_no_state_of_the_inputs_has_is_told_where_changes_were_asked_for(mixed: World) -> None:
    defined(mixed, MIX)
    before = mixed.rows("s")
    mix(mixed)
    error = error_of(mixed)
    assert error.startswith(
        f"{mixed.yaml}:8:20: stream table 's' was not refreshed: its query failed on Spark: [DIVIDE_BY_ZERO] "
    )
    assert mixed.rows("s") == before
    # A full refresh by hand brings it past the rows that cannot meet.
    assert told(mixed.tick(full_refresh=["s"])["s"]) == (Mode.FULL, "a full refresh was asked for")
    assert mixed.rows("s") == mixed.judge(MIX.replace(" div ", " // "))


def test_a_failure_that_no_state_of_the_inputs_has_makes_auto_compute_in_full(
    mixed: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("airflow_trickle.engine.publish.choose", lambda *_: FROM_CHANGES)
    defined(mixed, MIX, "AUTO")
    mix(mixed)
    mode, reason = told(mixed.tick()["s"])
    why = "computing the change failed on rows that the query itself may not have ([DIVIDE_BY_ZERO] Division by zero."
    assert (mode, reason.partition(" Use")[0]) == (Mode.FULL, f"a changed; b changed; AUTO: full because {why}")
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING" and "s:" in one.getMessage()]
    assert [text.partition(": [")[0] for text in warnings] == [
        "s: computing its change failed, so it is computed in full"
    ]
    assert mixed.rows("s") == mixed.judge(MIX.replace(" div ", " // "))


@pytest.mark.parametrize(
    "error",
    [
        SparkException(
            "[INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND] Could not find x#494908 in [].",
            errorClass="INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND",
            messageParameters={},
        ),
        UnknownException("key not found: __trickle_k0#1", reason="java.util.NoSuchElementException"),
    ],
    ids=["internal", "without a name"],
)
def test_a_failure_of_sparks_planner_is_told_where_changes_were_asked_for_and_makes_auto_compute_in_full(
    one: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Its planner fails on some queries; a soak found one."""

    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("airflow_trickle.engine.publish.choose", lambda *_: FROM_CHANGES)
    monkeypatch.setattr("airflow_trickle.engine.publish._found", fails)
    query = "SELECT id FROM t"
    defined(one, query)
    before = one.rows("s")
    one.append("t", row(3))
    assert str(error).splitlines()[0] in error_of(one)
    assert one.rows("s") == before
    one.define({"s": query}, s={"refresh_mode": "AUTO"})
    mode, reason = told(one.tick()["s"])
    assert mode is Mode.FULL
    assert reason.startswith("t changed; AUTO: full because Spark could not compute the change (")
    assert one.rows("s") == one.judge(query)


# --- an input --------------------------------------------------------------------------------------

GROUPED = "SELECT k, count(*) AS n, max(s) AS s FROM t GROUP BY k"


def test_a_wider_type_of_an_input_is_computed_in_full_once_and_from_changes_again(one: World) -> None:
    defined(one, GROUPED)
    with one.outside.load_table("default.t").update_schema() as change:
        change.update_column("k", LongType())
    one.sources["t"] = T.set(1, pa.field("k", pa.int64()))
    one.append("t", row(3, k=2**40), row(4, k=2))
    assert told(one.tick()["s"]) == (Mode.FULL, "the columns of t changed")
    assert one.rows("s") == one.judge(GROUPED)
    one.append("t", row(5, k=2**40), row(6, k=None))
    assert told(one.tick()["s"]) == (Mode.DIFFERENTIAL, "t changed; refresh_mode: DIFFERENTIAL")
    assert one.rows("s") == one.judge(GROUPED)


def test_a_column_that_vanished_stops_the_table_if_it_is_used(one: World) -> None:
    defined(one, GROUPED)
    before = one.rows("s")
    with one.outside.load_table("default.t").update_schema() as change:
        change.delete_column("s")
    error = error_of(one)
    assert error.startswith(
        f"{one.yaml}:7:36: stream table 's' was not refreshed: Spark does not accept its query: "
        f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `s` cannot be "
        f"resolved."
    )
    assert error.endswith("Nothing was published.")
    assert (one.rows("s"), one.snapshots("s")) == (before, 1)


def test_a_column_that_vanished_does_not_matter_if_it_is_not_used(one: World) -> None:
    defined(one, GROUPED)
    with one.outside.load_table("default.t").update_schema() as change:
        change.delete_column("x")
    one.sources["t"] = T.remove(2)
    one.append("t", {"id": 3, "k": 1, "s": "9"})
    assert told(one.tick()["s"]) == (Mode.FULL, "the columns of t changed")
    one.append("t", {"id": 4, "k": 1, "s": "99"})
    assert told(one.tick()["s"]) == (Mode.DIFFERENTIAL, "t changed; refresh_mode: DIFFERENTIAL")
    assert one.rows("s") == one.judge(GROUPED)


@pytest.mark.parametrize("mode", ["AUTO", "DIFFERENTIAL"])
def test_changes_whose_history_was_expired_are_found_by_a_full_refresh(one: World, mode: str) -> None:
    defined(one, GROUPED, mode)
    read = one.outside.load_table("default.t").metadata.current_snapshot_id
    one.append("t", row(3, k=9))
    one.delete("t", "id = 1")
    assert read is not None
    one.outside.load_table("default.t").maintenance.expire_snapshots().by_id(read).commit()
    assert told(one.tick()["s"]) == (Mode.FULL, "the history of t was expired or replaced")
    assert one.rows("s") == one.judge(GROUPED)


def test_a_snapshot_that_expired_between_two_that_are_known_loses_no_change(one: World) -> None:
    """What is compared are the files of the two ends; what happened in between does not matter."""
    defined(one, GROUPED)
    one.append("t", row(3, k=9))
    between = one.outside.load_table("default.t").metadata.current_snapshot_id
    one.append("t", row(4, k=9))
    assert between is not None
    one.outside.load_table("default.t").maintenance.expire_snapshots().by_id(between).commit()
    assert one.tick()["s"].mode is Mode.DIFFERENTIAL
    assert one.rows("s") == one.judge(GROUPED)


def test_a_table_that_somebody_else_wrote_to_is_left_alone_until_it_is_reset(one: World) -> None:
    from airflow_trickle.engine.steer import reset
    from airflow_trickle.lakehouse.catalog import open_lakehouse
    from airflow_trickle.lakehouse.state import read_status

    defined(one, GROUPED)
    table = one.outside.load_table("default.s")
    table.append(table.scan().to_arrow())
    snapshot = one.outside.load_table("default.s").metadata.current_snapshot_id
    one.append("t", row(3))
    assert error_of(one) == (
        f"Table default.s was changed by another writer (snapshot {snapshot} is not one of ours); it is left alone. To "
        f"recompute it from its inputs and undo those changes: trickle reset s"
    )
    with open_lakehouse("trickle") as lake:
        reset(lake, read_status(lake)["default.s"])
    assert told(one.tick()["s"]) == (Mode.FULL, "it was reset")
    assert one.rows("s") == one.judge(GROUPED)
    one.append("t", row(4))
    assert one.tick()["s"].mode is Mode.DIFFERENTIAL
    assert one.rows("s") == one.judge(GROUPED)


# --- sliding windows -------------------------------------------------------------------------------

SLIDING = {
    "by_key": "SELECT window.start AS began, count(*) AS n FROM t GROUP BY window(at, '10 minutes', '5 minutes')",
    "by_alias": "SELECT window(at, '10 minutes', '5 minutes') AS w, sum(v) AS v FROM t GROUP BY w",
    "by_all": "SELECT window(at, '10 minutes', '5 minutes').end AS ended, max(v) AS v FROM t GROUP BY ALL",
    "inside": "SELECT n, count(*) AS windows FROM (SELECT window(at, '10 minutes', '5 minutes') AS w, count(*) AS n "
    "FROM t GROUP BY 1) AS q GROUP BY n",
    "generated": "SELECT w.start AS began, count(*) AS n "
    "FROM (SELECT window(at, '10 minutes', '5 minutes') AS w FROM t) AS q GROUP BY w",
    "tumbling": "SELECT window(at, '10 minutes').start AS began, count(*) AS n FROM t GROUP BY 1",
}


def test_a_row_counts_in_every_window_that_slides_over_it(world: World) -> None:
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("v", pa.int64())])

    def at(minute: int, v: int | None = 1) -> dict[str, Any]:
        return {"at": dt.datetime(2026, 1, 1, 12, minute, tzinfo=dt.timezone.utc), "v": v}

    world.source("t", schema, [at(1), at(7), at(7), at(31, None)])
    world.define(SLIDING, **dict.fromkeys(SLIDING, DIFFERENTIAL))
    world.tick()
    for change in (lambda: world.append("t", at(8, 5), at(50)), lambda: world.delete("t", "v IS NULL")):
        change()
        assert {name: result.mode for name, result in world.tick().items()} == dict.fromkeys(SLIDING, Mode.DIFFERENTIAL)
        assert {name: verified.ok for name, verified in verified_tables(world).items()} == dict.fromkeys(SLIDING, True)
    began = [row[0].minute for row, n in world.rows("by_key").items() for _ in range(n)]
    assert sorted(began) == [0, 5, 45, 50, 55]


def verified_tables(world: World) -> dict[str, Any]:
    from airflow_trickle import Pipeline

    return dict(Pipeline.load(world.yaml).verify())
