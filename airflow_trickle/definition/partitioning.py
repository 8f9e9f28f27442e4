"""The words of `partition_by` and `cluster_by`: columns, and transforms of columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from airflow_trickle.definition.words import nearest, shortened
from airflow_trickle.identifiers import fold

#: A column as it is written: a word, or anything between backticks.
_COLUMN = r"(?:[^\s`(),]+|`(?:[^`]|``)+`)"
_TIMES = ("year", "month", "day", "hour")


def _any_case(word: str) -> str:
    """A pattern, where flags do not reach."""
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


_BY_TIME = "|".join(f"{_any_case(word)}[Ss]?" for word in _TIMES)

#: Patterns for JSON Schema; they accept what `parse_partition` and `parse_column` do.
COLUMN_PATTERN = rf"^\s*{_COLUMN}\s*$"
PARTITION_PATTERN = (
    rf"^\s*(?:{_COLUMN}|(?:{_BY_TIME})\s*\(\s*{_COLUMN}\s*\)"
    rf"|{_any_case('truncate')}\s*\(\s*[1-9][0-9]{{0,8}}\s*,\s*{_COLUMN}\s*\))\s*$"
)

ALLOWED = "a column, or years(c), months(c), days(c), hours(c) or truncate(n, c) of a column c"

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
_WIDTH = re.compile(r"[1-9][0-9]{0,8}")


class NotALayout(ValueError):
    """A text that is no part of a layout: why, and what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class PartitionText:
    """One item of `partition_by`: a column, what is made of its values, and for ``truncate`` how wide."""

    transform: str
    column: str
    width: int | None = None

    def __str__(self) -> str:
        """The item in one spelling.

        >>> str(parse_partition("Month(`a b`)")), str(parse_partition(" truncate(4,zip) "))
        ('months(`a b`)', 'truncate(4, zip)')
        """
        column = as_written(self.column)
        if self.transform == "truncate":
            return f"truncate({self.width}, {column})"
        return column if self.transform == "identity" else f"{self.transform}s({column})"


def as_written(column: str) -> str:
    """A column's name as a definition has it, between backticks where it must be."""
    return "`" + column.replace("`", "``") + "`" if re.search(r"[\s`(),]", column) else column


def parse_partition(text: str) -> PartitionText:
    """One item of `partition_by`.

    Raises:
        NotALayout: it is none.
    """
    call = None if text.strip().startswith("`") else _CALL.fullmatch(text)
    if call is None:
        return PartitionText("identity", parse_column(text, ALLOWED))
    name, inside = call[1].lower(), call[2]
    word = name.removesuffix("s") if name.removesuffix("s") in _TIMES else name
    if word in _TIMES:
        return PartitionText(word, parse_column(inside, "the name of one column"))
    if word == "truncate":
        width, comma, column = inside.partition(",")
        if not comma or not _WIDTH.fullmatch(width.strip()):
            raise NotALayout(f"{shortened(text)} needs a width and a column, such as truncate(4, zip).")
        return PartitionText("truncate", parse_column(column, "the name of one column"), int(width))
    if word == "bucket":
        raise NotALayout(
            f"{shortened(text)}: bucket is not built.", "Use cluster_by: it sorts the rows by such a column."
        )
    near = nearest(name, ("years", "months", "days", "hours", "truncate"))
    raise NotALayout(
        f"{shortened(text)}: there is no transform '{name}'.",
        (f"Did you mean {near}? " if near else "") + f"Give {ALLOWED}.",
    )


def parse_column(text: str, what: str = "the name of a column") -> str:
    """A column's name without its backticks.

    Raises:
        NotALayout: it is none.
    """
    if not re.fullmatch(rf"\s*{_COLUMN}\s*", text):
        hint = "A name with blanks, commas or parentheses goes between backticks."
        raise NotALayout(f"{shortened(text)} is not {what}.", hint)
    name = text.strip()
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def refuse_twice(columns: Sequence[str]) -> None:
    """Raises `NotALayout` if a column comes twice, whatever its case."""
    folded = [fold(name) for name in columns]
    for at, name in enumerate(columns):
        if folded[at] in folded[:at]:
            raise NotALayout(f"column '{name}' is given twice.", "Keep one of them.")
