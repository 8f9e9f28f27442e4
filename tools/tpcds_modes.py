"""How many queries of TPC-DS are refreshed from changes, and why the others are not; writes docs/tpc-ds.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.analysis.modes import obstacles_of_query
from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.parse import Blocks
from airflow_trickle.blocks.repeatable import calls_of
from airflow_trickle.blocks.shapes import Body, Query, Select, SetOperation
from tools.sql_corpora import ADAPTATIONS, ROOT, corpora
from tools.sql_corpora import Query as CorpusQuery

REPORT = ROOT / "docs" / "tpc-ds.md"
#: Queries of which only the types of columns tell that they are computed in full -> what a refresh says. None today; a
#: test compares this with what refreshes say.
BY_TYPE: Mapping[str, str] = {}
_ROWS, _GROUPS, _ONE_ROW = "rows", "groups", "one row of aggregates"
_SETS, _WINDOWS, _SET_OPERATION = "ROLLUP, CUBE, GROUPING SETS", "windows", "UNION, INTERSECT, EXCEPT"


@dataclass(frozen=True)
class Refreshed:
    """A query: why it is computed in full, or its outermost operation and whether LIMIT cuts its result."""

    name: str
    why: str | None
    outermost: str = ""
    limited: bool = False


def refreshed() -> tuple[Refreshed, ...]:
    """Every query of TPC-DS, as Spark takes it."""
    (corpus,) = (one for one in corpora() if one.title == "TPC-DS")
    return tuple(_refreshed(query) for query in corpus.queries)


def _refreshed(query: CorpusQuery) -> Refreshed:
    text = query.text
    for one in ADAPTATIONS:
        text = one.pattern.sub(one.replacement, text)
    obstacles = obstacles_of_query(parse_query(text))
    why = obstacles[0].why if obstacles else BY_TYPE.get(query.name)
    if why is not None:
        return Refreshed(query.name, why)
    blocks, parts = blocks_of(text)
    return Refreshed(query.name, None, _outermost(blocks, parts), parts.limit is not None)


def _outermost(blocks: Blocks, query: Query) -> str:
    body: Body = query.body
    while isinstance(body, Query):
        body = body.body
    if isinstance(body, SetOperation):
        return _SET_OPERATION
    if not isinstance(body, Select):
        return _ROWS
    if body.sets:
        return _SETS
    calls = calls_of(blocks, body)
    if any(call.over is not None or call.window is not None for call in calls):
        return _WINDOWS
    if body.group is None and not calls:
        return _ROWS
    return _GROUPS if body.group is not None else _ONE_ROW


def report(found: Iterable[Refreshed]) -> str:
    """The page."""
    return "\n".join(_lines(list(found))) + "\n"


def _lines(found: list[Refreshed]) -> Iterator[str]:
    accepted = [one for one in found if one.why is None]
    yield "# TPC-DS"
    yield ""
    yield f"Of the {len(found)} queries of TPC-DS, {len(accepted)} are refreshed from changes, and the others in full."
    yield ""
    yield (
        "Written by `python -m tools.tpcds_modes`; a test compares it with what the text of the queries tells. The "
        "queries are those of DuckDB's extension `tpcds`, as Spark takes them ([SQL corpora](sql-corpora.md)). Nothing "
        "is executed."
    )
    yield ""
    yield "Why queries are computed in full:"
    yield ""
    yield "| why | queries | |"
    yield "|---|---|---|"
    reasons: dict[str, list[str]] = defaultdict(list)
    for one in found:
        if one.why is not None:
            reasons[one.why].append(one.name)
    for why, names in sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        yield f"| {why} | {len(names)} | {', '.join(names)} |"
    yield ""
    yield (
        "The others by their outermost operation. Whether all of the result is computed anew when something has "
        "changed, or what the change touches, is told in "
        "[Refreshing from changes](differential.md#how-a-change-is-computed)."
    )
    yield ""
    yield "| outermost operation | whole result | below ORDER BY … LIMIT |"
    yield "|---|---|---|"
    for kind in (_GROUPS, _ONE_ROW, _SETS, _WINDOWS, _ROWS, _SET_OPERATION):
        counts = [
            _named(one for one in accepted if one.outermost == kind and one.limited is cut) for cut in (False, True)
        ]
        yield f"| {kind} | {counts[0]} | {counts[1]} |"


def _named(queries: Iterable[Refreshed]) -> str:
    names = [one.name for one in queries]
    return f"{len(names)}: {', '.join(names)}" if names else "0"


def main() -> None:
    """Write the page."""
    REPORT.write_text(report(refreshed()), encoding="utf-8")


if __name__ == "__main__":
    main()
