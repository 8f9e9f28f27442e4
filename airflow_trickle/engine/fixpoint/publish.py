"""Publishing a fixed point: the change of every table of the unit is written, then all become visible at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyiceberg.manifest import DataFile

from airflow_trickle.engine.decide import Decision
from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint
from airflow_trickle.engine.fixpoint.decide import UnitDecision
from airflow_trickle.engine.fixpoint.ranks import Ranks, write_counts, write_lines
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.solve import Solution
from airflow_trickle.engine.fixpoint.tables import TableChanges
from airflow_trickle.engine.fixpoint.together import said_of_unit
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.engine.full import Difference, difference, layout_of, netted, shaped, target_for
from airflow_trickle.engine.kept import superfluous
from airflow_trickle.engine.outcome import Outcome, Passes, Unneeded
from airflow_trickle.engine.phases import Phase
from airflow_trickle.engine.record import Refresh, outcome_of, summary_of
from airflow_trickle.engine.small_change import SmallChange
from airflow_trickle.engine.small_write import write_small
from airflow_trickle.engine.write import Written, write_all, write_difference
from airflow_trickle.errors import TrickleError
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.columns import same_columns
from airflow_trickle.lakehouse.commit import Staged, Target, stage, stage_together
from airflow_trickle.lakehouse.files import make_folder
from airflow_trickle.lakehouse.leases import Lease, check
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.results import Status, TableResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class _Table:
    """One table on its way to the commit."""

    run: Refresh
    decision: Decision
    lease: Lease
    target: Target
    held: Sequence[DataFile]
    staging: stagings.Staging
    written: Written | None = None
    inserted: int = 0
    deleted: int = 0
    kept: Ranks | None = None
    staged: Staged | None = None

    @property
    def epoch(self) -> int:
        before = self.decision.published.epoch if self.decision.published else 0
        return before + (self.written is not None)


def publish_unit(
    run: UnitRun,
    decision: UnitDecision,
    leases: Mapping[str, Lease],
    solution: Solution,
    session: SparkSession,
    point: Checkpoint,
) -> tuple[TableResult, ...]:
    """Write the tables of a unit and publish them in one commit, which also ends its checkpoint."""
    return _Publisher(run, decision, leases, solution, session, point).publish()


@dataclass
class _Publisher:
    run: UnitRun
    decision: UnitDecision
    leases: Mapping[str, Lease]
    solution: Solution
    session: SparkSession
    point: Checkpoint
    tables: dict[str, _Table] = field(default_factory=dict)

    def publish(self) -> tuple[TableResult, ...]:
        try:
            check(self.run.lake, *self.leases.values())
            with self.run.phases.phase(Phase.WRITE):
                changes = TableChanges(self.solution, self.session)
                for name in changes.order:
                    self._begin(name, changes)
                for name, table in self.tables.items():
                    self._write(table, changes, name)
                    self._keep(table, name)
            with self.run.phases.phase(Phase.COMMIT):
                check(self.run.lake, *self.leases.values())
                return self._commit()
        except BaseException:
            # The first error is the one to show; what cannot be removed now is removed by the next tick.
            for table in self.tables.values():
                with suppress(TrickleError, OSError):
                    stagings.discard(self.run.lake, table.staging)
            raise

    def _begin(self, name: str, changes: TableChanges) -> None:
        run, one, lake = self.run.tables[name], self.decision.tables[name], self.run.lake
        current = lake.table_at(name, one.published.location) if one.published is not None else None
        target = target_for(lake, name, changes.described(name), current, layout=layout_of(run.step))
        version = one.published.version if one.published is not None else None
        held = list(files_of(target.table, version.snapshot_id).values()) if version is not None else []
        record = stagings.begin(
            lake,
            lease=self.leases[name],
            table_location=target.table.metadata.location,
            pipeline=self.run.tick.pipeline,
            tick_id=self.run.tick.tick_id,
            spark=self.run.spark.session_id,
            new_table=target.is_new,
        )
        self.tables[name] = _Table(run, one, self.leases[name], target, held, record)
        make_folder(target.table.io, record.data_folder)

    def _write(self, table: _Table, changes: TableChanges, name: str) -> None:
        same = not table.target.is_new and same_columns(table.target.schema, table.target.table.metadata.schema())
        keeps_files = same and not table.target.is_parted_anew
        change: Written | SmallChange | Difference | None
        if self.solution.change is not None and keeps_files:
            change = changes.from_before(name, table.target, table.held)
        else:
            change = self._in_full(table, changes.whole(name))
        if isinstance(change, Written):
            if change.added or table.decision.published is None or not keeps_files:
                table.written, table.inserted = change, change.net_rows
            return
        if change is None or (not change.inserted and not change.deleted and keeps_files):
            return
        table.written = self._written(table, change)
        table.inserted, table.deleted = change.inserted, change.deleted

    def _in_full(self, table: _Table, rows: DataFrame) -> Written | Difference:
        new = shaped(rows.toDF(*(column.name for column in table.target.schema.fields)), table.target)
        if not table.held:
            return write_all(new, table.target, table.staging, self._size)
        return difference(self.session, new, table.target, table.held)

    @property
    def _size(self) -> int:
        return sum(file.file_size_in_bytes for table in self.tables.values() for file in table.held) or (1 << 27)

    def _written(self, table: _Table, change: SmallChange | Difference) -> Written:
        if isinstance(change, SmallChange):
            written = write_small(change, table.target, table.staging, table.held)
            if written is not None:
                return written
            change = netted(change.frame(self.session))
        return write_difference(self.session, change, table.target, table.staging, table.held, self._size)

    def _keep(self, table: _Table, name: str) -> None:
        """Write the ranks of the table's rows, and of what is recursive inside of its query."""
        own = {key: rows for key, rows in self.solution.rows.items() if rows.member.text.step.identifier == name}
        found = {}
        for number, (key, rows) in enumerate(own.items()):
            before, io = self.solution.lines.get(key), table.target.table.io
            if isinstance(rows, Rows):
                lines = write_lines(rows, before, table.staging, number, io)
            elif rows.member.step is None:
                lines = write_counts(rows, before, table.staging, number, io)
            else:
                continue  # the table itself tells how often its rows are there
            if lines is None:
                return
            found[key] = lines
        if found:
            table.kept = Ranks(self.solution.top, found)

    # --- commit ------------------------------------------------------------------------------------

    def _commit(self) -> tuple[TableResult, ...]:
        moved = [table for table in self.tables.values() if table.written is not None]
        staged = stage_together([lambda table=table: self._stage(table) for table in moved])  # type: ignore[misc]
        for table, one in zip(moved, staged, strict=True):
            table.staged = one
        passes = Passes(self.run.step.unit, tuple(self.solution.trace))
        outcomes = [self._outcome(table, passes) for table in self.tables.values()]
        # The passes are those of the unit: one of its tables tells of them.
        outcomes[1:] = [replace(outcome, passes=None) for outcome in outcomes[1:]]
        self.run.publishing.publish(self.run.lake, outcomes, self.leases)
        with suppress(TrickleError, OSError):  # no retry needs it any more; what cannot be removed is in nobody's way
            self.point.discard()
        found = {outcome.identifier: outcome.result for outcome in outcomes}
        return tuple(found[table.identifier] for table in self.run.step.tables)

    def _stage(self, table: _Table) -> Staged:
        assert table.written is not None  # noqa: S101 - asked before
        self.run.phases.bytes_written += table.written.size
        summary = summary_of(
            table.run,
            table.decision.target,
            mode=self.solution.mode,
            inserted=table.inserted,
            deleted=table.deleted,
            epoch=table.epoch,
        )
        return stage(
            self.run.lake,
            table.target,
            table.staging,
            added=table.written.added,
            removed=table.written.removed,
            deletes=table.written.deletes,
            summary={**summary, **self._said_of_unit()},
        )

    def _said_of_unit(self) -> dict[str, str]:
        """What each snapshot says of those that are published with it."""
        new = {name: table.epoch for name, table in self.tables.items() if table.written is not None}
        published = {name: table.decision.published for name, table in self.tables.items() if name not in new}
        resting = {name: state.version.snapshot_id for name, state in published.items() if state is not None}
        return said_of_unit(self.run.step, new, resting)

    def _result(self, table: _Table) -> TableResult:
        published, phases = table.decision.published, self.run.phases
        before = published.version.snapshot_id if published is not None else None
        why = f"; {self.solution.why}" if self.solution.why else ""
        return TableResult(
            table=table.run.step.name,
            status=Status.ACTIVE,
            mode=self.solution.mode,
            reason=f"{self.decision.reason}{why}",
            rows_in=self.solution.rows_in,
            rows_inserted=table.inserted,
            rows_deleted=table.deleted,
            iterations=len(self.solution.trace),
            snapshot_id=table.staged.snapshot_id if table.staged is not None else before,
            epoch=table.epoch,
            seconds=table.run.seconds,
            bytes_read=phases.bytes_read,
            bytes_written=phases.bytes_written,
            phases=phases.seconds,
            cause=table.decision.cause,
        )

    def _outcome(self, table: _Table, passes: Passes) -> Outcome:
        run, one = table.run, table.decision
        before = one.published.kept if one.published is not None else None
        return outcome_of(
            run,
            one,
            self._result(table),
            action="NO_CHANGE" if table.staged is None else "REFRESH" if one.published else "INITIALIZE",
            wrote=table.staged or table.staging,
            kept=None if table.kept is None else table.kept.as_json(run.step.definition, one.target),
            passes=passes,
            unneeded=Unneeded(
                superfluous(before, table.kept.files if table.kept is not None else ()),
                (table.staging.data_folder,) if table.staged is None else (),
            ),
        )
