"""Publishing an atomic group: all that its members have staged, in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from airflow_trickle.engine.outcome import Outcome, commit_outcomes
from airflow_trickle.errors import CommitConflict
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.leases import Lease, unclaim
from airflow_trickle.lakehouse.prepared import drop_prepared
from airflow_trickle.lakehouse.snapshots import Version
from airflow_trickle.lakehouse.state import Frontier, TableStatus, read_status
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import TableResult
from airflow_trickle.tick import Tick


def latest_epoch(lake: Lakehouse, step: RefreshStep) -> int:
    """How many commits a group has had; one that gained or lost members goes on counting."""
    known = read_status(lake, [table.identifier for table in step.tables]).values()
    return max((status.group_epoch or 0 for status in known), default=0)


def commit_members(
    lake: Lakehouse, step: RefreshStep, tick: Tick, outcomes: Mapping[str, Outcome], leases: Mapping[str, Lease]
) -> tuple[TableResult, ...]:
    """Publish what the members have staged; the group's epoch goes up if a table of it changed.

    Raises:
        CommitConflict: something is not as it was when it was staged; nothing was published.
    """
    statuses = read_status(lake, [table.identifier for table in step.tables])
    check_agreement(step, outcomes, statuses)
    before = max((status.group_epoch or 0 for status in statuses.values()), default=0)
    epoch = before + any(outcome.staged is not None for outcome in outcomes.values())
    _check_epoch(outcomes.values(), epoch)
    # Before its first commit a group has no epoch.
    columns = {"group_name": step.unit, "group_epoch": epoch} if epoch else {}
    final = [
        replace(
            outcome,
            # Of a table that was never refreshed and is not now, there is nothing to say.
            status={**outcome.status, **columns} if outcome.status or name in statuses else {},
            result=outcome.result.model_copy(update={"group_epoch": epoch or None}),
        )
        for name, outcome in outcomes.items()
    ]

    def also(connection: Connection) -> None:
        drop_prepared(lake, connection, outcomes)
        unclaim(lake, connection, tick.tick_id, outcomes)

    commit_outcomes(lake, final, leases, also)
    results = {outcome.identifier: outcome.result for outcome in final}
    return tuple(results[table.identifier] for table in step.tables)


def check_agreement(step: RefreshStep, outcomes: Mapping[str, Outcome], statuses: Mapping[str, TableStatus]) -> None:
    """Refuse a group whose members were not computed from the very states of each other that would be published.

    That happens only if a member was staged anew after others had read it. Nor may two of them have read different
    states of a table outside: one that is not due in this tick may be brought on by another one meanwhile.
    """
    read_outside: dict[str, dict[str, Version]] = {}
    for part in step.parts:
        own = {table.identifier for table in part.tables}
        for table in part.tables:
            frontier = _frontier(outcomes[table.identifier], statuses.get(table.identifier))
            for ref in table.inputs:
                if ref.identifier in own or frontier is None:
                    continue
                read = frontier.inputs.get(ref.identifier)
                if ref.identifier not in outcomes:
                    if read is not None:
                        read_outside.setdefault(ref.identifier, {})[table.identifier] = read
                elif read != _version(outcomes[ref.identifier], statuses):
                    raise _stale(step, table.name, ref.name, table.identifier)
    for outside, readers in read_outside.items():
        if len(set(readers.values())) > 1:
            raise CommitConflict(
                f"Tables of group '{step.unit}' were staged from different states of {outside}, which was refreshed "
                f"meanwhile: {', '.join(readers)}. Nothing was published; the next attempt stages them again.",
                # All of them: those that are staged again read the state of that moment.
                list(readers),
            )


def _frontier(outcome: Outcome, status: TableStatus | None) -> Frontier | None:
    said = outcome.status.get("frontier")
    if said is not None:
        return said if isinstance(said, Frontier) else Frontier.from_json(said)
    return status.frontier if status is not None else None


def _version(outcome: Outcome, statuses: Mapping[str, TableStatus]) -> Version | None:
    """The state of a table after the commit."""
    if outcome.status.get("schema_id") is not None:
        return Version(outcome.status["snapshot_id"], outcome.status["schema_id"])
    status = statuses.get(outcome.identifier)
    return Version(status.snapshot_id, status.schema_id) if status and status.schema_id is not None else None


def _check_epoch(outcomes: Iterable[Outcome], epoch: int) -> None:
    """Refuse snapshots that would tell of another epoch than the one they are published with."""
    others = []
    for outcome in outcomes:
        snapshot = outcome.staged.table.current_snapshot() if outcome.staged is not None else None
        said = snapshot.summary.additional_properties if snapshot is not None and snapshot.summary is not None else None
        if said is not None and said.get("trickle.group-epoch") != str(epoch):
            others.append(outcome.identifier)
    if others:
        raise CommitConflict(
            f"Tables staged for another commit of their group: {', '.join(others)}. Nothing was published; the next "
            f"attempt stages them again.",
            others,
        )


def _stale(step: RefreshStep, reader: str, read: str, identifier: str) -> CommitConflict:
    return CommitConflict(
        f"'{reader}' of group '{step.unit}' was staged from another state of '{read}' than the one that is about to be "
        f"published, so nothing was. The next attempt stages it again.",
        [identifier],
    )


def parts_without(step: RefreshStep, staged: Sequence[str]) -> list[RefreshStep]:
    """The members of a group that have not staged anything, upstream first."""
    return [part for part in step.parts if any(table.identifier not in staged for table in part.tables)]
