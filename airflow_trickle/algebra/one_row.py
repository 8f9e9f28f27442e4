"""Which operator trees give one row at most, whatever the rows of their inputs: LIMIT takes nothing away from them."""

from __future__ import annotations

from sqlglot import exp

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import JoinKind, Node
from airflow_trickle.algebra.scalars import Scalar


def is_one_or_more(limit: Scalar) -> bool:
    """Whether a LIMIT is a number, and not 0."""
    literal = limit.expression
    return isinstance(literal, exp.Literal) and literal.name.isdecimal() and int(literal.name) >= 1


def is_idle(node: nodes.TopK) -> bool:
    """Whether LIMIT takes nothing away, since there is one row at most."""
    return node.skip is None and node.limit is not None and is_one_or_more(node.limit) and gives_one_row(node.input)


def gives_one_row(node: Node) -> bool:
    """Whether a tree gives one row at most: it aggregates without GROUP BY, or joins only such."""
    if isinstance(node, nodes.Aggregate):
        return not (node.keys or node.sets or node.all_outputs)
    if isinstance(node, nodes.Project | nodes.Filter | nodes.Window | nodes.Distinct | nodes.TopK | nodes.Lookup):
        return gives_one_row(node.input)
    if isinstance(node, nodes.Join):
        return node.kind in (JoinKind.INNER, JoinKind.CROSS) and gives_one_row(node.left) and gives_one_row(node.right)
    return False
