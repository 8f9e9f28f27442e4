"""Which snapshots of a table somebody still needs, and for what.

A stream table is refreshed from what has changed since the snapshots that it last read: these are its frontier, in its
status and in the summaries of its own snapshots. Whoever expires one of them forces a full refresh, or makes a restate
impossible. Readers of all pipelines of the catalog count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from sqlalchemy import Connection, func, or_, select
from sqlalchemy.engine import RowMapping

from airflow_trickle import clock
from airflow_trickle.definition.maintenance import MaintenancePolicy
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.compacted import pairs_after
from airflow_trickle.lakehouse.rollback import lineage_of
from airflow_trickle.lakehouse.tables import leases, prepared, staging, status, ticks
from airflow_trickle.tuning import tuning

#: The pins of ticks that are not older stay: such a run may be cleared and run again.
_RECENT_TICKS = timedelta(days=1)
#: A refresh that has not ended after this time is given up: see `maintain`, which then removes its files.
ABANDONED = timedelta(days=3)


@dataclass
class Needs:
    """By table and snapshot: what it is needed for, in words."""

    by_table: dict[str, dict[int, str]] = field(default_factory=dict)
    #: What was current since then may be read by a refresh that is under way.
    since: datetime | None = None

    def add(self, identifier: str, snapshot_id: int | None, why: str) -> None:
        """Note a need; the first reason is the one to tell."""
        if snapshot_id is not None:
            self.by_table.setdefault(identifier, {}).setdefault(snapshot_id, why)

    def of(self, identifier: str) -> dict[int, str]:
        """The needed snapshots of a table."""
        return dict(self.by_table.get(identifier, {}))


def recorded_needs(lake: Lakehouse, connection: Connection, now: datetime) -> Needs:
    """What the state tables say is needed, as a transaction sees them: frontiers, pins, staged states."""
    found = Needs()
    for row in connection.execute(select(status).where(status.c.catalog == lake.name)).mappings():
        found.add(row["identifier"], row["snapshot_id"], "it is what was published last")
        if row["frontier"]:
            _add_frontier(found, json.loads(row["frontier"]), f"{row['identifier']} has read it last")
    running = _under_way(lake, connection, found, now)
    for row in _ticks(lake, connection, running, now):
        for identifier, version in json.loads(row["pins"]).items():
            found.add(identifier, version[0], f"tick {row['tick_id']} has pinned it")
        if row["tick_id"] in running:
            _extend(found, clock.moment_of(row["created_at"]))
    return found


def _ticks(lake: Lakehouse, connection: Connection, running: set[str], now: datetime) -> Sequence[RowMapping]:
    """The ticks whose pins count: recent ones, those under way, and the newest of each pipeline."""
    newest = func.row_number().over(partition_by=ticks.c.pipeline, order_by=ticks.c.effective_at.desc())
    of_catalog = ticks.c.catalog == lake.name
    ranked = select(ticks.c.tick_id, newest.label("place")).where(of_catalog).subquery()
    latest = select(ranked.c.tick_id).where(ranked.c.place == 1)
    wanted = or_(
        ticks.c.created_at >= clock.text_of(now - _RECENT_TICKS),
        ticks.c.tick_id.in_(latest),
        ticks.c.tick_id.in_(sorted(running)),
    )
    query = select(ticks.c.tick_id, ticks.c.pins, ticks.c.created_at).where(of_catalog, wanted)
    return connection.execute(query.order_by(ticks.c.tick_id)).mappings().all()


def _under_way(lake: Lakehouse, connection: Connection, found: Needs, now: datetime) -> set[str]:
    """The ticks that have staged something, or keep tables for themselves; what they have staged counts as read."""
    young = clock.text_of(now - ABANDONED)
    running: set[str] = set()
    for row in connection.execute(select(staging).where(staging.c.catalog == lake.name)).mappings():
        if row["created_at"] >= young:
            running.add(row["tick_id"])
            _extend(found, clock.moment_of(row["created_at"]))
    for row in connection.execute(select(prepared).where(prepared.c.catalog == lake.name)).mappings():
        said = json.loads(row["payload"])
        frontier = said["status"].get("frontier")
        if frontier:
            _add_frontier(found, json.loads(frontier), f"tick {row['tick_id']} has staged {row['identifier']} from it")
        if row["created_at"] >= young:
            running.add(row["tick_id"])
            _extend(found, clock.moment_of(row["created_at"]))
    claims = select(leases.c.claim).where(leases.c.catalog == lake.name, leases.c.claim.is_not(None))
    return running | set(connection.execute(claims).scalars())


def _extend(found: Needs, moment: datetime) -> None:
    found.since = moment if found.since is None else min(found.since, moment)


def _add_frontier(found: Needs, said: Mapping[str, Any], why: str) -> None:
    for part in ("inputs", "world"):
        for identifier, version in said[part].items():
            found.add(identifier, version[0], why)


def summary_needs(
    lake: Lakehouse, readers: Iterable[str], policy_of: Callable[[str], MaintenancePolicy], now: datetime
) -> Needs:
    """What the snapshots of readers were computed from, as long as their pipeline can be taken back to them."""
    found = Needs()
    for identifier, table in lake.tables(readers).items():
        kept = kept_by_policy(table, policy_of(identifier), now)
        for snapshot in lineage_of(table).snapshots:
            said = said_by(snapshot)
            if snapshot.snapshot_id not in kept or "trickle.frontier" not in said:
                continue
            why = f"{identifier} can be taken back to a state that has read it"
            for part in ("trickle.frontier", "trickle.world"):
                for name, version in json.loads(said.get(part, "{}")).items():
                    found.add(name, version[0], why)
    return found


def kept_by_policy(table: Table, policy: MaintenancePolicy, now: datetime) -> set[int]:
    """The snapshots that are young and among the newest, and those of the restate window."""
    newest = sorted(table.metadata.snapshots, key=lambda one: one.sequence_number or 0, reverse=True)
    oldest = (now.timestamp() - policy.keep_snapshots_for) * 1000
    young = {one.snapshot_id for one in newest[: policy.keep_snapshots] if one.timestamp_ms >= oldest}
    window = max(policy.restate_window, tuning().maintenance_grace_seconds)
    return young | current_since(table, now - timedelta(seconds=window))


def current_since(table: Table, moment: datetime) -> set[int]:
    """The snapshots that were current at some time since a moment."""
    millis = int(moment.timestamp() * 1000)
    found = {one.snapshot_id for one in table.metadata.snapshots if one.timestamp_ms >= millis}
    log = table.metadata.snapshot_log
    later = [number for number, entry in enumerate(log) if entry.timestamp_ms >= millis]
    first = later[0] if later else len(log)
    # The one before was current until the next came.
    return found | {entry.snapshot_id for entry in log[max(0, first - 1) :]}


def needed_snapshots(table: Table, identifier: str, needs: Iterable[Needs]) -> dict[int, str]:
    """The snapshots of one table that must stay, each with the reason; those that it no longer has are left out."""
    metadata = table.metadata
    found: dict[int, str] = {}
    for name, ref in metadata.refs.items():
        found.setdefault(ref.snapshot_id, f"{ref.snapshot_ref_type.value} {name} is at it")
    if metadata.current_snapshot_id is not None:
        found.setdefault(metadata.current_snapshot_id, "it is the current one")
    frontiers: set[int] = set()
    for need in needs:
        for snapshot_id, why in need.of(identifier).items():
            found.setdefault(snapshot_id, why)
            frontiers.add(snapshot_id)
        if need.since is not None:
            for snapshot_id in current_since(table, need.since):
                found.setdefault(snapshot_id, "a refresh that is under way may read it")
    for snapshot_id in pairs_after(table, frontiers):
        # Without it, those that read from before a compaction would take every rewritten row for a change.
        found.setdefault(snapshot_id, "a reader has to see what a compaction has only rewritten")
    known = {one.snapshot_id for one in metadata.snapshots}
    return {snapshot_id: why for snapshot_id, why in found.items() if snapshot_id in known}


def said_by(snapshot: Snapshot | None) -> dict[str, str]:
    """What a snapshot says of itself."""
    return dict(snapshot.summary.additional_properties) if snapshot is not None and snapshot.summary else {}


def reading(statuses: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Who reads whom, by the frontiers: pairs of a reader and what it reads."""
    for identifier, one in statuses.items():
        if one.frontier is not None:
            yield from ((identifier, name) for name in one.frontier.inputs)
