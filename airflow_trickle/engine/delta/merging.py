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
from airflow_trickle.engine.delta.context import Change, Published, Version, replaced
from airflow_trickle.engine.delta.keys import key_name, rows_among
from airflow_trickle.engine.delta.selects import Block
from airflow_trickle.engine.delta.terms import Term, all_of
from airflow_trickle.engine.zset import FILE, POSITION, RESERVED, WEIGHT
from airflow_trickle.identifiers import quote

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
#: How one answer of two is said in an expression; a side that is NULL has no say.
_ADDED_BY: Mapping[str, str] = {
    "sum": "{o} + {g}",
    "min": "least({o}, {g})",
    "max": "greatest({o}, {g})",
    "bool_and": "{o} AND {g}",
    "bool_or": "{o} OR {g}",
    "bit_and": "{o} & {g}",
    "bit_or": "{o} | {g}",
    "bit_xor": "{o} ^ {g}",
}
_LOSES, _THERE = f"{RESERVED}loses", f"{RESERVED}there"


@dataclass(frozen=True)
class Merge:
    """How each column of the result is found: by the number of its key, or as an aggregate and what merges it."""

    keys: tuple[Span, ...]
    #: By column: the number of a key, or the aggregate's span and the function that merges its answers.
    columns: tuple[int | tuple[Span, str], ...]


def merge_of(block: Block, keys: tuple[Span, ...], shown: tuple[int | None, ...], published: Published) -> Merge | None:
    """How the published rows of a SELECT can be added to; None if they do not hold enough."""
    select, blocks = block.select, block.context.blocks
    if select.having is not None or select.qualify is not None or select.sets or select.windows is not None:
        return None
    # Keys that are not plain expressions, or GROUP BY k, k.
    plain = (bool(keys) or select.group is None) and len(set(shown)) == len(shown)
    # A number as a key would be read as a position.
    if not plain or None in shown or any(position_in(blocks, key) is not None for key in keys):
        return None
    found: list[int | tuple[Span, str]] = []
    for at, item in enumerate(select.items):
        if at in shown:
            found.append(shown.index(at))
            continue
        merged_by = _merged_by(block, item.span)
        # The sum of two numbers with so many digits may lose some.
        if merged_by is None or "decimal(38" in published.types[at]:
            return None
        found.append((item.span, merged_by))
    return Merge(keys, tuple(found))


def _merged_by(block: Block, span: Span) -> str | None:
    """What merges the answers of an aggregate, if an item is one and nothing else."""
    calls = list(block.context.blocks.calls(span))
    if len(calls) != 1 or calls[0].span != span or calls[0].over or calls[0].window:
        return None
    return None if has_distinct(block.context.blocks, calls[0]) else _MERGED_BY.get(calls[0].name)


def _added(merged_by: str, old: str, gain: str) -> str:
    both = _ADDED_BY[merged_by].format(o=old, g=gain)
    return f"CASE WHEN {old} IS NULL THEN {gain} WHEN {gain} IS NULL THEN {old} ELSE {both} END"


