"""A query's text, and where each of its characters stands in the file it came from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Protocol

from airflow_trickle.errors import Position

_BREAKS = "\n\r\x85\u2028\u2029"
_BLANK = " \t" + _BREAKS
_LINE = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_PROPERTIES = re.compile("(?:[&!][^ \t\n\r\x85\u2028\u2029]*(?:[ \t\n\r\x85\u2028\u2029]+|#[^\n\r]*)*)*")
#: How many characters an escape between double quotes takes, backslash included.
_ESCAPES = {"x": 4, "u": 6, "U": 10}


@dataclass(frozen=True)
class Scalar:
    """A text in a YAML file: the whole file, the line and column (from 0) where it begins, its style."""

    source: str = field(repr=False)
    line: int
    column: int
    style: str


class QueryText(Protocol):
    """A query that knows where its characters stand, written by a person or made from another query."""

    @property
    def text(self) -> str:
        """The query."""

    @property
    def file(self) -> str:
        """The file it came from."""

    def position(self, offset: int) -> Position:
        """Where the character at ``offset`` stands."""

    def position_of(self, line: int, column: int) -> Position:
        """Where the given line and column of the query (from 1) stand."""


@dataclass(frozen=True)
class SqlText:
    """A query as its author wrote it, in a file of its own (``scalar`` is None) or in YAML.

    >>> sql = SqlText("SELECT 1", "q.sql")
    >>> str(sql.position(7))
    'q.sql:1:8'
    """

    text: str
    file: str
    scalar: Scalar | None = None

    def position(self, offset: int) -> Position:
        """Where the character at ``offset`` stands; an offset behind the last one is its end.

        Exact for every character that is not blank, whatever the style of the YAML text.
        """
        offset = max(0, min(offset, len(self.text)))
        if self.scalar is None:
            return _place(self.text, offset, self.file)
        if offset == len(self.text):
            # The end of the query is where its last character is, not the next key of the file.
            last = len(self.text.rstrip()) - 1
            if last < 0:
                return Position(self.file, self.scalar.line + 1, self.scalar.column + 1)
            found = _place(self.scalar.source, _align(self.text, last, self.scalar), self.file)
            return Position(found.file, found.line, found.column + 1)
        return _place(self.scalar.source, _align(self.text, offset, self.scalar), self.file)

    def position_of(self, line: int, column: int) -> Position:
        """Where the given line and column of the query (from 1) stand in the file."""
        return self.position(offset_of(self.text, line, column))


def offset_of(text: str, line: int, column: int) -> int:
    """The offset of a line and column of a text, both from 1; behind the last line it is that one's.

    >>> offset_of("SELECT 1\\nFROM a", 2, 6)
    14
    """
    starts = line_starts(text)
    return starts[max(0, min(line, len(starts)) - 1)] + column - 1


# A file with many errors is asked for many places, so its lines are counted once.
@lru_cache(maxsize=32)
def line_starts(source: str) -> list[int]:
    """Where the lines of a text begin."""
    return [0, *(found.end() for found in _LINE.finditer(source))]


def _place(source: str, index: int, file: str) -> Position:
    starts = line_starts(source)
    line = bisect_right(starts, index)
    return Position(file, line, index - starts[line - 1] + 1)


def literal_lines(text: str, scalar: Scalar) -> list[tuple[int, int, int, int]] | None:
    """Of a text behind '|': start, end, line and column of each line; None if it is not laid out so plainly."""
    if scalar.style != "|" or "\r" in scalar.source:
        return None
    source, starts = scalar.source, line_starts(scalar.source)
    number = bisect_right(starts, _begin(scalar)) - 1
    found, offset = [], 0
    for line in text.split("\n"):
        if line.strip():
            end = starts[number + 1] - 1 if number + 1 < len(starts) else len(source.rstrip("\n"))
            if number >= len(starts) or not source[starts[number] : end].endswith(line):
                return None
            found.append((offset, offset + len(line), number + 1, end - len(line) - starts[number] + 1))
        offset, number = offset + len(line) + 1, number + 1
    return found


def indexes(text: str, scalar: Scalar) -> list[int]:
    """The index in the file of every character of a text, as far as they can be told."""
    return list(_aligned(text, scalar))


def _align(text: str, offset: int, scalar: Scalar) -> int:
    """The index in the file of the character at ``offset``."""
    good = _begin(scalar)
    for good in islice(_aligned(text, scalar), offset + 1):  # noqa: B007 - the last one counts
        pass
    return good


def _aligned(text: str, scalar: Scalar) -> Iterator[int]:
    """The index in the file of each character, found by reading both side by side.

    YAML changes only blanks (indentation, folding) and what it escapes, so every other character of
    the text is met in the file in the same order. Where it is not, the last sure place is the last.
    """
    source, style = scalar.source, scalar.style
    at = _begin(scalar)
    for character in text:
        if character in _BLANK:
            if style == '"' and _joins(source, at):
                at = _skip(source, at, style)
            yield at
            if style == '"' and source[at : at + 1] == "\\":
                at += _escape(source, at)
            else:
                at += source[at : at + 1] == character
            continue
        at = _skip(source, at, style)
        width = _width(source, at, style, character) if at < len(source) else 0
        if width == 0:
            # Not what was expected: the last sure place is better than a wrong one.
            return
        yield at
        at += width


def _begin(scalar: Scalar) -> int:
    """The index of the first character behind the opening quote or the line of the block's '|'."""
    index = line_starts(scalar.source)[scalar.line] + scalar.column
    # An anchor or a tag before the text counts as its beginning.
    index = _PROPERTIES.match(scalar.source, index).end()  # type: ignore[union-attr]  # may be empty
    if scalar.style in ("|", ">"):
        found = _LINE.search(scalar.source, index)
        return found.end() if found else len(scalar.source)
    return index + (scalar.style in ("'", '"'))


def _skip(source: str, at: int, style: str) -> int:
    """Past blanks, and past a backslash that only joins two lines."""
    while at < len(source):
        if source[at] in _BLANK:
            at += 1
        elif style == '"' and _joins(source, at):
            at += 2
        else:
            break
    return at


def _joins(source: str, at: int) -> bool:
    return source[at : at + 1] == "\\" and source[at + 1 : at + 2] in tuple(_BREAKS)


def _escape(source: str, at: int) -> int:
    return _ESCAPES.get(source[at + 1 : at + 2], 2)


def _width(source: str, at: int, style: str, character: str) -> int:
    """How many characters of the file stand for ``character``; 0 if it does not stand there."""
    if style == '"' and source[at] == "\\":
        return _escape(source, at)
    if source[at] != character:
        return 0
    return 2 if style == "'" and character == "'" else 1
