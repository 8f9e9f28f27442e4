"""The graph in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_trickle.plan.graph_view import Box, GraphEdge, GraphNode, GraphView, NodeKind, boxes

_SHAPES = {
    NodeKind.SOURCE: {"shape": "cylinder", "fillcolor": "#eef2f7", "color": "#64748b"},
    NodeKind.TABLE: {"shape": "box", "fillcolor": "#ffffff", "color": "#334155"},
    NodeKind.EXTERNAL: {"shape": "box", "peripheries": "2", "fillcolor": "#f3e8ff", "color": "#7e22ce"},
}
_FULL = {"fillcolor": "#fef3c7", "color": "#b45309"}
_CLUSTERS = {
    "sources": {"style": "rounded,dotted", "color": "#94a3b8", "fontcolor": "#475569"},
    "stratum": {"style": "rounded,filled", "color": "#94a3b8", "fillcolor": "#f8fafc", "fontcolor": "#475569"},
    "group": {"style": "rounded,filled", "color": "#047857", "fillcolor": "#ecfdf5", "fontcolor": "#065f46"},
    "cycle": {"style": "rounded,filled", "color": "#1d4ed8", "fillcolor": "#eff6ff", "fontcolor": "#1e3a8a"},
}


def dot(view: GraphView) -> str:
    """The text of a directed graph, from left to right; strata, groups and cycles are clusters.

    >>> from airflow_trickle.plan.graph_view import GraphView
    >>> print(dot(GraphView("Pipeline p", (), (), {}, {})).splitlines()[0])
    digraph "Pipeline p" {
    """
    lines = [
        f"digraph {quoted(view.title)} {{",
        f"  graph {_attributes(rankdir='LR', label=text(view.title), labelloc='t', fontname='Helvetica')}",
        f"  node {_attributes(style='filled', fontname='Helvetica', fontsize='11')}",
        f"  edge {_attributes(color='#475569', fontname='Helvetica', fontsize='9')}",
    ]
    for box in boxes(view):
        lines += _cluster(box, "  ")
    identifiers = {node.id: node.identifier for node in view.nodes}
    lines += (f"  {_edge(edge, identifiers)}" for edge in view.edges)
    return "\n".join([*lines, "}"]) + "\n"


def quoted(value: str) -> str:
    """A value in double quotes, as DOT reads it; backslashes stay what they are.

    >>> print(quoted('say "a"'))
    "say \\"a\\""
    """
    return '"' + value.replace('"', '\\"') + '"'


def text(value: str) -> str:
    r"""A text for people as the value of a label: no part of it is taken for an escape or an entity.

    >>> print(text("a\\b & c"))
    a\\b &amp; c
    """
    return value.replace("&", "&amp;").replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")


def _attributes(**given: str) -> str:
    return f"[{', '.join(f'{name}={quoted(value)}' for name, value in given.items())}]"


def _cluster(box: Box, indent: str) -> Iterator[str]:
    yield f"{indent}subgraph {quoted(f'cluster_{box.id}')} {{"
    yield f"{indent}  graph {_attributes(label=text(box.title), **_CLUSTERS[box.kind])}"
    for node in box.nodes:
        yield f"{indent}  {_node(node)}"
    for inner in box.boxes:
        yield from _cluster(inner, indent + "  ")
    yield f"{indent}}}"


def _node(node: GraphNode) -> str:
    label = "\\n".join(text(line) for line in (node.label, *node.details))
    tooltip = text(node.description or node.identifier)
    style = {**_SHAPES[node.kind], **(_FULL if node.mode == "FULL" else {})}
    return f"{quoted(node.identifier)} {_attributes(label=label, tooltip=tooltip, **style)}"


def _edge(edge: GraphEdge, identifiers: dict[str, str]) -> str:
    given = {"tooltip": text(edge.because)}
    if edge.label:
        given["label"] = text(edge.label)
    if edge.crosses:
        given["penwidth"] = "2.5"
    if not edge.monotone:
        given.update(style="dashed", color="#b91c1c", fontcolor="#b91c1c")
    return f"{quoted(identifiers[edge.start])} -> {quoted(identifiers[edge.end])} {_attributes(**given)}"
