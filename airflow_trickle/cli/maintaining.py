"""``trickle maintain``: keep tables small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from airflow_trickle.cli.opening import find, lakehouse, planned
from airflow_trickle.cli.output import AsJson, CatalogName, counted, err, out, print_json
from airflow_trickle.cli.tables import print_table
from airflow_trickle.definition.maintenance import LEAST_ORPHAN_AGE, MaintenancePolicy
from airflow_trickle.definition.schedules import parse_duration
from airflow_trickle.results import in_units

if TYPE_CHECKING:
    from airflow_trickle.engine.maintenance.maintain import Listeners, Rules
    from airflow_trickle.results import MaintainedTable, Maintenance


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(maintain)


def _duration(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None
    return text


def _orphan_age(text: str | None) -> str | None:
    if _duration(text) is not None and parse_duration(str(text)).total_seconds() < LEAST_ORPHAN_AGE:
        raise typer.BadParameter("files that nobody names are kept for a day at least. Give 1d or more.")
    return text


def _kept(name: str, what: str) -> Any:
    check = _orphan_age if name == "--orphans-after" else _duration
    return typer.Option(name, metavar="DURATION", callback=check, help=what)


def maintain(  # noqa: PLR0913, PLR0917 - the options of the command
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="Stream tables or mirrors, by name or as namespace.name; none: all."),
    ] = None,
    pipelines: Annotated[
        Path | None,
        typer.Option("--pipelines", metavar="PATH", help="YAML files whose `maintenance` and `cluster_by` count."),
    ] = None,
    keep_snapshots_for: Annotated[
        str | None, _kept("--keep-snapshots-for", "Expire older snapshots (default 7d).")
    ] = None,
    keep_snapshots: Annotated[
        int | None, typer.Option("--keep-snapshots", min=1, help="Keep so many of the newest at most (default 100).")
    ] = None,
    restate_window: Annotated[
        str | None, _kept("--restate-window", "Keep whatever was current within this time (default 1d).")
    ] = None,
    keep_history_for: Annotated[
        str | None, _kept("--keep-history-for", "Delete older rows of history, ticks and iterations (default 30d).")
    ] = None,
    keep_history: Annotated[
        int | None, typer.Option("--keep-history", min=1, help="Keep so many of a table at most (default 1000).")
    ] = None,
    orphans_after: Annotated[
        str | None, _kept("--orphans-after", "Remove files of this age that nobody names (default 3d).")
    ] = None,
    no_compact: Annotated[bool, typer.Option("--no-compact", help="Leave small files as they are.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    wait: Annotated[
        float | None, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait so long for a refresh (default 30).")
    ] = None,
    catalog: CatalogName = None,
    as_json: AsJson = False,
) -> None:
    """Keep tables small, without changing a row.

    Compacts small files, expires snapshots with their files, removes orphan files, prunes history. No snapshot
    goes that a stream table of any pipeline, a restate or a running tick needs. Tables that others write are
    never touched. A table that is being refreshed is left for the next time.
    """
    from airflow_trickle.engine.maintenance.maintain import maintain as maintain_tables
    from airflow_trickle.errors import MaintenanceFailed

    durations = {
        "keep_snapshots_for": keep_snapshots_for,
        "restate_window": restate_window,
        "keep_history_for": keep_history_for,
        "orphans_after": orphans_after,
    }
    given: dict[str, Any] = {
        **{name: parse_duration(text).total_seconds() for name, text in durations.items() if text is not None},
        **{
            name: number
            for name, number in (("keep_snapshots", keep_snapshots), ("keep_history", keep_history))
            if number
        },
        **({"compact": False} if no_compact else {}),
    }
    rules = _rules(pipelines, given)
    with lakehouse(catalog) as lake:
        wanted = {find(lake, name).identifier for name in tables} if tables else None
        with _progress(quiet=as_json) as tell:
            found = maintain_tables(lake, rules, wanted, dry_run=dry_run, wait=wait, tell=tell)
    if as_json:
        print_json({**found.model_dump(), "files_won": found.files_won, "bytes_won": found.bytes_won})
    else:
        _print(found)
    if found.failed:
        if as_json:
            raise typer.Exit(1)
        raise MaintenanceFailed("\n".join(found.failed))


def _rules(path: Path | None, given: dict[str, Any]) -> Rules:
    """What is kept: by the options, else by the pipeline's file, else by default."""
    from airflow_trickle.engine.maintenance.maintain import Rules

    plans = planned(path).plans if path is not None else ()
    return Rules(
        MaintenancePolicy(**given),
        {plan.pipeline: replace(plan.maintenance.policy, **given) for plan in plans if plan.maintenance is not None},
        {table.identifier: table.cluster_by for plan in plans for table in plan.tables if table.cluster_by},
    )


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Listeners]:
    """A bar on a terminal; nothing elsewhere."""
    from airflow_trickle.engine.maintenance.maintain import Listeners

    if quiet or not err.is_terminal:
        yield Listeners()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[won]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None, won="")
        won = [0]

        def starting(identifier: str, number: int) -> None:
            bar.update(task, description=identifier, total=number)

        def done(result: MaintainedTable) -> None:
            won[0] += result.bytes_won
            bar.update(task, advance=1, won=f"{in_units(won[0])} won")

        yield Listeners(starting, done)


def _print(found: Maintenance) -> None:
    if not found.tables:
        out.print("There is no stream table to maintain.")
        return
    rows = (
        (
            one.identifier,
            f"{one.snapshots_expired} of {one.snapshots_expired + one.snapshots}",
            one.snapshots_needed,
            f"{one.files_compacted} into {one.files_written}" if one.files_compacted else "-",
            one.orphans_removed,
            one.files_won,
            in_units(one.bytes_won),
            Text(f"failed: {one.error}", "red") if one.error else one.skipped or "",
        )
        for one in found.tables
    )
    columns = ["table", "expired", "needed", "compacted", "orphans", "files won", "bytes won", "remark"]
    print_table(out, columns, rows)
    for warning in found.warnings:
        out.print(Text.assemble(("warning: ", "bold yellow"), warning))
    would = "Would win" if found.dry_run else "Won"
    out.print(
        f"{would} {counted(found.files_won, 'file')} and {in_units(found.bytes_won)}; "
        f"{counted(sum(found.pruned.values()), 'row')} of the state tables pruned."
    )
