"""Layers of units: a unit stands in the highest stratum among its tables and the units that it reads."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_trickle.plan.steps import RefreshStep


def layers_of(refreshes: Iterable[RefreshStep]) -> dict[str, int]:
    """The layer of each unit, for units in their order.

    A unit of several strata, which a group may be, stands in the last of them, and whatever reads it cannot stand
    below. So layers never wait for each other in a circle.
    """
    found: dict[str, int] = {}
    for step in refreshes:
        own = max(table.stratum for table in step.tables)
        found[step.unit] = max([own, *(found[unit] for unit in step.upstream)])
    return found
