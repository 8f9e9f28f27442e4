"""From a decision to the fixed point: from the one before where that is possible, else from nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_trickle.blocks.bare_words import bare_words
from airflow_trickle.blocks.check import selects
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.choose import LOOKED_AT, PastRefresh, why_not_retract
from airflow_trickle.engine.delta.bench import SparkBench
from airflow_trickle.engine.delta.context import Column, Views
from airflow_trickle.engine.failures import fails_on_rows
from airflow_trickle.engine.fixpoint.before import Anew, Before
from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint
from airflow_trickle.engine.fixpoint.columns import find_columns
from airflow_trickle.engine.fixpoint.counted import Bag, Counting
from airflow_trickle.engine.fixpoint.decide import UnitDecision
from airflow_trickle.engine.fixpoint.machine import Machine, NotSettled
from airflow_trickle.engine.fixpoint.naive import Naive
from airflow_trickle.engine.fixpoint.parted import parted
from airflow_trickle.engine.fixpoint.ranks import Lines, Ranks
from airflow_trickle.engine.fixpoint.retract import RanksUnknown, TooManyGone
from airflow_trickle.engine.fixpoint.rows import Rows
from airflow_trickle.engine.fixpoint.saving import CountingSaver, NaiveSaver
from airflow_trickle.engine.fixpoint.settling import Settling, go_on_behind
from airflow_trickle.engine.fixpoint.sql import World
from airflow_trickle.engine.fixpoint.system import System
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.engine.full import Input, input_at
from airflow_trickle.engine.net_inputs import with_net_changes
from airflow_trickle.engine.states import changed_inputs, present, states_of
from airflow_trickle.errors import NonConvergence
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse.deletes import total_size
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.lakehouse.state import read_history
from airflow_trickle.results import Iteration, Mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger("airflow_trickle")

#: From so many bytes on it pays to say where the rows lie that a pass reads.
_MUCH_TO_READ = 64 * 1024**2


@dataclass(frozen=True)
class Solution:
    """The fixed point, not yet written.

    Attributes:
        mode: Whether it was found from the one before.
        why: Why so, if that needs a reason.
        rows: By member; empty if it was found without rules.
        frames: By member, if it was found without rules.
        top: The highest rank.
        lines: What was kept of the members before, by key.
        changed: The inputs with their changes, if it was found from the one before.
    """

    system: System
    bench: SparkBench
    world: World
    mode: Mode
    why: str
    columns: Mapping[str, list[Column]]
    trace: tuple[Iteration, ...]
    rows: Mapping[str, Rows | Bag] = field(default_factory=dict)
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    top: int = 0
    lines: Mapping[str, Lines] = field(default_factory=dict)
    #: The same tables before and after.
    change: World | None = None
    rows_in: int | None = None


@dataclass
class Solver:
    """Finds the fixed point of one unit."""

    run: UnitRun
    decision: UnitDecision
    system: System
    session: SparkSession
    point: Checkpoint
    trace: list[Iteration] = field(default_factory=list)

    def solve(self) -> Solution:
        """The fixed point.

        Raises:
            NonConvergence: there were too many passes.
        """
        try:
            if self.system.why_naive:
                return self._naively(self.system.why_naive)
            if not self.decision.from_changes:
                return self._from_nothing("")
            always = [table.reason for table in self.run.step.tables if table.mode == Mode.FULL.value]
            always += self._functions()
            if always:
                return self._from_nothing(always[0])
            found = self.point.found
            if found is not None and found.kind.endswith(Mode.FULL.value):
                # An earlier attempt had found out already that it has to be so.
                return self._from_nothing(str(found.state["why"]))
            try:
                return self._from_before()
            except Anew as error:
                return self._from_nothing(f"from nothing because {error}")
        except NotSettled:
            raise self._not_settled() from None

    def _functions(self) -> list[str]:
        """Words of the queries that would be columns if anything had such ones, and so are functions."""
        schemas = [schema_of(one.table, one.version) for one in self.inputs.values()]
        known = {fold(column.name) for schema in schemas for column in schema.fields}
        words = (
            word
            for text in self.system.texts.values()
            for select in selects(text.blocks, text.query)
            for word in bare_words(text.blocks, select)
        )
        return [word.why_function for word in words if word.name not in known]

    @cached_property
    def inputs(self) -> dict[str, Input]:
        """The tables outside at their pinned states."""
        target = next(iter(self.decision.tables.values())).target
        return {name: input_at(self.run.lake, name, version) for name, version in target.inputs.items()}

    @cached_property
    def _before(self) -> Before:
        return Before(self.run, self.decision, self.session, self.system.counted)

    @cached_property
    def _settling(self) -> Settling:
        return Settling(self.run, self.session, self.point, self._before, self.inputs, self.trace)

    def _bench(self, rows: int = 0) -> SparkBench:
        size = sum(one.size for one in self.inputs.values())
        size += sum(total_size(self._before.held(name)) for name in self.decision.tables)
        return SparkBench(self.session, self.run.views, rows=rows, ranged=size >= _MUCH_TO_READ)

    def _opened(self, size: int) -> None:
        self.run.phases.bytes_read += size

    def _note(self, one: Iteration) -> None:
        self.trace.append(one)
        self.point.passes += 1
        self.run.progress(one)

    def _not_settled(self) -> NonConvergence:
        names = [table.name for table in self.run.step.tables]
        last = self.trace[-1].changes if self.trace else {}
        moving = ", ".join(f"{name}: {count}" for name, count in last.items() if count)
        cap = self.run.step.max_iterations
        hint = (
            "If it only needs more passes, raise max_fixpoint_iterations. If rows come for ever: values that grow on "
            "the way round need a bound in WHERE, and UNION ALL over cyclic data needs UNION."
        )
        return NonConvergence(
            f"{self.run.first.step.declared_at}: {', '.join(names)} did not settle within {cap} passes (rows changed "
            f"in the last one: {moving}). Nothing was published. {hint} Then: trickle resume {names[0]}",
            unit=self.run.step.unit,
            members=names,
            trace=self.trace,
            hint=hint,
        )

    # --- from nothing ------------------------------------------------------------------------------

    def _present(self, bench: SparkBench) -> World:
        return World(bench, {n: present(self.session, bench, one, self._opened) for n, one in self.inputs.items()})

    def _from_nothing(self, why: str) -> Solution:
        """By rules where these can be followed, else every pass in full."""
        try:
            return self._by_rules(why)
        except NotInBlocks as error:
            return self._naively(error.why)

    def _by_rules(self, why: str) -> Solution:
        self.trace.clear()
        bench = self._bench()
        world = self._present(bench)
        columns = find_columns(bench, self.system.members, world, self.system.keys)
        if self.system.counted:
            return self._counted_from_nothing(bench, world, columns, why)
        rows = {
            key: Rows(self.session, bench, member, columns[key], latest=self._settling.rows_in or 0)
            for key, member in self.system.members.items()
        }
        machine = Machine(bench, self.system.keys, rows, world, None, self.run.step.max_iterations, note=self._note)
        self._settling.settle(machine, Mode.FULL, why)
        return Solution(
            self.system,
            bench,
            world,
            Mode.FULL,
            why,
            columns,
            tuple(self.trace),
            rows,
            top=machine.rank,
            rows_in=self._settling.rows_in,
        )

    def _counted_from_nothing(
        self, bench: SparkBench, world: World, columns: Mapping[str, list[Column]], why: str
    ) -> Solution:
        bags = {key: Bag(self.session, bench, member, columns[key]) for key, member in self.system.members.items()}
        counting = Counting(bench, self.system.keys, bags, self.run.step.max_iterations, self._note)
        saver = CountingSaver(self.point, counting, Mode.FULL, why)
        if saver.restored(self.session, self.trace, go_on_behind):
            counting.go_on(world, saver.moved, "derive")
        else:
            counting.from_nothing(world)
        return Solution(
            self.system,
            bench,
            world,
            Mode.FULL,
            why,
            columns,
            tuple(self.trace),
            bags,
            rows_in=self._settling.rows_in,
        )

    def _naively(self, why: str) -> Solution:
        self.trace.clear()
        bench = self._bench()
        world = self._present(bench)
        system = self.system
        columns = find_columns(bench, system.members, world, system.keys)
        naive = Naive(bench, system.keys, system.members, columns, world, self.run.step.max_iterations, note=self._note)
        NaiveSaver(self.point, naive, why).settle(self.session, self.trace, go_on_behind)
        why = f"every pass in full because {why}"
        return Solution(
            system,
            bench,
            world,
            Mode.FULL,
            why,
            columns,
            tuple(self.trace),
            frames=naive.frames,
            rows_in=self._settling.rows_in,
        )

    # --- from before -------------------------------------------------------------------------------

    def _from_before(self) -> Solution:
        kept = self._before.kept()
        first = next(iter(self.decision.tables.values())).published
        frontier = first.frontier if first is not None else None
        assert frontier is not None  # noqa: S101 - from changes
        changed = with_net_changes(changed_inputs(self.run.lake, self.inputs, frontier))
        bench = self._bench(sum(one.rows for one in changed.values()))
        before = World(
            bench, {name: states_of(self.session, bench, one, self._opened) for name, one in changed.items()}
        )
        now = World(bench, {name: Views(v.new, v.new, None, types=v.types) for name, v in before.tables.items()})
        lines = {key: one.members[key] for one in kept.values() for key in one.members}
        if self.system.counted:
            return self._counted_from_before(bench, before, now, kept, lines)
        rows = {key: self._before.rows(bench, member, kept) for key, member in self.system.members.items()}
        top = max((one.top for one in kept.values()), default=0)
        machine = Machine(
            bench, self.system.keys, rows, now, before, self.run.step.max_iterations, rank=top, note=self._note
        )
        machine.why_anew = self._why_anew
        machine.consumed = {key: {other: top for other in one.member.reads} for key, one in rows.items()}
        with self._else_anew():
            self._settling.settle(machine, Mode.DIFFERENTIAL, lines=lines)
        return Solution(
            self.system,
            bench,
            now,
            Mode.DIFFERENTIAL,
            "",
            {key: list(one.columns) for key, one in rows.items()},
            tuple(self.trace),
            rows,
            top=machine.rank,
            lines=lines,
            change=before,
            rows_in=sum(one.rows for one in changed.values()),
        )

    def _counted_from_before(
        self,
        bench: SparkBench,
        before: World,
        now: World,
        kept: Mapping[str, Ranks],
        lines: Mapping[str, Lines],
    ) -> Solution:
        """The same where copies count: first everything goes that goes, then everything comes that comes."""
        for table in self.run.step.tables:
            for edge in table.edges:
                views = before.tables.get(edge.identifier)
                if views is not None and views.delta is not None and edge.type == "NON_MONOTONE":
                    raise Anew(f"copies count, and more rows of {edge.identifier} may take rows away")
        bags = {key: self._before.bag(bench, member, kept) for key, member in self.system.members.items()}
        counting = Counting(bench, self.system.keys, bags, self.run.step.max_iterations, self._note)
        with self._else_anew():
            saver = CountingSaver(self.point, counting, Mode.DIFFERENTIAL)
            if saver.restored(self.session, self.trace, go_on_behind):
                counting.go_on(now, saver.moved, "derive")
            else:
                self._in_two_steps(counting, before, now)
        return Solution(
            self.system,
            bench,
            now,
            Mode.DIFFERENTIAL,
            "",
            {key: list(one.columns) for key, one in bags.items()},
            tuple(self.trace),
            bags,
            lines=lines,
            change=before,
        )

    def _in_two_steps(self, counting: Counting, before: World, now: World) -> None:
        going, between, coming = parted(before)
        if going is not None:
            counting.from_before(going, between, "retract")
        if coming is not None:
            counting.from_before(coming, now, "derive")
        elif going is None:
            counting.from_before(now, now, "derive")

    def _why_anew(self) -> str:
        """By what earlier refreshes took; whoever asks for DIFFERENTIAL gets it."""
        first = self.run.first.step
        if any(table.requested_mode == Mode.DIFFERENTIAL.value for table in self.run.step.tables):
            return ""
        past = read_history(self.run.lake, identifier=first.identifier, limit=LOOKED_AT)
        return why_not_retract([PastRefresh.of(row) for row in past])

    @contextmanager
    def _else_anew(self) -> Iterator[None]:
        """What cannot be found from before is found from nothing."""
        try:
            yield
        except RanksUnknown as error:
            raise Anew(str(error)) from None
        except TooManyGone:
            raise Anew("too many rows would go one by one") from None
        except NotInBlocks as error:
            raise Anew(error.why) from error
        except NotSettled:
            raise
        except Exception as error:
            if not fails_on_rows(error):
                raise
            # Rows of before meet rows of after on the way; the query itself may well run.
            log.warning("%s: finding the change failed: %s", self.run.step.unit, error)
            raise Anew("finding the change failed on rows that the query itself may not have") from error
