"""Faults in maintenance: a snapshot or a file that somebody needs goes."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_EXPIRY = Room(
    "maintenance",
    "airflow_trickle/lakehouse/maintenance",
    tests=("tests/lakehouse/maintenance/test_expiry.py", "tests/lakehouse/maintenance/test_orphans.py"),
    slow=("tests/lakehouse/maintenance/test_interleaved.py",),
)
_CHANGES = Room(
    "changes around a compaction",
    "airflow_trickle/lakehouse",
    tests=("tests/lakehouse/maintenance/test_compaction.py",),
    slow=("tests/lakehouse/maintenance/test_interleaved.py",),
)
_ENGINE = Room(
    "engine maintenance",
    "airflow_trickle/engine/maintenance",
    tests=("tests/lakehouse/maintenance/test_expiry.py", "tests/lakehouse/maintenance/test_compaction.py"),
)

MAINTENANCE: tuple[Fault, ...] = (
    _EXPIRY.fault(
        "frontier-not-needed",
        "what a reader has read last is expired",
        "needs.py",
        'if row["frontier"]:\n            _add_frontier(',
        'if not row["frontier"]:\n            _add_frontier(',
    ),
    _EXPIRY.fault(
        "pins-not-needed",
        "what a tick has pinned is expired",
        "needs.py",
        "found.add(identifier, version[0], f\"tick {row['tick_id']} has pinned it\")",
        "pass",
    ),
    _EXPIRY.fault(
        "shared-files-removed",
        "files go that a snapshot which stays names too",
        "expiry.py",
        "candidates -= data_and_delete_files(table.io, stays.manifests.values(), live_only=True)",
        "pass",
    ),
    _EXPIRY.fault(
        "kept-state-is-an-orphan",
        "what is kept beside a table is removed as an orphan",
        "reachable.py",
        "for path in paths | records)",
        "for path in paths)",
    ),
    _ENGINE.fault(
        "needs-not-checked-in-the-commit",
        "a need that comes up while maintenance is at work is not seen",
        "maintain.py",
        "if lost := sorted(needed.keys() & set(expired)):",
        "if lost := sorted(needed.keys() & set[int]()):",
    ),
    _ENGINE.fault(
        "compaction-forgets-what-it-replaced",
        "a compaction does not move the status of its table",
        "compaction.py",
        "            moved_metadata(lake, connection, staged, before)",
        "            pass",
    ),
    _CHANGES.fault(
        "compaction-counts-as-a-change",
        "readers take every row that was rewritten for a change",
        "changes.py",
        "pairs = pairs_between(table, before, after) if not found.nothing else []",
        "pairs = list[tuple[int, int]]()",
    ),
)
