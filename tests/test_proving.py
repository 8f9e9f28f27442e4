"""Every test of the suite can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proving import hollow_tests, sources_of


def whys(body: str) -> list[str]:
    return [one.why for one in hollow_tests({"t.py": body})]


def test_no_test_of_the_suite_is_hollow() -> None:
    found = hollow_tests(sources_of(Path(__file__).parent))
    assert not found, "\n".join(str(one) for one in found)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("assert f(1) == 2 if g() else 3", "it asserts `… if … else …`"),
        ("assert (f(1) == 2, 'message')", "it asserts a tuple"),
        ("assert 'text'", "it asserts a constant"),
        ("assert f'{x}'", "it asserts a joinedstr"),
        ("assert [x for x in y] and (x == 1 or True)", "it asserts `… or` something that is always true"),
        ("assert 1 == 1", "it compares constants"),
        ("assert x.y == x.y", "it compares `x.y` with itself"),
        ("assert f(x) == f(x) == 3", "it compares `f(x)` with itself"),
        ("f(x) == 3\n    assert x", "it compares, but asserts nothing"),
        ("mock.assert_called_once\n    assert x", "it names assert_called_once, but does not call it"),
        ("f(1)", "test_a asserts, refuses and calls nothing that does"),
    ],
)
def test_what_cannot_fail_is_found(statement: str, why: str) -> None:
    (found,) = whys(f"def test_a():\n    {statement}\n")
    assert found.startswith(why)


@pytest.mark.parametrize(
    "body",
    [
        "def test_a():\n    assert f(1) == (2 if g() else 3)",
        "def test_a():\n    assert (f(1), 2) == (1, 2)",
        "def test_a():\n    assert f(1) == (x or 'none')",
        "def test_a():\n    with pytest.raises(ValueError):\n        f(1)",
        "def inner(x):\n    assert x\ndef outer(x):\n    inner(x)\ndef test_a():\n    outer(1)",
        "class Story:\n    def check(self):\n        raise AssertionError\ndef test_a(story):\n    story.check()",
        "def test_a():\n    if f(1):\n        assert False, 'never'",
    ],
)
def test_what_can_fail_is_left_alone(body: str) -> None:
    assert whys(body) == []
