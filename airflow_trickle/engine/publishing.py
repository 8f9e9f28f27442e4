"""How a refresh makes its outcome count: at once, or together with the other tables of an atomic group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from airflow_trickle.engine.outcome import Outcome, commit_outcomes
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.leases import Lease, holding
from airflow_trickle.lakehouse.seen import Standing, note_seen
from airflow_trickle.lakehouse.state import published_by
from airflow_trickle.results import TableResult

if TYPE_CHECKING:
    from airflow_trickle.engine.decide import Decision
    from airflow_trickle.plan.steps import TableStep
    from airflow_trickle.tick import Tick


class Publishing(Protocol):
    """What a refresh asks of whoever publishes it."""

    @property
    def word(self) -> str:
        """What was done with a snapshot, for the log."""
        ...

    def holding(self, lake: Lakehouse, identifiers: list[str], holder: str) -> AbstractContextManager[dict[str, Lease]]:
        """The leases of the tables, for the length of a block."""
        ...

    def done(self, lake: Lakehouse, step: TableStep, tick: Tick, decision: Decision) -> TableResult | None:
        """What an earlier attempt of this very tick did for a table, if it got that far."""
        ...

    def publish(self, lake: Lakehouse, outcomes: Sequence[Outcome], leases: Mapping[str, Lease]) -> None:
        """Make outcomes count, or see to it that they will."""
        ...

    def note_idle(self, lake: Lakehouse, tick: Tick, decisions: Mapping[str, Decision]) -> bool:
        """Note of tables with nothing to do that they have seen the tick, if nobody else does.

        False if one of them is no longer as it was when that was decided.
        """
        ...

    @property
    def summary(self) -> Mapping[str, str]:
        """What the snapshots say of it."""
        ...


class AtOnce:
    """Publishes a unit by itself."""

    word = "published"
    summary: Mapping[str, str] = {}

    def holding(self, lake: Lakehouse, identifiers: list[str], holder: str) -> AbstractContextManager[dict[str, Lease]]:
        """Leases of this process."""
        return holding(lake, identifiers, holder)

    def done(self, lake: Lakehouse, step: TableStep, tick: Tick, decision: Decision) -> TableResult | None:
        """What was committed for this tick."""
        published = decision.published
        if published is None or published.frontier is None or published.tick_id != tick.tick_id:
            return None
        if published.frontier != decision.target:
            # An input was computed anew since.
            return None
        return published_by(lake, step.identifier, tick.tick_id) if published.definition == step.definition else None

    def publish(self, lake: Lakehouse, outcomes: Sequence[Outcome], leases: Mapping[str, Lease]) -> None:
        """Commit, in one transaction."""
        commit_outcomes(lake, outcomes, leases)

    def note_idle(self, lake: Lakehouse, tick: Tick, decisions: Mapping[str, Decision]) -> bool:
        """Set the moment they are of, so that no earlier tick takes them back."""
        standing = [
            Standing(name, one.published.version.snapshot_id, one.published.effective_at)
            for name, one in decisions.items()
            if one.published is not None and one.published.effective_at is not None
        ]
        return note_seen(lake, tick.effective_at, standing)


AT_ONCE = AtOnce()
