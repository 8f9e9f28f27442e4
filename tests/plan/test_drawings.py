"""The graph as Mermaid, DOT and SVG: right by their grammars, whatever the names and descriptions are."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_trickle.plan.dot import dot
from airflow_trickle.plan.graph_view import GraphEdge, GraphNode, GraphView, NodeKind, boxes, graph_view
from airflow_trickle.plan.mermaid import mermaid
from airflow_trickle.plan.svg import svg
from tests import budgets
from tests.plan.drawing_readers import SVG, Shape, read_dot, read_mermaid, read_svg
from tests.plan.test_graph_view import LOOPS, TWO
from tests.yaml_files import planned


def made(count: int, edges: set[tuple[int, int]], strata: int = 1, cycle: range = range(0)) -> GraphView:
    """A graph of one source, number 0, and tables."""
    stratum = [index * strata // (count + 1) for index in range(count + 1)]
    nodes = [GraphNode("n0", "d.s", "d.s", NodeKind.SOURCE)]
    for index in range(1, count + 1):
        names = f"d.table_{index}", f"table_{index}"
        mode = "FULL" if index % 5 == 0 else "DIFFERENTIAL"
        number, group = (1 if index in cycle else None), (2 if index % 7 == 0 else None)
        nodes.append(GraphNode(f"n{index}", *names, NodeKind.TABLE, (mode,), "p", stratum[index], mode, number, group))
    drawn = tuple(GraphEdge(f"n{a}", f"n{b}", (a + b) % 3 > 0, "because", (a * b) % 11 == 1) for a, b in sorted(edges))
    return GraphView("Pipeline p", tuple(nodes), drawn, {1: "cycle 1"} if cycle else {}, {2: "group 2, one by one"})


def random_graph(seed: int, count: int) -> GraphView:
    dice = budgets.chance(seed)
    edges = {(dice.randrange(max(0, end - 12), end), end) for end in range(1, count + 1) for _ in range(3)}
    edges |= {(0, dice.randrange(1, count + 1)) for _ in range(count // 6)}
    first = dice.randrange(1, count - 3)
    cycle = range(first, first + 3) if seed % 2 else range(0)
    edges = {(a, b) for a, b in edges if not (a in cycle and b in cycle)}
    for member in cycle:
        edges |= {(member, first + (member - first + 1) % 3), (member, member)}
    # What lies between members would be one of them.
    edges = {(a, b) for a, b in edges if not (cycle and a in cycle and b < first)}
    return made(count, edges, strata=1 + seed % 3 if not cycle else 1, cycle=cycle)


TEXTS = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=30)


@given(TEXTS, TEXTS)
@example("direction LR", "style:a#35;")
@example('"`markdown`"', "%% comment ; end")
@example("a\\", 'classDef x:#y; \\"')
@example("<b>&amp;#quot;", "]]) |x|")
def test_any_text_is_a_label(label: str, other: str) -> None:
    nodes = (
        GraphNode("n1", "d.a", label, NodeKind.SOURCE),
        GraphNode("n2", "d.b", "b", NodeKind.TABLE, (other,), "p", 0, "FULL", description=other),
    )
    view = GraphView("Pipeline p", nodes, (GraphEdge("n1", "n2", True, other),), {}, {})
    assert read_mermaid(mermaid(view)).labels["n1"] == label
    assert read_mermaid(mermaid(view)).labels["n2"] == f"b\n{other}"
    drawn, attributes = read_dot(dot(view))
    assert (drawn.labels["d.a"], drawn.labels["d.b"]) == (label, f"b\n{other}")
    assert list(attributes) == ["d.a", "d.b", "d.a -> d.b"]
    _, shapes = read_svg(svg(view))
    assert shapes[0].texts[0][0] == label
    assert shapes[1].title == "\n".join(["d.b", other, other])


@pytest.mark.parametrize("files", [TWO, {"p.yaml": LOOPS}], ids=["two", "loops"])
def test_all_formats_say_the_same(tmp_path, files):
    view = graph_view(planned(tmp_path, files))
    first = read_mermaid(mermaid(view))
    second, attributes = read_dot(dot(view))
    identifiers = {node.id: node.identifier for node in view.nodes}
    assert [first.labels[node.id] for node in view.nodes] == [second.labels[node.identifier] for node in view.nodes]
    arrows = {"-.->": "dashed", "-->": "", "==>": ""}
    assert [(identifiers[start], identifiers[end], arrows[how], label) for start, end, how, label in first.edges] == (
        second.edges
    )
    for node in view.nodes:
        around = [second.labels[box] for box in second.inside[node.identifier]]
        assert around == first.inside[node.id]
        assert around[0] == ("sources" if node.stratum is None else f"stratum {node.stratum}")
        assert (node.id in first.classes.get("full", [])) == (node.mode == "FULL")
        assert (attributes[node.identifier]["fillcolor"] == "#fef3c7") == (node.mode == "FULL")
    _, shapes = read_svg(svg(view))
    assert [found.title.split("\n")[0] for found in shapes] == [node.identifier for node in view.nodes]


def test_mermaid_outlines_have_their_class(tmp_path):
    found = read_mermaid(mermaid(graph_view(planned(tmp_path, {"p.yaml": LOOPS}))))
    assert found.classes["stratum"] == ["s0", "s1"]
    assert found.classes["group"] == ["g1_0", "g1_1"]
    assert found.classes["cycle"] == ["c1", "c4"]


def boxes_of(view: GraphView) -> dict[str, Shape]:
    _, shapes = read_svg(svg(view))
    return {shape.title.split("\n")[0]: shape for shape in shapes}


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [5, 20, 60])
def test_boxes_do_not_touch_and_labels_are_inside(seed: int, count: int) -> None:
    found = list(boxes_of(random_graph(seed, count)).values())
    assert len(found) == count + 1
    for index, one in enumerate(found):
        for other in found[:index]:
            apart = one.right < other.left or other.right < one.left or one.bottom < other.top or other.bottom < one.top
            assert apart, (one.title, other.title)
        for words, left, right, base in one.texts:
            assert one.left < left < right < one.right, words
            assert one.top + 8 < base < one.bottom, words


@pytest.mark.parametrize("seed", range(12))
def test_a_table_is_right_of_what_it_reads_and_of_lower_strata(seed: int) -> None:
    view = random_graph(seed, 30)
    found = boxes_of(view)
    node = {one.id: one for one in view.nodes}
    for edge in view.edges:
        start, end = node[edge.start], node[edge.end]
        if start.cycle is None or start.cycle != end.cycle:
            assert found[start.identifier].right < found[end.identifier].left
    for one in view.nodes:
        for other in view.nodes:
            if (-1 if one.stratum is None else one.stratum) < (-1 if other.stratum is None else other.stratum):
                assert found[one.identifier].right < found[other.identifier].left


@pytest.mark.parametrize("seed", range(12))
def test_long_edges_pass_between_the_boxes(seed: int) -> None:
    view = random_graph(seed, 40)
    root, shapes = read_svg(svg(view))
    level = re.compile(r"([\d.]+) ([\d.]+)H([\d.]+)")
    lines = [
        tuple(map(float, found))
        for path in root.iter(f"{SVG}path")
        for found in level.findall(path.attrib["d"])
        if "marker-end" not in path.attrib
    ]
    assert lines
    for left, y, right in lines:
        for box in shapes:
            assert right < box.left or box.right < left or not box.top <= y <= box.bottom, box.title


def test_the_outline_of_a_cycle_holds_its_tables_and_no_other() -> None:
    view = random_graph(3, 20)
    root, shapes = read_svg(svg(view))
    outline = next(one for one in root.findall(f"{SVG}rect") if one.attrib.get("stroke") == "#1d4ed8")
    x, y, wide, high = (float(outline.attrib[name]) for name in ("x", "y", "width", "height"))
    inside = {
        box.title.split("\n")[0]
        for box in shapes
        if x < box.left and box.right < x + wide and y < box.top and box.bottom < y + high
    }
    assert inside == {node.identifier for node in view.nodes if node.cycle == 1}
    for box in shapes:
        if box.title.split("\n")[0] not in inside:
            assert box.right < x or x + wide < box.left or box.bottom < y or y + high < box.top


def test_every_arrow_ends_at_its_box(tmp_path):
    view = graph_view(planned(tmp_path, {"p.yaml": LOOPS}))
    root, shapes = read_svg(svg(view))
    ends = []
    for path in root.iter(f"{SVG}path"):
        if "marker-end" in path.attrib and path.find(f"{SVG}title") is not None:
            x, y = map(float, path.attrib["d"].split("C")[-1].split()[-2:])
            touched = [
                box.title.split("\n")[0]
                for box in shapes
                if box.top <= y <= box.bottom and min(abs(x - box.left), abs(x - box.right)) <= 7.1
            ]
            assert len(touched) == 1
            ends += touched
    names = {node.id: node.identifier for node in view.nodes}
    assert sorted(ends) == sorted(names[edge.end] for edge in view.edges)


def test_the_picture_has_a_title_and_explains_only_what_is_in_it() -> None:
    root, _ = read_svg(svg(made(2, {(0, 1), (1, 2)})))
    assert root.findtext(f"{SVG}title") == "Pipeline p"
    words = [text.text for text in root.findall(f"{SVG}text") if text.text != "¬"]
    assert words[0] == "Pipeline p"
    assert words[-2:] == ["reads", "non-monotone: a row more may take rows away"]
    assert "cycle" not in words
    assert "stream table, FULL" not in words


def test_reasons_are_tooltips(tmp_path):
    text = svg(graph_view(planned(tmp_path, TWO)))
    assert "<title>it is the input of an aggregate (COUNT) (line 1 of the query)</title>" in text


def test_a_long_name_is_shortened_in_the_picture_only() -> None:
    name = "a" * 60 + "_the_end"
    node = GraphNode("n1", f"d.{name}", name, NodeKind.TABLE, ("FULL",), "p", 0, "FULL")
    view = GraphView("Pipeline p", (node,), (), {}, {})
    _, (box,) = read_svg(svg(view))
    assert "…" in box.texts[0][0]
    assert box.texts[0][0].endswith("_the_end")
    assert name in box.title
    assert name in mermaid(view)


def test_an_empty_graph_is_a_drawing_too() -> None:
    view = GraphView("0 pipelines", (), (), {}, {})
    assert boxes(view) == ()
    assert read_mermaid(mermaid(view)).labels == {}
    assert read_dot(dot(view))[0].edges == []
    assert read_svg(svg(view))[1] == []


SHAPES = {
    "chain": {(index, index + 1) for index in range(1000)} | {(0, index) for index in range(2, 1001)},
    "far": {(index * 7919 % (index + 1), index + 1) for index in range(1000)} | {(i, i + 1) for i in range(1000)},
    "star": {(0, index) for index in range(1, 1000)} | {(index, 1000) for index in range(1, 1000)},
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_thousand_tables_are_drawn_quickly(shape: str) -> None:
    view = made(1000, SHAPES[shape])
    start = time.perf_counter()
    text = svg(view)
    assert time.perf_counter() - start < 10
    assert len(text) < 4_000_000
    assert text == svg(view)
    assert len(read_svg(text)[1]) == 1001
