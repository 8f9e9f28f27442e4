"""Cycles of stream tables: which are allowed, and what is said of those that are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.components import Component, components, cycle_through, shortest_cycle
from airflow_trickle.analysis.edges import Edge
from airflow_trickle.analysis.emptiness import stays_empty
from airflow_trickle.analysis.graph import Node
from airflow_trickle.analysis.monotonicity import first_obstacle, outermost_aggregate
from airflow_trickle.analysis.places import place_of
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import Position, Problem
from airflow_trickle.identifiers import fold

#: The last words of what is said of a cycle that is refused.
SEE = "See docs/analysis.md, section Cycles."


@dataclass(frozen=True)
class CycleRules:
    """What a pipeline allows."""

    allow: bool | Literal["unsafe"]
    #: Judge each read by its place; else refuse any query with an operator that is not monotone.
    stratified: bool


@dataclass(frozen=True)
class CycleReport:
    """What is to be said of the cycles of a project, by file."""

    problems: tuple[tuple[str, Problem], ...]
    warnings: tuple[tuple[str, str], ...]


def check_cycles(order: Sequence[Component], nodes: Mapping[str, Node], rules: Mapping[str, CycleRules]) -> CycleReport:
    """Looks at every cyclic component.

    Args:
        order: The components of all stream tables.
        nodes: The tables by folded identifier.
        rules: What each pipeline allows, by file.
    """
    problems: list[tuple[str, Problem]] = []
    warnings: list[tuple[str, str]] = []
    for part in order:
        if not part.cyclic:
            continue
        cycle = _Cycle([nodes[member] for member in part.members])
        files = sorted({node.file for node in cycle.nodes})
        if len(files) > 1:
            problems += ((file, problem) for file, problem in cycle.over_several_pipelines())
            continue
        rule = rules[files[0]]
        found = list(cycle.not_allowed()) if not rule.allow and not cycle.is_made else list(cycle.wrong(rule))
        doubtful = list(cycle.not_monotone(rule)) if rule.allow or cycle.is_made else []
        if rule.allow == "unsafe":
            warnings += ((files[0], f"{problem.message} It is tried all the same.") for problem in doubtful)
        else:
            found += doubtful
        problems += ((files[0], problem) for problem in found)
        if not found:
            warnings += ((files[0], text) for text in (*cycle.empty_warning(), *cycle.bag_warning()))
    return CycleReport(tuple(problems), tuple(warnings))


class _Cycle:
    """One cyclic component."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self._by_key = {node.key: node for node in nodes}
        self._reads = {node.key: [key for key in node.edges if key in self._by_key] for node in nodes}
        #: Whether it comes from a mutual recursion: whoever writes one wants a cycle.
        self.is_made = all(node.table.made_from is not None for node in nodes)

    def _names(self, path: Sequence[str], *, full: bool = False) -> str:
        tables = (self._by_key[key].table for key in path)
        return " -> ".join(table.identifier if full else table.name for table in tables)

    def _shown(self) -> list[str]:
        return shortest_cycle(list(self._by_key), self._reads)

    def _position(self, node: Node, following: str) -> Position:
        edge = node.edges.get(following)
        return node.table.at if edge is None else node.table.sql.position(edge.scan)

    def _inner_edges(self) -> Iterator[tuple[Node, Edge]]:
        for node in self.nodes:
            for key in self._reads[node.key]:
                yield node, node.edges[key]

    def not_allowed(self) -> Iterator[Problem]:
        """The cycle, where the pipeline allows none."""
        path = self._shown()
        node = self._by_key[path[0]]
        what = "reads itself" if len(path) == 2 else "is part of a cycle"
        yield Problem(
            self._position(node, path[1]),
            f"stream table '{node.table.name}' {what}: {self._names(path)}. Cycles are not allowed in this pipeline.",
            "If the tables are meant to define each other, set allow_circular: true in the pipeline, and for each of "
            f"them refresh_mode: DIFFERENTIAL or AUTO; if not, take one of these reads out. {SEE}",
            node.table.name,
        )

    def over_several_pipelines(self) -> Iterator[tuple[str, Problem]]:
        """The cycle, where its tables are in several files: no pipeline could bring it to an end alone."""
        path = self._shown()
        told: set[str] = set()
        for index, key in enumerate((*path[:-1], *sorted(set(self._by_key) - set(path)))):
            node = self._by_key[key]
            if node.file in told:
                continue
            told.add(node.file)
            following = path[index + 1] if index + 1 < len(path) else ""
            yield (
                node.file,
                Problem(
                    self._position(node, following),
                    f"stream table '{node.table.name}' is part of a cycle over several pipelines: "
                    f"{self._names(path, full=True)}.",
                    "Put all tables of the cycle into one pipeline (with allow_circular: true, and refresh_mode: "
                    f"DIFFERENTIAL or AUTO for each), or take one of these reads out. {SEE}",
                    node.table.name,
                ),
            )

    def wrong(self, rule: CycleRules) -> Iterator[Problem]:
        """Members that cannot be refreshed from changes."""
        for node in self.nodes:
            path = self._names(cycle_through(list(self._by_key), self._reads, node.key, self._reads[node.key][0]))
            whose = f"stream table '{node.table.name}' is part of the cycle {path}"
            only = "the tables of a cycle are refreshed from changes only"
            if node.table.refresh_mode == "FULL":
                message = f"{whose} and has refresh_mode: FULL, but {only}."
                hint = f"Set refresh_mode: DIFFERENTIAL, or leave it out. {SEE}"
                yield Problem(node.table.at, message, hint, node.table.name)
                continue
            for obstacle in [one for one in node.obstacles if one.in_cycles][:1]:
                message = f"{whose}, and {only}, but {obstacle.why}."
                hint = f"Take that out of its query, so that refresh_mode: DIFFERENTIAL is possible. {SEE}"
                yield Problem(node.table.sql.position(obstacle.offset), message, hint, node.table.name)

    def not_monotone(self, rule: CycleRules) -> Iterator[Problem]:
        """Reads inside the cycle, or with the older check any operator, that may take rows away."""
        if not rule.stratified:
            yield from self._by_whole_queries()
            return
        for node, edge in self._inner_edges():
            if edge.type is EdgeType.MONOTONE:
                continue
            path = self._names(cycle_through(list(self._by_key), self._reads, node.key, edge.input))
            inner = self._by_key[edge.input].table.name
            yield Problem(
                node.table.sql.position(edge.place),
                f"stream table '{node.table.name}' reads '{inner}' inside the cycle {path} in a place that is not "
                f"monotone: {edge.because}. A row more in '{inner}' may take rows out of '{node.table.name}', so the "
                "cycle may never settle.",
                "Read only tables outside of the cycle there, or set allow_circular: unsafe to try it up to "
                f"max_fixpoint_iterations, with refresh_mode: DIFFERENTIAL or AUTO for each of its tables. {SEE}",
                node.table.name,
            )

    def _by_whole_queries(self) -> Iterator[Problem]:
        for node in self.nodes:
            tree = parse_query(node.table.sql.text).tree
            improving = outermost_aggregate(tree) if tree is not None and node.table.lattice else None
            found = None if tree is None else first_obstacle(tree, improving)
            if found is None:
                continue
            why, operator = found
            path = self._names(cycle_through(list(self._by_key), self._reads, node.key, self._reads[node.key][0]))
            yield Problem(
                node.table.sql.position(place_of(operator, node.query.text)),
                f"stream table '{node.table.name}' is part of the cycle {path}, but its query has an operator that is "
                f"not monotone; of what it reads there: {why}.",
                f"With stratified_cycle_validation: true (the default) only reads inside the cycle count. {SEE}",
                node.table.name,
            )

    def empty_warning(self) -> Iterator[str]:
        """A cycle that no row can ever get into."""
        for node in self.nodes:
            scans = {
                ref.start
                for ref, known in zip(node.query.references, node.reads, strict=True)
                if known is not None and fold(known.identifier) in self._by_key
            }
            tree = parse_query(node.table.sql.text).tree
            if tree is None or not stays_empty(tree, scans.__contains__):
                return
        names = listed([f"'{node.table.name}'" for node in self.nodes])
        yield (
            f"no row ever gets into the cycle of {names}: every part of their queries needs a row of the cycle first. "
            "Add a part that reads another table, such as SELECT … UNION …."
        )

    def bag_warning(self) -> Iterator[str]:
        """A way round the cycle on which nothing removes duplicates: on cyclic data it never ends."""
        bags = {
            node.key: [key for key in self._reads[node.key] if node.edges[key].keeps_duplicates] for node in self.nodes
        }
        for part in components(bags):
            if part.cyclic:
                names = listed([f"'{self._by_key[key].table.name}'" for key in part.members])
                yield (
                    f"nothing removes duplicates on the way round the cycle of {names}: if the data is cyclic too, "
                    "it never settles. Use UNION or DISTINCT."
                )
