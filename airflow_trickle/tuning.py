"""The thresholds and timeouts of a refresh, in one record that a caller can replace.

`tuning` is read at the time of use, never at import. The record belongs to the caller's context, so that two callers in
one process do not disturb each other: a thread started inside a `tuned` block must get a copy of the context. It does
not travel to other processes, such as an application that is submitted to a cluster. Outside of every block, the bounds
of memory are shares of the setting ``worker_memory``.

>>> with tuned(lease_seconds=5):
...     tuning().lease_seconds
5
>>> tuning().lease_seconds
60.0
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache

_MIB = 1024 * 1024
#: Settings are read again when one of these is another one.
_WHERE_SETTINGS_ARE = ("AIRFLOW__TRICKLE__WORKER_MEMORY", "AIRFLOW_CONFIG", "AIRFLOW_HOME", "HOME")


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Thresholds and timeouts: where and how a refresh is done, and how long it waits.

    They decide what a refresh costs. Which rows it publishes does not depend on them, within the bounds that are
    written beside `exact_double_limit` and `file_settle_seconds`.
    """

    # --- small changes: in this process with Arrow, or on Spark --------------------------------------

    #: A change of up to so many rows is fetched from Spark and handled here, each counted as often as it comes or
    #: goes. So many fit into a message, into a query plan and into this process's memory.
    arrow_change_rows: int = 100_000
    #: The parts of a change that are here take at most so many bytes together, as Arrow holds them, copies included.
    arrow_change_bytes: int = 32 * _MIB
    #: Up to here this process compares the rows of added and removed files itself to find that nothing changed: it is
    #: quicker than a Spark job, and cheap on memory.
    arrow_compare_rows: int = 200_000
    arrow_compare_bytes: int = 32 * _MIB
    #: The same for these rows as Arrow holds them.
    arrow_compare_memory: int = 64 * _MIB
    #: Rewritten files of an input of up to so many bytes are compared here, row by row, to find which rows came and
    #: went. Few of the rows are held at a time.
    arrow_net_bytes: int = 128 * _MIB
    #: So many rows of them are compared at a time: their hash table then fits into a processor's cache.
    arrow_net_rows: int = 8_192
    #: Up to here this process reads position delete files itself, which saves a Spark job.
    arrow_delete_files: int = 32
    arrow_delete_rows: int = 100_000

    #: Up to so many bytes of files, rows of them, and bytes of these as Arrow holds them, this process reads what
    #: changed in an input, and looks where rows that go stand in the table, itself: each saves a Spark job.
    arrow_read_bytes: int = _MIB
    arrow_read_rows: int = 10_000
    arrow_read_memory: int = 8 * _MIB

    #: Spark interprets a query of a change that reads up to so many bytes, instead of compiling it first.
    interpreted_bytes: int = 2 * _MIB

    # --- data files of a stream table ----------------------------------------------------------------

    #: A data file below this size is small. When it loses rows it is rewritten, where a larger one gets a position
    #: delete file.
    small_file_bytes: int = 8 * _MIB
    #: With so many small files in a partition, the next write compacts them: each costs a read at every later refresh.
    small_files_per_partition: int = 16
    #: This process rewrites at most so much in one write (16 small files by default); more is work for Spark.
    arrow_rewrite_bytes: int = 128 * _MIB
    #: The same for the rows of those files and the new ones, as Arrow holds them: files may be well compressed.
    arrow_rewrite_memory: int = 64 * _MIB
    #: A data file that has lost more than this share of its rows, or has so many delete files, is rewritten.
    rewrite_deleted_share: float = 0.2
    rewrite_delete_files: int = 8
    #: A result below this size is written by one Spark task, into one file for each partition.
    one_task_write_bytes: int = 64 * _MIB

    # --- auxiliary state -----------------------------------------------------------------------------

    #: Of an input from so many bytes on, a join of three or more relations reads only the rows that have a key of the
    #: changed rows: else Spark may sort and send all of them to join them with rows that are few.
    semi_join_bytes: int = 32 * _MIB
    #: Auxiliary state is written only for tables whose inputs are at least this large: smaller ones are quickly read
    #: again.
    aux_state_min_bytes: int = 32 * _MIB
    #: State of a part of a query is kept up to this share of the bytes of the inputs: to read more than that is hardly
    #: quicker than to read the inputs again.
    aux_state_share: float = 0.5
    #: With so many files, auxiliary state is compacted: the entries of a group into one, or the ranks of a cycle's
    #: rows into new files.
    aux_state_files: int = 24
    #: An average of doubles is answered from auxiliary state below this sum of absolute values. Doubles represent
    #: every integer up to 2^53, so a higher limit would round, and is refused.
    exact_double_limit: int = 2**53

    # --- AUTO: incremental or full -------------------------------------------------------------------

    #: Inputs below this size are recomputed in about the time that Spark needs for any query.
    auto_full_bytes: int = 24 * _MIB

    # --- cycles: in this process with Arrow, or on Spark ---------------------------------------------

    #: A cycle runs here if its members and the tables outside have together at most so many rows; -1 is never.
    arrow_fixpoint_input_rows: int = 2_000_000
    #: When the members of a cycle have grown beyond so many rows, Spark takes over.
    arrow_fixpoint_rows: int = 6_000_000
    #: The same for the bytes of all rows that a cycle holds here: members, tables outside, and what a pass found.
    arrow_fixpoint_bytes: int = 256 * _MIB
    #: A join gives about so many rows at a time; a larger one is done in slices, with duplicates removed after each.
    arrow_join_slice_rows: int = 8_000_000
    #: A join with more distinct rows than this is left to Spark.
    arrow_join_rows: int = 24_000_000
    #: The rows of a member are a union of parts, about one a pass. More parts than this make a plan slow; then the
    #: smaller ones are merged. At least 4, so that there are two to merge.
    fixpoint_union_parts: int = 8

    # --- caches --------------------------------------------------------------------------------------

    #: Table metadata that was read is kept up to so many bytes of its text; in memory it takes several times as much.
    metadata_cache_bytes: int = 16 * _MIB
    #: So many bytes of manifests are kept parsed, as the files have them.
    manifest_cache_bytes: int = 2 * _MIB

    # --- capture of sources --------------------------------------------------------------------------

    #: A file younger than this may be written again within the same tick of the file system's clock, and look
    #: unchanged. Many stores tell times in whole seconds; less is right only where times are finer.
    file_settle_seconds: float = 1.0

    # --- leases --------------------------------------------------------------------------------------

    #: A holder on another machine that stopped renewing its lease is believed dead after this long. It renews four
    #: times within it.
    lease_seconds: float = 60.0
    #: A refresh waits so long for another process that holds the lease of a table, unless the caller says how long.
    lease_wait_seconds: float = 30.0
    #: A later tick of the same pipeline takes over a claim that has shown no sign of life for this long.
    claim_take_over_seconds: float = 60.0

    # --- maintenance ---------------------------------------------------------------------------------

    #: What was current within this time is not expired, whatever the policy says: a query that has just begun to read
    #: it needs its files.
    maintenance_grace_seconds: float = 3600.0
    #: So much is read at a time to compact files in this process; they are compressed, and several times larger here.
    compact_bytes: int = 32 * _MIB

    # --- the catalog's database (PostgreSQL; SQLite has one writer at a time) ------------------------

    #: A transaction waits so long for a row that another one has locked, and so long for a statement.
    database_lock_seconds: float = 60.0
    database_statement_seconds: float = 120.0
    #: A transaction whose process stands still in the midst of it is ended by the server after this long.
    database_idle_seconds: float = 300.0
    #: A database, of either kind, that went away at a COMMIT is asked for so long what became of it.
    commit_outcome_seconds: float = 10.0

    # --- Airflow tasks -------------------------------------------------------------------------------

    #: The passes of a cycle are pushed to XCom at most this often: a pass may take a tenth of a second, and a call of
    #: Airflow's server not much less.
    iteration_push_seconds: float = 1.0
    #: After a submitted application ended, its outcome is awaited so long: a driver's Python outlives its Java by a
    #: moment, in which it may still report what went wrong.
    submission_outcome_seconds: float = 10.0

    # --- Spark Connect -------------------------------------------------------------------------------

    #: A server must accept a connection within this time; pyspark itself would try for ten minutes.
    spark_reach_seconds: float = 5.0
    #: What accepted the connection must speak gRPC within this time.
    spark_ready_seconds: float = 8.0
    #: An embedded server that does not answer for so long, twice, hangs. A busy one answers in milliseconds.
    spark_answer_seconds: float = 15.0

    def __post_init__(self) -> None:
        if self.exact_double_limit > 2**53:
            raise ValueError(f"exact_double_limit is at most 2**53, not {self.exact_double_limit}: doubles would round")
        if self.fixpoint_union_parts < 4:
            raise ValueError(f"fixpoint_union_parts is at least 4, not {self.fixpoint_union_parts}")
        if self.lease_seconds <= 0:
            raise ValueError(f"lease_seconds is more than 0, not {self.lease_seconds}")


