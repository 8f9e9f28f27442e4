"""Walks over an operator tree that look at all of it; none of them recurses with its depth."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_trickle.algebra.nodes import CteScan, Node, Scan, SelfReference, With, children


def all_reads(tree: Node) -> Iterator[Scan | CteScan | SelfReference]:
    """Every place of a tree that reads a table or a named part, those of parts that nothing reads included."""
    stack: list[Node] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (Scan, CteScan, SelfReference)):
            yield node
        elif isinstance(node, With):
            stack.extend(cte.node for cte in node.ctes)
            stack.append(node.body)
        else:
            stack.extend(children(node))


def depth(tree: Node, ctes: dict[int, int] | None = None) -> int:
    """How many nodes lie on the longest path from the root down, through named parts where they are read.

    Args:
        tree: The tree.
        ctes: Depths of the named parts defined around it, by identity.
    """
    known = {} if ctes is None else ctes
    deepest = 0
    stack: list[tuple[Node, int]] = [(tree, 1)]
    while stack:
        node, level = stack.pop()
        if isinstance(node, With):
            # In order: a part reads those before it.
            for cte in node.ctes:
                known[id(cte)] = depth(cte.node, known)
        if isinstance(node, CteScan):
            level += known.get(id(node.cte), 0)
        else:
            stack.extend((child, level + 1) for child in children(node))
        deepest = max(deepest, level)
    return deepest
