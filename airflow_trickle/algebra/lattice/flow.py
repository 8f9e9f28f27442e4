"""The way of lattice columns through a query: from the tables of a cycle to what the query shows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from airflow_trickle.algebra.building import offset_of
from airflow_trickle.algebra.lattice.columns import (
    UNKNOWN,
    Column,
    Columns,
    Improving,
    Relation,
    Scope,
    first_improving,
    renamed,
)
from airflow_trickle.algebra.lattice.shape import LatticeShape
from airflow_trickle.algebra.lattice.values import Values, misuse
from airflow_trickle.algebra.scope import cte_seen
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import fold

_WRITE_OUT = "Write the columns out, each with the alias of its table."
_SUBQUERY = "inside a subquery"


@dataclass(frozen=True)
class Member:
    """A table of the cycle that has a lattice column, as others read it."""

    name: str
    columns: tuple[str, ...]
    column: str
    best: str

    def seen_at(self, offset: int) -> Columns:
        """Its columns where a query reads it."""
        value = Improving(self.name, self.column, self.best, offset)
        folded = fold(self.column)
        return tuple(Column(fold(name), value if fold(name) == folded else None) for name in self.columns)


def check_uses(
    tree: exp.Expr, table: str, shape: LatticeShape | None, members: Mapping[int, Member]
) -> tuple[QueryProblem, ...]:
    """What is wrong with the way in which a query of a cycle uses lattice columns.

    Args:
        tree: The query as it was parsed.
        table: The stream table.
        shape: Its outermost SELECT if it has a lattice column itself.
        members: By the place where the query names it, what it reads of the cycle that has a lattice column.
    """
    flow = _Flow(members)
    if shape is None:
        shown = first_improving(flow.columns(tree, None, strict=False))
        if shown is not None:
            problem = misuse(shown, None, f"as a column of '{table}', which has no lattice")
            flow.problems.append(replace(problem, hint=f"Give '{table}' a lattice too, or leave the column out."))
    else:
        flow.outermost(shape)
    return tuple(dict.fromkeys(flow.problems))


class _Flow:
    """Follows the columns of all queries inside one query."""

    def __init__(self, members: Mapping[int, Member]) -> None:
        self.problems: list[QueryProblem] = []
        self._members = members
        self._ctes: dict[int, Columns] = {}

    def outermost(self, shape: LatticeShape) -> None:
        """The SELECT that keeps the best value of each group."""
        values = Values(self._scope(shape.select, None, strict=False), self.problems, self._inside)
        for key in shape.keys:
            values.free(key.unalias(), "as a key of the groups")
        value = values.value(shape.argument)
        if value is not None and value.best != shape.best:
            self.problems.append(misuse(value, None, f"in {shape.best.upper()}(…)"))

    def columns(self, query: exp.Expr, outer: Scope | None, *, strict: bool, exists: bool = False) -> Columns:
        """The columns of a query; ``strict``: none may come from a lattice column; ``exists``: none is looked at."""
        if isinstance(query, exp.Select):
            return self._select(query, outer, strict=strict, exists=exists)
        if isinstance(query, exp.Subquery):
            return self._parenthesized(query, outer, strict=strict)
        if isinstance(query, exp.SetOperation):
            left = self.columns(query.this, outer, strict=strict)
            right = self.columns(query.expression, outer, strict=strict)
            return self._combined(query, left, right)
        return UNKNOWN

    def _inside(self, query: exp.Expr, outer: Scope) -> None:
        """A query inside an expression."""
        self.columns(query, outer, strict=True, exists=isinstance(query.parent, exp.Exists))

    def _parenthesized(self, query: exp.Expr, outer: Scope | None, *, strict: bool) -> Columns:
        if not isinstance(query.this, exp.Table):
            return self._pivoted(query, self.columns(query.this, outer, strict=strict))
        # A table with its joins: more names than one relation has.
        for item in (query.this, *(join.this for join in query.this.args.get("joins") or ())):
            value = first_improving(self._relation(item, Scope(outer=outer), strict=strict).columns)
            if value is not None:
                self._refuse(value, "in a join between parentheses", "Write the join without parentheses.")
        return UNKNOWN

    def _combined(self, query: exp.Expr, left: Columns, right: Columns) -> Columns:
        value = first_improving((*left, *right))
        if value is None:
            return left
        if not isinstance(query, exp.Union):
            self._refuse(value, f"in {query.key.upper()}, which compares it", None)
            return UNKNOWN
        if query.args.get("by_name") or any(one.star for one in (*left, *right)) or len(left) != len(right):
            self._lose(value, "in a UNION whose columns are not all written out")
            return UNKNOWN
        return tuple(self._either(one, other) for one, other in zip(left, right, strict=True))

    def _either(self, one: Column, other: Column) -> Column:
        values = [column.value for column in (one, other) if column.value is not None]
        if not values:
            return one
        if values[-1].best != values[0].best:
            self.problems.append(misuse(values[-1], None, "in a UNION with a column that improves the other way"))
        return replace(one, value=replace(values[0], may_be_null=True))

    def _select(self, select: exp.Expr, outer: Scope | None, *, strict: bool, exists: bool) -> Columns:
        scope = self._scope(select, outer, strict=strict)
        values = Values(scope, self.problems, self._inside)
        found: list[Column] = []
        for item in select.expressions:
            found.append(self._item(item, scope, values, strict=strict, exists=exists))
        return tuple(found)

    def _item(self, item: exp.Expr, scope: Scope, values: Values, *, strict: bool, exists: bool) -> Column:
        if item.is_star:
            if not exists:
                shown = scope.find(item if isinstance(item, exp.Column) else exp.Column(this=item.copy()))
                if shown is not None:
                    at = replace(shown.value, offset=offset_of(item, shown.value.offset))
                    self._lose(at, "under a star")
            return Column(star=True)
        if strict:
            values.free(item.unalias(), _SUBQUERY)
            return Column(fold(item.alias_or_name) or None)
        value = values.value(item)
        name = fold(item.alias_or_name) or None
        if value is not None and name is not None:
            scope.items[name] = value
        return Column(name, value)

    def _scope(self, select: exp.Expr, outer: Scope | None, *, strict: bool) -> Scope:
        """The relations of FROM, with the conditions on them judged."""
        scope = Scope(outer=outer)
        from_ = select.args.get("from_")
        joins: list[exp.Expr] = list(select.args.get("joins") or ())
        if from_ is not None:
            scope.relations.append(self._relation(from_.this, scope, strict=strict))
            joins = [*(from_.this.args.get("joins") or ()), *joins]
        for join in joins:
            scope.relations.append(self._relation(join.this, scope, strict=strict))
        values = Values(scope, self.problems, self._inside)
        inner = [join.args["on"] for join in joins if join.args.get("on") is not None and _keeps_matches(join)]
        where = select.args.get("where")
        conditions = [*inner, *([] if where is None else [where.this])]
        for condition in conditions:
            values.guards(condition)
        for condition in conditions:
            if strict:
                values.free(condition, _SUBQUERY)
            else:
                values.condition(condition)
        for join in joins:
            self._join(join, scope, values)
        for view in (*(select.args.get("laterals") or ()), *_views(from_)):
            values.free(view.this)
        return scope

    def _join(self, join: exp.Expr, scope: Scope, values: Values) -> None:
        on = join.args.get("on")
        if on is not None and not _keeps_matches(join):
            values.free(on, f"in the ON of a {_words(join)}")
        natural = (join.args.get("method") or "").upper() == "NATURAL"
        names = {fold(name.name) for name in join.args.get("using") or ()}
        for relation in scope.relations:
            for column in relation.columns:
                if column.value is not None and (natural or column.name in names):
                    self._refuse(column.value, "as a key of a join", None)
                    return

    def _relation(self, item: exp.Expr, scope: Scope, *, strict: bool) -> Relation:
        alias = fold(item.alias_or_name)
        if isinstance(item, exp.Table):
            columns = self._table(item)
        elif isinstance(item, exp.Subquery):
            columns = self._parenthesized(item, scope.outer, strict=strict)
        else:
            self._lateral(item, scope)
            columns = UNKNOWN
        value = first_improving(columns)
        names = renamed(self._pivoted(item, columns), _names_of(item))
        if names is None and value is not None:
            self._lose(value, "under a list of names, and the columns below are not all written out")
        return Relation(alias, names or UNKNOWN)

    def _table(self, table: exp.Expr) -> Columns:
        parts = table.parts  # type: ignore[attr-defined]
        if not all(isinstance(part, exp.Identifier) for part in parts):
            return UNKNOWN
        start = offset_of(parts[0])
        member = self._members.get(start)
        if member is not None:
            return member.seen_at(start)
        seen = cte_seen(table, fold(parts[0].name)) if len(parts) == 1 else None
        return UNKNOWN if seen is None else self._cte(seen.definition)

    def _cte(self, cte: exp.Expr) -> Columns:
        if id(cte) not in self._ctes:
            # A recursive one that reads itself sees nothing that improves: it is refused if there is any.
            self._ctes[id(cte)] = UNKNOWN
            if _is_recursive(cte):
                self._recursive(cte)
                return UNKNOWN
            columns = self.columns(cte.this, None, strict=False)
            names = renamed(columns, _names_of(cte))
            value = first_improving(columns)
            if names is None and value is not None:
                self._lose(value, "under a list of names, and the columns below are not all written out")
            self._ctes[id(cte)] = names or UNKNOWN
        return self._ctes[id(cte)]

    def _recursive(self, cte: exp.Expr) -> None:
        for table in cte.this.find_all(exp.Table):
            value = first_improving(self._table(table))
            if value is not None:
                self._refuse(value, f"inside the recursive CTE '{cte.alias}'", "Read the table outside of it.")
                return

    def _lateral(self, item: exp.Expr, scope: Scope) -> None:
        """A relation that is made for each row of those before it."""
        Values(scope, self.problems, self._inside).free(item)
        for table in item.find_all(exp.Table):
            value = first_improving(self._table(table))
            if value is not None:
                self._refuse(value, "inside LATERAL", "Read the table outside of it.")
                return

    def _pivoted(self, item: exp.Expr, columns: Columns) -> Columns:
        value = first_improving(columns)
        if value is None or not item.args.get("pivots"):
            return columns
        self._refuse(value, "in PIVOT or UNPIVOT", None)
        return UNKNOWN

    def _refuse(self, value: Improving, where: str, hint: str | None) -> None:
        problem = misuse(value, None, where)
        self.problems.append(problem if hint is None else replace(problem, hint=hint))

    def _lose(self, value: Improving, where: str) -> None:
        message = (
            f"the lattice column '{value.column}' of '{value.member}' is read {where}, so where it goes is not known."
        )
        self.problems.append(QueryProblem(value.offset, message, _WRITE_OUT))


def _names_of(item: exp.Expr) -> Sequence[str]:
    alias = item.args.get("alias")
    columns = alias.args.get("columns") if isinstance(alias, exp.TableAlias) else None
    return [column.name for column in columns or ()]


def _keeps_matches(join: exp.Expr) -> bool:
    """Whether a match of the ON can only add rows: of an inner or a semi-join."""
    side, kind = ((join.args.get(key) or "").upper() for key in ("side", "kind"))
    return kind == "SEMI" or (not side and kind in ("", "INNER", "CROSS"))


def _words(join: exp.Expr) -> str:
    words = ((join.args.get(key) or "").upper() for key in ("side", "kind"))
    return " ".join((*(word for word in words if word), "JOIN"))


def _views(from_: exp.Expr | None) -> Sequence[exp.Expr]:
    return () if from_ is None else from_.this.args.get("laterals") or ()


def _is_recursive(cte: exp.Expr) -> bool:
    with_ = cte.parent
    if not isinstance(with_, exp.With) or not with_.args.get("recursive"):
        return False
    own = fold(cte.alias)
    return any(fold(table.name) == own for table in cte.this.find_all(exp.Table))
