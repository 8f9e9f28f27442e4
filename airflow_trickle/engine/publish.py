"""From a decision to a commit: find the change of a table, write it, make it visible."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.choose import LOOKED_AT, PastRefresh, choose
from airflow_trickle.engine.decide import PARTED_ANEW, Decision
from airflow_trickle.engine.differential import ChangeFinder
from airflow_trickle.engine.failures import cause_of, fails_inside_spark, fails_on_rows, first_lines
from airflow_trickle.engine.full import Difference, difference, netted, shaped
from airflow_trickle.engine.kept import Kept, noted_of, report, superfluous, valid
from airflow_trickle.engine.kept import written as kept_states
from airflow_trickle.engine.net_inputs import with_net_changes, worth_netting
from airflow_trickle.engine.outcome import Outcome, Unneeded
from airflow_trickle.engine.phases import Phase
from airflow_trickle.engine.record import Refresh, outcome_of, summary_of
from airflow_trickle.engine.small_change import SmallChange
from airflow_trickle.engine.small_write import write_small
from airflow_trickle.engine.state_policy import StatePolicy
from airflow_trickle.engine.states import ChangedInput, changed_inputs, unchanged_inputs
from airflow_trickle.engine.work import Work, working
from airflow_trickle.engine.workload import workload_of
from airflow_trickle.engine.write import Written, write_all, write_difference
from airflow_trickle.errors import RefreshFailed, TrickleError
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse import staging as stagings
from airflow_trickle.lakehouse.commit import stage
from airflow_trickle.lakehouse.deletes import total_size
from airflow_trickle.lakehouse.files import delete_folder, make_folder
from airflow_trickle.lakehouse.leases import Lease, check
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.lakehouse.state import read_history
from airflow_trickle.plan.chance import columns_in_doubt
from airflow_trickle.results import Choice, Mode, PartState, Status, TableResult

log = logging.getLogger("airflow_trickle")


@dataclass(frozen=True)
class _Way:
    """How the new state was found, why so, how many rows were read for it, and what AUTO chose."""

    mode: Mode
    reason: str
    rows_in: int | None
    choice: Choice | None = None


@dataclass(frozen=True)
class _Change:
    written: Written
    inserted: int
    deleted: int


@dataclass(frozen=True)
class _Found:
    """The change of a table found from those of its inputs, and by whom."""

    change: SmallChange | Difference | None
    finder: ChangeFinder


def publish(run: Refresh, decision: Decision, lease: Lease) -> TableResult:
    """Bring a table to the state that was decided, under its lease."""
    log.info("Refreshing %s: %s.", run.step.name, decision.reason)
    with run.phases.phase(Phase.READ), working(run, decision) as work:
        target = work.target
        record = stagings.begin(
            run.lake,
            lease=lease,
            table_location=target.table.metadata.location,
            pipeline=run.tick.pipeline,
            tick_id=run.tick.tick_id,
            spark=run.spark.session_id,
            new_table=target.is_new,
        )
        try:
            make_folder(target.table.io, record.data_folder)
            check(run.lake, lease)
            way, change, kept = _write(work, record, lease)
            with run.phases.phase(Phase.COMMIT):
                check(run.lake, lease)
                if change is None:
                    outcome = _same_result(work, way, record, kept)
                else:
                    outcome = _staged(work, way, record, change, kept)
                run.publishing.publish(run.lake, [outcome], {run.step.identifier: lease})
                return outcome.result
        except BaseException:
            # The first error is the one to show; what cannot be removed now is removed by the next tick.
            with suppress(TrickleError, OSError):
                stagings.discard(run.lake, record)
            raise


def _write(work: Work, record: stagings.Staging, lease: Lease) -> tuple[_Way, _Change | None, Kept | None]:
    """Write the files of the new state, and what is kept beside; no change when it is the published one."""
    phases = work.run.phases
    with phases.phase(Phase.COMPUTE):
        way, found = _from_changes(work)
    if found is None:
        change_in_full = _in_full(work, record)
        return way, change_in_full, _state_of_all(work, record)
    change, finder = found.change, found.finder
    check(work.run.lake, lease)
    lines = _kept(work, record, finder)
    with phases.phase(Phase.WRITE):
        if change is None:
            return way, None, lines
        return way, _Change(_written(work, record, change), change.inserted, change.deleted), lines


def _kept(work: Work, record: stagings.Staging, finder: ChangeFinder) -> Kept | None:
    """Write the auxiliary states that a refresh has made or added to."""
    phase = Phase.KEEP if any(one.whole is not None for one in finder.states.values()) else Phase.WRITE
    policy = StatePolicy.of(work.run.step)
    io = work.target.table.io
    with work.run.phases.phase(phase):
        try:
            return kept_states(
                work.session, finder.bench, finder.states, finder.kept, record, io, policy=policy, inputs=finder.read
            )
        except Exception as error:
            if phase is not Phase.KEEP or not (fails_on_rows(error) or fails_inside_spark(error)):
                raise
            # The rows are right without; the state of sums that do not fit, for one, cannot be made.
            log.warning("%s: its auxiliary state could not be made, so it has none: %s", work.run.step.name, error)
            delete_folder(io, record.kept_folder)
            return None


def _state_of_all(work: Work, record: stagings.Staging) -> Kept | None:
    """Make the auxiliary state of a table that was computed in full, so that the first change finds it.

    Later full refreshes make it only if there was one: a table that is mostly computed in full is spared.
    """
    step, published = work.run.step, work.decision.published
    policy = StatePolicy.of(step)
    if step.mode == Mode.FULL.value or policy.why_not_made(work.size) is not None:
        return None
    if policy.choice == "auto" and published is not None and published.kept is None:
        return None
    inputs = unchanged_inputs(work.inputs)
    finder = ChangeFinder(work.session, step, inputs, work.target, [], work.views, meaning=work.meaning)
    try:
        finder.build_state()
    except NotInBlocks:
        return None  # it is not refreshed from changes
    except Exception as error:
        if not fails_inside_spark(error):
            raise
        # The rows are right without it, and the query itself ran.
        log.warning("%s: its auxiliary state could not be planned, so it has none: %s", step.name, error)
        return None
    return _kept(work, record, finder)


def _in_full(work: Work, record: stagings.Staging) -> _Change | None:
    phases, held = work.run.phases, work.held
    phases.bytes_read += work.size + total_size(held)
    new = shaped(work.result, work.target)
    if not held:
        # Computing and writing are one job.
        with phases.phase(Phase.COMPUTE):
            written = write_all(new, work.target, record, work.size)
        if work.decision.published is not None and not written.added and work.keeps_files:
            return None
        return _Change(written, written.net_rows, 0)
    with phases.phase(Phase.COMPUTE):
        change = difference(work.session, new, work.target, held)
    if not change.inserted and not change.deleted and work.keeps_files:
        return None
    with phases.phase(Phase.WRITE):
        return _Change(_written(work, record, change), change.inserted, change.deleted)


def _written(work: Work, record: stagings.Staging, change: SmallChange | Difference) -> Written:
    if isinstance(change, SmallChange):
        written = write_small(change, work.target, record, work.held)
        if written is not None:
            return written
        change = netted(change.frame(work.session))
    return write_difference(work.session, change, work.target, record, work.held, work.size)


def _from_changes(work: Work) -> tuple[_Way, _Found | None]:
    """The change of the table from those of its inputs, if that is possible and worth it; else the way is FULL."""
    run, decision = work.run, work.decision
    step, published = run.step, decision.published

    choice: Choice | None = None

    def full(*why: str) -> tuple[_Way, None]:
        return _Way(Mode.FULL, "; ".join((decision.reason, *why)), work.rows_in, choice), None

    if step.mode == Mode.FULL.value and not _may_be_columns(work):
        return full(step.reason)
    if not decision.from_changes or published is None or published.frontier is None:
        return full()
    if work.same_schema and work.target.is_parted_anew:
        return full(PARTED_ANEW)
    asked = step.requested_mode == Mode.DIFFERENTIAL.value
    with run.phases.phase(Phase.PIN):
        inputs = changed_inputs(run.lake, work.inputs, published.frontier)
        inputs, choice = _chosen(work, inputs, asked=asked)
    why = choice.why if choice is not None and choice.full else None
    if why is None and not work.same_schema:
        why = "the columns of its result are others now"
    if why is None:
        try:
            change = _found(work, inputs)
        except NotInBlocks as error:
            why = error.why
        except Exception as error:
            why = None if asked else _beside_the_query(error)
            if why is None:
                raise
            log.warning("%s: computing its change failed, so it is computed in full: %s", step.name, error)
        else:
            changed = sum(one.rows for one in inputs.values())
            expected = f" ({choice.why})" if choice is not None and choice.why else ""
            how = "refresh_mode: DIFFERENTIAL" if asked else f"AUTO: from changes{expected}"
            return _Way(Mode.DIFFERENTIAL, f"{decision.reason}; {how}", changed, choice), change
    if asked:
        raise RefreshFailed(
            f"{step.declared_at}: stream table '{step.name}' cannot be refreshed from changes, because {why}. Nothing "
            f"was published. Set refresh_mode: AUTO to have it recomputed in full when needed."
        )
    return full(f"AUTO: full because {why}")


def _may_be_columns(work: Work) -> bool:
    """Whether a query is taken to be computed in full only because of words that may well be columns.

    The inputs have columns of these names; whether the words mean them, the rules of change find out.
    """
    step = work.run.step
    if step.requested_mode == Mode.FULL.value:
        return False
    words = columns_in_doubt(step)
    schemas = (schema_of(source.table, source.version) for source in work.inputs.values())
    return bool(words) and words <= {fold(column.name) for schema in schemas for column in schema.fields}


def _beside_the_query(error: Exception) -> str | None:
    """Why the change could not be computed, if the query itself may well run."""
    if fails_on_rows(error):
        # Rows of before meet rows of after on the way.
        told = first_lines(str(cause_of(error)), 1)[:200]
        return f"computing the change failed on rows that the query itself may not have ({told})"
    if fails_inside_spark(error):
        return f"Spark could not compute the change ({first_lines(str(error), 1)[:200]})"
    return None


def _chosen(
    work: Work, inputs: dict[str, ChangedInput], *, asked: bool
) -> tuple[dict[str, ChangedInput], Choice | None]:
    """What AUTO takes, or None if changes are asked for, and the inputs with what was read of their changes.

    Rewritten files are netted first, unless that alone would take long against a full refresh.
    """
    if asked:
        return with_net_changes(inputs), None
    history = read_history(work.run.lake, identifier=work.run.step.identifier, limit=LOOKED_AT)
    past, kept = [PastRefresh.of(row) for row in history], _kept_before(work)
    choice = choose(workload_of(inputs, work.run.step, kept), past)
    net = with_net_changes(inputs, worth_netting(choice))
    return net, choice if net is inputs else choose(workload_of(net, work.run.step, kept), past)


def _found(work: Work, inputs: dict[str, ChangedInput]) -> _Found:
    step, kept = work.run.step, _kept_before(work)
    finder = partial(ChangeFinder, work.session, step, inputs, work.target, work.held, work.views, meaning=work.meaning)
    try:
        return _find(work, finder(kept))
    except Exception as error:
        # What is kept may not add up, or hold no answer (a sum that does not fit); and Spark's planner may stumble over
        # what stands for a part of the query, though it takes the query itself. What fails by itself fails again.
        if kept is None or not (fails_on_rows(error) or fails_inside_spark(error)):
            raise
        log.warning("%s: its change could not be computed by its auxiliary state: %s", step.name, error)
        without = finder()
        # What fails now would fail again with the next refresh.
        without.tallies.wanted = without.parts.wanted = False
        return _find(work, without)


def _kept_before(work: Work) -> Kept | None:
    """The valid auxiliary states of a table that may have any."""
    published, step = work.decision.published, work.run.step
    if published is None or published.frontier is None or not StatePolicy.of(step).keeps_any:
        return None
    return valid(published.kept, step.definition, published.frontier, work.target.table.io)


def _find(work: Work, finder: ChangeFinder) -> _Found:
    try:
        return _Found(finder.find(), finder)
    finally:
        work.run.phases.bytes_read += finder.size


def _same_result(work: Work, way: _Way, record: stagings.Staging, kept: Kept | None) -> Outcome:
    """Nothing to publish: only how far the inputs were read, and what is kept."""
    run, decision = work.run, work.decision
    assert decision.published is not None  # noqa: S101 - a first refresh always publishes
    published = decision.published
    if kept is None:
        stagings.discard(run.lake, record)
    return outcome_of(
        run,
        decision,
        _result(work, way, kept, epoch=published.epoch, snapshot=published.version.snapshot_id),
        action="NO_CHANGE",
        wrote=record if kept is not None else None,
        kept=_said(work, kept),
        unneeded=Unneeded(_unneeded(work, kept), (record.data_folder,) if kept is not None else ()),
    )


def _said(work: Work, kept: Kept | None) -> str | None:
    return None if kept is None else kept.as_json(work.run.step.definition, work.decision.target)


def _unneeded(work: Work, kept: Kept | None) -> tuple[str, ...]:
    """The files that are kept no longer."""
    published = work.decision.published
    return () if published is None else superfluous(published.kept, kept.files if kept is not None else ())


def _staged(work: Work, way: _Way, record: stagings.Staging, change: _Change, kept: Kept | None) -> Outcome:
    run, decision = work.run, work.decision
    epoch = (decision.published.epoch if decision.published else 0) + 1
    run.phases.bytes_written += change.written.size
    staged = stage(
        run.lake,
        work.target,
        record,
        added=change.written.added,
        removed=change.written.removed,
        deletes=change.written.deletes,
        summary=summary_of(
            run, decision.target, mode=way.mode, inserted=change.inserted, deleted=change.deleted, epoch=epoch
        ),
    )
    return outcome_of(
        run,
        decision,
        _result(work, way, kept, epoch=epoch, snapshot=staged.snapshot_id, change=change),
        action="REFRESH" if decision.published else "INITIALIZE",
        wrote=staged,
        kept=_said(work, kept),
        unneeded=Unneeded(_unneeded(work, kept)),
    )


def _states(work: Work, kept: Kept | None) -> tuple[PartState, ...]:
    """What became of the auxiliary state; nothing to tell of a table that is always computed in full."""
    step, published = work.run.step, work.decision.published
    before = None
    if published is not None and published.frontier is not None:
        before = noted_of(published.kept, step.definition, published.frontier)
    if step.mode == Mode.FULL.value and before is None and kept is None:
        return ()
    return report(StatePolicy.of(step), work.size, before, kept)


def _result(
    work: Work,
    way: _Way,
    kept: Kept | None,
    *,
    epoch: int,
    snapshot: int | None,
    change: _Change | None = None,
) -> TableResult:
    run = work.run
    return TableResult(
        table=run.step.name,
        status=Status.ACTIVE,
        mode=way.mode,
        reason=way.reason,
        rows_in=way.rows_in,
        rows_inserted=change.inserted if change else 0,
        rows_deleted=change.deleted if change else 0,
        snapshot_id=snapshot,
        epoch=epoch,
        seconds=run.seconds,
        bytes_read=run.phases.bytes_read,
        bytes_written=run.phases.bytes_written,
        phases=run.phases.seconds,
        cause=work.decision.cause,
        choice=way.choice,
        state=_states(work, kept),
    )
