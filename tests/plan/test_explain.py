"""A planned folder, shown."""

from __future__ import annotations

import json

from airflow_trickle.plan.explain import explain_json, explain_text
from tests.yaml_files import planned

FILES = {
    "a.yaml": """
        pipeline: a
        description: First things
        schedule: 5m
        sources: [s]
        stream_tables:
          x: {query: SELECT * FROM s}
          y: {query: "SELECT * FROM x, s"}
        """,
    "b.yaml": """
        pipeline: b
        namespace: other
        stream_tables:
          x: {query: SELECT * FROM y}
          lonely: {query: SELECT 1, refresh_mode: FULL}
        """,
    "c.yaml": "pipeline: c\nstream_tables: {z: {query: SELECT * FROM nowhere}}\n",
}


def test_json_has_the_fields_that_scripts_rely_on(tmp_path):
    shown = explain_json(planned(tmp_path, FILES))
    assert json.loads(json.dumps(shown)) == shown
    assert shown["order"] == ["default.x", "y", "lonely", "other.x"]
    assert [(one["name"], one["order"]) for one in shown["pipelines"]] == [
        ("a", ["default.x", "y"]),
        ("b", ["lonely", "other.x"]),
    ]
    table = shown["tables"]["y"]
    assert (table["refresh_mode"], table["schedule"], table["pipeline"]) == ("FULL", "5m", "a")
    assert table["reason"] == "AUTO: every query is recomputed in full in this version"
    assert table["depends_on"] == [
        {"name": "s", "identifier": "default.s", "kind": "source", "external": False},
        {"name": "x", "identifier": "default.x", "kind": "stream_table", "external": False},
    ]
    assert shown["tables"]["other.x"]["depends_on"] == [
        {"name": "y", "identifier": "default.y", "kind": "stream_table", "external": True}
    ]
    assert len(shown["warnings"]) == 1
    (error,) = shown["errors"]
    assert (error["file"], error["line"], error["column"]) == (f"{tmp_path}/c.yaml", 2, 42)
    assert error["message"] == "stream table 'z': 'nowhere' is neither a source nor a stream table."
    assert error["hint"] == "If others write the table, declare it: sources: {nowhere: {}}."


def test_text_reads_well(tmp_path):
    lines = [line.replace(f"{tmp_path}/", "") for line in explain_text(planned(tmp_path, FILES))]
    assert lines == [
        "Pipeline a (a.yaml): 2 tables, schedule 5m",
        "  First things",
        "  pin      s (default.s)",
        "  refresh  x  FULL (AUTO: every query is recomputed in full in this version)",
        "           reads s (default.s)",
        "  refresh  y  FULL (AUTO: every query is recomputed in full in this version)",
        "           reads s (default.s), x",
        "  warning  x and y form a diamond, but this version publishes them one after the other: "
        "for a moment a reader may see them at different versions.",
        "",
        "Pipeline b (b.yaml): 2 tables, no schedule",
        "  pin      y (default.y of another pipeline)",
        "  refresh  lonely  FULL (refresh_mode: FULL)",
        "           reads nothing",
        "  refresh  x  FULL (AUTO: every query is recomputed in full in this version)",
        "           reads y (default.y of another pipeline)",
        "",
        "Not planned:",
        "  c.yaml:2:42: stream table 'z': 'nowhere' is neither a source nor a stream table. "
        "If others write the table, declare it: sources: {nowhere: {}}.",
    ]


def test_good_folders_end_without_a_blank_line(tmp_path):
    assert explain_text(planned(tmp_path, {"a.yaml": FILES["a.yaml"]}))[-1].startswith("  warning")


def test_an_empty_folder_shows_nothing(tmp_path):
    assert explain_text(planned(tmp_path, {})) == []
