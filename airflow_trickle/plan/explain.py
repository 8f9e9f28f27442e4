"""A planned project as text for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.steps import InputKind, InputRef, Plan, TableStep


def explain_json(planned: PlannedProject) -> dict[str, Any]:
    """What ``trickle plan --json`` prints.

    A table goes by its name, or by its Iceberg identifier where two pipelines use the name.
    """
    names = Counter(table.name for plan in planned.plans for table in plan.tables)
    keys = {
        table.identifier: table.name if names[table.name] == 1 else table.identifier
        for plan in planned.plans
        for table in plan.tables
    }
    return {
        "pipelines": [_pipeline_json(plan, keys) for plan in planned.plans],
        "tables": {keys[table.identifier]: _table_json(table, plan) for plan in planned.plans for table in plan.tables},
        "order": [keys[table.identifier] for plan in planned.plans for table in plan.tables],
        "warnings": [warning for plan in planned.plans for warning in plan.warnings],
        "errors": [problem.as_dict() for problem in planned.problems],
    }


def explain_text(planned: PlannedProject) -> list[str]:
    """The lines that ``trickle plan`` prints."""
    lines: list[str] = []
    for plan in planned.plans:
        lines += [*_plan_lines(plan), ""]
    if planned.broken:
        lines.append("Not planned:")
        lines += [f"  {problem}" for problem in planned.problems]
    return lines if planned.broken else lines[:-1]


def _pipeline_json(plan: Plan, keys: dict[str, str]) -> dict[str, Any]:
    return {
        "name": plan.pipeline,
        "namespace": plan.namespace,
        "file": plan.file,
        "schedule": plan.schedule,
        "start_date": plan.start_date,
        "catchup": plan.catchup,
        "catalog": plan.catalog,
        "pins": [ref.identifier for ref in plan.pin.inputs],
        "order": [keys[table.identifier] for table in plan.tables],
        "warnings": list(plan.warnings),
    }


def _table_json(table: TableStep, plan: Plan) -> dict[str, Any]:
    return {
        "identifier": table.identifier,
        "pipeline": plan.pipeline,
        "refresh_mode": table.mode,
        "requested_mode": table.requested_mode,
        "reason": table.reason,
        "schedule": plan.schedule,
        "definition": table.definition,
        "declared_at": table.declared_at,
        "depends_on": [_input_json(ref) for ref in table.inputs],
    }


def _input_json(ref: InputRef) -> dict[str, Any]:
    """An input; a stream table of another pipeline is one all the same, and marked as external."""
    source = ref.kind is InputKind.SOURCE
    return {
        "name": ref.name,
        "identifier": ref.identifier,
        "kind": "source" if source else "stream_table",
        "external": ref.kind is InputKind.EXTERNAL,
    }


def _plan_lines(plan: Plan) -> Iterator[str]:
    schedule = f"schedule {plan.schedule}" if plan.schedule else "no schedule"
    yield f"Pipeline {plan.pipeline} ({plan.file}): {_counted(len(plan.tables), 'table')}, {schedule}"
    if plan.description:
        yield f"  {plan.description.strip()}"
    pins = ", ".join(_named(ref) for ref in plan.pin.inputs)
    yield f"  pin      {pins or 'nothing: no query reads a table from outside'}"
    for table in plan.tables:
        yield f"  refresh  {table.name}  {table.mode} ({table.reason})"
        yield f"           reads {', '.join(_named(ref) for ref in table.inputs) or 'nothing'}"
    for warning in plan.warnings:
        yield f"  warning  {warning}"


def _named(ref: InputRef) -> str:
    origin = " of another pipeline" if ref.kind is InputKind.EXTERNAL else ""
    return f"{ref.name} ({ref.identifier}{origin})" if ref.kind is not InputKind.STREAM_TABLE else ref.name


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
