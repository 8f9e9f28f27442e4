"""Which names are CTEs at a place of a query."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from airflow_trickle.identifiers import fold


@dataclass(frozen=True)
class SeenCte:
    """The CTE that a bare name stands for; ``later``: it is defined further on in the same WITH RECURSIVE."""

    definition: exp.Expr
    later: bool = False


def cte_seen(table: exp.Expr, name: str) -> SeenCte | None:
    """Climbs from a table to the top of its query; the innermost WITH that knows the name decides.

    A CTE sees those before it; of WITH RECURSIVE, itself and those after it too. The query behind WITH sees
    them all.
    """
    node, parent = table, table.parent
    inside: exp.Expr | None = None
    while parent is not None:
        if isinstance(parent, exp.With):
            inside = node
        else:
            with_ = parent.args.get("with_")
            found = None if with_ is None else _look(with_, name, inside if with_ is node else None)
            if found is not None:
                return found
        node, parent = parent, parent.parent
    return None


def _look(with_: exp.Expr, name: str, inside: exp.Expr | None) -> SeenCte | None:
    ctes: list[exp.Expr] = with_.expressions
    recursive = bool(with_.args.get("recursive"))
    later = False
    for cte in ctes:
        if cte is inside and not recursive:
            return None
        if fold(cte.alias) == name:
            return SeenCte(cte, later)
        later = later or cte is inside
    return None
