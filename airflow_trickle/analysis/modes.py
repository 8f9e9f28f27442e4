"""How a query can be refreshed: from changes, or only in full, and because of what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.one_row import is_idle
from airflow_trickle.algebra.references import ParsedQuery
from airflow_trickle.algebra.survey import Doubt
from airflow_trickle.analysis.monotonicity import self_reference
from airflow_trickle.blocks.check import checked
from airflow_trickle.blocks.refusals import require_refreshable
from airflow_trickle.blocks.repeatable import require_repeatable_inside
from airflow_trickle.blocks.shapes import NotInBlocks

#: Why a query is refreshed from changes.
FROM_CHANGES = "every operator can be refreshed from changes"


@dataclass(frozen=True, order=True)
class Obstacle:
    """What makes a query, or a part of it, one that must be recomputed in full."""

    offset: int
    why: str
    #: Whether a table of a cycle, which is brought to its fixed point as a whole, is kept from that too.
    in_cycles: bool = True


@dataclass(frozen=True)
class ModeChoice:
    """The mode in which a table is refreshed, and why."""

    mode: str
    reason: str


def obstacles_of(tree: Node | None, doubts: Iterable[Doubt] = ()) -> tuple[Obstacle, ...]:
    """Everything that keeps a query from being refreshed from changes, in the order of its text.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> query = parse_query("SELECT rand() AS r FROM t")
    >>> [one.why for one in obstacles_of(query.tree, query.doubts)]
    ['rand() answers differently on every run']
    """
    found = {Obstacle(doubt.offset, doubt.told) for doubt in doubts}
    return tuple(sorted(found.union(one for _, one in _of_nodes(tree))))


def chances_of(tree: Node | None, doubts: Iterable[Doubt] = ()) -> tuple[Obstacle, ...]:
    """Everything because of which a query may answer differently over the same rows, in the order of its text.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> query = parse_query("SELECT a FROM t LIMIT 3")
    >>> [one.why for one in chances_of(query.tree, query.doubts)]
    ['LIMIT without ORDER BY takes any rows, others on every run']
    """
    found = {Obstacle(doubt.offset, doubt.told) for doubt in doubts}
    return tuple(sorted(found.union(one for node, one in _of_nodes(tree) if isinstance(node, nodes.TopK))))


def obstacles_of_query(query: ParsedQuery) -> tuple[Obstacle, ...]:
    """The same for a whole query; of one without, whether its text can be taken apart, and comes out the same again.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> [one.why for one in obstacles_of_query(parse_query("SELECT * FROM a NATURAL JOIN b"))]
    ['NATURAL JOIN is recomputed in full']
    """
    found = obstacles_of(query.tree, query.doubts)
    if found or query.statement is None or query.problems:
        return found
    try:
        blocks, parts = checked(query.statement, recursion=True)
    except NotInBlocks as error:
        return (Obstacle(error.offset, error.why),)
    if is_recursive(query.tree):
        return ()
    try:
        require_repeatable_inside(blocks, parts)
        require_refreshable(blocks, parts)
    except NotInBlocks as error:
        return (Obstacle(error.offset, error.why, in_cycles=False),)
    return ()


def choose_mode(requested: str, obstacles: Sequence[Obstacle], text: str = "") -> ModeChoice:
    """The mode of a table as it was asked for and as its query allows.

    >>> choose_mode("AUTO", [Obstacle(7, "rand() answers differently on every run")], "SELECT rand()").reason
    'AUTO: full because rand() answers differently on every run (line 1 of the query)'

    Args:
        requested: AUTO, FULL or DIFFERENTIAL.
        obstacles: What keeps the query from being refreshed from changes.
        text: The query, to tell the line.
    """
    if requested == "FULL":
        return ModeChoice("FULL", "refresh_mode: FULL")
    asked = "refresh_mode: DIFFERENTIAL" if requested == "DIFFERENTIAL" else "AUTO"
    if obstacles:
        first = obstacles[0]
        line = text.count("\n", 0, first.offset) + 1
        more = f", and {len(obstacles) - 1} more" if len(obstacles) > 1 else ""
        return ModeChoice("FULL", f"{asked}: full because {first.why} (line {line} of the query{more})")
    return ModeChoice("DIFFERENTIAL", f"{asked}: {FROM_CHANGES}")


def obstacle_of(node: Node) -> str | None:
    """Why one operator can only be recomputed in full; None if it can be refreshed from changes."""
    if isinstance(node, nodes.Opaque):
        return node.why
    if isinstance(node, nodes.TopK) and not node.order and not is_idle(node):
        clause = "LIMIT" if node.limit is not None else "OFFSET"
        return f"{clause} without ORDER BY takes any rows, others on every run"
    if isinstance(node, nodes.Recursion):
        negative = self_reference(node)
        if negative is not None:
            return f"the recursive CTE '{node.name}' reads itself in a place that is not monotone: {negative.because}"
    return None


def is_recursive(tree: Node | None) -> bool:
    """Whether a query has a CTE that reads itself."""
    return any(isinstance(node, nodes.Recursion) for node in _nodes(tree))


def _of_nodes(tree: Node | None) -> Iterator[tuple[Node, Obstacle]]:
    for node in _nodes(tree):
        why = obstacle_of(node)
        if why is not None:
            yield node, Obstacle(node.offset, why)


def _nodes(tree: Node | None) -> Iterator[Node]:
    """Every operator once, those of CTEs too."""
    seen: set[int] = set()
    stack = [] if tree is None else [tree]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, nodes.CteScan):
            if id(node.cte) in seen:
                continue
            seen.add(id(node.cte))
        stack.extend(nodes.children(node))
