"""Names are compared, quoted and unquoted in one place, as Spark does it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_trickle.identifiers import fold, parse_alias, quote, split_dotted, unquote
from tests import budgets

PACKAGE = Path(__file__).parents[1] / "airflow_trickle"
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)


@budgets.budget()
@given(NAMES)
def test_a_quoted_name_is_the_name_again(name: str) -> None:
    assert unquote(quote(name)) == name


@budgets.budget()
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_the_parts_of_a_dotted_name_are_found_whatever_is_in_them(names: list[str]) -> None:
    assert [unquote(part) for part in split_dotted(" . ".join(map(quote, names)))] == names


@budgets.budget()
@given(NAMES, st.lists(NAMES, max_size=3), st.sampled_from(["AS ", "as\n", ""]))
def test_an_alias_is_taken_apart_whatever_is_in_it(name: str, columns: list[str], word: str) -> None:
    listed = f" ({', '.join(map(quote, columns))})" if columns else ""
    alias = parse_alias(f"{word}{quote(name)}{listed}")
    assert (alias.name, [unquote(column) for column in alias.columns]) == (name, columns)


@pytest.mark.parametrize(
    ("text", "name"), [("AS x", "x"), ("x", "x"), ("as", "as"), ("AS`x`", "x"), ("asset", "asset")]
)
def test_a_plain_alias(text: str, name: str) -> None:
    assert parse_alias(text).name == name


@pytest.mark.parametrize(("one", "folded"), [("maß", "mass"), ("\ufb01", "fi"), ("\u017f", "s")])
def test_names_that_only_full_folding_makes_equal_are_two(one: str, folded: str) -> None:
    assert one.casefold() == folded
    assert fold(one) != fold(folded)


def _calls(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr == "casefold":
            found.add("casefold: names are compared by `fold`")
        called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        words = node.args if isinstance(node, ast.Call) else []
        if called.endswith("strip") and any(isinstance(one, ast.Constant) and "`" in str(one.value) for one in words):
            found.add("strip of backticks: names are unquoted by `unquote`")
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nobody_folds_or_unquotes_names_by_himself(path: Path) -> None:
    assert _calls(path) == set()
