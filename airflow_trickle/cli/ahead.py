"""What a plan alone does not tell of the next tick: settings that differ from those of the published rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from rich.text import Text

from airflow_trickle.cli.output import err
from airflow_trickle.errors import SettingsError, TrickleError

if TYPE_CHECKING:
    from airflow_trickle.lakehouse.catalog import Lakehouse
    from airflow_trickle.plan.build import PlannedProject
    from airflow_trickle.plan.steps import Plan


def notes_of(project: PlannedProject, tables: Collection[str] | None = None) -> list[str]:
    """What is to be said of the settings and the Spark of the next tick; nothing if all is as it was.

    A catalog that nobody has opened yet is not made for this, and Spark is not asked.

    Args:
        project: The pipelines.
        tables: Identifiers of those tables of which to tell; None: of all.
    """
    from airflow_trickle.lakehouse.catalog import open_lakehouse, was_opened

    found = notes_of_spark(project.plans)
    for catalog in sorted({plan.catalog for plan in project.plans}):
        plans = [plan for plan in project.plans if plan.catalog == catalog]
        try:
            if was_opened(catalog):
                with open_lakehouse(catalog) as lake:
                    found += [note for plan in plans for note in _notes_of_settings(lake, plan, tables)]
        except TrickleError as error:
            found.append(f"it is not known under which settings tables were published: {error}")
    return found


def notes_of_spark(plans: Iterable[Plan]) -> list[str]:
    """Where the command and the tasks of Airflow use different Sparks."""
    from airflow_trickle.spark.target import other_than_airflow

    pipelines: dict[str, list[str]] = {}
    for plan in plans:
        pipelines.setdefault(plan.spark_conn_id, []).append(plan.pipeline)
    found = []
    for conn_id, names in sorted(pipelines.items()):
        try:
            told = other_than_airflow(conn_id)
        except SettingsError as error:
            # Whoever needs Spark fails of it; a plan does not.
            told = str(error).rstrip(".")
        if told is not None:
            listed = ", ".join(f"'{name}'" for name in names)
            found.append(f"pipeline{'s' if len(names) > 1 else ''} {listed}: {told}.")
    return found


def _notes_of_settings(lake: Lakehouse, plan: Plan, tables: Collection[str] | None) -> list[str]:
    from airflow_trickle.engine.identity import causes_ahead, versions_of
    from airflow_trickle.spark.session import SparkProvider
    from airflow_trickle.spark.target import SparkTarget, target_from_url, target_from_variable

    url = os.environ.get("TRICKLE_SPARK_URL", "").strip()
    target = target_from_url(url) if url else target_from_variable(plan.spark_conn_id, os.environ) or SparkTarget()
    with SparkProvider(target) as spark:
        causes = causes_ahead(lake, plan.refreshes, spark)
        version = spark.version
    shown = {table.name for table in plan.tables if tables is None or table.identifier in tables}
    found = [
        f"stream table '{name}': its next refresh is full, because {why}."
        for name, why in causes.items()
        if name in shown
    ]
    published = versions_of(lake, plan.refreshes) if version is None else ()
    if published:
        found.append(
            f"pipeline '{plan.pipeline}': its tables were published on Spark {', '.join(published)}; if {target} is of "
            f"another version, they are computed in full. Which it is, is not known before a refresh."
        )
    return found


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error."""
    for note in notes:
        err.print(Text.assemble(("note: ", "bold"), note))
