"""Tables that stay behind in a tick and are read as they are: held ones, ones not due, those of loose diamonds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from airflow_trickle.engine.holds import last_good_state
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import Frontier, TableStatus
from airflow_trickle.tick import Tick


@dataclass(frozen=True)
class Rests:
    """Which tables may be behind in a tick."""

    #: Suspended, or did not settle.
    held: Mapping[str, TableStatus]
    tick: Tick
    #: Members of diamonds that are not atomic.
    tolerated: frozenset[str] = frozenset()

    def may(self, identifier: str) -> bool:
        """Whether a table may be behind."""
        return identifier in self.held or identifier in self.tick.not_due or identifier in self.tolerated

    def is_behind(self, identifier: str, frontier: Frontier) -> bool:
        """Whether a table with a state, which is not held, is behind and may be."""
        if identifier in self.tick.not_due:
            return True
        if identifier not in self.tolerated:
            return False
        return not sees_the_pins(frontier.world, self.tick) or not all(self.may(name) for name in frontier.behind)

    def told(self, behind: Collection[str]) -> str:
        """What to say of a table that was computed from tables that are behind."""
        held = [self.held[name] for name in behind if name in self.held]
        late = [name for name in behind if name not in self.held]
        said = [last_good_state(held)] if held else []
        resting = [_short(name) for name in late if name in self.tick.not_due]
        missed = [_short(name) for name in late if name not in self.tick.not_due]
        if resting:
            said.append(f"{_listed(resting)} not due in this tick, so what was last published is read")
        if missed:
            said.append(f"its inputs disagree: {_listed(missed)} not refreshed in this tick, so the last state is read")
        return "; ".join(said)


def _short(identifier: str) -> str:
    return identifier.rpartition(".")[2]


def _listed(names: list[str]) -> str:
    return f"{names[0]} was" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} were"


def sees_the_pins(world: Mapping[str, Version], tick: Tick) -> bool:
    """Whether a world agrees with a tick's pins (an input the pipeline no longer reads has no say)."""
    return all(
        name not in tick.pins
        or (tick.pins[name].snapshot_id, tick.pins[name].schema_id) == (v.snapshot_id, v.schema_id)
        for name, v in world.items()
    )
