"""An operator tree as indented text, for people: one line a node, named parts first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import Node
from airflow_trickle.algebra.scalars import Scalar


def tree_text(tree: Node, note: Callable[[Node], str] = lambda _node: "") -> str:
    """The tree, root first.

    >>> from airflow_trickle.algebra.references import parse_query
    >>> print(tree_text(parse_query("SELECT DISTINCT a FROM t WHERE b > 1").tree))
    distinct
      project a
        filter b > 1
          scan t

    Args:
        tree: The tree.
        note: What to add behind the line of a node.
    """
    return "\n".join(_lines(tree, note, 0))


def title(node: Node) -> str:
    """What a node does, in one line."""
    return _TITLES[type(node)](node)


def _lines(node: Node, note: Callable[[Node], str], depth: int) -> Iterator[str]:
    said = note(node)
    yield "  " * depth + title(node) + (f"  -- {said}" if said else "")
    if isinstance(node, nodes.With):
        for cte in node.ctes:
            columns = f"({', '.join(cte.columns)})" if cte.columns else ""
            yield "  " * (depth + 1) + f"cte {cte.name}{columns}"
            yield from _lines(cte.node, note, depth + 2)
    if not isinstance(node, nodes.CteScan):
        for child in nodes.children(node):
            yield from _lines(child, note, depth + 1)


def _listed(scalars: tuple[Scalar, ...]) -> str:
    return ", ".join(dict.fromkeys(scalar.text for scalar in scalars))


def _named(node: nodes.Scan | nodes.CteScan | nodes.SelfReference, name: str, kind: str) -> str:
    return f"{kind} {name}" + (f" as {node.alias}" if node.alias else "")


def _values(node: nodes.Values) -> str:
    return f"values ({node.rows} row{'' if node.rows == 1 else 's'})" if node.text else "one row"


def _project(node: nodes.Project) -> str:
    outputs = (one.value.text + (f" AS {one.alias}" if one.alias else "") for one in node.outputs)
    return f"project {', '.join(outputs)}"


def _join(node: nodes.Join) -> str:
    words = [f"{node.kind.value} join"]
    if node.natural:
        words.insert(0, "natural")
    if node.origin:
        words.append(f"({node.origin})")
    elif node.lateral:
        words.append("lateral")
    if node.condition is not None:
        words.append(node.condition.text if node.origin else f"on {node.condition.text}")
    if node.using:
        words.append(f"using ({', '.join(node.using)})")
    return " ".join(words)


def _lookup(node: nodes.Lookup) -> str:
    how = "" if node.kind is nodes.LookupKind.SCALAR else " only as a condition" if node.positive else " by its value"
    probe = f"{node.probe.text} " if node.probe is not None else ""
    return f"look up {node.name} ({probe}{node.kind.value} subquery){how}"


def _aggregate(node: nodes.Aggregate) -> str:
    keys = "ALL" if node.all_outputs else _listed((*node.keys, *node.sets))
    functions = _listed(node.functions) or "no function"
    return f"aggregate {functions}" + (f" by {keys}" if keys else "")


def _top_k(node: nodes.TopK) -> str:
    words = ["top"]
    words.append(f"{node.limit.text} rows" if node.limit is not None else "all rows")
    words.append(f"by {_listed(node.order)}" if node.order else "in any order")
    if node.skip is not None:
        words.append(f"after the first {node.skip.text}")
    return " ".join(words)


def _generate(node: nodes.Generate) -> str:
    outer = "outer " if node.outer else ""
    return f"generate {outer}{node.call.text}" + (f" as {node.alias}" if node.alias else "")


def _set_operation(node: nodes.SetOperation) -> str:
    return f"{node.kind.value}{' all' if node.all else ''}{' by name' if node.by_name else ''}"


_TITLES: dict[type[Any], Callable[[Any], str]] = {
    nodes.Scan: lambda node: _named(node, node.name, "scan"),
    nodes.Values: _values,
    nodes.TableFunction: lambda node: f"table function {node.call.text}",
    nodes.Filter: lambda node: f"filter {node.condition.text}",
    nodes.Project: _project,
    nodes.Join: _join,
    nodes.Lookup: _lookup,
    nodes.Aggregate: _aggregate,
    nodes.Pivot: lambda node: "pivot " + node.text.text.strip().removeprefix("PIVOT").lstrip(),
    nodes.Unpivot: lambda node: "unpivot " + node.text.text.strip().removeprefix("UNPIVOT").lstrip(),
    nodes.Window: lambda node: f"window {_listed(node.functions)}",
    nodes.Distinct: lambda node: "distinct",
    nodes.TopK: _top_k,
    nodes.Generate: _generate,
    nodes.SetOperation: _set_operation,
    nodes.With: lambda node: "with",
    nodes.CteScan: lambda node: _named(node, node.cte.name, "read cte"),
    nodes.SelfReference: lambda node: _named(node, node.name, "read itself:"),
    nodes.Recursion: lambda node: f"recursion {node.name} ({'bag' if node.all else 'set'})",
    nodes.Opaque: lambda node: f"opaque {node.what}: {node.why}",
}
