"""The graph as a drawing needs it."""

from __future__ import annotations

from pathlib import Path

from airflow_trickle.definition.settings import Settings
from airflow_trickle.plan.build import plan_path
from airflow_trickle.plan.graph_view import Box, GraphView, NodeKind, boxes, graph_json, graph_view
from tests.yaml_files import planned, write

TWO = {
    "a.yaml": """
        pipeline: a
        sources: {s: {table: raw.S}}
        stream_tables:
          x: {query: SELECT * FROM s, description: "First\\n  of \\a two"}
          same: {query: SELECT count(*) FROM x}
        """,
    "b.yaml": """
        pipeline: b
        namespace: other
        sources: {t: {table: raw.s}}
        stream_tables:
          same: {query: "SELECT * FROM x, t LIMIT 1"}
        """,
}
LOOPS = """
    pipeline: p
    allow_circular: true
    sources: [s]
    stream_tables:
      a: {query: SELECT * FROM s UNION SELECT * FROM b}
      b: {query: SELECT * FROM a}
      c: {query: SELECT max(x) AS x FROM s}
      d: {query: "SELECT * FROM a, c"}
      e: {query: SELECT * FROM e UNION SELECT 1}
    """


def view_of(folder: Path, files: dict[str, str]) -> GraphView:
    result = planned(folder, files)
    assert result.problems == ()
    return graph_view(result)


def shape(box: Box) -> object:
    return {box.title: [node.label for node in box.nodes] + [shape(inner) for inner in box.boxes]}


def test_sources_come_first_and_one_table_is_one_node(tmp_path):
    view = view_of(tmp_path, TWO)
    assert [(node.id, node.identifier, node.label, node.kind, node.details) for node in view.nodes] == [
        ("n1", "raw.S", "raw.S", NodeKind.SOURCE, ()),
        ("n2", "default.x", "x", NodeKind.TABLE, ("DIFFERENTIAL", "a")),
        ("n3", "default.same", "default.same", NodeKind.TABLE, ("DIFFERENTIAL", "a")),
        ("n4", "other.same", "other.same", NodeKind.TABLE, ("FULL", "b")),
    ]
    assert view.title == "Pipelines a and b"


def test_descriptions_are_one_printable_line(tmp_path):
    assert view_of(tmp_path, TWO).nodes[1].description == "First of two"


def test_edges_say_how_they_read_and_where_they_come_from(tmp_path):
    view = view_of(tmp_path, TWO)
    assert [(edge.start, edge.end, edge.label) for edge in view.edges] == [
        ("n1", "n2", ""),
        ("n2", "n3", "non-monotone"),
        ("n1", "n4", "non-monotone"),
        ("n2", "n4", "non-monotone, other pipeline"),
    ]
    assert view.edges[1].because == "it is the input of an aggregate (COUNT) (line 1 of the query)"


def test_a_table_of_a_pipeline_that_is_not_shown_is_external(tmp_path):
    view = graph_view(plan_path(write(tmp_path, TWO) / "b.yaml", Settings()))
    assert [(node.label, node.kind, node.details) for node in view.nodes] == [
        ("default.x", NodeKind.EXTERNAL, ("of another pipeline",)),
        ("raw.s", NodeKind.SOURCE, ()),
        # Alone in its folder the name is enough, and so is one pipeline.
        ("same", NodeKind.TABLE, ("FULL",)),
    ]
    assert [box.title for box in boxes(view)] == ["sources and other pipelines", "stratum 1"]
    assert view.title == "Pipeline b"


def test_boxes_go_around_strata_groups_and_cycles(tmp_path):
    view = view_of(tmp_path, {"p.yaml": LOOPS})
    assert [shape(box) for box in boxes(view)] == [
        {"sources": ["default.s"]},
        {"stratum 0": [{"group 1, in one commit": [{"cycle 1": ["a", "b"]}]}, {"cycle 4": ["e"]}]},
        {"stratum 1": [{"group 1, in one commit": ["c", "d"]}]},
    ]


def test_groups_say_how_they_are_published(tmp_path):
    apart = LOOPS.replace("sources: [s]", "sources: [s]\n    diamond_consistency: none")
    assert view_of(tmp_path, {"p.yaml": apart}).groups == {1: "group 1, one by one"}


def test_a_group_over_pipelines_is_published_in_parts(tmp_path):
    files = {
        "p.yaml": LOOPS,
        "q.yaml": "pipeline: q\nsources: [s]\nstream_tables:\n  z: {query: 'SELECT * FROM d, s'}\n",
    }
    assert view_of(tmp_path, files).groups == {1: "group 1, in parts"}


def test_a_cycle_that_may_not_settle_is_marked(tmp_path):
    text = """
        pipeline: p
        allow_circular: unsafe
        stream_tables:
          a: {query: SELECT 1 AS x EXCEPT SELECT x FROM a}
        """
    assert view_of(tmp_path, {"p.yaml": text}).cycles == {1: "cycle 1, not monotone"}


def test_json_goes_by_identifiers(tmp_path):
    told = graph_json(view_of(tmp_path, TWO))
    assert told["nodes"][3] == {
        "id": "other.same",
        "label": "other.same",
        "kind": "stream_table",
        "pipeline": "b",
        "stratum": 1,
        "refresh_mode": "FULL",
        "scc_id": None,
        "group_id": 1,
        "description": "",
    }
    assert told["edges"][3] == {
        "from": "default.x",
        "to": "other.same",
        "type": "NON_MONOTONE",
        "because": "it is the input of LIMIT (line 1 of the query)",
        "other_pipeline": True,
    }
    ids = {node["id"] for node in told["nodes"]}
    assert all(edge["from"] in ids and edge["to"] in ids for edge in told["edges"])


def test_many_pipelines_are_counted_in_the_title(tmp_path):
    files = {f"p{n}.yaml": f"pipeline: p{n}\nstream_tables:\n  t{n}: {{query: SELECT 1}}\n" for n in range(5)}
    assert view_of(tmp_path, files).title == "5 pipelines"
