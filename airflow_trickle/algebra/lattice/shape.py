"""The form of a query with a lattice column: ``SELECT keys…, MIN(x) AS column FROM … GROUP BY keys…``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from airflow_trickle.algebra.building import offset_of
from airflow_trickle.algebra.scalars import Scalar
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.identifiers import fold

_AGGREGATES: dict[str, type[exp.Expr]] = {"min": exp.Min, "max": exp.Max}
#: Clauses that may drop, number or repeat the rows that the aggregate made.
_CLAUSES = {
    "distinct": "DISTINCT",
    "having": "HAVING",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}
_SETS = ("rollup", "cube", "grouping_sets", "totals")
_GROUPINGS = (exp.GroupingSets, exp.Rollup, exp.Cube, exp.Tuple)


class NotALattice(Exception):
    """A query that has not the form it must have: what is wrong, and where."""

    def __init__(self, offset: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.problem = QueryProblem(offset, message, hint)


@dataclass(frozen=True)
class LatticeShape:
    """The outermost SELECT of a query with a lattice column."""

    select: exp.Expr
    #: The names of its columns, as written.
    columns: tuple[str, ...]
    #: The lattice column, as the query writes it; ``min`` or ``max``; and what is aggregated.
    column: str
    best: str
    argument: exp.Expr
    #: The other columns: the keys of the groups.
    keys: tuple[exp.Expr, ...]


def shape_of(tree: exp.Expr, column: str, best: str) -> LatticeShape:
    """The parts of a query that a lattice column needs.

    Args:
        tree: The query as it was parsed.
        column: The lattice column.
        best: ``min`` or ``max``.

    Raises:
        NotALattice: the query has another form.
    """
    form = f"Write SELECT keys…, {best.upper()}(x) AS {column} FROM … GROUP BY keys…."  # noqa: S608  for people
    if not isinstance(tree, exp.Select):
        raise NotALattice(0, f"lattice: the query is no SELECT … GROUP BY, but {_kind(tree)}.", form)
    _check_clauses(tree, form)
    items: list[exp.Expr] = tree.expressions
    for item in items:
        if item.is_star:
            raise NotALattice(offset_of(item), "lattice: the SELECT has a star.", form)
    index = _index(items, column, form)
    aggregate = items[index].unalias()
    if type(aggregate) is not _AGGREGATES[best] or aggregate.expressions or isinstance(aggregate.this, exp.Distinct):
        raise NotALattice(offset_of(items[index]), *_other_value(items[index], aggregate, best, form))
    others = [item for at, item in enumerate(items) if at != index]
    _check_keys(tree.args["group"], items, others, form)
    return LatticeShape(
        tree, tuple(_name(item) for item in items), _name(items[index]), best, aggregate.this, tuple(others)
    )


def _kind(tree: exp.Expr) -> str:
    return tree.key.upper() if isinstance(tree, (exp.SetOperation, exp.Values)) else "in parentheses"


def _check_clauses(select: exp.Expr, form: str) -> None:
    for clause, word in _CLAUSES.items():
        part = select.args.get(clause)
        if part:
            first = part[0] if isinstance(part, list) else part
            raise NotALattice(offset_of(first, offset_of(select)), f"lattice: the SELECT has {word}.", form)
    group = select.args.get("group")
    if group is None:
        raise NotALattice(offset_of(select), "lattice: the SELECT has no GROUP BY.", form)
    grouping = next((key for key in group.expressions if isinstance(key, _GROUPINGS)), None)
    if grouping is not None or any(group.args.get(name) for name in _SETS):
        message = "lattice: the SELECT has several groupings (ROLLUP, CUBE or GROUPING SETS)."
        raise NotALattice(offset_of(grouping or group), message, form)


def _index(items: Sequence[exp.Expr], column: str, form: str) -> int:
    found = [at for at, item in enumerate(items) if fold(_name(item)) == fold(column)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotALattice(offset_of(items[found[1]]), f"lattice: two columns are named '{column}'.", "Rename one.")
    names = ", ".join(f"'{_name(item)}'" for item in items if _name(item))
    told = f"its columns are {names}" if names else "no column has a name"
    raise NotALattice(offset_of(items[0]), f"lattice: the query has no column '{column}'; {told}.", form)


def _other_value(item: exp.Expr, value: exp.Expr, best: str, form: str) -> tuple[str, str]:
    name = _name(item)
    message = f"lattice: '{name}' is {Scalar(value).text}, but must be {best.upper()}(…) of one value."
    other = next((word for word, kind in _AGGREGATES.items() if type(value) is kind and word != best), None)
    return message, form if other is None else f"Write {best.upper()}, or set lattice: {{{name}: {other}}}."


def _check_keys(group: exp.Expr, items: Sequence[exp.Expr], others: Sequence[exp.Expr], form: str) -> None:
    """Every key of the groups is shown, and nothing else beside the lattice column."""
    if group.args.get("all"):
        # The keys are then all columns without an aggregate.
        for item in others:
            if item.find(exp.AggFunc) is not None or not item.find(exp.Column):
                _refuse_item(item, form)
        return
    shown = {id(item): False for item in others}
    for key in group.expressions:
        same = [item for item in others if _is_key(item, key, items)]
        if not same:
            message = f"lattice: the key {Scalar(key).text} of GROUP BY is not shown."
            raise NotALattice(offset_of(key), message, form)
        shown.update({id(item): True for item in same})
    for item in others:
        if not shown[id(item)]:
            _refuse_item(item, form)


def _refuse_item(item: exp.Expr, form: str) -> None:
    message = f"lattice: the column {Scalar(item).text} is no key of GROUP BY."
    raise NotALattice(offset_of(item), message, form)


def _is_key(item: exp.Expr, key: exp.Expr, items: Sequence[exp.Expr]) -> bool:
    if isinstance(key, exp.Literal) and key.is_int:
        return 0 < int(key.name) <= len(items) and items[int(key.name) - 1] is item
    value = item.unalias()
    if _folded(value) == _folded(key):
        return True
    if not isinstance(key, exp.Column):
        return False
    if isinstance(value, exp.Column) and fold(value.name) == fold(key.name):
        # With one of them unqualified, both are the only column of that name.
        return not value.table or not key.table
    return not key.table and fold(_name(item)) == fold(key.name)


def _folded(expression: exp.Expr) -> str:
    return fold(Scalar(expression).text)


def _name(item: exp.Expr) -> str:
    return item.alias_or_name
