"""The passes over a cycle: what is written is what is read, the newest refresh first."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.lakehouse.iterations import read_iterations, units_of, write_iterations
from airflow_trickle.results import Iteration

TRACE = (
    Iteration(number=1, phase="retract", changes={"a": 2, "ünï": 0}, seconds=0.25),
    Iteration(number=2, phase="derive", changes={"a": 0, "ünï": 2**40}, seconds=1.5),
    Iteration(number=3, phase="derive", changes={"a": 0, "ünï": 0}, seconds=0.125),
)


def write(lake: Lakehouse, tick_id: str, trace: Sequence[Iteration] = TRACE, **which: str) -> None:
    with lake.database.transaction() as connection:
        write_iterations(
            lake, connection, **{"pipeline": "p", "unit": "cycle_a", "tick_id": tick_id} | which, trace=trace
        )


def test_a_trace_is_read_as_it_was_written(lake: Lakehouse) -> None:
    write(lake, "tick/1")
    (found,) = read_iterations(lake)
    assert (found.pipeline, found.tick_id, found.unit, found.passes) == ("p", "tick/1", "cycle_a", TRACE)
    assert list(found.passes[0].changes) == ["a", "ünï"]
    assert found.at.tzinfo is not None


def test_the_newest_refresh_comes_first_and_the_limit_counts_refreshes(lake: Lakehouse) -> None:
    assert read_iterations(lake) == []
    write(lake, "tick/2")
    write(lake, "tick/1", TRACE[:1])
    write(lake, "tick/1", unit="cycle_z")
    write(lake, "other", pipeline="q")
    assert [(one.tick_id, one.unit) for one in read_iterations(lake)] == [
        ("other", "cycle_a"),
        ("tick/1", "cycle_z"),
        ("tick/1", "cycle_a"),
        ("tick/2", "cycle_a"),
    ]
    assert [one.tick_id for one in read_iterations(lake, unit="cycle_a", pipeline="p")] == ["tick/1", "tick/2"]
    assert [one.unit for one in read_iterations(lake, tick_id="tick/1")] == ["cycle_z", "cycle_a"]
    (last,) = read_iterations(lake, unit="cycle_a", pipeline="p", limit=1)
    assert last.passes == TRACE[:1]
    (last,) = read_iterations(lake, limit=1)
    assert last.passes == TRACE


def test_another_attempt_of_a_tick_replaces_what_the_first_wrote_for_the_unit(lake: Lakehouse) -> None:
    write(lake, "tick/1")
    write(lake, "tick/1", unit="cycle_z")
    write(lake, "tick/1", TRACE[:2])
    assert {one.unit: one.passes for one in read_iterations(lake)} == {"cycle_a": TRACE[:2], "cycle_z": TRACE}
    write(lake, "tick/1", ())
    assert [one.unit for one in read_iterations(lake)] == ["cycle_z"]


def test_two_catalogs_in_one_database_keep_their_own(lake: Lakehouse) -> None:
    with open_lakehouse(
        "other", uri=lake.catalog.properties["uri"], warehouse=lake.catalog.properties["warehouse"]
    ) as other:
        write(lake, "tick/1")
        write(other, "tick/1", TRACE[:1])
        assert [one.passes for one in read_iterations(lake)] == [TRACE]
        assert [one.passes for one in read_iterations(other)] == [TRACE[:1]]


def test_thousands_of_passes_are_kept(lake: Lakehouse) -> None:
    trace = [Iteration(number=number, phase="derive", changes={"a": 1}) for number in range(1, 3001)]
    write(lake, "tick/1", trace)
    (found,) = read_iterations(lake)
    assert list(found.passes) == trace


def test_a_table_is_found_in_its_cycle_and_as_a_recursive_query(lake: Lakehouse) -> None:
    write(lake, "tick/1")
    inside = Iteration(number=1, phase="derive", changes={"far.r": 3}, seconds=0.5)
    write(lake, "tick/1", [inside], unit="far")
    assert units_of(lake, pipeline="p", table="a") == ["cycle_a"]
    assert units_of(lake, pipeline="p", table="far") == ["far"]
    assert units_of(lake, pipeline="p", table="r") == []
