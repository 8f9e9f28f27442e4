"""``trickle explain``, ``strata``, ``sccs``, ``groups`` and ``decompose``: what follows from the queries alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.text import Text

from airflow_trickle.cli.ahead import notes_of, print_notes
from airflow_trickle.cli.auxiliary_state import state_lines as auxiliary_lines
from airflow_trickle.cli.auxiliary_state import state_of
from airflow_trickle.cli.cycles import NO_STATE, states_of_cycles
from airflow_trickle.cli.explaining import explain_delta
from airflow_trickle.cli.group_states import moment_text, print_states, with_states
from airflow_trickle.cli.mutual_groups import kept_group, kept_lines, state_lines
from airflow_trickle.cli.opening import (
    NoPipeline,
    PathArgument,
    SparkUrl,
    UnknownTable,
    did_you_mean,
    matching,
    planned,
    unknown_table,
    use_spark,
)
from airflow_trickle.cli.output import AsJson, complain, counted, error_json, out, print_json, print_not_planned
from airflow_trickle.cli.skips import skips_of_strata
from airflow_trickle.cli.tables import print_table

if TYPE_CHECKING:
    from airflow_trickle.errors import Problem
    from airflow_trickle.plan.build import PlannedProject
    from airflow_trickle.plan.decomposition import DecomposedTable

#: What to look at first among the lines of an explanation.
_NOTABLE = r"^ +(NON_MONOTONE|warning|not yet)(?=:|  )|-- only in full: .*"

TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="A stream table; with its namespace if need be.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (explain, strata, sccs, groups, decompose):
        app.command()(command)


def explain(
    table: TableArgument,
    path: PathArgument = Path("dags"),
    delta: Annotated[
        bool, typer.Option("--delta", help="Show the SQL by which it is refreshed from changes; nothing is computed.")
    ] = False,
    changed: Annotated[
        str, typer.Option("--changed", metavar="A,B", help="With --delta: only these inputs changed; default all.")
    ] = "",
    spark: SparkUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show all that is known of one stream table, and why."""
    from airflow_trickle.plan.explain_table import explain_table_json, explain_table_text

    if changed and not delta:
        raise typer.BadParameter("It tells which inputs changed for --delta, which is missing.", param_hint="--changed")
    use_spark(spark)
    project = planned(path)
    identifiers = [each.identifier for plan in project.plans for each in plan.tables]
    identifier = matching(identifiers, table)
    kept = kept_group(project, identifier or table)
    if identifier is None and kept is not None and not delta:
        _print_kept(kept, path, project, as_json=as_json)
        _end(project, as_json=as_json)
        return
    if identifier is None:
        _refuse(unknown_table(table, path, identifiers, project), project.problems, as_json=as_json)
    plan, step = next((plan, one) for plan in project.plans for one in plan.tables if one.identifier == identifier)
    if delta:
        wanted = [name.strip() for name in changed.split(",") if name.strip()]
        explain_delta(plan, step, wanted, as_json=as_json, more={"errors": _errors(project.problems)})
        if not as_json:
            _blank_line(project)
    elif as_json:
        notes = notes_of(project, [identifier])
        parts, unanswered = state_of(plan, step)
        told = {**explain_table_json(project, identifier), "mutual_group": kept}
        more = {"auxiliary_state": parts, "catalog_errors": unanswered, "notes": notes}
        print_json({**told, **more, "errors": _errors(project.problems)})
    else:
        parts, unanswered = state_of(plan, step)
        lines = [*auxiliary_lines(parts), *(f"  not known: {message}" for message in unanswered)]
        _print_lines([*explain_table_text(project, identifier), *(["", "Auxiliary state", *lines] if lines else [])])
        _print_lines(state_lines(kept) if kept is not None else [])
        _blank_line(project)
        print_notes(notes_of(project, [identifier]))
    _end(project, as_json=as_json)


def _print_kept(kept: dict[str, Any], path: Path, project: PlannedProject, *, as_json: bool) -> None:
    """Tell of a mutual recursion that only the catalog knows."""
    if as_json:
        print_json({"mutual_group": kept, "errors": _errors(project.problems)})
        return
    _print_lines(kept_lines(kept, str(path)))
    _blank_line(project)


