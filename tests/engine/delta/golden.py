"""Reads and writes the golden files of delta rules: a title, a query, what changed, and the SQL that is expected.

How such a file looks and how to add a case is told in ``golden/README.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.identifiers import unquote

FOLDER = Path(__file__).parent / "golden"
#: A line that begins a case, and the other lines about it.
_TITLE, _CHANGED, _STATE, _ENGINE, _EXPECT = "-- title:", "-- changed:", "-- state:", "-- engine:", "-- expect"
_LARGE = "-- large:"
_REFUSED = "-- expect refused:"
_KEY = re.compile(r"-- \w+:")


@dataclass(frozen=True)
class Table:
    """An input of golden cases: its columns with their types in Spark's words."""

    name: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class GoldenCase:
    """One query, the inputs that changed, and the SQL by which its change is computed."""

    title: str
    query: str
    #: By name: whether rows only came.
    changed: Mapping[str, bool] = field(default_factory=dict)
    #: Whether auxiliary state is kept beside the table.
    state: bool = False
    #: Inputs that are large.
    large: frozenset[str] = frozenset()
    #: Only Spark can run it.
    spark_only: bool = False
    #: What is expected, as it stands in the file; None if nothing does yet.
    expected: str | None = None
    family: str = ""

    @property
    def refused(self) -> str | None:
        """Why the query is not refreshed from changes, where that is what is expected."""
        if self.expected is None or not self.expected.startswith(_REFUSED):
            return None
        return self.expected.removeprefix(_REFUSED).strip()


def refusal(why: str) -> str:
    """What a file says of a query that is not refreshed from changes."""
    return f"{_REFUSED} {why}"


def tables() -> dict[str, Table]:
    """The inputs of all cases, as ``golden/tables.sql`` says."""
    text = (FOLDER / "tables.sql").read_text(encoding="utf-8")
    found = {}
    for name, listed in re.findall(r"CREATE TABLE (\w+) \((.*?)\);", text, flags=re.S):
        columns = re.findall(r"(`[^`]*`|\w+)\s+(\w+(?:<[^>]*>|\([\d,]+\))?)", listed)
        found[name] = Table(name, {unquote(column): kind for column, kind in columns})
    return found


def families() -> list[Path]:
    """The golden files, one a family of rules."""
    return sorted(path for path in FOLDER.glob("*.sql") if path.name != "tables.sql")


def cases() -> list[GoldenCase]:
    """All cases of all files."""
    return [case for path in families() for case in read(path)]


def read(path: Path) -> list[GoldenCase]:
    """The cases of one file."""
    parts = re.split(rf"(?m)^(?={re.escape(_TITLE)})", path.read_text(encoding="utf-8"))
    return [_case(part, path) for part in parts[1:]]


def _case(text: str, path: Path) -> GoldenCase:
    case, query, expected = GoldenCase("", "", family=path.stem), list[str](), list[str]()
    for line in text.strip().splitlines():
        if expected or line.startswith(_EXPECT):
            expected.append(line)
        elif line.startswith(_TITLE):
            case = replace(case, title=line.removeprefix(_TITLE).strip())
        elif line.startswith(_CHANGED):
            case = replace(case, changed=dict(_changed(line.removeprefix(_CHANGED))))
        elif line.startswith(_LARGE):
            words = line.removeprefix(_LARGE).split(",")
            case = replace(case, large=frozenset(word.strip() for word in words))
        elif line.startswith(_STATE):
            case = replace(case, state=_one_of(line, _STATE, ("kept",), path) == "kept")
        elif line.startswith(_ENGINE):
            case = replace(case, spark_only=_one_of(line, _ENGINE, ("spark",), path) == "spark")
        elif _KEY.match(line):
            known = ", ".join(f"`{key}`" for key in (_TITLE, _CHANGED, _LARGE, _STATE, _ENGINE))
            raise ValueError(f"{path.name}: '{case.title}' has the line `{line}`; allowed: {known}")
        else:
            query.append(line)
    given = "\n".join(query).strip().removesuffix(";")
    _require_changed(case, given, path)
    return replace(case, query=given, expected="\n".join(expected).strip() or None)


def _require_changed(case: GoldenCase, query: str, path: Path) -> None:
    reads = {ref.name.lower() for ref in parse_query(query).references}
    if not case.changed or not case.changed.keys() <= reads:
        raise ValueError(
            f"{path.name}: '{case.title}' says that {', '.join(case.changed) or 'nothing'} changed. Name one or more "
            f"of the tables it reads: {', '.join(sorted(reads))}; as in `{_CHANGED} a, b+`"
        )


def _changed(words: str) -> Iterator[tuple[str, bool]]:
    for word in words.split(","):
        name = word.strip()
        yield name.removesuffix("+"), name.endswith("+")


def _one_of(line: str, key: str, allowed: tuple[str, ...], path: Path) -> str:
    given = line.removeprefix(key).strip()
    if given not in allowed:
        raise ValueError(f"{path.name}: `{line}` says '{given}'; allowed: {', '.join(allowed)}")
    return given


def written(case: GoldenCase) -> str:
    """A case as it stands in its file."""
    changed = ", ".join(f"{name}{'+' if grows else ''}" for name, grows in case.changed.items())
    lines = [f"{_TITLE} {case.title}", f"{_CHANGED} {changed}"]
    lines += [f"{_LARGE} {', '.join(sorted(case.large))}"] if case.large else []
    lines += [f"{_STATE} kept"] if case.state else []
    lines += [f"{_ENGINE} spark"] if case.spark_only else []
    lines += [f"{case.query};"]
    lines += [case.expected] if case.expected else []
    return "\n".join(lines) + "\n"


def write(path: Path, found: list[GoldenCase]) -> None:
    """Writes the cases of one file; what stands before the first one stays."""
    head = path.read_text(encoding="utf-8").partition(_TITLE)[0]
    path.write_text(head + "\n".join(written(case) for case in found), encoding="utf-8")
