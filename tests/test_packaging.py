"""What is written down twice must say the same."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def name(requirement: str) -> str:
    return re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0].lower()


def dev_requirements() -> set[str]:
    lines = (ROOT / "requirements-dev.txt").read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_the_dev_requirements_are_the_dev_group() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    assert dev_requirements() == {name(requirement) for requirement in project["dependency-groups"]["dev"]}


def test_every_dev_requirement_is_pinned() -> None:
    pinned = {name(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}

    assert dev_requirements() <= pinned


def test_ci_runs_the_same_commands_as_people_do() -> None:
    script = (ROOT / ".ci" / "run").read_text()

    steps = [line for line in script.splitlines() if line.startswith("make ")]
    assert steps == [
        "make lint",
        "make fast",
        "make test AFTER_FAST=1",
        "make wheel-check",
        "make audit",
        "make docker-check",
    ]
