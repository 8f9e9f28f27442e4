"""What the catalog keeps of mutual recursions, for ``trickle explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_trickle.cli.opening import matching
from airflow_trickle.definition.words import listed
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.topology import MutualGroup
    from airflow_trickle.plan.build import PlannedProject


def kept_group(project: PlannedProject, table: str) -> dict[str, Any] | None:
    """The mutual group in a catalog that a table is part of, in the YAML or not; None if no catalog tells of one.

    A catalog that nobody has opened yet is not made for this, and one that does not answer tells nothing.
    """
    from airflow_trickle.definition.settings import load_settings
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened
    from airflow_trickle.lakehouse.topology import read_mutual_groups

    for catalog in sorted({plan.catalog for plan in project.plans} or {load_settings().catalog}):
        try:
            if not was_opened(catalog):
                continue
            with open_lakehouse(catalog) as lake:
                groups = read_mutual_groups(lake)
                identifier = matching({name for group in groups.values() for name in group.tables}, table)
                group = next((one for one in groups.values() if identifier in one.tables), None)
                if group is not None:
                    return _told(lake, group)
        except TrickleError:
            continue
    return None


def _told(lake: Lakehouse, group: MutualGroup) -> dict[str, Any]:
    from airflow_trickle.lakehouse.state import read_status

    known = read_status(lake, list(group.tables))
    return {
        "table": group.identifier,
        "pipeline": group.pipeline,
        "created_at": group.created_at,
        "groups": [list(ctes) for ctes in group.groups],
        "members": dict(group.members),
        "query": group.query,
        "statuses": {name: known[name].status.value if name in known else None for name in group.tables},
    }


def state_lines(kept: dict[str, Any]) -> list[str]:
    """The lines that follow the mutual recursion of a planned table: what the catalog has of it."""
    when = kept["created_at"].strftime("%Y-%m-%d %H:%M:%S")
    return [f"  In the catalog since {when} UTC:", *(f"  {line}" for line in _states(kept))]


def kept_lines(kept: dict[str, Any], path: str) -> list[str]:
    """All that is told of a mutual recursion that is in no pipeline any more: the query is put together again."""
    when = kept["created_at"].strftime("%Y-%m-%d %H:%M:%S")
    lines = [f"Mutual recursion of {kept['table']}, which no pipeline in '{path}' has"]
    lines += [f"  pipeline   {kept['pipeline']}", f"  created    {when} UTC"]
    lines += [f"  the CTEs {listed(group)} read each other" for group in kept["groups"]]
    lines += ["", "Tables in the catalog", *_states(kept)]
    lines += ["", "Query as it was written"]
    return lines + [f"  {line}".rstrip() for line in kept["query"].strip("\n").split("\n")]


def _states(kept: dict[str, Any]) -> list[str]:
    ctes = {table: f"the CTE {cte}" for cte, table in kept["members"].items()}
    return [
        f"  {name}: {ctes.get(name, 'the query behind WITH')}, {status or 'dropped'}"
        for name, status in kept["statuses"].items()
    ]
