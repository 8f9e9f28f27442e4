"""Who writes what is right elsewhere is told what it is called here."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_trickle.plan.build import plan_path

PIPELINE = """pipeline: p
sources: {{t: {{}}}}
{pipeline}
stream_tables:
  {name}:
    query: |
      {query}
    {table}
"""


def problem(folder: Path, pipeline: str = "", name: str = "s", query: str = "SELECT id FROM t", table: str = "") -> str:
    file = folder / "p.yaml"
    file.write_text(PIPELINE.format(pipeline=pipeline, name=name, query=query, table=table))
    (found,) = plan_path(file).problems
    return str(found)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("15 minutes", "15m"), ("every 2 hours", "2h"), ("1 hour 30 min", "1h30m"), ("30sec", "30s"), ("1 Day", "1d")],
)
def test_a_duration_in_words(tmp_path: Path, given: str, meant: str) -> None:
    assert problem(tmp_path, pipeline=f"schedule: {given}").endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("given", "meant"), [("INCREMENTAL", "DIFFERENTIAL"), ("delta", "DIFFERENTIAL"), ("complete", "FULL")]
)
def test_a_mode_by_another_name(tmp_path: Path, given: str, meant: str) -> None:
    assert problem(tmp_path, table=f"refresh_mode: {given}").endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM {{ ref('t') }}", "{{ ref('t') }} is a template, and nothing fills it in. Write t."),
        (
            "SELECT * FROM {{ source('raw', 't') }} AS x",
            "{{ source('raw', 't') }} is a template, and nothing fills it in. Write t.",
        ),
        (
            "SELECT * FROM {{ this }}",
            "the query has a parameter or a template, and nothing fills it in. Write the value itself.",
        ),
    ],
)
def test_a_template(tmp_path: Path, query: str, message: str) -> None:
    told = problem(tmp_path, query=query)
    assert told.endswith(message)
    column = 7 + query.index("{")
    assert f"p.yaml:7:{column}:" in told


def test_braces_in_a_text_are_no_template(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(PIPELINE.format(pipeline="", name="s", query="SELECT '{{ ref(1) }}' AS x FROM t", table=""))
    assert plan_path(file).problems == ()


def test_a_name_that_no_file_system_takes(tmp_path: Path) -> None:
    told = problem(tmp_path, name="s" * 193)
    assert "has 201 characters with its namespace. It may have 200 at most." in told
    assert "p.yaml:5:3" in told
