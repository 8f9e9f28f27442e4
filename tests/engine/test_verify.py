"""`Pipeline.verify`: published rows against the query over the inputs that they were computed from, on real Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline, TrickleError, Verdict, Verification
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.tables import leases
from airflow_trickle.tuning import tuned
from tests.engine.world import World

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
ROWS = [{"k": "a", "n": 1}, {"k": "a", "n": 2}, {"k": None, "n": None}, {"k": None, "n": None}]
FLOATS = pa.schema([("k", pa.string()), ("x", pa.float64())])
REMEDY = "To publish what its query says: trickle run --full-refresh s"


def verify(world: World, *tables: str, **options: Any) -> dict[str, Verification]:
    return Pipeline.load(world.yaml).verify(tables, **options)


def tamper(world: World, name: str, rows: list[dict[str, Any]]) -> None:
    """Replace a table's rows in a snapshot that claims to be one of ours."""
    table = world.outside.load_table(f"default.{name}")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    said = {key: value for key, value in snapshot.summary.additional_properties.items() if key.startswith("trickle.")}
    table.overwrite(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()), snapshot_properties=said)


def shown(result: Verification) -> list[tuple[Any, ...]]:
    return [(one.weight, *one.row.values()) for one in result.differences]


def counts(result: Verification) -> tuple[Verdict, int, int, int]:
    return result.verdict, result.missing, result.surplus, result.rounding


