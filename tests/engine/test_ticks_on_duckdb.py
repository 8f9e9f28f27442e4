"""What a tick decides, notes and publishes, without Spark: DuckDB computes the rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_trickle.engine import publish as publishing
from airflow_trickle.engine import verify as verifying
from airflow_trickle.engine.compare import Comparison
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.fixpoint import cycle as cycles
from airflow_trickle.engine.fixpoint import decide as units
from airflow_trickle.engine.holds import hold_of, unit_fingerprint
from airflow_trickle.engine.identity import StaleIdentity, identified, require_identity
from airflow_trickle.engine.idle import find_idle
from airflow_trickle.engine.pin import pin
from airflow_trickle.engine.refresh import refresh
from airflow_trickle.engine.steer import suspend
from airflow_trickle.errors import RefreshFailed, TickFailed
from airflow_trickle.lakehouse.seen import Standing, note_seen
from airflow_trickle.lakehouse.state import Frontier, write_status
from airflow_trickle.results import Mode, Status
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.spark.target import SparkTarget
from tests.engine.duckdb_world import DuckDBWorld

N = pa.schema([("n", pa.int64())])


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DuckDBWorld:
    return DuckDBWorld(tmp_path, monkeypatch)


def numbers(world: DuckDBWorld, name: str) -> list[int]:
    return sorted(row[0] for row in world.rows(name).elements())


def test_a_table_follows_whichever_of_its_inputs_moved(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.source("b", N, [{"n": 2}])
    world.define({"both": "SELECT n FROM a UNION ALL SELECT n FROM b"})
    epochs = [world.tick()["both"].epoch]
    for name, more in (("b", 3), ("a", 4)):
        world.append(name, {"n": more})
        epochs.append(world.tick()["both"].epoch)
    assert numbers(world, "both") == [1, 2, 3, 4]
    assert world.tick()["both"].mode is Mode.NO_DATA
    assert epochs == [1, 2, 3]
    source = world.outside.load_table("default.a")
    frontier = world.status("both").frontier
    assert frontier is not None
    assert frontier.inputs["default.a"].snapshot_id == source.metadata.current_snapshot_id


def test_a_source_that_was_made_anew_is_read_anew(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    world.outside.drop_table("default.a")
    world.source("a", N, [{"n": 5}])
    result = world.tick()["copy"]
    assert "the history of a was expired or replaced" in result.reason
    assert numbers(world, "copy") == [5]


def test_a_tick_for_a_past_moment_does_not_take_a_table_back(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    between = datetime.now(timezone.utc)
    world.append("a", {"n": 2})
    world.tick()
    result = world.tick(as_of=between)["copy"]
    assert (result.mode, result.reason) == (Mode.SKIPPED, "a later tick has already brought it further")
    assert numbers(world, "copy") == [1, 2]


def test_a_table_whose_last_refresh_failed_is_due(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    tables = {"copy": "SELECT n FROM a", "quick": "SELECT n FROM a"}
    world.define(tables, copy={"schedule": "3650d"}, pipeline={"schedule": "5m"})
    world.tick()
    with world.open() as lake:
        assert pin(lake, world.plan.pin, "p/rests", scheduled=True).not_due == ("default.copy",)
        with lake.database.transaction() as connection:
            write_status(lake, connection, "default.copy", error="no", error_at=datetime.now(timezone.utc))
        assert pin(lake, world.plan.pin, "p/again", scheduled=True).not_due == ()


def test_a_suspended_table_stays_as_it_is(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    with world.open() as lake:
        suspend(lake, world.status("copy"))
    world.append("a", {"n": 2})
    assert world.tick()["copy"].mode is Mode.SKIPPED
    assert numbers(world, "copy") == [1]


def test_a_table_that_did_not_settle_is_held_until_it_is_another_one(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    with world.open() as lake:
        step = world.step("copy")
        with lake.database.transaction() as connection:
            halted = {"status": Status.ERROR.value, "halted": unit_fingerprint(step)}
            write_status(lake, connection, "default.copy", **halted)
        hold = hold_of(lake, step)
        assert hold is not None
        assert "did not settle" in hold.reason
        world.define({"copy": "SELECT n + 1 AS n FROM a"})
        assert hold_of(lake, world.step("copy")) is None


@pytest.mark.parametrize("cause", ["a row", "another query"])
def test_a_unit_behind_one_with_work_is_not_idle(world: DuckDBWorld, cause: str) -> None:
    """Of a new query, nothing that the second table reads tells: the sources are as they were."""
    world.source("a", N, [{"n": 1}])
    second = "SELECT n + 1 AS n FROM first"
    world.define({"first": "SELECT n FROM a", "second": second})
    world.tick()
    if cause == "a row":
        world.append("a", {"n": 2})
    else:
        world.define({"first": "SELECT n + 1 AS n FROM a", "second": second})
    with world.open() as lake:
        tick = pin(lake, world.plan.pin, "p/next")
        assert find_idle(lake, world.plan.refreshes, tick, SparkProvider()).busy == {"first", "second"}


def test_a_unit_whose_input_is_of_another_tick_is_not_idle(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"first": "SELECT n FROM a", "second": "SELECT n + 1 AS n FROM first"})
    world.tick()
    with world.open() as lake:
        early = pin(lake, world.plan.pin, "p/early")
        world.append("a", {"n": 2})
        late = pin(lake, world.plan.pin, "p/late")
        refresh(lake, world.step("first"), late, SparkProvider())
        assert find_idle(lake, [world.step("second")], early, SparkProvider()).busy == {"second"}


def test_an_earlier_tick_does_not_publish_what_a_later_one_found_to_be_right(
    world: DuckDBWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    world.append("a", {"n": 2})
    write = publishing._write
    later = datetime.now(timezone.utc) + timedelta(minutes=1)

    def writing(work: Any, *more: Any) -> Any:
        with world.open() as lake, lake.database.transaction() as connection:
            write_status(lake, connection, "default.copy", effective_at=later)
        return write(work, *more)

    monkeypatch.setattr(publishing, "_write", writing)
    with pytest.raises(TickFailed, match=r"meanwhile a later tick, of .*, found nothing to do for it"):
        world.tick()
    assert numbers(world, "copy") == [1]


def test_a_table_that_two_ticks_found_right_is_of_the_later_one(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    world.tick()
    with world.open() as lake:
        early, late = (pin(lake, world.plan.pin, name) for name in ("p/early", "p/late"))
        refresh(lake, world.step("copy"), late, SparkProvider())
        assert world.status("copy").effective_at == late.effective_at
        # The other one has looked at the same state, and comes to note it only now.
        seen = Standing("default.copy", world.status("copy").snapshot_id, late.effective_at)
        assert note_seen(lake, early.effective_at, [seen])
    assert world.status("copy").effective_at == late.effective_at


def test_a_table_under_other_settings_is_another_one(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    with world.open() as lake:

        def definition(**conf: str) -> str:
            spark = SparkProvider(SparkTarget(conf=tuple((key.replace("__", "."), of) for key, of in conf.items())))
            return identified(lake, world.step("copy"), spark).tables[0].definition

        plain = definition()
        assert definition() == plain
        assert definition(spark__sql__session__timeZone="Asia/Tokyo") != plain


def test_a_spark_of_another_version_than_was_assumed_is_noticed(world: DuckDBWorld) -> None:
    world.source("a", N, [{"n": 1}])
    world.define({"copy": "SELECT n FROM a"})
    older, newer = SparkProvider(), SparkProvider()
    older._version, newer._version = "4.0.1", "4.1.0"
    with world.open() as lake:
        (table,) = identified(lake, world.step("copy"), older).tables
    require_identity(table, older)
    with pytest.raises(StaleIdentity):
        require_identity(table, newer)


def test_when_a_cycle_fails_all_its_tables_have_failed(world: DuckDBWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.source("a", N, [{"n": 3}])
    tables = {"up": "SELECT n FROM a UNION SELECT n FROM down", "down": "SELECT n - 1 AS n FROM up WHERE n > 0"}
    world.define(tables, pipeline={"allow_circular": "true"})

    def fails(*_given: Any) -> None:
        raise RefreshFailed("no")

    monkeypatch.setattr(cycles, "refresh_cycle", fails)
    with pytest.raises(TickFailed):
        world.tick()
    assert (world.status("up").error, world.status("down").error) == ("no", "no")


def test_a_cycle_is_computed_if_one_of_its_tables_has_work(world: DuckDBWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.source("a", N, [{"n": 3}])
    tables = {"up": "SELECT n FROM a UNION SELECT n FROM down", "down": "SELECT n - 1 AS n FROM up WHERE n > 0"}
    world.define(tables, pipeline={"allow_circular": "true"})
    (step,) = world.plan.refreshes
    for kinds, wanted in (
        ({"idle", "work"}, "work"),
        ({"advance", "work"}, "work"),
        ({"skip", "work"}, "skip"),
        ({"idle", "advance"}, "advance"),
    ):
        each = iter(sorted(kinds))

        def deciding(_lake: Any, _step: Any, _tick: Any, each: Any = each, **_options: Any) -> Decision:
            return Decision(next(each), "why", Frontier({}, {}), None)

        monkeypatch.setattr(units, "decide", deciding)
        nothing: Any = None
        assert units.decide_unit(nothing, step, nothing, full_refresh=False).kind == wanted


@pytest.mark.parametrize(("missing", "surplus", "verdict"), [(0, 0, "OK"), (1, 0, "DIFFERENT"), (0, 1, "DIFFERENT")])
def test_one_row_too_few_or_too_many_is_a_difference(
    world: DuckDBWorld, missing: int, surplus: int, verdict: str
) -> None:
    world.source("a", N)
    world.define({"copy": "SELECT n FROM a"})
    found, _ = verifying._verdict(world.step("copy").tables[0], Comparison(missing, surplus))
    assert found.name == verdict
