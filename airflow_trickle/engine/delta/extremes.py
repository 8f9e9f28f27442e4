"""Minima and maxima beside lines that add up: a group is read again only if it may have lost its own.

    m = what is published;   g, l = the best value that came, that went, of a group's changed rows
    m' = best(m, g)          if l is none, or m is better than l, or g is as good as l
    else the group is read again; so are groups that HAVING hides, of which m is not known

Rows that come by one term and go by another cancel out first: a value that was never there is not the best. What
cancels out are rows with equal keys and equal values of all minima and maxima; if of these more came than went, such a
row is there now, and if none went, those that were there still are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow.compute as pc

from airflow_trickle.blocks.shapes import Span
from airflow_trickle.engine.delta.context import Published, Version
from airflow_trickle.engine.delta.keys import key_name, published_among, rows_among
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.tally_parts import Part
from airflow_trickle.engine.delta.terms import all_of
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import quote

_ROWS = f"{RESERVED}n"
#: Whether a group is among the published rows.
_THERE = f"{RESERVED}there"
#: (minimum?) -> the better of two values, where one may be NULL; better than; as good as.
_WORDS = {"min": ("least", "<", "<="), "max": ("greatest", ">", ">=")}


@dataclass(frozen=True)
class Found:
    """Lines with minima and maxima, and SQL for the rows of the groups that have to be read again."""

    lines: str
    read_again: tuple[str, ...]


class Extremes:
    """The minima and maxima of one SELECT with groups."""

    def __init__(self, block: Block, keys: tuple[Span, ...], parts: Sequence[Part], calls: Sequence[Span]) -> None:
        self.parts = list(parts)
        self._block = block
        self._keys = keys
        self._calls = calls
        self._names = [quote(key_name(number)) for number in range(len(keys))]

    @property
    def values(self) -> list[str]:
        """How their values are called in changed rows."""
        return [f"{RESERVED}x{part.number}" for part in self.parts]

    def answer(self, part: Part) -> str:
        """How one of them is called in lines."""
        return f"{RESERVED}e{part.number}"

    def _came(self, part: Part) -> str:
        return f"{RESERVED}g{part.number}"

    def _went(self, part: Part) -> str:
        return f"{RESERVED}l{part.number}"

    def columns(self) -> dict[int, int] | None:
        """By number of the part: the column of the result that is it and nothing else; None if one has none."""
        found = {}
        for part, call in zip(self.parts, self._calls, strict=True):
            at = next((at for at, item in enumerate(self._block.select.items) if item.span == call), None)
            if at is None:
                return None
            found[part.number] = at
        return found

    def unknown(self, lines: str) -> str:
        """Lines with minima and maxima of the right types, to ask whether an expression is understood."""
        more = "".join(f", CAST(NULL AS {part.answer}) AS {self.answer(part)}" for part in self.parts)
        return f"SELECT *{more} FROM ({lines})" if more else lines

    def changed(self, lines: str, columns: Sequence[str]) -> str:
        """The lines of the changed rows, out of those by keys and values, with the best that came and went."""
        shown = [*self._names, *(f"sum({name}) AS {name}" for name in columns)]
        for part in self.parts:
            value = f"{RESERVED}x{part.number}"
            shown.append(f"{part.name}(CASE WHEN {_ROWS} > 0 THEN {value} END) AS {self._came(part)}")
            shown.append(f"{part.name}(CASE WHEN {_ROWS} < 0 THEN {value} END) AS {self._went(part)}")
        group = f" GROUP BY {', '.join(self._names)}" if self._names else " HAVING count(*) > 0"
        return f"SELECT {', '.join(shown)} FROM ({lines}){group}"

    def found(self, view: str, before: str, after: str, shown: Sequence[int | None], published: Published) -> Found:
        """What the groups of the changed rows have now.

        Args:
            view: The lines of the changed rows, as `changed` says them.
            before: SQL for the lines of these groups so far, one for each.
            after: SQL for their lines now, one for each.
            shown: By key: the column that shows it.
            published: The result before.
        """
        known = self._published(view, shown, published)
        same = " AND ".join(f"a.{name} <=> d.{name}" for name in self._names) or "true"
        also = " AND ".join(f"p.{name} <=> d.{name}" for name in self._names) or "true"
        # Without keys there is a line even of no rows at all.
        best = "".join(
            f", CASE WHEN a.{_ROWS} > 0 THEN {_WORDS[part.name][0]}(p.{self.answer(part)}, d.{self._came(part)}) END "
            f"AS {self.answer(part)}"
            for part in self.parts
        )
        unsure = self._keep_unsure(view, before, known)
        joined = f"{quote(view)} AS d JOIN ({after}) AS a ON {same} LEFT JOIN ({known}) AS p ON {also}"
        lines = f"SELECT a.*{best} FROM {joined}"
        if unsure is None:
            return Found(lines, ())
        other = " AND ".join(f"u.{name} <=> d.{name}" for name in self._names) or "true"
        every = all_of(self._block.count, Version.NEW)
        again = self._block.sql(replace(every, conditions=rows_among(self._block, self._keys, unsure)))
        return Found(f"{lines} WHERE NOT EXISTS (SELECT 1 FROM {quote(unsure)} AS u WHERE {other})", (again,))

    def _published(self, view: str, shown: Sequence[int | None], published: Published) -> str:
        """What is published of the groups: keys, minima and maxima, in the types that lines have."""
        columns = self.columns()
        assert columns is not None  # noqa: S101 - asked before
        keys = [
            f"{quote(published.columns[at])} AS {name}"
            for name, at in zip(self._names, shown, strict=True)
            if at is not None
        ]
        values = [
            f"CAST({quote(published.columns[columns[part.number]])} AS {part.answer}) AS {self.answer(part)}"
            for part in self.parts
        ]
        which = published_among(self._block, shown, view, published)
        listed = ", ".join([*keys, *values, f"true AS {_THERE}"])
        return f"SELECT {listed} FROM {quote(published.rows)} AS {RESERVED}p WHERE {which}"

    def _keep_unsure(self, view: str, before: str, known: str) -> str | None:
        """The keys of the groups that have to be read again; None if there are none."""
        if self._block.select.having is None and self._nothing_went(view):
            return None
        doubts = [f"p.{_THERE} IS NULL"]
        for part in self.parts:
            _, better, as_good = _WORDS[part.name]
            came, went = f"d.{self._came(part)}", f"d.{self._went(part)}"
            sure = f"coalesce(p.{self.answer(part)} {better} {went}, false) OR coalesce({came} {as_good} {went}, false)"
            doubts.append(f"({went} IS NOT NULL AND NOT ({sure}))")
        same = " AND ".join(f"b.{name} <=> d.{name}" for name in self._names) or "true"
        also = " AND ".join(f"p.{name} <=> d.{name}" for name in self._names) or "true"
        listed = ", ".join(f"d.{name}" for name in self._names) or "1 AS one"
        return self._block.context.bench.keep(
            f"SELECT {listed} FROM {quote(view)} AS d JOIN ({before}) AS b ON {same} LEFT JOIN ({known}) AS p "
            f"ON {also} WHERE b.{_ROWS} > 0 AND b.{_ROWS} + d.{_ROWS} > 0 AND ({' OR '.join(doubts)})",
            "the groups that may have lost their minimum or maximum",
        )

    def _nothing_went(self, view: str) -> bool:
        rows = self._block.context.bench.rows_of(view)
        if rows is None:
            return False
        return all(pc.all(pc.is_null(rows[self._went(part)])).as_py() for part in self.parts)
