"""Whether a query is sure to return no row while some of its inputs are empty."""

from __future__ import annotations

from collections.abc import Callable

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import JoinKind, Node, SetKind


def stays_empty(node: Node, is_empty: Callable[[int], bool]) -> bool:
    """Whether the tree surely has no row; where nothing is known, it may have some.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> stays_empty(parse_query("SELECT * FROM t JOIN u USING (x)").tree, lambda scan: scan == 14)
    True

    Args:
        node: The tree.
        is_empty: Whether the table that is scanned at an offset of the query is empty.
    """
    # A named part may be read many times, and its parts again.
    ctes: dict[int, bool] = {}

    def empty(one: Node) -> bool:
        if not isinstance(one, nodes.CteScan):
            return _stays_empty(one, is_empty, empty)
        if id(one.cte) not in ctes:
            ctes[id(one.cte)] = empty(one.cte.node)
        return ctes[id(one.cte)]

    return empty(node)


def _stays_empty(node: Node, is_empty: Callable[[int], bool], empty: Callable[[Node], bool]) -> bool:
    """The rule for one node, given the answers for those below it."""
    match node:
        case nodes.Scan():
            answer = is_empty(node.offset)
        case nodes.SelfReference():
            answer = True
        case nodes.Join():
            answer = _join(node, empty)
        case nodes.SetOperation(kind=SetKind.UNION):
            answer = empty(node.left) and empty(node.right)
        case nodes.SetOperation(kind=SetKind.INTERSECT):
            answer = empty(node.left) or empty(node.right)
        case nodes.SetOperation():
            answer = empty(node.left)
        case nodes.Aggregate():
            # Over all rows, or with a total among its sets, it returns a row even of nothing.
            answer = bool(node.keys) and not node.sets and empty(node.input)
        case nodes.Values() | nodes.TableFunction() | nodes.Opaque() | nodes.Pivot():
            answer = False
        case _:
            answer = empty(nodes.children(node)[0])
    return answer


def _join(node: nodes.Join, empty: Callable[[Node], bool]) -> bool:
    left, right = node.left, node.right
    if node.kind is JoinKind.FULL:
        return empty(left) and empty(right)
    if node.kind is JoinKind.RIGHT:
        return empty(right)
    if node.kind in (JoinKind.LEFT, JoinKind.ANTI):
        return empty(left)
    return empty(left) or empty(right)
