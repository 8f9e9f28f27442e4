"""Whole plans and drawings of small folders, kept as files that can be read and reviewed.

After a wanted change: ``TRICKLE_UPDATE_GOLDEN=1 pytest tests/plan/test_golden.py``, then look at the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import PlannedProject, plan_path
from airflow_trickle.plan.dot import dot
from airflow_trickle.plan.explain import explain_json, explain_text
from airflow_trickle.plan.explain_table import explain_table_text
from airflow_trickle.plan.graph_view import graph_view
from airflow_trickle.plan.mermaid import mermaid

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name for path in GOLDEN.iterdir())


def explanations(planned: PlannedProject) -> str:
    tables = [table.identifier for plan in planned.plans for table in plan.tables]
    return "\n\n\n".join("\n".join(explain_table_text(planned, table)) for table in tables) + "\n"


WRITERS: dict[str, Callable[[PlannedProject], str]] = {
    "plan.txt": lambda planned: "\n".join(explain_text(planned)) + "\n",
    "plan.json": lambda planned: json.dumps(explain_json(planned), indent=2, ensure_ascii=False) + "\n",
    "tables.txt": explanations,
    "graph.mmd": lambda planned: mermaid(graph_view(planned)),
    "graph.dot": lambda planned: dot(graph_view(planned)),
}


@pytest.mark.parametrize("name", sorted(WRITERS))
@pytest.mark.parametrize("case", CASES)
def test_a_folder_gives_what_was_reviewed(case: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / case)
    written = WRITERS[name](plan_path("dags", Settings()))
    assert written == WRITERS[name](plan_path("dags", Settings())), "the same input must give the same bytes"
    file = Path(name)
    if os.environ.get("TRICKLE_UPDATE_GOLDEN"):
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")


def test_there_is_no_golden_file_that_nothing_compares() -> None:
    assert len(CASES) >= 5
    for case in CASES:
        assert {path.name for path in (GOLDEN / case).iterdir()} == {"dags", *WRITERS}
