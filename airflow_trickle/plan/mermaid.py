"""The graph as a Mermaid flowchart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_trickle.plan.graph_view import Box, GraphEdge, GraphNode, GraphView, NodeKind, boxes

#: Mermaid refuses a larger drawing, unless the page that shows it says otherwise (maxEdges, maxTextSize).
MOST_EDGES = 500
MOST_CHARACTERS = 50_000

_HEAD = (
    "%% Cylinders are sources, yellow boxes have mode FULL, boxes with bars belong to pipelines that are not shown.",
    "%% A dashed arrow is a non-monotone read, a thick one comes from another pipeline.",
)
_SHAPES = {NodeKind.SOURCE: ("[(", ")]"), NodeKind.TABLE: ("[", "]"), NodeKind.EXTERNAL: ("[[", "]]")}
_STYLES = {
    "source": "fill:#eef2f7,stroke:#64748b,color:#0f172a",
    "table": "fill:#ffffff,stroke:#334155,color:#0f172a",
    "full": "fill:#fef3c7,stroke:#b45309,color:#0f172a",
    "external": "fill:#f3e8ff,stroke:#7e22ce,color:#0f172a",
    "sources": "fill:#f8fafc,stroke:#cbd5e1,color:#475569",
    "stratum": "fill:#f8fafc,stroke:#94a3b8,color:#475569",
    "group": "fill:#ecfdf5,stroke:#047857,color:#065f46,stroke-width:2px",
    "cycle": "fill:#eff6ff,stroke:#1d4ed8,color:#1e3a8a,stroke-width:2px",
}
_SAFE = re.compile(r"[A-Za-z0-9 _.,()/+-]")
#: The lexer takes a whole line with these words for a statement, also where they stand in quotes.
_DIRECTION = re.compile(r"(?<=direction)\s")


def mermaid(view: GraphView) -> str:
    """The text of a flowchart, from left to right.

    >>> from airflow_trickle.plan.graph_view import GraphNode, GraphView, NodeKind
    >>> node = GraphNode("n1", "default.sales", "default.sales", NodeKind.SOURCE)
    >>> print("\\n".join(mermaid(GraphView("Pipeline p", (node,), (), {}, {})).splitlines()[3:6]))
      subgraph sources["sources"]
        n1[("default.sales")]
      end
    """
    outlines = boxes(view)
    lines = ["flowchart LR", *(f"  {line}" for line in _HEAD)]
    for box in outlines:
        lines += _box(box, "  ")
    lines += (f"  {_edge(edge)}" for edge in view.edges)
    classes = dict(_classes(view, outlines))
    lines += (f"  classDef {name} {style}" for name, style in _STYLES.items() if name in classes)
    lines += (f"  class {','.join(classes[name])} {name}" for name in _STYLES if name in classes)
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A label in quotes; characters that mean something to Mermaid or to HTML become its entities.

    >>> quoted('say "a & b"')
    '"say #34;a #38; b#34;"'
    """
    inner = "".join(character if _SAFE.match(character) else f"#{ord(character)};" for character in text)
    return f'"{_DIRECTION.sub("#32;", inner)}"'


def _box(box: Box, indent: str) -> Iterator[str]:
    yield f"{indent}subgraph {box.id}[{quoted(box.title)}]"
    for node in box.nodes:
        yield f"{indent}  {_node(node)}"
    for inner in box.boxes:
        yield from _box(inner, indent + "  ")
    yield f"{indent}end"


def _node(node: GraphNode) -> str:
    before, after = _SHAPES[node.kind]
    label = "<br/>".join(quoted(line)[1:-1] for line in (node.label, *node.details))
    return f'{node.id}{before}"{label}"{after}'


def _edge(edge: GraphEdge) -> str:
    arrow = ("==>" if edge.crosses else "-->") if edge.monotone else "-.->"
    label = f"|{quoted(edge.label)}|" if edge.label else ""
    return f"{edge.start} {arrow}{label} {edge.end}"


def _classes(view: GraphView, outlines: tuple[Box, ...]) -> Iterator[tuple[str, list[str]]]:
    """Name of a class -> the ids that have it."""
    found: dict[str, list[str]] = {}
    for node in view.nodes:
        kind = "table" if node.kind is NodeKind.TABLE else node.kind.value
        found.setdefault("full" if node.mode == "FULL" else kind, []).append(node.id)
    stack = list(reversed(outlines))
    while stack:
        box = stack.pop()
        found.setdefault(box.kind, []).append(box.id)
        stack.extend(reversed(box.boxes))
    return iter(found.items())
