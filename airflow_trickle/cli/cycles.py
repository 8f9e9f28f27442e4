"""What the catalog knows of cycles: how they stand, and what each pass over them changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.text import Text

from airflow_trickle.cli.output import out, print_json
from airflow_trickle.cli.tables import print_table, seconds
from airflow_trickle.errors import TrickleError
from airflow_trickle.results import Status

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.lakehouse.iterations import Trace
    from airflow_trickle.lakehouse.state import TableStatus
    from airflow_trickle.plan.build import PlannedProject

#: Of what was never refreshed, or whose catalog cannot be asked.
NO_STATE: dict[str, Any] = {"status": None, "last_iterations": None, "converged_at": None}
#: The status of a cycle is the first of these that one of its tables has.
_WORST_FIRST = (Status.ERROR, Status.SUSPENDED, Status.INITIALIZING, Status.ACTIVE)


def states_of_cycles(project: PlannedProject) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """By the number of the cycle: how it stands; and why some catalogs could not be asked.

    A catalog that nobody has opened yet is not made for this.
    """
    found: dict[int, dict[str, Any]] = {}
    errors: list[str] = []
    cyclic = [(plan.catalog, part) for plan in project.plans for part in plan.components if part.cyclic]
    if not cyclic:
        return found, errors
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened
    from airflow_trickle.lakehouse.state import read_status

    for catalog in sorted({catalog for catalog, _ in cyclic}):
        parts = [part for of, part in cyclic if of == catalog]
        try:
            if not was_opened(catalog):
                continue
            with open_lakehouse(catalog) as lake:
                for part in parts:
                    found[part.id] = _state(read_status(lake, list(part.members)).values())
        except TrickleError as error:
            errors.append(str(error))
    return found, errors


def _state(members: Iterable[TableStatus]) -> dict[str, Any]:
    tables = list(members)
    statuses = {table.status for table in tables}
    settled = [(table.converged_at, table.last_iterations) for table in tables if table.converged_at is not None]
    at, passes = max(settled, key=lambda pair: pair[0], default=(None, None))
    return {
        "status": next((status.value for status in _WORST_FIRST if status in statuses), None),
        "last_iterations": passes,
        "converged_at": at,
    }


def traces_of(lake: Lakehouse, identifier: str | None, pipeline: str | None, limit: int) -> list[Trace]:
    """The passes of the latest refreshes, of all units or of those that a table was part of."""
    from airflow_trickle.lakehouse.iterations import read_iterations, units_of
    from airflow_trickle.lakehouse.state import read_history

    if identifier is None:
        return read_iterations(lake, pipeline=pipeline, limit=limit)
    found: list[Trace] = []
    # The history knows tables that were dropped too.
    for row in read_history(lake, identifier=identifier, pipeline=pipeline, limit=1):
        for unit in units_of(lake, pipeline=row["pipeline"], table=row["name"]):
            found += read_iterations(lake, unit=unit, pipeline=row["pipeline"], limit=limit)
    return sorted(found, key=lambda trace: trace.at, reverse=True)[:limit]


def print_traces(traces: list[Trace], *, as_json: bool) -> None:
    """Print the passes of some refreshes, a table for each."""
    if as_json:
        print_json([_trace_json(trace) for trace in traces])
        return
    if not traces:
        out.print("No refresh was made in passes yet: only cycles and recursive queries are.")
    for number, trace in enumerate(traces):
        if number:
            out.print()
        when = trace.at.strftime("%Y-%m-%d %H:%M:%S")
        out.print(Text(f"{trace.unit} of pipeline {trace.pipeline}, {when}, tick {trace.tick_id}", "bold"))
        tables = list(dict.fromkeys(name for one in trace.passes for name in one.changes))
        rows = (
            (one.number, one.phase, seconds(one.seconds), *(one.changes.get(name, 0) for name in tables))
            for one in trace.passes
        )
        print_table(out, ["iteration", "phase", "seconds", *tables], rows)


def _trace_json(trace: Trace) -> dict[str, Any]:
    return {
        "pipeline": trace.pipeline,
        "unit": trace.unit,
        "tick_id": trace.tick_id,
        "at": trace.at,
        "iterations": [one.model_dump(mode="json") for one in trace.passes],
    }
