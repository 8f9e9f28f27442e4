from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_trickle.definition.settings import Settings
from airflow_trickle.engine.submission.request import CaptureRequest, RefreshRequest, request_of
from airflow_trickle.errors import SettingsError
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.steps import Plan
from airflow_trickle.tick import Pin, Tick

PIPELINE = """\
pipeline: p
allow_circular: true
sources:
  edges: {}
  people: {format: jdbc, options: {url: "jdbc:x", password: "${SECRET}"}}
stream_tables:
  a: {query: SELECT dst FROM edges UNION SELECT dst FROM b}
  b: {query: SELECT e.dst FROM edges AS e JOIN a ON a.dst = e.src JOIN people AS p ON p.id = a.dst}
"""
TICK = Tick(
    tick_id="p/manual__1",
    pipeline="p",
    pins={"default.edges": Pin(snapshot_id=4611686018427387905, schema_id=0)},
    effective_at="2026-11-17T05:00:00.000001+00:00",
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "p.yaml").write_text(PIPELINE)
    (plan,) = plan_path(tmp_path, Settings()).plans
    return plan


def test_a_refresh_comes_back_as_it_was(plan: Plan) -> None:
    request = RefreshRequest(plan.refreshes[0], TICK, True, {"spark.sql.session.timeZone": "Europe/Berlin"})

    assert request_of(request.as_json()) == request
    assert (request.tick_id, request.unit) == ("p/manual__1", "cycle_a")


def test_a_capture_comes_back_as_it_was_and_holds_no_secret(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "hush")
    request = CaptureRequest(plan.captures[0], "p/manual__1")

    assert request_of(request.as_json()) == request
    assert request.unit == "capture people"
    assert "hush" not in request.as_json()


def test_a_driver_of_another_version_says_so(plan: Plan) -> None:
    said = json.loads(CaptureRequest(plan.captures[0], "p/1").as_json())

    with pytest.raises(SettingsError, match=r"but the Airflow worker that submitted it has 9\.9\. Install the same"):
        request_of(json.dumps(said | {"version": "9.9", "new": 1}))
