"""Why a query does not parse, told to a person and at its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot.errors import ParseError

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_HINT = "Correct the SQL there."
#: What closes what, and how to call it.
_CLOSING = {"'": "'", '"': '"', "`": "`", "/*": "*/"}
_OPENING = re.compile(r"--[^\n]*|/\*|'|\"|`")


@dataclass(frozen=True, order=True)
class QueryProblem:
    """Something wrong with a query, at an offset of its text."""

    offset: int
    message: str
    hint: str = ""


def refuse_sample(offset: int) -> QueryProblem:
    """What is wrong with TABLESAMPLE."""
    message = "TABLESAMPLE reads other rows on every run, so the table would never settle."
    return QueryProblem(offset, message, "Filter by a column instead.")


def explain_parse_error(error: ParseError) -> QueryProblem:
    """The first error of the parser, in words and without colours."""
    first = error.errors[0] if error.errors else {}
    offset = len(first.get("start_context") or "")
    found = str(first.get("highlight") or "")
    end = not str(first.get("end_context") or "").strip()
    what = _ANSI.sub("", str(first.get("description") or error))
    message, behind = _in_words(what, found, end)
    # The parser names the last word it saw when it is the rest that is missing.
    return QueryProblem(offset + (len(found) if behind else 0), f"the query does not parse: {message}", _HINT)


def _in_words(what: str, found: str, end: bool) -> tuple[str, bool]:
    """The message, and whether its place is behind the word that was found."""
    here = f"'{found}'"
    if expected := re.match(r"Expecting (.+)", what):
        word = f"'{expected.group(1)}' is expected"
        return f"{word}, but the query ends with {here}." if end else f"{word} before {here}.", False
    if "missing for" in what or (what.startswith("Expected table name but got") and "SENTINEL" in what):
        return (
            (f"it ends after {here}, where more is expected.", True)
            if end
            else (
                f"something is missing at {here}.",
                False,
            )
        )
    if what.startswith("Expected table name"):
        return f"the name of a table is expected before {here}.", False
    if "Unexpected token" in what:
        return f"{here} is not expected here.", False
    return f"{what.strip().rstrip('.')} (at {here}).", False


def explain_token_error(text: str) -> QueryProblem:
    """Which quote or comment is never closed, since the tokenizer does not tell."""
    at = 0
    while found := _OPENING.search(text, at):
        opened = found.group()
        at = found.end()
        if opened.startswith("--"):
            continue
        closed = _close(text, at, opened)
        if closed is None:
            what = "comment" if opened == "/*" else f"quote {opened}"
            return QueryProblem(
                found.start(),
                f"the query does not parse: the {what} that opens here is never closed.",
                "Close it.",
            )
        at = closed
    return QueryProblem(0, "the query does not parse: it has characters that are not SQL.", _HINT)


def _close(text: str, at: int, opened: str) -> int | None:
    closer = _CLOSING[opened]
    while at < len(text):
        if opened in "'\"" and text[at] == "\\":
            at += 2
        elif text.startswith(closer, at):
            return at + len(closer)
        else:
            at += 1
    return None
