from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_trickle import clock
from airflow_trickle.lakehouse import submissions
from airflow_trickle.lakehouse.catalog import Lakehouse


def add(lake: Lakehouse, unit: str = "totals", tick_id: str = "p/1") -> str:
    return submissions.add(lake, tick_id=tick_id, unit=unit, request='{"kind": "refresh"}')


def test_a_request_is_answered_once(lake: Lakehouse) -> None:
    number = add(lake)
    found = submissions.find(lake, number)
    assert found is not None
    assert (found.request, found.outcome) == ('{"kind": "refresh"}', None)

    assert submissions.answer(lake, number, "first")
    assert not submissions.answer(lake, number, "second")
    found = submissions.find(lake, number)
    assert found is not None
    assert found.outcome == "first"


def test_a_later_attempt_withdraws_the_request_of_an_earlier_one(lake: Lakehouse) -> None:
    earlier, other_unit, other_tick = add(lake), add(lake, unit="others"), add(lake, tick_id="p/2")
    later = add(lake)

    assert submissions.find(lake, earlier) is None
    assert not submissions.answer(lake, earlier, "too late")
    assert all(submissions.find(lake, number) for number in (later, other_unit, other_tick))


def test_what_nobody_came_back_for_goes_after_a_month(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    old, now = add(lake), clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(days=31))
    add(lake, unit="others")

    assert submissions.find(lake, old) is None


def test_a_request_that_was_removed_is_gone(lake: Lakehouse) -> None:
    number = add(lake)
    submissions.remove(lake, number)
    assert submissions.find(lake, number) is None
