"""What PyYAML objects to, told to a person: what stands there, and what was expected."""

from __future__ import annotations

import re

from yaml import Mark, MarkedYAMLError

from airflow_trickle.errors import Position, Problem

_CLOSERS = {"sequence": ("list", "]"), "mapping": ("mapping", "}")}

#: Part of PyYAML's text (of its C and its Python parser) -> what it means, and what to do.
_PLAIN: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a ':' is not allowed here.",
        "Put the value in quotes, or correct the indentation of this line or the one before.",
    ),
    (
        "sequence entries are not allowed",
        "a list item ('- …') may not begin here.",
        "Start the list on a line of its own.",
    ),
    (
        "expected a single document",
        "a second document begins here, but a file holds one pipeline.",
        "Move it to a file of its own.",
    ),
    (
        "unknown escape character",
        "this is not an escape that YAML knows between double quotes.",
        "Use single quotes, or a block that begins with '|'.",
    ),
    (
        "expected '-' indicator",
        "a list item ('- …') is expected here.",
        "Correct the indentation, or begin the line with '- '.",
    ),
    (
        "could not find expected ':'",
        "a ':' is expected after the key.",
        "Write `name: value`, or indent the line if it belongs to the text above.",
    ),
    (
        "node content",
        "a value is expected here.",
        "Give the value, or close the list or mapping that was opened.",
    ),
    (
        "found a tab character",
        "a tab is used for indentation, but YAML wants spaces.",
        "Replace the tab by spaces.",
    ),
)


def explain_yaml_error(error: MarkedYAMLError, source: str, file: str) -> Problem:
    """The error as a problem at its place in the file."""
    mark = error.problem_mark or error.context_mark
    what = f"{error.context or ''}: {error.problem or ''}"
    opened = error.context_mark
    if "end of stream" in what and "quoted" in what and opened:
        message, hint = "the quote that opens here is never closed.", "Close it."
        mark = opened
    else:
        message, hint = _explain(what, error, source)
    return Problem(_position(mark, source, file), f"the file is not valid YAML: {message}", hint)


def _explain(what: str, error: MarkedYAMLError, source: str) -> tuple[str, str]:
    for part, message, hint in _PLAIN:
        if part in what:
            return message, hint
    opened = error.context_mark
    flow = re.search(r"flow (sequence|mapping)", what)
    if flow and opened:
        name, closer = _CLOSERS[flow.group(1)]
        place = f"the {name} that opens in line {opened.line + 1}, column {opened.column + 1}"
        return f"',' or '{closer}' is expected here: {place} is not closed.", f"Close it with '{closer}'."
    if "cannot start any token" in what:
        return _bad_start(_character(error.problem_mark, source))
    if "undefined alias" in what:
        name = _word(error.problem_mark, source)
        return f"the alias '{name}' has no anchor before it.", f"Define it above with '&{name.lstrip('*')}'."
    if re.search(r"expected key|expected <block end>", what):
        line = f" (line {opened.line + 1})" if opened else ""
        return (
            f"a key (`name: value`) of the mapping above{line} is expected here.",
            "Correct the indentation of this line.",
        )
    return f"{(error.problem or 'it cannot be read').rstrip('.')}.", "Correct the text there."


def _bad_start(character: str) -> tuple[str, str]:
    if character == "\t":
        return "a tab is used for indentation, but YAML wants spaces.", "Replace the tab by spaces."
    return f"a value may not begin with '{character}'.", "Put the value in quotes."


def _character(mark: Mark | None, source: str) -> str:
    line = _line(mark, source)
    return line[mark.column] if mark and mark.column < len(line) else ""


def _word(mark: Mark | None, source: str) -> str:
    rest = _line(mark, source)[mark.column if mark else 0 :]
    return (re.match(r"\*[^\s,\]}]*", rest) or re.match("", rest) or [""])[0]


def _line(mark: Mark | None, source: str) -> str:
    lines = source.splitlines()
    return lines[mark.line] if mark and mark.line < len(lines) else ""


def _position(mark: Mark | None, source: str, file: str) -> Position:
    if mark is None:
        return Position(file, 1, 1)
    lines = source.splitlines() or [""]
    if mark.line >= len(lines):
        # The C parser reports the end of the file as a line that does not exist.
        return Position(file, len(lines), len(lines[-1]) + 1)
    return Position(file, mark.line + 1, mark.column + 1)
