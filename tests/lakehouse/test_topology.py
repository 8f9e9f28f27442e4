"""Strata, cycles and mutual groups in the state tables: recorded by a tick, forgotten with the table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.state import TickRecord, read_tick, skipped_strata_of, write_status, write_tick
from airflow_trickle.lakehouse.strata import count_skipped, ticks_that_skipped, times_skipped
from airflow_trickle.lakehouse.topology import (
    MutualGroup,
    Place,
    forget_topology,
    mutual_group_of,
    read_mutual_groups,
    read_places,
    record_mutual_groups,
    record_places,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
GROUP = MutualGroup(
    identifier="d.t",
    pipeline="p",
    members=(("a", "d.t__a"), ("Ü b", "d.t___b")),
    groups=(("a", "Ü b"),),
    query="WITH RECURSIVE a AS (…) -- 'quoted' 日本\n",
    created_at=NOON,
)


def record(lake: Lakehouse, places: dict[str, Place], groups: list[MutualGroup], pipeline: str = "p") -> None:
    with lake.database.transaction() as connection:
        record_places(lake, connection, pipeline, places)
        record_mutual_groups(lake, connection, pipeline, places, groups)


def dropped(lake: Lakehouse, *identifiers: str) -> None:
    from airflow_trickle.lakehouse.state import forget

    with lake.database.transaction() as connection:
        for identifier in identifiers:
            forget(lake, connection, identifier)
            forget_topology(lake, connection, identifier)


def test_places_follow_the_last_tick_of_each_pipeline(lake: Lakehouse) -> None:
    """Design 000 Part 8: Test 5: Drop member breaks cycle"""
    record(lake, {"d.a": Place(0, 1), "d.b": Place(0, 1), "d.c": Place(1)}, [])
    record(lake, {"d.z": Place(3)}, [], "other")
    assert read_places(lake) == {"d.a": Place(0, 1), "d.b": Place(0, 1), "d.c": Place(1), "d.z": Place(3)}
    record(lake, {"d.a": Place(0), "d.c": Place(1)}, [])
    assert read_places(lake) == {"d.a": Place(0), "d.c": Place(1), "d.z": Place(3)}
    # A table that moved to another pipeline is in one of them only.
    record(lake, {"d.z": Place(3), "d.c": Place(0)}, [], "other")
    assert read_places(lake)["d.c"] == Place(0)
    record(lake, {"d.a": Place(0)}, [])
    assert read_places(lake) == {"d.a": Place(0), "d.c": Place(0), "d.z": Place(3)}


def test_a_mutual_group_is_kept_with_its_query_since_it_was_first_seen(lake: Lakehouse) -> None:
    tables = {name: Place(0) for name in GROUP.tables}
    record(lake, tables, [GROUP])
    assert read_mutual_groups(lake) == {"d.t": GROUP}
    later = MutualGroup("d.t", "p", GROUP.members, GROUP.groups, "another query", NOON + timedelta(days=1))
    record(lake, tables, [later])
    (kept,) = read_mutual_groups(lake).values()
    assert (kept.query, kept.created_at) == ("another query", NOON)
    assert mutual_group_of(lake, "d.t__a") == mutual_group_of(lake, "d.t") == kept
    assert mutual_group_of(lake, "d.other") is None
    assert (kept.cte_of("d.t___b"), kept.cte_of("d.t")) == ("Ü b", None)


def test_a_mutual_group_goes_when_its_tables_are_written_by_hand_or_all_dropped(lake: Lakehouse) -> None:
    tables = {name: Place(0) for name in GROUP.tables}
    with lake.database.transaction() as connection:
        for name in GROUP.tables:
            write_status(lake, connection, name, name=name[2:], pipeline="p")
    record(lake, tables, [GROUP])
    # Without its recursion, or without the table, the members are left over.
    record(lake, {"d.t": Place(0)}, [])
    record(lake, {"d.x": Place(0)}, [])
    assert list(read_mutual_groups(lake)) == ["d.t"]
    dropped(lake, "d.t", "d.t__a")
    assert list(read_mutual_groups(lake)) == ["d.t"]
    dropped(lake, "d.t___b")
    assert read_mutual_groups(lake) == {}
    record(lake, tables, [GROUP])
    record(lake, tables, [])
    assert read_mutual_groups(lake) == {}


def test_strata_that_were_passed_over_are_counted_and_noted_with_the_tick(lake: Lakehouse) -> None:
    def skip(tick_id: str, *strata: int) -> None:
        with lake.database.transaction() as connection:
            count_skipped(lake, connection, "p", tick_id, strata, NOON)

    with lake.database.transaction() as connection:
        for number, tick_id in enumerate(["p/1", "p/2"]):
            write_tick(connection, lake, TickRecord(tick_id, "p", {}, {}, None, NOON + timedelta(hours=number)))
    skip("p/1", 2)
    skip("p/1", 0, 2)
    skip("p/2", 2)
    # Once a tick, even if another tick came between.
    skip("p/1", 1, 2)
    assert times_skipped(lake, "p") == {0: 1, 1: 1, 2: 2}
    assert skipped_strata_of(lake, ["p/1", "p/2", "p/3"]) == {"p/1": (0, 1, 2), "p/2": (2,)}
    assert [(one["tick_id"], one["skipped_strata"]) for one in ticks_that_skipped(lake, pipeline="p")] == [
        ("p/2", [2]),
        ("p/1", [0, 1, 2]),
    ]
    assert ticks_that_skipped(lake, pipeline="q") == []
    with lake.database.reading() as connection:
        found = read_tick(connection, lake, "p/1")
    assert found is not None
    assert found.skipped_strata == (0, 1, 2)
