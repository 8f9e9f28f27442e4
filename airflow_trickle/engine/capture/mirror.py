"""The mirror of a captured source: the one that there is, and the one to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyiceberg.table import Table

from airflow_trickle.engine.capture.state import DEFINITION, EPOCH, STATE, CaptureState, read_state, said_by
from airflow_trickle.engine.full import target_for
from airflow_trickle.engine.identity import settings_cause
from airflow_trickle.engine.zset import RESERVED
from airflow_trickle.errors import CaptureFailed, ForeignTable, UnsupportedTable
from airflow_trickle.lakehouse.catalog import Lakehouse
from airflow_trickle.lakehouse.commit import CAPTURED, OWNED, Target
from airflow_trickle.lakehouse.deletes import LiveFile
from airflow_trickle.lakehouse.snapshots import files_of
from airflow_trickle.lakehouse.state import TableStatus, read_status
from airflow_trickle.plan.captures import described
from airflow_trickle.plan.steps import CaptureStep


@dataclass(frozen=True)
class Mirror:
    """What is published of a source; without a ``state`` everything is read anew, and ``cause`` says why."""

    table: Table | None
    state: CaptureState | None
    cause: str
    epoch: int = 0
    #: Whether there was a state, and it cannot be read any more.
    lost: bool = False

    @cached_property
    def held(self) -> dict[str, LiveFile]:
        """Its data files by path."""
        return files_of(self.table, self.table.metadata.current_snapshot_id) if self.table is not None else {}

    def place(self, path: str) -> str:
        """A path as a state writes it: relative to the mirror."""
        assert self.table is not None  # noqa: S101 - it has files
        return path.removeprefix(f"{self.table.metadata.location.rstrip('/')}/")


def mirror_of(lake: Lakehouse, step: CaptureStep) -> Mirror:
    """The mirror as it is now.

    Raises:
        ForeignTable: somebody else made or changed the table.
    """
    table = lake.table(step.identifier)
    if table is None:
        return Mirror(None, None, "first capture")
    if CAPTURED not in table.metadata.properties:
        raise ForeignTable(_not_ours(step, table))
    said = said_by(table.metadata.current_snapshot())
    epoch = int(said.get(EPOCH, "0"))
    if _was_reset(read_status(lake, [step.identifier]).get(step.identifier), table):
        return Mirror(table, None, "it was reset", epoch)
    if STATE not in said:
        raise ForeignTable(
            f"{step.declared_at}: source '{step.name}': its mirror {step.identifier} was changed by another writer "
            f"(snapshot {table.metadata.current_snapshot_id} is not one of ours); it is left alone. To compare all "
            f"rows with the source and undo those changes: trickle reset {step.name}"
        )
    if said.get(DEFINITION) != step.definition:
        return Mirror(table, None, "its definition changed", epoch)
    state = read_state(table.io, said[STATE])
    if state is None:
        return Mirror(table, None, "the record of what was captured is gone", epoch, lost=True)
    return Mirror(table, state, "", epoch)


def under_settings(step: CaptureStep, mirror: Mirror, settings: Mapping[str, str]) -> Mirror:
    """The mirror as it counts under the settings of Spark: rows of text that were read under others are read anew.

    Raises:
        CaptureFailed: the source is append-only, and may not have its earlier rows any more.
    """
    if mirror.state is None or mirror.state.settings == settings:
        return mirror
    before = mirror.state.settings
    if step.method != "append_only":
        cause = settings_cause(None if before is None else json.dumps(before), settings)
        return replace(mirror, state=None, cause=cause.replace("its query means", "its text means"))
    if before is None:
        return mirror
    raise CaptureFailed(
        f"{step.declared_at}: source '{step.name}' is append-only, and "
        f"{settings_cause(json.dumps(before), settings).replace('its query means', 'its text means')}. Rows that the "
        f"source has no more could not be read again. Put the setting back into the Spark connection; or, if the "
        f"source has all its rows, read it anew: trickle reset {step.name}"
    )


def _was_reset(status: TableStatus | None, table: Table) -> bool:
    return (
        status is not None
        and status.definition is None
        and status.metadata_location is not None
        and status.snapshot_id == table.metadata.current_snapshot_id
    )


def _not_ours(step: CaptureStep, table: Table) -> str:
    made = "is a stream table" if OWNED in table.metadata.properties else "was not made by airflow-trickle"
    return (
        f"{step.declared_at}: source '{step.name}' is to be captured into the Iceberg table {step.identifier}, but "
        f"that table exists and {made}; it is left alone. Name another one with `table: namespace.name`, or, if the "
        f"source is that Iceberg table, leave out `path` and `format`."
    )


def mirror_target(lake: Lakehouse, step: CaptureStep, columns: dict[str, Any], mirror: Mirror) -> Target:
    """The mirror with the given columns; those that stay keep their field ids."""
    for column in columns["fields"]:
        if column["name"].startswith(RESERVED):
            raise UnsupportedTable(f"column '{column['name']}' begins with {RESERVED}, which is reserved. Rename it.")
    return target_for(lake, step.identifier, columns, mirror.table, {CAPTURED: described(step)})
