"""CTEs of WITH RECURSIVE that read each other: which they are, and what cannot be done with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from airflow_trickle.algebra.base_case import always_empty
from airflow_trickle.algebra.syntax import QueryProblem
from airflow_trickle.algebra.top_with import TopWith, definition_of, parse_recursive, top_with
from airflow_trickle.identifiers import fold


def mutual_groups(text: str) -> tuple[tuple[str, ...], ...]:
    """The CTEs at the top of a query that read each other in a circle, by their order in the text.

    >>> mutual_groups("WITH RECURSIVE a AS (SELECT 1 UNION SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b")
    (('a', 'b'),)
    """
    parsed = parse_recursive(text)
    top = None if parsed is None else top_with(text, parsed)
    return () if top is None else tuple(names_of(top, group) for group in groups_of(top))


def names_of(top: TopWith, group: Sequence[int]) -> tuple[str, ...]:
    """The names of some CTEs, given by their numbers."""
    return tuple(top.ctes[number].name for number in group)


def groups_of(top: TopWith) -> tuple[tuple[int, ...], ...]:
    """The mutual groups of the top WITH as numbers of CTEs."""
    reads: list[set[int]] = [set() for _ in top.ctes]
    for use in top.uses:
        if use.reader is not None:
            reads[use.reader].add(use.cte)
    return circles(reads)


def circles(reads: Sequence[set[int]]) -> tuple[tuple[int, ...], ...]:
    """The sets of two or more that all reach each other; ``reads[i]`` is what ``i`` reads.

    >>> circles([{1}, {0}, {0}])
    ((0, 1),)
    """
    reached = [_reach(reads, first) for first in range(len(reads))]
    found = {
        tuple(other for other in sorted(reached[first]) if first in reached[other])
        for first in range(len(reads))
        if first in reached[first]
    }
    return tuple(sorted(group for group in found if len(group) > 1))


def problems_of(top: TopWith | None, tree: exp.Expr) -> tuple[QueryProblem, ...]:
    """What keeps the mutual recursion of a query from being decomposed."""
    groups = () if top is None else groups_of(top)
    found = list(_nested(tree, top))
    if top is not None and groups:
        found += _twice(top)
        found += _without_base(top, groups)
    return tuple(sorted(set(found)))


def _reach(reads: Sequence[set[int]], first: int) -> set[int]:
    reached: set[int] = set()
    waiting = [first]
    while waiting:
        new = reads[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _nested(tree: exp.Expr, top: TopWith | None) -> Iterator[QueryProblem]:
    at_top = None if top is None else tree.args.get("with_")
    for with_ in tree.find_all(exp.With):
        if with_ is at_top or not with_.args.get("recursive"):
            continue
        ctes: list[exp.Expr] = with_.expressions
        numbers = {id(cte): number for number, cte in enumerate(ctes)}
        targets = [{numbers.get(id(definition_of(table))) for table in cte.find_all(exp.Table)} for cte in ctes]
        for group in circles([{number for number in found if number is not None} for found in targets]):
            first = ctes[group[0]].args["alias"].this
            yield QueryProblem(
                first.meta.get("start", 0),
                f"{_named([ctes[number].alias for number in group])} read each other, but not at the top of the query.",
                "Move the WITH RECURSIVE to the top of the query.",
            )


def _twice(top: TopWith) -> Iterator[QueryProblem]:
    seen: set[str] = set()
    for cte in top.ctes:
        if fold(cte.name) in seen:
            yield QueryProblem(cte.start, f"the CTE '{cte.name}' is defined twice.", "Rename one of them.")
        seen.add(fold(cte.name))


def _without_base(top: TopWith, groups: Sequence[Sequence[int]]) -> Iterator[QueryProblem]:
    for group in groups:
        nodes = [top.ctes[number].node for number in group]
        if all(always_empty(node.this, nodes) for node in nodes):
            yield QueryProblem(
                top.ctes[group[0]].start,
                f"{_named(names_of(top, group))} read each other, but none of them has a branch that reads none "
                "of them; the result would always be empty.",
                "Add a base case, such as SELECT … UNION ….",
            )


def _named(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return f"the CTEs {', '.join(quoted[:-1])} and {quoted[-1]}"
