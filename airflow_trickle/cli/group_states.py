"""What the catalog knows of consistency groups: epoch, last commit, members."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rich.text import Text

from airflow_trickle.cli.output import out
from airflow_trickle.cli.tables import print_table
from airflow_trickle.errors import TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.state import TableStatus
    from airflow_trickle.plan.build import PlannedProject

#: Of what was never published together, or whose catalog cannot be asked.
NO_COMMITS: dict[str, Any] = {"epoch": None, "last_commit_at": None, "states": []}


def with_states(project: PlannedProject, groups: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Groups as ``groups_overview`` tells of them, each part with its commits and the last states of its members.

    The second are the reasons why some catalogs could not be asked. One that was never opened is not made for this.
    """
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened
    from airflow_trickle.lakehouse.state import read_status

    catalogs = {plan.pipeline: plan.catalog for plan in project.plans}
    known: dict[str, dict[str, TableStatus]] = {}
    errors: list[str] = []
    for catalog in sorted({catalogs[part["pipeline"]] for group in groups for part in group["parts"]}):
        try:
            if was_opened(catalog):
                with open_lakehouse(catalog) as lake:
                    known[catalog] = read_status(lake)
        except TrickleError as error:
            errors.append(str(error))
    identifiers = {group.id: group for plan in project.plans for group in plan.groups}
    found = []
    for group in groups:
        parts = []
        for part, step in zip(group["parts"], identifiers[group["id"]].parts, strict=True):
            statuses = known.get(catalogs[part["pipeline"]], {})
            parts.append({**part, **_commits(step.members, part["members"], statuses)})
        found.append({**group, "parts": parts})
    return found, errors


def _commits(members: Collection[str], names: Collection[str], known: dict[str, TableStatus]) -> dict[str, Any]:
    shown = dict(zip(members, names, strict=True))
    states = [(shown[name], known[name]) for name in members if name in known]
    published = [status for _, status in states if status.group_epoch is not None]
    if not states:
        return NO_COMMITS
    return {
        "epoch": max((status.group_epoch or 0 for status in published), default=None),
        # The epoch goes up with a commit that changes a table, and with no other.
        "last_commit_at": max((one.changed_at for one in published if one.changed_at is not None), default=None),
        "states": [
            {
                "table": name,
                "status": status.status.value,
                "mode": status.mode,
                "epoch": status.epoch,
                "refreshed_at": status.refreshed_at,
                "changed_at": status.changed_at,
                "error": status.error,
            }
            for name, status in states
        ],
    }


def print_states(groups: list[dict[str, Any]]) -> None:
    """Print the last states of the members, a line for each that was ever refreshed."""
    rows = [(group["id"], one) for group in groups for part in group["parts"] for one in part["states"]]
    if not rows:
        return
    out.print()
    columns = ["group", "table", "status", "epoch", "refreshed", "changed", "mode", "last error"]
    print_table(out, columns, (_row(number, one) for number, one in rows))


def _row(group: int, state: dict[str, Any]) -> tuple[Any, ...]:
    error = state["error"]
    return (
        group,
        state["table"],
        state["status"],
        state["epoch"],
        moment_text(state["refreshed_at"]),
        moment_text(state["changed_at"]),
        state["mode"],
        Text(" ".join(error.split()), "red") if error else None,
    )


def moment_text(moment: Any) -> str | None:
    """A moment of UTC for a column."""
    return moment.strftime("%Y-%m-%d %H:%M:%S") if moment else None