def one(world: World, query: str, rows: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> None:
    """A stream table ``s`` over a source ``t``, refreshed."""
    world.source("t", schema, rows)
    world.define({"s": query})
    world.tick()


# --- equal ------------------------------------------------------------------------------------------


def test_every_table_is_ok_after_a_tick_and_nothing_is_left_behind(world: World) -> None:
    world.source("t", SCHEMA, ROWS)
    world.define({"copy": "SELECT * FROM t", "sums": "SELECT k, SUM(n) AS n FROM copy GROUP BY k"})
    world.tick()
    files, statuses = world.files(), [world.snapshots(name) for name in ("copy", "sums")]
    results = verify(world)
    assert list(results) == ["copy", "sums"]
    for name, rows in (("copy", 4), ("sums", 2)):
        table = world.outside.load_table(f"default.{name}")
        assert results[name].model_dump(exclude={"seconds"}) == {
            "table": name,
            "identifier": f"default.{name}",
            "verdict": Verdict.OK,
            "reason": "",
            "rows": rows,
            "missing": 0,
            "surplus": 0,
            "rounding": 0,
            "differences": (),
            "snapshot_id": table.metadata.current_snapshot_id,
            "epoch": 1,
        }
        assert results[name].ok
    assert world.files() == files
    assert [world.snapshots(name) for name in ("copy", "sums")] == statuses
    with open_lakehouse("trickle") as lake, lake.database.reading() as connection:
        assert connection.execute(leases.select()).all() == []


def test_the_inputs_are_read_as_they_were_when_the_table_was_refreshed(world: World) -> None:
    world.source("t", SCHEMA, ROWS)
    world.define({"copy": "SELECT * FROM t", "sums": "SELECT k, SUM(n) AS n FROM copy GROUP BY k"})
    world.tick()
    world.append("t", {"k": "b", "n": 5})
    world.delete("t", "k = 'a'")
    assert {result.verdict for result in verify(world).values()} == {Verdict.OK}
    world.tick()
    world.replace("t", [])
    assert [(result.verdict, result.epoch) for result in verify(world).values()] == [(Verdict.OK, 2), (Verdict.OK, 2)]


def test_a_source_with_other_columns_by_now_and_one_that_was_empty(world: World) -> None:
    world.source("t", SCHEMA, ROWS)
    world.source("none", SCHEMA)
    world.define({"s": "SELECT * FROM t UNION ALL SELECT * FROM none"})
    world.tick()
    with world.outside.load_table("default.t").update_schema() as update:
        update.rename_column("n", "number")
    world.append("none", {"k": "x", "n": 1})
    assert verify(world)["s"].verdict is Verdict.OK


# --- different --------------------------------------------------------------------------------------


def test_duplicates_and_nulls_are_counted_exactly(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    tamper(world, "s", [{"k": "a", "n": 1}] * 3 + [{"k": None, "n": None}, {"k": None, "n": 0}])
    result = verify(world)["s"]
    assert counts(result) == (Verdict.DIFFERENT, 2, 3, 0)
    assert shown(result) == [(1, None, None), (-1, None, 0), (-2, "a", 1), (1, "a", 2)]
    assert (result.rows, result.reason, result.ok) == (5, REMEDY, False)


def test_a_table_without_rows_lacks_them_all(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    tamper(world, "s", [])
    assert shown(verify(world)["s"]) == [(2, None, None), (1, "a", 1), (1, "a", 2)]


def test_at_most_so_many_rows_are_shown(world: World) -> None:
    one(world, "SELECT * FROM t", [{"k": "a", "n": n} for n in range(30)])
    tamper(world, "s", [])
    assert [row[2] for row in shown(verify(world)["s"])] == list(range(10))
    assert [row[2] for row in shown(verify(world, limit=2)["s"])] == [0, 1]
    none = verify(world, limit=0)["s"]
    assert (counts(none), shown(none)) == ((Verdict.DIFFERENT, 30, 0, 0), [])


def test_only_the_table_that_is_wrong_is_told_of(world: World) -> None:
    world.source("t", SCHEMA, ROWS)
    world.define({"copy": "SELECT * FROM t", "sums": "SELECT k, SUM(n) AS n FROM copy GROUP BY k"})
    world.tick()
    tamper(world, "copy", ROWS[:1])
    # `sums` was computed from the snapshot before that.
    assert {name: result.verdict for name, result in verify(world).items()} == {
        "copy": Verdict.DIFFERENT,
        "sums": Verdict.OK,
    }
    assert list(verify(world, "sums")) == ["sums"]


def test_the_remedy_puts_it_right(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    tamper(world, "s", ROWS[:1])
    world.tick(full_refresh=["s"])
    assert verify(world)["s"].verdict is Verdict.OK


def test_values_of_many_types_are_shown_as_they_are(world: World) -> None:
    moment = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
    row = {"moment": moment, "day": moment.date(), "price": Decimal("1.50"), "list": [1, None], "raw": b"\x01"}
    schema = pa.schema(
        [
            ("moment", pa.timestamp("us", tz="UTC")),
            ("day", pa.date32()),
            ("price", pa.decimal128(9, 2)),
            ("list", pa.list_(pa.int64())),
            ("raw", pa.binary()),
        ]
    )
    one(world, "SELECT *, named_struct('a', price) AS pair FROM t", [row], schema)
    tamper(world, "s", [])
    assert [(each.weight, each.row) for each in verify(world)["s"].differences] == [
        (1, {**row, "pair": {"a": Decimal("1.50")}})
    ]


def test_a_table_with_another_column_is_different(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    with world.outside.load_table("default.s").update_schema() as update:
        update.rename_column("n", "number")
    result = verify(world)["s"]
    assert (result.verdict, result.reason) == (
        Verdict.DIFFERENT,
        f"The table has the columns k string, number long, and its query gives k string, n long. {REMEDY}",
    )


# --- rounding ---------------------------------------------------------------------------------------


def test_numbers_that_differ_in_their_last_digits_are_ok(world: World) -> None:
    rows = [{"k": "a", "x": 0.3}, {"k": None, "x": 1e300}, {"k": "b", "x": None}, {"k": "c", "x": float("nan")}]
    one(world, "SELECT * FROM t", [*rows, {"k": "d", "x": 7.0}, {"k": "d", "x": 7.0}], FLOATS)
    near = [{"k": "a", "x": 0.30000000000000004}, {"k": None, "x": 1.0000000001e300}, *rows[2:]]
    tamper(world, "s", [*near, {"k": "d", "x": 7.0000000001}, {"k": "d", "x": 7.0000000001}])
    result = verify(world)["s"]
    assert counts(result) == (Verdict.OK, 0, 0, 4)
    assert (result.reason, shown(result)) == ("Some numbers differ in their last digits only.", [])


#: What was computed -> what is published in its place.
NO_ROUNDING: tuple[tuple[float, float | None], ...] = (
    (1.0, 1.00000001),
    (1.0, None),
    (1.0, float("nan")),
    (1.0, float("inf")),
    (float("inf"), float("-inf")),
    (float("inf"), float("nan")),
    (1e-17, 0.0),
    (1e-17, -1e-17),
)


def test_what_is_no_rounding(world: World) -> None:
    for number, (right, _) in enumerate(NO_ROUNDING):
        world.source(f"t{number}", FLOATS, [{"k": "a", "x": right}, {"k": "b", "x": 1.0}])
    world.define({f"s{number}": f"SELECT * FROM t{number}" for number in range(len(NO_ROUNDING))})
    world.tick()
    for number, (_, wrong) in enumerate(NO_ROUNDING):
        tamper(world, f"s{number}", [{"k": "a", "x": wrong}, {"k": "b", "x": 1.0000000000001}])
    results = verify(world)
    for number, values in enumerate(NO_ROUNDING):
        assert counts(results[f"s{number}"]) == (Verdict.DIFFERENT, 1, 1, 1), values


def test_rows_that_can_be_paired_in_several_ways_are_different(world: World) -> None:
    one(world, "SELECT * FROM t", [{"k": "a", "x": 1.0}, {"k": "a", "x": 2.0}], FLOATS)
    tamper(world, "s", [{"k": "a", "x": 1.0000000000001}, {"k": "a", "x": 2.0000000000001}])
    assert counts(verify(world)["s"]) == (Verdict.DIFFERENT, 2, 2, 0)
    tamper(world, "s", [{"k": "a", "x": 1.0000000000001}, {"k": "a", "x": 2.0}, {"k": "a", "x": 1.0000000000001}])
    assert counts(verify(world)["s"]) == (Verdict.DIFFERENT, 1, 2, 0)


def test_a_row_of_numbers_alone(world: World) -> None:
    one(world, "SELECT SUM(x) AS total, CAST(MAX(x) AS FLOAT) AS most FROM t", [{"k": "a", "x": 0.5}], FLOATS)
    tamper(world, "s", [{"total": 0.5000000000000001, "most": 0.5}])
    assert counts(verify(world)["s"]) == (Verdict.OK, 0, 0, 1)


# --- cannot tell ------------------------------------------------------------------------------------


def why_not(world: World) -> str:
    result = verify(world)["s"]
    assert result.verdict is Verdict.CANNOT_TELL
    assert not result.ok
    return result.reason


def test_a_table_that_was_never_refreshed_was_reset_or_is_gone(world: World) -> None:
    world.source("t", SCHEMA, ROWS)
    world.define({"s": "SELECT * FROM t"})
    assert why_not(world) == "It was never refreshed; `trickle run` does it."
    world.tick()
    with open_lakehouse("trickle") as lake:
        from airflow_trickle.engine.steer import reset
        from airflow_trickle.lakehouse.state import read_status

        reset(lake, read_status(lake)["default.s"])
    assert why_not(world) == "It was reset and not refreshed since; `trickle run` does it."
    world.tick()
    world.outside.drop_table("default.s")
    assert why_not(world) == "Its Iceberg table is not in the catalog any more; the next tick makes it anew."


def test_an_input_whose_snapshot_was_expired(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    snapshot = world.outside.load_table("default.t").metadata.current_snapshot_id
    world.append("t", ROWS[0])
    world.outside.load_table("default.t").maintenance.expire_snapshots().by_id(snapshot).commit()
    assert why_not(world) == (
        f"Table default.t no longer keeps snapshot {snapshot}: it was expired. Keep snapshots longer "
        f"(history.expire.max-snapshot-age-ms), or refresh from the present state."
    )
    world.outside.drop_table("default.t")
    assert why_not(world) == "Table default.t was dropped while it was needed. Create it again."


def test_a_query_that_was_changed_since(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    world.define({"s": "SELECT * FROM t -- the same but for a comment"})
    assert verify(world)["s"].verdict is Verdict.OK
    world.define({"s": "SELECT * FROM t WHERE n > 0"})
    assert why_not(world) == (
        "Its query was changed since its rows were published; the next tick computes it anew. Verify it then."
    )


def test_a_table_that_another_writer_changed(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    table = world.outside.load_table("default.s")
    table.append(pa.Table.from_pylist(ROWS[:1], schema=SCHEMA))
    assert why_not(world) == (
        f"Table default.s was changed by another writer (snapshot {table.metadata.current_snapshot_id} is not one of "
        f"ours); it is left alone. To recompute it from its inputs and undo those changes: trickle reset s"
    )


def test_a_table_of_another_pipeline(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    world.yaml.write_text(world.yaml.read_text().replace("pipeline: p", "pipeline: q"))
    assert "belongs to pipeline 'p', and pipeline 'q' defines it too." in why_not(world)


def test_a_query_that_answers_differently_every_time(world: World) -> None:
    one(world, "SELECT n, rand() AS r, now() AS at FROM t WHERE n = 1", ROWS)
    result = verify(world)["s"]
    assert counts(result) == (Verdict.CANNOT_TELL, 1, 1, 0)
    assert len(result.differences) == 2
    assert result.reason == (
        "Its query is not deterministic, so that a difference is to be expected: rand() answers differently on every "
        "run; now() depends on when it runs."
    )


def test_a_query_that_could_answer_differently_and_does_not(world: World) -> None:
    one(world, "SELECT n FROM t WHERE rand() < 2 LIMIT 100", ROWS)
    assert verify(world)["s"].verdict is Verdict.OK


def test_files_that_are_gone(world: World) -> None:
    one(world, "SELECT * FROM t", ROWS)
    for path in (world.folder / "warehouse" / "default" / "t").rglob("*.parquet"):
        path.unlink()
    reason = why_not(world)
    assert reason.startswith(f"{world.yaml}:5:3: stream table 's' was not verified: ")
    assert "PATH_NOT_FOUND" in reason
    for path in (world.folder / "warehouse" / "default" / "t").rglob("snap-*.avro"):
        path.unlink()
    with tuned(manifest_cache_bytes=0):  # as another process would, which has not read them
        assert why_not(world).startswith("A file of the warehouse cannot be read: ")


def test_a_cycle_is_computed_from_nothing(world: World) -> None:
    world.source("t", SCHEMA, [{"n": 1}, {"n": 1}, {"n": None}])
    text = "pipeline: p\nallow_circular: true\nsources: [t]\nstream_tables:\n"
    world.yaml.write_text(text + "  s: {query: SELECT n FROM t UNION SELECT n + 1 FROM s WHERE n < 3}\n")
    world.tick()
    found = Pipeline.load(world.yaml).verify()["s"]
    assert (found.verdict, found.rows) == (Verdict.OK, 4)


# --- whom it asks -----------------------------------------------------------------------------------


def test_an_unknown_table(world: World) -> None:
    world.source("t", SCHEMA)
    world.define({"s": "SELECT * FROM t"})
    with pytest.raises(TrickleError) as caught:
        verify(world, "x")
    assert str(caught.value) == "Pipeline 'p' has no stream table 'x'. It has: s."


@pytest.fixture
def own_session(spark_home: Path) -> Iterator[SparkSession]:
    """A session that belongs to somebody else, with a setting that changes what a query means."""
    from airflow_trickle.spark.session import close, connect
    from airflow_trickle.spark.target import SparkTarget

    session = connect(SparkTarget(), app="a notebook")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield session
    close(session)


def test_a_session_that_is_handed_in_is_given_back_as_it_was(
    world: World, own_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In Tokyo this is another text.
    one(world, "SELECT k, from_unixtime(0) AS start FROM t", ROWS)
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")
    assert verify(world, spark=own_session)["s"].verdict is Verdict.OK
    assert own_session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert [view.name for view in own_session.catalog.listTables()] == []


def test_spark_that_cannot_be_reached_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one(world, "SELECT * FROM t", ROWS)
    monkeypatch.setenv("TRICKLE_SPARK_URL", "sc://127.0.0.1:1")
    with pytest.raises(TrickleError, match=r"^Spark Connect at 127\.0\.0\.1:1"):
        verify(world)
