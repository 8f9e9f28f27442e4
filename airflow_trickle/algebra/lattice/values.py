"""Which expressions and conditions keep a value improving: a better one in gives a better one out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlglot import exp

from airflow_trickle.algebra.building import offset_of
from airflow_trickle.algebra.lattice.columns import Found, Improving, Scope
from airflow_trickle.algebra.scalars import Scalar
from airflow_trickle.algebra.syntax import QueryProblem

#: Queries inside expressions.
QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
#: Rounding to one of these keeps the order of numbers; the order of texts is another one.
_NUMBERS = {
    exp.DType.TINYINT,
    exp.DType.SMALLINT,
    exp.DType.INT,
    exp.DType.BIGINT,
    exp.DType.FLOAT,
    exp.DType.DOUBLE,
    exp.DType.DECIMAL,
}
#: Of a comparison whose left side improves, the lattice that it suits.
_COMPARISONS: dict[type[exp.Expr], str] = {exp.LT: "min", exp.LTE: "min", exp.GT: "max", exp.GTE: "max"}
_OTHER = {"min": "max", "max": "min"}
#: The function that prefers the worse of two values, and so hides a NULL that is no value yet.
_WORSE: dict[str, type[exp.Expr]] = {"min": exp.Greatest, "max": exp.Least}

_LONGEST = 60


def allowed(value: Improving) -> str:
    """What a query may do with a lattice column."""
    name, sign = value.column, "<" if value.best == "min" else ">"
    return (
        f"Allowed are the column itself, {name} + x, {name} - x, least(), greatest() and CAST to a number on the way "
        f"into {value.best.upper()}(…), and in WHERE and in ON of inner joins {name} {sign} x, {name} {sign}= x and "
        f"{name} IS NOT NULL, where x has no lattice column."
    )


def misuse(value: Improving, part: exp.Expr | None, where: str = "") -> QueryProblem:
    """The problem of a lattice column that is used as it must not be."""
    shown = where or f"in {_shortened(Scalar(part).text if part is not None else '')}"
    message = (
        f"the lattice column '{value.column}' of '{value.member}' is used {shown}, where a better value may take rows "
        "away or make other values worse."
    )
    return QueryProblem(value.offset, message, allowed(value))


class Values:
    """Judges the expressions of one SELECT.

    Args:
        scope: What they see.
        problems: Fills with what is wrong.
        subquery: Judges a query inside an expression.
    """

    def __init__(self, scope: Scope, problems: list[QueryProblem], subquery: Callable[[exp.Expr, Scope], None]) -> None:
        self._scope = scope
        self._problems = problems
        self._subquery = subquery

    def free(self, part: exp.Expr, where: str = "") -> None:
        """Refuses any lattice column in an expression."""
        for found in self._uses(part):
            self._problems.append(misuse(found.value, part, where))
            return
        for query in _queries(part):
            self._subquery(query, self._scope)

    def value(self, part: exp.Expr) -> Improving | None:
        """The improving value that an expression makes of a lattice column; None if it has none, or a wrong one."""
        if not any(True for _ in self._uses(part)):
            self.free(part)
            return None
        inner = part.unnest().unalias().unnest()
        if isinstance(inner, exp.Column):
            return self._column(inner, part)
        if isinstance(inner, (exp.Add, exp.Sub)):
            return self._sum(inner)
        if isinstance(inner, (exp.Cast, exp.TryCast)) and inner.to.this in _NUMBERS and not inner.args.get("safe"):
            return self.value(inner.this)
        if isinstance(inner, (exp.Least, exp.Greatest)):
            return self._best_of(inner)
        self.free(inner)
        return None

    def _column(self, column: exp.Expr, part: exp.Expr) -> Improving | None:
        found = self._scope.find(column)
        if found is None or found.plain:
            return None if found is None else found.value
        self._problems.append(misuse(found.value, part))
        return None

    def _sum(self, part: exp.Expr) -> Improving | None:
        sides = [part.this, part.expression]
        uses = [any(True for _ in self._uses(side)) for side in sides]
        if all(uses) or (uses[1] and isinstance(part, exp.Sub)):
            self.free(part)
            return None
        self.free(sides[uses.index(False)])
        value = self.value(sides[uses.index(True)])
        return None if value is None else replace(value, may_be_null=True)

    def _best_of(self, part: exp.Expr) -> Improving | None:
        values = [self.value(one) for one in (part.this, *part.expressions)]
        known = [value for value in values if value is not None]
        if not known:
            return None
        other = next((value for value in known if value.best != known[0].best), None)
        if other is not None:
            self._problems.append(misuse(other, part))
            return None
        unsure = next((value for value in known if value.may_be_null), None)
        if unsure is not None and isinstance(part, _WORSE[unsure.best]):
            self._problems.append(_skips_null(unsure, part))
            return None
        return replace(known[0], may_be_null=unsure is not None and len(known) == 1)

    def guards(self, condition: exp.Expr) -> None:
        """Notes the columns of which a condition lets no NULL pass."""
        for part in conjuncts(condition):
            asked = part.this.this if _is_not_null(part) else None
            sides = [asked] if asked is not None else []
            if type(part) in _COMPARISONS:
                sides = [part.this, part.expression]
            for side in sides:
                column = _null_if(side)
                if column is not None and self._scope.find(column) is not None:
                    self._scope.mark_sure(column)

    def condition(self, condition: exp.Expr) -> None:
        """Refuses a condition that a better value may not meet any more."""
        for part in conjuncts(condition):
            if _is_not_null(part) and isinstance(part.this.this.unnest(), exp.Column):
                self.value(part.this.this)
            elif type(part) in _COMPARISONS:
                self._comparison(part)
            else:
                self.free(part)

    def _comparison(self, part: exp.Expr) -> None:
        sides = [part.this, part.expression]
        uses = [any(True for _ in self._uses(side)) for side in sides]
        if uses.count(True) != 1:
            self.free(part)
            return
        at = uses.index(True)
        best = _COMPARISONS[type(part)]
        value = self.value(sides[at])
        self.free(sides[1 - at])
        if value is not None and value.best != (best if at == 0 else _OTHER[best]):
            self._problems.append(misuse(value, part))

    def _uses(self, part: exp.Expr) -> Iterator[Found]:
        """The lattice columns of an expression, those inside its subqueries left out."""
        for node in part.walk(prune=lambda node: isinstance(node, QUERIES)):
            if isinstance(node, exp.Column):
                found = self._scope.find(node)
            elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Column):
                found = self._scope.find(exp.Column(this=exp.Star()))
            else:
                found = None
            if found is not None:
                yield found


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a condition that must all be true."""
    stack = [condition]
    while stack:
        part = stack.pop().unnest()
        if isinstance(part, exp.And):
            stack += [part.expression, part.this]
        else:
            yield part


def _queries(part: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost queries inside an expression."""
    for node in part.walk(prune=lambda node: isinstance(node, QUERIES)):
        if isinstance(node, QUERIES):
            yield node


def _is_not_null(part: exp.Expr) -> bool:
    inner = part.this if isinstance(part, exp.Not) else None
    return isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)


def _null_if(part: exp.Expr) -> exp.Expr | None:
    """The column whose NULL makes an expression NULL, if that is plain."""
    inner = part.unnest()
    while isinstance(inner, (exp.Cast, exp.TryCast)):
        inner = inner.this.unnest()
    return inner if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star) else None


def _skips_null(value: Improving, part: exp.Expr) -> QueryProblem:
    function = "greatest" if isinstance(part, exp.Greatest) else "least"
    message = (
        f"the lattice column '{value.column}' of '{value.member}' is used in {_shortened(Scalar(part).text)}, and "
        f"{function}() skips NULL: a group without a value yet would give a better value than it does later."
    )
    return QueryProblem(value.offset or offset_of(part), message, f"Add WHERE {value.column} IS NOT NULL.")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line}'" if len(line) <= _LONGEST else f"'{line[: _LONGEST - 1]}…'"
