"""A machine is brought to its fixed point where that is quickest, and from where an earlier attempt came to."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.fixpoint.before import Before
from airflow_trickle.engine.fixpoint.checkpoint import Checkpoint
from airflow_trickle.engine.fixpoint.joins import NotNear
from airflow_trickle.engine.fixpoint.machine import Machine
from airflow_trickle.engine.fixpoint.near import NearMachine, near_machine
from airflow_trickle.engine.fixpoint.ranks import Lines
from airflow_trickle.engine.fixpoint.saving import MachineSaver
from airflow_trickle.engine.fixpoint.unit import UnitRun
from airflow_trickle.engine.full import Input
from airflow_trickle.lakehouse.deletes import total_rows
from airflow_trickle.results import Iteration, Mode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("airflow_trickle")

_NO_LINES: Mapping[str, Lines] = {}


@dataclass(frozen=True)
class Settling:
    """What is needed to bring the machines of a unit to their fixed points.

    Attributes:
        run: The refresh.
        session: Where Spark runs.
        point: Where is written down how far it is.
        before: The tables of the unit.
        inputs: The tables outside.
        trace: The passes so far; is set to those of an earlier attempt, or cleared.
    """

    run: UnitRun
    session: SparkSession
    point: Checkpoint
    before: Before
    inputs: Mapping[str, Input]
    trace: list[Iteration]

    @property
    def rows_in(self) -> int | None:
        """How many rows the tables outside have, if that is known."""
        return total_rows(file for one in self.inputs.values() for file in one.files)

    def settle(self, machine: Machine, mode: Mode, why: str = "", lines: Mapping[str, Lines] = _NO_LINES) -> None:
        """Bring a machine to its fixed point.

        Args:
            machine: Not yet begun.
            mode: Whether it starts from the fixed point before.
            why: Why so, if that needs a reason.
            lines: What was kept of the members before, by key.
        """
        saver = MachineSaver(self.point, machine, mode, why)
        if saver.restored(self.session, self.trace, go_on_behind):
            machine.derive({})
            return
        near: NearMachine | None = None
        left: Mapping[str, Sequence[str]] | None = None
        try:
            near = self._near(machine, lines)
            left = near.settle() if near is not None else None
        except (NotNear, NotInBlocks) as error:
            if near is not None and near.has_given:
                # Spark's machine starts from what was before: not from what it was given since, in passes that count.
                raise
            # What was told of passes does not count.
            log.debug("%s: its rows are left to Spark: %s", self.run.step.unit, error)
            machine.trace.clear()
            self.trace.clear()
            near = None
        if near is None:
            machine.settle()
        elif left is not None:
            machine.derive(left)

    def _near(self, machine: Machine, lines: Mapping[str, Lines]) -> NearMachine | None:
        """The same machine in this process, if that is possible."""
        names = [column.name for rows in machine.rows.values() for column in rows.columns]
        schemas = [schema for one in self.inputs.values() for schema in one.table.metadata.schemas]
        names += [field.name for schema in schemas for field in schema.fields]
        if not all(name.isascii() for name in names):
            # Spark and Python differ in which other letters are the same but for their case.
            return None
        return near_machine(machine, lambda key, room: self.before.lines_here(lines.get(key), room), self.rows_in)


def go_on_behind(passes: Sequence[Iteration]) -> None:
    """Tell that an earlier attempt had come so far."""
    log.info("Going on behind pass %d of an earlier attempt.", passes[-1].number)
