"""The FROM clause of a query: tables, joins, lateral views, PIVOT and UNPIVOT."""

from __future__ import annotations

from sqlglot import exp

from airflow_trickle.algebra import functions, nodes
from airflow_trickle.algebra.building import Builder, Pending, Scope, offset_of, unknown_parts
from airflow_trickle.algebra.ctes import with_clause
from airflow_trickle.algebra.nodes import JoinKind, Node
from airflow_trickle.algebra.predicates import filtered, subquery_of
from airflow_trickle.algebra.scalars import Scalar
from airflow_trickle.identifiers import fold

_TABLE_PARTS = frozenset(["this", "db", "catalog", "alias", "joins", "laterals", "pivots", "hints"])
_SUBQUERY_PARTS = frozenset(["this", "alias", "joins", "laterals", "pivots", "with_", "order", "limit", "offset"])
_JOIN_PARTS = frozenset(["this", "side", "kind", "method", "on", "using", "pivots", "hint"])
_LATERAL_PARTS = frozenset(["this", "view", "outer", "alias"])
#: Side and kind as written -> what it is.
_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.CROSS,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}


def from_clause(builder: Builder, select: exp.Expr, scope: Scope) -> Node:
    """What a SELECT reads before WHERE; without FROM one row."""
    from_ = select.args.get("from_")
    if from_ is None:
        return nodes.Values(offset_of(select), 1)
    tree = relation(builder, from_.this, scope)
    return _extended(builder, tree, select, scope)


def relation(builder: Builder, item: exp.Expr, scope: Scope) -> Node:
    """One item of FROM, with the joins inside its parentheses and its PIVOT."""
    if isinstance(item, exp.Table):
        tree = _table(builder, item, scope)
    elif isinstance(item, exp.Subquery):
        tree = limited(item, with_clause(builder, item, scope, lambda inner: _inside(builder, item.this, inner)))
        strange = unknown_parts(item, _SUBQUERY_PARTS)
        if strange:
            return builder.opaque(item, f"{strange[0].upper()} of a subquery is not understood", (tree,))
    elif isinstance(item, exp.Lateral):
        tree = _lateral(builder, item, scope)
    elif isinstance(item, exp.Values):
        tree = builder.query(item, scope)
    else:
        return builder.opaque(item, f"{item.key.upper()} in FROM is not understood", ())
    return _extended(builder, _pivoted(builder, tree, item.args.get("pivots")), item, scope)


def _inside(builder: Builder, inner: exp.Expr, scope: Scope) -> Node:
    """What parentheses in FROM hold: a query, or a table with its joins."""
    return relation(builder, inner, scope) if isinstance(inner, exp.Table) else builder.query(inner, scope)


def _extended(builder: Builder, tree: Node, owner: exp.Expr, scope: Scope) -> Node:
    """The joins behind a relation, then its lateral views, as Spark reads them."""
    for join in owner.args.get("joins") or ():
        tree = _joined(builder, tree, join, scope)
    for view in owner.args.get("laterals") or ():
        tree = _lateral_view(builder, tree, view)
    return tree


def _table(builder: Builder, table: exp.Table, scope: Scope) -> Node:
    parts = table.parts
    alias = table.alias or None
    if not all(isinstance(part, exp.Identifier) for part in parts):
        return _table_function(builder, table)
    strange = unknown_parts(table, _TABLE_PARTS)
    start = offset_of(parts[0])
    name = ".".join(part.name for part in parts)
    found = scope.get(fold(name)) if len(parts) == 1 else None
    if isinstance(found, Pending):
        builder.recursive.add(found.at)
        tree: Node = nodes.SelfReference(start, found.name, found.at, alias)
    elif found is not None:
        tree = nodes.CteScan(start, found, alias)
    else:
        tree = nodes.Scan(start, name, alias)
    if strange:
        return builder.opaque(table, f"{strange[0].upper()} of a table is not understood", (tree,))
    return tree


def _table_function(builder: Builder, table: exp.Table) -> Node:
    return _unknown_rows(builder, table, table.this) or nodes.TableFunction(offset_of(table), Scalar(table.this))


def _unknown_rows(builder: Builder, item: exp.Expr, call: exp.Expr) -> Node | None:
    """An opaque part for a function in FROM that is not Spark's own; None for the others."""
    name = str(call.this) if isinstance(call, exp.Anonymous) else builder.survey.written(call)
    if name is None or fold(name) in functions.TABLE_FUNCTIONS:
        return None
    return builder.opaque(item, f"{name}() in FROM is not one of Spark's own functions", ())


def _lateral(builder: Builder, item: exp.Expr, scope: Scope) -> Node:
    """The relation behind LATERAL, which may read columns of those before it."""
    strange = unknown_parts(item, _LATERAL_PARTS)
    if strange:
        return builder.opaque(item, f"{strange[0].upper()} of LATERAL is not understood", ())
    if isinstance(item.this, exp.Subquery):
        return relation(builder, item.this, scope)
    return _unknown_rows(builder, item, item.this) or nodes.TableFunction(offset_of(item), Scalar(item.this))


