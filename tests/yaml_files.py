"""Helpers for tests that write pipeline files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import PlannedProject, plan_path
from airflow_trickle.plan.steps import Plan


def write(folder: Path, files: dict[str, str]) -> Path:
    """Writes files below a folder and returns the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return folder


def planned(folder: Path, files: dict[str, str]) -> PlannedProject:
    """Writes files and plans the folder with default settings."""
    return plan_path(write(folder, files), Settings())


def plan(folder: Path, text: str) -> Plan:
    """The plan of one good file."""
    result = planned(folder, {"p.yaml": text})
    assert result.problems == ()
    return result.plans[0]


def messages(result: PlannedProject, folder: Path) -> list[str]:
    """All problems as a person reads them, with paths relative to the folder."""
    return [str(problem).replace(f"{folder}/", "") for problem in result.problems]
