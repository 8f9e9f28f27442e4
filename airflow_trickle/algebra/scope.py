"""Which names are CTEs at a place of a query."""

from __future__ import annotations

from enum import Enum

from sqlglot import exp


class Cte(Enum):
    """What a bare name is to the WITH clauses around it."""

    NONE = 0
    SEEN = 1
    #: Defined further on in the same WITH RECURSIVE.
    LATER = 2


def cte_seen(table: exp.Expr, name: str) -> Cte:
    """Climbs from a table to the top of its query; the innermost WITH that knows the name decides.

    A CTE sees those before it; of WITH RECURSIVE, itself too. The query behind WITH sees them all.
    """
    node, parent = table, table.parent
    cte: exp.Expr | None = None
    while parent is not None:
        if isinstance(parent, exp.With):
            cte, node = node, parent
            parent = parent.parent
            continue
        with_ = parent.args.get("with_")
        if with_ is not None:
            found = _look(with_, name, cte if with_ is node else None)
            if found is not Cte.NONE:
                return found
        node, parent = parent, parent.parent
    return Cte.NONE


def _look(with_: exp.Expr, name: str, inside: exp.Expr | None) -> Cte:
    members: list[exp.Expr] = with_.expressions
    recursive = bool(with_.args.get("recursive"))
    defined = True
    for cte in members:
        if cte is inside:
            if recursive and cte.alias.casefold() == name:
                return Cte.SEEN
            defined = False
        elif cte.alias.casefold() == name and (defined or recursive):
            return Cte.SEEN if defined else Cte.LATER
    return Cte.NONE
