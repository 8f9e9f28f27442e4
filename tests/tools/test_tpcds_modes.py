"""The page about TPC-DS says what the queries' text tells today."""

from __future__ import annotations

import pytest

from tests.engine.delta import test_accepted_queries
from tools.tpcds_modes import BY_TYPE, REPORT, Refreshed, refreshed, report


@pytest.fixture(scope="module")
def found() -> tuple[Refreshed, ...]:
    return refreshed()


def test_the_page_is_up_to_date(found: tuple[Refreshed, ...]) -> None:
    assert REPORT.read_text(encoding="utf-8") == report(found), "run python -m tools.tpcds_modes"


def test_every_query_is_counted_once(found: tuple[Refreshed, ...]) -> None:
    assert sorted(one.name for one in found) == [f"Q{number:02}" for number in range(1, 100)]
    assert all((one.why is None) == bool(one.outermost) for one in found)


def test_at_least_so_many_are_refreshed_from_changes(found: tuple[Refreshed, ...]) -> None:
    assert sum(one.why is None for one in found) >= 96


def test_what_only_types_tell_is_what_a_refresh_says() -> None:
    known = {name: why for name, why in test_accepted_queries.BY_TYPE.items() if name.startswith("TPC-DS ")}
    assert {f"TPC-DS {name}" for name in BY_TYPE} == known.keys()
    assert all(known[f"TPC-DS {name}"] in why for name, why in BY_TYPE.items())
