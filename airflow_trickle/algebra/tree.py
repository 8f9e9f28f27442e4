"""From a parsed query to its operator tree, one function per kind of query; needs no catalog.

The order inside a SELECT is SQL's own: FROM, WHERE, GROUP BY, HAVING, windows, QUALIFY, the columns,
DISTINCT, ORDER BY with LIMIT. What is not understood becomes `Opaque`; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.building import QUERIES, Builder, Scope, offset_of, unknown_parts
from airflow_trickle.algebra.ctes import with_clause
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.predicates import filtered, looked_up, subquery_of
from airflow_trickle.algebra.relations import from_clause, limited, relation
from airflow_trickle.algebra.scalars import Scalar
from airflow_trickle.algebra.survey import Facts, Survey
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.algebra.walks import depth
from airflow_trickle.identifiers import fold

Build = Callable[[Builder, exp.Expr, Scope], Node]

_SELECT_PARTS = frozenset(
    ["expressions", "from_", "joins", "laterals", "where", "group", "having", "windows", "qualify", "distinct"]
).union(["order", "limit", "offset", "sort", "cluster", "distribute", "with_", "hint"])
_SET_PARTS = frozenset(["this", "expression", "distinct", "by_name", "with_", "order", "limit", "offset"]).union(
    ["sort", "cluster", "distribute"]
)
#: GROUP BY … WITH ROLLUP and the like.
_SHORT_SETS = ("rollup", "cube", "grouping_sets")
_GROUPINGS = (exp.GroupingSets, exp.Rollup, exp.Cube)


#: What walks a tree walks it by recursion, and Python ends that at about a thousand calls.
_DEEPEST = 400
_TOO_DEEP = QueryProblem(
    0, "the query is nested too deep to be read.", "Make stream tables of its parts, and read those."
)


def build_tree(query: exp.Expr, survey: Survey) -> tuple[Node | None, tuple[QueryProblem, ...]]:
    """The operator tree of a query as sqlglot parsed it, and what is wrong with it."""
    builder = Builder(survey)
    try:
        tree = builder.query(query, {})
    except RecursionError:
        return None, (_TOO_DEEP,)
    return (None, (_TOO_DEEP,)) if depth(tree) > _DEEPEST else (tree, tuple(builder.problems))


def _select(builder: Builder, select: exp.Expr, scope: Scope) -> Node:
    facts = builder.survey.of(select)
    tree = from_clause(builder, select, scope)
    where = select.args.get("where")
    if where is not None:
        tree = filtered(builder, tree, where.this, facts.subqueries.get("where"), scope)
    why = _not_understood(select, facts)
    if why is not None:
        return builder.opaque(select, why, (tree, *_loose_subqueries(builder, facts, scope)))
    staged = _staged(select, facts)
    tree = _grouped(builder, select, facts, staged, tree, scope)
    if facts.windows:
        tree = looked_up(builder, tree, staged.get("window", ()), scope)
        functions = tuple(Scalar(window) for window in facts.windows)
        tree = nodes.Window(offset_of(facts.windows[0]), tree, functions)
    qualify = select.args.get("qualify")
    if qualify is not None:
        tree = filtered(builder, tree, qualify.this, staged.get("qualify"), scope)
    tree = _projected(builder, select, facts, staged, tree, scope)
    if select.args.get("distinct") is not None:
        tree = nodes.Distinct(offset_of(select), tree)
    return limited(select, tree)


def _not_understood(select: exp.Expr, facts: Facts) -> str | None:
    return next(_strange(select, facts), None)


def _strange(select: exp.Expr, facts: Facts) -> Iterator[str]:
    """What of a SELECT is not understood, in words."""
    for part in unknown_parts(select, _SELECT_PARTS):
        yield f"the clause {part.strip('_').upper()} of a SELECT is not understood"
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        yield "DISTINCT ON is not understood"
    if any(isinstance(column, exp.QueryTransform) for column in select.expressions):
        yield "TRANSFORM runs a script, of which nothing is known"
    generators = {id(generator) for generator in facts.generators}
    for column in select.expressions:
        # The parser takes a function whose name is a word of SQL for a column with a list of names.
        if isinstance(column, exp.Aliases) and id(column.this) not in generators:
            yield f"{column.this.name or column.this.key}(…) is not one of Spark's own functions"
    alias = _key_by_alias(select, facts)
    if alias is not None:
        yield f"GROUP BY {alias} may mean a column or the subquery of that name"
    if facts.generators and facts.windows:
        yield "a function that makes rows stands beside a window function, which Spark computes over the rows made"
    if facts.outer_aggregate:
        yield "an aggregate in a WHERE or ON belongs to a query around it"
    if facts.unknown:
        yield f"{facts.unknown[0]}() is not one of Spark's own functions: it may aggregate, or answer differently"


def _loose_subqueries(builder: Builder, facts: Facts, scope: Scope) -> tuple[Node, ...]:
    """The subqueries of the clauses that an opaque SELECT is not taken apart into."""
    found = [one for clause, ones in facts.subqueries.items() if clause not in ("where", "joins") for one in ones]
    return tuple(builder.query(subquery_of(one), scope) for one in found)


def _grouped(
    builder: Builder, select: exp.Expr, facts: Facts, staged: dict[str, list[exp.Expr]], tree: Node, scope: Scope
) -> Node:
    """GROUP BY, HAVING, or aggregates over all rows."""
    group, having = select.args.get("group"), select.args.get("having")
    if group is not None or having is not None or facts.aggregates:
        tree = looked_up(builder, tree, staged.get("aggregate", ()), scope)
        keys = [] if group is None else [key for key in group.expressions if not isinstance(key, _GROUPINGS)]
        sets = [] if group is None else [key for key in group.expressions if isinstance(key, _GROUPINGS)]
        sets += [] if group is None else [one for name in _SHORT_SETS for one in group.args.get(name) or ()]
        tree = nodes.Aggregate(
            offset_of(facts.aggregates[0] if facts.aggregates else group or having),
            tree,
            tuple(Scalar(key) for key in keys),
            tuple(Scalar(function) for function in facts.aggregates),
            tuple(Scalar(one) for one in sets),
            all_outputs=bool(group is not None and group.args.get("all")),
        )
    if having is not None:
        tree = filtered(builder, tree, having.this, staged.get("having"), scope)
    return tree


def _staged(select: exp.Expr, facts: Facts) -> dict[str, list[exp.Expr]]:
    """The subqueries of a SELECT by what they are looked up for: aggregate, window, generate, or their clause."""
    if not facts.subqueries:
        return {}
    lists = {"aggregate": facts.aggregates, "window": facts.windows, "generate": facts.generators}
    steps = {id(one): name for name, ones in lists.items() for one in ones}
    staged = {
        "aggregate": [*facts.subqueries.get("group", ())],
        "window": [*facts.subqueries.get("windows", ())],
    }
    for clause in ("expressions", "having", "qualify", "order"):
        for one in facts.subqueries.get(clause, ()):
            staged.setdefault(_step(one, clause, select, steps), []).append(one)
    return staged


def _step(subquery: exp.Expr, clause: str, select: exp.Expr, steps: dict[int, str]) -> str:
    """The step whose function the subquery stands in, else its clause; a key of the groups is needed before them."""
    part = subquery
    while part.parent is not None and part.parent is not select:
        part = part.parent
        if id(part) in steps:
            return steps[id(part)]
    return "aggregate" if clause == "expressions" and _is_key(part, select, steps) else clause


def _is_key(column: exp.Expr, select: exp.Expr, steps: dict[int, str]) -> bool:
    """Whether a column of the output is a key of the groups, by GROUP BY ALL or by its position."""
    group = select.args.get("group")
    if group is None:
        return False
    if group.args.get("all"):
        return not any(steps.get(id(node)) == "aggregate" for node in column.walk())
    position = str(1 + next(at for at, one in enumerate(select.expressions) if one is column))
    return any(isinstance(key, exp.Literal) and key.name == position for key in group.expressions)


def _key_by_alias(select: exp.Expr, facts: Facts) -> str | None:
    """The alias of a subquery that GROUP BY names: whether it means that or a column is not known here."""
    group = select.args.get("group")
    if group is None or not facts.subqueries.get("expressions"):
        return None
    columns = [one.find_ancestor(exp.Alias) for one in facts.subqueries["expressions"]]
    aliases = {fold(column.alias) for column in columns if column is not None and column.parent is select}
    return next((key.name for key in group.find_all(exp.Column) if fold(key.name) in aliases), None)


def _projected(
    builder: Builder, select: exp.Expr, facts: Facts, staged: dict[str, list[exp.Expr]], tree: Node, scope: Scope
) -> Node:
    tree = looked_up(builder, tree, staged.get("generate", ()), scope)
    for generator in facts.generators:
        tree = nodes.Generate(offset_of(generator), tree, Scalar(generator))
    tree = looked_up(builder, tree, [*staged.get("expressions", ()), *staged.get("order", ())], scope)
    outputs = tuple(nodes.Output(_alias(column), Scalar(column.unalias())) for column in select.expressions)
    return nodes.Project(offset_of(select), tree, outputs, facts.chance[0] if facts.chance else None)


def _alias(column: exp.Expr) -> str | None:
    return column.alias or None if isinstance(column, (exp.Alias, exp.Aliases)) else None


_SET_KINDS: dict[type[exp.Expr], nodes.SetKind] = {
    exp.Union: nodes.SetKind.UNION,
    exp.Intersect: nodes.SetKind.INTERSECT,
    exp.Except: nodes.SetKind.EXCEPT,
}


def _set_operation(builder: Builder, query: exp.Expr, scope: Scope) -> Node:
    # A chain of operations leans to the left; it is walked in a loop, because it may be long.
    chain = [query]
    while _continues(chain[-1].this):
        chain.append(chain[-1].this)
    tree = builder.query(chain[-1].this, scope)
    for operation in reversed(chain):
        tree = limited(operation, _combined(builder, operation, tree, scope))
    return tree


def _continues(left: exp.Expr) -> bool:
    return isinstance(left, exp.SetOperation) and type(left) in _SET_KINDS and left.args.get("with_") is None


def _combined(builder: Builder, query: exp.Expr, left: Node, scope: Scope) -> Node:
    right = builder.query(query.expression, scope)
    strange = unknown_parts(query, _SET_PARTS)
    if strange:
        return builder.opaque(query, f"{strange[0].upper()} of a set operation is not understood", (left, right))
    return nodes.SetOperation(
        offset_of(query.expression),
        _SET_KINDS[type(query)],
        not query.args.get("distinct"),
        left,
        right,
        by_name=bool(query.args.get("by_name")),
    )


def _values(builder: Builder, query: exp.Expr, scope: Scope) -> Node:
    return limited(query, nodes.Values(offset_of(query), len(query.expressions), Scalar(query)))


def _parenthesized(builder: Builder, query: exp.Expr, scope: Scope) -> Node:
    return relation(builder, query, scope)


def _with(build: Build) -> Build:
    """The same, behind a WITH if the query has one."""

    def built(builder: Builder, query: exp.Expr, scope: Scope) -> Node:
        return with_clause(builder, query, scope, lambda inner: build(builder, query, inner))

    return built


QUERIES.update(
    {
        exp.Select: _with(_select),
        exp.Union: _with(_set_operation),
        exp.Intersect: _with(_set_operation),
        exp.Except: _with(_set_operation),
        exp.Values: _with(_values),
        exp.Subquery: _parenthesized,
    }
)
