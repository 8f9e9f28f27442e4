"""The steps of tables and units."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from airflow_trickle.algebra.references import fingerprint
from airflow_trickle.analysis.edges import Edge
from airflow_trickle.analysis.graph import Node
from airflow_trickle.analysis.names import Known
from airflow_trickle.analysis.project import Analysis
from airflow_trickle.analysis.strata import EdgeType
from airflow_trickle.analysis.units import Unit
from airflow_trickle.definition.derived_text import DerivedSql
from airflow_trickle.definition.places import runs_of
from airflow_trickle.definition.records import TableDef
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.shape import Shape
from airflow_trickle.plan.steps import (
    EdgeStep,
    GroupMember,
    InputRef,
    Reference,
    RefreshStep,
    TableStep,
    TaskOptions,
    UnitKind,
)
from airflow_trickle.plan.tolerance import tolerated


class TableSteps:
    """Makes the steps of a project's tables."""

    def __init__(self, analysis: Analysis, shape: Shape) -> None:
        self._analysis = analysis
        self._shape = shape
        #: Many tables read the same ones.
        self._refs: dict[Known, InputRef] = {}
        self._tolerates = self._tolerance()

    def _tolerance(self) -> dict[str, tuple[str, ...]]:
        """By table: the tables of its own pipeline that may be behind, by identifier."""
        analysis = self._analysis
        file = {key: node.file for key, node in analysis.nodes.items()}
        reads = {key: [one for one in node.edges if file.get(one) == node.file] for key, node in analysis.nodes.items()}
        loose = [part.members for group in analysis.groups for part in group.parts if not part.atomic]
        found = tolerated((key for part in analysis.order for key in part.members), reads, loose)
        return {key: tuple(analysis.nodes[one].table.identifier for one in names) for key, names in found.items()}

    def refreshes(self, units: Sequence[Unit]) -> tuple[RefreshStep, ...]:
        """The units of a pipeline as steps, in their order."""
        tables = [[self._table(self._analysis.nodes[key]) for key in unit.tables] for unit in units]
        taken = {fold(table.name) for members in tables for table in members}
        names = [_unit_name(unit, members, taken) for unit, members in zip(units, tables, strict=True)]
        return tuple(
            RefreshStep(
                unit=name,
                kind=UnitKind(unit.kind.value),
                tables=tuple(members),
                upstream=tuple(sorted(names[index] for index in unit.upstream)),
                max_iterations=self._shape.iterations_of(unit.tables),
                passes_per_submission=self._shape.passes_of(unit.tables),
                members=self._members(unit, members, taken),
            )
            for name, unit, members in zip(names, units, tables, strict=True)
        )

    def _members(self, unit: Unit, tables: Sequence[TableStep], taken: set[str]) -> tuple[GroupMember, ...]:
        """What a group consists of: its tables, those of a cycle together."""
        if unit.kind.value != UnitKind.GROUP.value:
            return ()
        found: list[GroupMember] = []
        # The tables of a cycle stand side by side.
        for cycle, some in groupby(zip(unit.tables, tables, strict=True), key=lambda pair: pair[1].scc_id or pair[0]):
            keys, steps = zip(*some, strict=True)
            name = steps[0].name if isinstance(cycle, str) else _free(f"cycle_{steps[0].name}", taken)
            limit = self._shape.iterations_of(keys)
            found.append(GroupMember(unit=name, tables=tuple(step.name for step in steps), max_iterations=limit))
        return tuple(found)

    def _table(self, node: Node) -> TableStep:
        table = node.table
        reads = [known for known in node.reads if known is not None]
        choice = self._analysis.modes[node.key]
        inputs = distinct(self._input(known) for known in set(reads))
        return TableStep(
            name=table.name,
            identifier=table.identifier,
            query=table.sql.text,
            references=tuple(
                Reference(start=ref.start, end=ref.end, identifier=known.identifier, alias=ref.alias)
                for ref, known in zip(node.query.references, reads, strict=True)
            ),
            inputs=inputs,
            requested_mode=table.refresh_mode,
            mode=choice.mode,
            reason=choice.reason,
            definition=_definition(
                fingerprint(node.query, (known.identifier for known in reads)), table.partition_by, table.lattice
            ),
            declared_at=str(table.at),
            query_file=table.sql.file,
            query_places=runs_of(table.sql),
            description=table.description,
            owner=table.owner,
            tags=table.tags,
            partition_by=table.partition_by,
            cluster_by=table.cluster_by,
            state=table.state,
            state_max_bytes=table.state_max_bytes,
            recursive=node.recursive,
            lattice=dict(table.lattice),
            edges=tuple(_edge(ref, node.edges[fold(ref.identifier)], node) for ref in inputs),
            stratum=self._analysis.strata.level[node.key],
            scc_id=self._shape.cycle_of.get(node.key),
            group_id=self._shape.group_of.get(node.key),
            schedule=self._analysis.schedules[node.key],
            made_from=table.made_from,
            tolerates=self._tolerates[node.key],
            task=TaskOptions(**_task(table)),
            spark_conf=dict(table.spark_conf),
        )

    def _input(self, known: Known) -> InputRef:
        ref = self._refs.get(known)
        if ref is None:
            ref = self._refs[known] = InputRef(
                name=known.name,
                identifier=known.identifier,
                kind=known.kind,
                declared_at=str(known.declared_at),
            )
        return ref


