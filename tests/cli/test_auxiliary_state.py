"""How `trickle explain` and `trickle history` show auxiliary state; what asks for it is shown by `trickle plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_trickle.cli.auxiliary_state import size_text, state_lines, state_of, state_of_row
from airflow_trickle.definition.settings import Settings
from airflow_trickle.engine.explain import name_of_part
from airflow_trickle.plan.build import PlannedProject, plan_path
from airflow_trickle.plan.explain import explain_json, explain_text
from airflow_trickle.plan.explain_table import explain_table_text
from airflow_trickle.results import PartState

QUERY = "SELECT n, count(*) AS c\n      FROM (SELECT g, count(*) AS n FROM t GROUP BY g) AS x\n      GROUP BY n"


def planned(folder: Path, defaults: str, table: str) -> PlannedProject:
    text = (
        f"pipeline: p\nsources: [t]\ndefaults: {defaults}\nstream_tables:\n  a:\n{table}    query: |\n      {QUERY}\n"
    )
    (folder / "p.yaml").write_text(text)
    return plan_path(folder / "p.yaml", Settings())


def part(**values: Any) -> dict[str, Any]:
    return {"name": "the whole query", **PartState(**{"part": -1, "outcome": "none", **values}).model_dump()}


@pytest.mark.parametrize(
    ("defaults", "table", "shown"),
    [
        ("{}", "", None),
        ("{}", "    state: none\n", "state none"),
        ("{state: ALL}", "    state_max_bytes: 2k\n", "state all, at most 2,048 bytes"),
        ("{state_max_bytes: 100}", "", "state auto, at most 100 bytes"),
        ("{state_max_bytes: 100}", "    state: none\n", "state none"),
        ("{state: none}", "    state: auto\n", None),
    ],
)
def test_a_plan_shows_what_a_table_asks_for(tmp_path: Path, defaults: str, table: str, shown: str | None) -> None:
    project = planned(tmp_path, defaults, table)
    lines = [line.strip() for line in explain_text(project)]
    assert [line for line in lines if line.startswith("state")] == ([shown] if shown else [])
    facts = [line.split(None, 1) for line in explain_table_text(project, "default.a")]
    assert [" ".join(fact) for fact in facts if fact[:1] == ["state"]] == ([shown] if shown else [])
    told = explain_json(project)["tables"]["a"]
    assert told["state"] == (shown or "state auto").split()[1].rstrip(",")


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ("    state: some\n", "'state' is the text 'some', but must be auto, none or all."),
        ("    state: non\n", "Did you mean none?"),
        (
            "    state_max_bytes: much\n",
            "'state_max_bytes' is the text 'much', but must be a size such as 512m or 2g, "
            "or a whole number of bytes of at least 1.",
        ),
        ("    state_max_bytes: 0\n", "must be a size such as 512m or 2g"),
        ("    state_max_bytes: true\n", "must be a size such as 512m or 2g"),
        ("    state: none\n    state_max_bytes: 1g\n", "'state_max_bytes' is given, and 'state' is none."),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, table: str, wrong: str) -> None:
    (problem,) = planned(tmp_path, "{}", table).problems
    assert wrong in str(problem)


def test_a_part_is_named_by_its_line(tmp_path: Path) -> None:
    (step,) = planned(tmp_path, "{}", "").plans[0].tables
    assert name_of_part(step, -1) == "the whole query"
    assert name_of_part(step, 1) == "part 1 (line 2 of the query)"
    assert name_of_part(step, 9) == "part 9"


def test_a_catalog_that_nobody_has_opened_is_not_made_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRICKLE_HOME", str(tmp_path / "home"))
    plan = planned(tmp_path, "{}", "").plans[0]
    assert state_of(plan, plan.tables[0]) == ([], [])
    assert not (tmp_path / "home").exists()


def test_lines_tell_the_size_or_the_reason() -> None:
    kept, none = part(outcome="made", bytes=1536, files=2), part(code="asked", why="the definition says state: none")
    assert list(state_lines([kept, none])) == [
        "  the whole query: 1.5 KiB in 2 files",
        "  the whole query: none, because the definition says state: none",
    ]
    assert size_text(17) == "17 bytes"


def test_the_history_tells_the_size_of_all_parts() -> None:
    kept = part(outcome="made", bytes=1024, files=1)
    assert state_of_row({"state": [kept, kept]}) == "2.0 KiB"
    assert state_of_row({"state": [part(outcome="declined")]}) == "declined"
    assert state_of_row({"state": [part()]}) is None
    assert state_of_row({"state": []}) is None
