"""Edge types: can a row more in an input take a row out of the result? Judged by where the input is scanned.

One table says it for every kind of node (`_PATHS`). A path from the root to a scan is monotone if every
step of it is; an edge is monotone if every path of it is; where nothing is known, it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import JoinKind, LookupKind, Node, SetKind
from airflow_trickle.algebra.scalars import Scalar
from airflow_trickle.analysis.strata import EdgeType

#: The child, why a row more there may take a row away (None: it never does), whether duplicates end here.
_Step = tuple[Node, str | None, bool]


@dataclass(frozen=True)
class Read:
    """How a query reads a table at one place."""

    #: Where the query names the table.
    scan: int
    type: EdgeType
    #: In words; of a non-monotone read what stands in the way, of a monotone one the operators passed.
    because: str
    #: What stands in the way.
    operator: Node | None
    #: Whether some path keeps duplicates.
    keeps_duplicates: bool


def reads_of(tree: Node, improving: Node | None = None) -> dict[int, Read]:
    """How each scan of a tree is read, by its place; a CTE that nothing reads is left out.

    Args:
        tree: The tree.
        improving: An aggregate of it that counts as monotone, because a row more only improves its value.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> reads = reads_of(parse_query("SELECT a FROM s EXCEPT SELECT a FROM t").tree)
    >>> [(read.type.value, read.because) for read in reads.values()]
    [('MONOTONE', 'except, project'), ('NON_MONOTONE', 'it is on the right side of EXCEPT')]
    """
    return _Walk(improving=improving).over(tree)


def outermost_aggregate(tree: Node) -> Node | None:
    """The aggregate of the outermost SELECT of a tree, if it has one.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> outermost_aggregate(parse_query("SELECT a, min(b) FROM t GROUP BY a").tree).functions
    (Scalar('MIN(b)'),)
    """
    node = tree
    while isinstance(node, (nodes.With, nodes.Project, nodes.Filter, nodes.Distinct, nodes.TopK)):
        node = node.body if isinstance(node, nodes.With) else node.input
    return node if isinstance(node, nodes.Aggregate) else None


def self_reference(recursion: nodes.Recursion) -> Read | None:
    """The first place where a recursive CTE reads itself and a row more may take one away; None if none does."""
    found = _Walk(recursion.offset).over(recursion.body)
    return next((read for read in found.values() if read.type is EdgeType.NON_MONOTONE), None)


def first_obstacle(tree: Node, improving: Node | None = None) -> tuple[str, Node] | None:
    """The first operator of a tree, from the root, that is not monotone in one of its inputs.

    The older check of cycles (``stratified_cycle_validation: false``) refuses a whole query for it; ``improving``
    is left out.
    """
    seen: set[int] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        for child, why, _ in reversed(list(steps(node))):
            if why is not None and node is not improving:
                return why, node
            if not (isinstance(node, nodes.CteScan) and id(node.cte) in seen):
                stack.append(child)
        if isinstance(node, nodes.CteScan):
            seen.add(id(node.cte))
    return None


def steps(node: Node) -> Iterator[_Step]:
    """The children of a node, and what a row more in each may do."""
    return _PATHS[type(node)](node)


class _Walk:
    """Follows every path of a tree; a CTE is entered once for each way of arriving there.

    Args:
        target: Collect the self-references to the recursion at this place, instead of the scans.
        improving: An aggregate that counts as monotone.
    """

    def __init__(self, target: int | None = None, improving: Node | None = None) -> None:
        self._target = target
        self._improving = improving
        self._found: dict[int, Read] = {}
        self._entered: set[tuple[int, bool, bool]] = set()

    def over(self, tree: Node) -> dict[int, Read]:
        self._visit(tree, (), None, True)
        return self._found

    def _visit(self, node: Node, path: tuple[str, ...], obstacle: tuple[str, Node] | None, bag: bool) -> None:
        if isinstance(node, nodes.Scan) and self._target is None:
            self._read(node.offset, path, obstacle, bag)
            return
        if isinstance(node, nodes.SelfReference) and node.target == self._target:
            self._read(node.offset, path, obstacle, bag)
            return
        if isinstance(node, nodes.CteScan):
            arrival = (id(node.cte), obstacle is None, bag)
            if arrival in self._entered:
                return
            self._entered.add(arrival)
        if isinstance(node, nodes.Recursion) and obstacle is None:
            negative = self_reference(node)
            if negative is not None:
                why = f"the recursive CTE '{node.name}' reads itself in a place that is not monotone"
                obstacle = (f"{why}: {negative.because}", negative.operator or node)
        name = short_name(node)
        passed = path if name is None or name in path else (*path, name)
        for child, reason, ends in steps(node):
            blocked = obstacle or (None if reason is None or node is self._improving else (reason, node))
            self._visit(child, passed, blocked, bag and not ends)

    def _read(self, scan: int, path: tuple[str, ...], obstacle: tuple[str, Node] | None, bag: bool) -> None:
        old = self._found.get(scan)
        keeps = bag or (old is not None and old.keeps_duplicates)
        if obstacle is not None and (old is None or old.type is EdgeType.MONOTONE):
            self._found[scan] = Read(scan, EdgeType.NON_MONOTONE, obstacle[0], obstacle[1], keeps)
        elif old is None:
            self._found[scan] = Read(scan, EdgeType.MONOTONE, ", ".join(path) or "scan", None, keeps)
        elif keeps is not old.keeps_duplicates:
            self._found[scan] = Read(scan, old.type, old.because, old.operator, keeps)


def short_name(node: Node) -> str | None:
    """The kind of a node in a word or two; None for those that only name or read."""
    if isinstance(node, nodes.Join):
        return f"{node.kind.value} join"
    if isinstance(node, nodes.SetOperation):
        return node.kind.value + (" all" if node.all else "")
    return _SHORT.get(type(node))


_SHORT: dict[type[Any], str] = {
    nodes.Filter: "filter",
    nodes.Project: "project",
    nodes.Lookup: "subquery",
    nodes.Aggregate: "aggregate",
    nodes.Pivot: "pivot",
    nodes.Unpivot: "unpivot",
    nodes.Window: "window",
    nodes.Distinct: "distinct",
    nodes.TopK: "top",
    nodes.Generate: "generate",
    nodes.Recursion: "recursion",
    nodes.Opaque: "opaque",
}


def _row_by_row(node: Any) -> Iterator[_Step]:
    yield node.input, None, False


def _project(node: nodes.Project) -> Iterator[_Step]:
    chance = None if node.chance is None else f"it is the input of {node.chance}(), which may answer anew for any row"
    yield node.input, chance, False


def _no_input(_node: Any) -> Iterator[_Step]:
    return iter(())


def _join(node: nodes.Join) -> Iterator[_Step]:
    supplied = f"the null-supplying side of a {node.kind.value.upper()} JOIN"
    left = f"it is on {supplied}" if node.kind in (JoinKind.RIGHT, JoinKind.FULL) else None
    right = None
    if node.kind in (JoinKind.LEFT, JoinKind.FULL):
        right = f"it is on {supplied}"
    elif node.kind is JoinKind.ANTI:
        right = f"it is inside {node.origin or 'an ANTI JOIN'}"
    # Of the right side of a semi- or anti-join only whether there is a row counts.
    existence = node.kind in (JoinKind.SEMI, JoinKind.ANTI)
    yield node.left, left, False
    yield node.right, right, existence


def _lookup(node: nodes.Lookup) -> Iterator[_Step]:
    yield node.input, None, False
    why = None
    if node.kind is LookupKind.SCALAR:
        why = "it is inside a scalar subquery"
    elif not node.positive:
        why = f"it is inside {node.kind.name} that is negated or used as a value"
    yield node.subquery, why, True


def _names(functions: Iterable[Scalar]) -> str:
    """The functions by their names alone: making their text takes time, and this is asked for every query."""
    return ", ".join(dict.fromkeys(function.function for function in functions))


def _aggregate(node: nodes.Aggregate) -> Iterator[_Step]:
    yield node.input, f"it is the input of an aggregate ({_names(node.functions) or 'GROUP BY'})", True


def _window(node: nodes.Window) -> Iterator[_Step]:
    yield node.input, f"it is the input of a window ({_names(node.functions)})", False


def _top_k(node: nodes.TopK) -> Iterator[_Step]:
    clause = "LIMIT" if node.limit is not None else "OFFSET"
    yield node.input, f"it is the input of {'ORDER BY … ' if node.order else ''}{clause}", False


def _pivot(node: nodes.Pivot) -> Iterator[_Step]:
    yield node.input, "it is the input of PIVOT, which aggregates", True


def _distinct(node: nodes.Distinct) -> Iterator[_Step]:
    yield node.input, None, True


def _set_operation(node: nodes.SetOperation) -> Iterator[_Step]:
    yield node.left, None, not node.all
    subtracts = node.kind is SetKind.EXCEPT
    why = f"it is on the right side of EXCEPT{' ALL' if node.all else ''}" if subtracts else None
    yield node.right, why, not node.all


def _cte_scan(node: nodes.CteScan) -> Iterator[_Step]:
    yield node.cte.node, None, False


def _body(node: Any) -> Iterator[_Step]:
    yield node.body, None, False


def _opaque(node: nodes.Opaque) -> Iterator[_Step]:
    for child in node.inputs:
        yield child, node.why, False


_PATHS: dict[type[Any], Callable[[Any], Iterator[_Step]]] = {
    nodes.Scan: _no_input,
    nodes.Values: _no_input,
    nodes.TableFunction: _no_input,
    nodes.SelfReference: _no_input,
    nodes.Filter: _row_by_row,
    nodes.Project: _project,
    nodes.Unpivot: _row_by_row,
    nodes.Generate: _row_by_row,
    nodes.Join: _join,
    nodes.Lookup: _lookup,
    nodes.Aggregate: _aggregate,
    nodes.Pivot: _pivot,
    nodes.Window: _window,
    nodes.Distinct: _distinct,
    nodes.TopK: _top_k,
    nodes.SetOperation: _set_operation,
    nodes.With: _body,
    nodes.CteScan: _cte_scan,
    nodes.Recursion: _body,
    nodes.Opaque: _opaque,
}