def distinct(inputs: Iterable[InputRef]) -> tuple[InputRef, ...]:
    """One input per Iceberg table, by name; a table with two names keeps the first of them."""
    by_name = sorted(inputs, key=lambda ref: (ref.name, ref.identifier, ref.declared_at))
    by_identifier: dict[str, InputRef] = {}
    for ref in by_name:
        by_identifier.setdefault(ref.identifier, ref)
    return tuple(by_identifier.values())


def _definition(query: str, partition_by: Sequence[str], lattice: Sequence[tuple[str, str]]) -> str:
    """What a table is computed from and how it is parted: a change of either is a change of all its files."""
    if lattice:
        # What is kept beside the table for its next refresh is another.
        query = _digest((query, *(word for pair in lattice for word in pair)))
    return f"{query}.{_digest(partition_by)}" if partition_by else query


def _digest(words: Sequence[str]) -> str:
    said = fold("\x00".join(words))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _edge(ref: InputRef, edge: Edge, node: Node) -> EdgeStep:
    because = edge.because
    if edge.type is EdgeType.NON_MONOTONE:
        because += f" ({_line(node, edge.place)})"
    return EdgeStep(identifier=ref.identifier, type=edge.type.value, because=because)


def _task(table: TableDef) -> dict[str, Any]:
    """What a table asks of its task, without what it does not ask."""
    return {name: value for name, value in asdict(table.task).items() if value is not None}


def _line(node: Node, offset: int) -> str:
    """The line of a place; in a query that was made from another one, that of the user's own text."""
    if isinstance(node.table.sql, DerivedSql):
        return f"line {node.table.sql.position(offset).line} of the file"
    return f"line {node.query.text.count(chr(10), 0, offset) + 1} of the query"


def _unit_name(unit: Unit, tables: Sequence[TableStep], taken: set[str]) -> str:
    """A single table's own name; else of what it is and of its first table, or the one where paths meet."""
    if unit.kind.value == UnitKind.TABLE.value:
        return tables[0].name
    kind = "cycle" if unit.kind.value == UnitKind.CYCLE.value else "group"
    return _free(f"{kind}_{tables[0 if kind == 'cycle' else -1].name}", taken)


def _free(stem: str, taken: set[str]) -> str:
    """A name that is not taken, and is from now on."""
    name, number = stem, 1
    while fold(name) in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(fold(name))
    return name
