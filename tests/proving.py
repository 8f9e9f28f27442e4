"""Finds tests that cannot fail, by reading their syntax trees.

A test proves something if it, or a function of the suite that it calls, compares, refuses or expects something.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

#: Calls of libraries that fail by themselves where something is not as it should be.
_FAILING = frozenset(["raises", "warns", "fail", "validate", "check_schema"])
_LITERALS = (ast.Constant, ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda, ast.GeneratorExp)


@dataclass(frozen=True, order=True)
class Hollow:
    """A test, or a part of one, that proves nothing."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}"


def hollow_tests(sources: Mapping[str, str]) -> list[Hollow]:
    """What proves nothing in some files of tests, by file and line.

    >>> [str(one) for one in hollow_tests({"t.py": "def test_a():\\n    assert (1, 2)"})]
    ["t.py:2: it asserts a tuple, which is always true"]
    """
    trees = {file: ast.parse(text) for file, text in sources.items()}
    found = [Hollow(file, line, why) for file, tree in trees.items() for line, why in _hollow_asserts(tree)]
    functions = [one for file, tree in trees.items() for one in _functions(file, tree)]
    judges = _judges(functions)
    found += [
        Hollow(one.file, one.line, f"{one.name} asserts, refuses and calls nothing that does")
        for one in functions
        if one.name.startswith("test_") and not one.judges(judges)
    ]
    return sorted(set(found))


def sources_of(folder: Path) -> dict[str, str]:
    """The text of every Python file below a folder, by its path."""
    return {str(path.relative_to(folder.parent)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def _hollow_asserts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield from _never_called(node)
        if not isinstance(node, ast.Assert):
            continue
        if isinstance(node.test, ast.IfExp):
            yield node.lineno, "it asserts `… if … else …`, which asserts one side alone: put `==` outside of it"
        elif isinstance(node.test, _LITERALS) and not _is_false(node.test):
            kind = type(node.test).__name__.lower()
            yield node.lineno, f"it asserts a {kind}, which is always true"
        if any(isinstance(one, ast.BoolOp) and _holds_anyway(one) for one in _conditions(node.test)):
            yield node.lineno, "it asserts `… or` something that is always true"
        for part in ast.walk(node.test):
            if isinstance(part, ast.Compare):
                yield from _of_itself(part)


def _never_called(node: ast.Expr) -> Iterator[tuple[int, str]]:
    """A comparison, or a method such as ``mock.assert_called``, that stands for itself and does nothing."""
    value = node.value
    if isinstance(value, ast.Compare):
        yield node.lineno, "it compares, but asserts nothing"
    if isinstance(value, ast.Attribute) and value.attr.startswith("assert"):
        yield node.lineno, f"it names {value.attr}, but does not call it"


def _of_itself(part: ast.Compare) -> Iterator[tuple[int, str]]:
    sides = [part.left, *part.comparators]
    if all(isinstance(side, ast.Constant) for side in sides):
        yield part.lineno, "it compares constants"
    for left, right in pairwise(sides):
        if not isinstance(left, ast.Constant) and ast.dump(left) == ast.dump(right):
            yield part.lineno, f"it compares `{ast.unparse(left)}` with itself: keep the first value under a name"


def _conditions(test: ast.expr) -> Iterator[ast.expr]:
    """A condition and those that it is made of; a default such as ``(name or "none")`` is a value, and is none."""
    yield test
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _conditions(value)


def _holds_anyway(test: ast.BoolOp) -> bool:
    return isinstance(test.op, ast.Or) and any(_is_true(value) for value in test.values)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _is_false(node: ast.expr) -> bool:
    """Whether it fails on purpose: ``assert False, why``."""
    return isinstance(node, ast.Constant) and not node.value


def _judges(functions: Iterable[_Function]) -> frozenset[str]:
    """The names of functions of the suite that fail where something is wrong, alone or through others of them."""
    helpers = [one for one in functions if not one.name.startswith("test_")]
    found: frozenset[str] = frozenset()
    while True:
        more = found | {one.name for one in helpers if one.judges(found)}
        if more == found:
            return found
        found = more


@dataclass(frozen=True)
class _Function:
    """What a function does itself, and the names of what it calls."""

    file: str
    name: str
    line: int
    fails: bool
    calls: frozenset[str]

    def judges(self, judges: frozenset[str]) -> bool:
        return self.fails or not self.calls.isdisjoint(judges)


def _functions(file: str, tree: ast.AST) -> Iterator[_Function]:
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        nodes = list(ast.walk(function))
        called = (node.func for node in nodes if isinstance(node, ast.Call))
        calls = frozenset(one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in called)
        fails = any(isinstance(node, (ast.Assert, ast.Raise)) for node in nodes)
        fails = fails or not calls.isdisjoint(_FAILING) or any(name.startswith("assert_") for name in calls)
        yield _Function(file, function.name, function.lineno, fails, calls)
