"""Spark's analyzed plans and our trees in the same few words, so that they can be compared."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from airflow_trickle.algebra import nodes
from airflow_trickle.algebra.nodes import JoinKind, Node, SetKind
from tools.sql_report import every_node

#: Words for operators; those that read two inputs come with the tables of each.
Shape = Counter[tuple[str, ...]]

_INDENT = re.compile(r"(?P<indent>(?:[:+ ][- ] )*)'?(?P<name>\w*)(?P<rest>.*)")
_VIEW = re.compile(r" \(`([^`]+)`")
_JOINS = {"Inner": "inner", "Cross": "inner", "LeftOuter": "left", "RightOuter": "right", "FullOuter": "full"}
_JOINS |= {"LeftSemi": "semi", "LeftAnti": "anti"}
_SETS = {"Union": "union", "UnionLoop": "union", "Intersect": "intersect", "Except": "except"}
_PLAIN = {"Distinct": "distinct", "Aggregate": "aggregate", "Generate": "generate", "Window": "window"}
_PLAIN |= {"GlobalLimit": "limit", "LocalLimit": "limit", "Offset": "limit"}
#: Spark makes one operator for each window specification, and two for LIMIT with OFFSET.
_ONCE = ("window", "limit")
_SUBQUERIES = {"exists": "exists", "scalar-subquery": "scalar", "list": "in"}
_FROM_NOTHING = ("collations", "range", "sql_keywords")


@dataclass
class _Row:
    """A line of a plan; subqueries in its expressions stand two steps deeper, its inputs one."""

    depth: int
    name: str
    rest: str
    inputs: list[_Row] = field(default_factory=list)
    subqueries: list[_Row] = field(default_factory=list)

    def tables(self) -> tuple[str, ...]:
        if self.name == "View":
            return (_VIEW.match(self.rest)[1].casefold(),)  # type: ignore[index]
        return tuple(sorted(table for row in (*self.inputs, *self.subqueries) for table in row.tables()))


def shape_of_plan(plan: str) -> Shape:
    shape: Shape = Counter()
    for row in _rows(plan):
        word = _PLAIN.get(row.name)
        if "pivotfirst(" in row.rest:
            continue  # the second of two aggregates that make a PIVOT
        if word is not None:
            shape[(word,)] += 1
        elif row.name == "Join":
            left, right = row.inputs
            shape[(_JOINS[row.rest.split(",")[0].strip()], *_sides(left.tables(), right.tables()))] += 1
        elif row.name == "LateralJoin":
            right_tables = tuple(sorted(table for inner in row.subqueries for table in inner.tables()))
            shape[("lateral", *_sides(row.inputs[0].tables(), right_tables))] += 1
        elif row.name in _SETS:
            word = _SETS[row.name] + (" all" if row.name != "UnionLoop" and "All true" in row.rest else "")
            left, right = row.inputs
            shape[(word, *_sides(left.tables(), right.tables()))] += 1
    for word, ours in _SUBQUERIES.items():
        shape[(ours,)] = len(set(re.findall(rf"(?<!lateral-)\b{word}#(\d+)", plan)))
    return _once(shape)


def _rows(plan: str) -> list[_Row]:
    rows: list[_Row] = []
    above: list[_Row] = []
    for line in plan.splitlines():
        found = _INDENT.match(line)
        assert found is not None
        row = _Row(len(found["indent"]) // 3, found["name"], found["rest"])
        rows.append(row)
        while above and above[-1].depth >= row.depth:
            above.pop()
        if above:
            (above[-1].inputs if above[-1].depth == row.depth - 1 else above[-1].subqueries).append(row)
        above.append(row)
    # What is inside a view is not of the query.
    return [
        row for row in rows if not any(row is inner for view in rows if view.name == "View" for inner in view.inputs)
    ]


def shape_of_tree(tree: Node) -> Shape:
    shape: Shape = Counter()
    for node in every_node(tree):
        shape[_word(node)] += 1
        if isinstance(node, nodes.SetOperation) and node.kind is SetKind.UNION and not node.all:
            shape[("distinct",)] += 1
    del shape[()]
    return _once(shape)


def _word(node: Node) -> tuple[str, ...]:  # noqa: PLR0911
    match node:
        case nodes.Join(origin=str(origin)):
            return (origin.removeprefix("NOT ").lower(),)
        case nodes.Join(kind=kind):
            word = "lateral" if node.lateral else "inner" if kind is JoinKind.CROSS else kind.value
            return (word, *_sides(_tables(node.left), _tables(node.right)))
        case nodes.SetOperation(kind=kind):
            word = kind.value + (" all" if node.all and kind is not SetKind.UNION else "")
            return (word, *_sides(_tables(node.left), _tables(node.right)))
        case nodes.Lookup(kind=kind):
            return (kind.value,)
        case nodes.Aggregate() | nodes.Pivot():
            return ("aggregate",)
        case nodes.Window():
            return ("window",)
        case nodes.TopK():
            return ("limit",)
        case nodes.Distinct():
            return ("distinct",)
        case nodes.Generate():
            return ("generate",)
        case nodes.TableFunction(call=call) if call.function.lower() not in _FROM_NOTHING:
            return ("generate",)
    return ()


def _tables(tree: Node) -> tuple[str, ...]:
    return tuple(sorted(node.name.casefold() for node in every_node(tree) if isinstance(node, nodes.Scan)))


def _sides(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, str]:
    return ", ".join(left), ", ".join(right)


def _once(shape: Shape) -> Shape:
    for word in _ONCE:
        shape[(word,)] = min(shape[(word,)], 1)
    return +shape
