"""What a tick reads: never less than the tick before it, unless it is of an earlier moment."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from airflow_trickle import Pipeline, clock
from airflow_trickle.engine.pin import pin
from airflow_trickle.lakehouse.catalog import open_lakehouse
from airflow_trickle.lakehouse.state import read_history
from airflow_trickle.plan.steps import PinStep
from airflow_trickle.tick import Tick
from tests.engine.world import World

NUMBERS = pa.schema([("x", pa.int64())])


@pytest.fixture
def numbers(world: World) -> World:
    world.source("s", NUMBERS, [{"x": 1}])
    world.define({"t": "SELECT x FROM s"})
    return world


def pinned(
    world: World, run: str, as_of: datetime | None = None, *, captured: bool = False, scheduled: bool = False
) -> Tick:
    step: PinStep = Pipeline.load(world.yaml).plan.pin
    if captured:
        step = step.model_copy(update={"captured": ("default.s",)})
    with open_lakehouse("trickle", uri=world.uri, warehouse=world.warehouse) as lake:
        return pin(lake, step, f"p/{run}", as_of, scheduled=scheduled)


def current(world: World) -> int | None:
    return world.outside.load_table("default.s").metadata.current_snapshot_id


def seen(tick: Tick) -> int | None:
    return tick.pins["default.s"].snapshot_id


def test_a_writer_whose_clock_is_ahead_takes_nothing_back(numbers: World, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers.append("s", {"x": 2})
    monkeypatch.setattr(clock, "now", lambda: datetime.now(timezone.utc) - timedelta(seconds=5))
    assert seen(pinned(numbers, "by an asset")) == current(numbers)
    assert seen(pinned(numbers, "scheduled", clock.now(), scheduled=True)) == current(numbers)


def test_another_tick_of_the_same_moment_reads_what_was_captured_for_the_first(numbers: World) -> None:
    moment = datetime.now(timezone.utc)
    before = current(numbers)
    numbers.append("s", {"x": 2})
    assert seen(pinned(numbers, "scheduled", moment, captured=True, scheduled=True)) == current(numbers) != before
    assert seen(pinned(numbers, "again", moment, captured=True)) == current(numbers)
    # Of an earlier moment it is a look into the past.
    assert seen(pinned(numbers, "earlier", moment - timedelta(milliseconds=1), captured=True)) == before


def test_a_tick_of_a_moment_that_others_have_passed_reads_what_was_captured_for_it(numbers: World) -> None:
    moment = datetime.now(timezone.utc)
    numbers.append("s", {"x": 2})
    captured = current(numbers)
    assert seen(pinned(numbers, "scheduled", moment, captured=True, scheduled=True)) == captured
    numbers.append("s", {"x": 3})
    later = datetime.now(timezone.utc)
    assert seen(pinned(numbers, "scheduled later", later, captured=True, scheduled=True)) == current(numbers)
    # Tables that were at rest since are still of the first moment: they must not lose what it has brought.
    assert seen(pinned(numbers, "again", moment, captured=True)) == captured


def test_a_source_that_was_taken_back_is_read_as_it_is(numbers: World) -> None:
    before = current(numbers)
    numbers.append("s", {"x": 2})
    pinned(numbers, "first")
    numbers.outside.load_table("default.s").manage_snapshots().rollback_to_snapshot(before).commit()
    assert seen(pinned(numbers, "second", datetime.now(timezone.utc), scheduled=True)) == before


def test_a_tick_from_a_clock_far_ahead_is_told_by_those_after_it(
    numbers: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as held:
        held.setattr(clock, "now", lambda: datetime.now(timezone.utc) + timedelta(days=2))
        pinned(numbers, "ahead")
    assert caplog.text == ""
    pinned(numbers, "scheduled", clock.now(), scheduled=True)
    assert "The latest tick of pipeline 'p' (p/ahead) is of " in caplog.text
    assert "`trickle restate p --to TIME`" in caplog.text


def test_a_source_that_had_no_snapshot_yet_is_read_as_empty_with_a_warning(
    numbers: World, caplog: pytest.LogCaptureFixture
) -> None:
    first = numbers.outside.load_table("default.s").metadata.snapshots[0]
    then = datetime.fromtimestamp(first.timestamp_ms / 1000, timezone.utc).isoformat(timespec="seconds")
    early = datetime(2020, 1, 1, tzinfo=timezone.utc)
    told = (
        f"s had no snapshot yet at 2020-01-01T00:00:00+00:00, the moment of this tick, and is read as empty "
        f"(first: {then})"
    )

    assert seen(pinned(numbers, "scheduled", early, scheduled=True)) is None

    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{told[0].upper()}{told[1:]}. A scheduled run reads its sources as they were at the end of its interval. The "
        f"first run whose interval ends after that snapshot reads its rows; to have them now, trigger the DAG by hand "
        f"or use `trickle run`, which read the present."
    ]
    assert numbers.tick(as_of=early)["t"].reason == f"first refresh; {told}"
    with open_lakehouse("trickle", uri=numbers.uri, warehouse=numbers.warehouse) as lake:
        assert [row["reason"] for row in read_history(lake, identifier="default.t", limit=5)] == [
            f"first refresh; {told}"
        ]
    assert numbers.tick()["t"].reason.startswith("s changed")
    assert numbers.rows("t") == {(1,): 1}


def test_a_source_without_any_snapshot_is_just_empty(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.source("s", NUMBERS)
    world.define({"t": "SELECT x FROM s"})

    pinned(world, "scheduled", datetime(2020, 1, 1, tzinfo=timezone.utc), scheduled=True)

    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