def strata(path: PathArgument = Path("dags"), as_json: AsJson = False) -> None:
    """Show the strata: what must be complete before what."""
    from airflow_trickle.plan.overview import strata_overview

    project = planned(path)
    skips, unanswered = skips_of_strata(project)
    found = [{**each, "times_skipped": skips[each["stratum"]]} for each in strata_overview(project)]
    if as_json:
        print_json({"strata": found, "catalog_errors": unanswered, "errors": _errors(project.problems)})
    elif found:
        rows = (
            (
                each["stratum"],
                each["non_monotone_edges"],
                _yes_or_no(each["has_cycles"]),
                each["times_skipped"],
                ", ".join(each["members"]),
            )
            for each in found
        )
        print_table(out, ["stratum", "non-monotone reads", "cycles", "skipped", "tables"], rows)
        for message in unanswered:
            out.print(Text(f"note: it is not known how often strata were skipped: {message}", "yellow"))
        _blank_line(project)
    _end(project, as_json=as_json)


def sccs(
    path: PathArgument = Path("dags"),
    everything: Annotated[
        bool, typer.Option("--all", help="Also the tables that are part of no cycle; JSON always has them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the cycles: the strongly connected components.

    Iterations are those of the last refresh that brought the cycle to its fixed point. All times are UTC.
    """
    from airflow_trickle.plan.overview import sccs_overview

    project = planned(path)
    states, unanswered = states_of_cycles(project)
    found = [{**each, **states.get(each["id"], NO_STATE)} for each in sccs_overview(project)]
    shown = found if everything else [each for each in found if each["cyclic"]]
    if as_json:
        print_json({"sccs": found, "catalog_errors": unanswered, "errors": _errors(project.problems)})
    elif shown:
        print_table(out, _SCC_COLUMNS, (_scc_row(each) for each in shown))
        for each in shown:
            _print_mutual(each)
        for message in unanswered:
            out.print(Text(f"note: it is not known how cycles stand: {message}", "yellow"))
        _blank_line(project)
    elif found:
        out.print(f"There are no cycles: {counted(len(found), 'table')}, each by itself.")
        _blank_line(project)
    _end(project, as_json=as_json)


_SCC_COLUMNS = ["scc", "cyclic", "monotone", "cap", "iterations", "converged", "status", "tables"]


def _scc_row(part: dict[str, Any]) -> tuple[Any, ...]:
    return (
        part["id"],
        _yes_or_no(part["cyclic"]),
        _yes_or_no(part["monotone"], bad="no"),
        part["max_iterations"],
        part["last_iterations"],
        part["converged_at"].strftime("%Y-%m-%d %H:%M:%S") if part["converged_at"] else None,
        part["status"],
        ", ".join(part["members"]),
    )


def groups(path: PathArgument = Path("dags"), as_json: AsJson = False) -> None:
    """Show the consistency groups: the tables of diamonds.

    The epoch counts the commits of a group that changed a table. All times are UTC.
    """
    from airflow_trickle.plan.overview import groups_overview

    project = planned(path)
    found, unanswered = with_states(project, groups_overview(project))
    if as_json:
        print_json({"groups": found, "catalog_errors": unanswered, "errors": _errors(project.problems)})
    elif found:
        print_table(out, _GROUP_COLUMNS, (row for each in found for row in _group_rows(each)))
        for each in found:
            if not each["atomic"]:
                out.print(f"Group {each['id']} is published {each['published']}: {each['not_atomic_because']}.")
        print_states(found)
        for message in unanswered:
            out.print(Text(f"note: it is not known how groups stand: {message}", "yellow"))
        _blank_line(project)
    elif project.plans:
        out.print("There are no diamonds: no two paths from one table meet again.")
        _blank_line(project)
    _end(project, as_json=as_json)


_GROUP_COLUMNS = [
    *("group", "pipeline", "atomic", "policy", "schedule", "epoch", "last commit", "paths meet in", "tables")
]


def decompose(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A stream table; with its namespace if need be.")
    ] = None,
    path: PathArgument = Path("dags"),
    query: Annotated[
        str | None, typer.Option("--query", metavar="SQL", help="This query instead of that of a table.")
    ] = None,
    query_file: Annotated[
        Path | None, typer.Option("--query-file", metavar="FILE", help="The query in this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a query with mutual recursion becomes, and judge it.

    With --query or --query-file, TABLE is the name of the table that it would define (by default `result`), and what
    it reads is taken for sources. Exit code 1 if it would be refused.
    """
    from airflow_trickle.plan.decomposition import decomposition_of_query

    if query is not None or query_file is not None:
        text, file = _query_of(query, query_file)
        _print_decomposition(decomposition_of_query(text, table or "result", file), (), as_json=as_json)
        return
    if table is None:
        raise typer.BadParameter("name a stream table, or give --query or --query-file.", param_hint="TABLE")
    if not path.exists():
        raise NoPipeline(f"There is no file or folder '{path}'. Name a pipeline's YAML file or its folder.")
    from airflow_trickle.definition.load import load_project
    from airflow_trickle.plan.decomposition import declared_tables, decomposition_of

    project = load_project(path)
    identifier = matching(declared_tables(project), table)
    told = None if identifier is None else decomposition_of(project, identifier)
    if told is None:
        near = did_you_mean(table, declared_tables(project))
        _refuse(f"There is no stream table '{table}' in '{path}'.{near}", project.problems, as_json=as_json)
    _print_decomposition(told, project.problems, as_json=as_json)


def _query_of(query: str | None, query_file: Path | None) -> tuple[str, str]:
    """The query that was given, and what places in it begin with."""
    if query is not None and query_file is not None:
        raise typer.BadParameter("give one of --query and --query-file, not both.", param_hint="--query")
    if query is not None:
        return query, "--query"
    assert query_file is not None  # noqa: S101 - one of them is given
    try:
        return query_file.read_text(encoding="utf-8"), str(query_file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise NoPipeline(f"The query file '{query_file}' cannot be read: {reason}.") from error


def _print_decomposition(told: DecomposedTable, others: tuple[Problem, ...], *, as_json: bool) -> None:
    from airflow_trickle.plan.decomposition import decomposition_json, decomposition_text

    problems = tuple(dict.fromkeys((*told.problems, *others)))
    if as_json:
        print_json({**decomposition_json(told), "errors": _errors(problems)})
    else:
        _print_lines(decomposition_text(told))
        if told.suggestion is not None:
            out.print(Text(f"\nIn place of the entry '{told.table.name}' this can be written:\n", "bold"))
            # Not through rich, which would turn tabs into blanks: this is to be pasted into a file.
            print(told.suggestion, end="")
        if problems:
            out.print()
            print_not_planned(out, problems)
    if problems:
        raise typer.Exit(1)


def _refuse(message: str, problems: tuple[Problem, ...], *, as_json: bool) -> NoReturn:
    """Give up on a name; what could not be read may be the reason, so it is told too."""
    error = UnknownTable(message)
    if as_json:
        print_json({**error_json(error), "errors": _errors(problems)})
    else:
        complain(error, as_json=False)
        print_not_planned(out, problems)
    raise typer.Exit(1)


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        if line.startswith(" "):
            text = Text(line)
            text.highlight_regex(_NOTABLE, "yellow")
            out.print(text)
        else:
            out.print(Text(line, "bold"))


def _print_mutual(part: dict[str, Any]) -> None:
    for mutual in part["mutual_recursion"]:
        title = f"\nCycle {part['id']} was made from the mutual recursion in the query of {mutual['table']}:"
        out.print(Text(title, "bold"))
        for line in mutual["query"].strip("\n").split("\n"):
            out.print(f"  {line}".rstrip())


def _group_rows(group: dict[str, Any]) -> list[tuple[Any, ...]]:
    """A row for what each pipeline can do of a group; one without such a part has a row of its own."""
    meet = group["convergence_points"]
    if not group["parts"]:
        tables = ", ".join(group["members"])
        return [(group["id"], None, _yes_or_no(False, bad="no"), *[None] * 4, ", ".join(meet), tables)]
    return [
        (
            group["id"],
            part["pipeline"],
            _yes_or_no(part["atomic"], bad="no"),
            part["schedule_policy"],
            (part["schedule"] or "by hand") if part["atomic"] else None,
            part["epoch"],
            moment_text(part["last_commit_at"]),
            ", ".join(name for name in meet if name in part["members"]) or None,
            ", ".join(part["members"]),
        )
        for part in group["parts"]
    ]


def _yes_or_no(value: bool, *, bad: str = "") -> Text:
    word = "yes" if value else "no"
    return Text(word, "yellow" if word == bad else "")


def _errors(problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
    return [problem.as_dict() for problem in problems]


def _blank_line(project: PlannedProject) -> None:
    if project.broken:
        out.print()


def _end(project: PlannedProject, *, as_json: bool) -> None:
    """What is left to say of broken files, and the exit code."""
    if project.broken:
        if not as_json:
            print_not_planned(out, project.problems)
        raise typer.Exit(1)
