"""Where the parts of a query stand in its file, small enough to travel with a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from airflow_trickle.definition.derived_text import DerivedSql
from airflow_trickle.definition.sql_text import QueryText, SqlText, indexes, line_starts, literal_lines
from airflow_trickle.errors import Position


class Run(NamedTuple):
    """``text[start:end]`` stands in one line of the file, letter for letter, from this line and column on."""

    start: int
    end: int
    line: int
    column: int


def runs_of(sql: QueryText) -> tuple[Run, ...]:
    """The runs of a query, in order; what is in none was not written by a person, or is a line's end.

    >>> runs_of(SqlText("SELECT 1\\nFROM a", "q.sql"))
    (Run(start=0, end=8, line=1, column=1), Run(start=9, end=15, line=2, column=1))
    """
    if isinstance(sql, DerivedSql):
        return tuple(_derived(sql))
    if not isinstance(sql, SqlText):
        return ()
    if sql.scalar is None:
        return tuple(_lines(sql.text, list(range(len(sql.text))), sql.text))
    if (found := literal_lines(sql.text, sql.scalar)) is not None:
        return tuple(Run(*run) for run in found)
    return tuple(_lines(sql.text, indexes(sql.text, sql.scalar), sql.scalar.source))


def position_in(runs: Sequence[tuple[int, int, int, int]], file: str, offset: int) -> Position:
    """Where the character at ``offset`` was written; for one that was not, where the next one was."""
    at = (1, 1)
    for start, end, line, column in runs:
        at = line, column + min(max(0, offset - start), end - start)
        if offset < end or offset <= start:
            break
    return Position(file, *at)


def _lines(text: str, found: list[int], source: str) -> Iterator[Run]:
    """Characters that follow each other in a line of the source, as one run each."""
    starts = line_starts(source)
    line, begin = 0, None
    for at, index in enumerate(found):
        broken = at > 0 and index != found[at - 1] + 1
        passed = line + 1 < len(starts) and index >= starts[line + 1]
        if begin is not None and (broken or passed or text[at] in "\r\n"):
            yield Run(begin, at, line + 1, found[begin] - starts[line] + 1)
            begin = None
        while line + 1 < len(starts) and index >= starts[line + 1]:
            line += 1
        if begin is None and text[at] not in "\r\n":
            begin = at
    if begin is not None:
        yield Run(begin, len(found), line + 1, found[begin] - starts[line] + 1)


def _derived(sql: DerivedSql) -> Iterator[Run]:
    """The runs of the original, where pieces of it were copied to."""
    original = runs_of(sql.original)
    for start, end, origin in sql.pieces:
        for run in original:
            first, last = max(run.start, origin), min(run.end, origin + end - start)
            if first < last:
                yield Run(start + first - origin, start + last - origin, run.line, run.column + first - run.start)
