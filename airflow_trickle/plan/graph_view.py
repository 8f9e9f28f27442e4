"""The graph of a planned project as a drawing needs it: nodes, edges, and the boxes around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_trickle.definition.words import listed
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.explain import TableNames
from airflow_trickle.plan.overview import published
from airflow_trickle.plan.steps import ComponentStep, GroupStep, InputKind, InputRef, Plan, TableStep

_NAMED_PIPELINES = 4


class NodeKind(str, Enum):
    """What a node stands for; ``EXTERNAL``: a stream table of a pipeline that is not planned here."""

    SOURCE = "source"
    TABLE = "stream_table"
    EXTERNAL = "external"


@dataclass(frozen=True)
class GraphNode:
    """A table of the graph.

    >>> GraphNode("n1", "default.sales", "sales", NodeKind.SOURCE).label
    'sales'
    """

    #: A word that is safe in every format.
    id: str
    identifier: str
    label: str
    kind: NodeKind
    #: What is written below the label.
    details: tuple[str, ...] = ()
    pipeline: str | None = None
    stratum: int | None = None
    mode: str | None = None
    cycle: int | None = None
    group: int | None = None
    description: str = ""


@dataclass(frozen=True)
class GraphEdge:
    """The node ``end`` reads the node ``start``.

    >>> GraphEdge("n1", "n2", monotone=False, because="it is inside NOT EXISTS").label
    'non-monotone'
    """

    start: str
    end: str
    monotone: bool
    because: str
    #: Whether the two are in different pipelines.
    crosses: bool = False

    @property
    def label(self) -> str:
        """What is written at the edge; nothing for a plain one."""
        words = ("" if self.monotone else "non-monotone", "other pipeline" if self.crosses else "")
        return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class Box:
    """An outline around nodes and smaller boxes: the sources, a stratum, a group, a cycle."""

    id: str
    kind: str
    title: str
    nodes: tuple[GraphNode, ...]
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class GraphView:
    """Everything to draw: sources first, then the stream tables, upstream first within their pipeline."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    #: Number -> what its outline says.
    cycles: dict[int, str]
    groups: dict[int, str]

    @property
    def outside(self) -> str:
        """What to call the tables that are not planned here."""
        others = any(node.kind is NodeKind.EXTERNAL for node in self.nodes)
        return "sources and other pipelines" if others else "sources"


def graph_view(planned: PlannedProject) -> GraphView:
    """The graph of all planned pipelines."""
    tables = [(table, plan) for plan in planned.plans for table in plan.tables]
    names = TableNames(planned)
    several = len(planned.plans) > 1
    written = {fold(table.identifier) for table, _ in tables}
    outside: dict[str, InputRef] = {}
    for ref in (ref for plan in planned.plans for ref in plan.pin.inputs):
        if fold(ref.identifier) not in written:
            outside.setdefault(fold(ref.identifier), ref)
    numbers = {key: f"n{number}" for number, key in enumerate([*sorted(outside), *_keys(tables)], 1)}
    nodes = [_outside(numbers[key], ref) for key, ref in sorted(outside.items())]
    nodes += [_node(numbers[fold(table.identifier)], table, plan, names, several) for table, plan in tables]
    return GraphView(
        title=_title(planned),
        nodes=tuple(nodes),
        edges=tuple(edge for table, _ in tables for edge in _edges(table, numbers)),
        cycles={part.id: _cycle_title(part) for plan in planned.plans for part in plan.components if part.cyclic},
        groups={group.id: _group_title(group) for plan in planned.plans for group in plan.groups},
    )


def graph_json(view: GraphView) -> dict[str, Any]:
    """What ``trickle graph --json`` prints: tables go by their Iceberg identifier."""
    identifiers = {node.id: node.identifier for node in view.nodes}
    return {
        "nodes": [
            {
                "id": node.identifier,
                "label": node.label,
                "kind": node.kind.value,
                "pipeline": node.pipeline,
                "stratum": node.stratum,
                "refresh_mode": node.mode,
                "scc_id": node.cycle,
                "group_id": node.group,
                "description": node.description,
            }
            for node in view.nodes
        ],
        "edges": [
            {
                "from": identifiers[edge.start],
                "to": identifiers[edge.end],
                "type": "MONOTONE" if edge.monotone else "NON_MONOTONE",
                "because": edge.because,
                "other_pipeline": edge.crosses,
            }
            for edge in view.edges
        ],
    }


