"""Measures what a refresh has to do, from metadata and the parsed query."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from airflow_trickle.blocks.check import blocks_of
from airflow_trickle.blocks.shapes import NotInBlocks
from airflow_trickle.engine.choose import Workload, times_share
from airflow_trickle.engine.delta.ranges import Ranges, ranges_of_files, ranges_of_rows
from airflow_trickle.engine.kept import Kept
from airflow_trickle.engine.program_cost import ProgramCost, Relation, program_cost
from airflow_trickle.engine.states import ChangedInput
from airflow_trickle.identifiers import fold
from airflow_trickle.lakehouse.snapshots import schema_of
from airflow_trickle.plan.steps import TableStep


def workload_of(inputs: Mapping[str, ChangedInput], step: TableStep, kept: Kept | None) -> Workload:
    """The workload of a refresh from changes.

    Args:
        inputs: What happened to the inputs, by identifier.
        step: The table.
        kept: Its auxiliary state.
    """
    changed = [one.after for one in inputs.values() if not one.nothing]
    grew = all(one.only_grew for one in inputs.values())
    cost = _cost(inputs, step, kept)
    return Workload(
        size=sum(one.after.size for one in inputs.values()),
        # Rows that delete files take away are few.
        rows=sum(file.record_count for source in changed for file in source.files),
        changed=sum(one.rows for one in inputs.values()),
        times_share=times_share(windows=cost is not None and cost.windows, only_grew=grew),
        read=None if cost is None else cost.bytes,
    )


def _cost(inputs: Mapping[str, ChangedInput], step: TableStep, kept: Kept | None) -> ProgramCost | None:
    try:
        blocks, query = blocks_of(step.query, recursion=True)
    except NotInBlocks:
        return None
    ranges = {name: _ChangedRanges(one) for name, one in inputs.items()}
    relations = {name: _relation(one) for name, one in inputs.items()}
    states = {} if kept is None else {number: one.bytes or 0 for number, one in kept.states.items()}

    def overlap(changed: str, column: str, partner: str, its_column: str) -> float:
        return ranges[partner].share_within(its_column, ranges[changed].changed.get(column))

    places = {ref.start: (ref.identifier, relations[ref.identifier]) for ref in step.references}
    return program_cost(blocks, query, places, states, overlap)


def _relation(one: ChangedInput) -> Relation:
    names = frozenset(fold(column.name) for column in schema_of(one.after.table, one.after.version).fields)
    return Relation(one.after.size, 0 if one.nothing else max(one.size, 1), one.only_grew, names)


class _ChangedRanges:
    """Where the changed rows of an input lie, and which of its files may hold others, by file metadata."""

    def __init__(self, one: ChangedInput) -> None:
        self._one = one
        self._schema = schema_of(one.after.table, one.after.version)

    @cached_property
    def changed(self) -> Mapping[str, Ranges]:
        """The ranges of the changed rows, or of their files, by folded column."""
        if self._one.net is not None:
            return ranges_of_rows(self._one.net.rows)
        files = [*self._one.changes.added, *self._one.changes.removed, *(lost.file for lost in self._one.lost)]
        return ranges_of_files(self._schema, files)

    @cached_property
    def _files(self) -> list[tuple[int, Mapping[str, Ranges]]]:
        files = self._one.after.files
        return [(file.file_size_in_bytes, ranges_of_files(self._schema, [file])) for file in files]

    def share_within(self, column: str, known: Ranges | None) -> float:
        """Which share of the bytes may hold a value of some ranges."""
        total = sum(size for size, _ in self._files)
        if known is None or not total:
            return 1.0
        apart = (size for size, ranges in self._files if column in ranges and ranges[column].is_apart_from(known))
        return 1.0 - sum(apart) / total
