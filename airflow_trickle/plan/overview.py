"""Strata, cycles and groups of a planned project, as ``trickle strata``, ``sccs`` and ``groups`` tell of them."""

from __future__ import annotations

from typing import Any

from airflow_trickle.definition.words import listed
from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.explain import TableNames, groups_json, sccs_json
from airflow_trickle.plan.steps import GroupStep, Plan, TableStep


def strata_overview(planned: PlannedProject) -> list[dict[str, Any]]:
    """Every stratum: its tables, whether there are cycles among them, and how many non-monotone reads lead into it."""
    names = TableNames(planned)
    strata: dict[int, list[TableStep]] = {}
    for plan in planned.plans:
        for table in plan.tables:
            strata.setdefault(table.stratum, []).append(table)
    return [
        {
            "stratum": number,
            "members": names.all(table.identifier for table in tables),
            "has_cycles": any(table.scc_id is not None for table in tables),
            "non_monotone_edges": sum(edge.type == "NON_MONOTONE" for table in tables for edge in table.edges),
        }
        for number, tables in sorted(strata.items())
    ]


def sccs_overview(planned: PlannedProject) -> list[dict[str, Any]]:
    """Every strongly connected component; ``mutual_recursion``: the tables whose queries it was made from."""
    made: dict[int, dict[str, str]] = {}
    for plan in planned.plans:
        queries = {mutual.table: mutual.query for mutual in plan.mutual}
        for table in plan.tables:
            if table.scc_id is not None and table.made_from is not None:
                made.setdefault(table.scc_id, {})[table.made_from] = queries[table.made_from]
    return [
        {
            **part,
            "mutual_recursion": [
                {"table": table, "query": query} for table, query in sorted(made.get(part["id"], {}).items())
            ],
        }
        for part in sccs_json(planned)
    ]


def groups_overview(planned: PlannedProject) -> list[dict[str, Any]]:
    """Every consistency group, with the schedule of what is published together, and why the rest is not."""
    tables = {table.identifier: (table, plan) for plan in planned.plans for table in plan.tables}
    steps = {group.id: group for plan in planned.plans for group in plan.groups}
    found = []
    for told in groups_json(planned):
        group = steps[told["id"]]
        parts = [
            {
                **part,
                "schedule": tables[step.members[0]][0].schedule if step.atomic and step.members[0] in tables else None,
            }
            for part, step in zip(told["parts"], group.parts, strict=True)
        ]
        found.append(
            {
                **told,
                "parts": parts,
                "published": published(group),
                "not_atomic_because": _not_atomic_because(group, tables),
            }
        )
    return found


def published(group: GroupStep) -> str:
    """How the tables of a group become visible.

    >>> published(GroupStep(id=1, members=("a", "b"), convergence_points=("b",), atomic=True, parts=()))
    'in one commit'
    """
    if group.atomic:
        return "in one commit"
    return "in parts" if any(part.atomic for part in group.parts) else "one by one"


def _not_atomic_because(group: GroupStep, tables: dict[str, tuple[TableStep, Plan]]) -> str | None:
    if group.atomic:
        return None
    pipelines = sorted({f"'{tables[name][1].pipeline}'" for name in group.members if name in tables})
    others = any(name not in tables for name in group.members)
    if len(pipelines) + others > 1:
        where = listed([*pipelines, *(["others"] if others else [])])
        return f"its tables are in several pipelines ({where}), and each of them publishes by itself"
    return "diamond_consistency: none is set for at least one of its tables"
