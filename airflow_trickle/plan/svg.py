"""The graph as an SVG picture that stands alone: no script, no font, no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from airflow_trickle.plan.graph_view import GraphEdge, GraphNode, GraphView, NodeKind
from airflow_trickle.plan.layout import Vertex, place
from airflow_trickle.plan.svg_shapes import (
    ARROW,
    BLUE,
    FILLS,
    GREEN,
    GREY,
    INK,
    Rect,
    bend,
    edge,
    edge_style,
    markers,
    not_sign,
    rect,
    sample,
    text,
)

_MARGIN = 24.0
_HEAD = 84.0
#: How high a line of the legend is, and how narrow it may get.
_ROW, _NARROWEST = 24.0, 640.0
#: Between columns, for the edges.
_AISLE = 84.0
#: Left and right of the boxes of a cycle, for the arrows between them.
_SIDE = 26.0
_LETTER, _SMALL_LETTER = 7.9, 6.7
_LONGEST = 44
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_WORDS = {
    "source": "source",
    "stream_table": "stream table, DIFFERENTIAL",
    "full": "stream table, FULL",
    "external": "table of another pipeline",
}


def svg(view: GraphView) -> str:
    """The picture, from left to right: sources, then one band per stratum.

    >>> from airflow_trickle.plan.graph_view import GraphView
    >>> svg(GraphView("Pipeline p", (), (), {}, {})).startswith("<svg xmlns=")
    True
    """
    return "\n".join(_Drawing(view).lines()) + "\n"


class _Drawing:
    """One picture: where the boxes are, and how they are drawn."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._nodes = {node.id: node for node in view.nodes}
        arrows = Counter(one.end for one in view.edges)
        heights = {node.id: max(_text_height(node), min(arrows[node.id], 14) * 9.0 + 8) for node in view.nodes}
        self._placed = place(view, heights)
        self._left: list[float] = []
        self._wide: list[float] = []
        #: A band of one column is as wide as its title.
        titles = {first: len(words) * _LETTER for words, first, last in self._placed.bands if first == last}
        x = _MARGIN + 14
        for number, column in enumerate(self._placed.columns):
            self._left.append(x)
            self._wide.append(max([titles.get(number, 0.0), *(self._width(vertex) for vertex in column)]))
            x += self._wide[-1] + _AISLE
        top = min((vertex.y for column in self._placed.columns for vertex in column), default=0.0)
        self._down = _HEAD + 26 - top
        bottom = max((vertex.y + vertex.height for column in self._placed.columns for vertex in column), default=0.0)
        self._bottom = bottom + self._down + 22
        self._boxes = {name: self._box(vertex, name, heights[name]) for name, vertex in self._placed.home.items()}
        self._ports = self._find_ports()
        width = max(x - _AISLE + 14, _LETTER * 1.4 * len(view.title), _NARROWEST) + _MARGIN
        self._legend = list(self._legend_rows(width - 2 * _MARGIN))
        self._size = (width, self._bottom + 40 + _ROW * len(self._legend))

    def _width(self, vertex: Vertex) -> float:
        width = max((_text_width(self._nodes[name]) for name in vertex.nodes), default=0.0)
        if vertex.cycle is None:
            return width
        return max(width + 2 * _SIDE, len(self._view.cycles[vertex.cycle]) * _LETTER + 28)

    def _box(self, vertex: Vertex, name: str, height: float) -> Rect:
        side = _SIDE if vertex.cycle is not None else 0.0
        top = vertex.y + vertex.nodes[name] - height / 2 + self._down
        return Rect(self._left[vertex.column] + side, top, self._wide[vertex.column] - 2 * side, height)

    def lines(self) -> Iterator[str]:
        """The elements from the back to the front."""
        width, height = (f"{side:.0f}" for side in self._size)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" font-family="{escape(_FONT)}" font-size="12">'
        )
        yield f"<title>{escape(self._view.title)}</title>"
        yield markers()
        yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        yield text(_MARGIN, 34, self._view.title, size=17, weight="bold")
        yield from self._bands()
        yield from self._cycles()
        for monotone in (True, False):
            yield from self._edges(monotone)
        for node in self._view.nodes:
            yield from self._node(node)
        yield from self._legend_lines()
        yield "</svg>"

    def _bands(self) -> Iterator[str]:
        for number, (title, first, last) in enumerate(self._placed.bands):
            x = self._left[first] - 14
            width = self._left[last] + self._wide[last] + 14 - x
            fill = "#f8fafc" if number % 2 == 0 else "#f1f5f9"
            yield rect(Rect(x, _HEAD - 30, width, self._bottom - _HEAD + 30), fill, "#e2e8f0", 10)
            yield text(x + 12, _HEAD - 10, title, size=12, fill=GREY)

    def _cycles(self) -> Iterator[str]:
        for column in self._placed.columns:
            for vertex in column:
                if vertex.cycle is not None:
                    x, y = self._left[vertex.column], vertex.y + self._down
                    yield rect(Rect(x, y, self._wide[vertex.column], vertex.height), "#eff6ff", BLUE, 14, 1.6)
                    yield text(x + 14, y + 16, self._view.cycles[vertex.cycle], size=11, fill=BLUE)

    def _node(self, node: GraphNode) -> Iterator[str]:
        box = self._boxes[node.id]
        fill, stroke = FILLS[_style(node)]
        yield "<g>"
        told = [node.identifier, *node.details, node.description]
        yield f"<title>{escape(chr(10).join(line for line in told if line))}</title>"
        grouped = node.group is not None
        yield rect(box, fill, GREEN if grouped else stroke, 6, 2.2 if grouped else 1.2)
        lines = [(_short(node.label), 12, INK), *((_short(line), 10, GREY) for line in _details(node))]
        y = box.y + box.height / 2 - 8.0 * (len(lines) - 1) + 4
        for line, size, ink in lines:
            yield text(box.x + 12, y, line, size=size, fill=ink, weight="bold" if size == 12 else "")
            y += 16
        yield "</g>"

    def _edges(self, monotone: bool) -> Iterator[str]:
        marks: list[str] = []
        drawn = [pair for pair in zip(self._view.edges, self._placed.ways, strict=True) if pair[0].monotone is monotone]
        yield f"<g {edge_style(monotone)}>"
        yield from self._trunks(drawn)
        for one, way in drawn:
            line, (x, y) = self._inside(one) if way is None else self._branch(one, way)
            yield edge(line, monotone=monotone, thick=one.crosses, title=one.because)
            marks.append(f"<g><title>{escape(one.because)}</title>{not_sign(x, y)}</g>")
        yield "</g>"
        if not monotone:
            yield from marks

    def _find_ports(self) -> dict[tuple[str, str], float]:
        """How high each arrow ends at its box: side by side, in the order in which they come."""
        coming: dict[str, list[tuple[float, str]]] = {}
        for one, way in zip(self._view.edges, self._placed.ways, strict=True):
            if way is not None:
                box = self._boxes[one.start]
                y = way[-1].y + self._down if way else box.y + box.height / 2
                coming.setdefault(one.end, []).append((y, one.start))
        found = {}
        for end, starts in coming.items():
            box = self._boxes[end]
            step = min(12.0, (box.height - 10) / len(starts))
            first = box.y + box.height / 2 - step * (len(starts) - 1) / 2
            for number, (_, start) in enumerate(sorted(starts)):
                found[start, end] = first + step * number
        return found

    def _trunks(self, drawn: Sequence[tuple[GraphEdge, Sequence[Vertex] | None]]) -> Iterator[str]:
        """What the long edges of a node have in common, drawn once: from its box through the columns between."""
        longest: dict[str, Sequence[Vertex]] = {}
        thin = {one.start for one, way in drawn if way and not one.crosses}
        for one, way in drawn:
            if way and len(way) > len(longest.get(one.start, ())):
                longest[one.start] = way
        for name, way in longest.items():
            box = self._boxes[name]
            x, y = box.right, box.y + box.height / 2
            line = f"M{x:.1f} {y:.1f}"
            for vertex in way:
                left, height = self._left[vertex.column], vertex.y + vertex.height / 2 + self._down
                x, y, line = left + self._wide[vertex.column], height, line + bend(x, y, left, height)
                line += f"H{x:.1f}"
            yield f'<path d="{line}" stroke-width="{"1.3" if name in thin else "2.6"}"/>'

    def _branch(self, one: GraphEdge, way: Sequence[Vertex]) -> tuple[str, tuple[float, float]]:
        """The last part of an edge, and its middle."""
        start, end, port = self._boxes[one.start], self._boxes[one.end], self._ports[one.start, one.end]
        x, y = start.right, start.y + start.height / 2
        if way:
            x = self._left[way[-1].column] + self._wide[way[-1].column]
            y = way[-1].y + way[-1].height / 2 + self._down
        tip = end.x - ARROW
        return f"M{x:.1f} {y:.1f}{bend(x, y, tip, port)}", ((x + tip) / 2, (y + port) / 2)

    def _inside(self, one: GraphEdge) -> tuple[str, tuple[float, float]]:
        """An edge of a cycle: down on the right side of the boxes, up on the left."""
        start, end = self._boxes[one.start], self._boxes[one.end]
        y, port = start.y + start.height / 2 + 6, end.y + end.height / 2 - 6
        x, out, tip = start.right, 2 * _SIDE, start.right + ARROW
        if one.start == one.end:
            y, port, out = y + 4, port - 4, _SIDE
        elif end.y < start.y:
            y, port = y - 12, port + 12
            x, out, tip = start.x, -2 * _SIDE, start.x - ARROW
        bulge = out * (0.5 if abs(end.y - start.y) < 1.5 * start.height + 30 else 0.62)
        path = f"M{x:.1f} {y:.1f}C{x + bulge:.1f} {y:.1f} {x + bulge:.1f} {port:.1f} {tip:.1f} {port:.1f}"
        return path, (x + bulge * 0.75, (y + port) / 2)

    def _legend_items(self) -> Iterator[tuple[str, str]]:
        """What there is to explain, as a sample and its words."""
        styles = {_style(node) for node in self._view.nodes}
        yield from ((style, words) for style, words in _WORDS.items() if style in styles)
        if self._view.cycles:
            yield "cycle", "cycle"
        if any(node.group is not None for node in self._view.nodes):
            yield "group", "group of a diamond"
        if self._view.edges:
            yield "edge", "reads"
        if any(not edge.monotone for edge in self._view.edges):
            yield "non-monotone", "non-monotone: a row more may take rows away"
        if any(edge.crosses for edge in self._view.edges):
            yield "crosses", "from another pipeline"

    def _legend_rows(self, room: float) -> Iterator[list[tuple[str, str]]]:
        row: list[tuple[str, str]] = []
        for item in self._legend_items():
            if row and sum(_legend_width(words) for _, words in [*row, item]) > room:
                yield row
                row = []
            row.append(item)
        yield row

    def _legend_lines(self) -> Iterator[str]:
        y = self._bottom + 34
        for row in self._legend:
            x = _MARGIN
            for what, words in row:
                yield from sample(what, x, y)
                yield text(x + 38, y + 4, words, size=10.5, fill=GREY)
                x += _legend_width(words)
            y += _ROW


def _style(node: GraphNode) -> str:
    return "full" if node.kind is NodeKind.TABLE and node.mode == "FULL" else node.kind.value


def _details(node: GraphNode) -> list[str]:
    """The small lines of a box; the group is named there, since its outline may go around several places."""
    lines = list(node.details)
    if node.group is not None:
        lines.append(f"group {node.group}")
    return [" · ".join(lines)] if lines else []


def _short(words: str) -> str:
    """A long name without its middle; the whole of it is in the tooltip."""
    half = _LONGEST // 2
    return words if len(words) <= _LONGEST else f"{words[: half - 1]}…{words[-half:]}"


def _text_width(node: GraphNode) -> float:
    small = max((len(_short(line)) for line in _details(node)), default=0)
    return max(len(_short(node.label)) * _LETTER, small * _SMALL_LETTER, 60.0) + 24


def _text_height(node: GraphNode) -> float:
    return 30.0 + 16 * len(_details(node))


def _legend_width(words: str) -> float:
    return 38 + len(words) * _SMALL_LETTER + 22
