"""A planned project as text for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from airflow_trickle.identifiers import fold
from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.captures import described
from airflow_trickle.plan.steps import CaptureStep, InputKind, InputRef, Plan, RefreshStep, TableStep, UnitKind


class TableNames:
    """What the tables of a project are called: by name, or by identifier where two pipelines use the name."""

    def __init__(self, planned: PlannedProject) -> None:
        counts = Counter(table.name for plan in planned.plans for table in plan.tables)
        self._names = {
            table.identifier: table.name if counts[table.name] == 1 else table.identifier
            for plan in planned.plans
            for table in plan.tables
        }

    def __getitem__(self, identifier: str) -> str:
        """The name of a table; one that is not planned here goes by its identifier."""
        return self._names.get(identifier, identifier)

    def all(self, identifiers: Iterable[str]) -> list[str]:
        """The names of several tables."""
        return [self[identifier] for identifier in identifiers]


def explain_json(planned: PlannedProject) -> dict[str, Any]:
    """What ``trickle plan --json`` prints.

    A table goes by its name, or by its Iceberg identifier where two pipelines use the name. A unit of
    several tables is a list of them in ``order``.
    """
    names = TableNames(planned)
    return {
        "pipelines": [_pipeline_json(plan, names) for plan in planned.plans],
        "tables": {
            names[table.identifier]: table_json(table, plan, names) for plan in planned.plans for table in plan.tables
        },
        "sccs": sccs_json(planned),
        "groups": groups_json(planned),
        "order": [_unit_json(step, names) for step in _ordered(planned)],
        "warnings": list(dict.fromkeys(warning for plan in planned.plans for warning in plan.warnings)),
        "errors": [problem.as_dict() for problem in planned.problems],
    }


def sccs_json(planned: PlannedProject) -> list[dict[str, Any]]:
    """The strongly connected components of all pipelines, upstream first."""
    names = TableNames(planned)
    found = {part.id: part for plan in planned.plans for part in plan.components}
    return [
        {
            "id": part.id,
            "members": names.all(part.members),
            "cyclic": part.cyclic,
            "monotone": part.monotone,
            "max_iterations": part.max_iterations if part.cyclic else None,
        }
        for _, part in sorted(found.items())
    ]


def groups_json(planned: PlannedProject) -> list[dict[str, Any]]:
    """The consistency groups of all pipelines."""
    names = TableNames(planned)
    found = {group.id: group for plan in planned.plans for group in plan.groups}
    return [
        {
            "id": group.id,
            "members": names.all(group.members),
            "convergence_points": names.all(group.convergence_points),
            "atomic": group.atomic,
            "parts": [
                {
                    "pipeline": part.pipeline,
                    "members": names.all(part.members),
                    "atomic": part.atomic,
                    "schedule_policy": part.policy,
                }
                for part in group.parts
            ],
        }
        for _, group in sorted(found.items())
    ]


def table_json(table: TableStep, plan: Plan, names: TableNames) -> dict[str, Any]:
    """One table of ``trickle plan --json``."""
    edges = {edge.identifier: edge for edge in table.edges}
    return {
        "identifier": table.identifier,
        "pipeline": plan.pipeline,
        "stratum": table.stratum,
        "scc_id": table.scc_id,
        "group_id": table.group_id,
        "refresh_mode": table.mode,
        "requested_mode": table.requested_mode,
        "reason": table.reason,
        "schedule": table.schedule,
        "definition": table.definition,
        "partition_by": list(table.partition_by),
        "cluster_by": list(table.cluster_by),
        "lattice": dict(table.lattice),
        "state": table.state,
        "state_max_bytes": table.state_max_bytes,
        "declared_at": table.declared_at,
        "made_from": table.made_from,
        "depends_on": [
            {
                **_input_json(ref, names),
                "edge": edges[ref.identifier].type,
                "because": edges[ref.identifier].because,
            }
            for ref in table.inputs
        ],
    }


def explain_text(planned: PlannedProject) -> list[str]:
    """The lines that ``trickle plan`` prints."""
    lines: list[str] = []
    for plan in planned.plans:
        lines += [*_plan_lines(plan), ""]
    if planned.broken:
        lines.append("Not planned:")
        for problem in planned.problems:
            first, *others = str(problem).splitlines()
            lines += [f"  {first}", *(f"    {line}".rstrip() for line in others)]
    return lines if planned.broken else lines[:-1]


def _pipeline_json(plan: Plan, names: TableNames) -> dict[str, Any]:
    return {
        "name": plan.pipeline,
        "namespace": plan.namespace,
        "file": plan.file,
        "schedule": plan.schedule,
        "start_date": plan.start_date,
        "catchup": plan.catchup,
        "catalog": plan.catalog,
        "captures": [_capture_json(step) for step in plan.captures],
        "pins": [ref.identifier for ref in plan.pin.inputs],
        "order": [_unit_json(step, names) for step in plan.refreshes],
        "units": [
            {"unit": step.unit, "kind": step.kind.value, "tables": names.all(table.identifier for table in step.tables)}
            for step in plan.refreshes
        ],
        "warnings": list(plan.warnings),
    }


def _capture_json(step: CaptureStep) -> dict[str, Any]:
    return {
        "name": step.name,
        "identifier": step.identifier,
        "format": step.format,
        "path": step.path,
        "capture": step.method,
        "watermark": step.watermark,
        "definition": step.definition,
        "declared_at": step.declared_at,
    }


def _ordered(planned: PlannedProject) -> list[RefreshStep]:
    """The units of all pipelines, upstream first; pipelines by name where there is a choice.

    Two pipelines may read each other's units in a circle, though no table depends on itself; then by name too.
    """
    steps = [step for plan in planned.plans for step in plan.refreshes]
    made_by = {fold(table.identifier): index for index, step in enumerate(steps) for table in step.tables}
    reads = (
        {made_by.get(fold(ref.identifier), index) for table in step.tables for ref in table.inputs} - {index}
        for index, step in enumerate(steps)
    )
    waiting = dict(enumerate(reads))
    readers: dict[int, list[int]] = {}
    for index, needed in waiting.items():
        for one in needed:
            readers.setdefault(one, []).append(index)
    ready = [index for index, needed in waiting.items() if not needed]
    found: list[RefreshStep] = []
    while waiting:
        index = heappop(ready) if ready else min(waiting)
        if waiting.pop(index, None) is None:
            continue
        found.append(steps[index])
        for reader in readers.get(index, ()):
            if reader in waiting:
                waiting[reader].discard(index)
                if not waiting[reader]:
                    heappush(ready, reader)
    return found


def _unit_json(step: RefreshStep, names: TableNames) -> str | list[str]:
    tables = names.all(table.identifier for table in step.tables)
    return tables[0] if step.kind is UnitKind.TABLE else tables


def _input_json(ref: InputRef, names: TableNames) -> dict[str, Any]:
    """An input; a stream table of another pipeline is one all the same, and marked as external.

    A stream table goes by its own name, also where its reader declares it as a source under another one.
    """
    source = ref.kind is InputKind.SOURCE
    return {
        "name": ref.name if source else names[ref.identifier],
        "identifier": ref.identifier,
        "kind": "source" if source else "stream_table",
        "external": ref.kind is InputKind.EXTERNAL,
    }


def _plan_lines(plan: Plan) -> Iterator[str]:
    schedule = f"schedule {plan.schedule}" if plan.schedule else "no schedule"
    yield f"Pipeline {plan.pipeline} ({plan.file}): {_counted(len(plan.tables), 'table')}, {schedule}"
    if plan.description:
        yield f"  {plan.description.strip()}"
    for capture in plan.captures:
        yield f"  capture  {capture.name} ({capture.identifier}): {described(capture)}"
    pins = ", ".join(_named(ref) for ref in plan.pin.inputs)
    yield f"  pin      {pins or 'nothing: no query reads a table from outside'}"
    strata = {table.stratum for table in plan.tables}
    for step in plan.refreshes:
        if step.kind is not UnitKind.TABLE:
            what = "a cycle, to its fixed point" if step.kind is UnitKind.CYCLE else "a group, in one commit"
            yield f"  {step.kind.value:<8} {step.unit}: {what}"
        for table in step.tables:
            yield from _table_lines(table, plan, show_stratum=len(strata) > 1)
    for warning in plan.warnings:
        yield f"  warning  {warning}"


def _table_lines(table: TableStep, plan: Plan, *, show_stratum: bool) -> Iterator[str]:
    stratum = f"  stratum {table.stratum}" if show_stratum else ""
    yield f"  refresh  {table.name}{stratum}  {table.mode} ({table.reason})"
    negative = {edge.identifier for edge in table.edges if edge.type == "NON_MONOTONE"}
    reads = [_named(ref) + (" [non-monotone]" if ref.identifier in negative else "") for ref in table.inputs]
    yield f"           reads {', '.join(reads) or 'nothing'}"
    if table.schedule != plan.schedule:
        yield f"           schedule {table.schedule}"
    if (state := state_text(table)) is not None:
        yield f"           state {state}"


def state_text(table: TableStep) -> str | None:
    """Which auxiliary state a table asks for; None if it asks for nothing."""
    bound = f", at most {table.state_max_bytes:,} bytes" if table.state_max_bytes and table.state != "none" else ""
    return None if table.state == "auto" and not bound else f"{table.state}{bound}"


def _named(ref: InputRef) -> str:
    origin = " of another pipeline" if ref.kind is InputKind.EXTERNAL else ""
    return f"{ref.name} ({ref.identifier}{origin})" if ref.kind is not InputKind.STREAM_TABLE else ref.name


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