class Merging:
    """The change of one SELECT, by adding to what is published."""

    def __init__(self, block: Block, merge: Merge, published: Published) -> None:
        self._block = block
        self._merge = merge
        self._published = published
        self._names = [quote(name) for name in published.columns]
        self._keys = [quote(key_name(number)) for number in range(len(merge.keys))]
        #: What came, once it is computed.
        self._gained_view = ""
        #: By column of the result: what the changed rows alone give.
        self._gains = [quote(f"{RESERVED}g{number}") for number in range(len(merge.columns))]

    def change(self, terms: list[Term]) -> Change | None:
        """The weighted rows; None if nothing changed."""
        only_gains = self._block.only_gains(terms)
        gained = self._keep_gained(terms, only_gains=only_gains)
        if gained is None:
            return None
        self._gained_view = gained
        lost = None if only_gains else self._keep_lost(gained)
        if lost is None:
            return Change(self._exchanged(gained), placed=self._published.placed is not None, net=True)
        rest = f"(SELECT * FROM {quote(gained)} WHERE NOT {_LOSES})"
        after = [self._merged(rest), self._recomputed(lost)]
        return replaced(self._published, self._is_in(quote(gained)), *after)

    # --- what came ---------------------------------------------------------------------------------

    def _keep_gained(self, terms: list[Term], *, only_gains: bool) -> str | None:
        """By key: the aggregates of the rows that came, and whether any row went."""
        parts = [self._gained(term) for term in terms if term.sign >= 0]
        if not only_gains:
            parts += [self._losing(term) for term in terms]
        shown = [*self._keys]
        for column, name in zip(self._merge.columns, self._gains, strict=True):
            if not isinstance(column, int):
                shown.append(f"{column[1]}({name}) AS {name}")
        shown.append(f"bool_or({_LOSES}) AS {_LOSES}")
        group = f" GROUP BY {', '.join(self._keys)}" if self._keys else " HAVING count(*) > 0"
        sql = f"SELECT {', '.join(shown)} FROM ({' UNION ALL '.join(parts)}){group}"
        if len(parts) == 1:
            sql = parts[0]
        return self._block.context.bench.keep(sql, "what the changed rows add to each group, and which lost a row")

    def _keep_lost(self, gained: str) -> str | None:
        sql = f"SELECT * FROM {quote(gained)} WHERE {_LOSES}"
        return self._block.context.bench.keep(sql, "the groups that lost a row")

    def _gained(self, term: Term) -> str:
        """The aggregates of the rows that came by one term."""
        said, scope = self._block.context.expression, self._block.scope
        keys = [said(key, term.inner, scope) for key in self._merge.keys]
        columns = [f"{text} AS {name}" for text, name in zip(keys, self._keys, strict=True)]
        for column, name in zip(self._merge.columns, self._gains, strict=True):
            if not isinstance(column, int):
                columns.append(f"{said(column[0], term.inner, scope)} AS {name}")
        columns.append(f"false AS {_LOSES}")
        versions = tuple(Version.PLUS if version is Version.DELTA else version for version in term.versions)
        coming = (f"{term.weight} > 0",) if term.beside is not None else ()
        plus = replace(term, versions=versions, weight="", conditions=(*term.conditions, *coming))
        sql = self._block.sql(plus, columns=", ".join(columns), grouped=False)
        return f"{sql} GROUP BY {', '.join(keys)}" if keys else f"{sql} HAVING count(*) > 0"

    def _losing(self, term: Term) -> str:
        """The keys of the rows that went by one term."""
        said, scope = self._block.context.expression, self._block.scope
        keys = [
            f"{said(key, term.inner, scope)} AS {name}" for key, name in zip(self._merge.keys, self._keys, strict=True)
        ]
        nothing = [
            f"NULL AS {name}"
            for column, name in zip(self._merge.columns, self._gains, strict=True)
            if not isinstance(column, int)
        ]
        columns = ", ".join([*keys, *nothing, f"true AS {_LOSES}"])
        losing = replace(term, weight="", conditions=(*term.conditions, f"{term.weight} < 0"))
        return self._block.sql(losing, columns=columns, grouped=False, distinct=True)

    # --- what is published -------------------------------------------------------------------------

    def _same_group(self, published: str, group: str = "") -> str:
        """Whether a published row and a row of what came are of one group."""
        shown = {number: self._names[at] for at, number in enumerate(self._merge.columns) if isinstance(number, int)}
        equal = (f"{group}{key} <=> {published}.{shown[number]}" for number, key in enumerate(self._keys))
        return " AND ".join(equal) or "true"

    def _is_in(self, groups: str) -> str:
        """Whether a published row, called `__trickle_p`, is of one of some groups."""
        return f"EXISTS (SELECT 1 FROM {groups} WHERE {self._same_group(f'{RESERVED}p')})"

    def _within(self, gained: str) -> list[str]:
        """Where the published rows of the groups lie."""
        ranges, found = self._block.context.bench.ranges(gained), []
        for at, column in enumerate(self._merge.columns):
            known = ranges.get(f"{RESERVED}k{column}") if isinstance(column, int) else None
            if known is not None and known.type == self._published.types[at]:
                found.append(known.holds_or_null(f"{RESERVED}p.{self._names[at]}"))
        return found

    def _before(self, groups: str) -> str:
        """The published rows of some groups, with their places if they have them."""
        view = self._published.placed or self._published.rows
        where = " AND ".join([self._is_in(groups), *self._within(self._gained_view)])
        return f"(SELECT *, true AS {_THERE} FROM {quote(view)} AS {RESERVED}p WHERE {where})"

    def _sums(self) -> list[str]:
        """The columns of a group, out of those published (o) and those that came (g)."""
        found = []
        for at, column in enumerate(self._merge.columns):
            name, gain, kind = self._names[at], self._gains[at], self._published.types[at]
            text = f"g.{self._keys[column]}" if isinstance(column, int) else _added(column[1], f"o.{name}", f"g.{gain}")
            found.append(f"CAST({text} AS {kind})")
        return found

    def _joined(self, groups: str) -> str:
        # What is published of the groups is little: sent to where the groups are, nothing needs to be sorted.
        join = f"{groups} AS g LEFT JOIN {self._before(groups)} AS o ON {self._same_group('o', 'g.')}"
        return f"/*+ BROADCAST(o) */ {{columns}} FROM {join}"

    def _merged(self, groups: str) -> str:
        """The rows of some groups with what came."""
        shown = ", ".join(f"{text} AS {name}" for text, name in zip(self._sums(), self._names, strict=True))
        return "SELECT " + self._joined(groups).replace("{columns}", shown)

    def _exchanged(self, gained: str) -> str:
        """The rows of all groups: as they are published with weight -1, and with what came with weight 1."""
        sums, before = self._sums(), [f"o.{name}" for name in self._names]
        # A row that stays what it is does not go and come.
        same = " AND ".join(f"{left} <=> {right}" for left, right in zip(before, sums, strict=True))
        nowhere, places, where = [], [], []
        if self._published.placed is not None:
            nowhere = ["CAST(NULL AS STRING)", "CAST(NULL AS BIGINT)"]
            places, where = [f"o.{FILE}", f"o.{POSITION}"], [FILE, POSITION]
        coming = [*sums, "CAST(1 AS BIGINT)", *nowhere, "true"]
        going = [*before, "CAST(-1 AS BIGINT)", *places, f"o.{_THERE}"]
        names = ", ".join([*self._names, WEIGHT, *where])
        both = f"stack(2, {', '.join([*coming, *going])}) AS ({names}, {_THERE})"
        rows = self._joined(quote(gained)).replace("{columns}", both)
        return f"SELECT {names} FROM (SELECT {rows} WHERE o.{_THERE} IS NULL OR NOT ({same})) WHERE {_THERE}"

    def _recomputed(self, lost: str) -> str:
        conditions = rows_among(self._block, self._merge.keys, lost)
        return self._block.sql(replace(all_of(self._block.count, Version.NEW), conditions=conditions))
