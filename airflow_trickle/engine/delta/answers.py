"""The rows around a subquery that have another answer: joined with the keys that have one, and with both answers.

A = L ⋈[l.a = k] K            K: a row for each key whose answer has changed, with the answer before and after
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_trickle.engine.delta.context import Context, Lookup, Version
from airflow_trickle.engine.delta.narrowing import Relations
from airflow_trickle.engine.delta.terms import Beside
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.identifiers import quote

#: The columns of the answers before and after, and what the view of them is called where it is joined.
BEFORE, AFTER, ALIAS = f"{RESERVED}before", f"{RESERVED}after", f"{RESERVED}answers"


@dataclass(frozen=True)
class LookedUp:
    """How rows meet the keys for which a lookup answers otherwise."""

    #: That a row asks for one of these keys, without a join.
    affected: str
    #: The keys with their answers, and the conditions of the join with them.
    beside: Beside
    conditions: tuple[str, ...]
    #: Whether a row meets at most one key. Columns of two types may be equal to several: 1 = '1' and 1 = '01'.
    one_key: bool

    @property
    def before(self) -> str:
        """The answer before."""
        return f"{ALIAS}.{BEFORE}"

    @property
    def after(self) -> str:
        """The answer after."""
        return f"{ALIAS}.{AFTER}"


def looked_up_by(context: Context, relations: Relations, lookup: Lookup) -> LookedUp | None:
    """How the rows of some relations meet the keys for which the answer has changed; None if none does."""
    if lookup.delta is None:
        return None
    ranges, within, one_key = context.bench.ranges(lookup.delta), [], True
    for number, (column, inner) in enumerate(zip(lookup.keys, lookup.types, strict=True)):
        known, at = ranges.get(f"{RESERVED}k{number}"), relations.find(column)
        kind = None if at is None else (relations.types(at) or {}).get(column.name)
        one_key = one_key and kind == inner
        if known is None or at is None or kind != known.type:
            continue
        if relations.never_meets(at, Version.OLD, column.name, known):
            return None
        within.append(known.holds(column.text))
    names = [quote(f"{RESERVED}k{number}") for number in range(len(lookup.keys))]
    pairs = list(zip(names, lookup.keys, strict=True))
    inside = " AND ".join(f"{name} = {column.text}" for name, column in pairs)
    affected = " AND ".join([f"EXISTS (SELECT 1 FROM {quote(lookup.delta)} WHERE {inside})", *within])
    same = (f"{ALIAS}.{name} = {column.text}" for name, column in pairs)
    return LookedUp(affected, Beside(lookup.delta, ALIAS, (*names, BEFORE, AFTER)), (*same, *within), one_key)
