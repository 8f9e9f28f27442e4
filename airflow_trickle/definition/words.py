"""The words of error messages: what was given, what is allowed, what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from airflow_trickle.identifiers import fold

_LONGEST = 60


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` is most probably a slip of, or None.

    >>> nearest("quary", ["query", "query_file", "owner"])
    'query'
    """
    by_folded = {fold(candidate): candidate for candidate in sorted(known, reverse=True)}
    found = difflib.get_close_matches(fold(name), by_folded, n=1, cutoff=0.7)
    return by_folded[found[0]] if found else None


def choice_of(text: str, allowed: Sequence[str]) -> str | None:
    """The allowed word that ``text`` spells, whatever its case, or None."""
    return next((word for word in allowed if fold(word) == fold(text)), None)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a sentence has them.

    >>> listed(["a", "b", "c"], "or")
    'a, b or c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def shortened(text: str) -> str:
    """A text in one line and in quotes, cut where it gets long."""
    line = " ".join(text.split())
    return f"'{line}'" if len(line) <= _LONGEST else f"'{line[: _LONGEST - 1]}…'"


def given(value: Any) -> str:
    """What somebody wrote, in words that tell a text from a number.

    >>> given("maybe"), given(3), given(True), given([])
    ("the text 'maybe'", 'the number 3', 'the truth value true', 'a list')
    """
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"the truth value {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {shortened(value)}"
    return "a list" if isinstance(value, list) else "a mapping"
