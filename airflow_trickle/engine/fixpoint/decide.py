"""What a tick has to do for tables that are refreshed together, from metadata alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_trickle.engine.decide import Decision, decide
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.plan.steps import InputRef, RefreshStep
from airflow_trickle.tick import Tick


@dataclass(frozen=True)
class UnitDecision:
    """The decisions for each table by identifier, and what follows for all."""

    tables: Mapping[str, Decision]
    kind: str
    reason: str
    #: Whether the published rows of all tables are those of these very queries at one state of the inputs.
    from_changes: bool

    @property
    def stray(self) -> bool:
        """Whether an input of one of them was not brought to the world of this tick."""
        return any(one.stray for one in self.tables.values())


def outside_inputs(step: RefreshStep) -> tuple[InputRef, ...]:
    """What the tables of a unit read that is not one of them."""
    own = {table.identifier for table in step.tables}
    found = {ref.identifier: ref for table in step.tables for ref in table.inputs if ref.identifier not in own}
    return tuple(found[name] for name in sorted(found))


def decide_unit(lake: Lakehouse, step: RefreshStep, tick: Tick, *, full_refresh: bool) -> UnitDecision:
    """Compare what the tables were computed from with what this tick reads; they all read the same."""
    inputs = outside_inputs(step)
    found = {
        table.identifier: decide(lake, table.model_copy(update={"inputs": inputs}), tick, full_refresh=full_refresh)
        for table in step.tables
    }
    each = list(found.values())
    kinds = {one.kind for one in each}
    for kind in (Decision.SKIP, Decision.WORK, Decision.ADVANCE, Decision.IDLE):
        if kind in kinds:
            break
    reasons = list(dict.fromkeys(one.reason for one in each if one.kind == kind))
    frontiers = {one.published.frontier.as_json() for one in each if one.published and one.published.frontier}
    together = len(frontiers) == 1 and all(one.published is not None and one.published.frontier for one in each)
    from_changes = together and all(one.from_changes for one in each)
    if together and kind == Decision.WORK and not from_changes and any(one.kind != Decision.WORK for one in each):
        reasons = [f"{reason} (in one of the tables of the cycle)" for reason in reasons]
    return UnitDecision(found, kind, "; ".join(reasons), from_changes)
