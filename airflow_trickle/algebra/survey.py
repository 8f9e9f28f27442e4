"""What stands in each SELECT of a query: aggregates, windows, generators, subqueries; and doubtful functions.

Filled in the one walk that also finds the references, so that building the tree looks at no expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_trickle.algebra import functions
from airflow_trickle.algebra.calls import call_of
from airflow_trickle.algebra.parsing import QUERIES
from airflow_trickle.algebra.row_order import WRAPPINGS, why_unordered, why_window_unordered
from airflow_trickle.identifiers import fold

#: An aggregate in one of these is that of a query around it.
_NO_AGGREGATES = ("where", "joins", "from_")
#: Where a subquery is a relation and not part of an expression.
_RELATIONAL = (
    exp.From,
    exp.Join,
    exp.Lateral,
    exp.CTE,
    exp.SetOperation,
    exp.Subquery,
    exp.Exists,
    exp.In,
    exp.Any,
    exp.All,
    exp.Table,
)


@dataclass(frozen=True, order=True)
class Doubt:
    """A function whose answer is not given by its arguments, or its rows: its name, why, and where."""

    offset: int
    name: str
    why: str

    @property
    def told(self) -> str:
        """For people; what is no function is named by several words.

        >>> Doubt(7, "rand", "answers differently on every run").told
        'rand() answers differently on every run'
        """
        return f"{self.name}{'' if ' ' in self.name else '()'} {self.why}"


@dataclass
class Facts:
    """What one SELECT contains, each in the order of the walk."""

    aggregates: list[exp.Expr] = field(default_factory=list)
    windows: list[exp.Expr] = field(default_factory=list)
    generators: list[exp.Expr] = field(default_factory=list)
    #: Names of functions that are not Spark's own.
    unknown: list[str] = field(default_factory=list)
    #: Names of functions that answer differently on every run.
    chance: list[str] = field(default_factory=list)
    #: Whether an aggregate stands where its own query can have none.
    outer_aggregate: bool = False
    #: Clause of the SELECT (where, having, expressions, joins, …) -> the subqueries in its expressions.
    subqueries: dict[str, list[exp.Expr]] = field(default_factory=dict)


class Survey:
    """The facts of every SELECT of a query, by identity."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._facts: dict[int, Facts] = {}
        self._none = Facts()
        self.doubts: list[Doubt] = []
        self.has_subqueries = False

    def of(self, select: exp.Expr) -> Facts:
        """What was seen in that SELECT."""
        return self._facts.get(id(select), self._none)

    def _owner(self, node: exp.Expr) -> tuple[Facts, str]:
        """The facts of the SELECT around a node, and the clause that the node is in."""
        child, parent = node, node.parent
        while parent is not None and not isinstance(parent, (exp.Select, exp.Pivot)):
            child, parent = parent, parent.parent
        if parent is None or isinstance(parent, exp.Pivot):
            # ORDER BY of a set operation, or a PIVOT, which aggregates by itself.
            return Facts(), ""
        return self._facts.setdefault(id(parent), Facts()), str(child.arg_key)

    def aggregate(self, node: exp.Expr) -> None:
        """An aggregate function, unless it is the function of an OVER."""
        outer, parent = node, node.parent
        while isinstance(parent, WRAPPINGS) and parent.this is outer:
            outer, parent = parent, parent.parent
        if not (isinstance(parent, exp.Window) and parent.this is outer):
            facts, clause = self._owner(node)
            if clause in _NO_AGGREGATES:
                facts.outer_aggregate = True
            facts.aggregates.append(outer)
            name = self.written(node)
            why = None if name is None else why_unordered(node, name)
            if name is not None and why is not None:
                self.doubts.append(Doubt(node.meta["start"], fold(name), why))

    def any_(self, node: exp.Expr) -> None:
        """ANY: of a query it compares, behind LIKE it lists patterns, else it is an aggregate."""
        if isinstance(node.this, QUERIES):
            self.subquery(node, 0)
        elif not isinstance(node.parent, (exp.Like, exp.ILike)):
            self.aggregate(node)

    def window(self, node: exp.Expr, offset: int) -> None:
        """A window function; the definitions of WINDOW are no functions."""
        if node.arg_key == "windows":
            return
        self._owner(node)[0].windows.append(node)
        found = why_window_unordered(node, self.written)
        if found is not None:
            call, why = found
            self.doubts.append(Doubt(call.meta.get("start", offset), fold(self.written(call) or call.key), why))

    def generator(self, node: exp.Expr) -> None:
        """A function that makes rows; in FROM and LATERAL VIEW it is a relation of its own."""
        if not isinstance(node.parent, (exp.Lateral, exp.Table)):
            self._owner(node)[0].generators.append(node)

    def subquery(self, node: exp.Expr, offset: int) -> None:
        """EXISTS, IN, ANY, ALL or a scalar subquery; a subquery in FROM is none."""
        if isinstance(node, exp.Subquery) and _is_relation(node):
            return
        if isinstance(node, exp.In):
            _read_list(node)
            if node.args.get("query") is None:
                return
            if not _is_condition(node):
                # Folded by the optimizer it is NULL, computed by a join it is false.
                why = "is NULL or false where it is unknown, as Spark happens to plan it"
                self.doubts.append(Doubt(offset, "IN (SELECT …) as a value", why))
        if isinstance(node, (exp.Exists, exp.All)) and not isinstance(node.this, QUERIES):
            return
        self.has_subqueries = True
        facts, clause = self._owner(node)
        facts.subqueries.setdefault(clause, []).append(node)

    def doubtful(self, node: exp.Expr, offset: int) -> None:
        """A function known not to be deterministic."""
        self.named(node, _name(node), offset)

    def literal(self, node: exp.Expr, offset: int) -> None:
        """A string such as 'today': where Spark makes a date of it, written so or not, it means the current one."""
        if node.args.get("is_string") and isinstance(node.parent, (exp.Func, exp.Predicate)):
            word = fold(node.name.strip()).partition(" ")[0]
            if word in functions.CLOCK_WORDS:
                why = f"is what '{word}' means as a date or time, and depends on when it runs"
                self.doubts.append(Doubt(offset, "current_timestamp", why))

    def written(self, node: exp.Expr) -> str | None:
        """The name of a function as the text has it; None for syntax such as CASE."""
        return call_of(node, self._text)

    def called(self, node: exp.Expr, offset: int) -> None:
        """A function that the parser knows, maybe of another database."""
        name = self.written(node)
        if name is not None and (_schema_of(node) or fold(name) not in functions.KNOWN):
            self.named(node, name, offset)
        elif isinstance(node, exp.AggFunc):
            self.aggregate(node)

    def foreign(self, node: exp.Expr, offset: int) -> None:
        """What the parser makes of functions that only other databases have, and takes for no function."""
        self.named(node, self.written(node) or node.key, offset)

    def hint(self, node: exp.Expr, offset: int) -> None:
        """The name of a hint, which outside of hints is a function like any other."""
        if not isinstance(node.parent, exp.Hint):
            self.named(node, str(node.this), offset)

    def named(self, node: exp.Expr, name: str, offset: int) -> None:
        """Any other function, by its name."""
        # With a schema before it, it is not Spark's own, whatever its name.
        key = fold(f"{_schema_of(node)}{name}")
        why = functions.NON_DETERMINISTIC.get(key) or functions.MERGING.get(key)
        if why is not None:
            self.doubts.append(Doubt(offset, key, why))
            if key in functions.CHANCE:
                self._owner(node)[0].chance.append(key)
        elif key in functions.AGGREGATES:
            self.aggregate(node)
        elif key in functions.GENERATORS:
            self.generator(node)
        elif key not in functions.KNOWN and not isinstance(node.parent, (exp.Table, exp.Hint)):
            facts, clause = self._owner(node)
            facts.unknown.append(name)
            if not clause:
                self.doubts.append(Doubt(offset, name, "is not one of Spark's own functions"))


