"""Snapshots that only rewrite files: their rows are those of the snapshot before, so that readers may pass over them.

As weighted rows, with P the state before a compaction and R the one after: rows(A) - rows(B) is
(rows(P) - rows(B)) + (rows(A) - rows(R)), whatever else lies between. Without this, every file of a compacted table
would count as removed, and the file that holds its rows now as added.
"""

from __future__ import annotations

from collections.abc import Collection

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

#: In the summary of a snapshot: it holds the rows of this one, in other files. Only our own compaction writes it.
COMPACTED = "trickle.compacted"

#: So many compactions are passed over. For a reader that has slept longer, the older ones count as changes.
_MOST_PAIRS = 20


def compacted_from(table: Table, snapshot: Snapshot) -> Snapshot | None:
    """The snapshot whose rows a compaction has rewritten, if this is one and the table still knows that one."""
    said = snapshot.summary.additional_properties if snapshot.summary else {}
    before = said.get(COMPACTED)
    return table.metadata.snapshot_by_id(int(before)) if before is not None else None


def pairs_between(table: Table, before: int | None, after: int | None) -> list[tuple[int, int]]:
    """The compactions between two states, oldest first: the snapshot before each, and its own."""
    since, until = _number(table, before), _number(table, after)
    found = []
    for snapshot in sorted(table.metadata.snapshots, key=lambda one: one.sequence_number or 0):
        if not since < (snapshot.sequence_number or 0) <= until:
            continue
        original = compacted_from(table, snapshot)
        if original is not None and (original.sequence_number or 0) >= since:
            found.append((original.snapshot_id, snapshot.snapshot_id))
    return found[-_MOST_PAIRS:]


def pairs_after(table: Table, states: Collection[int]) -> set[int]:
    """The snapshots that a reader at one of some states needs to pass over the compactions since."""
    known = [one for one in states if table.metadata.snapshot_by_id(one) is not None]
    current = table.metadata.current_snapshot_id
    if not known or current is None:
        return set()
    oldest = min(known, key=lambda one: _number(table, one))
    return {one for pair in pairs_between(table, oldest, current) for one in pair}


def _number(table: Table, snapshot_id: int | None) -> int:
    snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    return (snapshot.sequence_number or 0) if snapshot is not None else 0