#: Which part of the setting `worker_memory` each bound of memory is. Rows are there several times while they are worked
#: on: received, sorted, encoded; a hash table over them takes as much again. Parsed metadata takes some ten times as
#: much as its text.
_SHARES = {
    "arrow_change_bytes": 32,
    "arrow_compare_memory": 16,
    "arrow_rewrite_memory": 16,
    "arrow_fixpoint_bytes": 4,
    "metadata_cache_bytes": 64,
}
_CURRENT: ContextVar[Tuning | None] = ContextVar("airflow_trickle_tuning", default=None)


def tuning() -> Tuning:
    """The record of this context; the defaults outside of every `tuned` block.

    Raises:
        SettingsError: a setting of ``[trickle]`` is wrong.
    """
    found = _CURRENT.get()
    return found if found is not None else _default(*(os.environ.get(name) for name in _WHERE_SETTINGS_ARE))


def for_memory(memory: int) -> Tuning:
    """The defaults for so many bytes of memory.

    >>> for_memory(512 * 1024**2).arrow_fixpoint_bytes // 1024**2
    128
    """
    return changed(Tuning(), **{name: memory // share for name, share in _SHARES.items()})


@lru_cache(maxsize=8)
def _default(*_where: str | None) -> Tuning:
    from airflow_trickle.definition.settings import load_settings

    return for_memory(load_settings().worker_memory)


@contextmanager
def tuned(record: Tuning | None = None, /, **changes: float) -> Iterator[Tuning]:
    """Replace the record for the length of a block.

    Args:
        record: The new record; without it, the present one.
        changes: Fields that differ from it.

    Raises:
        TypeError: there is no such field.
    """
    token = _CURRENT.set(changed(record or tuning(), **changes))
    try:
        yield tuning()
    finally:
        _CURRENT.reset(token)


def changed(record: Tuning, **changes: float) -> Tuning:
    """A record with some fields changed.

    >>> changed(Tuning(), lease_second=5)
    Traceback (most recent call last):
    TypeError: Tuning has no field lease_second; did you mean lease_seconds?
    """
    known = [field.name for field in fields(Tuning)]
    for name in changes:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"Tuning has no field {name}; {hint}")
    return replace(record, **changes)  # type: ignore[arg-type]
