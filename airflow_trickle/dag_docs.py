"""What Airflow's UI shows about a pipeline, a table and a broken file, as Markdown.

The same definition always gives the same text: Airflow makes a new DAG version of every change.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_trickle.errors import Problem
from airflow_trickle.plan.captures import described
from airflow_trickle.plan.steps import (
    CaptureStep,
    InputRef,
    MaintenanceStep,
    PinStep,
    Plan,
    RefreshStep,
    TableStep,
    UnitKind,
)


def pipeline_doc(plan: Plan, folder: str) -> str:
    """A pipeline: what it is for, where it is defined, its tables in the order of their refresh."""
    lines = [f"### {_code(plan.pipeline)}", ""]
    if plan.description:
        lines += [plan.description.strip(), ""]
    lines += [
        f"- defined in {_code(seen_from(folder, plan.file))}",
        f"- schedule: {_code(plan.schedule) if plan.schedule else 'none, triggered by hand'}",
        f"- catalog {_code(plan.catalog)}, namespace {_code(plan.namespace)}",
        f"- reads {_names(ref.identifier for ref in plan.pin.inputs)}",
        *(f"- captures {_code(step.identifier)}: {_text(described(step))}" for step in plan.captures),
        "",
        "| stream table | stratum | mode | reads |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {_code(table.name)} | {table.stratum} | {table.mode} | {_names(ref.name for ref in table.inputs)} |"
        for table in plan.tables
    ]
    lines += ["", *(f"- **warning**: {_text(warning)}" for warning in plan.warnings)]
    return "\n".join(lines).rstrip() + "\n"


def maintenance_doc(plan: Plan, step: MaintenanceStep, folder: str) -> str:
    """The DAG that maintains the tables of a pipeline: what it does, and what is kept."""
    lines = [
        f"### Maintenance of {_code(plan.pipeline)}",
        "",
        "Keeps the tables of the pipeline small. No row changes, and no table is refreshed anew because of it.",
        "",
        f"- defined in {_code(seen_from(folder, plan.file))}",
        f"- schedule: {_code(step.schedule) if step.schedule else 'none, triggered by hand'}",
        f"- maintains {_names(plan.maintained)}",
        "",
        "| step | what is kept |",
        "|---|---|",
        f"| small files are {'rewritten into larger ones' if step.compact else 'left as they are'} | every row |",
        f"| snapshots are expired, with the files that only they name | those of {_span(step.keep_snapshots_for)}, at "
        f"most {step.keep_snapshots}; all of {_span(step.restate_window)}, for restate; whatever a reader needs |",
        f"| files that nobody names are removed | those younger than {_span(step.orphans_after)} |",
        f"| history, ticks and iterations are pruned | those of {_span(step.keep_history_for)}, at most "
        f"{step.keep_history} of a table |",
    ]
    return "\n".join(lines) + "\n"


def _span(seconds: float) -> str:
    """A length of time in words.

    >>> _span(7 * 86400.0), _span(5400.0)
    ('7 days', '90 minutes')
    """
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            number = int(seconds // size)
            return f"{number} {word}" if number == 1 else f"{number} {word}s"
    return f"{seconds} seconds"


def pin_doc(step: PinStep) -> str:
    """The pin task: what it fixes for the whole tick."""
    lines = ["Pins the snapshot of every input once, so that all tables of this tick see the same world.", ""]
    lines += [f"- {_input(ref)}" for ref in step.inputs] or ["- this pipeline reads no table"]
    return "\n".join(lines) + "\n"


def capture_doc(step: CaptureStep, folder: str) -> str:
    """A capture task: what it reads into which mirror; of the options only their names."""
    lines = [f"### {_code(step.name)}", ""]
    if step.description:
        lines += [step.description.strip(), ""]
    lines += [
        f"Captures {_text(described(step))} into the Iceberg table {_code(step.identifier)}.",
        "",
        f"- defined at {_code(seen_from(folder, step.declared_at))}",
        *([f"- columns {_code(step.columns)}"] if step.columns else []),
        *([f"- options {_names(sorted(step.options))}"] if step.options else []),
        f"- definition {_code(step.definition)}",
    ]
    return "\n".join(lines) + "\n"


def refresh_doc(step: RefreshStep, folder: str) -> str:
    """A refresh task: query, inputs, mode and definition of each of its tables."""
    tables = [_table(table, folder) for table in step.tables]
    about = {UnitKind.CYCLE: _cycle, UnitKind.GROUP: _group}.get(step.kind)
    return "\n".join([about(step), *tables] if about is not None else tables)


def _cycle(step: RefreshStep) -> str:
    names = _names(table.name for table in step.tables)
    what = f"{names} read each other" if len(step.tables) > 1 else f"{names} reads itself"
    return (
        f"{what}: refreshed in passes until one changes nothing, at most {step.max_iterations}, and published in one "
        "commit. What each pass changed is the XCom `iterations`.\n"
    )


def _group(step: RefreshStep) -> str:
    names = _names(table.name for table in step.tables)
    return (
        f"{names} are published together: each is staged where only the others see it, and one commit makes all of "
        "them visible, or none.\n"
    )


def stratum_doc(stratum: int, steps: Iterable[RefreshStep]) -> str:
    """A stratum's sensor: what it looks at."""
    names = _names(table.name for step in steps for table in step.tables)
    return f"Passes over {names} if nothing they read has changed; decided from metadata alone. Stratum {stratum}.\n"


def broken_doc(file: str, problems: Iterable[Problem]) -> str:
    """A file that could not be read: everything that is wrong with it."""
    listed = _fenced("\n".join(str(problem) for problem in problems))
    return f"{_code(file)} cannot be run.\n\n{listed}\nWhen the file is corrected, this DAG goes away.\n"


def seen_from(folder: str, place: str) -> str:
    """A file, or a place in one, as seen from the folder of the pipelines: the same on every machine.

    >>> seen_from("/opt/airflow/dags", "/opt/airflow/dags/shop/orders.yaml:7:12")
    'shop/orders.yaml:7:12'
    """
    return place.removeprefix(f"{folder.rstrip('/')}/")


def _table(table: TableStep, folder: str) -> str:
    lines = [f"### {_code(table.name)}", ""]
    if table.description:
        lines += [table.description.strip(), ""]
    lines += [
        _fenced(table.query.strip("\n"), "sql"),
        f"- table {_code(table.identifier)}, defined at {_code(seen_from(folder, table.declared_at))}",
        *(f"- reads {_input(ref)}{_edge(table, ref)}" for ref in table.inputs),
        f"- stratum {table.stratum}",
        *([f"- made from a CTE of {_code(table.made_from)}"] if table.made_from else []),
        f"- mode {table.mode}: {_text(table.reason)}",
        f"- definition {_code(table.definition)}",
    ]
    return "\n".join(lines) + "\n"


def _input(ref: InputRef) -> str:
    return f"{_code(ref.identifier)} ({ref.kind.value.replace('_', ' ')} {_code(ref.name)})"


def _edge(table: TableStep, ref: InputRef) -> str:
    """Why a row more of an input may take rows away, where it may."""
    edge = next((edge for edge in table.edges if edge.identifier == ref.identifier), None)
    return f", non-monotone: {_text(edge.because)}" if edge is not None and edge.type == "NON_MONOTONE" else ""


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"


def _code(text: str) -> str:
    return f"`{text}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(_code(name) for name in names) or "no table"


def _text(text: str) -> str:
    """Plain words in which nothing is taken for Markdown or HTML."""
    for character in "\\`*_[]<>#":
        text = text.replace(character, f"\\{character}")
    return text
