"""A pipeline of three tables with a past of four ticks, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_trickle.lakehouse.catalog import Lakehouse, open_lakehouse
from airflow_trickle.plan.steps import Plan
from tests.databases import new_database
from tests.engine.restate.past import Past, plan_of, row


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


#: What depends on the database: how much a commit holds together, and what a query of times and snapshots finds. The
#: other tests with a past run on SQLite, and in a soak on PostgreSQL too.
_ON_BOTH = {
    "test_all_tables_show_their_rows_of_then",
    "test_the_last_tick_until_the_moment_counts",
    "test_a_second_time_goes_back_along_what_was_published_since",
    "test_expired_snapshots_are_refused_with_the_oldest_moment_there_is",
    "test_an_error_in_the_commit_leaves_everything_as_it_was",
    "test_somebody_who_writes_meanwhile_is_not_undone",
    "test_a_lease_that_was_lost_meanwhile_ends_it",
    "test_unfinished_work_and_what_was_kept_go",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """To publish a past of four ticks takes longer than the tests of it: too long for `make fast`."""
    for item in items:
        if item.path.parent != Path(__file__).parent or "past" not in getattr(item, "fixturenames", ()):
            continue
        item.add_marker("slow")
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        name = getattr(item, "originalname", "")
        if parameters.get("lake") == "postgresql" and name not in _ON_BOTH:
            item.add_marker("soak")
