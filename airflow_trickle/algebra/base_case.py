"""Whether a recursion ever begins: what a query returns while the CTEs it recurs on are empty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from airflow_trickle.algebra.top_with import definition_of

#: Groupings that may have one group for all rows, which is there without any row.
_MANY_GROUPS = (exp.Cube, exp.GroupingSets, exp.Rollup, exp.Tuple)


def always_empty(query: exp.Expr, group: Iterable[exp.Expr]) -> bool:
    """Whether the query surely returns no row as long as the CTEs of the group have none.

    In doubt it says no: a recursion that never begins is useless, refusing a good one is worse.
    """
    return _Judge(group).query(query)


class _Judge:
    """Remembers which CTEs are empty; one that is being judged counts as empty to itself."""

    def __init__(self, group: Iterable[exp.Expr]) -> None:
        self._empty = {id(cte): True for cte in group}

    def query(self, node: exp.Expr | None) -> bool:
        if isinstance(node, exp.Union):
            return self.query(node.this) and self.query(node.expression)
        if isinstance(node, exp.Except):
            return self.query(node.this)
        if isinstance(node, exp.Intersect):
            return self.query(node.this) or self.query(node.expression)
        if isinstance(node, exp.Select):
            return self._select(node)
        return self._source(node)

    def _select(self, select: exp.Expr) -> bool:
        source = select.args.get("from_")
        if source is None or _returns_a_row(select):
            return False
        return self._joined(self._source(source.this), select.args.get("joins") or ()) or self._filtered(select)

    def _source(self, node: exp.Expr | None) -> bool:
        """A table, or a query in parentheses, with what is joined to it inside them."""
        if not isinstance(node, (exp.Table, exp.Subquery)) or node.args.get("pivots"):
            return False
        empty = self._table(node) if isinstance(node, exp.Table) else self.query(node.this)
        return self._joined(empty, node.args.get("joins") or ())

    def _table(self, table: exp.Expr) -> bool:
        cte = definition_of(table)
        if cte is None:
            return False
        if id(cte) not in self._empty:
            self._empty[id(cte)] = True
            self._empty[id(cte)] = self.query(cte.this)
        return self._empty[id(cte)]

    def _joined(self, empty: bool, joins: Sequence[exp.Expr]) -> bool:
        for join in joins:
            side, kind = (str(join.args.get(key) or "").upper() for key in ("side", "kind"))
            other = self._source(join.this)
            if kind == "SEMI" or (kind != "ANTI" and side not in ("LEFT", "RIGHT", "FULL")):
                empty = empty or other
            elif side == "RIGHT":
                empty = other
            elif side == "FULL":
                empty = empty and other
        return empty

    def _filtered(self, select: exp.Expr) -> bool:
        """Whether one of the conditions joined by AND asks for a row of an empty query."""
        where = select.args.get("where")
        if where is None:
            return False
        condition = where.this.unnest()
        terms = condition.flatten() if isinstance(condition, exp.And) else [condition]
        return any(self._asks(term.unnest()) for term in terms)

    def _asks(self, term: exp.Expr) -> bool:
        if isinstance(term, exp.Exists):
            return self.query(term.this)
        return isinstance(term, exp.In) and self.query(term.args.get("query"))


def _returns_a_row(select: exp.Expr) -> bool:
    """Whether the SELECT may make a row of nothing, as an aggregate without GROUP BY does."""
    group = select.args.get("group")
    if group is not None:
        return not group.expressions or group.find(*_MANY_GROUPS) is not None
    # A function that is not known may be an aggregate.
    return bool(select.args.get("having")) or any(
        column.find(exp.AggFunc, exp.Anonymous) is not None for column in select.expressions
    )
