"""Comments of a query, blanked out so that every other character keeps its place."""

from __future__ import annotations

import re

#: What may hold the beginning of a comment without being one, and the comments themselves.
_PARTS = re.compile(
    r"""
    \b[rR]'[^']*' | \b[rR]"[^"]*"              # raw strings, where a backslash is only that
    | '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*"    # strings
    | `[^`]*`                                  # quoted names
    | (?P<line> --(?:\\\n|[^\r\n])* )          # to the end of the line
    | (?P<block> /\*(?!\+) )                   # a block, but not a hint
    """,
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")
_NOT_A_BREAK = re.compile(r"[^\r\n]")


def blank_comments(text: str) -> str:
    """The text with spaces for comments, which sqlglot does not take everywhere that Spark does.

    >>> blank_comments("SELECT 1 /* one */ FROM a -- why")
    'SELECT 1           FROM a       '
    """
    if "--" not in text and "/*" not in text:
        return text
    kept: list[str] = []
    at = 0
    while found := _PARTS.search(text, at):
        end = _block_end(text, found.start()) if found["block"] else found.end()
        part = text[found.start() : end]
        comment = found["block"] or found["line"]
        kept += [text[at : found.start()], _NOT_A_BREAK.sub(" ", part) if comment else part]
        at = end
        if found["block"] and not part.endswith("*/"):
            # Never closed: the tokenizer shall see it as it is, and refuse it.
            return text
    return "".join([*kept, text[at:]])


def _block_end(text: str, at: int) -> int:
    """Spark's block comments nest."""
    depth = 0
    for found in _BRACKETS.finditer(text, at):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)