def _is_condition(node: exp.Expr) -> bool:
    """Whether it only matters if a predicate is true, not whether it is otherwise false or NULL."""
    parent = node.parent
    while isinstance(parent, (exp.Paren, exp.And, exp.Or, exp.Not)):
        node, parent = parent, parent.parent
    if isinstance(parent, exp.If):
        return node.arg_key == "this" and not (isinstance(parent.parent, exp.Case) and parent.parent.this is not None)
    return isinstance(parent, (exp.Where, exp.Having, exp.Qualify)) or (
        isinstance(parent, exp.Join) and node.arg_key == "on"
    )


def _schema_of(node: exp.Expr) -> str:
    """The name and the dot that stand before a function; behind it, a dot takes a field of its answer."""
    parent = node.parent
    return f"{parent.this}." if isinstance(parent, exp.Dot) and node.arg_key == "expression" else ""


def _read_list(node: exp.Expr) -> None:
    """IN ((SELECT …)): to Spark, doubled parentheses hold a list of one scalar subquery, not a query."""
    query = node.args.get("query")
    inner = query.this if isinstance(query, exp.Subquery) else None
    if isinstance(inner, exp.Subquery) and not any(value for key, value in inner.args.items() if key != "this"):
        node.set("query", None)
        node.set("expressions", [inner])


