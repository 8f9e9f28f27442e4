"""Which test of the design documents is which test here, as a table."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.design_tests_named import DOCUMENTS, NAMED, NOT_HERE, Named

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "design-tests.md"
#: In the docstring of a test: ``Design 001 §9.1: test_classify_scan_is_monotone``.
_REFERENCE = re.compile(
    r"^\s*Design (?P<document>\d{3}) (?P<section>§[\d.]*\d|[Pp]art \d+|Step \d+): (?P<name>.+?)\s*$"
)
_HEAD = """\
# Tests of the design documents

airflow-trickle grew from five design documents for stream tables inside of PostgreSQL. They name tests. This page says
which test here does what each of them asks for. `python -m tools.design_tests` writes it from the docstrings of the
tests (`Design 001 §9.1: test_classify_scan_is_monotone`); `tests/tools/test_design_tests.py` fails when it is out of
date.
"""


@dataclass(frozen=True, order=True)
class Reference:
    """A test here says that it does what a section of a design document asks for."""

    document: str
    section: str
    name: str
    #: ``tests/analysis/test_strata.py::test_…``.
    test: str


def references(folder: Path) -> list[Reference]:
    """What the docstrings of all tests below a folder say, sorted."""
    found = []
    for path in sorted(folder.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "Design 0" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                test = f"{path.relative_to(folder.parent).as_posix()}::{node.name}"
                found += [Reference(*parts, test) for parts in _parts(ast.get_docstring(node) or "")]
    return sorted(found)


def _parts(docstring: str) -> Iterator[tuple[str, str, str]]:
    for line in docstring.splitlines():
        match = _REFERENCE.match(line)
        if match is not None:
            # At the end of a sentence, too.
            yield match["document"], match["section"].replace("part", "Part"), match["name"].rstrip(".")


def by_name(found: list[Reference]) -> dict[Named, list[str]]:
    """The tests that do what each named test asks for; a document that repeats another has the same."""
    tests: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        tests.setdefault((one.document, one.section, one.name), []).append(one.test)
    return {named: tests.get((named.document, named.section, named.name), []) for named in NAMED}


def missing(found: Mapping[Named, list[str]]) -> list[Named]:
    """The named tests that no test here names, and for which no reason is given."""
    return [named for named, tests in found.items() if not tests and named not in NOT_HERE]


def page(found: list[Reference]) -> str:
    """The page with the tables."""
    named = by_name(found)
    lines = [_HEAD]
    for document, title in DOCUMENTS.items():
        lines += [f"## {document}: {title}", ""]
        rows = [(one, tests) for one, tests in named.items() if one.document == document]
        if not rows:
            lines += ["It is an earlier version of design 000 and names the same tests.", ""]
            continue
        lines += ["| section | the document's test | here |", "|---|---|---|"]
        lines += (f"| {one.section} | {_code(one.name)} | {_here(one, tests)} |" for one, tests in rows)
        lines.append("")
    known = {(one.document, one.section, one.name) for one in NAMED}
    more = [one for one in found if (one.document, one.section, one.name) not in known]
    if more:
        lines += ["## What documents ask for elsewhere", "", "| design | section | what | here |", "|---|---|---|---|"]
        lines += (f"| {one.document} | {one.section} | {one.name} | `{one.test}` |" for one in more)
        lines.append("")
    return "\n".join(lines)


def _code(name: str) -> str:
    return f"`{name}`" if re.fullmatch(r"\w+", name) else name


def _here(named: Named, tests: list[str]) -> str:
    if tests:
        return "<br>".join(f"`{test}`" for test in tests)
    return NOT_HERE.get(named, "not here")


def main() -> int:
    """Write the page; exit code 1 if a named test is not here."""
    found = references(ROOT / "tests")
    PAGE.write_text(page(found), encoding="utf-8")
    left = missing(by_name(found))
    for named in left:
        print(f"not here: design {named.document} {named.section}: {named.name}", file=sys.stderr)
    print(f"wrote    {PAGE.relative_to(ROOT)} ({len(NAMED)} tests named, {len(left)} not here)")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
