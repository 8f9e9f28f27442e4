"""A planned folder, shown."""

from __future__ import annotations

import json

from airflow_trickle.analysis.modes import FROM_CHANGES
from airflow_trickle.plan.explain import explain_json, explain_text
from tests.yaml_files import planned

FILES = {
    "a.yaml": """
        pipeline: a
        description: First things
        schedule: 5m
        sources: [s, t]
        stream_tables:
          x: {query: SELECT * FROM s}
          y: {query: "SELECT x.a, COUNT(*) AS n FROM x, t GROUP BY x.a", schedule: 1h}
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
    assert (table["refresh_mode"], table["schedule"], table["pipeline"]) == ("DIFFERENTIAL", "1h", "a")
    assert (table["stratum"], table["scc_id"], table["group_id"]) == (1, None, None)
    assert table["reason"] == f"AUTO: {FROM_CHANGES}"
    because = "it is the input of an aggregate (COUNT) (line 1 of the query)"
    edge = {"edge": "NON_MONOTONE", "because": because, "external": False}
    assert table["depends_on"] == [
        {"name": "t", "identifier": "default.t", "kind": "source", **edge},
        # The key of the table in "tables": two pipelines have an x.
        {"name": "default.x", "identifier": "default.x", "kind": "stream_table", **edge},
    ]
    assert shown["tables"]["other.x"]["depends_on"] == [
        {
            "name": "y",
            "identifier": "default.y",
            "kind": "stream_table",
            "external": True,
            "edge": "MONOTONE",
            "because": "a row more only ever adds rows: project",
        }
    ]
    assert [(one["id"], one["members"], one["cyclic"], one["monotone"]) for one in shown["sccs"]] == [
        (1, ["default.x"], False, True),
        (2, ["y"], False, True),
        (3, ["lonely"], False, True),
        (4, ["other.x"], False, True),
    ]
    assert (shown["groups"], shown["warnings"]) == ([], [])
    (error,) = shown["errors"]
    assert (error["file"], error["line"], error["column"]) == (f"{tmp_path}/c.yaml", 2, 42)
    assert error["message"] == "stream table 'z': 'nowhere' is neither a source nor a stream table."
    assert error["hint"] == "If others write the table, declare it: sources: {nowhere: {}}."


def test_json_names_a_stream_table_as_it_is_declared_whatever_its_reader_calls_it(tmp_path):
    files = {
        "p.yaml": "pipeline: p\nnamespace: n\nstream_tables: {t: {query: SELECT 1 AS x}}\n",
        "q.yaml": "pipeline: q\nsources: {mine: {table: n.t}}\nstream_tables: {u: {query: SELECT * FROM mine}}\n",
    }
    (read,) = explain_json(planned(tmp_path, files))["tables"]["u"]["depends_on"]
    assert (read["name"], read["identifier"], read["kind"]) == ("t", "n.t", "stream_table")


def test_text_reads_well(tmp_path):
    lines = [line.replace(f"{tmp_path}/", "") for line in explain_text(planned(tmp_path, FILES))]
    assert lines == [
        "Pipeline a (a.yaml): 2 tables, schedule 5m",
        "  First things",
        "  pin      s (default.s), t (default.t)",
        f"  refresh  x  stratum 0  DIFFERENTIAL (AUTO: {FROM_CHANGES})",
        "           reads s (default.s)",
        f"  refresh  y  stratum 1  DIFFERENTIAL (AUTO: {FROM_CHANGES})",
        "           reads t (default.t) [non-monotone], x [non-monotone]",
        "           schedule 1h",
        "",
        "Pipeline b (b.yaml): 2 tables, no schedule",
        "  pin      y (default.y of another pipeline)",
        "  refresh  lonely  stratum 0  FULL (refresh_mode: FULL)",
        "           reads nothing",
        f"  refresh  x  stratum 1  DIFFERENTIAL (AUTO: {FROM_CHANGES})",
        "           reads y (default.y of another pipeline)",
        "",
        "Not planned:",
        "  c.yaml:2:42: stream table 'z': 'nowhere' is neither a source nor a stream table. "
        "If others write the table, declare it: sources: {nowhere: {}}.",
    ]


def test_good_folders_end_without_a_blank_line(tmp_path):
    assert explain_text(planned(tmp_path, {"a.yaml": FILES["a.yaml"]}))[-1] == "           schedule 1h"


def test_units_of_several_tables_are_lists_in_the_order(tmp_path):
    text = """
        pipeline: p
        allow_circular: true
        sources: [s]
        stream_tables:
          a: {query: SELECT x FROM s UNION SELECT x FROM b}
          b: {query: SELECT DISTINCT x FROM a}
          c: {query: SELECT x FROM b}
          d: {query: SELECT x FROM b}
          e: {query: SELECT c.x FROM c JOIN d USING (x)}
          f: {query: SELECT COUNT(*) AS n FROM e}
        """
    shown = explain_json(planned(tmp_path, {"p.yaml": text}))
    assert shown["errors"] == []
    assert shown["order"] == [["a", "b"], ["c", "d", "e"], "f"]
    assert [(one["members"], one["cyclic"]) for one in shown["sccs"][:2]] == [(["a", "b"], True), (["c"], False)]
    (group,) = shown["groups"]
    assert (group["members"], group["convergence_points"], group["atomic"]) == (["c", "d", "e"], ["e"], True)
    assert {name: (table["scc_id"], table["group_id"]) for name, table in shown["tables"].items()} == {
        "a": (1, None),
        "b": (1, None),
        "c": (None, 1),
        "d": (None, 1),
        "e": (None, 1),
        "f": (None, None),
    }
    assert [table["stratum"] for table in shown["tables"].values()] == [0, 0, 0, 0, 0, 1]


def test_an_empty_folder_shows_nothing(tmp_path):
    assert explain_text(planned(tmp_path, {})) == []


def test_the_order_goes_upstream_first_over_several_pipelines(tmp_path):
    files = {
        "a.yaml": "pipeline: a\nstream_tables:\n  y: {query: SELECT a FROM x}\n",
        "z.yaml": "pipeline: z\nsources: [s]\nstream_tables:\n  x: {query: SELECT a FROM s}\n"
        "  w: {query: SELECT a FROM y}\n",
    }
    assert explain_json(planned(tmp_path, files))["order"] == ["x", "y", "w"]
