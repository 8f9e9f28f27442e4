"""Everything that is known of one stream table before it runs, as text for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from airflow_trickle.algebra.references import parse_query
from airflow_trickle.algebra.render import tree_text
from airflow_trickle.analysis.modes import obstacle_of, obstacles_of_query
from airflow_trickle.definition.words import listed
from airflow_trickle.identifiers import fold
from airflow_trickle.plan.build import PlannedProject
from airflow_trickle.plan.explain import TableNames, state_text, table_json
from airflow_trickle.plan.overview import groups_overview, sccs_overview
from airflow_trickle.plan.steps import Plan, RefreshStep, TableStep

_KINDS = {
    "table": "a table by itself",
    "cycle": "a cycle, brought to its fixed point",
    "group": "a group, in one commit",
}
#: A message about many tables names only the first ones.
_AND_MORE = re.compile(r" and \d+ more form ")


def explain_table_json(planned: PlannedProject, identifier: str) -> dict[str, Any]:
    """What ``trickle explain --json`` prints of the stream table with that identifier."""
    plan, step, table = _find(planned, identifier)
    names = TableNames(planned)
    query = parse_query(table.query)
    operators = "" if query.tree is None else tree_text(query.tree, lambda node: _note(obstacle_of(node)))
    about = {table.name, table.identifier}
    together = {one.name for one in step.tables}
    if table.group_id is not None:
        together |= {one.name for one in plan.tables if one.group_id == table.group_id}
    return {
        "table": names[table.identifier],
        "description": table.description,
        **table_json(table, plan, names),
        "state_asked_for": state_text(table),
        "file": plan.file,
        "pipeline_schedule": plan.schedule,
        "unit": {
            "unit": step.unit,
            "kind": step.kind.value,
            "tables": names.all(one.identifier for one in step.tables),
            "upstream": list(step.upstream),
        },
        "scc": next((part for part in sccs_overview(planned) if part["id"] == table.scc_id), None),
        "group": next((group for group in groups_overview(planned) if group["id"] == table.group_id), None),
        "read_by": [told for plan in planned.plans for told in _readers(plan, table, names)],
        "warnings": [text for text in plan.warnings if _is_about(text, about, together)],
        "query": table.query,
        "operators": operators.splitlines(),
        "full_because": [
            {"line": query.text.count("\n", 0, one.offset) + 1, "why": one.why} for one in obstacles_of_query(query)
        ],
        "mutual_recursion": _mutual(plan, table),
    }


def explain_table_text(planned: PlannedProject, identifier: str) -> list[str]:
    """The lines that ``trickle explain`` prints; headings begin at the left, everything else is indented."""
    told = explain_table_json(planned, identifier)
    lines = [f"Stream table {_named(told['table'], told['identifier'])}"]
    if told["description"]:
        lines.append(f"  {' '.join(told['description'].split())}")
    lines += (f"  {name:<10} {value}" for name, value in _facts(told))
    lines += ["", "Reads", *(_reads(told) or ["  nothing"])]
    lines += ["", "Read by", *(_read_by(told) or ["  nothing"])]
    if told["warnings"]:
        lines += ["", "To know", *(f"  warning  {text}" for text in told["warnings"])]
    lines += ["", "Query", *_indented(told["query"])]
    lines += ["", "Operators", *(f"  {line}" for line in told["operators"])]
    if told["full_because"]:
        lines += ["", "Only in full, because"]
        lines += (f"  line {one['line']}: {one['why']}" for one in told["full_because"])
    return lines + _mutual_lines(told)


def _find(planned: PlannedProject, identifier: str) -> tuple[Plan, RefreshStep, TableStep]:
    for plan in planned.plans:
        for step in plan.refreshes:
            for table in step.tables:
                if table.identifier == identifier:
                    return plan, step, table
    raise KeyError(identifier)


def _note(why: str | None) -> str:
    return f"only in full: {why}" if why else ""


def _is_about(text: str, about: set[str], together: set[str]) -> bool:
    """Whether a message names a table, or names others of its unit and then breaks off."""
    if any(f"'{name}'" in text for name in about):
        return True
    return bool(_AND_MORE.search(text)) and any(text.startswith(f"'{name}'") for name in together)


def _readers(plan: Plan, table: TableStep, names: TableNames) -> Iterator[dict[str, Any]]:
    for other in plan.tables:
        for edge in other.edges:
            if fold(edge.identifier) == fold(table.identifier):
                yield {
                    "table": names[other.identifier],
                    "identifier": other.identifier,
                    "pipeline": plan.pipeline,
                    "edge": edge.type,
                    "because": edge.because,
                }


def _mutual(plan: Plan, table: TableStep) -> dict[str, Any] | None:
    for one in plan.mutual:
        if one.table in (table.name, table.made_from):
            groups = [list(group) for group in one.groups]
            return {"table": one.table, "groups": groups, "members": dict(one.members), "query": one.query}
    return None


def _facts(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    unit = told["unit"]
    yield "declared", told["declared_at"]
    yield "pipeline", f"{told['pipeline']} ({told['file']})"
    yield "unit", f"{unit['unit']}, {_KINDS[unit['kind']]}" + _of(unit["tables"])
    yield "stratum", str(told["stratum"])
    yield "cycle", _cycle(told["scc"])
    yield "group", _group(told["group"])
    schedule, pipelines = (told[key] or "none, by hand only" for key in ("schedule", "pipeline_schedule"))
    yield "schedule", schedule + (f" (the pipeline's is {pipelines})" if schedule != pipelines else "")
    yield "asked for", f"refresh_mode: {told['requested_mode']}"
    yield "mode", f"{told['refresh_mode']} ({told['reason']})"
    if told["state_asked_for"]:
        yield "state", told["state_asked_for"]
    for key, name in (("partition_by", "parted by"), ("cluster_by", "sorted by")):
        if told[key]:
            yield name, ", ".join(told[key])
    for column, best in told["lattice"].items():
        yield "lattice", f"the {best} of {column} is kept of each group"


def _named(name: str, identifier: str) -> str:
    return name if name == identifier else f"{name} ({identifier})"


def _of(tables: Sequence[str]) -> str:
    return f": {', '.join(tables)}" if len(tables) > 1 else ""


def _cycle(part: dict[str, Any] | None) -> str:
    if part is None:
        return "not part of a cycle"
    monotone = "monotone" if part["monotone"] else "not monotone"
    return f"{part['id']}: {', '.join(part['members'])}; {monotone}, at most {part['max_iterations']} iterations"


def _group(group: dict[str, Any] | None) -> str:
    if group is None:
        return "not part of a diamond"
    meet = f"{group['id']}: {', '.join(group['members'])}; paths meet in {listed(group['convergence_points'])}; "
    why = "" if group["atomic"] else f", because {group['not_atomic_because']}"
    return f"{meet}published {group['published']}{why}"


def _reads(told: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for one in told["depends_on"]:
        kind = "a source" if one["kind"] == "source" else "a stream table"
        where = " of another pipeline" if one["external"] else ""
        lines += [f"  {_named(one['name'], one['identifier'])}, {kind}{where}", f"    {one['edge']}: {one['because']}"]
    return lines


def _read_by(told: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for one in told["read_by"]:
        where = f" of pipeline {one['pipeline']}" if one["pipeline"] != told["pipeline"] else ""
        lines += [f"  {_named(one['table'], one['identifier'])}{where}", f"    {one['edge']}: {one['because']}"]
    return lines


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.strip("\n").split("\n")]


def _mutual_lines(told: dict[str, Any]) -> list[str]:
    mutual = told["mutual_recursion"]
    if mutual is None:
        return []
    groups = "; ".join(f"the CTEs {listed(group)} read each other" for group in mutual["groups"])
    lines = ["", "Mutual recursion", f"  In the query of {mutual['table']}, {groups}. Each became a stream table:"]
    lines += (f"    {cte} -> {table}" for cte, table in mutual["members"].items())
    return [*lines, "  The query as it was written:", *(f"  {line}".rstrip() for line in _indented(mutual["query"]))]
