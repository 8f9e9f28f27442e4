"""Atomic groups: every member stages its next state where only the group sees it, then one commit publishes all.

    begin -> stage each member, upstream first -> commit
                        |                           |
                        +-- one fails --> cleanup <-+   nothing was published

Each step may run in a process of its own, and may be run again: what a member has staged is kept beside the catalog as
plain data (`Outcome`), and a member whose work is missing when somebody needs it is staged there and then. Between the
steps the tables are claimed for the tick.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from airflow_trickle import clock
from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.fixpoint.decide import UnitDecision, decide_unit, outside_inputs
from airflow_trickle.engine.group_commit import commit_members, latest_epoch, parts_without
from airflow_trickle.engine.group_publishing import GroupPublishing, overlay, staged_tables
from airflow_trickle.engine.holds import hold_of
from airflow_trickle.engine.identity import identified
from airflow_trickle.engine.outcome import Outcome, outcome_from_json, told_of
from airflow_trickle.engine.record import Refresh, note_hold, note_waiting, record_discarded, record_failure
from airflow_trickle.engine.refresh import Progress, not_due, refresh
from airflow_trickle.errors import CommitConflict, LeaseHeld, RefreshFailed, TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.catalog import Lakehouse, Unseen
from airflow_trickle.lakehouse.leases import Lease, check, holding, is_at_work, unclaim
from airflow_trickle.lakehouse.prepared import read_prepared, withdraw_prepared
from airflow_trickle.lakehouse.state import read_status, stored_status
from airflow_trickle.plan.steps import RefreshStep
from airflow_trickle.results import Mode, Status, TableResult
from airflow_trickle.spark.session import SparkProvider
from airflow_trickle.tick import Tick

log = logging.getLogger("airflow_trickle")


def refresh_group(
    lake: Lakehouse,
    step: RefreshStep,
    tick: Tick,
    spark: SparkProvider,
    full_refresh: bool = False,
    progress: Progress = lambda _: None,
) -> tuple[TableResult, ...]:
    """Refresh an atomic group in this process, from the first look to the commit.

    Raises:
        TrickleError: a member could not be refreshed; nothing of the group was published.
    """
    names = [table.identifier for table in step.tables]
    with holding(lake, names, f"tick {tick.tick_id}") as leases:
        group = GroupRefresh(lake, step, tick, spark, full_refresh, progress, leases)
        done = group.begin()
        if done is not None:
            return done
        try:
            for part in step.parts:
                check(lake, *leases.values())
                group.stage(part.unit)
            check(lake, *leases.values())
            return group.commit()
        except BaseException as error:
            # The first error is the one to show; what cannot be removed now is removed by the next tick.
            with suppress(TrickleError, OSError):
                group.discard(str(error))
            raise


@dataclass
class GroupRefresh:
    """One tick of an atomic group, for any of the processes that work on it."""

    lake: Lakehouse
    step: RefreshStep
    tick: Tick
    spark: SparkProvider
    full_refresh: bool = False
    progress: Progress = field(default=lambda _: None)
    #: The leases of all tables, if one process does everything; else each step takes its own.
    leases: Mapping[str, Lease] | None = None

    def __post_init__(self) -> None:
        self.step = identified(self.lake, self.step, self.spark)

    @property
    def _tick(self) -> Tick:
        """The tick as members see it: the group is due, or it is not; no member rests by itself."""
        names = set(self._names)
        return self.tick.model_copy(update={"not_due": tuple(name for name in self.tick.not_due if name not in names)})

    @property
    def _names(self) -> list[str]:
        return [table.identifier for table in self.step.tables]

    @property
    def _runs(self) -> list[Refresh]:
        now, counter = clock.now(), time.monotonic()
        return [Refresh(self.lake, table, self.tick, self.spark, now, counter) for table in self.step.tables]

    @contextmanager
    def _holding(self) -> Iterator[Mapping[str, Lease]]:
        """The leases of all tables; they stay claimed for the tick afterwards."""
        if self.leases is not None:
            yield self.leases
            return
        with holding(self.lake, self._names, f"tick {self.tick.tick_id}", claim=self.tick.tick_id) as leases:
            yield leases

    # --- begin -------------------------------------------------------------------------------------

    def begin(self) -> tuple[TableResult, ...] | None:
        """Claim the tables and see what is to be done; the results, if no member has anything to compute.

        Nothing but metadata is read, so a group with nothing to do costs no Spark job.
        """
        try:
            return self._begin()
        except BaseException as error:
            # What cannot be begun has no end that would give the tables back; but other tasks of this very tick may be
            # at work on them, if only one of them was cleared.
            with suppress(TrickleError):
                if not (isinstance(error, LeaseHeld) and self._goes_on()):
                    self._give_back()
            if isinstance(error, TrickleError) and not isinstance(error, LeaseHeld):
                for run in self._runs:
                    record_failure(run, error)
            raise

    def _begin(self) -> tuple[TableResult, ...] | None:
        if (rest := not_due(self.lake, self.step, self.tick)) is not None:
            return rest
        if (hold := hold_of(self.lake, self.step)) is not None:
            note_hold(self._runs, hold)
            return hold.results(self.step)
        with self._holding() as leases:
            staged = bool(read_prepared(self.lake, self.tick.tick_id, self._names))
            if not staged:
                self._clean(leases)
            skipped = self._skipped()
            if skipped is not None:
                self._give_back()
                return skipped
            if self.has_work():
                log.info("Group %s is begun: %s.", self.step.unit, ", ".join(table.name for table in self.step.tables))
                return None
            if staged:
                # It is of a query or a source that was put back since.
                self._clean(leases)
        # Only how far the inputs were read is to be noted, if anything: in one commit too.
        results = self.commit()
        self._give_back()
        return results

    def _clean(self, leases: Mapping[str, Lease]) -> None:
        for lease in leases.values():
            stagings.clean_table(self.lake, lease, self.spark.end_left_behind)

    def _give_back(self) -> None:
        self.lake.database.run(lambda connection: unclaim(self.lake, connection, self.tick.tick_id, self._names))

    def _goes_on(self) -> bool:
        """Whether other tasks of this tick have staged something, or are about to."""
        prepared = read_prepared(self.lake, self.tick.tick_id, self._names)
        return bool(prepared) or is_at_work(self.lake, self.tick.tick_id, self._names)

    def _skipped(self) -> tuple[TableResult, ...] | None:
        """What to say if one of the tables cannot be refreshed in this tick: then none is."""
        for part in self.step.parts:
            outside = [ref for ref in outside_inputs(part) if ref.identifier not in self._names]
            alone = part.model_copy(
                update={
                    "tables": tuple(table.model_copy(update={"inputs": tuple(outside)}) for table in part.tables),
                }
            )
            decision = decide_unit(self.lake, alone, self._tick, full_refresh=False)
            if decision.kind != Decision.SKIP:
                continue
            for one in decision.tables.values():
                if one.waits_for:
                    for run in self._runs:
                        note_waiting(run, one.waits_for)
            return self._untouched(f"{part.unit}: {decision.reason}" if len(self.step.parts) > 1 else decision.reason)
        return None

    def _untouched(self, reason: str) -> tuple[TableResult, ...]:
        known = read_status(self.lake, self._names)
        found = []
        for table in self.step.tables:
            status = known.get(table.identifier)
            found.append(
                TableResult(
                    table=table.name,
                    status=status.status if status else Status.INITIALIZING,
                    mode=Mode.SKIPPED,
                    reason=reason,
                    snapshot_id=status.snapshot_id if status else None,
                    epoch=status.epoch if status else 0,
                    group_epoch=status.group_epoch if status else None,
                )
            )
        return tuple(found)

    def has_work(self) -> bool:
        """Whether a member has to compute something; members see what those before them will have read."""
        seen: dict[str, Unseen] = {}
        for part in self.step.parts:
            decision = decide_unit(self.lake.seeing(seen), part, self._tick, full_refresh=self.full_refresh)
            if decision.kind == Decision.WORK or decision.stray:
                return True
            if decision.kind == Decision.ADVANCE:
                seen |= _moved_on(decision, self.tick)
        return False

    # --- stage -------------------------------------------------------------------------------------

    def stage(self, unit: str) -> tuple[TableResult, ...]:
        """Stage a member: compute its next state from that of the members before it; nobody else sees it.

        Raises:
            TrickleError: it could not be refreshed; nothing is published.
        """
        wanted = next(part for part in self.step.parts if part.unit == unit)
        above = _above(self.step, wanted)
        for part in parts_without(self.step, staged_tables(self.lake, self.tick, self._names)):
            if part.unit in above:
                log.info("%s has nothing staged for this tick, so it is staged first.", part.unit)
                self._stage(part)
        return self._stage(wanted)

    def _stage(self, part: RefreshStep) -> tuple[TableResult, ...]:
        own = {table.identifier for table in part.tables}
        seen = self.lake.seeing(overlay(self.lake, self.tick, [name for name in self._names if name not in own]))
        publishing = GroupPublishing(self.step.unit, self.tick, latest_epoch(self.lake, self.step) + 1, self.leases)
        results = refresh(seen, part, self._tick, self.spark, self.full_refresh, self.progress, publishing)
        skipped = [result for result in results if result.mode is Mode.SKIPPED]
        if skipped:
            error = RefreshFailed(f"Nothing of group '{self.step.unit}' can be published: {skipped[0].reason}.")
            for run in self._runs:
                if run.step.identifier in own:
                    record_failure(run, error)
            raise error
        try:
            self._note_idle(part, results, publishing)
        except CommitConflict as error:
            self._record(error)
            raise
        return results

    def _note_idle(self, part: RefreshStep, results: Sequence[TableResult], publishing: GroupPublishing) -> None:
        """Note of members that have nothing to do that they were asked."""
        own = [table.identifier for table in part.tables]
        staged = staged_tables(self.lake, self.tick, own)
        locations = self.lake.locations(own)
        idle = [
            self._idle(table.identifier, result, location)
            for table, result in zip(part.tables, results, strict=True)
            if table.identifier not in staged and (location := locations.get(table.identifier)) is not None
        ]
        if idle:
            with publishing.holding(self.lake, own, f"tick {self.tick.tick_id}") as leases:
                publishing.publish(self.lake, idle, leases)

    def _idle(self, identifier: str, result: TableResult, location: str) -> Outcome:
        """A table whose rows and inputs are what they were: it has seen this tick, and no error of it stands."""
        metadata = self.lake.table_at(identifier, location).metadata
        if metadata.current_snapshot_id != result.snapshot_id:
            raise CommitConflict(
                f"Table {identifier} was written by somebody else while its group was being staged; nothing was "
                f"published. If that was not meant, `trickle reset {result.table}` computes it anew.",
                [identifier],
            )
        # The task of a tick that was published before may run once more, after later ticks.
        known = read_status(self.lake, [identifier]).get(identifier)
        moment = known.effective_at if known is not None and known.effective_at is not None else self.tick.effective_at
        status = {
            "effective_at": max(moment, self.tick.effective_at),
            "error": None,
            "error_at": None,
            "metadata_location": location,
            "snapshot_id": metadata.current_snapshot_id,
            "schema_id": metadata.current_schema_id,
        }
        tick = self.tick
        return Outcome(identifier, tick.pipeline, tick.tick_id, result, clock.now(), location, status)

    # --- the end -----------------------------------------------------------------------------------

    def commit(self) -> tuple[TableResult, ...]:
        """Publish all members in one transaction, and give the claim back.

        Raises:
            CommitConflict: a table was changed or taken over by somebody else; nothing was published.
        """
        self._stage_missing()
        try:
            with self._holding() as leases:
                results = self._commit(leases)
        except CommitConflict as error:
            self._record(error)
            # The next attempt stages it from the present state.
            withdraw_prepared(self.lake, self.tick.tick_id, error.tables)
            raise
        log.info(_told_of_commit(self.step.unit, results))
        return results

    def _stage_missing(self) -> None:
        """Stage the members whose work was lost, and look again at those that have read them."""
        missing = {part.unit for part in parts_without(self.step, staged_tables(self.lake, self.tick, self._names))}
        anew: set[str] = set()
        for part in self.step.parts:
            if part.unit in missing:
                log.info("%s has nothing staged for this tick, so it is staged first.", part.unit)
            elif anew.isdisjoint(_above(self.step, part)):
                continue
            anew.add(part.unit)
            self._stage(part)

    def _record(self, error: CommitConflict) -> None:
        """Note a conflict of the tables it is about; the end of the group tells of the work of the others."""
        for run in self._runs:
            if run.step.identifier in error.tables:
                record_failure(run, error)

    def _commit(self, leases: Mapping[str, Lease]) -> tuple[TableResult, ...]:
        if parts_without(self.step, staged_tables(self.lake, self.tick, self._names)):
            raise CommitConflict(
                f"What was staged of group '{self.step.unit}' was removed by another process; nothing was published. "
                f"The next attempt stages it again.",
                self._names,
            )
        texts = read_prepared(self.lake, self.tick.tick_id, self._names)
        outcomes = {name: outcome_from_json(self.lake, name, self.tick.tick_id, text) for name, text in texts.items()}
        return commit_members(self.lake, self.step, self.tick, outcomes, leases)

    def discard(self, why: str) -> None:
        """Remove what the members have staged, and note of each that its work was not published."""
        texts = read_prepared(self.lake, self.tick.tick_id, self._names)
        # Their files may be gone already.
        outcomes = [told_of(name, self.tick.tick_id, text) for name, text in texts.items()]
        with self._holding() as leases:
            record_discarded(self.lake, [one for one in outcomes if one.action is not None], why)
            self._clean(leases)

    def cleanup(self) -> None:
        """After all other steps, whatever became of them: leave nothing behind."""
        try:
            left = [one for name in self._names for one in stagings.leftovers(self.lake, identifier=name)]
            if left or read_prepared(self.lake, self.tick.tick_id, self._names):
                self.discard("another table of the group failed, or the run was stopped")
        except LeaseHeld as error:
            # Whoever has the tables cleans them: it begins with that.
            log.warning("What this tick has staged is left to the next one: %s", error)
        finally:
            self._give_back()


def _told_of_commit(unit: str, results: Sequence[TableResult]) -> str:
    changed = [result.table for result in results if result.changed]
    if not changed:
        return f"Group {unit}: no table of it changed."
    return f"Group {unit}: published together, as epoch {results[0].group_epoch} of the group: {', '.join(changed)}."


def _moved_on(decision: UnitDecision, tick: Tick) -> dict[str, Unseen]:
    """Tables as they will be once it is noted how far their inputs were read."""
    return {
        name: Unseen(
            None,
            stored_status({"frontier": one.target, "effective_at": tick.effective_at, "tick_id": tick.tick_id}),
        )
        for name, one in decision.tables.items()
    }


def _above(step: RefreshStep, wanted: RefreshStep) -> set[str]:
    """The members of a group that a member reads, on whatever path."""
    parts = {part.unit: part for part in step.parts}
    found: set[str] = set()
    waiting = list(wanted.upstream)
    while waiting:
        unit = waiting.pop()
        if unit not in found:
            found.add(unit)
            waiting += parts[unit].upstream
    return found
