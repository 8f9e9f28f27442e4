"""Faults in writing and publishing tables, alone and as atomic groups."""

from __future__ import annotations

from tools.faults.fault import Fault, Room

_WRITE = Room(
    "engine publishing",
    "airflow_trickle/engine",
    tests=("tests/engine/test_ticks_on_duckdb.py", "tests/engine/test_small_changes.py"),
    slow=("tests/engine/test_refresh.py", "tests/engine/test_merge_on_read.py", "tests/engine/test_crashes.py"),
)
_GROUP = Room(
    "engine groups",
    "airflow_trickle/engine",
    tests=("tests/engine/groups/test_on_duckdb.py",),
    slow=(
        "tests/engine/groups/test_one_process.py",
        "tests/engine/groups/test_steps.py",
        "tests/engine/groups/test_interference.py",
        "tests/engine/groups/test_readers.py",
    ),
)

PUBLISHING: tuple[Fault, ...] = (
    _WRITE.fault(
        "epoch-stays",
        "the epoch of a table does not rise with a new snapshot",
        "publish.py",
        "epoch = (decision.published.epoch if decision.published else 0) + 1",
        "epoch = decision.published.epoch if decision.published else 1",
    ),
    _WRITE.fault(
        "frontier-not-written",
        "how far a refresh has read its inputs is not noted once a table has a state",
        "record.py",
        '        "frontier": decision.target,\n',
        '        "frontier": published.frontier if published and published.frontier else decision.target,\n',
    ),
    _WRITE.fault(
        "lease-not-checked-in-the-commit",
        "a process whose lease was taken over commits all the same",
        "outcome.py",
        "    require(lake, connection, lease)\n    if outcome.staged is None:",
        "    if outcome.staged is None:",
        tests=("tests/engine/protocol/test_lost_leases.py",),
        slow=("tests/engine/groups/test_interference.py",),
    ),
    _WRITE.fault(
        "earlier-tick-overtakes-a-later-one",
        "an earlier tick publishes a table that a later one has found to be right",
        "outcome.py",
        "if known.effective_at is not None and known.effective_at > moment:",
        "if known.effective_at is None:",
        slow=("tests/engine/test_seen.py",),
    ),
    _WRITE.fault(
        "two-copies-are-written-once",
        "a row that comes twice is written once by the worker process",
        "small_change.py",
        "if any(count > 1 for count in counts):",
        "if any(count > 2 for count in counts):",
        tests=("tests/engine/test_small_changes.py",),
    ),
    _WRITE.fault(
        "one-copy-too-many-goes",
        "of equal rows one more than meant is deleted",
        "small_change.py",
        "some = F.slice(F.collect_list(place), F.lit(1), going.cast(IntegerType()))",
        "some = F.slice(F.collect_list(place), F.lit(1), (going + 1).cast(IntegerType()))",
        slow=(
            "tests/engine/test_small_changes.py::test_of_equal_rows_that_are_found_with_their_places_as_many_go_as_went",
        ),
    ),
    _WRITE.fault(
        "rewritten-file-revives-deleted-rows",
        "rows that delete files had taken away come back when a file is rewritten",
        "small_write.py",
        "gone = pa.concat_arrays([pa.array(going, pa.int64()), deleted_positions(target.table.io, file)])",
        "gone = pa.array(going, pa.int64())",
        tests=("tests/lakehouse/maintenance/test_compaction.py",),
    ),
    _WRITE.fault(
        "failed-refresh-leaves-its-files",
        "a refresh that fails leaves the files that it has staged",
        "publish.py",
        "                stagings.discard(run.lake, record)\n            raise",
        "                pass\n            raise",
        tests=("tests/engine/protocol/test_failed_refreshes.py",),
        slow=("tests/engine/test_errors.py",),
    ),
    _GROUP.fault(
        "group-published-in-halves",
        "of several staged tables only the first becomes visible",
        "outcome.py",
        "commit(lake, staged, noted, beside)",
        "commit(lake, staged[:1], noted, beside)",
    ),
    _GROUP.fault(
        "group-members-read-published-states",
        "a member of a group reads what the others have published, not what they have staged",
        "group.py",
        "seen = self.lake.seeing(overlay(self.lake, self.tick, [name for name in self._names if name not in own]))",
        "seen = self.lake",
    ),
    _GROUP.fault(
        "group-members-may-disagree",
        "a group is published although a member has read another state of a member than the one published",
        "group_commit.py",
        "elif read != _version(outcomes[ref.identifier], statuses):",
        "elif read is None:",
    ),
    _GROUP.fault(
        "aborted-group-leaves-its-work",
        "a group that is given up leaves its staging records",
        "group.py",
        "stagings.clean_table(self.lake, lease, self.spark.end_left_behind)",
        "stagings.leftovers(self.lake, identifier=lease.identifier)",
    ),
    _GROUP.fault(
        "group-epoch-stays",
        "the epoch of a group does not rise with its commit",
        "group_commit.py",
        "epoch = before + any(outcome.staged is not None for outcome in outcomes.values())",
        "epoch = max(before, any(outcome.staged is not None for outcome in outcomes.values()))",
    ),
    _GROUP.fault(
        "restated-tables-keep-auxiliary-state",
        "a table that was taken back keeps the auxiliary state of the later one",
        "restate.py",
        '            "kept": None,\n',
        "",
        slow=(
            "tests/engine/restate/test_going_back.py",
            "tests/engine/restate/test_replay.py",
            "tests/engine/restate/test_together.py",
        ),
    ),
)
