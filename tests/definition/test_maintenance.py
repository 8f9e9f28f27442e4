"""The key ``maintenance``: its defaults, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.definition.load import load_project
from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.steps import Plan
from tests.yaml_files import write

TABLE = "stream_tables: {t: {query: SELECT 1}}"


def problems(folder: Path, text: str) -> list[str]:
    write(folder, {"p.yaml": f"pipeline: p\n{text}\n{TABLE}\n"})
    return [str(problem).replace(f"{folder}/", "") for problem in load_project(folder).problems]


def test_without_knobs_the_defaults_hold(tmp_path: Path) -> None:
    folder = write(tmp_path, {"p.yaml": f"pipeline: p\nmaintenance: {{schedule: 6h}}\n{TABLE}\n"})
    (plan,) = plan_path(folder).plans
    assert plan.maintenance is not None
    assert plan.maintenance.schedule == "6h"
    assert plan.maintenance.policy == MaintenancePolicy()
    assert Plan.model_validate_json(plan.model_dump_json()) == plan


def test_a_pipeline_without_the_key_has_no_maintenance(tmp_path: Path) -> None:
    folder = write(tmp_path, {"p.yaml": f"pipeline: p\n{TABLE}\n"})
    assert plan_path(folder).plans[0].maintenance is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "maintenance: daily",
            "p.yaml:2:14: 'maintenance' is the text 'daily', but must be a mapping such as {schedule: @daily, "
            "keep_snapshots_for: 7d}.",
        ),
        (
            "maintenance: {keep_snapshot: 3}",
            "p.yaml:2:15: maintenance: unknown key 'keep_snapshot'. Did you mean 'keep_snapshots'? Allowed keys: "
            "compact, keep_history, keep_history_for, keep_snapshots, keep_snapshots_for, orphans_after, "
            "restate_window and schedule.",
        ),
        (
            "maintenance: {keep_snapshots: 0}",
            "p.yaml:2:31: maintenance: 'keep_snapshots' is the number 0, but must be a whole number of at least 1.",
        ),
        (
            "maintenance: {keep_snapshots_for: 7 days}",
            "p.yaml:2:35: maintenance: 'keep_snapshots_for' is the text '7 days', but must be a duration such as 30s, "
            "5m or 1h30m.",
        ),
        (
            "maintenance: {orphans_after: 2h}",
            "p.yaml:2:30: maintenance: files that nobody names are kept for a day at least, not 2h: a slow refresh may "
            "be about to publish them. Give 1d or more.",
        ),
        (
            "maintenance: {schedule: asset}",
            "p.yaml:2:25: maintenance: 'schedule' is the text 'asset', but must be a duration (30s, 5m, 1h30m, 1d), a "
            "cron expression of five fields (*/5 * * * *), or one of @hourly, @daily, @weekly, @monthly, @quarterly, "
            "@yearly.",
        ),
    ],
)
def test_a_wrong_knob_is_refused_at_its_place(tmp_path: Path, text: str, told: str) -> None:
    assert problems(tmp_path, text) == [told]