def _is_relation(node: exp.Expr) -> bool:
    """Whether a subquery is read like a table; on the left of IN, in its list, and as ON it is a value."""
    if isinstance(node.parent, exp.In):
        return bool(node.arg_key == "query")
    return node.parent is None or (isinstance(node.parent, _RELATIONAL) and node.arg_key != "on")


def _name(node: exp.Expr) -> str:
    names = type(node).sql_names() if isinstance(node, exp.Func) else []
    return next((fold(name) for name in names if fold(name) in functions.NON_DETERMINISTIC), node.key)


_DOUBTFUL: tuple[type[exp.Expr], ...] = (
    exp.Rand,
    exp.Randn,
    exp.Randstr,
    exp.Uniform,
    exp.Uuid,
    exp.Shuffle,
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentDatetime,
    exp.Localtimestamp,
    exp.CurrentUser,
    exp.SessionUser,
    exp.CurrentDatabase,
    exp.CurrentSchema,
    exp.CurrentCatalog,
    exp.CurrentTimezone,
)
_GENERATORS: tuple[type[exp.Expr], ...] = (
    exp.Explode,
    exp.ExplodeOuter,
    exp.Posexplode,
    exp.PosexplodeOuter,
    exp.Inline,
    exp.Stack,
)

_FOREIGN: tuple[type[exp.Expr], ...] = (exp.ConnectByRoot, exp.Glob, exp.ScopeResolution)

Visit = Callable[[Survey, exp.Expr, int], None]

#: The first that a class derives from decides what the survey does with it.
_VISITS: tuple[tuple[tuple[type[exp.Expr], ...], Visit], ...] = (
    ((exp.Window,), Survey.window),
    ((exp.Any,), lambda survey, node, _: survey.any_(node)),
    ((exp.Exists, exp.In, exp.All, exp.Subquery), lambda survey, node, offset: survey.subquery(node, offset)),
    (_DOUBTFUL, Survey.doubtful),
    (_GENERATORS, lambda survey, node, _: survey.generator(node)),
    ((exp.Literal,), Survey.literal),
    ((exp.Anonymous,), lambda survey, node, offset: survey.named(node, str(node.this), offset)),
    ((exp.JoinHint,), Survey.hint),
    (_FOREIGN, Survey.foreign),
    ((exp.Func,), Survey.called),
)


def visit_of(kind: type[exp.Expr]) -> Visit | None:
    """What the survey does with a class of expressions; None for those that it passes over."""
    return next((visit for kinds, visit in _VISITS if issubclass(kind, kinds)), None)