def _lateral_view(builder: Builder, tree: Node, view: exp.Expr) -> Node:
    strange = unknown_parts(view, _LATERAL_PARTS)
    call = view.this
    name = str(call.this) if isinstance(call, exp.Anonymous) else builder.survey.written(call)
    unknown = name is not None and fold(name) not in functions.GENERATORS
    if strange or unknown:
        what = f"{name}()" if unknown else strange[0].upper()
        return builder.opaque(view, f"{what} of LATERAL VIEW is not understood", (tree,))
    return nodes.Generate(offset_of(view), tree, Scalar(call), bool(view.args.get("outer")), view.alias or None)


def _joined(builder: Builder, left: Node, join: exp.Expr, scope: Scope) -> Node:
    # A PIVOT behind the table of a join is Spark's PIVOT of the whole join.
    pivots = [*(join.this.args.get("pivots") or ()), *(join.args.get("pivots") or ())]
    right = _without_pivots(builder, join.this, scope)
    method = (join.args.get("method") or "").upper()
    kind = _KINDS.get(((join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()))
    strange = unknown_parts(join, _JOIN_PARTS)
    if kind is None or strange or method not in ("", "NATURAL"):
        words = (method, join.args.get("side"), join.args.get("kind"), "JOIN")
        what = f"{strange[0].upper()} of a join" if strange else " ".join(word for word in words if word)
        return builder.opaque(join, f"{what} is not understood", (left, right))
    lateral = isinstance(join.this, exp.Lateral)
    return _pivoted(builder, _join(builder, left, right, join, kind, lateral, scope), pivots)


def _without_pivots(builder: Builder, item: exp.Expr, scope: Scope) -> Node:
    pivots = item.args.get("pivots")
    if not pivots:
        return relation(builder, item, scope)
    item.set("pivots", None)
    try:
        return relation(builder, item, scope)
    finally:
        item.set("pivots", pivots)


def _join(
    builder: Builder, left: Node, right: Node, join: exp.Expr, kind: JoinKind, lateral: bool, scope: Scope
) -> Node:
    on = join.args.get("on")
    subqueries = _subqueries_of(on) if on is not None and builder.survey.has_subqueries else []
    if subqueries and kind is not JoinKind.INNER and kind is not JoinKind.CROSS:
        inner = tuple(builder.query(subquery_of(one), scope) for one in subqueries)
        why = f"a subquery in the ON of a {kind.value} join is not understood"
        return builder.opaque(join, why, (left, right, *inner))
    tree = nodes.Join(
        offset_of(join),
        JoinKind.INNER if kind is JoinKind.CROSS and on is not None else kind,
        left,
        right,
        Scalar(on) if on is not None and not subqueries else None,
        tuple(column.name for column in join.args.get("using") or ()),
        natural=(join.args.get("method") or "").upper() == "NATURAL",
        lateral=lateral,
    )
    # Of an inner join, ON is a filter like any other.
    return filtered(builder, tree, on, subqueries, scope) if subqueries and on is not None else tree


def _subqueries_of(on: exp.Expr) -> list[exp.Expr]:
    """The outermost subqueries of a condition."""
    found: list[exp.Expr] = []
    queries = (exp.Select, exp.SetOperation, exp.Subquery)
    for node in on.walk(prune=lambda node: isinstance(node, queries)):
        inside = node.args.get("query") if isinstance(node, exp.In) else node.this
        asks = isinstance(node, (exp.Exists, exp.In, exp.Any, exp.All)) and isinstance(inside, queries)
        if asks or (isinstance(node, exp.Subquery) and not any(node is subquery_of(one) for one in found)):
            found.append(node)
    return found


def _pivoted(builder: Builder, tree: Node, pivots: list[exp.Expr] | None) -> Node:
    for pivot in pivots or ():
        kind = nodes.Unpivot if pivot.args.get("unpivot") else nodes.Pivot
        tree = kind(offset_of(pivot), tree, Scalar(pivot))
    return tree


def limited(query: exp.Expr, tree: Node) -> Node:
    """ORDER BY with LIMIT or OFFSET; an order alone changes nothing about the rows of a table."""
    limit, skip = query.args.get("limit"), query.args.get("offset")
    if limit is not None and isinstance(limit.expression, exp.Var) and limit.expression.name.upper() == "ALL":
        limit = None
    if limit is None and skip is None:
        return tree
    if limit is not None and (not isinstance(limit, exp.Limit) or unknown_parts(limit, ("expression",))):
        return nodes.Opaque(offset_of(limit), (tree,), "LIMIT", f"{limit.key.upper()} in this form is not understood")
    order = query.args.get("order")
    return nodes.TopK(
        offset_of(order, offset_of(limit or skip)),
        tree,
        tuple(Scalar(one) for one in order.expressions) if order is not None else (),
        Scalar(limit.expression) if limit is not None else None,
        Scalar(skip.expression) if skip is not None else None,
    )
