"""WITH: named parts of a query, plain and recursive."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.building import Builder, Pending, Scope, offset_of
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import fold


def with_clause(builder: Builder, query: exp.Expr, scope: Scope, body: Callable[[Scope], Node]) -> Node:
    """The query behind a WITH, which sees all of its CTEs; a CTE sees those before it."""
    with_ = query.args.get("with_")
    if with_ is None:
        return body(scope)
    inner = dict(scope)
    ctes: list[nodes.Cte] = []
    for definition in with_.expressions:
        cte = _cte(builder, definition, inner, recursive=bool(with_.args.get("recursive")))
        inner[fold(cte.name)] = cte
        ctes.append(cte)
    return nodes.With(offset_of(with_), tuple(ctes), body(inner))


def _cte(builder: Builder, definition: exp.Expr, scope: Scope, *, recursive: bool) -> nodes.Cte:
    name = definition.alias
    columns = tuple(column.name for column in definition.args["alias"].columns)
    at = offset_of(definition.args["alias"])
    if not recursive:
        return nodes.Cte(at, name, columns, builder.query(definition.this, scope))
    node = builder.query(definition.this, {**scope, fold(name): Pending(name, at)})
    if at in builder.recursive:
        node = _recursion(builder, at, name, node)
    return nodes.Cte(at, name, columns, node)


def _recursion(builder: Builder, at: int, name: str, node: Node) -> Node:
    branches = list(union_branches(node))
    if all(reads_itself(branch, at) for branch in branches):
        builder.problems.append(
            QueryProblem(
                at,
                f"the recursive CTE '{name}' has no base case: every part of it reads '{name}' itself, "
                "so it never gets a first row.",
                f"Add one that does not: a SELECT, then UNION, then the part that reads '{name}'.",
            )
        )
    return nodes.Recursion(at, name, node, all=not (isinstance(node, nodes.SetOperation) and not node.all))


def union_branches(node: Node) -> Iterator[Node]:
    """The parts of a chain of UNIONs, from left to right; a node that is no UNION is its only part."""
    if isinstance(node, nodes.SetOperation) and node.kind is nodes.SetKind.UNION:
        yield from union_branches(node.left)
        yield from union_branches(node.right)
    elif isinstance(node, nodes.With):
        yield from union_branches(node.body)
    else:
        yield node


def reads_itself(node: Node, at: int) -> bool:
    """Whether a part of a recursive CTE reads the CTE that is defined at that place."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, nodes.SelfReference) and one.target == at:
            return True
        # A CTE may be read many times; its definition is the same object each time.
        if isinstance(one, nodes.CteScan):
            if id(one.cte) in seen:
                continue
            seen.add(id(one.cte))
        stack.extend(nodes.children(one))
    return False
