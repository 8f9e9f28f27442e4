"""``trickle explain TABLE --delta``: the SQL by which a table is refreshed from changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from airflow_trickle.cli.output import out, print_json, waiting

if TYPE_CHECKING:
    from airflow_trickle.engine.explain import ExplainedChange, InputStates
    from airflow_trickle.plan.steps import Plan, TableStep


def explain_delta(plan: Plan, table: TableStep, changed: list[str], *, as_json: bool, more: dict[str, Any]) -> None:
    """Print how a table is refreshed from changes; ``more`` goes into the JSON."""
    from airflow_trickle.api import Pipeline

    with waiting(f"asking Spark for the columns of {table.name}", quiet=as_json):
        told = Pipeline(plan).explain_change(table.name, changed)
    if as_json:
        print_json({**_json(table, told), **more})
        return
    out.print(Text(f"Change of stream table {table.name} ({table.identifier})", "bold"))
    if told.full_because is not None:
        if told.passes:
            out.print(f"  No single query tells it: {told.full_because}.")
            out.print("  `trickle history --iterations` shows the passes of its refreshes.")
        else:
            out.print(f"  It is computed in full: {told.full_because}.")
        return
    for heading, lines in _sections(table, told):
        out.print(Text(f"\n{heading}", "bold"))
        for line in lines:
            out.print(f"  {line}".rstrip())


def _json(table: TableStep, told: ExplainedChange) -> dict[str, Any]:
    return {
        "table": table.name,
        "identifier": table.identifier,
        "full_because": told.full_because,
        "passes": told.passes,
        "inputs": [
            {
                "name": one.ref.name,
                "identifier": one.ref.identifier,
                "before": one.before,
                "after": one.after,
                "changes": one.changes,
            }
            for one in told.inputs
        ],
        "published": told.published or None,
        "steps": [{"name": one.name, "about": one.about, "kept": one.kept, "sql": one.sql} for one in told.steps],
        "change": told.change,
    }


def _sections(table: TableStep, told: ExplainedChange) -> list[tuple[str, list[str]]]:
    names = [line for one in told.inputs for line in _states(one)]
    names.append((told.published, f"the rows of {table.name} so far"))
    width = max(len(name) for name, _ in names)
    found = [("States", [f"{name:<{width}}  {about}" for name, about in names])]
    for step in told.steps:
        done = "computed once" if step.kept else "a name only"
        found.append((f"{step.name}: {step.about} ({done})", step.sql.split("\n")))
    if told.change is None:
        return [*found, ("Change", ["none: nothing that the query reads changed"])]
    return [*found, ("Change: the rows that come and go, by __trickle_weight", told.change.split("\n"))]


def _states(one: InputStates) -> list[tuple[str, str]]:
    where = f"{one.ref.name} ({one.ref.identifier})"
    if one.before is None or one.changes is None:
        return [(one.after, f"the rows of {where}, which did not change")]
    return [
        (one.before, f"the rows of {where} when the table last read them"),
        (one.after, "its rows now"),
        (one.changes, "the rows that came (__trickle_weight > 0) and went (< 0)"),
    ]