def boxes(view: GraphView) -> tuple[Box, ...]:
    """The outlines, from the outside in: sources and strata, in them groups, in them cycles.

    A cycle is in one stratum, but a group may be in several: then it has a box in each of them.
    """
    found = []
    outer = [node for node in view.nodes if node.stratum is None]
    if outer:
        found.append(Box("sources", "sources", view.outside, tuple(outer)))
    for stratum in sorted({node.stratum for node in view.nodes if node.stratum is not None}):
        members = [node for node in view.nodes if node.stratum == stratum]
        numbers = sorted({node.group for node in members if node.group is not None})
        inner = [_group_box(view, stratum, number, members) for number in numbers]
        loose = [node for node in members if node.group is None]
        rest = tuple(node for node in loose if node.cycle is None)
        found.append(
            Box(f"s{stratum}", "stratum", f"stratum {stratum}", rest, (*inner, *_cycle_boxes(view, loose))),
        )
    return tuple(found)


def _group_box(view: GraphView, stratum: int, number: int, members: Iterable[GraphNode]) -> Box:
    own = [node for node in members if node.group == number]
    plain = tuple(node for node in own if node.cycle is None)
    return Box(f"g{number}_{stratum}", "group", view.groups[number], plain, tuple(_cycle_boxes(view, own)))


def _cycle_boxes(view: GraphView, nodes: Iterable[GraphNode]) -> Iterator[Box]:
    cycles: dict[int, list[GraphNode]] = {}
    for node in nodes:
        if node.cycle is not None:
            cycles.setdefault(node.cycle, []).append(node)
    for number, members in sorted(cycles.items()):
        yield Box(f"c{number}", "cycle", view.cycles[number], tuple(members))


def _keys(tables: Iterable[tuple[TableStep, Plan]]) -> list[str]:
    return [fold(table.identifier) for table, _ in tables]


def _outside(number: str, ref: InputRef) -> GraphNode:
    if ref.kind is InputKind.SOURCE:
        return GraphNode(number, ref.identifier, ref.identifier, NodeKind.SOURCE)
    return GraphNode(number, ref.identifier, ref.identifier, NodeKind.EXTERNAL, ("of another pipeline",))


def _node(number: str, table: TableStep, plan: Plan, names: TableNames, several: bool) -> GraphNode:
    return GraphNode(
        number,
        table.identifier,
        names[table.identifier],
        NodeKind.TABLE,
        (table.mode, plan.pipeline) if several else (table.mode,),
        plan.pipeline,
        table.stratum,
        table.mode,
        table.scc_id,
        table.group_id,
        _printable(table.description),
    )


def _edges(table: TableStep, numbers: dict[str, str]) -> Iterator[GraphEdge]:
    kinds = {ref.identifier: ref.kind for ref in table.inputs}
    for edge in table.edges:
        yield GraphEdge(
            numbers[fold(edge.identifier)],
            numbers[fold(table.identifier)],
            edge.type == "MONOTONE",
            _printable(edge.because),
            kinds[edge.identifier] is InputKind.EXTERNAL,
        )


def _printable(text: str) -> str:
    """A text in one line, without characters that no format can hold."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _cycle_title(part: ComponentStep) -> str:
    return f"cycle {part.id}" + ("" if part.monotone else ", not monotone")


def _group_title(group: GroupStep) -> str:
    return f"group {group.id}, {published(group)}"


def _title(planned: PlannedProject) -> str:
    names = [plan.pipeline for plan in planned.plans]
    if len(names) == 1:
        return f"Pipeline {names[0]}"
    return f"Pipelines {listed(names)}" if len(names) <= _NAMED_PIPELINES else f"{len(names)} pipelines"
