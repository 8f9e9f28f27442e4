"""Where the nodes and edges of a drawing go: in columns from left to right, with few crossings.

A node stands right of all it reads, and right of all lower strata, so that a stratum is a band. The members of
a cycle are one block. An edge over several columns goes through empty places between their boxes.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from airflow_trickle.plan.graph_view import GraphEdge, GraphNode, GraphView

GAP = 14.0
#: Between the boxes of a cycle, for the arrows from one to the next.
INNER_GAP = 22.0
#: Above and below the boxes of a cycle; the one above holds its title.
CYCLE_TOP, CYCLE_BOTTOM = 24.0, 14.0
_LANE = 6.0
#: With more places than this between boxes, long edges go straight.
_MOST_LANES = 6_000
_CAREFUL = 1_500
_SWEEPS = 8
#: How much more a long edge wants to be straight than a short one.
_STIFF = 6.0


@dataclass(eq=False)
class Vertex:
    """A block of boxes, or the place in one column where a long edge passes."""

    column: int
    height: float
    #: The nodes in it and how far their middles are below its top; none for a place of an edge.
    nodes: dict[str, float] = field(default_factory=dict)
    cycle: int | None = None
    #: Its top.
    y: float = 0.0
    #: Neighbours: the vertex, how far below its top it is touched, how far below our own, and how stiff.
    left: list[tuple[Vertex, float, float, float]] = field(default_factory=list)
    right: list[tuple[Vertex, float, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Placed:
    """The columns with their vertices from top to bottom, and the ways of the edges between them."""

    columns: tuple[tuple[Vertex, ...], ...]
    #: Title of a band -> its first and last column.
    bands: tuple[tuple[str, int, int], ...]
    #: For every edge: the places that it passes; None for one inside a cycle.
    ways: tuple[tuple[Vertex, ...] | None, ...]
    #: By node: the vertex that holds it.
    home: Mapping[str, Vertex]


def place(view: GraphView, heights: Mapping[str, float]) -> Placed:
    """A place for everything; ``heights`` tells how high the box of each node is."""
    blocks = _blocks(view, heights)
    home = {name: vertex for vertex in blocks for name in vertex.nodes}
    bands = _assign_columns(view, blocks, home)
    columns: list[list[Vertex]] = [[] for _ in range(1 + max((vertex.column for vertex in blocks), default=-1))]
    for vertex in blocks:
        columns[vertex.column].append(vertex)
    ways = _connect(view.edges, home, columns)
    _order(columns)
    _align(columns)
    return Placed(tuple(tuple(column) for column in columns), bands, ways, home)


def _blocks(view: GraphView, heights: Mapping[str, float]) -> list[Vertex]:
    blocks: list[Vertex] = []
    cycles: dict[int, list[GraphNode]] = {}
    for node in view.nodes:
        if node.cycle is None:
            blocks.append(Vertex(0, heights[node.id], {node.id: heights[node.id] / 2}))
        else:
            cycles.setdefault(node.cycle, []).append(node)
    for number, members in sorted(cycles.items()):
        top = CYCLE_TOP
        block = Vertex(0, 0.0, cycle=number)
        for node in members:
            block.nodes[node.id] = top + heights[node.id] / 2
            top += heights[node.id] + INNER_GAP
        block.height = top - INNER_GAP + CYCLE_BOTTOM
        blocks.append(block)
    return blocks


def _assign_columns(
    view: GraphView, blocks: Sequence[Vertex], home: Mapping[str, Vertex]
) -> tuple[tuple[str, int, int], ...]:
    """Longest paths, stratum by stratum; the sources come before all of them."""
    level = {home[node.id]: -1 if node.stratum is None else node.stratum for node in view.nodes}
    inputs: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in blocks}
    for edge in view.edges:
        start, end = home[edge.start], home[edge.end]
        if start is not end and level[start] == level[end]:
            inputs[end].append(start)
    for vertex in TopologicalSorter(inputs).static_order():
        vertex.column = 1 + max((one.column for one in inputs[vertex]), default=-1)
    bands = []
    first = 0
    for number in sorted(set(level.values())):
        members = [vertex for vertex in blocks if level[vertex] == number]
        last = first + max(vertex.column for vertex in members)
        for vertex in members:
            vertex.column += first
        bands.append((view.outside if number < 0 else f"stratum {number}", first, last))
        first = last + 1
    return tuple(bands)


def _connect(
    edges: Iterable[GraphEdge], home: Mapping[str, Vertex], columns: Sequence[list[Vertex]]
) -> tuple[tuple[Vertex, ...] | None, ...]:
    """The ways of the edges; all of one node and one kind share their places."""
    ends: dict[tuple[str, bool], int] = {}
    wanted = list(edges)
    for edge in wanted:
        key = (edge.start, edge.monotone)
        ends[key] = max(ends.get(key, 0), home[edge.end].column)
    bend = sum(max(0, end - home[start].column - 1) for (start, _), end in ends.items()) <= _MOST_LANES
    lanes: dict[tuple[str, bool], list[Vertex]] = {}
    ways: list[tuple[Vertex, ...] | None] = []
    for edge in wanted:
        start, end = home[edge.start], home[edge.end]
        if start is end:
            ways.append(None)
            continue
        key = (edge.start, edge.monotone)
        if key not in lanes:
            lanes[key] = _lane(start, start.nodes[edge.start], ends[key] if bend else 0, columns)
        way = tuple(lanes[key][: end.column - start.column - 1])
        last, offset = (way[-1], _LANE / 2) if way else (start, start.nodes[edge.start])
        _join(last, offset, end, end.nodes[edge.end], 1.0)
        ways.append(way)
    return tuple(ways)


def _lane(start: Vertex, offset: float, end: int, columns: Sequence[list[Vertex]]) -> list[Vertex]:
    found: list[Vertex] = []
    last = start
    for column in range(start.column + 1, end):
        vertex = Vertex(column, _LANE)
        columns[column].append(vertex)
        _join(last, offset, vertex, _LANE / 2, 2.0 if last is start else _STIFF)
        found.append(vertex)
        last, offset = vertex, _LANE / 2
    return found


def _join(one: Vertex, at: float, other: Vertex, other_at: float, stiff: float) -> None:
    one.right.append((other, other_at, at, stiff))
    other.left.append((one, at, other_at, stiff))


def _order(columns: list[list[Vertex]]) -> None:
    """Sorts every column by where its neighbours stand, to and fro; the best order that was seen stays."""
    careful = sum(len(column) for column in columns) <= _CAREFUL
    place = {vertex: index for column in columns for index, vertex in enumerate(column)}
    best = [list(column) for column in columns]
    fewest = _crossings(columns, place) if careful else 0
    for sweep in range(_SWEEPS if careful else 2):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _sort(column, place, to_the_left=sweep % 2 == 0)
        if careful:
            count = _crossings(columns, place)
            if count < fewest:
                best, fewest = [list(column) for column in columns], count
    if careful:
        columns[:] = best


def _sort(column: list[Vertex], place: dict[Vertex, int], *, to_the_left: bool) -> None:
    def middle(vertex: Vertex) -> float:
        beside = vertex.left if to_the_left else vertex.right
        if not beside:
            return place[vertex]
        # Where in its block an edge begins counts a little: blocks of several boxes are high.
        return sum(place[one] + at / (2 * one.height + 1) for one, at, _, _ in beside) / len(beside)

    column.sort(key=middle)
    for index, vertex in enumerate(column):
        place[vertex] = index


def _crossings(columns: Sequence[Sequence[Vertex]], place: Mapping[Vertex, int]) -> int:
    count = 0
    for column in columns:
        ends: list[tuple[int, float]] = []
        for vertex in column:
            new = sorted((place[one], at) for one, at, _, _ in vertex.right)
            count += sum(len(ends) - bisect_right(ends, end) for end in new)
            for end in new:
                insort(ends, end)
    return count


def _align(columns: Sequence[Sequence[Vertex]]) -> None:
    """Moves vertices up and down towards their neighbours; their order stays."""
    for column in columns:
        _settle(column, [0.0] * len(column), [1.0] * len(column))
    rounds = _SWEEPS if sum(len(column) for column in columns) <= _CAREFUL else 2
    for number in range(rounds):
        for column in columns if number % 2 == 0 else reversed(columns):
            wanted, weights = [], []
            for vertex in column:
                # The last rounds look at both sides.
                beside = (vertex.left if number % 2 == 0 else vertex.right) if number < rounds - 2 else []
                beside = beside or [*vertex.left, *vertex.right]
                weight = sum(stiff for _, _, _, stiff in beside)
                pulled = sum((one.y + at - own) * stiff for one, at, own, stiff in beside)
                wanted.append(pulled / weight if beside else vertex.y)
                weights.append(weight or 0.1)
            _settle(column, wanted, weights)


def _settle(column: Sequence[Vertex], wanted: Sequence[float], weights: Sequence[float]) -> None:
    """The places nearest to the wanted ones that keep order and distance: neighbours that collide share a mean."""
    runs: list[tuple[float, float, int]] = []
    shifts: list[float] = []
    shift = 0.0
    for vertex, top, weight in zip(column, wanted, weights, strict=True):
        shifts.append(shift)
        mean, heavy, size = top - shift, weight, 1
        while runs and runs[-1][0] > mean:
            other, more, count = runs.pop()
            mean = (mean * heavy + other * more) / (heavy + more)
            heavy, size = heavy + more, size + count
        runs.append((mean, heavy, size))
        shift += vertex.height + GAP
    places = (mean for mean, _, size in runs for _ in range(size))
    for vertex, base, shift in zip(column, places, shifts, strict=True):
        vertex.y = base + shift
