"""Maintenance of tables, one after the other: compact, expire, remove orphans; then the state tables are pruned.

Each table is maintained under its lease. Killed at any moment, a table is as before or as after: metadata are published
by the commit of a refresh, and files are removed only when no published state names them. What a killed run leaves is
removed by the next one.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pyiceberg.table import Table
from sqlalchemy import Connection, select

from airflow_trickle import clock
from airflow_trickle.engine.capture.state import STATE
from airflow_trickle.engine.maintenance.compaction import compact, find_bins
from airflow_trickle.engine.published import is_ours
from airflow_trickle.errors import CommitConflict, LeaseHeld, TrickleError
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import OWNED
from airflow_trickle.lakehouse.database import one_at_a_time
from airflow_trickle.lakehouse.files import sizes_of
from airflow_trickle.lakehouse.leases import Lease, forget_dead, holding
from airflow_trickle.lakehouse.maintenance.expiry import Removed, expire, require_sole_owner, unneeded_files
from airflow_trickle.lakehouse.maintenance.needs import (
    ABANDONED,
    Needs,
    kept_by_policy,
    needed_snapshots,
    reading,
    recorded_needs,
    said_by,
    summary_needs,
)
from airflow_trickle.lakehouse.maintenance.orphans import find_orphans, remove_orphans
from airflow_trickle.lakehouse.maintenance.policy import MaintenancePolicy
from airflow_trickle.lakehouse.maintenance.pruning import prune
from airflow_trickle.lakehouse.maintenance.sources import frontier_warnings
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.lakehouse.tables import leases as lease_rows
from airflow_trickle.lakehouse.tables import prepared, staging
from airflow_trickle.results import MaintainedTable, Maintenance, in_units

log = logging.getLogger("airflow_trickle")

#: How often a table is looked at again when somebody needs what was about to go, or wrote to it.
_ATTEMPTS = 3


class CannotMaintain(TrickleError):
    """A table is left alone for the reason in the message."""


@dataclass(frozen=True)
class Rules:
    """What is kept, by pipeline and otherwise, and by which columns the rows of tables are sorted."""

    policy: MaintenancePolicy = field(default_factory=MaintenancePolicy)
    by_pipeline: Mapping[str, MaintenancePolicy] = field(default_factory=dict)
    cluster_by: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def of(self, pipeline: str) -> MaintenancePolicy:
        """What a pipeline keeps."""
        return self.by_pipeline.get(pipeline, self.policy)


@dataclass(frozen=True)
class Listeners:
    """Who is told of the progress."""

    starting: Callable[[str, int], None] = lambda _identifier, _tables: None
    done: Callable[[MaintainedTable], None] = lambda _result: None


def maintain(
    lake: Lakehouse,
    rules: Rules,
    identifiers: Collection[str] | None = None,
    *,
    dry_run: bool = False,
    wait: float | None = None,
    tell: Listeners = Listeners(),  # noqa: B008 - it is frozen
) -> Maintenance:
    """Maintain stream tables and mirrors of captured sources; other tables are never touched.

    Args:
        lake: The lakehouse.
        rules: What is kept.
        identifiers: The tables; None: all that the catalog knows.
        dry_run: Only tell what would be done.
        wait: For so many seconds for the refresh of a table that is under way; as `holding` does if None.
        tell: Who is told of the progress.
    """
    began, now = time.monotonic(), clock.now()
    known = read_status(lake)
    wanted = [name for name in _readers_first(known) if identifiers is None or name in identifiers]
    wanted += sorted(set(identifiers or ()) - known.keys())
    results = []
    for identifier in wanted:
        tell.starting(identifier, len(wanted))
        status = known.get(identifier)
        pipeline = status.pipeline if status is not None else ""
        run = _Run(lake, identifier, pipeline, rules, dry_run=dry_run, wait=wait)
        results.append(run.result())
        tell.done(results[-1])
    pruned: dict[str, int] = {}
    for pipeline in sorted({known[name].pipeline for name in wanted if name in known}):
        for table, rows in prune(lake, [pipeline], rules.of(pipeline), now, dry_run=dry_run).items():
            pruned[table] = pruned.get(table, 0) + rows
    warnings = frontier_warnings(lake, read_status(lake), now, wanted)
    for warning in warnings:
        log.warning("%s", warning)
    return Maintenance(
        tables=tuple(results),
        pruned=pruned,
        warnings=tuple(warnings),
        dry_run=dry_run,
        seconds=round(time.monotonic() - began, 3),
    )


def describe(result: MaintainedTable) -> str:
    """One sentence for the log of a task."""
    if result.error is not None:
        return f"{result.identifier}: failed: {result.error}"
    parts = []
    if result.files_compacted:
        parts.append(f"{result.files_compacted} small files rewritten into {result.files_written}")
    if result.snapshots_expired:
        parts.append(f"{result.snapshots_expired} snapshots expired, {result.snapshots} kept")
    if result.files_won:
        parts.append(f"{result.files_won} files with {in_units(result.bytes_won)} removed")
    if result.skipped is not None:
        parts.append(f"left alone: {result.skipped}")
    return f"{result.identifier}: {'; '.join(parts) or 'nothing to do'}."


def _readers_first(known: Mapping[str, TableStatus]) -> list[str]:
    """Tables in an order in which those that are read come later: what a reader gives up, its input may give up too."""
    readers: dict[str, set[str]] = {name: set() for name in known}
    for reader, read in reading(known):
        if read in readers and read != reader:
            readers[read].add(reader)
    ordered: list[str] = []
    left = sorted(known)
    while left:
        free = [name for name in left if not readers[name] - set(ordered)] or left[:1]
        ordered += free
        left = [name for name in left if name not in set(free)]
    return ordered


@dataclass
class _Run:
    """The maintenance of one table."""

    lake: Lakehouse
    identifier: str
    pipeline: str
    rules: Rules
    dry_run: bool
    wait: float | None
    _found: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.policy = self.rules.of(self.pipeline)
        # Of its own: no tick must take it for an earlier attempt of itself.
        moment = clock.text_of(clock.now())
        self.tick_id = f"{self.pipeline}/maintain__{moment}__{uuid.uuid4().hex[:8]}"

    def result(self) -> MaintainedTable:
        """Do it, and say what was done; an error is part of the result, so that the other tables are maintained."""
        began = time.monotonic()
        try:
            with self._lease() as lease:
                self._maintain(lease)
        except (LeaseHeld, CannotMaintain) as error:
            self._found["skipped"] = str(error)
        except (TrickleError, OSError) as error:
            log.warning("Table %s was not maintained: %s", self.identifier, error)
            self._found["error"] = str(error)
        return MaintainedTable(
            table=self.identifier.rpartition(".")[2],
            identifier=self.identifier,
            seconds=round(time.monotonic() - began, 3),
            **self._found,
        )

    def _lease(self) -> Any:
        if self.dry_run:
            return nullcontext({})
        return holding(self.lake, [self.identifier], "trickle maintain", self.wait)

    def _maintain(self, leases: Mapping[str, Lease]) -> None:
        lease = leases.get(self.identifier)
        self._table()
        self._clean(lease)
        # What cannot be understood is not removed either.
        require_sole_owner(self.lake, self.identifier, self._table())
        if self.policy.compact:
            self._compact(lease)
        self._expire(lease)
        self._remove_orphans()

    def _table(self) -> Table:
        """The table as it is now, if it is ours."""
        table = self.lake.table(self.identifier)
        if table is None:
            raise CannotMaintain("the catalog does not have it")
        if OWNED not in table.metadata.properties:
            raise CannotMaintain("it was not made by airflow-trickle; others maintain it")
        snapshot = table.metadata.current_snapshot()
        if snapshot is not None and not is_ours(snapshot) and STATE not in said_by(snapshot):
            status = read_status(self.lake, [self.identifier]).get(self.identifier)
            if status is None or status.snapshot_id != snapshot.snapshot_id:
                raise CannotMaintain(
                    f"it was changed by another writer (snapshot {snapshot.snapshot_id} is not one of ours)"
                )
        return table

    def _clean(self, lease: Lease | None) -> None:
        """Remove what dead processes left, but for work that the next tick goes on with."""
        young = clock.text_of(clock.now() - ABANDONED)
        of_table = (staging.c.catalog == self.lake.name) & (staging.c.identifier == self.identifier)
        kept = (prepared.c.catalog == self.lake.name) & (prepared.c.identifier == self.identifier)
        with self.lake.database.reading() as connection:
            left = connection.execute(select(staging.c.spark, staging.c.created_at).where(of_table)).all()
            waits = connection.execute(select(prepared.c.created_at).where(kept)).scalars().all()
        if any(spark and at >= young for spark, at in left) or any(at >= young for at in waits):
            raise CannotMaintain("a refresh of it has not ended; the next tick goes on with it, or removes its files")
        if (left or waits) and lease is not None:
            stagings.clean_table(self.lake, lease)

    def _compact(self, lease: Lease | None) -> None:
        table = self._table()
        bins = find_bins(table)
        if not bins.bins:
            return
        if self._readers_at_work():
            # An atomic group must have read one and the same state of a table, or it starts over.
            self._found["skipped"] = "not compacted: a table that reads it is being refreshed"
            return
        if lease is None:
            done = bins.compacted
        else:
            names = {fold(one.name) for one in table.metadata.schema().fields}
            wanted = [one for one in self.rules.cluster_by.get(self.identifier, ()) if fold(one) in names]
            done = self._tried(
                lambda: compact(
                    self.lake,
                    self._table(),
                    lease,
                    find_bins(self._table()),
                    cluster_by=wanted,
                    pipeline=self.pipeline,
                    tick_id=self.tick_id,
                )
            )
        self._found |= {"files_compacted": done.files, "files_written": done.written, "bytes_compacted": done.size}

    def _readers_at_work(self) -> bool:
        """Whether a table that reads this one is being refreshed, or is claimed by a tick."""
        readers = {reader for reader, read in reading(read_status(self.lake)) if read == self.identifier}
        forget_dead(self.lake)
        query = select(lease_rows.c.identifier).where(
            lease_rows.c.catalog == self.lake.name,
            lease_rows.c.identifier.in_(sorted(readers - {self.identifier})),
        )
        with self.lake.database.reading() as connection:
            return connection.execute(query).first() is not None

    def _expire(self, lease: Lease | None) -> None:
        def attempt() -> Removed:
            table, now = self._table(), clock.now()
            expired = self._unneeded(table, now)
            if not expired:
                return Removed()
            self._found["snapshots_expired"] = len(expired)
            if lease is None:
                sizes = sizes_of(table.io, unneeded_files(table, expired))
                return Removed(len(sizes), sum(sizes.values()))
            return expire(
                self.lake,
                table,
                lease,
                expired,
                pipeline=self.pipeline,
                tick_id=self.tick_id,
                still_unneeded=lambda connection: self._refuse_needed(connection, table, expired, now),
            )

        removed = self._tried(attempt)
        self._found |= {"files_removed": removed.files, "bytes_removed": removed.size}

    def _unneeded(self, table: Table, now: datetime) -> set[int]:
        """The snapshots that neither the policy nor anybody else keeps."""
        known = read_status(self.lake)
        readers = {reader for reader, read in reading(known) if read == self.identifier and reader != self.identifier}

        def policy_of(identifier: str) -> MaintenancePolicy:
            return self.rules.of(known[identifier].pipeline)

        with self.lake.database.one_moment() as connection:
            recorded = recorded_needs(self.lake, connection, now)
        needs: list[Needs] = [recorded, summary_needs(self.lake, readers, policy_of, now)]
        kept, needed = kept_by_policy(table, self.policy, now), needed_snapshots(table, self.identifier, needs)
        every = {one.snapshot_id for one in table.metadata.snapshots}
        expired = every - kept - needed.keys()
        only_needed = needed.keys() - kept
        for snapshot_id in sorted(only_needed):
            log.debug("Snapshot %s of %s stays: %s.", snapshot_id, self.identifier, needed[snapshot_id])
        self._found |= {"snapshots": len(every - expired), "snapshots_needed": len(only_needed), "snapshots_expired": 0}
        return expired

    def _refuse_needed(self, connection: Connection, table: Table, expired: Collection[int], now: datetime) -> None:
        """Inside the commit: somebody may have begun to need a snapshot since it was found that nobody does."""
        for pipeline in sorted({one.pipeline for one in read_status(self.lake).values()}):
            # A tick that is being pinned at this moment may be about to pin one of them.
            one_at_a_time(connection, f"pin {self.lake.name} {pipeline}")
        needed = needed_snapshots(table, self.identifier, [recorded_needs(self.lake, connection, now)])
        if lost := sorted(needed.keys() & set(expired)):
            raise CommitConflict(
                f"Snapshot {lost[0]} of table {self.identifier} was about to be expired, and is needed by now: "
                f"{needed[lost[0]]}. Nothing was changed; try again.",
                [self.identifier],
            )

    def _remove_orphans(self) -> None:
        orphans = find_orphans(
            self.lake,
            self.identifier,
            lambda: self.lake.table(self.identifier),
            older_than=self.policy.orphans_after,
            now=clock.now().timestamp(),
        )
        removed = orphans.removed
        if not self.dry_run and (orphans.files or orphans.folders):
            removed = remove_orphans(self._table(), orphans)
        self._found |= {"orphans_removed": removed.files, "orphan_bytes": removed.size}

    def _tried(self, attempt: Callable[[], Any]) -> Any:
        """What an attempt gives; one that another writer was in the way of is made again."""
        for number in range(1, _ATTEMPTS + 1):
            try:
                return attempt()
            except CommitConflict as error:
                if number == _ATTEMPTS:
                    raise
                log.info("%s (attempt %s of %s)", error, number, _ATTEMPTS)
        raise AssertionError("unreachable")
