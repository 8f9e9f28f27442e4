"""Groups that only gained rows: add what came to what is published, and read nothing else.

    γ(L + ΔL) = γ(L) ⊕ γ(ΔL)         for ΔL without rows that go, and counts, exact sums, minima, maxima and the like

⊕ is the sum of counts and sums, the smaller of minima, and so on. The published table holds γ(L), if every column of
the outermost SELECT is a key or one such aggregate, and no HAVING hides groups. A group that lost a row is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_trickle.blocks.expressions import has_distinct, position_in
from airflow_trickle.blocks.shapes import Span
from airflow_trickle.engine.delta.context import Version, weighted
from airflow_trickle.engine.delta.joins import Term
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.zset import RESERVED, quoted

#: Aggregate -> the aggregate that makes one answer of two.
_MERGED_BY: Mapping[str, str] = {
    "count": "sum",
    "count_if": "sum",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "bool_and": "bool_and",
    "every": "bool_and",
    "bool_or": "bool_or",
    "any": "bool_or",
    "some": "bool_or",
    "bit_and": "bit_and",
    "bit_or": "bit_or",
    "bit_xor": "bit_xor",
}
_LOSES = f"{RESERVED}loses"


@dataclass(frozen=True)
class Merge:
    """How each column of the result is found: by the number of its key, or as an aggregate and what merges it."""

    keys: tuple[Span, ...]
    #: By column: the number of a key, or the aggregate's span and the function that merges its answers.
    columns: tuple[int | tuple[Span, str], ...]


def merge_of(block: Block, keys: tuple[Span, ...], shown: tuple[int | None, ...]) -> Merge | None:
    """How the published rows of a SELECT can be added to; None if they do not hold enough."""
    select, blocks = block.select, block.context.blocks
    if select.having is not None or select.qualify is not None or select.sets or select.windows is not None:
        return None
    # Keys that are not plain expressions, or GROUP BY k, k.
    if (not keys and select.group is not None) or len(set(shown)) != len(shown):
        return None
    # A number as a key would be read as a position.
    if any(at is None for at in shown) or any(position_in(blocks, key) is not None for key in keys):
        return None
    found: list[int | tuple[Span, str]] = []
    for at, item in enumerate(select.items):
        if at in shown:
            found.append(shown.index(at))
            continue
        calls = list(blocks.calls(item.span))
        if len(calls) != 1 or calls[0].span != item.span or calls[0].over or calls[0].window:
            return None
        if calls[0].name not in _MERGED_BY or has_distinct(blocks, calls[0]):
            return None
        found.append((item.span, _MERGED_BY[calls[0].name]))
    return Merge(keys, tuple(found))


class Merging:
    """The change of one SELECT, by adding to what is published."""

    def __init__(self, block: Block, merge: Merge, published: str) -> None:
        self._block = block
        self._merge = merge
        self._published = published
        names = [column.name for column in block.context.bench.columns(f"SELECT * FROM {quoted(published)}")]
        self._names = [quoted(name) for name in names]
        self._keys = [quoted(f"{RESERVED}k{number}") for number in range(len(merge.keys))]

    def change(self, terms: list[Term]) -> str | None:
        """The weighted rows; None if nothing changed."""
        touched = self._keep_touched(terms)
        if touched is None:
            return None
        lost = self._keep_lost(touched)
        before = self._published_in(touched)
        parts = [weighted(before, -1), weighted(self._merged(terms, touched, lost), 1)]
        if lost is not None:
            parts.append(weighted(self._recomputed(lost), 1))
        return " UNION ALL ".join(parts)

    def _keep_touched(self, terms: list[Term]) -> str | None:
        """The keys of the changed rows, and whether any row of theirs went."""
        parts = []
        for term in terms:
            columns = ", ".join([*self._key_texts(term), f"{term.weight} AS {RESERVED}w"])
            parts.append(self._block.sql(replace(term, weight=""), columns=columns, grouped=False))
        group = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        shown = ", ".join([*self._keys, f"min({RESERVED}w) < 0 AS {_LOSES}"])
        sql = f"SELECT {shown} FROM ({' UNION ALL '.join(parts)}){group} HAVING count(*) > 0"
        return self._block.context.bench.keep(sql, "the keys of the changed rows, and which lost a row")

    def _keep_lost(self, touched: str) -> str | None:
        sql = f"SELECT * FROM {quoted(touched)} WHERE {_LOSES}"
        return self._block.context.bench.keep(sql, "the keys that lost a row")

    def _key_texts(self, term: Term) -> list[str]:
        said = self._block.context.expression
        texts = (said(key, term.inner, self._block.scope) for key in self._merge.keys)
        return [f"{text} AS {name}" for text, name in zip(texts, self._keys, strict=True)]

    def _among(self, view: str) -> str:
        """Whether a row of the block belongs to one of some groups."""
        said = self._block.context.expression
        texts = [said(key, Version.NEW, self._block.scope) for key in self._merge.keys]
        equal = [f"{name} <=> ({text})" for name, text in zip(self._keys, texts, strict=True)]
        return f"EXISTS (SELECT 1 FROM {quoted(view)} WHERE {' AND '.join(equal) or 'true'})"

    def _published_in(self, view: str, but: str | None = None) -> str:
        alias = f"{RESERVED}p"
        shown = {number: self._names[at] for at, number in enumerate(self._merge.columns) if isinstance(number, int)}
        equal = " AND ".join(f"{key} <=> {alias}.{shown[number]}" for number, key in enumerate(self._keys)) or "true"
        rows = f"SELECT * FROM {quoted(self._published)} AS {alias}"
        sql = f"{rows} WHERE EXISTS (SELECT 1 FROM {quoted(view)} WHERE {equal})"
        return sql if but is None else f"{sql} AND NOT EXISTS (SELECT 1 FROM {quoted(but)} WHERE {equal})"

    def _merged(self, terms: list[Term], touched: str, lost: str | None) -> str:
        """The groups that only gained rows: the published rows and those of what came, as one."""
        parts = [self._published_in(touched, lost)]
        parts += [self._gained(term, lost) for term in terms if not term.weight.startswith("CAST(-1")]
        shown, group = [], []
        for column, name in zip(self._merge.columns, self._names, strict=True):
            if isinstance(column, int):
                shown.append(name)
                group.append(name)
            else:
                shown.append(f"{column[1]}({name}) AS {name}")
        listed = ", ".join(self._names)
        inner = " UNION ALL ".join(f"SELECT * FROM ({part}) AS {RESERVED}m({listed})" for part in parts)
        behind = f" GROUP BY {', '.join(group)}" if group else " HAVING count(*) > 0"
        return f"SELECT {', '.join(shown)} FROM ({inner}){behind}"

    def _gained(self, term: Term, lost: str | None) -> str:
        """The aggregates of the rows that came by one term."""
        said, scope = self._block.context.expression, self._block.scope
        keys = [said(key, term.inner, scope) for key in self._merge.keys]
        columns = [
            keys[column] if isinstance(column, int) else said(column[0], term.inner, scope)
            for column in self._merge.columns
        ]
        versions = tuple(Version.PLUS if version is Version.DELTA else version for version in term.versions)
        conditions = term.conditions if lost is None else (*term.conditions, f"NOT {self._among(lost)}")
        plus = replace(term, versions=versions, weight="", conditions=conditions)
        named = ", ".join(f"{text} AS {name}" for text, name in zip(columns, self._names, strict=True))
        sql = self._block.sql(plus, columns=named, grouped=False)
        return f"{sql} GROUP BY {', '.join(keys)}" if keys else f"{sql} HAVING count(*) > 0"

    def _recomputed(self, lost: str) -> str:
        every = Term((Version.NEW,) * self._block.count, "", (self._among(lost),))
        return self._block.sql(every)
