"""Every test that a design document names is here, and the page that says so is current."""

from __future__ import annotations

from pathlib import Path

from tools.design_tests import PAGE, ROOT, by_name, missing, page, references
from tools.design_tests_named import DOCUMENTS, NAMED


def test_every_named_test_is_here_or_has_a_reason() -> None:
    assert missing(by_name(references(ROOT / "tests"))) == []
    assert len(set(NAMED)) == len(NAMED)
    assert {one.document for one in NAMED} < set(DOCUMENTS)


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(references(ROOT / "tests")), "run: python -m tools.design_tests"


def test_a_docstring_names_document_section_and_test(tmp_path: Path) -> None:
    text = '''
def test_one():
    """Chains.

    Design 001 §9.1: test_assign_strata_linear_chain
    Design 002 §3.4: red and blue, with blocked edges
    Design 1 §9.1: not three digits
    """
    assert strata()

def test_two():
    """Design 000 Part 8: Test 5: Drop member breaks cycle"""

def helper():
    """Design 001 §9.1: test_classify_scan_is_monotone"""
'''
    (tmp_path / "tests" / "a").mkdir(parents=True)
    (tmp_path / "tests" / "a" / "test_x.py").write_text(text)
    found = references(tmp_path / "tests")
    assert [(one.document, one.section, one.name, one.test) for one in found] == [
        ("000", "Part 8", "Test 5: Drop member breaks cycle", "tests/a/test_x.py::test_two"),
        ("001", "§9.1", "test_assign_strata_linear_chain", "tests/a/test_x.py::test_one"),
        ("002", "§3.4", "red and blue, with blocked edges", "tests/a/test_x.py::test_one"),
    ]
    named = by_name(found)
    assert {one.name for one, tests in named.items() if tests} == {
        "test_assign_strata_linear_chain",
        "Test 5: Drop member breaks cycle",
    }
    told = page(found)
    assert "| §9.1 | `test_assign_strata_linear_chain` | `tests/a/test_x.py::test_one` |" in told
    assert "| 002 | §3.4 | red and blue, with blocked edges | `tests/a/test_x.py::test_one` |" in told
    assert "| Part 1 | `test_scc_no_cycles` | not here |" in told
    assert len(missing(named)) > 80
