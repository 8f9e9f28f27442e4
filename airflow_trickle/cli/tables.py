"""Rows under headings, laid out for a terminal's width; a pipe gets every row as one whole line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.text import Text

_GAP = "  "
_INDENT = "    "
#: The last column may be broken into so many lines of at least so many characters, or it goes below.
_MOST_LINES = 3
_NARROWEST = 20


def print_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, null: str | None = None
) -> None:
    """Print rows; what the terminal has no room for is wrapped (the last column) or goes below its row.

    Args:
        console: where to.
        columns: the headings.
        rows: a value per column; a `Text` keeps its colours.
        null: what stands for None; without it a dash, which is left out below a row.
    """
    values = [list(row) for row in rows]
    cells = [[_cell(value, null) for value in row] for row in values]
    right = [all(_is_number(row[place]) for row in values) for place in range(len(columns))]
    widths = [max([Text(name).cell_len, *(row[place].cell_len for row in cells)]) for place, name in enumerate(columns)]
    room = console.width if console.is_terminal else sum(widths) + len(_GAP) * len(widths)
    shown = _how_many_fit(widths, room)
    console.print(_line([Text(name, "bold") for name in columns[:shown]], widths, right))
    for row, plain in zip(cells, values, strict=True):
        start = sum(widths[: shown - 1]) + len(_GAP) * (shown - 1)
        first, *others = row[shown - 1].wrap(console, max(room - start, 1)) or [Text()]
        console.print(_line([*row[: shown - 1], first], widths, right))
        for line in others:
            line.rstrip()
            console.print(Text(" " * start) + line)
        below = zip(columns[shown:], row[shown:], plain[shown:], strict=True)
        rest = ", ".join(
            f"{name}: {cell.plain}" for name, cell, value in below if value is not None or null is not None
        )
        for text in textwrap.wrap(rest, max(room - len(_INDENT), _NARROWEST), break_on_hyphens=False):
            console.print(Text(_INDENT + text, "dim"))


def seconds(value: float) -> Decimal:
    """A number of seconds as it is shown: always two digits after the point, so that they line up."""
    return Decimal(f"{value:.2f}")


def _how_many_fit(widths: Sequence[int], room: int) -> int:
    """How many columns, from the left, go side by side: at least one, and the last one may be wrapped."""
    used = 0
    for place, width in enumerate(widths):
        free = room - used
        wrapped = place == len(widths) - 1 and free >= _NARROWEST and width <= _MOST_LINES * free
        if width > free and not wrapped:
            return max(place, 1)
        used += width + len(_GAP)
    return len(widths)


def _line(cells: Sequence[Text], widths: Sequence[int], right: Sequence[bool]) -> Text:
    line = Text()
    for place, cell in enumerate(cells):
        padding = Text(" " * (widths[place] - cell.cell_len))
        line.append(_GAP if place else "")
        line.append_text(padding + cell if right[place] else cell + padding)
    line.rstrip()
    return line


def _is_number(value: Any) -> bool:
    """Whether a value lines up to the right; a missing one does as its neighbours do."""
    return value is None or (isinstance(value, (int, float, Decimal)) and not isinstance(value, bool))


def _cell(value: Any, null: str | None) -> Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return Text("-" if null is None else null, "dim")
    return Text(printable(value.hex() if isinstance(value, bytes) else str(value)))


def printable(text: str) -> str:
    r"""A text in one line, with whatever could confuse a terminal made visible.

    >>> printable("one\ntwo \x1b[31m")
    'one\\ntwo \\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
