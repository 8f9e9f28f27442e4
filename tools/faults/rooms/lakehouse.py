"""Faults of the catalog, commits, leases, staging, delete files and the change feed."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_LAKE = Room("lakehouse", "airflow_trickle/lakehouse", tests=("tests/lakehouse",))
_DELETES = ("tests/lakehouse/test_position_deletes.py", "tests/lakehouse/test_delete_changes.py")
_MERGE_ON_READ = ("tests/engine/test_merge_on_read.py",)

LAKEHOUSE: tuple[Fault, ...] = (
    _LAKE.fault(
        "commit-without-compare-and-swap",
        "a commit does not check that the table is still as it was when it was read",
        "commit.py",
        "            rows.c.metadata_location == table.expected,\n        )\n        .values(",
        "        )\n        .values(",
        tests=("tests/lakehouse/test_commit.py",),
    ),
    _LAKE.fault(
        "unwritten-table-may-move",
        "a table that a commit only read may have been changed meanwhile",
        "commit.py",
        "if found != expected:",
        "if found is None and expected is not None:",
        tests=("tests/lakehouse/test_commit.py",),
        slow=("tests/engine/groups/test_interference.py", "tests/engine/test_refresh.py"),
    ),
    _LAKE.fault(
        "staging-record-survives-the-commit",
        "a commit leaves its staging record, so the next tick deletes published files",
        "staging.py",
        "gone = connection.execute(delete(staging).where(_is(lake, record), staging.c.discarding.is_(False)))",
        "gone = connection.execute(\n"
        "        update(staging).where(_is(lake, record), staging.c.discarding.is_(False)).values(discarding=False)\n"
        "    )",
        tests=("tests/lakehouse/test_staging.py", "tests/lakehouse/test_commit.py"),
    ),
    _LAKE.fault(
        "discarded-files-are-committed",
        "a slow process commits files that were discarded",
        "staging.py",
        "gone = connection.execute(delete(staging).where(_is(lake, record), staging.c.discarding.is_(False)))",
        "gone = connection.execute(delete(staging).where(_is(lake, record)))",
        tests=("tests/lakehouse/test_staging.py",),
    ),
    _LAKE.fault(
        "discard-leaves-its-record",
        "discarding a staging leaves its record",
        "staging.py",
        "    with lake.database.transaction() as connection:\n"
        "        connection.execute(delete(staging).where(_is(lake, record)))\n",
        "",
        tests=("tests/lakehouse/test_staging.py",),
    ),
    _LAKE.fault(
        "lease-of-another-machine-is-taken",
        "the lease of a process on another machine counts as that of a dead one",
        "leases.py",
        'if row["host"] != socket.gethostname():\n        return False',
        'if row["host"] != socket.gethostname():\n        return True',
        tests=("tests/lakehouse/test_leases.py",),
    ),
    _LAKE.fault(
        "lease-of-anybody-will-do",
        "a process that lost its lease may still commit while somebody else holds it",
        "leases.py",
        "return (leases.c.catalog == lake.name) & (leases.c.identifier == lease.identifier)"
        " & (leases.c.owner == lease.owner)",
        "return (leases.c.catalog == lake.name) & (leases.c.identifier == lease.identifier)",
        tests=("tests/lakehouse/test_leases.py",),
    ),
    _LAKE.fault(
        "position-delete-off-by-one",
        "a position delete file names the row behind the one that goes",
        "positions.py",
        "arrow = pa.table([pa.repeat(path, len(rows)), pa.array(rows, pa.int64())], schema=_COLUMNS)",
        "arrow = pa.table(\n"
        "        [pa.repeat(path, len(rows)), pa.array([row + 1 for row in rows], pa.int64())], schema=_COLUMNS\n"
        "    )",
        tests=_DELETES,
        slow=_MERGE_ON_READ,
    ),
    _LAKE.fault(
        "position-deletes-of-other-files",
        "a position delete file takes rows from every file of its partition",
        "positions.py",
        'found.append(listed.filter(pc.equal(listed["file_path"], file.file_path))["pos"].cast(pa.int64()))',
        'found.append(listed["pos"].cast(pa.int64()))',
        tests=_DELETES,
        slow=_MERGE_ON_READ,
    ),
    _LAKE.fault(
        "deletion-vectors-ignored",
        "rows that a deletion vector takes away are read",
        "positions.py",
        "found.append(vector_positions(io, delete))",
        "continue",
        tests=("tests/lakehouse/test_deletion_vectors.py",),
        slow=_MERGE_ON_READ,
    ),
    _LAKE.fault(
        "equality-delete-hits-its-own-commit",
        "an equality delete takes rows of the commit that wrote it",
        "deletes.py",
        "return sequence < delete.sequence\n",
        "return sequence <= delete.sequence\n",
        tests=_DELETES,
        slow=_MERGE_ON_READ,
    ),
    _LAKE.fault(
        "removed-files-are-no-change",
        "the change feed forgets files that went",
        "changes.py",
        "removed=tuple(old_files[path] for path in sorted(old_files.keys() - same)),",
        "removed=(),",
        tests=("tests/lakehouse/test_changes.py",),
    ),
    _LAKE.fault(
        "new-deletes-are-no-change",
        "files that both snapshots list count as unchanged although delete files came",
        "changes.py",
        "data = own.keys() - deletes - (other.keys() if deletes == others else set())",
        "data = own.keys() - deletes - other.keys()",
        tests=("tests/lakehouse/test_delete_changes.py", "tests/lakehouse/test_changes.py"),
        slow=_MERGE_ON_READ,
    ),
    _LAKE.fault(
        "lost-files-are-no-change",
        "a table that only lost files counts as unchanged",
        "changes.py",
        "    if changes.nothing:\n        return True\n",
        "    if changes.nothing or not changes.added:\n        return True\n",
        tests=("tests/lakehouse/test_changes.py",),
        slow=("tests/engine/test_refresh.py",),
    ),
    _LAKE.fault(
        "deleted-rows-are-deleted-again",
        "rows that a file had lost before count as lost again",
        "lost_rows.py",
        "lost.append(LostRows(file, gone.filter(pc.invert(pc.is_in(gone, value_set=then)))))",
        "lost.append(LostRows(file, gone))",
        tests=("tests/lakehouse/test_delete_changes.py",),
        slow=("tests/engine/test_feed.py", "tests/engine/test_merge_on_read.py"),
    ),
    _LAKE.fault(
        "null-lands-in-the-next-partition",
        "a file with NULLs and one other value counts as one of the value's partition",
        "partition_values.py",
        "nulls: list[Any] = [None] if told.null_count else []",
        "nulls: list[Any] = []",
        tests=("tests/lakehouse/test_partitions.py",),
        slow=("tests/engine/partitions/test_files.py",),
    ),
    _LAKE.fault(
        "state-of-a-moment-too-early",
        "the state at a moment leaves out a snapshot of that very moment",
        "snapshots.py",
        "seen = [entry for entry in log if entry.timestamp_ms <= millis]",
        "seen = [entry for entry in log if entry.timestamp_ms < millis]",
        tests=("tests/lakehouse/test_snapshots.py",),
    ),
    _LAKE.fault(
        "discarded-work-counts-as-published",
        "a retry takes work that was discarded for published",
        "state.py",
        'history.c.action.not_in(("FAILED", "DISCARDED"))',
        'history.c.action.not_in(("FAILED",))',
        tests=("tests/lakehouse/test_state.py",),
        slow=("tests/engine/groups/test_steps.py", "tests/engine/groups/test_one_process.py"),
    ),
    _LAKE.fault(
        "seen-moment-goes-back",
        "an earlier tick takes the moment back until which a table is known to be right",
        "seen.py",
        "older = [table for table in tables if table.effective_at < moment]",
        "older = [table for table in tables if table.effective_at != moment]",
        tests=("tests/engine/test_seen.py",),
        slow=("tests/engine/test_idle.py",),
    ),
)
