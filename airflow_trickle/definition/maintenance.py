"""What maintenance keeps: the knobs of the key ``maintenance``, and their defaults."""

from __future__ import annotations

from dataclasses import dataclass

_DAY = 86_400.0

#: Files that nobody names are never removed before they have this age: a slow writer may be about to publish them.
LEAST_ORPHAN_AGE = _DAY


@dataclass(frozen=True, kw_only=True)
class MaintenancePolicy:
    """How long snapshots, orphan files and records are kept; times in seconds.

    A snapshot is kept while it is both young and among the newest. What somebody needs is kept besides, however old:
    see `lakehouse.maintenance.needs`.
    """

    #: Older snapshots are expired.
    keep_snapshots_for: float = 7 * _DAY
    #: So many of the newest are kept at most.
    keep_snapshots: int = 100
    #: Everything that was current within this time stays, however many snapshots that are: the pipeline can be taken
    #: back to any moment of it.
    restate_window: float = _DAY
    #: The same two knobs for the rows of history, ticks and iterations.
    keep_history_for: float = 30 * _DAY
    keep_history: int = 1000
    #: Files of this age that no record names are removed.
    orphans_after: float = 3 * _DAY
    #: Whether small files, and those that lost many rows, are rewritten into larger ones.
    compact: bool = True


@dataclass(frozen=True)
class MaintenanceDef:
    """The key ``maintenance`` of a pipeline: when its tables are maintained, and how."""

    schedule: str | None
    policy: MaintenancePolicy
