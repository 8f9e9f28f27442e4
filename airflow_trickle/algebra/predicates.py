"""Conditions with subqueries: EXISTS and IN that stand for themselves become joins, others lookups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.building import Builder, Scope, offset_of
from airflow_trickle.algebra.nodes import JoinKind, LookupKind, Node
from airflow_trickle.algebra.one_row import is_one_or_more
from airflow_trickle.algebra.scalars import LIFTED, Scalar

_KINDS: dict[type[exp.Expr], LookupKind] = {
    exp.Exists: LookupKind.EXISTS,
    exp.In: LookupKind.IN,
    exp.Any: LookupKind.ANY,
    exp.All: LookupKind.ALL,
    exp.Subquery: LookupKind.SCALAR,
}


def filtered(
    builder: Builder, tree: Node, condition: exp.Expr, subqueries: Iterable[exp.Expr] | None, scope: Scope
) -> Node:
    """The rows of a tree for which the condition is true.

    A part of the conjunction that is [NOT] EXISTS or [NOT] IN becomes a semi- or anti-join. A subquery
    deeper in an expression is looked up, and the filter reads the answer.
    """
    if not subqueries:
        return nodes.Filter(offset_of(condition), tree, Scalar(condition))
    lifted = {id(one) for one in subqueries}
    plain: list[exp.Expr] = []
    joins: list[exp.Expr] = []
    mixed: list[exp.Expr] = []
    for part in _conjuncts(condition):
        inside = [node for node in part.walk() if id(node) in lifted]
        # IN may have another subquery on its left.
        if len(inside) == 1 and inside[0] is _inside_not(part)[0] and isinstance(inside[0], (exp.Exists, exp.In)):
            joins.append(part)
        elif inside:
            mixed.append(part)
        else:
            plain.append(part)
    if plain:
        tree = nodes.Filter(offset_of(plain[0]), tree, _all_of(plain))
    for part in joins:
        tree = _semi_join(builder, tree, part, scope)
    for part in mixed:
        inside = [node for node in part.walk() if id(node) in lifted]
        tree = _look_up(builder, tree, [(one, _is_positive(one, part)) for one in inside], scope)
        tree = nodes.Filter(offset_of(part), tree, Scalar(part))
    return tree


def looked_up(builder: Builder, tree: Node, subqueries: Iterable[exp.Expr], scope: Scope) -> Node:
    """The tree with the answers of subqueries that stand in its columns, keys or order."""
    return _look_up(builder, tree, [(one, False) for one in subqueries], scope)


def subquery_of(node: exp.Expr) -> exp.Expr:
    """The query inside EXISTS, IN, ANY, ALL or parentheses."""
    if isinstance(node, exp.In):
        inner: exp.Expr = node.args["query"]
        return inner
    return node if isinstance(node, exp.Subquery) else node.this  # type: ignore[no-any-return]


def _look_up(builder: Builder, tree: Node, subqueries: list[tuple[exp.Expr, bool]], scope: Scope) -> Node:
    lifted = {id(one) for one, _ in subqueries}
    # What another one looks for, as in (SELECT …) IN (SELECT …), must be known first.
    for one, positive in sorted(subqueries, key=lambda item: -_nesting(item[0], lifted)):
        name = builder.next_lookup()
        one.meta[LIFTED] = name
        kind = _KINDS[type(one)]
        inner = _existing(builder, one, scope) if kind is LookupKind.EXISTS else builder.query(subquery_of(one), scope)
        probe = Scalar(one.this) if kind is LookupKind.IN else None
        tree = nodes.Lookup(offset_of(one), tree, inner, kind, positive, name, probe)
    return tree


def _nesting(one: exp.Expr, lifted: set[int]) -> int:
    """In how many of the others a subquery stands."""
    count = 0
    node = one.parent
    while node is not None:
        count += id(node) in lifted
        node = node.parent
    return count


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.And):
            stack += [part.expression, part.this]
        elif isinstance(part, exp.Paren) and isinstance(part.this, (exp.And, exp.Paren, exp.Not, exp.Exists, exp.In)):
            stack.append(part.this)
        else:
            yield part


def _inside_not(part: exp.Expr) -> tuple[exp.Expr, bool]:
    """The expression inside NOTs and parentheses, and whether it is negated."""
    negated = False
    while isinstance(part, (exp.Not, exp.Paren)):
        negated ^= isinstance(part, exp.Not)
        part = part.this
    return part, negated


def _all_of(parts: list[exp.Expr]) -> Scalar:
    return Scalar(parts[0] if len(parts) == 1 else exp.and_(*parts, copy=True))


def _semi_join(builder: Builder, tree: Node, part: exp.Expr, scope: Scope) -> Node:
    inner, negated = _inside_not(part)
    is_in = isinstance(inner, exp.In)
    right = builder.query(subquery_of(inner), scope) if is_in else _existing(builder, inner, scope)
    return nodes.Join(
        offset_of(part),
        JoinKind.ANTI if negated else JoinKind.SEMI,
        tree,
        right,
        Scalar(inner.this) if is_in else None,
        lateral=True,
        origin=("NOT " if negated else "") + ("IN" if is_in else "EXISTS"),
        null_aware=negated and is_in,
    )


def _existing(builder: Builder, exists: exp.Expr, scope: Scope) -> Node:
    """The query of EXISTS; a LIMIT there changes nothing about whether there is a row, unless it is 0."""
    tree = builder.query(exists.this, scope)
    while isinstance(tree, nodes.TopK) and tree.skip is None and tree.limit is not None and is_one_or_more(tree.limit):
        tree = tree.input
    return tree


def _is_positive(one: exp.Expr, condition: exp.Expr) -> bool:
    """Whether more rows in the subquery can only make the condition truer.

    With false < unknown < true, AND and OR are monotone, NOT turns the order round, and nothing is known
    of any other expression. EXISTS and IN grow with their subquery; ALL shrinks, a scalar does what it likes.
    """
    if not isinstance(one, (exp.Exists, exp.In)):
        return False
    positive = True
    node: exp.Expr | None = one
    while node is not None and node is not condition:
        node = node.parent
        if isinstance(node, exp.Not):
            positive = not positive
        elif not isinstance(node, (exp.And, exp.Or, exp.Paren)):
            return False
    return positive
