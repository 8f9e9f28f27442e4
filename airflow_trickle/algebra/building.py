"""What the files that build a tree share: the builder of one query, and where its parts stand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.survey import Survey
from airflow_trickle.algebra.syntax import QueryProblem


@dataclass(frozen=True, slots=True)
class Pending:
    """A recursive CTE while it is being defined: reading it is a self-reference."""

    name: str
    #: Where it is defined, which tells it from others of the same name.
    at: int


#: The CTEs that a place of a query sees, by folded name.
Scope = Mapping[str, "nodes.Cte | Pending"]
#: Class of a query -> what builds its tree; filled by `tree`.
QUERIES: dict[type[exp.Expr], Callable[[Builder, exp.Expr, Scope], Node]] = {}


@dataclass
class Builder:
    """Builds the tree of one query.

    Args:
        survey: What stands in each of its SELECTs.
        problems: Fills with what is wrong with the query.
    """

    survey: Survey
    problems: list[QueryProblem] = field(default_factory=list)
    #: The places of recursive CTEs whose self-reference was met.
    recursive: set[int] = field(default_factory=set)
    _lookups: int = 0

    def query(self, query: exp.Expr, scope: Scope) -> Node:
        """The tree of a SELECT, a set operation, VALUES, or one of them in parentheses."""
        build = QUERIES.get(type(query))
        if build is None:
            return self.opaque(query, f"{query.key.upper()} is not understood", ())
        return build(self, query, scope)

    def opaque(self, query: exp.Expr, why: str, inputs: tuple[Node, ...]) -> Node:
        """A part that is not understood."""
        return nodes.Opaque(offset_of(query), inputs, query.key.upper(), why)

    def next_lookup(self) -> str:
        """A name for the answer of a subquery."""
        self._lookups += 1
        return f"${self._lookups}"


def offset_of(node: exp.Expr | None, default: int = 0) -> int:
    """Where a part of the query begins: the place of its first word, in the order of the text."""
    if node is None:
        return default
    for part in node.dfs():
        start = part.meta.get("start")
        if start is not None:
            return int(start)
    return default


def unknown_parts(node: exp.Expr, known: Collection[str]) -> list[str]:
    """The clauses of a node that this version knows nothing of."""
    return [key for key, value in node.args.items() if value and key not in known]
